package verify

import (
	"strconv"
	"strings"
)

// A class is what a word is to the rules, as a set of bits.
type class uint32

const (
	negator    class = 1 << iota // no, not, never, without
	emptiness                    // none, nothing: as the whole of a list or a value
	number                       // a count above zero
	finite                       // is, has, will: begins what a clause states
	be                           // is, are, been
	was                          // was, were, had
	modal                        // would, could: not stated as a fact
	self                         // I, we
	tester                       // what passes or fails: test, suite, build
	work                         // what an agent works on: task, migration, docs
	actor                        // who or what passes through the product: user, request
	failing                      // fail, fails, failed, failing
	failure                      // failure, failures, errors
	passing                      // pass, passes, green
	mending                      // fixed, removes: says that something is gone or done
	behaves                      // returns, rejects: what a program does
	making                       // added, wrote: what follows is what was made
	unfinished                   // incomplete, pending
	finished                     // implemented, tested: a lack of it is work
	finishing                    // implement, test: what an agent has to do
	past                         // previously, initially
	marker                       // TODO, FIXME, WIP
	defect                       // warning, gap: what is wrong with the code
)

func (c class) is(want class) bool { return c&want != 0 }

// classOf looks a word up, in switches and not in maps, for they are constant.
func classOf(w token) class {
	switch w.raw {
	case "TODO", "TODOs", "TODO's", "TODOS", "FIXME", "FIXMEs", "FIXME's", "FIXMES", "XXX", "WIP":
		return marker
	}
	c := grammar(w.low) | trials(w.low) | nouns(w.low) | verbs(w.low) | participles(w.low) | bases(w.low)
	if strings.HasPrefix(w.low, "0/") {
		c |= negator
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(w.low, "x")); err == nil && n > 0 {
		c |= number
	}
	return c
}

func grammar(low string) class {
	switch low {
	case "no", "not", "never", "without", "neither", "nor", "zero", "0", "nobody", "hardly", "instead":
		return negator
	case "none", "nothing":
		return negator | emptiness
	case "n/a", "empty", "nil", "-":
		return emptiness
	case "i", "we":
		return self
	case "is", "are", "am":
		return be | finite
	case "be", "been", "being":
		return be
	case "was", "were":
		return was | finite
	case "had":
		return was | finite
	case "has", "have", "does", "do", "did", "will", "can", "remain", "remains", "need", "needs", "still":
		return finite
	case "would", "could", "should", "might", "may", "must":
		return modal | finite
	case "previously", "earlier", "originally", "initially", "formerly", "yesterday", "beforehand":
		return past
	case "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "several", "some", "few", "many", "couple", "dozen", "multiple", "both", "half", "most":
		return number
	}
	return 0
}

func trials(low string) class {
	switch low {
	case "test", "tests", "spec", "specs", "suite", "suites", "build", "builds", "ci", "lint", "linter", "linting", "typecheck", "type-check", "checks", "check", "checking", "pipeline", "pipelines", "testcase", "testcases", "subtest", "subtests", "assertion", "assertions", "case", "cases", "scenario", "scenarios", "compilation", "unit-tests", "e2e", "snapshot", "snapshots", "vet", "tsc", "eslint", "mypy", "pytest", "jest", "clippy", "ruff", "golangci-lint", "benchmark", "benchmarks", "jenkins", "playwright", "cypress", "vitest", "rspec", "phpunit", "junit", "checker", "compiler", testCodeWord:
		return tester
	case "fail", "fails", "failed", "failing":
		return failing
	case "failure", "failures", "error", "errors":
		return failure
	case "pass", "passes", "passing", "green", "succeed", "succeeds", "succeeded":
		return passing
	}
	for _, part := range []string{"e2e-", "test-", "tests-"} {
		if strings.HasPrefix(low, part) {
			return tester
		}
	}
	for _, part := range []string{"test_", ".test.", ".spec.", "_test.", "_spec."} {
		if strings.Contains(low, part) {
			return tester
		}
	}
	return 0
}

