package status

// Twice returns the words that are one word with another one of the table.
func Twice() []string {
	var all, twice []string
	for _, row := range table() {
		for _, word := range row.words {
			for _, one := range all {
				if same(one, word) {
					twice = append(twice, word)
				}
			}
			all = append(all, word)
		}
	}
	return twice
}
