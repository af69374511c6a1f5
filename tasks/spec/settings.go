package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/file"
)

// A part is a value in a text of JSON: where it stands, and, as a member of an object,
// its name and where that begins. Offsets are in bytes.
type part struct {
	key            string
	name, from, to int
}

const jsonBlanks = " \t\r\n"

// parts are the values in the object or list that stands at in, of a text that is
// valid. They are found by the tokens of the decoder, and not by searching the text:
// quotes, escapes and keys of the same name further in would mislead that.
func parts(text []byte, in part) (found []part, err error) {
	d := json.NewDecoder(bytes.NewReader(text[in.from:in.to]))
	open, err := d.Token()
	for err == nil && d.More() {
		rest := text[in.from+int(d.InputOffset()) : in.to]
		p := part{name: in.to - len(bytes.TrimLeft(rest, jsonBlanks+","))}
		if open == json.Delim('{') {
			var name json.Token
			name, err = d.Token()
			p.key, _ = name.(string)
		}
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		p.to = in.from + int(d.InputOffset())
		p.from = p.to - len(value)
		found = append(found, p)
	}
	return found, err
}

// find is the value at a path of keys; ok = it is there. Of several members of one name
// the last counts, as it does for the programs that read the file. If it is not there,
// at is the innermost value of the path that is.
func find(text []byte, path ...string) (at part, ok bool, err error) {
	at.to = len(bytes.TrimRight(text, jsonBlanks))
	at.from = at.to - len(bytes.TrimLeft(text[:at.to], jsonBlanks))
	at.name = at.from
	for _, key := range path {
		if text[at.from] != '{' {
			return at, false, nil
		}
		found, err := parts(text, at)
		slices.Reverse(found)
		n := slices.IndexFunc(found, func(p part) bool { return p.key == key })
		if err != nil || n < 0 {
			return at, false, err
		}
		at = found[n]
	}
	return at, true, nil
}

var errNoJSON = errors.New("spec: it is not valid JSON, so it is left as it is")

// AddJSON puts a value into the list or object that stands at a path of keys in a text
// of JSON: as the last one, and without changing anything else of the text. The value
// decides what it goes into: one that begins with { is an element of a list, anything
// else is a member of an object, such as "key":1, and is added even if there is one of
// that name. What is missing of the path is made, and if text is nil, the whole text
// is.
//
// It is for files of others, such as a program's settings, in which people keep an
// order, a layout and numbers that decoding and encoding would lose. [RemoveJSON] takes
// the value out again and leaves the text as it was, byte for byte. For that to be
// possible, a blank is put before what goes into something that was there and empty,
// and none into what is made.
//
// It is an error if the text is not valid JSON (comments are not), or if something on
// the path is neither missing nor what it would have to be. The text itself is never
// changed.
func AddJSON(text []byte, value string, path ...string) ([]byte, error) {
	wrapped := func() string {
		return map[bool]string{true: "[" + value + "]", false: "{" + value + "}"}[value[0] == '{']
	}
	if text == nil {
		for _, key := range slices.Backward(path) {
			value = `"` + key + `":` + wrapped()
		}
		return []byte(wrapped() + "\n"), nil
	}
	if !json.Valid(text) {
		return nil, errNoJSON
	}
	for n := len(path); ; n-- {
		at, ok, err := find(text, path[:n]...)
		switch open := wrapped()[0]; {
		case err != nil:
			return nil, err
		case !ok:
			value = `"` + path[n-1] + `":` + wrapped()
			continue
		case text[at.from] != open:
			return nil, fmt.Errorf("spec: what stands at %q does not begin with %c", path[:n], open)
		}
		end := at.from + len(bytes.TrimRight(text[at.from:at.to-1], jsonBlanks))
		value = map[bool]string{true: " ", false: ","}[end == at.from+1] + value
		return slices.Insert(slices.Clone(text), end, []byte(value)...), nil
	}
}

// RemoveJSON takes elements or members out of the list or object at a path: those for
// which ours is true. With them goes what AddJSON has made around them; of a text that
// it has made as a whole, nothing is left, and the result is nil.
//
// ours is called with each value, the last one first. It gets the value in compact
// form, without white space between its parts, which formatters change. A path that
// does not exist is no error.
func RemoveJSON(text []byte, ours func(value []byte) bool, path ...string) ([]byte, error) {
	if !json.Valid(text) {
		return nil, errNoJSON
	}
	at, ok, err := find(text, path...)
	if err != nil || !ok || text[at.from] != '{' && text[at.from] != '[' {
		return text, err
	}
	there, err := parts(text, at)
	for _, p := range slices.Backward(there) {
		if err == nil && ours(compact(text[at.from], text[p.name:p.to])) {
			text, err = remove(text, p, path...)
		}
	}
	return text, err
}

