package review

import (
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// interpreter assesses an interpreter of another language.
func (c *call) interpreter(letters string) {
	switch c.name {
	case "sqlite3", "psql", "mysql":
		c.database()
		return
	case "gdb":
		c.markCommand(InlineCode, High, "A debugger can run any code in a process.")
		return
	}
	if c.name == "bun" || c.name == "deno" {
		if sub, _ := c.subcommand(); sub != "" && c.name == "bun" && sub != "run" {
			c.npm()
			return
		} else if sub == "eval" || sub == "repl" {
			c.markCommand(InlineCode, Medium, "Runs code in the command.")
			return
		}
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case !a.static && a.proc == nil:
			c.markArg(a, Evaluated, High, "Runs text computed at run time.")
			return
		case strings.HasPrefix(a.text, "--eval"), strings.HasPrefix(a.text, "--print"), strings.HasPrefix(a.text, "--run"), strings.HasPrefix(a.text, "--exec"):
			c.optionCode(i)
			return
		case a.text == "--require" || a.text == "--import" || a.text == "-r" && c.name != "php" || a.text == "--loader":
			i++
		case a.text == "-m" && (c.name == "python" || c.name == "pypy"):
			c.pythonModule(c.args[i+1:])
			return
		case a.text == "-", a.text == "/dev/stdin":
			c.runStdin(c.unreadCode)
			return
		case strings.HasPrefix(a.text, "--"), a.text == "-c" && c.name == "ruby", a.text == "-l" && c.name == "php":
		case strings.HasPrefix(a.text, "-"):
			if letters != "" && strings.ContainsAny(a.text[1:], letters) {
				c.optionCode(i)
				return
			}
		case a.proc != nil:
			c.w.markRunsOutput(a.place, *a.proc)
			return
		default:
			full := c.w.resolve(a.text)
			switch {
			case c.w.fetched[full]:
				c.markArg(a, DownloadRun, High, "Runs a file that this command downloads.")
			case full != "?" && c.w.inFolder(full) || c.name == "node" && a.text == "run":
				c.markArg(a, Script, Low, "Runs a project file.")
			default:
				c.markArg(a, Script, Medium, "Runs a file outside the session folder.")
			}
			return
		}
	}
	if !c.word("--version", "-V", "-v", "--help", "-h") {
		c.runStdin(c.unreadCode)
	}
}

var runsPrograms = lazyregexp.New(`(?i)system|subprocess|popen|\bexec|spawn|child_process|shell_exec|passthru|backtick|%x|\beval\b|__import__|rmtree|unlink|os\.remove|rmsync|rm_rf|urlopen|requests\.|fetch\(|socket|https?:|b64decode|from_base64|do shell script|` + "`")

// optionCode assesses the code after an interpreter's option for code.
func (c *call) optionCode(option int) {
	level, why := Medium, "Runs code in the command."
	for i, a := range c.args[option:] {
		if i == 0 && strings.HasPrefix(a.text, "--") {
			_, a.text, _ = strings.Cut(a.text, "=")
		}
		if !a.static {
			c.markArg(a, Evaluated, High, "Runs text computed at run time.")
			return
		}
		if runsPrograms.MatchString(a.text) {
			level, why = High, "Runs code in the command that can run programs, delete files or use the network."
		}
	}
	c.markCommand(InlineCode, level, why)
}

// unreadCode assesses code of another language, which is not parsed.
func (c *call) unreadCode(text string, at place) {
	if runsPrograms.MatchString(text) {
		c.w.addMark(at, InlineCode, High, "Runs this code, which can run programs, delete files or use the network.")
		return
	}
	c.w.addMark(at, InlineCode, Medium, "Runs this code.")
}

func (c *call) pythonModule(rest []field) {
	if len(rest) == 0 {
		return
	}
	switch name := rest[0].text; name {
	case "pip", "ensurepip", "pipx", "uv":
		installs(c)
	case "http.server", "SimpleHTTPServer":
		c.markCommand(Network, Medium, "Lets other machines read files on this one.")
	case "pytest", "unittest", "mypy", "black", "ruff", "flake8", "venv", "json.tool", "timeit", "doctest", "compileall", "pylint", "build", "tox", "isort", "coverage", "this":
	default:
		c.markArg(rest[0], Script, Medium, "Runs a module that is not shown here.")
	}
}

