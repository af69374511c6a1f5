package english

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// The trainer: from english.txt to model.txt, the same for the same text. It is no part
// of the library, and like the makers of other golden files it is a test. It is a
// support vector machine with a squared hinge loss, trained by dual coordinate
// descent, which needs nothing but sums and products.

// Parameters. The result hardly depends on them, but for the threshold, which trades
// contradictions that are let through for honest answers that are rejected.
const (
	expansions  = 10    // sentences made of a pattern
	softness    = .08   // of the margin: the cost of a sentence on its wrong side
	rounds      = 30    // of descent
	mostWeights = 20000 // that are kept
	rareWord    = 3     // what is rarer is not known
	threshold   = 650   // in thousandths, above which a sentence contradicts
	scale       = 1000  // what a weight of one is in whole numbers
)

// A Sample is an answer, and whether it contradicts that the work is done.
type Sample struct {
	Line        int // in the file
	Text        string
	Contradicts bool
}

// Held reports whether the sample measures the model, and is not used to build it.
func (s Sample) Held() bool {
	h := fnv.New64a()
	h.Write([]byte(s.Text))
	return h.Sum64()>>7&1 == 1
}

// Samples reads lines of a mark, + for a contradiction or - for none, and an answer,
// in which \n is a line break, from the section of sentences, or from the whole of a
// file without sections.
func Samples(text string) ([]Sample, error) {
	var all []Sample
	section, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "[") {
			section = line
		}
		if section != "" && section != "[sentences]" || line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		s, err := sample(line)
		if s.Line = n; err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func sample(line string) (Sample, error) {
	mark, text, _ := strings.Cut(line, " ")
	if mark != "+" && mark != "-" || text == "" {
		return Sample{}, fmt.Errorf("%q does not begin with + or - and a blank", line)
	}
	return Sample{Text: strings.ReplaceAll(text, `\n`, "\n"), Contradicts: mark == "+"}, nil
}

// A row is a sentence to learn from: its features, by number, and what it says.
type row struct {
	features []int32
	values   []float64
	says     float64 // 1 or -1
	answer   int32   // the sentences of an answer have the same
}

// A trainer collects rows.
type trainer struct {
	*lexicon
	number   map[feature]int32
	features []feature
	rows     []row
}

// Train returns the text of model.txt for that of english.txt.
func Train(text string) ([]byte, error) {
	parts := sections(text)
	samples, err := Samples(text)
	if err != nil {
		return nil, err
	}
	samples = slices.DeleteFunc(samples, Sample.Held)
	made, err := expand(parts)
	if err != nil {
		return nil, err
	}
	samples = append(samples, made...)
	t := &trainer{lexicon: newLexicon(parts), number: map[feature]int32{}}
	t.learnWords(samples)
	if _, err := parseRules(t.lexicon, parts); err != nil {
		return nil, err
	}
	for _, s := range samples {
		t.learn(s)
	}
	weights, bias := t.weights()
	var b bytes.Buffer
	err = writeModel(&b, t.lexicon, parts, weights, bias, threshold)
	return b.Bytes(), err
}

