package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// A format is one of keys that begin in a way of their own, in a line of the table
// below. To add one, add a line with
//
//   - the kind, which stands in the mark: [redacted:kind]
//   - how such keys begin, in two bytes or more
//   - the alphabet that they go on in
//   - how many bytes of it there are at least, and as a rule. A key that ends before
//     its rule at the end of a line goes on in the next. 0 = that differs; the same
//     number twice = not one more
//   - a check of what follows the beginning, where ordinary words may begin so; nil =
//     none
//
// and a line in testdata/secrets.txt. Of keys with the same beginning the most special
// stand first. Lengths are those that the issuers document or use, with room below
// where these have changed.
type format struct {
	kind   string
	prefix string
	body   alphabet
	min    int
	usual  int
	check  func(body []byte) bool
}

var formats = []format{
	// Providers of models.
	{"anthropic", "sk-ant-", urlish, 10, 0, nil},
	{"openai", "sk-proj-", urlish, 16, 0, nil},
	{"openai", "sk-svcacct-", urlish, 20, 0, nil},
	{"openai", "sk-admin-", urlish, 20, 0, nil},
	{"openrouter", "sk-or-v1-", alnum, 32, 64, nil},
	{"langfuse", "sk-lf-", urlish, 32, 36, nil},
	{"openai", "sk-", urlish, 16, 0, scrambled},
	{"langsmith", "lsv2_pt_", word, 40, 43, nil},
	{"langsmith", "lsv2_sk_", word, 40, 43, nil},
	{"elevenlabs", "sk_", hex, 48, 48, nil},
	{"bedrock", "ABSK", base64s, 80, 0, nil},
	{"bedrock", "bedrock-api-key-", base64s, 40, 0, nil},
	{"groq", "gsk_", alnum, 40, 52, nil},
	{"huggingface", "hf_", alnum, 24, 34, nil},
	{"huggingface", "api_org_", alnum, 30, 34, nil},
	{"perplexity", "pplx-", alnum, 32, 48, nil},
	{"replicate", "r8_", urlish, 36, 37, random},
	{"xai", "xai-", word, 40, 80, nil},
	{"nvidia", "nvapi-", urlish, 50, 64, nil},
	{"tavily", "tvly-", urlish, 24, 0, random},
	{"firecrawl", "fc-", hex, 32, 32, nil},
	{"pinecone", "pcsk_", word, 50, 0, nil},
	{"jina", "jina_", alnum, 50, 0, nil},
	{"together", "tgp_v1_", urlish, 40, 43, nil},
	{"fireworks", "fw_", alnum, 22, 24, random},
	{"voyage", "pa-", urlish, 40, 43, random},
	{"wandb", "wandb_v1_", urlish, 40, 0, nil},
	{"kaggle", "KGAT_", hex, 32, 32, nil},

	// Clouds.
	{"aws", "AKIA", upcase, 16, 16, nil},
	{"aws", "ASIA", upcase, 16, 16, nil},
	{"aws", "ABIA", upcase, 16, 16, nil},
	{"aws", "ACCA", upcase, 16, 16, random},
	{"google", "AIza", urlish, 35, 35, nil},
	{"google", "GOCSPX-", urlish, 20, 28, nil},
	{"google", "ya29.", urlish, 20, 0, nil},
	{"google", "1//0", urlish, 40, 0, random},
	{"azure", "7Q~", tokens, 31, 34, nil},
	{"azure", "8Q~", tokens, 31, 34, nil},
	{"digitalocean", "dop_v1_", alnum, 60, 64, nil},
	{"digitalocean", "doo_v1_", alnum, 60, 64, nil},
	{"digitalocean", "dor_v1_", alnum, 60, 64, nil},
	{"alibaba", "LTAI", alnum, 17, 20, random},
	{"heroku", "HRKU-", urlish, 36, 0, nil},
	{"cloudflare", "v1.0-", urlish, 150, 171, nil},
	{"cloudflare", "cfut_", alnum, 40, 48, nil},
	{"cloudflare", "cfat_", alnum, 40, 48, nil},
	{"cloudflare", "cfk_", alnum, 40, 48, nil},
	{"fly", "fo1_", urlish, 40, 43, nil},
	{"fly", "fm1r_", base64s, 80, 0, nil},
	{"fly", "fm1a_", base64s, 80, 0, nil},
	{"fly", "fm2_", base64s, 80, 0, nil},
	{"render", "rnd_", alnum, 28, 32, random},
	{"vercel", "vcp_", alnum, 40, 0, nil},
	{"vercel", "vck_", alnum, 40, 0, nil},
	{"netlify", "nfp_", alnum, 36, 0, nil},
	{"scalingo", "tk-us-", urlish, 48, 48, nil},
	{"yandex", "AQVN", urlish, 35, 36, random},
	{"openshift", "sha256~", urlish, 43, 43, nil},
	{"databricks", "dapi", hex, 32, 32, nil},

	// Code, packages and what builds them.
	{"github", "ghp_", word, 20, 36, nil},
	{"github", "gho_", word, 20, 36, nil},
	{"github", "ghu_", word, 20, 36, nil},
	{"github", "ghs_", dotted, 20, 36, nil},
	{"github", "ghr_", word, 20, 36, nil},
	{"github", "github_pat_", word, 22, 82, nil},
	{"gitlab", "glpat-", dotted, 20, 0, nil},
	{"gitlab", "gldt-", dotted, 20, 0, nil},
	{"gitlab", "glrt-", dotted, 20, 0, nil},
	{"gitlab", "glrtr-", dotted, 20, 0, nil},
	{"gitlab", "glptt-", dotted, 20, 0, nil},
	{"gitlab", "glcbt-", dotted, 20, 0, nil},
	{"gitlab", "glsoat-", dotted, 20, 0, nil},
	{"gitlab", "glft-", dotted, 20, 0, nil},
	{"gitlab", "glimt-", dotted, 20, 0, nil},
	{"gitlab", "glagent-", dotted, 20, 0, nil},
	{"gitlab", "gloas-", dotted, 20, 0, nil},
	{"gitlab", "glffct-", dotted, 20, 0, nil},
	{"gitlab", "GR1348941", urlish, 20, 20, nil},
	{"bitbucket", "ATBB", tokens, 24, 32, random},
	{"bitbucket", "ATCTT3xFfG", tokens, 40, 0, nil},
	{"bitbucket", "BBDC-", base64s, 40, 44, nil},
	{"atlassian", "ATATT3xFfG", tokens, 40, 0, nil},
	{"npm", "npm_", alnum, 30, 36, nil},
	{"pypi", "pypi-AgE", urlish, 16, 0, nil},
	{"rubygems", "rubygems_", hex, 40, 48, nil},
	{"crates", "cio", alnum, 32, 32, random},
	{"nuget", "oy2", alnum, 43, 43, random},
	{"clojars", "CLOJARS_", alnum, 50, 60, nil},
	{"docker", "dckr_pat_", urlish, 20, 27, nil},
	{"docker", "dckr_oat_", urlish, 20, 32, nil},
	{"artifactory", "AKCp", alnum, 60, 69, nil},
	{"artifactory", "cmVmdGtuOj", alnum, 50, 54, nil},
	{"circleci", "CCIPAT_", word, 50, 63, nil},
	{"circleci", "CCIPRJ_", word, 50, 63, nil},
	{"buildkite", "bkua_", alnum, 40, 40, nil},
	{"sonar", "squ_", hex, 40, 40, nil},
	{"sonar", "sqp_", hex, 40, 40, nil},
	{"sonar", "sqa_", hex, 40, 40, nil},
	{"sourcegraph", "sgp_", word, 40, 0, nil},
	{"octopus", "API-", upcase, 26, 26, random},
	{"postman", "PMAK-", urlish, 59, 59, nil},

	// Infrastructure, secrets, data.
	{"terraform", ".atlasv1.", tokens, 60, 67, nil},
	{"pulumi", "pul-", hex, 40, 40, nil},
	{"vault", "hvs.", urlish, 24, 0, nil},
	{"vault", "hvb.", urlish, 24, 0, nil},
	{"vault", "hvr.", urlish, 24, 0, nil},
	{"doppler", "dp.", dotted, 42, 0, random},
	{"1password", "ops_eyJ", tokens, 100, 0, nil},
	{"1password", "A3-", urlish, 34, 36, random},
	{"age", "AGE-SECRET-KEY-1", alnum, 50, 58, nil},
	{"age", "AGE-SECRET-KEY-PQ-1", alnum, 50, 0, nil},
	{"tailscale", "tskey-", urlish, 20, 0, random},
	{"planetscale", "pscale_", tokens, 35, 0, nil},
	{"supabase", "sbp_", alnum, 40, 40, nil},
	{"supabase", "sb_secret_", urlish, 28, 0, nil},
	{"neon", "npg_", alnum, 12, 0, random},
	{"neon", "napi_", alnum, 50, 64, nil},
	{"prefect", "pnu_", alnum, 36, 36, nil},
	{"airtable", "pat", dotted, 79, 79, dotAt14},
	{"contentful", "CFPAT-", urlish, 40, 43, nil},
	{"salesforce", "3MVG9", tokens, 80, 0, nil},
	{"harness", "pat.", dotted, 68, 68, random},
	{"harness", "sat.", dotted, 68, 68, random},

	// What watches.
	{"grafana", "glc_", base64s, 32, 0, nil},
	{"grafana", "glsa_", word, 41, 41, nil},
	{"grafana", "eyJrIjoi", base64s, 70, 0, nil},
	{"newrelic", "NRAK-", alnum, 27, 27, nil},
	{"newrelic", "NRII-", urlish, 25, 32, nil},
	{"newrelic", "NRJS-", alnum, 19, 19, nil},
	{"sentry", "sntrys_", tokens, 40, 0, nil},
	{"sentry", "sntryu_", hex, 64, 64, nil},
	{"dynatrace", "dt0c01.", dotted, 80, 89, nil},
	{"dynatrace", "dt0s", dotted, 80, 0, nil},
	{"posthog", "phx_", word, 40, 0, nil},
	{"datadog", "ddp_", alnum, 36, 36, nil},
	{"datadog", "ddw_", alnum, 36, 36, nil},
	{"axiom", "xaat-", urlish, 36, 36, nil},
	{"axiom", "xapt-", urlish, 36, 36, nil},

	// Messages, work, payment.
	{"slack", "xoxa-", urlish, 10, 0, nil},
	{"slack", "xoxb-", urlish, 10, 0, nil},
	{"slack", "xoxc-", urlish, 10, 0, nil},
	{"slack", "xoxd-", tokens, 10, 0, nil},
	{"slack", "xoxe-", urlish, 10, 0, nil},
	{"slack", "xoxe.xox", urlish, 10, 0, nil},
	{"slack", "xoxo-", urlish, 10, 0, nil},
	{"slack", "xoxp-", urlish, 10, 0, nil},
	{"slack", "xoxr-", urlish, 10, 0, nil},
	{"slack", "xoxs-", urlish, 10, 0, nil},
	{"slack", "xapp-", urlish, 20, 0, nil},
	{"slack", "xwfp-", urlish, 20, 0, nil},
	{"slack", "hooks.slack.com/services/", slashed, 20, 0, nil},
	{"slack", "hooks.slack.com/workflows/", slashed, 20, 0, nil},
	{"slack", "hooks.slack.com/triggers/", slashed, 20, 0, nil},
	{"discord", "discord.com/api/webhooks/", slashed, 60, 0, nil},
	{"discord", "discordapp.com/api/webhooks/", slashed, 60, 0, nil},
	{"teams", "webhook.office.com/webhookb2/", slashed, 60, 0, nil},
	{"zapier", "hooks.zapier.com/hooks/catch/", slashed, 12, 0, nil},
	{"telegram", ":AA", urlish, 33, 33, random},
	{"twilio", "SK", hex, 32, 32, nil},
	{"sendgrid", "SG.", dotted, 60, 66, nil},
	{"brevo", "xkeysib-", urlish, 64, 81, nil},
	{"brevo", "xsmtpsib-", urlish, 64, 81, nil},
	{"mailgun", "key-", alnum, 32, 32, random},
	{"resend", "re_", word, 24, 0, random},
	{"linear", "lin_api_", alnum, 30, 40, nil},
	{"linear", "lin_oauth_", alnum, 30, 0, nil},
	{"notion", "ntn_", alnum, 40, 46, nil},
	{"notion", "secret_", alnum, 43, 43, random},
	{"figma", "figd_", urlish, 36, 0, nil},
	{"typeform", "tfp_", urlish, 36, 0, nil},
	{"hubspot", "pat-na1-", urlish, 36, 36, nil},
	{"hubspot", "pat-eu1-", urlish, 36, 36, nil},
	{"readme", "rdme_", alnum, 60, 70, nil},
	{"dropbox", "sl.B", urlish, 60, 0, random},
	{"dropbox", "sl.u.", urlish, 60, 0, random},
	{"mapbox", "sk.eyJ", dotted, 60, 0, nil},
	{"facebook", "EAA", alnum, 80, 0, random},
	{"shopify", "shpat_", hexes, 32, 32, nil},
	{"shopify", "shpca_", hexes, 32, 32, nil},
	{"shopify", "shppa_", hexes, 32, 32, nil},
	{"shopify", "shpss_", hexes, 32, 32, nil},
	{"shopify", "shptka_", hexes, 32, 32, nil},
	{"shippo", "shippo_live_", hexes, 40, 40, nil},
	{"shippo", "shippo_test_", hexes, 40, 40, nil},
	{"duffel", "duffel_live_", tokens, 43, 0, nil},
	{"duffel", "duffel_test_", tokens, 43, 0, nil},
	{"easypost", "EZAK", alnum, 54, 54, nil},
	{"easypost", "EZTK", alnum, 54, 54, nil},
	{"flutterwave", "FLWSECK", urlish, 12, 0, random},
	{"square", "sq0atp-", urlish, 22, 22, nil},
	{"square", "sq0csp-", urlish, 40, 43, nil},
	{"square", "EAAA", urlish, 56, 60, random},
	{"stripe", "sk_live_", alnum, 16, 0, nil},
	{"stripe", "sk_test_", alnum, 16, 0, nil},
	{"stripe", "rk_live_", alnum, 16, 0, nil},
	{"stripe", "rk_test_", alnum, 16, 0, nil},
	{"stripe", "sk_org_", alnum, 16, 0, nil},
	{"stripe", "whsec_", base64s, 20, 0, nil},
	{"braintree", "access_token$production$", slashed, 40, 0, nil},
	{"plaid", "access-production-", urlish, 36, 36, nil},
	{"plaid", "access-sandbox-", urlish, 36, 36, nil},
	{"razorpay", "rzp_live_", alnum, 14, 14, nil},
	{"adafruit", "aio_", alnum, 28, 28, random},
	{"adobe", "p8e-", alnum, 32, 32, nil},

	// Whoever issued them.
	{"jwt", "eyJ", dotted, 20, 0, isJWT},
	{"jwt", "ZXlK", base64s, 40, 0, isEncodedJWT},
	{"private-key", "LS0tLS1CRUdJTi", base64s, 40, 0, isEncodedKey},
}

