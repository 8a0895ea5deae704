package review

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sayso-dev/sayso/internal/ellipsis"
)

// call is one simple command without its wrappers.
type call struct {
	w     *walker
	name  string // without its folder, in lower case
	path  string // as written
	args  []field
	place place
	stdin []*syntax.Redirect // here-documents, here-strings and files that it reads
	found found
}

func (w *walker) callExpr(c *syntax.CallExpr, redirs []*syntax.Redirect) found {
	for _, a := range c.Assigns {
		w.walkAssign(a)
	}
	if len(c.Args) > 0 {
		for _, a := range c.Assigns {
			delete(w.vars, a.Name.Value) // it applies to this command alone
		}
	}
	var args []field
	for _, word := range c.Args {
		w.walkWords(word)
		for _, f := range w.fields(word) {
			if f.text != "" || word.Lit() == "" { // the shell drops the empty argument of {,rm}
				args = append(args, f)
			}
		}
		if len(args) > maxFields {
			w.addMark(w.placeOf(c), Unreadable, Medium, "It has too many arguments to analyze.")
			w.problem = "It has too many arguments to analyze."
			args = args[:maxFields]
			break
		}
	}
	if len(c.Args) == 0 {
		w.calls.add(Invocation{Dir: w.dir(), Redirections: w.files})
		return found{}
	}
	step := Step{Text: ellipsis.Bytes(w.textOf(c), maxStep), Depth: w.depth}
	at := w.placeOf(c)
	step.From, step.To = at.from, at.to
	if w.cwd != w.root {
		step.CWD = w.cwd
	}
	if len(w.steps) < maxSteps {
		w.steps = append(w.steps, step)
	}
	var in []*syntax.Redirect
	for _, r := range redirs {
		if r.Hdoc != nil || r.Op == syntax.WordHdoc || r.Op == syntax.RdrIn {
			in = append(in, r)
		}
	}
	return w.runArgs(args, at, in)
}

// runArgs assesses a list of arguments that is run as a command.
func (w *walker) runArgs(args []field, at place, stdin []*syntax.Redirect) found {
	if w.wrapped >= maxWrapped {
		w.unreadable("Its commands are nested too deeply to analyze.", &at)
		return found{}
	}
	w.wrapped++
	defer func() { w.wrapped-- }()
	if len(args) == 0 {
		// The command consists of expansions that are empty as far as known.
		w.addMark(at, Computed, High, "The command is computed at run time.")
		return found{}
	}
	head := args[0]
	if !head.static || head.glob {
		w.addMark(head.place, Computed, High, "The command is computed at run time.")
		if head.text == "" || !head.static && !strings.ContainsAny(head.text, "/") && commands[strings.ToLower(path.Base(head.text))] == nil {
			// The rest may still be recognizable: "$x -rf /".
			w.invoke("", args)
			return found{}
		}
	}
	name := strings.ToLower(path.Base(head.text))
	if head.text == "" {
		name = ""
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c > unicode.MaxASCII }) {
		w.addMark(head.place, Hidden, High, "The command name contains lookalike letters.")
	}
	c := &call{w: w, name: name, path: head.text, args: args[1:], place: at, stdin: stdin}
	if head.word != nil {
		c.place = w.placeOf(head.word)
	}
	if stripped := strings.TrimRight(name, "0123456789."); commands[name] == nil && !harmless[name] && commands[stripped] != nil {
		c.name = stripped // python3.12, bash5
	}
	w.invoke(name, args)
	rule := commands[c.name]
	switch {
	case w.known[name] && !strings.Contains(head.text, "/"):
		// A function of the command itself; its body is walked at the declaration.
	case w.fetched[w.resolve(head.text)] && strings.Contains(head.text, "/"):
		w.addMark(c.place, DownloadRun, High, "Runs a file that this command downloads.")
	case rule != nil:
		rule(c)
	case harmless[c.name]:
	case strings.Contains(head.text, "/"):
		c.mark(Script, Medium, "Runs a file that is not shown here.")
	default:
		c.mark(Unknown, Medium, "An unknown program.")
	}
	c.common()
	return c.found
}

// common checks what applies to every command: secrets and devices among its arguments.
func (c *call) common() {
	for _, a := range c.args {
		if !a.static || strings.HasPrefix(a.text, "-") {
			continue
		}
		if c.name != "echo" && c.name != "printf" && c.name != "test" && c.name != "[" && c.name != "ls" && c.name != "git" {
			c.w.markRead(a)
		}
	}
}

func (c *call) mark(kind Risk, level Level, reason string) {
	c.w.addMark(c.place, kind, level, reason)
}

// markCommand marks the command from its name to its last argument.
func (c *call) markCommand(kind Risk, level Level, reason string) {
	at := c.place
	for _, a := range c.args {
		at.from, at.to = min(at.from, a.place.from), max(at.to, a.place.to)
	}
	c.w.addMark(at, kind, level, reason)
}

