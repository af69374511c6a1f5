package stream

import (
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/jsonlines"
)

func (d *Decoder) display(s string) {
	if d.show != nil && s != "" {
		io.WriteString(d.show, s)
		d.midLine = !strings.HasSuffix(s, "\n")
	}
}

func (d *Decoder) newline() {
	if d.midLine {
		d.display("\n")
	}
}

// use takes over that the agent uses a tool, and the file that it names if it is one of
// those that write.
func (d *Decoder) use(name string, input *jsonlines.Value, writers ...string) {
	d.tool(name, shownInput(input))
	if slices.Contains(writers, name) {
		d.file(input.FirstOf("file_path", "filePath", "notebook_path", "path"))
	}
}

// tool shows that the agent uses a tool.
func (d *Decoder) tool(name, what string) {
	d.worked = d.worked || name != ""
	if d.show == nil || name == "" {
		return
	}
	d.newline()
	what = oneLine(what)
	if len(what) > 160 {
		what = strings.ToValidUTF8(what[:160], "") + "…"
	}
	d.display(strings.TrimRight("→ "+name+" "+what, " ") + "\n")
}
