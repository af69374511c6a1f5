package stream

import (
	"io"
	"strings"
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
