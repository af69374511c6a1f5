package english

// Words that stand for a place in a sentence.
const (
	begins = "^"
	ends   = "$"
	gap    = "*"   // any word
	reach  = ".."  // any words, in the reach of the word before
	far    = "..." // any words
	title  = "§"   // between a title and what is said under it
)

// A feature is up to four words or classes, in their order in a sentence, packed.
type feature uint64

func pack(a, b, c, d uint16) feature {
	return feature(a)<<48 | feature(b)<<32 | feature(c)<<16 | feature(d)
}

// A window is the last words of a sentence, and what they were said under.
type window struct {
	*lexicon
	a, b, c token     // three words, two words, one word before
	turn    uint16    // the class of an "if" or a "which" whose reach has not ended
	denied  int       // for how many words a "not" still reaches
	keys    [6]uint16 // the last classes that matter from afar
	n       int
}

// features calls each with what a sentence is judged by: its words in ones, twos and
// threes, and with a gap between them; the same of their classes, up to four; words
// beside classes; words and classes in the reach of those that turn them, as "if",
// "which" and "not" do; and two key classes with anything between.
func (l *lexicon) features(s []token, each func(feature)) {
	w := window{lexicon: l}
	for _, d := range s {
		if d.word != 0 {
			w.words(d, each)
		}
		w.classes(d, each)
		w.next(d, each)
	}
}

func (w *window) words(d token, each func(feature)) {
	each(pack(d.word, 0, 0, 0))
	if w.c.class != 0 {
		each(pack(w.c.class, d.word, 0, 0))
	}
	if w.c.word != 0 {
		each(pack(w.c.word, d.word, 0, 0))
		if w.b.word != 0 {
			each(pack(w.b.word, w.c.word, d.word, 0))
		}
	}
	if w.b.word != 0 {
		each(pack(w.b.word, w.gap, d.word, 0))
	}
	if w.a.word != 0 {
		each(pack(w.a.word, w.gap, w.gap, d.word))
	}
	if w.turn != 0 {
		each(pack(w.turn, w.reach, d.word, 0))
	}
	if w.denied > 0 {
		each(pack(w.not, w.reach, d.word, 0))
	}
}

func (w *window) classes(d token, each func(feature)) {
	if w.c.class != 0 {
		each(pack(w.c.class, d.class, 0, 0))
	}
	if w.c.word != 0 {
		each(pack(w.c.word, d.class, 0, 0))
	}
	if w.b.class != 0 {
		each(pack(w.b.class, w.c.class, d.class, 0))
		each(pack(w.b.class, w.gap, d.class, 0))
	}
	if w.a.class != 0 {
		each(pack(w.a.class, w.b.class, w.c.class, d.class))
		each(pack(w.a.class, w.gap, w.gap, d.class))
	}
	if w.turn != 0 {
		each(pack(w.turn, w.reach, d.class, 0))
	}
}

// next moves on to the word after d.
func (w *window) next(d token, each func(feature)) {
	switch d.class {
	case w.condition, w.relative:
		w.turn = d.class
	case w.stop:
		w.turn, w.denied = 0, 0
	case w.not:
		w.denied = 8
	}
	w.denied--
	if w.key[d.class] {
		for _, k := range w.keys[:w.n] {
			each(pack(k, w.far, d.class, 0))
		}
		if w.n == len(w.keys) {
			copy(w.keys[:], w.keys[1:])
			w.n--
		}
		w.keys[w.n] = d.class
		w.n++
	}
	w.a, w.b, w.c = w.b, w.c, d
}
