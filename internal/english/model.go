package english

import (
	_ "embed"
	"fmt"
	"math"
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
	rules     map[string]*ruleSet
	table     []entry // of weights: open addressing; its length is a power of two
	mask      uint64
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

// scale is what a weight of one is in whole numbers.
const scale = 1000

// sections cuts a file into its sections: lines below a name in brackets.
func sections(text string) map[string][]string {
	all, name := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case line[0] == '[' && line[len(line)-1] == ']':
			name = line[1 : len(line)-1]
		default:
			all[name] = append(all[name], line)
		}
	}
	return all
}

func parseModel(text string) (*model, error) {
	parts := sections(text)
	m := &model{lexicon: newLexicon(parts["classes"], parts["keys"])}
	weights := map[feature]int32{}
	for _, line := range parts["weights"] {
		number, words, _ := strings.Cut(line, " ")
		weight, err := strconv.Atoi(number)
		if err != nil {
			return nil, err
		}
		weights[m.featureOf(words)] = int32(weight)
	}
	if _, err := fmt.Sscan(strings.Join(parts["score"], " "), &m.bias, &m.threshold); err != nil {
		return nil, err
	}
	size := 1 << 10
	for size < 3*len(weights) {
		size *= 2
	}
	m.table, m.mask = make([]entry, size), uint64(size-1)
	for f, w := range weights {
		h := hash(f)
		m.maybe[h>>52] |= 1 << (h >> 46 & 63)
		i := h & m.mask
		for m.table[i].feature != 0 {
			i = (i + 1) & m.mask
		}
		m.table[i] = entry{f, w}
	}
	var err error
	m.rules, err = parseRules(m.lexicon, parts)
	return m, err
}

// featureOf packs words as they stand in a line of weights.
func (l *lexicon) featureOf(words string) feature {
	var n [4]uint16
	for i, word := range strings.Fields(words) {
		n[i&3] = l.add(word, 0)
	}
	return pack(n[0], n[1], n[2], n[3])
}

func hash(f feature) uint64 {
	h := uint64(f)
	h = (h ^ h>>31) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// score is above zero if the sentence reads like one that contradicts that the work
// is done.
func (m *model) score(s []token) float64 {
	sum := int32(0)
	m.features(s, func(f feature) {
		h := hash(f)
		if m.maybe[h>>52]&(1<<(h>>46&63)) == 0 {
			return
		}
		for i := h & m.mask; m.table[i].feature != 0; i = (i + 1) & m.mask {
			if m.table[i].feature == f {
				sum += m.table[i].weight
				return
			}
		}
	})
	return float64(sum)/length(s) + float64(m.bias-m.threshold)
}

// length is what the sum of a sentence's weights is divided by, so that a long
// sentence counts no more than a short one.
func length(s []token) float64 { return math.Sqrt(float64(len(s)) / 8) }
