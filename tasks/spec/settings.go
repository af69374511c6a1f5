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
// its name and where that begins. The text is never decoded and written again: that
// would lose a person's order, layout and large numbers.
type part struct {
	key            string
	name, from, to int
}

// jsonBlanks is the white space that means nothing in JSON; Unicode has more.
const jsonBlanks = " \t\r\n"

// parts are the values in the object or list that stands at in, of a text that is
// valid. The decoder says only where it is, so the beginning of a value is found by its
// length.
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

// find is the value at a path of keys, of which the last of a name counts; ok = it is
// there. It is what programs take that decode it.
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

// errNoJSON leaves alone what cannot be understood: it is somebody's settings, and
// perhaps in the middle of being edited.
var errNoJSON = errors.New("spec: it is not valid JSON, so it is left as it is")

// AddJSON puts a value into the list, or a member into the object, that stands at a
// path of keys in a text of JSON: as the last one, and without changing anything else
// of the text. The value is an element, which begins with {, or a member, like
// "key":1, also if there is one of that name. What of the path is not there is made around
// it, and so is the whole text if that is nil.
//
// It is for files of others, such as a program's settings. [RemoveJSON] takes it out
// again, to the byte: for that, a blank is put before what goes into something empty,
// and none into what is made. It is an error if the text is not valid JSON, or if
// something of the path is not what it would have to be.
//
// It is pure: the text that it is given does not change. Value and path must be JSON by
// themselves; they come from a program and not from people.
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
	// From the inside out: the first part of the path that is there gets the rest as a
	// new member.
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

// RemoveJSON takes out the elements, or the members, that are ours of the list or object
// at a path, and what AddJSON has made around them: of a whole text that it has made,
// nothing is left. Ours is asked about each, the last one first, and is given it without
// the blanks that mean nothing.
//
// It is pure, and finds what a formatter has laid out anew since.
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

// compact is an element or a member without the blanks around its parts. Formatters
// change blanks, and nothing else.
func compact(open byte, value []byte) []byte {
	var to bytes.Buffer
	_ = json.Compact(&to, slices.Concat([]byte{open}, value, []byte{open + 2})) // [ and ], { and }
	return to.Bytes()[1 : to.Len()-1]
}

// remove takes out a value that AddJSON has put in, and what it has made around it.
// Commas tell what was there before: what stands alone, without a blank in front, was
// made by AddJSON with all around it.
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

// An Insertion is what [EditJSON] puts into a text.
type Insertion struct {
	Path  []string // see [AddJSON]
	Value string
	// Mark is what the value of each version of it holds, without blanks. "" = it is known
	// by all of its value, and only after one with a mark was found in the text; of
	// several that are the same the last one is ours. A value with a mark that has more
	// than one member "type" has something of others in it, and is an error.
	Mark string
}

// is reports whether a value is a version of it; one without a mark is found once. Of
// several equal values the others may be somebody's own.
func (i Insertion) is(value []byte, found bool) bool {
	if i.Mark == "" {
		return !found && string(value) == i.Value
	}
	return bytes.Contains(value, []byte(i.Mark))
}

// EditJSON puts values into a text of JSON, as [AddJSON] does, in the place of other
// versions of them, or takes them out. A text that has just these stays as it is; one
// of which nothing is left is nil.
//
// It is pure. Where somebody has put something of his own into one of our values, the
// text is left as it is, and the error says so: to guess which half is whose could take
// away another program's settings.
func EditJSON(text []byte, put bool, all ...Insertion) (_ []byte, err error) {
	// What was there already in the newest version need not be written again: an editor
	// that has the file open would be told of a change.
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
			// It is how the settings of clients tell one hook from the next.
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

// maxSettings is how much is read of a file that is edited, in bytes. A file beyond it
// is not somebody's settings.
const maxSettings = 4 << 20

// EditFile is [EditJSON] for a file, which is replaced as a whole and may be reached through
// links, which stay. If it is not there it is made, private, and so is its folder; if
// nothing is left of it, it is removed. What changes nothing writes nothing. The error
// names the file.
//
// It must not be called for the same file by two processes at once: the later one wins.
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