// compact is an element or a member without the blanks around its parts. A member alone
// is no JSON, which is why it is put into brackets first.
func compact(open byte, value []byte) []byte {
	var to bytes.Buffer
	_ = json.Compact(&to, slices.Concat([]byte{open}, value, []byte{open + 2})) // [ and ], { and }
	return to.Bytes()[1 : to.Len()-1]
}

// remove takes out a value that AddJSON has put in, and what it has made around it.
func remove(text []byte, p part, path ...string) ([]byte, error) {
	before, after := bytes.TrimRight(text[:p.name], jsonBlanks), bytes.TrimLeft(text[p.to:], jsonBlanks)
	from, to := p.name, p.to
	switch {
	case len(before) > 0 && before[len(before)-1] == ',':
		from = len(before) - 1
	case len(after) > 0 && after[0] == ',':
		to = len(text) - len(after) + 1
	case len(before) < p.name: // it was there, and empty
		from = len(before)
	case len(path) == 0:
		return nil, nil
	default: // it was made
		at, _, err := find(text, path...)
		if err != nil {
			return nil, err
		}
		return remove(text, at, path[:len(path)-1]...)
	}
	return slices.Delete(slices.Clone(text), from, to), nil
}

// An Insertion is what [EditJSON] puts into a text, and how it knows it again.
type Insertion struct {
	Path  []string // see [AddJSON]
	Value string
	// Mark is a text that every version of the value holds, without blanks: by it a
	// value is found that an older version of the program has put in.
	//
	// "" = no mark: such a value is found by being equal, and only in a text in which
	// an insertion with a mark was found; of several equal values the last one is
	// ours. So list an insertion with a mark first.
	//
	// A value with a mark that has more than one member "type" is one that people have
	// extended. It is an error, since taking it out would take out theirs.
	Mark string
}

// is reports whether a value is a version of it; one without a mark is found once.
func (i Insertion) is(value []byte, found bool) bool {
	if i.Mark == "" {
		return !found && string(value) == i.Value
	}
	return bytes.Contains(value, []byte(i.Mark))
}

// EditJSON puts values into a text of JSON, as [AddJSON] does, and replaces other
// versions of them; if put is false it takes them out. A text that holds these values
// already is returned as it is, so doing it twice changes nothing. If nothing is left
// of the text, the result is nil. A nil text stands for a file that does not exist yet.
func EditJSON(text []byte, put bool, all ...Insertion) (_ []byte, err error) {
	was, kept, mixed := text, 0, error(nil)
	for _, i := range all {
		if err != nil || was == nil || i.Mark == "" && len(text) == len(was) {
			continue
		}
		found := false
		text, err = RemoveJSON(text, func(is []byte) bool {
			if !i.is(is, found) {
				return false
			}
			if bytes.Count(is, []byte(`"type":`)) > 1 {
				mixed = fmt.Errorf("in %s ours stands together with another one's: take it out by hand", strings.Join(i.Path, "."))
				return false
			}
			if found = true; string(is) == i.Value {
				kept++
			}
			return true
		}, i.Path...)
	}
	if err = cmp.Or(err, mixed); err != nil || !put {
		return text, err
	}
	if kept == len(all) {
		return was, nil
	}
	for _, i := range all {
		if err == nil {
			text, err = AddJSON(text, i.Value, i.Path...)
		}
	}
	return text, err
}

// maxSettings is how much is read of a file that is edited, in bytes. Settings are
// small; a file beyond that is something else.
const maxSettings = 4 << 20

// EditFile is [EditJSON] for a file. The file is replaced as a whole, so a program that
// reads it meanwhile sees the old text or the new one. It may be reached through links,
// which stay, since people keep their settings in repositories and link to them. If it
// is not there it is made, with its folder, readable by this user only; if nothing is
// left of it, it is removed. If nothing changes, nothing is written. The error names
// the file.
//
// Two programs that edit the file at the same time may lose one of the two changes.
func EditFile(path string, put bool, all ...Insertion) error {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return fmt.Errorf("spec: %w", err)
		}
	}
	was, err := file.Read("", path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		was, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	text, err := EditJSON(was, put, all...)
	switch {
	case err != nil || bytes.Equal(text, was):
	case text == nil:
		err = os.Remove(path)
	default:
		if err = file.Folder(filepath.Dir(path)); err == nil {
			err = file.Put("", path, text)
		}
	}
	if err != nil {
		return fmt.Errorf("spec: %s: %w", path, err)
	}
	return nil
}
