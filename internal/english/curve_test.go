package english

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func (m *model) answer(text string) float64 {
	best := -9e9
	m.read(text, func(s statement) {
		v := -8e9
		if s.open || s.done {
			if s.open {
				v = 9e9
			}
		} else if says, fits := m.rules["contradictions"].says(m.lexicon, s.tokens); fits {
			if says > 0 {
				v = 8e9
			}
		} else {
			v = m.score(s.tokens) + float64(m.threshold)
		}
		best = max(best, v)
	})
	return best
}

func TestCurve(t *testing.T) {
	text, _ := os.ReadFile("english.txt")
	held, _ := os.ReadFile("../../verify/testdata/contradictions_heldout.txt")
	blind, _ := Samples(string(held))
	all, _ := Samples(string(text))
	var build, test []Sample
	for _, s := range all {
		if s.Held() {
			test = append(test, s)
		} else {
			build = append(build, s)
		}
	}
	m := theModel()
	for _, set := range []struct {
		name string
		of   []Sample
	}{{"build", build}, {"test", test}, {"held", blind}} {
		var neg, pos []float64
		for _, s := range set.of {
			if v := m.answer(s.Text); s.Contradicts {
				pos = append(pos, v)
			} else {
				neg = append(neg, v)
			}
		}
		slices.Sort(neg)
		slices.Sort(pos)
		line := ""
		for _, at := range []float64{0, 100, 200, 300, 400, 500, 600} {
			fp, fn := 0, 0
			for _, v := range neg {
				if v > at {
					fp++
				}
			}
			for _, v := range pos {
				if v <= at {
					fn++
				}
			}
			line += fmt.Sprintf(" [%v: %.1f%% %d veto, %.1f%% through]", at, 100*float64(fp)/float64(len(neg)), fp, 100*float64(fn)/float64(len(pos)))
		}
		fmt.Println(set.name, len(pos), len(neg), line)
	}
}

func TestBuildWrong(t *testing.T) {
	text, _ := os.ReadFile("english.txt")
	all, _ := Samples(string(text))
	m := theModel()
	for _, s := range all {
		if s.Held() {
			continue
		}
		if v := m.answer(s.Text); v > 300 != s.Contradicts {
			fmt.Printf("%v %.0f %q\n", s.Contradicts, v, s.Text)
		}
		rules := 0
		m.read(s.Text, func(st statement) {
			if says, fits := m.rules["contradictions"].says(m.lexicon, st.tokens); fits {
				rules |= 1 << (says + 1)
			}
		})
		if s.Contradicts && rules&1 != 0 || !s.Contradicts && rules&4 != 0 {
			fmt.Printf("RULES %v %q\n", s.Contradicts, s.Text)
		}
	}
}

func TestFolds(t *testing.T) {
	data, _ := os.ReadFile("english.txt")
	text := string(data)
	i := strings.Index(text, "[sentences]")
	all, _ := Samples(text)
	const folds = 4
	var scored []string
	for k := range folds {
		var b strings.Builder
		b.WriteString(text[:i] + "[sentences]\n")
		for n, s := range all {
			if s.Held() || n%folds == k {
				continue
			}
			mark := "-"
			if s.Contradicts {
				mark = "+"
			}
			b.WriteString(mark + " " + strings.ReplaceAll(s.Text, "\n", `\n`) + "\n")
		}
		out, err := Train(b.String())
		if err != nil {
			t.Fatal(err)
		}
		m, err := parseModel(string(out))
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range all {
			if s.Held() || n%folds != k {
				continue
			}
			v := m.answer(s.Text)
			if s.Contradicts && v < 300 {
				scored = append(scored, fmt.Sprintf("THROUGH %05.0f %q", v+2000, s.Text))
			}
			if !s.Contradicts && v > 0 {
				scored = append(scored, fmt.Sprintf("VETO %05.0f %q", v, s.Text))
			}
		}
	}
	slices.Sort(scored)
	fmt.Println(strings.Join(scored, "\n"))
}
