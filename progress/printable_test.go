package progress_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/progress"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want, line string }{
		{"", "", ""},
		{" plain, é, 日本 \n\tand more ", " plain, é, 日本 \n\tand more ", "plain, é, 日本 and more"},
		{"\x1b[31mred\x1b[0m\x1b]0;title\x07 \u009b1mbold", "red bold", "red bold"},
		{"a\rb\r\nc\x00\x07\x7f", "a\nb\nc", "a b c"},
		{"T1\u202egnp.exe\u2066x\u200b\ufeff", "T1gnp.exex", "T1gnp.exex"},
		{"bad \xff byte", "bad \uFFFD byte", "bad \uFFFD byte"},
		{"cut \xe2\x82", "cut \uFFFD\uFFFD", "cut \uFFFD\uFFFD"},
	} {
		if diff := cmp.Diff([]string{tt.want, tt.line}, []string{progress.Printable(tt.text), progress.PrintableLine(tt.text)}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestSecretsIn(t *testing.T) {
	t.Parallel()
	got := progress.SecretsIn([]string{
		"ANTHROPIC_API_KEY=first-secret", "gh_token= second-secret ", "DB_PASSWORD=third=secret", "X_PASSWD=fourth-secret", "A_SECRET=fifth-secret", "MY_PAT=sixth-secret",
		"PASSWORD=seventh-secret", "TOKEN=eighth-secret", "PGPASSWORD=ninth-secret", "DB_PASS=tenth-secret", "smtp_pwd=eleventh-secret", "GIT_CREDENTIALS=twelfth-secret", "SENTRY_DSN=thirteenth-secret", "API_KEY_PROD=fourteenth-secret",
		"DATABASE_URL=postgres://app:fifteenth-secret@db/app", "HOME_URL=https://example.com/long", "PWD=/srv/project", "OLDPWD=/srv/project", "APP_CREDENTIALS=/home/me/key.json", "TOKEN_FILE=/run/secrets/token", "KEY_ID=not-a-secret", "COMPASS=north-east", "SSH_PUBLIC_KEY=everybody-knows", "AUTHOR=somebody-else",
		"SHORT_TOKEN=1234567", "EMPTY_KEY=", "KEYBOARD=querty-layout", "PATH=/usr/bin:/bin:/sbin", "NO_VALUE_TOKEN", "_KEY_=12345678",
	})
	want := []string{"first-secret", "second-secret", "third=secret", "fourth-secret", "fifth-secret", "sixth-secret",
		"seventh-secret", "eighth-secret", "ninth-secret", "tenth-secret", "eleventh-secret", "twelfth-secret", "thirteenth-secret", "fourteenth-secret", "fifteenth-secret"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What an agent prints may hold what it was given.
func ExampleSecretsIn() {
	environ := []string{"HOME=/home/me", "DB_PASSWORD=correct horse"} // os.Environ(), in earnest
	r := progress.Redactor{Secrets: progress.SecretsIn(environ)}
	fmt.Println(r.String("connected with correct horse"))
	// Output: connected with [redacted:named]
}

// A title that would colour the terminal and forge a line of its own.
func ExamplePrintableLine() {
	fmt.Println(progress.PrintableLine("Fix it\x1b[31m\nverified"))
	// Output: Fix it verified
}
