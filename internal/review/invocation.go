package review

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// Argument is one argument as the program gets it: quotes, escapes and braces are resolved.
type Argument struct {
	Text string // the known text
	// Known: Text is complete. Otherwise it contains an expansion, a pattern, or a variable
	// that another part of the command may have changed.
	Known bool
	// Many: it may become any number of arguments, or none.
	Many bool
	// Glob: Text is complete, and the shell replaces it with the names of files that match it.
	Glob bool
	// Output: it is the output of a command, as a file: <(…).
	Output bool
}

// Redirection is a file that a command reads from or writes to.
type Redirection struct {
	File   Argument
	Path   string // absolute, "~/…", "~user/…", or "?" when it is computed
	Writes bool   // <> reads and writes, and counts as writing
}

// Invocation is one program, or builtin of the shell, that a shell command starts. A wrapper
// such as env gives two: its own and that of the program it runs.
type Invocation struct {
	// Program is the base name in lower case (on some systems GIT is git). Word is the name
	// as written, such as "/usr/bin/git". Both are "" when the name is computed, and for a
	// statement that consists of redirections or assignments.
	Program, Word string
	Args          []Argument
	// Subcommand is Args without the leading options of the program itself: for git -C x push
	// --force it is push --force. It equals Args for a program without such options.
	Subcommand []Argument
	// Dir is the folder in which it runs, absolute, "~/…" or "~user/…". It is "?" when it is
	// computed, or depends on whether a cd succeeds. It follows cd, env -C, sudo -D and git -C.
	Dir string
	// Opaque: it runs code that is not part of the command, such as tests or build scripts of
	// a project.
	Opaque       bool
	Redirections []Redirection
}

// Invocations returns every program that a shell command starts when it runs in dir, an
// absolute path, anywhere in the command: in lists, pipes, conditions, functions,
// substitutions, text for a shell, and behind wrappers. complete is false when there may be
// other programs than those returned: because of a computed name, a script, code of another
// language, a redefined name, or an unknown construct.
func Invocations(command, dir string) (calls []Invocation, complete bool) {
	w := newWalker(dir)
	w.markHidden(command)
	w.parse(command, nil, 0)
	return w.calls.list, !w.calls.incomplete && w.problem == "" && strings.HasPrefix(dir, "/")
}

// maxInvocations bounds the result of [Invocations].
const maxInvocations = 2_000

// invocations collects the invocations of a walk.
type invocations struct {
	list       []Invocation
	incomplete bool // part of the command could not be analyzed
}

func (i *invocations) add(v Invocation) {
	if len(i.list) >= maxInvocations {
		i.incomplete = true
		return
	}
	i.list = append(i.list, v)
}

// isUnknown reports whether a mark means that the text does not show what runs.
func isUnknown(kind Risk, level Level) bool {
	switch kind {
	case Computed, DownloadRun, DecodeRun, PipeRun, InlineCode, Script, Unknown, Redefine, Hidden, Unreadable:
		return true
	case Evaluated, Launcher, Environment:
		return level != Low
	}
	return false
}

// affectsPrograms reports whether a variable influences which programs run, their arguments,
// or their folder.
func affectsPrograms(name string) bool {
	level, _ := variableRisk(name)
	return level != "" || strings.HasPrefix(name, "GIT_") || name == "OPTIND" || name == "PWD" || name == "OLDPWD" || name == "GLOBIGNORE"
}

// options describes the options that a program takes before its operands.
type options struct {
	flags, values    string // letters; values take the rest of the word or the next word
	attached         string // letters that take the rest of the word, if any
	long, longValues []string
	assigns          bool // name=value may follow, as for env
}

