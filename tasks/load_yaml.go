package tasks

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// convert makes a node of the library's. Aliases are expanded, merge keys are
// resolved, and tags that ask for anything but plain data are errors.
func (d *document) convert(y *yaml.Node, depth int, shared bool) (*node, error) {
	n := &node{line: y.Line, column: y.Column, offset: -1, raw: y.Value, shared: shared, flow: y.Style&yaml.FlowStyle != 0}
	if err := d.count(n, depth, len(y.Value)); err != nil {
		return nil, err
	}
	switch y.Kind {
	case yaml.AliasNode:
		target, err := d.convert(y.Alias, depth+1, true)
		if err != nil {
			return nil, err
		}
		target.line, target.column = y.Line, y.Column
		target.alias, target.shared = true, shared
		return target, nil
	case yaml.ScalarNode:
		return n, d.scalar(n, y)
	case yaml.SequenceNode:
		n.kind = nodeList
		if err := d.tag(n, y, "!!seq"); err != nil {
			return nil, err
		}
		for _, c := range y.Content {
			item, err := d.convert(c, depth+1, shared)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case yaml.MappingNode:
		n.kind = nodeMap
		if err := d.tag(n, y, "!!map"); err != nil {
			return nil, err
		}
		return n, d.mapping(n, y, depth, shared)
	}
	return n, nil
}

func (d *document) tag(n *node, y *yaml.Node, want string) error {
	if tag := y.ShortTag(); tag != want {
		return d.problem(n, "the tag %s is not supported; definitions are plain data", quoteShort(tag))
	}
	return nil
}

// mapping converts keys and values, and the mappings merged into it: own keys
// win over merged ones, earlier merged ones over later ones.
func (d *document) mapping(n *node, y *yaml.Node, depth int, shared bool) error {
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, err := d.convert(y.Content[i], depth+1, shared)
		if err != nil {
			return err
		}
		value, err := d.convert(y.Content[i+1], depth+1, shared)
		if err != nil {
			return err
		}
		switch {
		case y.Content[i].ShortTag() == "!!merge":
			merged = append(merged, value)
			continue
		case key.kind == nodeList || key.kind == nodeMap:
			return d.problem(key, "%s cannot be a key", key.kind)
		}
		n.keys, n.items = append(n.keys, key), append(n.items, value)
	}
	if err := d.unique(n); err != nil {
		return err
	}
	if len(merged) == 0 {
		return nil
	}
	known := make(map[string]bool, len(n.keys))
	for _, key := range n.keys {
		known[key.text] = true
	}
	for _, m := range merged {
		from := []*node{m}
		if m.kind == nodeList {
			from = m.items
		}
		for _, source := range from {
			if source.kind != nodeMap {
				return d.problem(n, "a merge (<<) needs a mapping, found %s", source.found())
			}
			for i, key := range source.keys {
				if !known[key.text] {
					known[key.text] = true
					value := *source.items[i]
					value.merged = true
					n.keys, n.items = append(n.keys, key), append(n.items, &value)
				}
			}
		}
	}
	return nil
}

// scalar sets kind and text. What JSON has no value for (a date, binary data,
// infinity) is text, as it was written.
func (d *document) scalar(n *node, y *yaml.Node) error {
	n.kind, n.text = nodeText, y.Value
	switch tag := y.ShortTag(); tag {
	case "!!str":
		if y.Style == 0 && isNumber(y.Value) { // too large for a float, which is all that the library knows
			n.kind = numberKind(y.Value)
		}
	case "!!timestamp", "!!binary", "!!merge":
	case "!!null":
		n.kind, n.text = nodeNull, ""
	case "!!bool":
		var b bool
		if err := y.Decode(&b); err != nil {
			return d.problem(n, "%s is not true or false", quoteShort(y.Value))
		}
		n.kind, n.text = nodeBool, strconv.FormatBool(b)
	case "!!int", "!!float":
		return d.number(n, y)
	default:
		return d.problem(n, "the tag %s is not supported; definitions are plain data", quoteShort(tag))
	}
	return nil
}

// isNumber says whether a text is a number in JSON.
func isNumber(text string) bool {
	return text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text))
}

// number keeps a number as it was written where JSON can write it like that.
func (d *document) number(n *node, y *yaml.Node) error {
	if isNumber(y.Value) {
		n.kind = numberKind(y.Value)
		return nil
	}
	var i int64
	if y.ShortTag() == "!!int" && y.Decode(&i) == nil {
		n.kind, n.text = nodeInt, strconv.FormatInt(i, 10)
		return nil
	}
	var f float64
	if err := y.Decode(&f); err != nil {
		return d.problem(n, "%s is not a number", quoteShort(y.Value))
	}
	if !math.IsInf(f, 0) && !math.IsNaN(f) {
		n.kind, n.text = nodeFloat, strconv.FormatFloat(f, 'g', -1, 64)
	}
	return nil
}

// yaml makes the library's node of a node.
func (n *node) yaml() *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.text}
	switch n.kind {
	case nodeNull:
		y.Tag, y.Value = "!!null", "null"
	case nodeBool:
		y.Tag = "!!bool"
	case nodeInt:
		y.Tag = "!!int"
	case nodeFloat:
		y.Tag = "!!float"
	case nodeText:
		y.SetString(n.text)
		y.Tag = "!!str"
		if isNumber(n.text) || isOldBool(n.text) {
			y.Style = yaml.DoubleQuotedStyle
		}
	case nodeList:
		y = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	case nodeMap:
		y = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	for i, item := range n.items {
		if n.kind == nodeMap {
			y.Content = append(y.Content, textNode(n.keys[i].text).yaml())
		}
		y.Content = append(y.Content, item.yaml())
	}
	return y
}

// isOldBool says whether a text is a boolean to programs that read YAML 1.1.
func isOldBool(text string) bool {
	switch strings.ToLower(text) {
	case "y", "yes", "n", "no", "on", "off":
		return true
	}
	return false
}
