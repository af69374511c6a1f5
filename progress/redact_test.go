package progress_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/progress"
)

// key makes a text of n letters and digits in no visible order, so that no key
// stands in this file as scanners look for them.
func key(n int) string {
	const letters = "aB3cD7eF1gH9iJ2kL5mN8oP4qR6sT0uVwXyZ"
	var b strings.Builder
	for i := range n {
		b.WriteByte(letters[(i*i*7+i*5+i/9)%len(letters)])
	}
	return b.String()
}

func pem(kind, newline string) string {
	line := key(64) + newline
	return "-----BEGIN " + kind + "-----" + newline + line + line + key(20) + "=" + newline + "-----END " + kind + "-----"
}

// redactCases: each «…» is hidden, with the kind that follows it in braces.
func redactCases() map[string]string {
	k, upper := key, strings.ToUpper(key(16))
	jwt := "eyJ" + k(33) + ".eyJ" + k(60) + "." + k(43)
	return map[string]string{
		"anthropic":            "key «sk-ant-" + "api03-" + k(93) + "-AA»{anthropic}.",
		"openai project":       "«sk-" + "proj-" + k(40) + "_" + k(20) + "-" + k(60) + "»{openai}",
		"openai":               "OPENAI=«sk-" + k(48) + "»{openai}",
		"openrouter":           "(«sk-or-v1-" + strings.Repeat("0a1b", 16) + "»{openrouter})",
		"google":               "key=«AIza" + k(35) + "»{google}&x=1",
		"google oauth":         "«ya29." + k(60) + "»{google} ",
		"aws":                  "id «AKIA" + upper + "»{aws}, «ASIA" + upper + "»{aws}",
		"aws secret":           "aws_secret_access_key = «" + k(20) + "/" + k(9) + "+" + k(9) + "»{secret}\n",
		"aws secret in JSON":   `{"SecretAccessKey": "«/` + k(20) + "/" + k(9) + "+" + k(8) + `»{secret}"}`,
		"github":               "«gh" + "p_" + k(36) + "»{github} «gh" + "s_" + k(36) + "»{github}\n«github_" + "pat_" + k(22) + "_" + k(59) + "»{github}",
		"in a remote":          "https://x:«gh" + "p_" + k(36) + "»{password}@github.com/a/b.git",
		"as a user":            "https://«gh" + "p_" + k(36) + "»{github}@github.com/a/b.git",
		"token and a word":     "https://«gh" + "p_" + k(36) + "»{github}:«x-oauth-basic»{password}@github.com/a",
		"no kind of its own":   "https://«" + k(24) + "»{secret}@git.example/a",
		"gitlab":               "«glpat-" + k(20) + "»{gitlab}. Then",
		"slack":                "«xox" + "b-123456789012-1234567890123-" + k(24) + "»{slack}",
		"stripe":               "«sk_" + "live_" + k(24) + "»{stripe}",
		"npm":                  "//registry/:_authToken=«npm_" + k(36) + "»{npm}",
		"pypi":                 "«pypi-AgE" + "IcHlwaS5vcmc" + k(80) + "»{pypi}",
		"hugging face":         "HF «hf_" + k(34) + "»{huggingface}",
		"jwt":                  "cookie: «" + jwt + "»{jwt}. Next.",
		"bearer":               "curl -H 'Authorization: Bearer «" + k(30) + "»{authorization}' x",
		"bearer alone":         "sent bearer «" + k(30) + "»{bearer}",
		"bearer jwt":           `"authorization":"Bearer «` + jwt + `»{jwt}"`,
		"basic":                "Authorization: Basic «dXNlcjpwYXNz»{authorization}\r\n",
		"header":               "x-api-key: «" + k(32) + "»{secret}\n",
		"pem":                  "a\n«" + pem("RSA PRIVATE KEY", "\n") + "»{private-key}\nb",
		"pem, CRLF":            "a\r\n«" + pem("EC PRIVATE KEY", "\r\n") + "»{private-key}\r\nb",
		"pem in JSON":          `{"private_key":"«` + pem("PRIVATE KEY", `\n`) + `»{private-key}\n","x":"y"}`,
		"pem in JSON in JSON":  `{"t":"{\"k\":\"«` + pem("OPENSSH PRIVATE KEY", `\\n`) + `»{private-key}\\n\"}"}`,
		"pem with numbers":     "     1→«" + pem("PRIVATE KEY", "\n     2→") + "»{private-key}\n",
		"pem in a diff":        "-«" + pem("PRIVATE KEY", "\n-") + "»{private-key}\n",
		"pem, encrypted":       "«" + strings.Replace(pem("RSA PRIVATE KEY", "\n"), "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1) + "»{private-key}",
		"pgp":                  "«" + strings.Replace(pem("PGP PRIVATE KEY BLOCK", "\n"), "\n", "\nVersion: 2\n\n", 1) + "»{private-key}",
		"pem, cut off":         "«-----BEGIN PRIVATE KEY-----\n" + k(64) + "\n" + k(64) + "»{private-key}\nexit status 1\n",
		"pem, short":           "«-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\nBgkqhk==\n-----END PRIVATE KEY-----»{private-key}",
		"pem, in source":       "«-----BEGIN PRIVATE KEY-----\\n\" +\n\t\"" + k(64) + "\\n\" +\n\t\"" + k(64) + "\\n\" +\n\t\"-----END PRIVATE KEY-----»{private-key}\\n\"",
		"compose":              "DB_PASSWORD: «correcthorse»{password}\nAPI_TOKEN=«abc12345»{secret}\nMY_SECRET=«notmanydigits»{secret}",
		"index":                `os.environ["API_TOKEN"] = "«` + k(20) + `»{secret}"`,
		"url":                  "dial postgres://app:«hunter2»{password}@db.example:5432/x?sslmode=off",
		"url in JSON":          `"redis:\/\/:«p@ss»{password}@h\/0"`,
		"env":                  "export DB_PASSWORD=«correcthorse»{password}\nAPI_KEY=«" + k(20) + "»{secret}",
		"env, quoted":          `SECRET_KEY="«` + k(20) + `»{secret}"`,
		"yaml":                 "password: «hunter2»{password}\napi_token: «" + k(24) + "»{secret}\n",
		"json":                 `{"password":"«s3cret!»{password}","client_secret": "«` + k(20) + `»{secret}"}`,
		"json in json":         `"{\"access_token\": \"«` + k(24) + `»{secret}\"}"`,
		"query":                "GET /x?access_token=«" + k(24) + "»{secret}&page=2",
		"azure":                "AccountName=a;AccountKey=«" + k(60) + "==»{secret};Suffix=x",
		"after an escape":      `"text":"keys:\nAKIA` + upper + `"`,
		"in a colour":          "\x1b[1;32m«AKIA" + upper + "»{aws}\x1b[0m",
		"in a URL's parameter": "x%3D«AKIA" + upper + "»{aws}%26",
	}
}

// parts takes the signs out of a case.
func parts(c string) (text, want string) {
	var in, out strings.Builder
	for c != "" {
		before, rest, found := strings.Cut(c, "«")
		in.WriteString(before)
		out.WriteString(before)
		if !found {
			break
		}
		hidden, rest, _ := strings.Cut(rest, "»{")
		kind, rest, _ := strings.Cut(rest, "}")
		in.WriteString(hidden)
		out.WriteString("[redacted:" + kind + "]")
		c = rest
	}
	return in.String(), out.String()
}

func TestRedactFormats(t *testing.T) {
	t.Parallel()
	for name, c := range redactCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c = strings.Replace(c, `\nAKIA`+strings.ToUpper(key(16)), `\n«AKIA`+strings.ToUpper(key(16))+"»{aws}", 1)
			text, want := parts(c)
			got := progress.Redactor{}.String(text)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := (progress.Redactor{}).String(got); again != got {
				t.Errorf("redacted twice it is %q", again)
			}
		})
	}
}

