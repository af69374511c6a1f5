package tasks

// ParseListIn is ParseList in chunks of this size at least, in bytes.
func ParseListIn(text []byte, size int) (List, error) { return parseIn(text, nil, size) }
