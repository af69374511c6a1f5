package english

import (
	"cmp"
	"strings"
)

// A lexicon numbers words and classes of words. Words that mean much the same to the
// rule share a class ("@test": test, suite, build), so that what is learnt of one
// holds for all; words of grammar ("of", "has") are a class of their own, and the
// rest has the class of its ending.
type lexicon struct {
	number  map[string]uint16
	names   []string // by number; 0 = ""
	class   []uint16 // by number
	key     []bool   // by number: classes that matter from afar
	endings []ending
	other   uint16            // the class of words with no such ending
	apart   map[string]string // contractions, or their ends, and what they stand for
	marks   map[string]string // of open work, as they stand in code, and what stands for them
	tests   []string          // what code that runs tests holds
	short   []string          // words after which a point ends no sentence

	// What the mechanism knows by name. Some stand for a place in a sentence: gap for any
	// word, reach for any words in the reach of the one before, far for any words, begin
	// and end for the ends, and title is between a title and what is said under it.
	count, of, and, gap, reach, far, stop, not, condition, relative uint16
	begin, end, title, all                                          token
}

type ending struct {
	prefix, suffix string
	class          uint16
}

// newLexicon reads the sections of a file. A line of classes is a name, then its words;
// those of the class "=" are classes of their own.
func newLexicon(parts map[string][]string) *lexicon {
	words := func(section string) []string { return strings.Fields(strings.Join(parts[section], " ")) }
	pairs := func(section string) map[string]string {
		all := map[string]string{}
		for _, line := range parts[section] {
			word, as, _ := strings.Cut(line, " ")
			all[word] = as
		}
		return all
	}
	l := &lexicon{
		number: map[string]uint16{}, names: []string{""}, class: []uint16{0}, key: make([]bool, 1<<16),
		apart: pairs("contractions"), marks: pairs("marks"),
		tests: words("tests"), short: words("abbreviations"),
	}
	for _, line := range parts["classes"] {
		words := strings.Fields(line)
		class := l.add(words[0], 0)
		for _, word := range words[1:] {
			if n := l.add(word, class); words[0] == "=" {
				l.class[n] = n
			}
		}
	}
	var endings []ending
	for _, line := range parts["endings"] {
		class, shape, _ := strings.Cut(line, " ")
		prefix, suffix, _ := strings.Cut(shape, "*")
		endings = append(endings, ending{prefix, suffix, l.add(class, 0)})
	}
	l.other, l.endings = l.add("@", 0), endings
	for _, class := range words("keys") {
		l.key[l.add(class, 0)] = true
	}
	for word, n := range map[string]*uint16{
		"#": &l.count, "of": &l.of, "and": &l.and, "*": &l.gap, "..": &l.reach, "...": &l.far,
		"@stop": &l.stop, "@not": &l.not, "@if": &l.condition, "@that": &l.relative,
	} {
		*n = l.number[word]
	}
	l.begin, l.end, l.title, l.all = l.token("^"), l.token("$"), l.token("§"), l.token("#/whole")
	return l
}

// token returns a word's number and class, without a place.
func (l *lexicon) token(word string) token {
	if n, ok := l.number[word]; ok {
		return token{word: n, class: l.class[n]}
	}
	return token{class: l.byEnding(word)}
}

// add numbers a word. Class 0 stands for that of its ending, and, as long as no
// endings are known, for a class of its own.
func (l *lexicon) add(word string, class uint16) uint16 {
	if n, ok := l.number[word]; ok {
		return n
	}
	n := uint16(len(l.names))
	l.number[word] = n
	l.names = append(l.names, word)
	l.class = append(l.class, cmp.Or(class, l.byEnding(word), n))
	return n
}

// byEnding returns the class of a word's ending, 0 as long as no endings are known.
func (l *lexicon) byEnding(word string) uint16 {
	for _, e := range l.endings {
		if len(word) > len(e.prefix)+len(e.suffix)+2 &&
			strings.HasPrefix(word, e.prefix) && strings.HasSuffix(word, e.suffix) {
			return e.class
		}
	}
	return l.other
}

// contraction takes "isn't" apart into "is" and "not".
func (l *lexicon) contraction(low string) (head, tail string) {
	if both, ok := l.apart[low]; ok {
		head, tail, _ = strings.Cut(both, " ")
		return head, tail
	}
	at := strings.IndexByte(low, '\'')
	if at < 0 {
		return low, ""
	}
	tail, ok := l.apart[low[at:]]
	if !ok {
		return low, ""
	}
	if head = low[:at]; tail == "not" {
		head = strings.TrimSuffix(head, "n")
	}
	return head, tail
}
