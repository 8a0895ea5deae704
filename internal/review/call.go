package review

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// call is one simple command, its wrappers taken off.
type call struct {
	w     *walker
	name  string // without its folder, in lower case
	path  string // as it is written
	args  []field
	place place
	stdin []*syntax.Redirect // where it reads from, of here-documents and strings
	found found
}

func (w *walker) callExpr(c *syntax.CallExpr, redirs []*syntax.Redirect) found {
	for _, a := range c.Assigns {
		w.assign(a)
	}
	if len(c.Args) > 0 {
		for _, a := range c.Assigns {
			delete(w.vars, a.Name.Value) // it holds for this command alone
		}
	}
	var args []field
	for _, word := range c.Args {
		w.inside(word)
		if args = append(args, w.fields(word)...); len(args) > maxFields {
			w.put(w.placeOf(c), Unreadable, Medium, "It has too many arguments to be read by machine.")
			w.problem = "It has too many arguments to be read by machine."
			args = args[:maxFields]
			break
		}
	}
	if len(c.Args) == 0 {
		w.calls.add(Invocation{Dir: w.dir(), Redirections: w.files})
		return found{}
	}
	step := Step{Text: short(w.textOf(c)), Depth: w.depth}
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
	return w.run(args, at, in)
}

func short(text string) string {
	if len(text) <= maxStep {
		return text
	}
	return strings.ToValidUTF8(text[:maxStep], "") + "…"
}

// run says what becomes of a list of arguments that is run as a command.
func (w *walker) run(args []field, at place, stdin []*syntax.Redirect) found {
	if w.wrapped >= maxWrapped {
		w.unreadable("It runs a command that runs a command, too deep to be followed.", &at)
		return found{}
	}
	w.wrapped++
	defer func() { w.wrapped-- }()
	if len(args) == 0 {
		// $nothing: whatever it holds is run.
		w.put(at, Computed, High, "Which command runs is computed.")
		return found{}
	}
	head := args[0]
	if !head.static || head.glob {
		w.put(head.place, Computed, High, "Which command runs is computed.")
		if head.text == "" || !head.static && !strings.ContainsAny(head.text, "/") && commands[strings.ToLower(path.Base(head.text))] == nil {
			// The rest may still be what it looks like: "$x -rf /".
			w.invoke("", args)
			return found{}
		}
	}
	name := strings.ToLower(path.Base(head.text))
	if head.text == "" {
		name = ""
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c > unicode.MaxASCII }) {
		w.put(head.place, Hidden, High, "The name of the command has letters that only look like plain ones.")
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
		// A function of the command itself, walked where it stands.
	case w.fetched[w.resolve(head.text)] && strings.Contains(head.text, "/"):
		w.put(c.place, DownloadRun, High, "Runs a file that this command fetches from the network.")
	case rule != nil:
		rule(c)
	case harmless[c.name]:
	case strings.Contains(head.text, "/"):
		c.mark(Script, Medium, "Runs a file that is not shown here.")
	default:
		c.mark(Unknown, Medium, "A program that is not known here.")
	}
	c.common()
	return c.found
}

// common is what holds for every command: secrets and devices among its arguments.
func (c *call) common() {
	for _, a := range c.args {
		if !a.static || strings.HasPrefix(a.text, "-") {
			continue
		}
		if c.name != "echo" && c.name != "printf" && c.name != "test" && c.name != "[" && c.name != "ls" && c.name != "git" {
			c.w.reads(a)
		}
	}
}

func (c *call) mark(kind Risk, level Level, reason string) {
	c.w.put(c.place, kind, level, reason)
}

// whole marks the command from its name to its last argument.
func (c *call) whole(kind Risk, level Level, reason string) {
	at := c.place
	for _, a := range c.args {
		at.from, at.to = min(at.from, a.place.from), max(at.to, a.place.to)
	}
	c.w.put(at, kind, level, reason)
}

func (c *call) at(f field, kind Risk, level Level, reason string) {
	c.w.put(f.place, kind, level, reason)
}

// has reports whether an option is given: a letter in a cluster, or a long one
// with as much of its name as GNU asks for.
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

// word reports whether an argument is given as it stands.
func (c *call) word(words ...string) bool {
	return slices.ContainsFunc(c.args, func(a field) bool { return slices.Contains(words, a.text) })
}

// plain are the arguments that are no options.
func (c *call) plain() []field {
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

// computed reports whether an argument may hold anything, options too.
func (c *call) computed() bool {
	return slices.ContainsFunc(c.args, func(a field) bool { return a.open })
}

// sub is the first argument that is no option, as "push" of "git push"; withValue
// are the options that take the argument after them.
func (c *call) sub(withValue ...string) (string, []field) {
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

// launch runs the rest of the arguments, from where options end, as a command.
// withValue are the letters of options that take the argument after them.
func (c *call) launch(skipPlain int, withValue string, long ...string) {
	if rest, sure := c.launched(); sure {
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

// launched is the command behind the options of a launcher; false when the options
// are not all known.
func (c *call) launched() ([]field, bool) {
	o, ok := launchers[c.name]
	rest, sure := o.rest(c.args)
	if !ok || !sure {
		c.w.calls.cut = true
	}
	return rest, ok && sure
}

func (c *call) launchRest(rest []field, skip int) {
	rest = rest[min(skip, len(rest)):]
	if len(rest) > 0 {
		c.found = c.found.or(c.w.run(rest, c.place, c.stdin))
	}
}

// input runs what a command reads from its standard input, if that can be seen.
func (c *call) input(language func(text string, at place)) {
	for _, r := range c.stdin {
		switch {
		case r.Hdoc != nil:
			text := c.w.hdoc(r)
			// Where the end mark is not quoted, the shell changes the text first.
			c.w.calls.cut = c.w.calls.cut || strings.ContainsAny(text, "\\$`")
			language(text, c.w.placeOf(r.Hdoc))
		case r.Op == syntax.WordHdoc:
			fields := c.w.quotedFields(r.Word)
			if len(fields) == 1 && fields[0].static {
				language(fields[0].text, c.w.placeOf(r.Word))
			} else {
				c.w.put(c.w.placeOf(r.Word), Evaluated, High, "Runs a text that is computed.")
			}
		default:
			c.mark(Script, Medium, "Runs a file that is not shown here.")
		}
	}
	c.w.calls.cut = c.w.calls.cut || len(c.stdin) == 0
	if len(c.stdin) == 0 {
		c.found.runsInput, c.found.inputAt = true, c.place
	}
}

// hdoc is the text of a here-document, expansions as they are written.
func (w *walker) hdoc(r *syntax.Redirect) string {
	if len(r.Hdoc.Parts) == 1 {
		if lit, ok := r.Hdoc.Parts[0].(*syntax.Lit); ok {
			return lit.Value
		}
	}
	return w.textOf(r.Hdoc)
}