func (c *call) markArg(f field, kind Risk, level Level, reason string) {
	c.w.addMark(f.place, kind, level, reason)
}

// has reports whether an option is given: a letter in a cluster, or a long option, which GNU
// programs accept abbreviated.
func (c *call) has(letters string, long ...string) bool {
	for _, a := range c.args {
		switch {
		case a.text == "--" && a.static:
			return false
		case strings.HasPrefix(a.text, "--"):
			name, _, _ := strings.Cut(a.text[2:], "=")
			if len(name) >= 3 && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) }) {
				return true
			}
		case strings.HasPrefix(a.text, "-") && strings.ContainsAny(a.text[1:], letters):
			return true
		}
	}
	return false
}

// word reports whether an argument equals one of the words.
func (c *call) word(words ...string) bool {
	return slices.ContainsFunc(c.args, func(a field) bool { return slices.Contains(words, a.text) })
}

// operands returns the arguments that are not options.
func (c *call) operands() []field {
	var out []field
	over := false
	for _, a := range c.args {
		switch {
		case a.text == "--" && a.static && !over:
			over = true
		case over || !strings.HasPrefix(a.text, "-") || a.text == "-":
			out = append(out, a)
		}
	}
	return out
}

// hasComputedArg reports whether an argument may contain anything, including options.
func (c *call) hasComputedArg() bool {
	return slices.ContainsFunc(c.args, func(a field) bool { return a.open })
}

// subcommand returns the first operand, such as "push" of "git push". withValue are the
// options that take the next argument as their value.
func (c *call) subcommand(withValue ...string) (string, []field) {
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		if slices.Contains(withValue, a.text) {
			i++
			continue
		}
		if strings.HasPrefix(a.text, "-") {
			continue
		}
		if !a.static {
			return "?", c.args[i+1:]
		}
		return a.text, c.args[i+1:]
	}
	return "", nil
}

// launch assesses the arguments after the options as a command. skipPlain is the number of
// operands before that command. withValue are the letters of options that take the next
// argument as their value, and long the long options that do.
func (c *call) launch(skipPlain int, withValue string, long ...string) {
	if rest, sure := c.launchedArgs(); sure {
		c.launchRest(rest, skipPlain)
		return
	}
	rest := c.args
	for len(rest) > 0 {
		a := rest[0]
		switch {
		case a.text == "--":
			rest = rest[1:]
			c.launchRest(rest, skipPlain)
			return
		case strings.HasPrefix(a.text, "--"):
			rest = rest[1:]
			if slices.Contains(long, a.text) && len(rest) > 0 {
				rest = rest[1:]
			}
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1:
			rest = rest[1:]
			if strings.ContainsAny(a.text[len(a.text)-1:], withValue) && len(rest) > 0 {
				rest = rest[1:]
			}
		default:
			c.launchRest(rest, skipPlain)
			return
		}
	}
}

// launchedArgs returns the command after the options of a launcher. ok is false when not all
// options are known.
func (c *call) launchedArgs() ([]field, bool) {
	o, ok := launchers[c.name]
	rest, sure := o.rest(c.args)
	if !ok || !sure {
		c.w.calls.incomplete = true
	}
	return rest, ok && sure
}

func (c *call) launchRest(rest []field, skip int) {
	rest = rest[min(skip, len(rest)):]
	if len(rest) > 0 {
		c.found = c.found.merge(c.w.runArgs(rest, c.place, c.stdin))
	}
}

// runStdin assesses what a command runs from its standard input, if that is visible.
func (c *call) runStdin(language func(text string, at place)) {
	for _, r := range c.stdin {
		switch {
		case r.Hdoc != nil:
			text := c.w.heredocText(r)
			// If the delimiter is not quoted, the shell expands the text first.
			c.w.calls.incomplete = c.w.calls.incomplete || strings.ContainsAny(text, "\\$`")
			language(text, c.w.placeOf(r.Hdoc))
		case r.Op == syntax.WordHdoc:
			fields := c.w.quotedFields(r.Word)
			if len(fields) == 1 && fields[0].static {
				language(fields[0].text, c.w.placeOf(r.Word))
			} else {
				c.w.addMark(c.w.placeOf(r.Word), Evaluated, High, "Runs text computed at run time.")
			}
		default:
			c.mark(Script, Medium, "Runs a file that is not shown here.")
		}
	}
	c.w.calls.incomplete = c.w.calls.incomplete || len(c.stdin) == 0
	if len(c.stdin) == 0 {
		c.found.runsInput, c.found.inputAt = true, c.place
	}
}

// heredocText returns the text of a here-document without expanding it.
func (w *walker) heredocText(r *syntax.Redirect) string {
	if len(r.Hdoc.Parts) == 1 {
		if lit, ok := r.Hdoc.Parts[0].(*syntax.Lit); ok {
			return lit.Value
		}
	}
	return w.textOf(r.Hdoc)
}
