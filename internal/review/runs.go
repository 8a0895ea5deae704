package review

import (
	"slices"
	"strings"
)

func (c *call) sudo() {
	c.markCommand(Privilege, High, "Runs as another user with different permissions.")
	if c.has("si", "shell", "login") {
		rest := c.operands()
		if len(rest) == 0 {
			c.found.runsInput, c.found.inputAt = true, c.place
		}
	}
	if rest, sure := c.launchedArgs(); sure {
		c.inDir("D", "--chdir", func() { c.launchRest(rest, 0) })
		return
	}
	rest := c.args
	for len(rest) > 0 {
		switch a := rest[0]; {
		case strings.HasPrefix(a.text, "-"):
			rest = rest[1:]
			if strings.ContainsAny(a.text[len(a.text)-1:], "ugphCTrtRDU") && !strings.HasPrefix(a.text, "--") && len(rest) > 0 {
				rest = rest[1:]
			}
		case strings.Contains(a.text, "="):
			rest = rest[1:]
		default:
			c.launchRest(rest, 0)
			return
		}
	}
}

func (c *call) su() {
	c.markCommand(Privilege, High, "Runs as another user with different permissions.")
	for i, a := range c.args {
		if (a.text == "-c" || a.text == "--command") && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
	}
	c.found.runsInput, c.found.inputAt = true, c.place
}

// text assesses an argument that runs as a shell command.
func (c *call) text(a field) {
	if !a.static {
		c.markArg(a, Evaluated, High, "Runs text computed at run time.")
		return
	}
	c.w.calls.incomplete = c.w.calls.incomplete || !a.isLiteral()
	c.w.walkNested(a.text, a.place)
}

func (c *call) shell() {
	if c.name == "nu" || c.name == "pwsh" || c.name == "powershell" || c.name == "elvish" || c.name == "fish" || c.name == "csh" || c.name == "tcsh" {
		c.markCommand(InlineCode, High, "Runs code in a language that sayso cannot analyze.")
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case !a.static && a.proc == nil:
			c.markArg(a, Evaluated, High, "Runs text computed at run time.")
			return
		case a.text == "--rcfile" || a.text == "--init-file" || a.text == "-o" || a.text == "+o" || a.text == "-O" || a.text == "+O":
			i++
		case strings.HasPrefix(a.text, "--"):
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1 || strings.HasPrefix(a.text, "+"):
			if strings.Contains(a.text, "c") {
				for _, code := range c.args[i+1:] {
					if !strings.HasPrefix(code.text, "-") || !code.static {
						c.text(code)
						return
					}
				}
				return
			}
			if strings.Contains(a.text, "s") {
				c.runStdin(c.w.walkNested)
				return
			}
			if strings.HasSuffix(a.text, "o") || strings.HasSuffix(a.text, "O") {
				i++
			}
		default:
			c.file(a)
			return
		}
	}
	c.runStdin(c.w.walkNested)
}

// file assesses a script that is run.
func (c *call) file(a field) {
	switch full := c.w.resolve(a.text); {
	case a.proc != nil:
		c.w.markRunsOutput(a.place, *a.proc)
	case a.text == "-" || full == "/dev/stdin" || full == "/dev/fd/0" || full == "/proc/self/fd/0":
		c.runStdin(c.w.walkNested)
	case !a.static:
		c.markArg(a, Computed, High, "The file to run is computed at run time.")
	case strings.HasPrefix(full, "/dev/tcp/"):
		c.markArg(a, DownloadRun, High, "Runs code downloaded from the network.")
	case c.w.fetched[full]:
		c.markArg(a, DownloadRun, High, "Runs a file that this command downloads.")
	case full == "?" || !c.w.inFolder(full):
		c.markArg(a, Script, High, "Runs a file outside the session folder.")
	default:
		c.markArg(a, Script, Medium, "Runs a file that is not shown here.")
	}
}