// find finds a key of the format.
func (k *format) find(f *filter, at int) finding {
	if k.apart() && !f.apart(at) {
		return finding{}
	}
	from := at + len(k.prefix)
	n := f.run(from, k.body)
	body, to := f.buf[from:from+n], from+n
	found := finding{from: at, to: to, kind: k.kind}
	if n == decided {
		found.tail = k.body
	} else {
		body = bytes.TrimRight(body, ".") // of the sentence
		found.to = from + len(body)
		if more, end := k.continued(f, body, to); end > 0 {
			body, found.to = more, end
		}
	}
	if len(body) < k.min || k.min == k.usual && (len(body) > k.usual || f.at(found.to) == '[') || // went on, before that was hidden
		k.check != nil && !k.check(body) || placeholder(body) {
		return finding{}
	}
	return found
}

// apart says that the beginning could be a part of an ordinary word.
func (k *format) apart() bool {
	n := len(k.prefix)
	return !strings.Contains(k.prefix, "/") && (lower | upper).has(k.prefix[0]) && (n < 4 || strings.HasPrefix(k.prefix, "sk-") || k.prefix[n-1] != '_' && k.prefix[n-1] != '-')
}

// continued is a key that goes on in the next lines, and where it ends; 0 = it does
// not.
func (k *format) continued(f *filter, body []byte, at int) (all []byte, end int) {
	all = body
	for range 8 {
		gap := f.lineEnd(at)
		if gap == 0 || k.usual > 0 && len(all) >= k.usual || len(all) < 4 || k.usual == 0 && len(all) < 8 || len(all) > decided {
			break
		}
		n := f.run(at+gap, k.body)
		at += gap + n
		all = append(all[:len(all):len(all)], f.buf[at-n:at]...)
		switch {
		case n == 0, k.usual > 0 && len(all) > k.usual, k.usual == 0 && !lookAt(f.buf[at-n:at]).random(true):
			return body, end
		case k.usual == 0 || len(all) == k.usual:
			body, end = all, at
		}
	}
	return body, end
}