// launchers are the programs that run the command after their options.
var launchers = map[string]options{
	"env":        {flags: "i0v", values: "uCSP", long: []string{"--ignore-environment", "--null", "--debug", "--list-signal-handling", "--block-signal", "--default-signal", "--ignore-signal"}, longValues: []string{"--unset", "--chdir", "--split-string"}, assigns: true},
	"sudo":       {flags: "ABbEHKknPS", values: "CDghpRrTtuU", long: []string{"--askpass", "--background", "--preserve-env", "--set-home", "--non-interactive", "--preserve-groups", "--stdin", "--reset-timestamp"}, longValues: []string{"--close-from", "--chdir", "--group", "--host", "--prompt", "--chroot", "--role", "--type", "--command-timeout", "--user", "--other-user"}, assigns: true},
	"doas":       {flags: "n", values: "Cu"},
	"nohup":      {},
	"setsid":     {flags: "cfw", long: []string{"--ctty", "--fork", "--wait"}},
	"nice":       {flags: "0123456789", values: "n", longValues: []string{"--adjustment"}},
	"ionice":     {flags: "t", values: "cn", long: []string{"--ignore"}, longValues: []string{"--class", "--classdata"}},
	"time":       {flags: "apqv", values: "fo", long: []string{"--append", "--portability", "--quiet", "--verbose"}, longValues: []string{"--format", "--output"}},
	"timeout":    {flags: "fpv", values: "ks", long: []string{"--foreground", "--preserve-status", "--verbose"}, longValues: []string{"--kill-after", "--signal"}},
	"gtimeout":   {flags: "fpv", values: "ks", long: []string{"--foreground", "--preserve-status", "--verbose"}, longValues: []string{"--kill-after", "--signal"}},
	"stdbuf":     {values: "ioe", longValues: []string{"--input", "--output", "--error"}},
	"command":    {flags: "pvV"},
	"builtin":    {},
	"exec":       {flags: "cl", values: "a"},
	"unbuffer":   {flags: "p"},
	"taskset":    {flags: "ac", long: []string{"--all-tasks", "--cpu-list"}},
	"chrt":       {flags: "abfioRrv", values: "TPD", long: []string{"--fifo", "--rr", "--other", "--batch", "--idle", "--reset-on-fork", "--verbose"}},
	"chroot":     {long: []string{"--skip-chdir"}, longValues: []string{"--userspec", "--groups"}},
	"flock":      {flags: "enosuxF", values: "wE", long: []string{"--exclusive", "--nonblock", "--shared", "--unlock", "--close", "--no-fork", "--verbose"}, longValues: []string{"--timeout", "--conflict-exit-code"}},
	"busybox":    {},
	"toybox":     {},
	"caffeinate": {flags: "dimsu", values: "tw"},
	"xargs":      {flags: "0oprtx", values: "adEILnPsJRS", attached: "eil", long: []string{"--null", "--no-run-if-empty", "--verbose", "--exit", "--interactive", "--open-tty", "--eof", "--replace", "--max-lines"}, longValues: []string{"--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"}},
}