func (c *call) eval() {
	var words []string
	for _, a := range c.args {
		if !a.static {
			c.markCommand(Evaluated, High, "Runs text computed at run time.")
			return
		}
		words = append(words, a.text)
	}
	cut := c.w.calls.incomplete
	c.mark(Evaluated, Medium, "Runs text as a command.")
	c.w.calls.incomplete = cut || slices.ContainsFunc(c.args, func(a field) bool { return !a.isLiteral() })
	if len(c.args) > 0 {
		at := c.args[0].place
		at.to = max(at.to, c.args[len(c.args)-1].place.to)
		cwd := c.w.cwd
		c.w.walkNested(strings.Join(words, " "), at)
		c.w.cwd = cwd
		c.w.cwdUncertain = true // a cd in it applies here, too
	}
}

func (c *call) source() {
	if len(c.args) == 0 {
		return
	}
	a := c.args[0]
	if a.static && a.proc == nil && a.text != "-" && !strings.HasPrefix(c.w.resolve(a.text), "/dev/") && c.w.inFolder(c.w.resolve(a.text)) && !c.w.fetched[c.w.resolve(a.text)] {
		c.markArg(a, Evaluated, Medium, "Runs a file in this shell, and the file is not shown here.")
		c.w.calls.incomplete = true
		return
	}
	c.file(a)
}

func (c *call) exec() {
	if len(c.args) == 0 {
		return // only its redirections count
	}
	c.mark(Launcher, Low, "Replaces itself with another program.")
	c.launch(0, "a")
}

func (c *call) command() {
	if c.has("vV") {
		return // only prints where the command is
	}
	c.launch(0, "")
}

// inDir calls do in the folder that an option names.
func (c *call) inDir(letter, long string, do func()) {
	cwd := c.w.cwd
	for i, a := range c.args {
		name, value, has := strings.Cut(a.text, "=")
		switch {
		case !strings.HasPrefix(a.text, "-"):
			continue
		case name == long && has, strings.HasPrefix(a.text, "-"+letter) && len(a.text) > 2:
			if !has {
				value = a.text[2:]
			}
			a.text = value
			c.w.cwd = c.w.joinDir(cwd, a)
		case (a.text == long || !strings.HasPrefix(a.text, "--") && strings.HasSuffix(a.text, letter)) && i+1 < len(c.args):
			c.w.cwd = c.w.joinDir(cwd, c.args[i+1])
		}
	}
	do()
	c.w.cwd = cwd
}

func (c *call) env() {
	cwd := c.w.cwd
	c.inDir("C", "--chdir", c.envRuns)
	c.w.cwd = cwd
}

func (c *call) envRuns() {
	_, sure := launchers["env"].rest(c.args)
	c.w.calls.incomplete = c.w.calls.incomplete || !sure
	rest := c.args
	for len(rest) > 0 {
		a := rest[0]
		name, _, assigns := strings.Cut(a.text, "=")
		switch {
		case a.text == "-S" || a.text == "--split-string":
			if len(rest) > 1 {
				c.text(rest[1])
			}
			return
		case strings.HasPrefix(a.text, "-S") || strings.HasPrefix(a.text, "--split-string="):
			a.text = strings.TrimPrefix(strings.TrimPrefix(a.text, "--split-string="), "-S")
			c.text(a)
			return
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1 && !strings.HasPrefix(a.text, "--"):
			rest = rest[1:]
			if strings.ContainsAny(a.text[len(a.text)-1:], "uCP") && len(rest) > 0 {
				rest = rest[1:]
			}
		case (a.text == "--chdir" || a.text == "--unset") && len(rest) > 1:
			rest = rest[2:]
		case strings.HasPrefix(a.text, "-"):
			rest = rest[1:]
		case assigns:
			c.w.calls.incomplete = c.w.calls.incomplete || affectsPrograms(name)
			if level, why := variableRisk(name); level != "" {
				c.markArg(a, Environment, level, why)
			}
			rest = rest[1:]
		default:
			c.launchRest(rest, 0)
			return
		}
	}
	c.environment()
}

