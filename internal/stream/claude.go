package stream

import "time"

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

func (v *value) firstOf(names ...string) string {
	for _, n := range names {
		if s := v.str(n); s != "" {
			return s
		}
	}
	return ""
}

func shownInput(v *value) string {
	return v.firstOf("command", "cmd", "file_path", "filePath", "notebook_path", "path", "pattern", "query", "url", "description")
}

// claudeDialect is that of Claude Code, and of Cursor and Amp, which follow it.
// Amp repeats the prompt as a user line; those are of no use here.
func claudeDialect() dialect {
	usage := func() filter {
		return scalars("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
	}
	content := scalars("type", "text", "name").with("input", toolInput())
	message := scalars("id", "model").with("content", content).with("usage", usage())
	want := scalars("type", "subtype", "session_id", "model", "parent_tool_use_id", "error", "is_api_error_message",
		"api_error_status", "is_error", "result", "total_cost_usd", "terminal_reason").
		with("message", message).with("usage", usage()).with("errors", filter{}).
		with("rate_limit_info", scalars("status", "resetsAt")).
		with("event", scalars("type").with("delta", scalars("type", "text")))
	return dialect{want: want, line: claudeLine, drop: func(kind string) bool { return kind == "user" }}
}

func claudeLine(d *Decoder, v *value) {
	if s := v.str("session_id"); s != "" {
		d.res.Session = s
	}
	subAgent := v.str("parent_tool_use_id") != ""
	switch v.str("type") {
	case "system":
		if v.str("subtype") == "init" && v.str("model") != "" {
			d.res.Model = v.str("model")
		}
	case "assistant":
		if !subAgent {
			claudeMessage(d, v)
		}
	case "stream_event":
		if !subAgent && v.str("event", "delta", "type") == "text_delta" {
			d.piece("", v.get("event", "delta", "text").asText())
		}
	case "rate_limit_event":
		if v.str("rate_limit_info", "status") == "rejected" {
			d.limit.hit = true
			if at := v.int("rate_limit_info", "resetsAt"); at > 0 {
				d.limit.reset = time.Unix(at, 0).UTC()
			}
		}
	case "result":
		claudeResult(d, v)
	}
}

func claudeMessage(d *Decoder, v *value) {
	m := v.get("message")
	words := textOf(m.get("content"))
	if m.str("model") == "<synthetic>" || v.is("is_api_error_message") || v.str("error") != "" {
		// The client's words, not the agent's.
		if words != nil {
			d.res.Message = oneLine(words.String())
		}
		d.status(v.int("api_error_status"))
		if v.str("error") == "rate_limit" {
			d.limit.hit = true
		}
		return
	}
	d.say(m.str("id"), words)
	if c := m.get("content"); c != nil {
		for _, block := range c.list {
			if block.str("type") == "tool_use" {
				claudeTool(d, block)
			}
		}
	}
	if s := m.str("model"); s != "" {
		d.res.Model = s
	}
	if u := m.get("usage"); u != nil {
		d.using(m.str("id"), claudeUsage(u))
	}
}

func claudeTool(d *Decoder, block *value) {
	name, input := block.str("name"), block.get("input")
	d.tool(name, shownInput(input))
	switch name {
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "create_file", "edit_file":
		d.file(input.firstOf("file_path", "notebook_path", "path"))
	}
}

func claudeUsage(u *value) Usage {
	return Usage{
		InputTokens:  u.int("input_tokens") + u.int("cache_creation_input_tokens") + u.int("cache_read_input_tokens"),
		OutputTokens: u.int("output_tokens"),
	}
}

func claudeResult(d *Decoder, v *value) {
	d.end()
	d.cost(v, "total_cost_usd")
	if u := v.get("usage"); u != nil {
		t := claudeUsage(u)
		d.total(t.InputTokens, t.OutputTokens)
	}
	d.tell()
	failed := v.is("is_error")
	if sub := v.str("subtype"); len(sub) > 5 && sub[:5] == "error" {
		failed = true
	}
	if !failed {
		d.res.Failed, d.res.Message, d.res.Denied, d.limit = false, "", false, limit{}
		d.final = v.get("result").asText()
		if d.full == nil && d.final != nil {
			d.display(d.final.String())
			d.newline()
		}
		return
	}
	d.status(v.int("api_error_status"))
	why := v.str("result")
	if errs := v.get("errors"); why == "" && errs != nil && len(errs.list) > 0 {
		why = errs.list[0].str()
	}
	if why == "" {
		why = v.str("error")
	}
	if why == "" {
		why = v.str("subtype") + " " + v.str("terminal_reason")
	}
	d.fail(why)
}

// textOf returns the words of a content that is a string or a list of blocks:
// those of type text, or of no type, joined. nil = no words.
func textOf(v *value) *text {
	if v == nil || v.kind != '[' {
		return v.asText()
	}
	var all *text
	for _, block := range v.list {
		words := block.asText()
		if block.kind == '{' && (block.str("type") == "text" || block.get("type") == nil) {
			words = block.get("text").asText()
		}
		switch {
		case words == nil:
		case all == nil:
			all = words
		default:
			all.Write([]byte(words.String()))
		}
	}
	return all
}
