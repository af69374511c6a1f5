// Package environ says which variables of this process's environment the programs
// get that it starts, and which folder they name.
package environ

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Keep returns the entries of an environment, "NAME=value", that names let through,
// and the names of the others, sorted. A name that ends in * stands for all that begin
// so, * for all. What a shell keeps for itself is in neither.
func Keep(environ, names []string) (kept, dropped []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, name):
		case slices.ContainsFunc(names, func(want string) bool { return matches(name, want) }):
			kept = append(kept, entry)
		default:
			dropped = append(dropped, name)
		}
	}
	slices.Sort(dropped)
	return kept, slices.Compact(dropped)
}

func matches(name, want string) bool {
	prefix, all := strings.CutSuffix(want, "*")
	return name == want || all && strings.HasPrefix(name, prefix)
}

// Checks are what a check needs to find its tools, their caches and their settings,
// and no more: what is in the environment beside that is the user's, keys and
// passwords among it.
func Checks() []string {
	return slices.Concat(
		[]string{ // the system
			"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "NO_COLOR", "TMPDIR", "TMP", "TEMP",
			"LANG", "LANGUAGE", "LC_*", "TZ", "CI", "XDG_*", "SSH_AUTH_SOCK", "DISPLAY", "LD_LIBRARY_PATH", "RALPH_*",
			"SYSTEMROOT", "SystemRoot", "WINDIR", "COMSPEC", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES*", "ProgramFiles*",
		},
		[]string{ // the network
			"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
			"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "CURL_HOME", "REQUESTS_CA_BUNDLE",
		},
		[]string{ // Go; GO* would hold GOOGLE_API_KEY
			"GO111MODULE", "GO386", "GOAMD64", "GOARCH", "GOARM*", "GOAUTH", "GOBIN", "GOCACHE*", "GOCOVERDIR", "GODEBUG", "GOENV", "GOEXPERIMENT", "GOFIPS140",
			"GOFLAGS", "GOGC", "GOINSECURE", "GOLANGCI_LINT_CACHE", "GOMAXPROCS", "GOMEMLIMIT", "GOMIPS*", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOOS",
			"GOPATH", "GOPPC64", "GOPRIVATE", "GOPROXY", "GORACE", "GORISCV64", "GOROOT", "GOSUMDB", "GOTELEMETRY", "GOTMPDIR", "GOTOOLCHAIN", "GOTRACEBACK",
			"GOVCS", "GOWASM", "GOWORK", "CGO_*",
		},
		[]string{ // compilers
			"CC", "CXX", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "PKG_CONFIG*", "CMAKE_*", "MAKEFLAGS", "CCACHE_*", "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET",
		},
		[]string{ // Node
			"NODE_*", "npm_config_*", "NPM_CONFIG_*", "YARN_*", "PNPM_*", "COREPACK_*", "NVM_*", "VOLTA_*", "FNM_*", "BUN_*", "DENO_*", "PLAYWRIGHT_*", "PUPPETEER_*", "CHROME_BIN",
		},
		[]string{ // Python
			"VIRTUAL_ENV", "PYTHON*", "PYENV_*", "PIP_*", "UV_*", "POETRY_*", "PIPENV_*", "CONDA_*", "TOX_*", "PYTEST_*",
		},
		[]string{ // Rust, Java, .NET, Ruby, PHP and others
			"CARGO_*", "RUST*", "JAVA_*", "JDK_*", "MAVEN_*", "M2_HOME", "GRADLE_*", "KOTLIN_HOME", "SBT_OPTS", "ANDROID_*",
			"DOTNET_*", "NUGET_*", "MSBUILD*", "GEM_*", "BUNDLE_*", "RBENV_*", "RUBY*", "COMPOSER_*", "PHP_*", "MIX_*", "HEX_*", "ASDF_*", "MISE_*", "NIX_*",
			"DOCKER_*", "GIT_CONFIG*", "GIT_SSL_*", "GIT_SSH*",
		},
	)
}

// StateHome is where programs keep what they must find again: $XDG_STATE_HOME, or
// ~/.local/state if that is not an absolute path, as its specification has it.
func StateHome() (string, error) {
	if home := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return home, nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(user, ".local", "state"), nil
}