// nouns tells what an agent works on from what its product deals with.
func nouns(low string) class {
	switch low {
	case "task", "tasks", "work", "migration", "migrations", "deployment", "release", "implementation", "step", "steps", "feature", "features", "stage", "story", "ticket", "issue", "issues", "verification", "refactoring", "refactor", "setup", "port", "upgrade", "rollout", "integration", "progress", "part", "parts", "pr", "item", "items", "endpoint", "endpoints", "docs", "documentation", "changelog", "readme", "criteria", "criterion", "requirement", "requirements", "project", "everything", "rest", "module", "modules", "changes", "merge", "conversion", "acceptance", "subtask", "subtasks", "rewrite", "handlers", "handler", "problem", "problems", "bug", "bugs", "questions", "question", "review", "pieces", "piece", "goal", "milestone", "phase", "point", "points", "coverage", "todo", "todos", "code", "function", "functions", "support", "thing", "things", "blocker", "blockers":
		return work
	case "user", "users", "customer", "customers", "visitor", "visitors", "client", "clients", "caller", "callers", "request", "requests", "order", "orders", "row", "rows", "bot", "bots", "account", "accounts", "admin", "admins", "player", "players", "member", "members", "job", "jobs", "thread", "threads", "goroutine", "goroutines", "consumer", "consumers", "producer", "worker", "workers", "upload", "uploads", "download", "downloads", "call", "calls", "traffic", "connection", "connections", "attacker", "attackers", "guest", "guests", "form", "reader", "writer", "ip", "ips", "addresses", "transaction", "transactions", "attempts", "queue", "email", "emails", "payment", "payments", "anyone", "people", "person", "process", "processes", "domains", "cookies", "popups", "editor", "editors", "invoice", "invoices", "subscriber", "subscribers", "student", "students", "sender", "recipient", "loop", "button", "dialog", "sessions", "events", "operators", "developers", "goods", "lines", "records", "entries":
		return actor
	case "warning", "warnings", "gap", "gaps", "violation", "violations", "regression", "regressions", "leak", "leaks", "defect", "defects", "limitation", "limitations", "glitch", "glitches", "conflict", "conflicts", "inconsistency", "inconsistencies":
		return defect
	}
	return 0
}

// verbs knows what mends something, what a program does, and what makes.
func verbs(low string) class {
	switch low {
	case "fixed", "removed", "resolved", "solved", "addressed", "cleared", "deleted", "eliminated", "replaced", "repaired", "repairs", "corrected", "cleaned", "closed", "dropped", "converted", "completed", "finished", "handled", "done", "merged", "dealt", "tackled", "rewrote", "rewritten", "turned", "cured", "patched", "stripped", "settled", "gone", "squashed", "ported", "migrated", "unblocked", "overcame", "swept", "ticked", "vanished", "disappeared", "closes", "lifted", "obsolete", "superseded",
		"fix", "fixes", "remove", "removes", "resolve", "resolves", "eliminate", "eliminates", "clear", "clears", "delete", "deletes", "replace", "replaces", "address", "fixing", "removing", "resolving", "finishing", "solves", "solve", "solving", "clearing", "replacing", "addressing", "deleting", "repairing", "unblocking", "unblocks", "filled", "caught":
		return mending
	case "shows", "show", "says", "prints", "returns", "reports", "renders", "displays", "counts", "filters", "skips", "rejects", "handles", "detects", "warns", "raises", "throws", "logs", "explains", "describes", "asserts", "verifies", "covers", "ensures", "expects", "proves", "finds", "highlights", "flags", "hides", "marks", "lists", "parses", "retries", "sends", "emits", "writes", "exits", "stops", "notifies", "sorts", "ignores", "tracks", "receives", "gets", "recognises", "recognizes", "scans", "extracts", "collects", "groups", "supports", "aborts", "lets", "allows", "asserting", "simulates", "triggers", "accepts", "catches", "distinguishes", "treats", "matches", "exposes", "surfaces", "summarises", "summarizes", "mocks", "demonstrates", "reads", "waits", "strips", "stores", "computes", "calculates", "estimates", "releases", "picks", "queues", "moves", "reruns", "tells", "reproduces", "documents", "refuses", "prevents", "creates", "turns", "adds", "validates", "processes", "resumes":
		return behaves
	case "wrote", "write", "writing", "added", "add", "adding", "created", "create", "introduced", "built", "reproduced", "documented", "described", "explained", "simulated", "supported", "extended", "refactored", "renamed", "improved", "simplified", "expected", "expect", "investigated", "understood", "analysed", "analyzed", "covered", "asserted", "reviewed", "parsed", "named", "called", "designed", "implemented", "grepped", "searched", "looked", "defined", "tested":
		return making
	}
	return 0
}