// globalOptions are the options between a program and its subcommand.
var globalOptions = map[string]options{
	"git":       {flags: "pP", values: "Cc", long: []string{"--paginate", "--no-pager", "--no-replace-objects", "--no-lazy-fetch", "--no-optional-locks", "--no-advice", "--bare", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--exec-path"}, longValues: []string{"--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"}},
	"npm":       {flags: "dgs", long: []string{"--silent", "--quiet", "--verbose", "--global", "--yes", "--no-audit", "--no-fund", "--json", "--workspaces"}, values: "Cw", longValues: []string{"--prefix", "--workspace", "--loglevel", "--registry", "--userconfig", "--cache", "--tag"}},
	"pnpm":      {flags: "grs", long: []string{"--silent", "--recursive", "--global"}, values: "CF", longValues: []string{"--dir", "--filter", "--reporter"}},
	"yarn":      {flags: "s", long: []string{"--silent", "--json"}, longValues: []string{"--cwd"}},
	"docker":    {flags: "D", values: "cHl", long: []string{"--debug", "--tls", "--tlsverify"}, longValues: []string{"--config", "--context", "--host", "--log-level", "--tlscacert", "--tlscert", "--tlskey"}},
	"podman":    {values: "c", long: []string{"--remote"}, longValues: []string{"--connection", "--url", "--log-level", "--root"}},
	"kubectl":   {values: "nsv", longValues: []string{"--namespace", "--context", "--cluster", "--kubeconfig", "--server", "--user", "--token", "--as"}},
	"helm":      {values: "n", long: []string{"--debug"}, longValues: []string{"--namespace", "--kube-context", "--kubeconfig"}},
	"terraform": {longValues: []string{"-chdir"}},
	"gh":        {values: "R", longValues: []string{"--repo"}},
	"go":        {values: "C"},
	"cargo":     {flags: "qv", values: "CZ", long: []string{"--quiet", "--verbose", "--offline", "--locked", "--frozen"}, longValues: []string{"--color", "--config"}},
	"make":      {},
	"systemctl": {flags: "qaflr", values: "HMpstno", long: []string{"--user", "--system", "--no-pager", "--quiet", "--now", "--force", "--no-block"}, longValues: []string{"--host", "--machine", "--type", "--state"}},
	"aws":       {long: []string{"--debug", "--no-paginate", "--no-cli-pager", "--no-sign-request", "--no-verify-ssl"}, longValues: []string{"--profile", "--region", "--output", "--endpoint-url", "--query", "--color"}},
	"gcloud":    {flags: "q", long: []string{"--quiet"}, longValues: []string{"--project", "--account", "--configuration", "--format", "--verbosity"}},
	"apt-get":   {flags: "dfmqsyuVb", values: "cot", long: []string{"--yes", "--quiet", "--no-install-recommends"}},
	"apt":       {flags: "dfmqsyuVb", values: "cot", long: []string{"--yes", "--quiet", "--no-install-recommends"}},
}

// rest returns the arguments after the options. sure is false when an option is unknown, so
// the operands may start elsewhere.
func (o options) rest(args []field) (after []field, sure bool) {
	sure = true
	for len(args) > 0 {
		a := args[0]
		switch {
		case !a.isLiteral():
			return args, false
		case a.text == "--":
			return o.skipAssignments(args[1:]), sure
		case strings.HasPrefix(a.text, "--") || slices.Contains(o.longValues, a.text):
			name, _, has := strings.Cut(a.text, "=")
			args = args[1:]
			switch {
			case slices.Contains(o.longValues, name):
				if !has && len(args) > 0 {
					sure = sure && args[0].isLiteral()
					args = args[1:]
				}
			case !slices.Contains(o.long, name):
				sure = false
			}
		case len(a.text) > 1 && a.text[0] == '-':
			args = args[1:]
			for i := 1; i < len(a.text); i++ {
				switch letter := a.text[i : i+1]; {
				case strings.Contains(o.values, letter):
					if i+1 == len(a.text) && len(args) > 0 {
						sure = sure && (args[0].isLiteral() || !args[0].open && !args[0].glob)
						args = args[1:]
					}
					i = len(a.text)
				case strings.Contains(o.attached, letter):
					i = len(a.text)
				case !strings.Contains(o.flags, letter):
					sure = false
				}
			}
		case a.text == "-" && o.assigns:
			args = args[1:]
		default:
			return o.skipAssignments(args), sure
		}
	}
	return nil, sure
}

func (o options) skipAssignments(args []field) []field {
	for o.assigns && len(args) > 0 && strings.Contains(args[0].text, "=") {
		args = args[1:]
	}
	return args
}

// isLiteral reports whether an argument contains nothing that the shell expands.
func (f field) isLiteral() bool {
	return f.static && !f.open && !f.glob && !f.variable && f.proc == nil
}

func (f field) argument() Argument {
	plain := !f.open && !f.variable
	return Argument{
		Text: f.text, Known: f.isLiteral(), Many: f.open || f.glob || f.variable,
		Glob: plain && f.static && f.glob && f.proc == nil, Output: plain && !f.glob && f.proc != nil,
	}
}

func arguments(list []field) []Argument {
	out := make([]Argument, len(list))
	for i, f := range list {
		out[i] = f.argument()
	}
	return out
}

// dir returns the folder in which a command runs, if that is certain.
func (w *walker) dir() string {
	if w.cwdUncertain {
		return "?"
	}
	return w.cwd
}

// invoke records a program that is run.
func (w *walker) invoke(name string, args []field) {
	head := args[0]
	v := Invocation{Program: name, Word: head.text, Args: arguments(args[1:]), Dir: w.dir(), Redirections: w.files}
	if !head.isLiteral() {
		w.calls.incomplete = true
		if !head.variable || !head.static { // a variable has its assigned value unless something changed it
			v.Program, v.Word = "", ""
		}
	}
	v.Subcommand = v.Args
	if o, ok := globalOptions[name]; ok {
		rest, sure := o.rest(args[1:])
		w.calls.incomplete = w.calls.incomplete || !sure
		v.Subcommand = arguments(rest)
	}
	_, known := commands[name]
	verbs, builds := builders[name]
	switch {
	case w.known[name]:
	case builds:
		v.Opaque = true
		w.calls.incomplete = w.calls.incomplete || verbs != nil && len(v.Subcommand) > 0 && !(v.Subcommand[0].Known && (verbs[v.Subcommand[0].Text] || strings.HasPrefix(v.Subcommand[0].Text, "-")))
	case runners[name] && !(name == "awk" && plainAwk(args[1:])), !known && !harmless[name]:
		v.Opaque, w.calls.incomplete = true, true
	}
	w.calls.incomplete = w.calls.incomplete || evaluatesArguments(name, args[1:])
	if name == "git" {
		v.Dir = w.gitDir(args[1:], v.Dir)
	}
	if strings.Contains(head.text, "/") && !systemProgram(head.text) {
		w.calls.incomplete, v.Opaque = true, true
	}
	w.calls.add(v)
}

// evaluatesAgain reports whether bash evaluates a text of a command a second time. For
// example, the subscript in [[ -v 'a[$(x)]' ]] runs x.
func evaluatesAgain(file *syntax.File) (found bool) {
	number := func(x any) bool {
		w, ok := x.(*syntax.Word)
		return ok && (numbers.MatchString(w.Lit()) || w.Lit() == "@" || w.Lit() == "*")
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			found = found || !literalArithmetic(n.X)
		case *syntax.ArithmCmd:
			found = found || !literalArithmetic(n.X)
		case *syntax.LetClause, *syntax.CStyleLoop:
			found = true
		case *syntax.ParamExp:
			found = found || n.Index != nil && !number(n.Index) || n.Excl && n.Names == 0 || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps ||
				n.Slice != nil && !(literalArithmetic(n.Slice.Offset) && (n.Slice.Length == nil || literalArithmetic(n.Slice.Length)))
		case *syntax.Assign:
			// declare -i, and declare with a computed text
			found = found || n.Index != nil && !number(n.Index) || n.Naked && n.Value != nil && !plainDeclaration.MatchString(n.Value.Lit())
		case *syntax.UnaryTest:
			found = found || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				found = found || !number(n.X) || !number(n.Y)
			}
		case *syntax.Redirect:
			found = found || n.N != nil && strings.Contains(n.N.Value, "[")
		}
		return !found
	})
	return found
}