func TestRedactLeavesOrdinaryText(t *testing.T) {
	t.Parallel()
	const sha, hash = "da39a3ee5e6b4b0d3255bfef95601890afd80709", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, text := range []string{
		"commit " + sha + "\nHEAD is now at da39a3e",
		"sha256:" + hash + " " + hash, "github.com/a/b v1.2.3 h1:" + key(43) + "=", "integrity sha512-" + key(86) + "==",
		"id 123e4567-e89b-12d3-a456-426614174000, 01ARZ3NDEKTSV4RRFFQ69G5FAV",
		`<img src="data:image/png;base64,iVBORw0KGgo` + strings.Repeat(key(61)+"/AKIA+AIza", 50) + `==">`,
		`{"session_id":"123e4567-e89b-12d3-a456-426614174000","signature":"` + key(300) + `","uuid":"` + sha + `"}`,
		`{"input_tokens":12345,"output_tokens":17,"max_tokens": 4096,"apiKeySource":"none"}`,
		"token := lexer.Next()", "token = parser.parse2(x[1])", "if token == nil {", "var secret Secret1", "Token:  tok1,", "token: string // of 3 kinds",
		"password: string", `"password": "required"`, `"password": "must have 8 letters and 1 digit"`, "Password string `json:\"password\"`",
		"PASSWORD=$DB_PASSWORD", "API_KEY=${API_KEY}", "TOKEN=<your token1>", "API_KEY=your-api-key-123456", "secret: {{ .Values.secret1 }}", "TOKEN=$(cat t1)",
		"PWD=/srv/project2/x", "OLDPWD=/srv/project2", "TOKEN_FILE=/run/secrets/token1", "SECRET=/run/secrets/kubernetes.io/v1/token",
		"The password is stored as argon2.", "PASSWORD: required", "NL_PASSWORD = C.NL_PASSWORD", "MaxTokens:1024", "tokens per second: 33", "password: argon2id", "-----BEGIN PRIVATE KEY-----\nfollows a text of many words\nand no key\n", "Bearer authentication is required; bearer tokens-and-authorization-headers", "the API key is missing",
		"disk-0123456789abcdef01234567", "task-0123456789abcdef01234567", "sk-learn-compatible-estimators-2", "risk-sk-based", "my-npm_config_cache_directory",
		"http://localhost:8080/@user", "git@github.com:a/b.git", "ssh://git@github.com/a", "https://medium.example/@a/b", "a@example.com: x", "http://[::1]:80/",
		"<promise>COMPLETE</promise>", "<promise>COMPLETE-X7K2M9Q4</promise>",
		"-----BEGIN CERTIFICATE-----\n" + key(64) + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + key(64) + "\n",
		"a file that begins with -----BEGIN PRIVATE KEY----- is a key", "=====\n-----\n--- FAIL: TestToken (0.00s)\n    token_test.go:17: got 3",
		"CACHE_KEY=linux-go-1.26-main", "primary_key=user_id_0123456789", "PUBLIC_KEY=" + key(40), "eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.x",
		"[redacted]", "[redacted:github]", "TOKEN=[redacted:secret]", "[redact", "", " ", "é✅字\xff\x00",
	} {
		if diff := cmp.Diff(text, progress.Redactor{}.String(text)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRedactNamed(t *testing.T) {
	t.Parallel()
	r := progress.Redactor{Secrets: []string{" pa/ss+wörd \"1\"&<2>\n", "line one\nline two", "tiny1", "", "named-abc", "named-abcdef"}}
	for text, want := range map[string]string{
		`is pa/ss+wörd "1"&<2>.`: "is [redacted:named].",
		`xpa/ss+wörd "1"&<2>x`:   "x[redacted:named]x",
		"pa%2Fss%2Bw%C3%B6rd+%221%22%26%3C2%3E pa%2fss%2bw%c3%b6rd+%221%22%26%3c2%3e": "[redacted:named] [redacted:named]",
		"pa%2Fss+w%C3%B6rd%20%221%22&%3C2%3E":                                         "[redacted:named]",
		`"pa/ss+wörd \"1\"&<2>"`:                                                      `"[redacted:named]"`,
		`"pa/ss+wörd \"1\"\u0026\u003c2\u003e"`:                                       `"[redacted:named]"`,
		`"{\"p\":\"pa/ss+wörd \\\"1\\\"&<2>\"}"`:                                      `"{\"p\":\"[redacted:named]\"}"`,
		"cGEvc3Mrd8O2cmQgIjEiJjwyPg==":                                                "[redacted:named]",
		"line one\nline two, line one\r\nline two, line one":                          "[redacted:named], [redacted:named], line one",
		`"line one\nline two"`:                                                        `"[redacted:named]"`,
		"tiny1 stays":                                                                 "tiny1 stays",
		"named-abcdef named-abcdeX named-abc":                                         "[redacted:named] [redacted:named]deX [redacted:named]",
	} {
		got := r.String(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again := r.String(got); again != got {
			t.Errorf("redacted twice it is %q", again)
		}
	}
	want := "progress: secret 3 of 6 is shorter than 6 bytes and would not be hidden\nsecret 4 of 6 is shorter than 6 bytes and would not be hidden"
	if err := r.Validate(); err == nil || err.Error() != want {
		t.Error(err)
	}
	if err := (progress.Redactor{Secrets: []string{"secret"}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestRedactNamedInBase64: a value is found in whatever was encoded with it.
func TestRedactNamedInBase64(t *testing.T) {
	t.Parallel()
	const value = "correct horse battery"
	r := progress.Redactor{Secrets: []string{value}}
	for before := range 7 {
		for after := range 7 {
			for _, enc := range encodings {
				text := enc.EncodeToString([]byte(strings.Repeat("u", before) + value + strings.Repeat("~", after)))
				got := r.String(text)
				if !strings.Contains(got, "[redacted:named]") || strings.Contains(got, text[12:20]) {
					t.Errorf("%d before, %d after: %s became %s", before, after, text, got)
				}
			}
		}
	}
}

// TestRedactMark: what stands for a secret is left alone, also by a value that is
// a part of it.
func TestRedactMark(t *testing.T) {
	t.Parallel()
	r := progress.Redactor{Secrets: []string{"redacted", "named]"}}
	got := r.String("it was redacted: redacted")
	if want := "it was [redacted:named]: [redacted:named]"; got != want || r.String(got) != want {
		t.Errorf("%q, again %q", got, r.String(got))
	}
}

// write writes text in pieces and returns what came out before and after Close.
func pour(t testing.TB, r progress.Redactor, text string, size int) (before, all string) {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for len(text) > 0 {
		n := min(size, len(text))
		if m, err := w.Write([]byte(text[:n])); m != n || err != nil {
			t.Fatal(m, err)
		}
		text = text[n:]
	}
	before = out.String()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return before, out.String()
}
