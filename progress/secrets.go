package progress

import (
	"net/url"
	"strings"

	"github.com/ralph-loop/ralph/internal/redact"
)

// SecretsIn returns the values in an environment, in the form of [os.Environ], whose
// names say that they are secrets: PASSWORD, TOKEN, PGPASSWORD, those that end in
// _KEY, _TOKEN, _SECRET, _PASSWORD, _PASS, _PWD, _PAT, _CREDENTIALS, _DSN and the
// like, upper or lower case; and the passwords in URLs, whatever their names. An agent
// inherits the environment and may print it, so a program sets [Redactor.Secrets] to
// these values. Values shorter than 8 bytes are left out: they are more likely to be
// switches than secrets, and ordinary text is full of them; so are the paths of files,
// which text is full of too and which say nothing.
func SecretsIn(environ []string) []string {
	var secrets []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		value = strings.TrimSpace(value)
		path := strings.HasPrefix(value, "/") && !strings.ContainsAny(value, "+= \n") || strings.HasPrefix(value, "~/")
		if len(value) >= 8 && !path && redact.SecretName(name) {
			secrets = append(secrets, value)
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if password, _ := u.User.Password(); len(password) >= 8 {
				secrets = append(secrets, password)
			}
		}
	}
	return secrets
}
