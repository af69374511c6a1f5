package status

import "strings"

// Twice returns the words that are one word with another one of the table.
func Twice() []string {
	var all, twice []string
	for _, row := range table() {
		for word := range strings.SplitSeq(row.words, separator) {
			for _, one := range all {
				if same(letters(word), one) {
					twice = append(twice, word)
				}
			}
			all = append(all, word)
		}
	}
	return twice
}