// participles knows what work is said to be, and what it is said to lack.
func participles(low string) class {
	if strings.HasPrefix(low, "un") && strings.HasSuffix(low, "ed") && len(low) > 6 {
		switch low {
		case "unchanged", "unaffected", "unblocked", "unlimited", "untouched", "unmodified", "unrelated", "undefined", "unsigned", "unaltered", "unwanted", "unexpected", "unauthorized", "unlocked", "unmounted", "unregistered", "united", "untrusted", "unauthenticated", "unsubscribed", "unescaped", "unnamed", "unmatched", "unneeded", "unbounded", "unbuffered", "unwrapped", "unified", "unpacked", "unloaded", "unzipped", "undisturbed", "unlisted", "unrestricted", "unassigned", "unpublished", "unconfigured", "unsorted", "unpaired", "unshared", "unparsed":
			return 0
		}
		return unfinished
	}
	switch low {
	case "unmet", "unproven", "untried", "incomplete", "outstanding", "pending", "undone", "missing", "half-finished", "half-done", "half-baked", "unwritten", "todo", "wip":
		return unfinished
	case "implemented", "done", "finished", "complete", "completed", "tested", "written", "migrated", "updated", "wired", "fixed", "resolved", "covered", "verified", "documented", "addressed", "converted", "ported", "started", "run", "working", "ready", "integrated", "connected", "translated", "hooked", "handled", "created", "added", "built", "met", "satisfied", "applied", "removed", "replaced", "moved", "rewritten", "refactored", "validated", "cleaned", "filled", "there", "executed", "reached", "achieved", "delivered", "deployed", "published", "measured", "committed", "pushed", "solved", "corrected", "repaired", "merged", "settled", "adapted", "approved", "populated", "fulfilled", "honoured", "honored", "enforced", "registered", "localised", "localized", "styled", "configured", "benchmarked", "profiled", "exercised":
		return finished
	}
	return 0
}

// bases knows the verbs for an agent's work.
func bases(low string) class {
	switch low {
	case "implement", "write", "add", "update", "finish", "complete", "do", "test", "run", "migrate", "port", "convert", "wire", "fix", "verify", "document", "deploy", "integrate", "get", "build", "compile", "install", "start", "cover", "handle", "refactor", "clean", "create", "remove", "replace", "resolve", "reach", "proceed", "continue", "hook", "connect", "translate", "move", "address", "polish", "merge", "push", "commit", "manage", "check", "set", "switch", "tackle", "rewrite", "extend", "make", "apply", "confirm", "validate", "investigate", "debug", "look", "solve", "support", "optimise", "optimize", "decide", "figure", "review", "work", "finalize", "finalise", "bump", "publish", "split", "drop", "adjust", "rename", "revisit", "exercise", "try", "configure", "enable", "sort", "close", "delete", "release", "backfill", "go", "access", "attempt", "reproduce", "generate":
		return finishing
	}
	return 0
}

// code reports whether code in the clause, after the word at i, contains one of the
// texts, upper and lower case alike.
func (c *clause) code(i int, texts ...string) bool {
	for k := i + 1; k < len(c.words); k++ {
		if !c.one(k, codeWord, testCodeWord) {
			continue
		}
		for _, text := range texts {
			if strings.Contains(strings.ToLower(c.words[k].raw), strings.ToLower(text)) {
				return true
			}
		}
	}
	return false
}

// isTestCode reports whether code names a test, or a command that runs tests.
func isTestCode(code string) bool {
	low := strings.ToLower(code)
	for _, part := range []string{"test", "build", "lint", "spec", "tsc", "mypy", "vet", "check", "clippy", "ruff", "validate", "audit"} {
		if strings.Contains(low, part) {
			return true
		}
	}
	return false
}