// evaluatesArguments reports whether a builtin may evaluate its arguments.
func evaluatesArguments(name string, args []field) bool {
	variable := func(a field) bool {
		return !a.isLiteral() || strings.ContainsAny(a.text, "[$`")
	}
	switch name {
	case "let", "declare", "typeset", "local", "export", "readonly", "getopts", "mapfile", "readarray":
		return true // the parser handles the other forms
	case "unset", "read", "wait":
		return slices.ContainsFunc(args, variable)
	case "printf":
		return slices.ContainsFunc(args, func(a field) bool { return strings.HasPrefix(a.text, "-v") || a.text == "" && !a.static }) || len(args) > 0 && !args[0].isLiteral()
	case "test", "[":
		return slices.ContainsFunc(args, func(a field) bool {
			return a.text == "-v" || a.text == "-R" || a.glob || a.open && !a.variable && len(args) > 3
		})
	}
	return false
}

// plainAwk reports whether an awk program only prints fields of its input.
func plainAwk(args []field) bool {
	return len(args) > 0 && args[0].isLiteral() && awkPrints.MatchString(args[0].text) || len(args) > 1 && args[0].isLiteral() && strings.HasPrefix(args[0].text, "-F") && plainAwk(args[1:])
}

// plainDeclaration matches the options of a declaration that evaluate nothing.
var plainDeclaration = lazyregexp.New(`^-[aAfFgprtux]*$`)

var awkPrints = lazyregexp.New(`^\{ *print( *\$(\d+|NF|NR) *,?)* *\}$`)

// gitDir applies git -C, each relative to the previous one.
func (w *walker) gitDir(args []field, dir string) string {
	for i := 0; i+1 < len(args) && strings.HasPrefix(args[i].text, "-"); i++ {
		switch args[i].text {
		case "-C":
			dir = w.joinDir(dir, args[i+1])
			i++
		case "-c", "--namespace", "--super-prefix", "--config-env", "--attr-source":
			i++
		}
		if strings.HasPrefix(args[i].text, "--git-dir") || strings.HasPrefix(args[i].text, "--work-tree") {
			return "?"
		}
	}
	return dir
}

// joinDir returns a folder that is named relative to dir.
func (w *walker) joinDir(dir string, name field) string {
	if !name.isLiteral() || name.text == "" {
		return "?"
	}
	at := *w
	at.cwd = dir
	return at.resolve(name.text)
}