// lineEnd is the length of the end of a line and the blanks after it, as they come or
// as JSON and source code write them.
func (f *filter) lineEnd(at int) int {
	i := at
	for range 2 {
		for f.at(i) == '\\' {
			i++
		}
		switch c := f.at(i); {
		case c == '\n', c == 'n' && i > at:
			for i++; i-at < 16 && f.at(i) == ' '; {
				i++
			}
			return i - at
		case c == '\r', c == 'r' && i > at:
			i++
		default:
			return 0
		}
	}
	return 0
}

// apart reports whether a token may begin at a place: at the beginning, after
// what is no letter, digit or underscore, and after what only looks like a
// letter, since output is full of it: \n and \u003d of JSON, %3D of URLs.
func (f *filter) apart(at int) bool {
	before := f.before(at)
	n := len(before)
	if n == 0 {
		return true
	}
	if !word.has(before[n-1]) { // a-b and a.b are one word
		return n < 2 || before[n-1] != '-' && before[n-1] != '.' || !word.has(before[n-2])
	}
	switch last := before[n-1]; {
	case n >= 2 && before[n-2] == '\\':
		return bytes.IndexByte([]byte("nrtbf"), last) >= 0
	case n >= 3 && before[n-3] == '%' && hexes.has(before[n-2]) && hexes.has(last):
		return true
	case n >= 6 && before[n-6] == '\\' && before[n-5] == 'u':
		return hexes.has(last)
	}
	return false
}

