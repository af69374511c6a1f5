package verify

import "slices"

// What the tools of checks read from the home folder. An agent that changes it
// changes what a check finds, without touching the work. A tool that is missing here
// is one more row.

// A toolRow says what tools read outside the workspace, and by what they are
// run. It holds names only, so that a row can be written by who knows the tool
// and not this package.
type toolRow struct {
	names []string // as they are called, without a version at the end
	files []configFile
	runs  []string // programs that these are run by, or run
	// scripts are the names of the file that such a tool takes its commands from.
	scripts []string
	// direct has the row count only where the check itself names the tool, and not
	// where a script does: scripts use it by the way.
	direct bool
	// with, if there is any, are arguments one of which must be given, too.
	with []string
}

// isRead reports whether the row counts for a command with these words: a shell
// reads the user's files only as a login shell, say.
func (r toolRow) isRead(words []string) bool {
	return len(r.with) == 0 || slices.ContainsFunc(words, func(word string) bool { return slices.Contains(r.with, word) })
}

// A configFile is where a tool looks for one of its files: the value of env or
// else, if that is not set, or; then rest. It may have wildcards. ~ is the home
// folder, CONFIG the system's folder for configuration, which is another on
// each system.
type configFile struct {
	env  string // one or more names
	or   string
	rest string
	// but are the beginnings of lines that do not count: what tools write there
	// themselves.
	but []string
	// pin is the variable by which the tool can be told of another file. "" = none.
	pin string
}

// credentials are the lines of an .npmrc that npm login writes: they belong to
// a registry and decide nothing about how tests are run.
var credentials = []string{"//"}

// identity is what git asks for before it commits, and which repositories it
// trusts. Agents are told to set these when git refuses to commit, and no check
// goes by them.
var identity = []string{"[user]", "name =", "email =", "[safe]", "directory ="}

// toolRows is the table. A tool belongs here if a file in the home folder can
// change what it runs or finds; one that only stores credentials or caches
// there does not. It is made anew for each call, so that nobody can change it
// for others.
func toolRows() []toolRow {
	login := []string{"-l", "-lc", "-lec", "-i", "-ic", "-lic", "-ilc", "--login"} // of shells that read the user's files
	npmrc := configFile{env: "NPM_CONFIG_USERCONFIG npm_config_userconfig", or: "~/.npmrc", but: credentials, pin: "npm_config_userconfig"}
	goenv := configFile{env: "GOENV", or: "CONFIG/go/env", pin: "GOENV"}
	site := []configFile{
		{env: "PYTHONUSERBASE", or: "~/.local", rest: "/lib/python3*/site-packages/sitecustomize*"},
		{env: "PYTHONUSERBASE", or: "~/.local", rest: "/lib/python3*/site-packages/usercustomize*"},
		{or: "~/.pydistutils.cfg"},
	}
	return []toolRow{
		{names: []string{"go", "gotestsum", "staticcheck"}, files: []configFile{goenv}, runs: []string{"go"}},
		{names: []string{"golangci-lint"}, files: []configFile{goenv, {or: "~/.golangci.*"}}, runs: []string{"go"}},
		{names: []string{"npm", "npx", "node", "pnpm", "pnpx", "yarn", "corepack"}, runs: []string{"node", "sh"}, scripts: []string{"package.json"}, files: []configFile{
			npmrc,
			{env: "NPM_CONFIG_PREFIX npm_config_prefix", or: "~/.npm-global", rest: "/etc/npmrc"},
			{env: "NVM_DIR", or: "~/.nvm", rest: "/versions/node/*/etc/npmrc"},
			{or: "~/.yarnrc", but: []string{"#", "lastUpdateCheck "}}, // yarn notes when it has looked for news
			{or: "~/.yarnrc.yml"},
			{env: "XDG_CONFIG_HOME", or: "~/.config", rest: "/pnpm/rc"},
		}},
		{names: []string{"bun", "bunx"}, files: []configFile{npmrc, {env: "XDG_CONFIG_HOME", or: "~", rest: "/.bunfig.toml"}}},
		{names: []string{"python", "pytest", "py.test", "tox", "nox", "poetry", "uv", "coverage"}, files: site},
		{names: []string{"pip"}, direct: true, files: append([]configFile{
			{env: "PIP_CONFIG_FILE", or: "CONFIG/pip/pip.conf"}, {env: "XDG_CONFIG_HOME", or: "~/.config", rest: "/pip/pip.conf"}, {or: "~/.pip/pip.conf"},
		}, site...)},
		{names: []string{"ruff"}, files: []configFile{{env: "XDG_CONFIG_HOME", or: "~/.config", rest: "/ruff/*.toml"}}},
		{names: []string{"cargo", "cargo-nextest"}, files: []configFile{
			{env: "CARGO_HOME", or: "~/.cargo", rest: "/config.toml"}, {env: "CARGO_HOME", or: "~/.cargo", rest: "/config"},
		}},
		{names: []string{"mvn", "mvnw"}, files: []configFile{{or: "~/.m2/settings.xml"}, {or: "~/.mavenrc"}}},
		{names: []string{"gradle", "gradlew"}, files: []configFile{
			{env: "GRADLE_USER_HOME", or: "~/.gradle", rest: "/gradle.properties"},
			{env: "GRADLE_USER_HOME", or: "~/.gradle", rest: "/init.gradle*"},
			{env: "GRADLE_USER_HOME", or: "~/.gradle", rest: "/init.d/*"},
		}},
		{names: []string{"rspec"}, files: []configFile{{or: "~/.rspec"}}, runs: []string{"ruby"}},
		{names: []string{"bundle"}, files: []configFile{{or: "~/.bundle/config"}}, runs: []string{"ruby"}},
		{names: []string{"make", "gmake"}, scripts: []string{"GNUmakefile", "makefile", "Makefile"}},
		{names: []string{"just"}, scripts: []string{"justfile", "Justfile", ".justfile"}},
		{names: []string{"curl"}, direct: true, files: []configFile{
			{env: "CURL_HOME", or: "~", rest: "/.curlrc"}, {or: "~/.curlrc"}, {env: "XDG_CONFIG_HOME", or: "~/.config", rest: "/curlrc"},
		}},
		{names: []string{"wget"}, direct: true, files: []configFile{{env: "WGETRC", or: "~/.wgetrc"}}},
		{names: []string{"git"}, direct: true, files: []configFile{
			{env: "GIT_CONFIG_GLOBAL", or: "~/.gitconfig", but: identity}, {env: "XDG_CONFIG_HOME", or: "~/.config", rest: "/git/config", but: identity},
		}},
		{names: []string{"sh", "bash", "dash", "ksh"}, direct: true, with: login, files: []configFile{
			{or: "~/.profile"}, {or: "~/.bash_profile"}, {or: "~/.bash_login"}, {or: "~/.bashrc"},
		}},
		{names: []string{"zsh"}, direct: true, files: []configFile{
			{env: "ZDOTDIR", or: "~", rest: "/.zshenv"}, {env: "ZDOTDIR", or: "~", rest: "/.zprofile"}, {env: "ZDOTDIR", or: "~", rest: "/.zlogin"},
		}},
	}
}
