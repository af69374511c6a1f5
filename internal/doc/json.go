package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseJSON reads one JSON value, the text without a byte order mark.
func (d *Doc) parseJSON(body []byte) error {
	skipped := len(d.Text) - len(body)
	if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
		var at *Node
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = &Node{Start: skipped + max(int(syntax.Offset)-1, 0)}
		}
		return d.fail(at, "this is not JSON: %v", err)
	}
	j := jsonReader{doc: d, dec: json.NewDecoder(bytes.NewReader(body)), body: body, skipped: skipped}
	j.dec.UseNumber()
	root, err := j.value(0)
	d.Roots = []*Node{root}
	return err
}

type jsonReader struct {
	doc     *Doc
	dec     *json.Decoder
	body    []byte
	skipped int // bytes before body
}

// token reads the next token and where it stands.
func (j *jsonReader) token() (json.Token, *Node, error) {
	start := int(j.dec.InputOffset())
	for start < len(j.body) && strings.IndexByte(" \t\r\n,:", j.body[start]) >= 0 {
		start++
	}
	tok, err := j.dec.Token()
	return tok, &Node{Start: start + j.skipped, End: int(j.dec.InputOffset()) + j.skipped}, err
}

func (j *jsonReader) value(depth int) (*Node, error) {
	tok, n, err := j.token()
	if err != nil {
		return nil, err
	}
	if err := j.doc.count(n, depth, 0); err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case bool:
		n.Kind, n.Text = Bool, fmt.Sprint(v)
	case json.Number:
		n.Kind, n.Text = numberKind(v.String()), v.String()
	case string:
		n.Kind, n.Text = Text, v
	case json.Delim:
		n.Kind, n.Flow = List, true
		if v == '{' {
			n.Kind = Map
		}
		for isKey := n.Kind == Map; j.dec.More(); isKey = n.Kind == Map && !isKey {
			item, err := j.value(depth + 1)
			if err != nil {
				return nil, err
			}
			if isKey {
				n.Keys = append(n.Keys, item)
			} else {
				n.Items = append(n.Items, item)
			}
		}
		_, closing, err := j.token()
		n.End = closing.End
		return n, err
	}
	return n, nil
}

func numberKind(text string) Kind {
	if strings.ContainsAny(text, ".eE") {
		return Float
	}
	return Integer
}

// isNumber says whether a text is a number in JSON.
func isNumber(text string) bool {
	return text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text))
}
