package ralph_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAPI checks the exported declarations of each public package against
// testdata/api, so that a change of the API is seen in a diff. They are the same on
// every system. The test writes those files with -update.
func TestAPI(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, dir := range publicPackages(t) {
		api := exported(t, dir, "linux")
		for _, system := range []string{"darwin", "windows"} {
			if diff := cmp.Diff(api, exported(t, dir, system)); diff != "" {
				t.Errorf("the API of %s differs on %s:\n%s", dir, system, diff)
			}
		}
		name := "ralph"
		if dir != "." {
			name = strings.ReplaceAll(dir, "/", "-")
		}
		golden := filepath.Join("testdata", "api", name+".txt")
		listed = append(listed, golden)
		if *update {
			if err := os.WriteFile(golden, []byte(api), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), api); diff != "" {
			t.Errorf("the API of %s has changed; `go test -run TestAPI -update .` writes it down, and CHANGELOG.md tells what users must know:\n%s", dir, diff)
		}
	}
	there, err := filepath.Glob(filepath.Join("testdata", "api", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, there); diff != "" {
		t.Errorf("files in testdata/api:\n%s", diff)
	}
}

// publicPackages are the folders of the packages of this module that others can import.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case path == ".":
		case strings.HasPrefix(name, "."), name == "internal", name == "testdata", name == "examples":
			return filepath.SkipDir
		}
		if p, err := build.ImportDir(path, 0); err == nil && p.Name != "main" {
			dirs = append(dirs, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// parsed reads a package as it is built for a system, and with it its documentation.
func parsed(t *testing.T, dir, system string) (*doc.Package, *token.FileSet) {
	t.Helper()
	in := build.Default
	in.GOOS, in.GOARCH, in.CgoEnabled = system, "amd64", false
	p, err := in.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	d, err := doc.NewFromFiles(set, files, "github.com/ralph-loop/ralph/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	return d, set
}

// exported is what a package declares for others, sorted, without comments.
func exported(t *testing.T, dir, system string) string {
	t.Helper()
	d, set := parsed(t, dir, system)
	var decls []ast.Decl
	values := func(of []*doc.Value) {
		for _, v := range of {
			decls = append(decls, v.Decl)
		}
	}
	funcs := func(of []*doc.Func) {
		for _, f := range of {
			f.Decl.Body = nil
			decls = append(decls, f.Decl)
		}
	}
	values(d.Consts)
	values(d.Vars)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		decls = append(decls, typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	texts := []string{}
	for _, decl := range decls {
		uncomment(decl)
		var text bytes.Buffer
		if err := printer.Fprint(&text, set, decl); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text.String(), "\n") // where comments were are empty lines
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
		texts = append(texts, strings.Join(lines, "\n"))
	}
	slices.Sort(texts)
	source, err := format.Source([]byte("package " + d.Name + "\n\n" + strings.Join(texts, "\n\n") + "\n"))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", dir, err))
	}
	return string(source)
}

// uncomment takes the comments out of a declaration.
func uncomment(decl ast.Decl) {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}

// TestExamples: each function and method that a user calls is called in an Example of one
// of the public packages, or has one of its own; and each package's overview shows some
// lines of code.
func TestExamples(t *testing.T) {
	t.Parallel()
	called := map[string]bool{}
	type way struct{ dir, name, called string }
	var ways []way
	for _, dir := range publicPackages(t) {
		d, _ := parsed(t, dir, "linux")
		if strings.Count(d.Doc, "\n\t") < 4 {
			t.Errorf("the overview of %s shows no code", dir)
		}
		for _, f := range d.Funcs {
			ways = append(ways, way{dir, f.Name, f.Name})
		}
		for _, typ := range d.Types {
			for _, f := range typ.Funcs {
				ways = append(ways, way{dir, f.Name, f.Name})
			}
			for _, f := range typ.Methods {
				ways = append(ways, way{dir, typ.Name + "." + f.Name, f.Name})
			}
		}
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(doc.Examples(f)) == 0 {
				continue // with Examples stand the functions that they call
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					called[s.Sel.Name] = true
				}
				return true
			})
		}
	}
	for _, w := range ways {
		if !called[w.called] && !callers()[w.called] {
			t.Errorf("no Example calls %s of %s", w.name, w.dir)
		}
	}
}

// callers are the methods that somebody else calls: fmt, errors, log/slog, encoders and
// databases, and loops that ask plug-ins.
func callers() map[string]bool {
	return map[string]bool{
		"Error": true, "Unwrap": true, "Is": true, "LogValue": true,
		"MarshalJSON": true, "UnmarshalJSON": true, "MarshalYAML": true, "UnmarshalYAML": true, "MarshalText": true, "UnmarshalText": true,
		"Takes": true, "Starts": true, "Prepare": true,
	}
}
