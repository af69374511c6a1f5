package stream

// A filter says which keys of an object are wanted; "*" stands for all others.
// A nil filter wants a scalar; the filter of an array is that of its elements.
type filter map[string]filter

// scalars makes a filter that wants the named scalars.
func scalars(names ...string) filter {
	f := filter{}
	for _, n := range names {
		f[n] = nil
	}
	return f
}

// with adds to a filter.
func (f filter) with(name string, sub filter) filter {
	f[name] = sub
	return f
}

// toolInput is what is shown of, or known from, a tool's input.
func toolInput() filter {
	return scalars("command", "cmd", "description", "file_path", "filePath", "notebook_path", "path", "pattern", "query", "url")
}

func shownInput(v *value) string {
	return v.firstOf("command", "cmd", "file_path", "filePath", "notebook_path", "path", "pattern", "query", "url", "description")
}

// textOf returns the words of a content that is a string or a list of blocks:
// those of type text, or of no type, joined. nil = no words.
func textOf(v *value) *text {
	if v == nil || v.kind != '[' {
		return v.asText()
	}
	var words *text
	for _, block := range v.items() {
		t := block.asText()
		if block.kind == '{' && (block.str("type") == "text" || block.get("type") == nil) {
			t = block.get("text").asText()
		}
		switch {
		case t == nil:
		case words == nil:
			words = t
		default:
			words.add(t)
		}
	}
	return words
}
