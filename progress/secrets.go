package progress

import "strings"

// SecretsIn returns the values in an environment, in the form of [os.Environ],
// whose names say that they are secrets: those that end in _KEY, _TOKEN,
// _SECRET, _PASSWORD, _PASSWD or _PAT, upper or lower case. An agent has its
// environment too and may print it, so they are what a program sets
// [Redactor.Secrets] to. Values shorter than 8 bytes are left out, for they are
// rather switches than secrets, and ordinary text is full of them.
func SecretsIn(environ []string) []string {
	var secrets []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.TrimSpace(value); len(value) >= 8 && namesSecret(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

func namesSecret(name string) bool {
	for _, end := range []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PAT"} {
		if strings.HasSuffix(strings.ToUpper(name), end) {
			return true
		}
	}
	return false
}