// random asks for what nobody has thought of, and no binary with empty parts.
func random(body []byte) bool {
	return lookAt(body[:min(len(body), judged)]).random(false) && !bytes.Contains(body, []byte("AAAAA"))
}

// scrambled asks for a long part that is no word.
func scrambled(body []byte) bool {
	l := lookAt(body[:min(len(body), judged)])
	return l.longest >= 32 || l.longest >= 16 && l.digits > 0
}

func dotAt14(body []byte) bool { return body[14] == '.' }

// isJWT reports whether a token goes on as a JSON Web Token does: in parts in base64
// with dots between them, of which the first two are JSON objects, or, of those that
// are encrypted, one of five.
func isJWT(body []byte) bool {
	parts := bytes.Split(body, []byte("."))
	return len(parts) > 1 && len(parts[0]) >= 5 && (bytes.HasPrefix(parts[1], []byte("eyJ")) && len(parts[1]) >= 8 || len(parts) == 5)
}

func isEncodedJWT(body []byte) bool { return bytes.Contains(decoded("ZXlK", body), []byte("eyJ")) }

func isEncodedKey(body []byte) bool {
	return bytes.Contains(decoded("LS0tLS1CRUdJTi", body), []byte("PRIVATE KEY"))
}

// decoded is what was encoded in base64, as far as it can be told.
func decoded(begin string, body []byte) []byte {
	text := append([]byte(begin), bytes.TrimRight(body, "=")...)
	all := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, _ := base64.RawStdEncoding.Decode(all, text)
	return all[:n]
}
