package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A format is one of keys that begin in a way of their own, in a line of the table
// below. To add one, add a line with
//
//   - the kind, which stands in the mark: [redacted:kind]
//   - how such keys begin, in three bytes or more; several beginnings with a blank between
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
	kind  string
	begin string
	body  alphabet
	min   int
	usual int
	check func(body []byte) bool
}

var formats = []format{
	// Providers of models.
	{"anthropic", "sk-ant-", urlish, 10, 0, nil},
	{"openai", "sk-proj- sk-svcacct- sk-admin-", urlish, 16, 0, nil},
	{"openrouter", "sk-or-v1-", alnum, 32, 64, nil},
	{"langfuse", "sk-lf-", urlish, 32, 36, nil},
	{"openai", "sk-", urlish, 16, 0, random},
	{"langsmith", "lsv2_pt_ lsv2_sk_", word, 40, 43, nil},
	{"elevenlabs", "sk_", hex, 48, 48, nil},
	{"bedrock", "ABSK bedrock-api-key-", base64s, 40, 0, nil},
	{"groq", "gsk_", alnum, 40, 52, nil},
	{"huggingface", "hf_ api_org_", alnum, 24, 34, nil},
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
	{"aws", "AKIA ASIA ABIA", upcase, 16, 16, nil},
	{"aws", "ACCA", upcase, 16, 16, random},
	{"google", "AIza", urlish, 35, 35, nil},
	{"google", "GOCSPX- ya29.", urlish, 20, 0, nil},
	{"google", "1//0", urlish, 40, 0, random},
	{"azure", "7Q~ 8Q~", tokens, 31, 34, nil},
	{"digitalocean", "dop_v1_ doo_v1_ dor_v1_", alnum, 60, 64, nil},
	{"alibaba", "LTAI", alnum, 17, 20, random},
	{"heroku", "HRKU-", urlish, 36, 0, nil},
	{"cloudflare", "fut_ fat_ v1.0-", urlish, 40, 0, random}, // without their c, for every word with it would be held back
	{"fly", "fo1_ fm1r_ fm1a_ fm2_", tokens, 40, 0, nil},
	{"render", "rnd_", alnum, 28, 32, random},
	{"vercel", "vcp_ vck_", alnum, 40, 0, nil},
	{"netlify", "nfp_", alnum, 36, 0, nil},
	{"scalingo", "tk-us-", urlish, 48, 48, nil},
	{"yandex", "AQVN", urlish, 35, 36, random},
	{"openshift", "sha256~", urlish, 43, 43, nil},
	{"databricks", "dapi", hex, 32, 32, nil},

	// Code, packages and what builds them.
	{"github", "ghp_ gho_ ghu_ ghs_ ghr_", dotted, 20, 36, nil},
	{"github", "github_pat_", word, 22, 82, nil},
	{"gitlab", "glpat- gldt- glrt- glrtr- glptt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-", dotted, 20, 0, nil},
	{"gitlab", "GR1348941", urlish, 20, 20, nil},
	{"bitbucket", "ATBB", tokens, 24, 32, random},
	{"bitbucket", "ATCTT3xFfG BBDC-", tokens, 40, 0, nil},
	{"atlassian", "ATATT3xFfG", tokens, 40, 0, nil},
	{"npm", "npm_", alnum, 30, 36, nil},
	{"pypi", "pypi-AgE", urlish, 16, 0, nil},
	{"rubygems", "rubygems_", hex, 40, 48, nil},
	{"nuget", "oy2", alnum, 43, 43, random},
	{"clojars", "CLOJARS_", alnum, 50, 60, nil},
	{"docker", "dckr_pat_ dckr_oat_", urlish, 20, 0, nil},
	{"artifactory", "AKCp mVmdGtuOj", alnum, 50, 0, random}, // without the c of the second
	{"circleci", "CCIPAT_ CCIPRJ_", word, 50, 63, nil},
	{"buildkite", "bkua_", alnum, 40, 40, nil},
	{"sonar", "squ_ sqp_ sqa_", hex, 40, 40, nil},
	{"sourcegraph", "sgp_", word, 40, 0, nil},
	{"octopus", "API-", upcase, 26, 26, random},
	{"postman", "PMAK-", urlish, 59, 59, nil},

	// Infrastructure, secrets, data.
	{"terraform", ".atlasv1.", tokens, 60, 67, nil},
	{"pulumi", "pul-", hex, 40, 40, nil},
	{"vault", "hvs. hvb. hvr.", urlish, 24, 0, nil},
	{"doppler", "dp.", dotted, 42, 0, random},
	{"1password", "ops_eyJ", tokens, 100, 0, nil},
	{"1password", "A3-", urlish, 34, 36, random},
	{"age", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", alnum, 50, 0, nil},
	{"tailscale", "tskey-", urlish, 20, 0, random},
	{"planetscale", "pscale_", tokens, 35, 0, nil},
	{"supabase", "sbp_ sb_secret_", urlish, 28, 0, random},
	{"neon", "npg_ napi_", alnum, 12, 0, random},
	{"prefect", "pnu_", alnum, 36, 36, nil},
	{"airtable", "pat", dotted, 79, 79, random},
	{"contentful", "CFPAT-", urlish, 40, 43, nil},
	{"salesforce", "3MVG9", tokens, 80, 0, nil},
	{"harness", "pat. sat.", dotted, 68, 68, random},

	// What watches.
	{"grafana", "glc_ glsa_", tokens, 32, 0, nil},
	{"grafana", "eyJrIjoi", base64s, 70, 0, nil},
	{"newrelic", "NRAK- NRII- NRJS-", urlish, 19, 0, random},
	{"sentry", "sntrys_ sntryu_", tokens, 40, 0, nil},
	{"dynatrace", "dt0c01. dt0s", dotted, 80, 0, nil},
	{"posthog", "phx_", word, 40, 0, nil},
	{"datadog", "ddp_ ddw_", alnum, 36, 36, nil},
	{"axiom", "xaat- xapt-", urlish, 36, 36, nil},

	// Messages, work, payment.
	{"slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xox xoxo- xoxp- xoxr- xoxs- xapp- xwfp-", tokens, 10, 0, nil},
	{"slack", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", slashed, 20, 0, nil},
	{"discord", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", slashed, 60, 0, nil},
	{"teams", "webhook.office.com/webhookb2/", slashed, 60, 0, nil},
	{"zapier", "hooks.zapier.com/hooks/catch/", slashed, 12, 0, nil},
	{"telegram", ":AA", urlish, 33, 33, random},
	{"twilio", "SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf", hex, 31, 31, nil},
	{"sendgrid", "SG.", dotted, 60, 66, nil},
	{"brevo", "xkeysib- xsmtpsib-", urlish, 64, 81, nil},
	{"mailgun", "key-", alnum, 32, 32, random},
	{"resend", "re_", word, 24, 0, random},
	{"linear", "lin_api_ lin_oauth_", alnum, 30, 0, nil},
	{"notion", "ntn_", alnum, 40, 46, nil},
	{"notion", "secret_", alnum, 43, 43, random},
	{"figma", "figd_", urlish, 36, 0, nil},
	{"typeform", "tfp_", urlish, 36, 0, nil},
	{"hubspot", "pat-na1- pat-eu1-", urlish, 36, 36, nil},
	{"readme", "rdme_", alnum, 60, 70, nil},
	{"dropbox", "sl.B sl.u.", urlish, 60, 0, random},
	{"mapbox", "sk.eyJ", dotted, 60, 0, nil},
	{"facebook", "EAA", alnum, 80, 0, random},
	{"shopify", "shpat_ shpca_ shppa_ shpss_ shptka_", hex, 32, 32, nil},
	{"shippo", "shippo_live_ shippo_test_", hex, 40, 40, nil},
	{"duffel", "duffel_live_ duffel_test_", tokens, 43, 0, nil},
	{"easypost", "EZAK EZTK", alnum, 54, 54, nil},
	{"flutterwave", "FLWSECK", urlish, 12, 0, random},
	{"square", "sq0atp- sq0csp-", urlish, 22, 0, nil},
	{"square", "EAAA", urlish, 56, 60, random},
	{"stripe", "sk_live_ sk_test_ rk_live_ rk_test_ sk_org_", alnum, 16, 0, nil},
	{"stripe", "whsec_", base64s, 20, 0, nil},
	{"braintree", "access_token$production$", slashed, 40, 0, nil},
	{"plaid", "access-production- access-sandbox-", urlish, 36, 36, nil},
	{"razorpay", "rzp_live_", alnum, 14, 14, nil},
	{"adafruit", "aio_", alnum, 28, 28, random},
	{"adobe", "p8e-", alnum, 32, 32, nil},

	// Whoever issued them.
	{"jwt", "eyJ", dotted, 20, 0, isJWT},
	{"private-key", "LS0tLS1CRUdJTiBQUklWQVRF LS0tLS1CRUdJTiBSU0EgUFJJVkFUR", base64s, 40, 0, nil}, // PEM in base64
	{"private-key", "LS0tLS1CRUdJTiBFQyBQUklWQVRF LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVE", base64s, 40, 0, nil},
	{"private-key", "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFUR LS0tLS1CRUdJTiBEU0EgUFJJVkFUR", base64s, 40, 0, nil},
}

// rules are those of the format, one for each beginning.
func (k format) rules() (all []rule) {
	for prefix := range strings.FieldsSeq(k.begin) {
		n := len(prefix)
		long := n > 3 && (prefix[n-1] == '_' || prefix[n-1] == '-') && !strings.HasPrefix(prefix, "sk-")
		apart := !long && letter[prefix[0]] && !strings.Contains(prefix, "/") // it could be a part of a word
		all = append(all, rule{literal: prefix, then: k.body, apart: apart, format: true, find: k.find})
	}
	return all
}

// find finds a key of the format whose body begins at from.
func (k format) find(f *filter, at, from int) finding {
	body, tail := f.run(from, k.body), k.body
	to := from + len(body)
	if len(body) < decided {
		tail = nil
		if to -= len(body) - len(bytes.TrimRight(body, ".")); to == from+len(body) { // no dot of the sentence
			body, to = k.joined(f, body, to)
		}
		body = bytes.TrimRight(body, ".")
	}
	more := len(body) > k.usual || f.at(to) == '[' // it went on, before that was hidden
	switch {
	case len(body) < k.min, k.min == k.usual && more:
		return finding{}
	case k.check != nil && !k.check(body), placeholder(body):
		return finding{}
	}
	return finding{from: at, to: to, kind: k.kind, tail: tail}
}

// lineEnds are the ends of lines, as they come and as JSON and source code write them.
var lineEnds = []string{"\n", "\r\n", `\n`, `\r\n`, `\\n`, `\\r\\n`}

// joined is the body of a key that goes on in the next lines, and where it ends: where
// it is as long as it should be, or else where what follows no longer looks like it.
func (k format) joined(f *filter, body []byte, to int) ([]byte, int) {
	most := decided
	if k.usual > 0 {
		most = k.usual
	}
	for all, at := slices.Clip(body), to; len(body) >= 8 && len(all) < most; {
		for _, end := range lineEnds {
			if f.is(at, end) {
				at = f.skip(at+len(end), " ", 12)
				break
			}
		}
		part := f.run(at, k.body)
		all, at = append(all, part...), at+len(part)
		if len(part) == 0 || k.usual == 0 && !lookAt(part).random(true) {
			break
		}
		if k.usual == 0 || len(all) == k.usual {
			body, to = all, at
		}
	}
	return body, to
}

// random asks for what nobody has thought of, and no binary with empty parts.
func random(body []byte) bool {
	return lookAt(body).random(false) && !bytes.Contains(body, []byte("AAAAA"))
}

// isJWT reports whether a token goes on as a JSON Web Token does: in parts in base64
// with dots between them, of which the first two are JSON objects, or, of those that
// are encrypted, one of five.
func isJWT(body []byte) bool {
	parts := bytes.Split(body, []byte("."))
	signed := len(parts) > 1 && len(parts[1]) >= 8 && bytes.HasPrefix(parts[1], []byte("eyJ"))
	return len(parts[0]) >= 5 && (signed || len(parts) == 5)
}