// learnWords adds the words that are not rare to the lexicon.
func (t *trainer) learnWords(samples []Sample) {
	counts := map[string]int{}
	for _, s := range samples {
		apart := func(r rune) bool { return !wordRune(r) && !strings.ContainsRune("'’.-/@:", r) }
		for word := range strings.FieldsFuncSeq(s.Text, apart) {
			if word = strings.Trim(word, "'’.-/@:"); word != "" && !isName(word) {
				head, _ := t.contraction(lower(word))
				counts[head]++
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		if counts[word] >= rareWord {
			t.add(word, 0)
		}
	}
}

// learn adds a sample's sentences. What rules and boxes decide needs no weights.
func (t *trainer) learn(s Sample) {
	answer := int32(len(t.rows))
	t.read(s.Text, func(st statement) {
		if st.open || st.done {
			return
		}
		counts := map[int32]float64{}
		t.lexicon.features(st.tokens, func(f feature) {
			n, ok := t.number[f]
			if !ok {
				n = int32(len(t.features))
				t.number[f] = n
				t.features = append(t.features, f)
			}
			counts[n]++
		})
		r := row{answer: answer, says: -1}
		if s.Contradicts {
			r.says = 1
		}
		for _, n := range slices.Sorted(maps.Keys(counts)) {
			r.features = append(r.features, n)
			r.values = append(r.values, counts[n]/length(st.tokens))
		}
		t.rows = append(t.rows, r)
	})
}

// weights returns what is learnt. Of a contradiction with several sentences it is
// not known which one contradicts: at first all share the blame, then the one that
// the weights so far hold for it. In the end the features that matter least are
// dropped.
func (t *trainer) weights() (weights map[feature]int32, bias int32) {
	w := t.fit(t.rows)
	rows := t.guilty(w)
	w = t.fit(rows)
	sizes := make([]float64, len(t.features))
	for i := range sizes {
		sizes[i] = math.Abs(w[i])
	}
	slices.Sort(sizes)
	least := sizes[max(0, len(sizes)-mostWeights)]
	for i := range rows {
		r := &rows[i]
		n := 0
		for k, f := range r.features {
			if math.Abs(w[f]) >= least {
				r.features[n], r.values[n] = f, r.values[k]
				n++
			}
		}
		r.features, r.values = r.features[:n], r.values[:n]
	}
	w = t.fit(rows)
	weights = map[feature]int32{}
	for i, f := range t.features {
		if n := int32(math.Round(w[i] * scale)); n != 0 {
			weights[f] = n
		}
	}
	return weights, int32(math.Round(w[len(t.features)] * scale))
}

// guilty returns the rows without the innocent sentences of contradictions.
func (t *trainer) guilty(w []float64) []row {
	var rows []row
	for i := 0; i < len(t.rows); {
		best := i
		for k := i; k < len(t.rows) && t.rows[k].answer == t.rows[i].answer; k++ {
			if t.rows[k].says < 0 {
				rows = append(rows, t.rows[k])
			}
			if t.rows[k].margin(w) > t.rows[best].margin(w) {
				best = k
			}
		}
		if t.rows[i].says > 0 {
			rows = append(rows, t.rows[best])
		}
		for answer := t.rows[i].answer; i < len(t.rows) && t.rows[i].answer == answer; {
			i++
		}
	}
	return rows
}

func (r *row) margin(w []float64) float64 {
	sum := w[len(w)-1]
	for k, f := range r.features {
		sum += float64(w[f] * r.values[k]) // a conversion keeps machines from fusing it, so that all compute the same
	}
	return sum
}

// fit returns a weight for each feature, and the bias as the last.
func (t *trainer) fit(rows []row) []float64 {
	w := make([]float64, len(t.features)+1)
	norms := make([]float64, len(rows))
	for i := range rows {
		norms[i] = 1 + 1/(2*softness)
		for _, v := range rows[i].values {
			norms[i] += float64(v * v)
		}
	}
	order := make([]int, len(rows))
	alpha := make([]float64, len(rows))
	for i := range order {
		order[i] = i
	}
	seed := uint64(1)
	for range rounds {
		for i := len(order) - 1; i > 0; i-- {
			j := random(&seed, i+1)
			order[i], order[j] = order[j], order[i]
		}
		for _, i := range order {
			r := &rows[i]
			slope := float64(r.says*r.margin(w)) - 1 + float64(alpha[i]/(2*softness))
			old := alpha[i]
			alpha[i] = max(old-slope/norms[i], 0)
			step := (alpha[i] - old) * r.says
			if step == 0 {
				continue
			}
			for k, f := range r.features {
				w[f] += float64(step * r.values[k])
			}
			w[len(t.features)] += step
		}
	}
	return w
}

// random returns a number below n, the same ones for the same seed.
func random(seed *uint64, n int) int {
	*seed = *seed*6364136223846793005 + 1442695040888963407
	return int(*seed>>33) % n
}

// expand makes sentences of the patterns, in which {a|b} is one of some texts and
// $name one of a list. Some get a heading, for that says nothing.
func expand(parts map[string][]string) (all []Sample, err error) {
	lists := map[string][]string{}
	for _, line := range parts["lists"] {
		name, list, ok := strings.Cut(line, " = ")
		if !ok || !strings.HasPrefix(name, "$") {
			return nil, fmt.Errorf("list %q: it is no $name = one|another", line)
		}
		lists[name[1:]] = strings.Split(list, "|")
	}
	for _, line := range parts["patterns"] {
		s, err := sample(line)
		if err != nil {
			return nil, err
		}
		h := fnv.New64a()
		h.Write([]byte(line))
		seed := h.Sum64()
		for range expansions {
			text, err := choose(s.Text, lists, &seed)
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", line, err)
			}
			if !strings.Contains(text, "\n") && random(&seed, 6) == 0 {
				heads := lists["heading"]
				text = heads[random(&seed, len(heads))] + "\n- " + text
			}
			all = append(all, Sample{Text: text, Contradicts: s.Contradicts})
		}
	}
	return all, nil
}

// choose replaces each {a|b} and each $name by one of its texts, at random.
func choose(text string, lists map[string][]string, seed *uint64) (string, error) {
	for {
		end := strings.IndexByte(text, '}')
		if end < 0 {
			break
		}
		start := strings.LastIndexByte(text[:end], '{')
		if start < 0 {
			return "", fmt.Errorf("a } without a {")
		}
		options := strings.Split(text[start+1:end], "|")
		text = text[:start] + options[random(seed, len(options))] + text[end+1:]
	}
	for {
		start := strings.IndexByte(text, '$')
		if start < 0 {
			break
		}
		end := start + 1
		for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] >= '0' && text[end] <= '9') {
			end++
		}
		options := lists[text[start+1:end]]
		if options == nil {
			return "", fmt.Errorf("there is no list %s", text[start:end])
		}
		text = text[:start] + options[random(seed, len(options))] + text[end:]
	}
	if text == "" {
		return "", fmt.Errorf("it can be empty")
	}
	return strings.ToUpper(text[:1]) + text[1:], nil
}

// numbers returns the words of a feature.
func (f feature) numbers() []uint16 {
	var all []uint16
	for shift := 48; shift >= 0; shift -= 16 {
		if n := uint16(f >> shift); n != 0 {
			all = append(all, n)
		}
	}
	return all
}

// writeModel writes what parseModel reads: the sections as they are, and weights.
func writeModel(
	w io.Writer, l *lexicon, parts map[string][]string, weights map[feature]int32, bias, threshold int32,
) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "# Made from english.txt by \"go generate ./internal/english\". Do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if name != "lists" && name != "patterns" && name != "sentences" {
			fmt.Fprintf(b, "\n[%s]\n%s\n", name, strings.Join(parts[name], "\n"))
		}
	}
	var lines []string
	for f, weight := range weights {
		var words []string
		for _, n := range f.numbers() {
			words = append(words, l.names[n])
		}
		lines = append(lines, fmt.Sprintf("%d %s", weight, strings.Join(words, " ")))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, ' '):], b[strings.IndexByte(b, ' '):])
	})
	fmt.Fprintf(b, "\n[score]\n%d %d\n\n[weights]\n%s\n", bias, threshold, strings.Join(lines, "\n"))
	return b.Flush()
}
