package english

import "strings"

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
	other   uint16

	// What the mechanism knows by name.
	count, of, and, gap, reach, far, stop, not, condition, relative uint16
	begin, end, title                                               token
}

type ending struct {
	prefix, suffix string
	class          uint16
}

// newLexicon makes a lexicon of classes, each a line: its name, then its words. The
// words of the class "=" are classes of their own. Those in keys are key classes.
func newLexicon(classes, keys []string) *lexicon {
	l := &lexicon{number: map[string]uint16{}, names: []string{""}, class: []uint16{0}}
	for _, line := range classes {
		words := strings.Fields(line)
		class := l.add(words[0], 0)
		for _, word := range words[1:] {
			if n := l.add(word, class); words[0] == "=" {
				l.class[n] = n
			}
		}
	}
	for _, word := range []string{
		codeWord, testCodeWord, quoteWord, nameWord, testNameWord, countWord, percentWord, shareWord, wholeWord,
		markWord, marksWord, ".", "!", "?", ",", ";", ":", "(", ")", "-", "…", "→", "|",
		begins, ends, gap, reach, far, title,
	} {
		l.add(word, 0)
	}
	l.endings = []ending{
		{"un", "ed", l.add("@open", 0)}, {"", "ed", l.add("@ed", 0)}, {"", "ing", l.add("@ing", 0)},
		{"", "ly", l.add("@ly", 0)}, {"", "s", l.add("@s", 0)},
	}
	l.other = l.add("@", 0)
	for word, n := range map[string]*uint16{
		countWord: &l.count, "of": &l.of, "and": &l.and, gap: &l.gap, reach: &l.reach, far: &l.far,
		"@stop": &l.stop, "@not": &l.not, "@if": &l.condition, "@that": &l.relative,
	} {
		*n = l.number[word]
	}
	l.begin, l.end, l.title = l.token(begins), l.token(ends), l.token(title)
	l.key = make([]bool, 1<<16)
	for _, line := range keys {
		for class := range strings.FieldsSeq(line) {
			l.key[l.add(class, 0)] = true
		}
	}
	return l
}

func (l *lexicon) token(word string) token {
	n, class := l.lookup([]byte(word))
	return token{word: n, class: class}
}

// add numbers a word. Class 0 stands for that of its ending, and, as long as no
// endings are known, for a class of its own.
func (l *lexicon) add(word string, class uint16) uint16 {
	if n, ok := l.number[word]; ok {
		return n
	}
	n := uint16(len(l.names))
	if class == 0 {
		if class = n; len(l.endings) > 0 {
			class = l.byEnding(word)
		}
	}
	l.number[word] = n
	l.names = append(l.names, word)
	l.class = append(l.class, class)
	return n
}

// lookup returns the number of a word, 0 = not known, and of its class.
func (l *lexicon) lookup(low []byte) (word, class uint16) {
	if n, ok := l.number[string(low)]; ok {
		return n, l.class[n]
	}
	return 0, l.byEnding(string(low))
}

func (l *lexicon) byEnding(word string) uint16 {
	for _, e := range l.endings {
		if len(word) > len(e.prefix)+len(e.suffix)+2 &&
			strings.HasPrefix(word, e.prefix) && strings.HasSuffix(word, e.suffix) {
			return e.class
		}
	}
	return l.other
}
