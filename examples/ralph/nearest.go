package main

// nearest returns the known word that takes the fewest edits, "" if there is
// none.
func nearest(word string, known []string) string {
	best, near := max(len(word)/3, 1)+1, ""
	for _, k := range known {
		if d := edits(word, k); d < best {
			best, near = d, k
		}
	}
	return near
}

func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
