// Package e2e holds the end-to-end tests: loops whose agents are the real
// clients, as real processes in real git repositories, against a scripted model
// on loopback (package modelserver). There is nothing to import in it.
//
// The clients are those that .ci/install-agents installs. A test whose client
// is not there is skipped; with RALPH_E2E=1 in the environment it fails
// instead, and with RALPH_E2E=all the slow clients run too.
package e2e
