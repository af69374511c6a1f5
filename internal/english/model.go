package english

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

//go:generate go test -run TestModel -update .

// modelText is what the trainer, train_test.go, made of english.txt.
//
//go:embed model.txt
var modelText string

// A model judges sentences: by its rules, and where none speaks by the sum of the
// weights of the sentence's features.
type model struct {
	*lexicon
	rules     map[string]ruleSet
	weights   []entry         // open addressing, for a map is slower; the length is a power of two
	maybe     [1 << 12]uint64 // a bit for each hash there is: most features have no weight
	bias      int32
	threshold int32
}

type entry struct {
	feature feature
	weight  int32
}

// theModel is parsed once, when it is first needed.
var theModel = sync.OnceValue(func() *model {
	m, err := parseModel(modelText)
	if err != nil {
		panic("english: model.txt: " + err.Error()) // it is part of the program
	}
	return m
})

// sections cuts a file into its sections: lines below a name in brackets.
func sections(text string) map[string][]string {
	all, name := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" || strings.HasPrefix(line+" ", "# "):
		case line[0] == '[' && line[len(line)-1] == ']':
			name = line[1 : len(line)-1]
		default:
			all[name] = append(all[name], line)
		}
	}
	return all
}

func parseModel(text string) (m *model, err error) {
	parts := sections(text)
	m = &model{lexicon: newLexicon(parts)}
	if _, err := fmt.Sscan(strings.Join(parts["score"], " "), &m.bias, &m.threshold); err != nil {
		return nil, err
	}
	m.weights = make([]entry, 2<<bits.Len(uint(len(parts["weights"]))))
	for _, line := range parts["weights"] {
		words := strings.Fields(line)
		weight, err := strconv.Atoi(words[0])
		if err != nil {
			return nil, err
		}
		f := feature(0)
		for i, word := range words[1:] {
			f |= feature(m.add(word, 0)) << (48 - 16*i)
		}
		*m.weight(f) = entry{f, int32(weight)}
		m.maybe[f.hash()>>52] |= 1 << (f.hash() >> 46 & 63)
	}
	m.rules, err = parseRules(m.lexicon, parts)
	return m, err
}

func (f feature) hash() uint64 { return uint64(f^f>>31) * 0x9e3779b97f4a7c15 }

// weight returns a feature's place in the table, which is empty if it has no weight.
func (m *model) weight(f feature) *entry {
	for i := f.hash() >> 32; ; i++ {
		e := &m.weights[i&uint64(len(m.weights)-1)]
		if e.feature == f || e.feature == 0 {
			return e
		}
	}
}

// score is above zero if the sentence reads like one that contradicts that the work
// is done.
func (m *model) score(s []token) float64 {
	sum := int32(0)
	m.features(s, func(f feature) {
		if h := f.hash(); m.maybe[h>>52]>>(h>>46&63)&1 != 0 {
			sum += m.weight(f).weight
		}
	})
	return float64(sum)/length(s) + float64(m.bias-m.threshold)
}

// length is what the sum of a sentence's weights is divided by, so that a long
// sentence counts no more than a short one.
func length(s []token) float64 { return math.Sqrt(float64(len(s)) / 8) }
