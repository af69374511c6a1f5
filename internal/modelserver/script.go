package modelserver

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Turn is what the model does with one request. Thinking, Text and the tool
// calls come in this order and may be combined; a turn with a tool call makes
// the client run the tool and ask again, which takes the next turn.
type Turn struct {
	Thinking string // reasoning, where the API knows it
	Text     string // what the model says
	// Reply makes what the model says of the request, instead of Text. A request
	// that offers no tools takes such a turn too.
	Reply func(Request) string

	// Shell is a command line for the client's shell tool.
	Shell string
	// Write is a file to be written with the client's tool for that, or with
	// its shell tool if it has none.
	Write *File
	// Calls are of any other tools of the client's, which must offer them.
	Calls []Call

	// Status is an HTTP error to answer with: 401, 429, 500. 0 = none.
	Status int
	// RetryAfter is told to the client along with Status, in whole seconds.
	// 0 = not told.
	RetryAfter time.Duration
	// Body is what is sent with Status, as a vendor writes it. "" = a short error
	// in the words of the API.
	Body string
	// Header is sent along with Status.
	Header map[string]string
	// Break is how the answer goes wrong after it has begun.
	Break Break

	// Repeat says that the turn is never used up: every later request gets it.
	Repeat bool

	// InputTokens and OutputTokens are the usage that is reported. 0 = 100 and
	// 10.
	InputTokens, OutputTokens int64
}

// A File is a file to be written. Path should be absolute: some tools take no
// other.
type File struct{ Path, Content string }

// A Call is one of a tool by the name that the client gives it. Input is JSON; what it
// leaves out and the tool requires is filled in.
type Call struct{ Name, Input string }

// Break is how an answer goes wrong in the middle.
type Break string

const (
	// BreakError is an error event in the stream, after half of the text.
	BreakError Break = "error"
	// BreakDrop is a connection that is cut, after half of the text.
	BreakDrop Break = "drop"
	// BreakHang is an answer that does not go on, after half of the text,
	// until the client goes away or the server is closed. Without text not
	// even the head of the answer comes.
	BreakHang Break = "hang"
)

// reply is a turn translated for one request.
type reply struct {
	id       string // unique among the replies of a server
	model    string
	thinking string
	text     string
	calls    []toolCall
	in, out  int64
}

func (t Turn) reply(id string, q Request) (reply, error) {
	r := reply{id: id, model: q.Model, thinking: t.Thinking, text: t.Text, in: t.InputTokens, out: t.OutputTokens}
	if t.Reply != nil {
		r.text = t.Reply(q)
	}
	if r.in == 0 && r.out == 0 {
		r.in, r.out = 100, 10
	}
	if t.Write != nil {
		c, err := q.writeCall(*t.Write)
		if err != nil {
			return r, err
		}
		c.id = "call_" + id + "_w"
		r.calls = append(r.calls, c)
	}
	if t.Shell != "" {
		c, err := q.shellCall(t.Shell)
		if err != nil {
			return r, err
		}
		c.id = "call_" + id + "_s"
		r.calls = append(r.calls, c)
	}
	for n, call := range t.Calls {
		c, err := q.call(call)
		if err != nil {
			return r, err
		}
		c.id = "call_" + id + "_" + strconv.Itoa(n)
		r.calls = append(r.calls, c)
	}
	return r, nil
}

// pieces cuts text as models stream it, at rune borders: a tag is split over
// several deltas, and a long text does not make very many.
func pieces(text string) []string {
	size := max(7, len(text)/64)
	var out []string
	for text != "" {
		n := min(size, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// firstHalf is what is said before an answer breaks off.
func firstHalf(text string) string {
	half := text[:len(text)/2]
	return strings.ToValidUTF8(half, "")
}
