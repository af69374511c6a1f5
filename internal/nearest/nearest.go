// Package nearest guesses which known word somebody meant who wrote another.
package nearest

import (
	"strings"
	"unicode"
)

// maxLetters is the length of words that are compared; nobody means a longer one
// by a slip of the pen.
const maxLetters = 64

// Of returns the known word that was probably meant by word, "" if none is near
// enough: at most a third of the longer one's letters, or one, may have to be
// inserted, removed, replaced or swapped with their neighbour. The beginning of a
// single known word, of three letters or more, is also near enough. Upper and
// lower case, and blanks, hyphens and underscores between letters, are not
// counted. Of several that are equally near it is the first.
func Of(word string, known []string) string {
	w := letters(word)
	best, least := "", maxLetters
	begun, beginnings := "", 0
	for _, k := range known {
		l := letters(k)
		if len(w) >= 3 && strings.HasPrefix(string(l), string(w)) {
			begun = k
			beginnings++
		}
		longer := max(len(w), len(l))
		if longer > maxLetters {
			continue
		}
		if d := distance(w, l); d < least && d <= max(1, longer/3) && d < longer {
			best, least = k, d
		}
	}
	if least > 0 && beginnings == 1 {
		return begun
	}
	return best
}

// letters are those that count, in lower case.
func letters(word string) []rune {
	var letters []rune
	for _, r := range word {
		if r != '-' && r != '_' && r != ' ' {
			letters = append(letters, unicode.ToLower(r))
		}
	}
	return letters
}

// distance is the number of letters to insert, remove, replace or swap with
// their neighbour to make b of a.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
