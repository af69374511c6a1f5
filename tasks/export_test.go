package tasks

// ParseListIn is ParseList in chunks of this size at least, in bytes.
func ParseListIn(text []byte, size int) (List, error) { return parseIn(text, nil, size) }

// InCircles is what the Check methods of the sources tell of circles.
func InCircles(items []Item) map[string]string { return inCircles(items) }

// Edges is how many edges the graph of what waits for what has.
func Edges(items []Item) (n int) {
	for _, on := range waitsOf(items).on {
		n += len(on)
	}
	return n
}
