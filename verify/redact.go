package verify

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/plugin"
	"github.com/ralph-loop/ralph/internal/redact"
)

// A hider is the Redact of a verifier: it returns a text without its secrets.
// Nil hides nothing. It is used only through its methods, which take care of
// nil and of panics.
type hider func(string) string

// text is a text without its secrets. If Redact panics, none of it is shown: a
// secret that gets out cannot be called back.
func (h hider) text(s string) string {
	if h == nil || s == "" {
		return s
	}
	hidden := ""
	if plugin.Call("Redact", func() error { hidden = redact.Shown(h, s); return nil }) != nil {
		return "[withheld: Redact panicked]"
	}
	return hidden
}

// texts is text for each of a list, which is not written to.
func (h hider) texts(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = h.text(list[i])
	}
	return list
}

// leaving is what a verifier says, without secrets: the feedback, the names and
// details of the checks, the error. It stands around every exported method that
// can quote something, and not where texts are made, so that a message that is
// added later is covered. If Redact panics, that is the error. The checks are
// copied, for they may be shared.
func (h hider) leaving(v ralph.Verdict, err error) (ralph.Verdict, error) {
	if h == nil {
		return v, err
	}
	panicked := plugin.Call("verify: Redact", func() error {
		v.Feedback = h(v.Feedback)
		v.Checks = slices.Clone(v.Checks)
		for i := range v.Checks {
			v.Checks[i].Name, v.Checks[i].Detail = h(v.Checks[i].Name), h(v.Checks[i].Detail)
		}
		if err != nil {
			if text := h(err.Error()); text != err.Error() {
				err = &hiddenError{text, err}
			}
		}
		return nil
	})
	if panicked != nil {
		return ralph.Verdict{Usage: v.Usage}, panicked
	}
	return v, err
}

// A hiddenError is an error whose text is not that of the error it wraps.
// errors.Is and errors.As still see through it; whoever prints what they find
// prints what was hidden.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// The bounds of hiding a stream, in bytes. A window has to be much longer than
// what is looked at beyond a cut, or most of the time would go into looking
// twice.
const (
	hideAhead  = 8 << 10   // of the text beyond a cut are known when it is made
	hideWindow = 64 << 10  // is hidden at a time
	hideMost   = 256 << 10 // where no cut is found in a window
)

// A hiding passes a text on without its secrets. Redact works on whole texts,
// and an output comes in pieces of any size, so a hiding holds a window of it
// and cuts that where it changes nothing: where the two parts without their
// secrets are the window without its secrets. So a secret that comes in pieces
// is hidden as a whole, if it is not longer than hideAhead, or if its beginning
// tells that it is one. Where no such cut is found in hideMost bytes, they are
// passed on hidden, and the rest of the line is left out, for it may belong to
// a secret.
type hiding struct {
	to   func([]byte)
	hide hider
	held []byte
	next int  // how much is to be held when it is tried again to pass on some
	skip bool // leave out the rest of the line
	left int  // how much of it was left out, in bytes
}

// add takes the next piece of the text, of any length.
func (w *hiding) add(p []byte) {
	for len(p) > 0 {
		if w.skip {
			rest := bytes.IndexByte(p, '\n')
			if rest < 0 {
				w.left += len(p)
				return
			}
			w.left += rest
			w.resume()
			p = p[rest:]
		}
		piece := p[:min(len(p), hideWindow)]
		p = p[len(piece):]
		if w.held = append(w.held, piece...); len(w.held) >= max(w.next, hideWindow) {
			w.pass()
			w.next = len(w.held) + hideWindow/2 // not with each byte
		}
	}
}

// pass passes on what is held, as far as it can be cut. It tries the last place
// first and then half as far each time, so there are few attempts even where
// many places will not do.
func (w *hiding) pass() {
	all := w.hide.text(string(w.held))
	for at := w.cut(len(w.held) - hideAhead); at > 0; at = w.cut(at / 2) {
		first := w.hide.text(string(w.held[:at]))
		if first+w.hide.text(string(w.held[at:])) == all {
			w.held = w.held[:copy(w.held, w.held[at:])]
			w.to([]byte(first))
			return
		}
	}
	if len(w.held) >= hideMost {
		w.held, w.skip = w.held[:0], true
		w.to([]byte(all))
	}
}

// cut is a place to cut at: the last end of a line before n if there is one,
// for few secrets go over lines, else the border of a rune.
func (w *hiding) cut(n int) int {
	if end := bytes.LastIndexByte(w.held[:n], '\n'); end > 0 {
		return end + 1
	}
	for n > 0 && !utf8.RuneStart(w.held[n]) {
		n--
	}
	return n
}

// resume says how much of a line was left out, so that nobody takes what is
// there for the whole.
func (w *hiding) resume() {
	if w.skip {
		w.to(fmt.Appendf(nil, " [%d bytes left out]", w.left))
		w.skip, w.left = false, 0
	}
}

// end passes on what is left. It must be called once, when all is printed.
func (w *hiding) end() {
	w.resume()
	w.to([]byte(w.hide.text(string(w.held))))
}
