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

func (f feature) with(part uint16, at int) feature { return f | feature(part)<<(48-16*at) }

// A window is the end of a sentence, as numbers of words and classes; 0 = none.
type window [places]uint16

// The places of a window.
const (
	word3  = iota // three words before the last one
	class3        // its class
	word2
	class2
	word1
	class1
	word0
	class0
	anyWord
	inReach
	turned // the class of an "if" or a "which" whose reach has not ended
	denied // the class of a "not" whose reach has not ended
	places
)

// shapes are the places that features are made of: words in ones, twos and threes, and
// with a gap between them; the same of their classes, up to four; words beside classes;
// and words and classes in the reach of those that turn them. The trainer numbers
// features in the order they come, so that another order makes other weights.
var shapes = [...][]int{
	{word0},
	{class1, word0},
	{word1, word0},
	{word2, word1, word0},
	{word2, anyWord, word0},
	{word3, anyWord, anyWord, word0},
	{turned, inReach, word0},
	{denied, inReach, word0},
	{class1, class0},
	{word1, class0},
	{class2, class1, class0},
	{class2, anyWord, class0},
	{class3, class2, class1, class0},
	{class3, anyWord, anyWord, class0},
	{turned, inReach, class0},
}

const (
	notReach = 7 // words after a "not"
	mostKeys = 6 // key classes that are remembered
)

// features calls each with what a sentence is judged by: its words in these shapes,
// and two key classes with anything between.
func (l *lexicon) features(s []token, each func(feature)) {
	w := window{anyWord: l.gap, inReach: l.reach}
	keys, left := make([]uint16, 0, 2*mostKeys), 0
	for _, d := range s {
		w[word0], w[class0] = d.word, d.class
		w.features(each)
		if left--; left <= 0 {
			w[denied] = 0
		}
		switch d.class {
		case l.condition, l.relative:
			w[turned] = d.class
		case l.stop:
			w[turned], w[denied] = 0, 0
		case l.not:
			w[denied], left = d.class, notReach
		}
		if l.key[d.class] {
			for _, k := range keys[max(0, len(keys)-mostKeys):] {
				each(feature(0).with(k, 0).with(l.far, 1).with(d.class, 2))
			}
			keys = append(keys, d.class)
		}
		copy(w[word3:], w[word2:class0+1])
	}
}

// features calls each with the features that end with the last word. There is none of a
// shape if something is missing in it.
func (w *window) features(each func(feature)) {
next:
	for _, shape := range shapes {
		f := feature(0)
		for i, place := range shape {
			if w[place] == 0 {
				continue next
			}
			f = f.with(w[place], i)
		}
		each(f)
	}
}
