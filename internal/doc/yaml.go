package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parseYAML reads all documents; those without content are left out.
func (d *Doc) parseYAML() error {
	// The library does not say where a control character stands.
	if at := bytes.IndexFunc(d.Text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }); at >= 0 {
		return d.fail(&Node{Start: at}, "there is a control character (%q)", d.Text[at])
	}
	loader, err := yaml.NewLoader(bytes.NewReader(d.Text))
	if err != nil {
		return d.syntax(err)
	}
	for {
		var n yaml.Node
		if err := loader.Load(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return d.syntax(err)
		}
		for _, root := range n.Content {
			v, err := d.convert(root, 0)
			if err != nil {
				return err
			}
			if v.Kind != Null {
				d.Roots = append(d.Roots, v)
			}
		}
	}
}

// syntax makes a problem of the library's error.
func (d *Doc) syntax(err error) error {
	p := d.problem(nil, "this is not YAML: %v", err)
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.Text = "this is not YAML: " + e.Message
		if e.ContextMsg != "" {
			p.Text += " " + e.ContextMsg
			if e.ContextMark.Line > 0 {
				p.Text += fmt.Sprintf(" that begins on line %d", e.ContextMark.Line)
			}
		}
		if e.Mark.Line > 0 {
			p.Line, p.Column = e.Mark.Line, max(e.Mark.Column, 1)
		}
	}
	return Problems{p}
}

// FromYAML makes a node of the library's. The error is [Problems].
func FromYAML(y *yaml.Node) (*Node, error) {
	d := &Doc{}
	n, err := d.convert(y, 0)
	if err == nil {
		err = d.unique([]*Node{n})
	}
	return n, err
}

// convert makes a node of the library's. Aliases are expanded, merge keys are
// resolved, and tags that ask for anything but plain data are errors.
func (d *Doc) convert(y *yaml.Node, depth int) (*Node, error) {
	n := &Node{line: y.Line, column: y.Column, Start: -1, raw: y.Value, Flow: y.Style&yaml.FlowStyle != 0}
	if err := d.count(n, depth, len(y.Value)); err != nil {
		return nil, err
	}
	switch y.Kind {
	case yaml.AliasNode:
		target, err := d.convert(y.Alias, depth+1)
		if err != nil {
			return nil, err
		}
		target.line, target.column, target.alias = y.Line, y.Column, true
		return target, nil
	case yaml.ScalarNode:
		return n, d.scalar(n, y)
	case yaml.SequenceNode, yaml.MappingNode:
		if tag := y.ShortTag(); tag != "!!seq" && tag != "!!map" {
			return nil, d.badTag(n, tag)
		}
	}
	for _, c := range y.Content {
		item, err := d.convert(c, depth+1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
	}
	if n.Kind = List; y.Kind == yaml.MappingNode {
		return n, d.mapping(n, y)
	}
	return n, nil
}

func (d *Doc) badTag(n *Node, tag string) error {
	return d.fail(n, "the tag %s is not supported; values are plain data", Quote(tag))
}

// mapping makes keys and values of the items of n, which take turns, and merges
// the mappings behind merge keys: own keys win over merged ones, earlier merged
// ones over later ones.
func (d *Doc) mapping(n *Node, y *yaml.Node) error {
	all, known := n.Items, map[string]bool{}
	n.Kind, n.Items = Map, nil
	var merged []*Node
	for i := 0; i+1 < len(all); i += 2 {
		key, value := all[i], all[i+1]
		switch merge := y.Content[i].ShortTag() == "!!merge"; {
		case merge && value.Kind == List:
			merged = append(merged, value.Items...)
		case merge:
			merged = append(merged, value)
		case key.Kind == List || key.Kind == Map:
			return d.fail(key, "%s cannot be a key", key.Kind)
		default:
			known[key.Text] = true
			n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
		}
	}
	for _, source := range merged {
		if source.Kind != Map {
			return d.fail(n, "a merge (<<) needs a mapping, found %s", source.Found())
		}
		for i, key := range source.Keys {
			if !known[key.Text] {
				known[key.Text], source.Items[i].merged = true, true
				n.Keys, n.Items = append(n.Keys, key), append(n.Items, source.Items[i])
			}
		}
	}
	return nil
}

// scalar sets kind and text. A number stays as it was written where JSON can
// write it like that. What JSON has no value for (a date, binary data, infinity)
// is text, as it was written.
func (d *Doc) scalar(n *Node, y *yaml.Node) error {
	n.Kind, n.Text = Text, y.Value
	tag := y.ShortTag()
	number := tag == "!!int" || tag == "!!float"
	var b bool
	var i int64
	var f float64
	switch {
	case tag == "!!null":
		n.Kind, n.Text = Null, ""
	case tag == "!!bool" && y.Decode(&b) == nil:
		n.Kind, n.Text = Bool, strconv.FormatBool(b)
	// A number that is too large for the library is a text to it.
	case (number || tag == "!!str" && y.Style == 0) && isNumber(y.Value):
		n.Kind = numberKind(y.Value)
	case tag == "!!int" && y.Decode(&i) == nil:
		n.Kind, n.Text = Integer, strconv.FormatInt(i, 10)
	case number && y.Decode(&f) == nil:
		if !math.IsInf(f, 0) && !math.IsNaN(f) {
			n.Kind, n.Text = Float, strconv.FormatFloat(f, 'g', -1, 64)
		}
	case number || tag == "!!bool":
		return d.fail(n, "%s is not a value of the tag %s", Quote(y.Value), tag)
	case !slices.Contains([]string{"!!str", "!!timestamp", "!!binary", "!!merge"}, tag):
		return d.badTag(n, tag)
	}
	return nil
}

// YAML makes the library's node.
func (n *Node) YAML() *yaml.Node {
	tags := [...]string{"!!null", "!!bool", "!!int", "!!float", "!!str", "!!seq", "!!map"}
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	switch n.Kind {
	case Null:
		y.Value = "null"
	case Text:
		y.SetString(n.Text)
		if isNumber(n.Text) || isOldBool(n.Text) {
			y.Style = yaml.DoubleQuotedStyle
		}
	case List:
		y.Kind = yaml.SequenceNode
	case Map:
		y.Kind = yaml.MappingNode
	}
	y.Tag = tags[n.Kind]
	for i, item := range n.Items {
		if n.Kind == Map {
			y.Content = append(y.Content, String(n.Keys[i].Text).YAML())
		}
		y.Content = append(y.Content, item.YAML())
	}
	return y
}

// YAMLText writes the value as one YAML document.
func (n *Node) YAMLText() ([]byte, error) {
	return yaml.Dump(n.YAML(), yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1), yaml.WithQuotePreference(yaml.QuoteDouble))
}

// isOldBool says whether a text is a boolean to programs that read YAML 1.1.
func isOldBool(text string) bool {
	return slices.Contains([]string{"y", "yes", "n", "no", "on", "off"}, strings.ToLower(text))
}