func (c *call) environment() {
	if len(c.operands()) == 0 {
		c.mark(ReadSecret, Medium, "Prints the environment, which may contain secrets.")
	}
}

func (c *call) nohup() {
	background(c)
	c.launch(0, "")
}

func (c *call) flock() {
	for i, a := range c.args {
		if (a.text == "-c" || a.text == "--command") && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
	}
	c.launch(1, "wE")
}

func (c *call) watch() {
	var words []string
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		takes := rest[0].text == "-n" || rest[0].text == "--interval"
		rest = rest[1:]
		if takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	for _, a := range rest {
		if !a.static {
			c.markArg(a, Evaluated, High, "Runs text computed at run time.")
			return
		}
		words = append(words, a.text)
	}
	if len(rest) > 0 {
		c.w.walkNested(strings.Join(words, " "), c.place)
	}
}

func (c *call) script() {
	for i, a := range c.args {
		if (a.text == "-c" || a.text == "--command") && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
		if strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "c") && len(a.text) > 1 && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
	}
	c.mark(Launcher, Medium, "Starts a shell.")
	c.found.runsInput, c.found.inputAt = true, c.place
}

func (c *call) terminal() {
	c.markCommand(Background, Medium, "Keeps running in its own terminal after the call ends.")
	for _, a := range c.args {
		if a.static && strings.ContainsAny(a.text, " ;|&") {
			c.w.walkNested(a.text, a.place)
		}
	}
	if c.word("-X", "-S", "send-keys", "run-shell") {
		c.markCommand(Evaluated, High, "Runs text as a command in another terminal.")
		return
	}
	if c.name == "screen" {
		c.launch(0, "STcpehst")
	}
}

func (c *call) trap() {
	if list := c.operands(); len(list) > 1 {
		c.markArg(list[0], Evaluated, Low, "Runs when the shell exits or receives a signal.")
		unsure := c.w.cwdUncertain
		c.w.cwdUncertain = true // it runs in whatever folder the shell is then
		c.text(list[0])
		c.w.cwdUncertain = unsure
	}
}

func (c *call) alias() {
	for _, a := range c.args {
		if name, body, ok := strings.Cut(a.text, "="); ok {
			c.markArg(a, Redefine, High, "Gives the command “"+name+"” another meaning.")
			if a.static {
				unsure := c.w.cwdUncertain
				c.w.cwdUncertain = true
				c.w.walkNested(body, a.place)
				c.w.cwdUncertain = unsure
			}
		}
	}
}

func (c *call) enable() {
	if c.has("fn") {
		c.markCommand(Redefine, High, "Changes the meaning of a shell command.")
	}
}

func (c *call) hash() {
	if c.has("p") {
		c.markCommand(Redefine, High, "Changes the meaning of a command.")
	}
}

func (c *call) mapfile() {
	for i, a := range c.args {
		if a.text == "-C" && i+1 < len(c.args) {
			c.markArg(c.args[i+1], Evaluated, High, "Runs text as a command.")
		}
	}
}

func (c *call) sandboxed() {
	c.launchRest(c.args, len(c.args))
	c.mark(Launcher, Medium, "Runs another program in a sandbox.")
}

func (c *call) later() {
	persists(c)
	c.launch(0, "pu")
}

func (c *call) cd() {
	list := c.operands()
	if c.has("0123456789") && !strings.HasPrefix(c.name, "cd") {
		c.w.cwd = "?"
		return
	}
	switch {
	case len(list) == 0:
		c.w.cwd = "~"
	case !list[0].static || list[0].text == "-" || list[0].glob:
		c.w.cwd = "?"
	default:
		c.w.cwd = c.w.resolve(list[0].text)
	}
}
