package english

// A feature is up to four words or classes, in their order in a sentence, packed.
type feature uint64

// What a sentence is looked at through: a window on the numbers of its last words and
// of their classes, 0 = none.
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
var shapes = [][]int{
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

// features calls each with what a sentence is judged by: its words in these shapes,
// unless something is missing in one, and a key class with each of the six before it.
func (l *lexicon) features(s []token, each func(feature)) {
	window := [places]feature{anyWord: feature(l.gap), inReach: feature(l.reach)}
	keys := make([]feature, 0, 32) // the classes that matter from afar
	left := 0                      // of the seven words that a "not" reaches
	for _, d := range s {
		window[word0], window[class0] = feature(d.word), feature(d.class)
	next:
		for _, shape := range shapes {
			f := feature(0)
			for _, place := range shape {
				if window[place] == 0 {
					continue next
				}
				f = f<<16 | window[place]
			}
			each(f << (64 - 16*len(shape)))
		}
		if left--; left <= 0 {
			window[denied] = 0
		}
		switch d.class {
		case l.condition, l.relative:
			window[turned] = feature(d.class)
		case l.stop:
			window[turned], window[denied] = 0, 0
		case l.not:
			window[denied], left = feature(d.class), 7
		}
		if l.key[d.class] {
			for _, k := range keys[max(0, len(keys)-6):] {
				each(k<<48 | feature(l.far)<<32 | feature(d.class)<<16)
			}
			keys = append(keys, feature(d.class))
		}
		copy(window[word3:], window[word2:class0+1])
	}
}
