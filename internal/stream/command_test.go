package stream

import "testing"

// TestUnwrapped: a command is shown without the shell that a client starts for it.
func TestUnwrapped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, want string }{
		{`go test ./...`, `go test ./...`},
		{`/bin/bash -lc 'go test ./...'`, `go test ./...`},
		{`bash -lc "echo \"\$HOME\""`, `echo "$HOME"`},
		{`bash -lc ls`, `ls`},
		{`bash -lc ls -la`, `ls -la`},
		{`bash -lc 'it'\''s'`, `it's`},
		{`bash -lc "cd /repo && echo 'it is' \""'$HOME" && sleep 2'`, `cd /repo && echo 'it is' "$HOME" && sleep 2`},
		{`bash -lc "a\
b"`, `ab`},
		{`bash -lc 'cut o`, `cut o`},
		{`bash -lc "a" "b"`, `"a" "b"`},
		{`'my shell' -lc 'ls'`, `'my shell' -lc 'ls'`},
	} {
		if got := unwrapped(tt.command); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.command, got, tt.want)
		}
	}
}

// TestCommands: the step into the workspace is left out, another one is not.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, want string }{
		{"cd /repo && go test ./...", "go test ./..."},
		{"cd '/repo' && ls", "ls"},
		{"cd /repo; ls", "ls"},
		{"cd /repo/\nls", "ls"},
		{"cd . && ls", "ls"},
		{"cd /repo/sub && ls", "cd /repo/sub && ls"},
		{"cd /repo || exit", "cd /repo || exit"},
		{"cd /repo & ls", "cd /repo & ls"},
		{"cd /repo && ", "cd /repo && "},
		{"cd /repo", "cd /repo"},
		{"cd $(pwd) && ls", "cd $(pwd) && ls"},
		{"ls && cd /repo && ls", "ls && cd /repo && ls"},
	} {
		d := &Decoder{dirs: []string{"/repo"}}
		if got := d.command(tt.command); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.command, got, tt.want)
		}
	}
	if got := (&Decoder{}).command("cd /repo && ls"); got != "cd /repo && ls" {
		t.Errorf("without a workspace: %q", got)
	}
}

// TestNear: what failed names files as people know them.
func TestNear(t *testing.T) {
	t.Parallel()
	d := &Decoder{dirs: []string{"/repo", "/real/repo"}}
	for _, tt := range []struct{ text, want string }{
		{"File not found: /repo/a.go", "File not found: a.go"},
		{"'/repo/a.go' and /repo/b.go", "'a.go' and b.go"},
		{"/real/repo/a.go", "a.go"},
		{"/other/repo/a.go", "/other/repo/a.go"},
		{"/repo/repo/a.go /repository/a.go", "repo/a.go /repository/a.go"},
		{"/repo", "/repo"},
	} {
		if got := d.near(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
