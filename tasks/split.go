package tasks

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// A chunk is a part of a list that is scanned by itself. Its lines, offsets and
// sections count from its own beginning; what comes before is added when it is known.
type chunk struct {
	scanner
	bytes  []byte
	valid  bool    // it is UTF-8
	offset int     // bytes before it
	above  int     // lines before it
	first  section // the one that it begins in

	tasks int  // how many boxes are tasks
	rises bool // their IDs rise: none is there twice
	// of boxes that are no tasks by the strict rule; they are named last
	loose []*Item
	// of all boxes, for those that are parts of others; nil if none is nested below
	// another
	made []*Item
}

// scanned scans a list in chunks of this size at least. The error is for a text that is
// not UTF-8.
//
// A chunk that ends within a comment or a block of code, or below a heading for
// criteria, says something about the next one. Such lists are rare, so they are scanned
// once more in one piece, and the scanner needs no state that is handed over.
func scanned(text []byte, size int) ([]chunk, error) {
	chunks := split(text, size)
	parallel(len(chunks), func(i int) {
		c := &chunks[i]
		if c.valid = utf8.Valid(c.bytes); c.valid {
			c.scan(string(c.bytes))
		}
	})
	for i := range chunks {
		c := &chunks[i]
		if !c.valid {
			return nil, notUTF8(text)
		}
		if i == len(chunks)-1 {
			break
		}
		if c.raw.end != "" && c.raw.col == 0 || c.sections[len(c.sections)-1].criteria != "" { // it goes on in the next one
			return scanned(text, len(text))
		}
		next := &chunks[i+1]
		next.offset, next.above, next.first = c.offset+len(c.bytes), c.above+c.line, c.first
		if last := c.sections[len(c.sections)-1]; last.line > 0 {
			next.first = last
		}
	}
	return chunks, nil
}

// split splits a text before lines that begin a list item at the left edge. Whatever
// comes before, unless it hides them, a chunk means what it means by itself: such a
// line ends every paragraph and every list item. Before a heading would not do, since a
// list may have none.
func split(text []byte, size int) []chunk {
	var chunks []chunk
	for len(text) > size {
		n := bytes.Index(text[size:], []byte("\n- ["))
		if n < 0 {
			break
		}
		chunks = append(chunks, chunk{bytes: text[:size+n+1]})
		text = text[size+n+1:]
	}
	return append(chunks, chunk{bytes: text})
}

// parallel calls do for 0 to n-1, on a goroutine each, and waits. One call is made at
// once: most lists are one chunk.
func parallel(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}