// systemProgram reports whether a program's path is in a folder for system programs.
func systemProgram(word string) bool {
	return slices.Contains([]string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"}, path.Dir(word))
}

// builders run the tests, scripts or build recipes of a project, whose programs are unknown.
// A call is complete only with a listed subcommand, or with any if none is listed.
var builders = map[string]map[string]bool{
	"go": set("build", "test", "vet", "fmt", "mod", "list", "version", "env", "doc", "generate", "run", "install", "get", "clean", "work"), "cargo": set("build", "b", "check", "c", "test", "t", "bench", "clippy", "fmt", "doc", "tree", "metadata", "clean", "run", "r", "add", "install", "publish"),
	"npm": npmVerbs, "pnpm": npmVerbs, "yarn": npmVerbs, "bun": npmVerbs, "mvn": nil, "gradle": nil, "gradlew": nil, "make": nil, "gmake": nil, "ninja": nil, "meson": set("setup", "compile", "test"), "bazel": set("build", "test", "query"), "swift": set("build", "test"), "stack": set("build", "test"), "cabal": set("build", "test"), "mix": set("test", "compile", "format", "deps.get"), "dotnet": set("build", "test", "restore"),
	"pip": set("install", "list", "show", "freeze", "check", "uninstall", "download"), "poetry": set("install", "show", "check", "add", "build", "publish", "run"), "pipenv": set("install", "run"), "uv": set("sync", "pip", "add", "lock", "run"), "composer": set("install", "update", "show", "require"), "bundle": set("install", "update", "list"), "gem": set("install", "list"),
	"pytest": nil, "tox": nil, "nox": nil, "jest": nil, "vitest": nil, "mocha": nil, "playwright": nil, "rspec": nil, "phpunit": nil, "rake": nil, "just": nil, "task": nil, "webpack": nil, "vite": nil, "rollup": nil, "esbuild": nil, "eslint": nil, "prettier": nil, "tsc": nil, "vue-tsc": nil, "golangci-lint": nil, "protoc": nil, "buf": nil,
}

var npmVerbs = set("test", "t", "run", "run-script", "ls", "list", "view", "outdated", "why", "install", "i", "ci", "add", "remove", "update", "build", "lint", "start", "publish", "audit", "version", "pack", "typecheck", "dev")

// runners start other programs in ways that are not analyzed here.
var runners = set("npx", "bunx", "pnpx", "uvx", "pipx", "nix-shell", "nix", "at", "batch", "crontab", "launchctl", "systemd-run", "tmux", "screen", "parallel", "ssh", "mosh", "less", "more", "man", "info", "bat", "delta", "entr", "nodemon", "firejail", "bwrap", "enable", "bind", "complete", "history", "fc", "hyperfine", "socat", "nc", "ncat", "netcat", "fzf", "tcpdump", "rclone", "direnv", "dotenv", "xvfb-run", "open", "xdg-open", "start", "ldd", "ip", "cmake", "ctest", "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "flatpak", "snap", "gdb", "claude", "perf", "ltrace", "nsenter", "unshare", "pkexec", "gosu", "setarch", "arch", "proxychains", "torsocks", "tput", "reset", "top", "su", "runuser", "zip", "rsync", "scp", "sftp", "ftp", "telnet", "mail", "mutt", "mapfile", "readarray", "hg", "svn", "jj", "ansible", "ansible-playbook", "gcc", "g++", "clang", "cc", "c++", "iconv", "awk", "gawk", "mawk", "nawk", "mount", "zpool", "java", "apt", "apt-get", "aptitude", "dpkg", "openssl", "gpg", "ghc", "javac", "rustc")

// redirections returns those of a statement and of the statements around it.
func (w *walker) redirections(list []*syntax.Redirect) []Redirection {
	out := w.files[:len(w.files):len(w.files)]
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
			continue
		}
		for _, f := range w.fields(r.Word) {
			if r.Op == syntax.DplOut && f.isLiteral() && f.text != "" && strings.Trim(f.text, "0123456789-") == "" {
				continue // another descriptor
			}
			to := Redirection{File: f.argument(), Path: "?", Writes: r.Op != syntax.RdrIn}
			if f.isLiteral() && (!w.cwdUncertain || path.IsAbs(f.text)) {
				to.Path = w.resolve(f.text)
			}
			out = append(out, to)
		}
	}
	return out
}