var awkRuns = lazyregexp.New(`system\s*\(|\|\s*getline|getline\s*<|\|\s*"|"\s*\||\|&|print[^;}]*>|/inet/`)

func (c *call) awk() {
	for _, a := range c.args {
		switch {
		case !a.static:
			c.markArg(a, Computed, Medium, "The program is computed at run time.")
		case strings.Contains(a.text, "system") || strings.Contains(a.text, "getline") || strings.Contains(a.text, "/inet/"):
			c.markArg(a, InlineCode, High, "Code that runs commands or uses the network.")
		case awkRuns.MatchString(a.text) || strings.Contains(strings.ReplaceAll(a.text, "||", ""), "|"): // a pipe may lead to a variable
			c.markArg(a, InlineCode, Medium, "Code that runs commands or writes files.")
		}
	}
	if c.has("f", "file", "include") || c.word("-i", "-l") {
		c.mark(Script, Medium, "Runs a file that is not shown here.")
	}
}

func (c *call) baseDecoder() {
	if c.name == "xxd" {
		c.found.decodes = c.has("r")
		return
	}
	c.found.decodes = c.has("dD", "decode")
}

func (c *call) openssl() {
	c.found.decodes = true
	if sub, _ := c.subcommand(); sub == "s_client" || sub == "s_server" {
		usesNetwork(c)
		c.found.fetches = true
	}
}

func (c *call) tar() {
	if slices.ContainsFunc(c.args, func(a field) bool {
		return strings.HasPrefix(a.text, "--checkpoint-action") || strings.HasPrefix(a.text, "--to-command") || strings.HasPrefix(a.text, "--use-compress-program") || strings.HasPrefix(a.text, "--rsh-command") || strings.HasPrefix(a.text, "--info-script") || strings.HasPrefix(a.text, "--new-volume-script") || a.text == "-I"
	}) {
		c.markCommand(Launcher, High, "Runs the program named in an option.")
	}
	for i, a := range c.args {
		if a.text == "-C" && i+1 < len(c.args) || strings.HasPrefix(a.text, "--directory") {
			target := a
			if a.text == "-C" {
				target = c.args[i+1]
			} else if _, dir, ok := strings.Cut(a.text, "="); ok {
				target.text = dir
			}
			c.w.markWriteTo(target)
		}
		if a.text == "-P" || a.text == "--absolute-names" {
			c.markArg(a, WriteOutside, Medium, "Unpacks to paths chosen by the archive.")
		}
	}
	c.found.decodes = true
	c.mark(Overwrite, Low, "Packs or unpacks files.")
}

var dropsData = lazyregexp.New(`(?i)\b(drop|truncate|delete\s+from|flushall|flushdb|dropdatabase|deletemany|\.remove\()`)
var databaseRuns = lazyregexp.New(`(?i)(^|\s)(\.shell|\.system|\.import|\.load|\.output|\.once|\\!|\\copy|\\o|system\b)|copy\s.*(program|to)\s|load_extension|into\s+(out|dump)file`)

func (c *call) database() {
	for _, a := range c.args {
		switch {
		case !a.static:
			c.markArg(a, Computed, Medium, "The database statement is computed at run time.")
		case dropsData.MatchString(a.text):
			c.markArg(a, Remote, High, "Deletes data from a database.")
		case databaseRuns.MatchString(a.text):
			c.markArg(a, Launcher, High, "Runs programs or writes files through the database.")
		case strings.ContainsAny(a.text, " ;"):
			c.markArg(a, Remote, Medium, "Reads or changes a database.")
		}
	}
	c.runStdin(func(text string, at place) {
		if dropsData.MatchString(text) || databaseRuns.MatchString(text) {
			c.w.addMark(at, Remote, High, "Deletes data from a database, or runs programs through it.")
			return
		}
		c.w.addMark(at, Remote, Medium, "Reads or changes a database.")
	})
	c.found.runsInput = false
}
