// Modzip makes of a folder what a module proxy serves of a module's version.
//
//	modzip FOLDER VERSION PROXY
//
// FOLDER holds the module's go.mod. PROXY is the folder that GOPROXY=file://… names: the
// module's zip, go.mod and info are written to it. The zip holds what the go command
// would take of the folder, and an error says which files it would refuse.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: modzip FOLDER VERSION PROXY")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "modzip:", err)
		os.Exit(1)
	}
}

func write(dir, version, proxy string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(mod), Version: version}
	if err := module.Check(m.Path, m.Version); err != nil {
		return err
	}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	to := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		zip.CreateFromDir(out, m, dir),
		out.Close(),
		os.WriteFile(filepath.Join(to, version+".mod"), mod, 0o644),
		os.WriteFile(filepath.Join(to, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(to, "list"), []byte(version+"\n"), 0o644),
	)
}
