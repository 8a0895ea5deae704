package review

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// walker walks once through a command and the commands inside its strings.
type walker struct {
	root string // the session's folder
	cwd  string // where the next command runs, "?" when that is computed

	src   string
	file  *syntax.File // of the whole command
	units []int        // of src: UTF-16 units before each byte; nil within a string
	fixed *place       // within a string: the position of the string
	depth int

	vars        map[string]string // assigned values, as far as they are known
	fetched     map[string]bool   // files that an earlier command downloaded
	known       map[string]bool   // functions that the command declares
	procs       map[*syntax.ProcSubst]found
	wrapped     int             // number of wrappers around the current command
	secrets     map[string]bool // cache of isSecret, by path
	nestedBytes *int            // bytes parsed so far of strings that run as commands
	level       *Level

	calls        *invocations
	files        []Redirection // of the statements around the current one
	cwdUncertain bool          // an earlier cd may have failed

	marks   []Mark
	steps   []Step
	problem string
}

func newWalker(cwd string) *walker {
	return &walker{
		root: cwd, cwd: cwd, vars: map[string]string{}, fetched: map[string]bool{}, known: map[string]bool{},
		procs: map[*syntax.ProcSubst]found{}, secrets: map[string]bool{}, nestedBytes: new(int), level: new(Level), calls: new(invocations),
	}
}

// parse walks a command. at is its position if it is a string in another command.
func (w *walker) parse(src string, at *place, depth int) found {
	switch {
	case depth > maxDepth:
		w.unreadable("Its commands are nested too deeply to analyze.", at)
		return found{}
	case len(src) > MaxCommand || at != nil && *w.nestedBytes > 4*MaxCommand:
		w.unreadable("It is too long to analyze.", at)
		return found{}
	case brackets(src) > maxNesting:
		w.unreadable("It has too many brackets to analyze.", at)
		return found{}
	}
	if at != nil {
		*w.nestedBytes += len(src)
	}
	file, err := parseBash(src)
	if err != nil {
		w.unreadable("It is not a complete shell command.", at)
		return found{}
	}
	w.calls.incomplete = w.calls.incomplete || evaluatesAgain(file)
	inner := *w
	inner.src, inner.fixed, inner.depth, inner.units = src, at, depth, nil
	if at == nil {
		w.file, inner.units = file, utf16Units(src)
	}
	f := inner.walkStmts(file.Stmts)
	w.marks, w.steps, w.problem = inner.marks, inner.steps, cmp.Or(inner.problem, w.problem)
	if at == nil {
		w.cwd = inner.cwd
	}
	return f
}

func (w *walker) unreadable(why string, at *place) {
	w.problem = why
	w.calls.incomplete = true
	if at != nil {
		w.addMark(*at, Unreadable, High, "This text runs as a command but could not be analyzed.")
	}
}

func (w *walker) placeOf(n syntax.Node) place { return w.placeAt(n.Pos(), n.End()) }

func (w *walker) placeAt(from, to syntax.Pos) place {
	if w.fixed != nil {
		return *w.fixed
	}
	clamp := func(p syntax.Pos) int { return w.units[min(int(p.Offset()), len(w.src))] }
	p := place{clamp(from), clamp(to)}
	p.to = max(p.to, p.from)
	return p
}

func (w *walker) textOf(n syntax.Node) string {
	from, to := min(int(n.Pos().Offset()), len(w.src)), min(int(n.End().Offset()), len(w.src))
	return w.src[from:max(from, to)]
}

func (w *walker) addMark(at place, kind Risk, level Level, reason string) {
	*w.level = atLeast(*w.level, level)
	w.calls.incomplete = w.calls.incomplete || isUnknown(kind, level)
	// Every level counts; the list keeps the highest ones.
	if len(w.marks) < 10*maxMarks || level == High && len(w.marks) < 20*maxMarks {
		w.marks = append(w.marks, Mark{From: at.from, To: at.to, Kind: kind, Level: level, Reason: reason})
	}
}

// markHidden marks characters that are invisible or easily confused.
func (w *walker) markHidden(s string) {
	at := 0
	for i, r := range s {
		n := 1
		if r >= 0x10000 {
			n = 2
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			w.addMark(place{at, at + n}, Hidden, High, "This is not text.")
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r),
			r > ' ' && unicode.Is(unicode.Zs, r), r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800:
			w.addMark(place{at, at + n}, Hidden, High, "Contains an invisible character.")
		}
		at += n
	}
}

// found is what the rest of a pipeline needs to know about a statement.
type found struct {
	runsInput bool  // it runs its standard input
	inputAt   place // the part that does
	fetches   bool  // it prints data from the network
	decodes   bool  // it prints decoded data
}

func (f found) merge(g found) found {
	if !f.runsInput {
		f.runsInput, f.inputAt = g.runsInput, g.inputAt
	}
	f.fetches = f.fetches || g.fetches
	f.decodes = f.decodes || g.decodes
	return f
}

func (w *walker) walkStmts(list []*syntax.Stmt) (f found) {
	for _, s := range list {
		cwd := w.cwd
		f = f.merge(w.walkStmt(s))
		w.cwdUncertain = w.cwdUncertain || w.cwd != cwd // the next statement runs even if a cd fails
	}
	return f
}

// walkSubshell walks statements in a subshell: a cd in it changes nothing outside.
func (w *walker) walkSubshell(list []*syntax.Stmt) found {
	cwd, unsure := w.cwd, w.cwdUncertain
	f := w.walkStmts(list)
	w.cwd, w.cwdUncertain = cwd, unsure
	return f
}

func (w *walker) walkStmt(s *syntax.Stmt) (f found) {
	if s == nil {
		return f
	}
	if s.Background || s.Coprocess {
		w.addMark(w.placeOf(s), Background, Medium, "Keeps running in the background after the call ends.")
	}
	outer := w.files
	w.files = w.redirections(s.Redirs)
	defer func() { w.files = outer }()
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		f = w.callExpr(c, s.Redirs)
	case *syntax.BinaryCmd:
		f = w.walkBinary(c)
	case *syntax.Subshell:
		f = w.walkSubshell(c.Stmts)
	case *syntax.Block:
		f = w.walkStmts(c.Stmts)
	case *syntax.IfClause:
		for i := c; i != nil; i = i.Else {
			f = f.merge(w.walkStmts(i.Cond)).merge(w.walkStmts(i.Then))
		}
	case *syntax.WhileClause:
		w.beforeLoop(c)
		f = w.walkStmts(c.Cond).merge(w.walkStmts(c.Do))
	case *syntax.ForClause:
		w.beforeLoop(c)
		if loop, ok := c.Loop.(*syntax.WordIter); ok {
			delete(w.vars, loop.Name.Value)
			w.calls.incomplete = w.calls.incomplete || affectsPrograms(loop.Name.Value)
			for _, item := range loop.Items {
				w.walkWords(item)
			}
		} else {
			w.walkWords(c.Loop)
		}
		f = w.walkStmts(c.Do)
	case *syntax.CaseClause:
		w.walkWords(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.walkWords(p)
			}
			f = f.merge(w.walkStmts(item.Stmts))
		}
	case *syntax.FuncDecl:
		w.funcDecl(c)
	case *syntax.DeclClause:
		for _, a := range c.Args {
			w.walkAssign(a)
		}
	case *syntax.TimeClause:
		f = w.walkStmt(c.Stmt)
	case *syntax.CoprocClause:
		w.addMark(w.placeOf(c), Background, Medium, "Keeps running in the background after the call ends.")
		f = w.walkStmt(c.Stmt)
	case nil:
		w.calls.add(Invocation{Dir: w.dir(), Redirections: w.files})
	default:
		w.walkWords(c)
	}
	_, isCall := s.Cmd.(*syntax.CallExpr)
	for _, r := range s.Redirs {
		w.redirect(r, f, !isCall)
	}
	return f
}

// beforeLoop prepares for a body that runs several times: a cd at its end affects its
// beginning.
func (w *walker) beforeLoop(n syntax.Node) {
	text := w.textOf(n)
	w.cwdUncertain = w.cwdUncertain || strings.Contains(text, "cd") || strings.Contains(text, "pushd") || strings.Contains(text, "popd") || strings.Contains(text, "eval")
}

func (w *walker) funcDecl(c *syntax.FuncDecl) {
	if c.Name != nil {
		name := strings.ToLower(c.Name.Value)
		_, launches := launchers[name]
		w.calls.incomplete = w.calls.incomplete || launches
		w.known[name] = true
		if _, ours := commands[name]; ours || harmless[name] || shells[name] || name == "cd" || name == "command" {
			w.addMark(w.placeOf(c.Name), Redefine, High, "Gives the command “"+name+"” another meaning.")
		}
	}
	unsure := w.cwdUncertain
	w.cwdUncertain = true // it runs where it is called
	w.walkSubshell([]*syntax.Stmt{c.Body})
	w.cwdUncertain = unsure
}

// walkBinary walks lists of && and ||, and pipelines. They can be long, so it flattens them
// instead of recursing.
func (w *walker) walkBinary(c *syntax.BinaryCmd) (f found) {
	var parts []*syntax.Stmt
	pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	var flat func(s *syntax.Stmt)
	flat = func(s *syntax.Stmt) {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && len(s.Redirs) == 0 && !s.Background && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) == pipe {
			flat(b.X)
			flat(b.Y)
			return
		}
		parts = append(parts, s)
	}
	flat(c.X)
	flat(c.Y)
	if !pipe {
		if c.Op == syntax.AndStmt && !slices.ContainsFunc(parts, func(s *syntax.Stmt) bool { return s.Negated }) && isAndList(c) {
			for _, s := range parts {
				f = f.merge(w.walkStmt(s))
			}
			return f
		}
		return w.walkStmts(parts)
	}
	var before found
	for i, s := range parts {
		cwd, unsure := w.cwd, w.cwdUncertain
		now := w.walkStmt(s)
		w.cwd, w.cwdUncertain = cwd, unsure
		if i > 0 && now.runsInput {
			w.markRunsOutput(now.inputAt, before)
			now.runsInput = false
		}
		before = before.merge(now)
		before.runsInput = before.runsInput && i == 0
		if i == 0 {
			f.runsInput, f.inputAt = now.runsInput, now.inputAt
		}
	}
	f.fetches, f.decodes = before.fetches, before.decodes
	return f
}

// isAndList reports whether a list contains only &&, so each part runs only if all before it
// succeeded.
func isAndList(c *syntax.BinaryCmd) bool {
	for {
		x, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if y, nested := c.Y.Cmd.(*syntax.BinaryCmd); c.Op != syntax.AndStmt || nested && y.Op == syntax.OrStmt {
			return false
		}
		if !ok || x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
			return true
		}
		c = x
	}
}

// markRunsOutput marks a command that runs the output of other commands.
func (w *walker) markRunsOutput(at place, from found) {
	switch {
	case from.fetches:
		w.addMark(at, DownloadRun, High, "Runs code downloaded from the network.")
	case from.decodes:
		w.addMark(at, DecodeRun, High, "Runs decoded code that is not shown here.")
	default:
		w.addMark(at, PipeRun, High, "Runs the output of another command.")
	}
}

// redirect marks where output goes. alone means that the statement is not a simple command; the
// assessment of a simple command covers its input.
func (w *walker) redirect(r *syntax.Redirect, f found, alone bool) {
	if r.Word != nil {
		w.walkWords(r.Word)
	}
	if r.Hdoc != nil {
		w.walkWords(r.Hdoc)
		if alone && f.runsInput {
			w.walkNested(w.sourceOf(r.Hdoc), w.placeOf(r.Hdoc))
		}
	}
	if r.N != nil && r.N.Value != "1" && r.N.Value != "2" && r.N.Value != "0" && r.Word == nil {
		return
	}
	switch r.Op {
	case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll, syntax.RdrInOut:
		w.markWrite(r.Word, false)
	case syntax.AppOut, syntax.AppAll:
		w.markWrite(r.Word, true)
	case syntax.DplOut:
		if fields := w.fields(r.Word); len(fields) == 1 && fields[0].static && strings.Trim(fields[0].text, "0123456789-") == "" {
			return // another descriptor
		}
		w.markWrite(r.Word, false)
	case syntax.RdrIn:
		for _, p := range w.fields(r.Word) {
			w.markRead(p)
		}
	}
}

func (w *walker) markWrite(word *syntax.Word, appends bool) {
	for _, f := range w.fields(word) {
		if !f.static {
			w.addMark(w.placeOf(word), WriteOutside, Medium, "Writes to a file whose name is computed at run time.")
			continue
		}
		if !w.markWriteTo(f) && !appends {
			w.addMark(f.place, Overwrite, Low, "Overwrites the file if it exists.")
		}
	}
}

// markWriteTo marks a written file. It returns false for one inside the session's folder.
func (w *walker) markWriteTo(f field) bool {
	full := w.resolve(f.text)
	switch why := whySensitive(full); {
	case harmlessDevice(full):
		return true
	case strings.HasPrefix(full, "/dev/tcp/"), strings.HasPrefix(full, "/dev/udp/"):
		w.addMark(f.place, Upload, High, "Sends data over the network.")
	case strings.HasPrefix(full, "/dev/"):
		w.addMark(f.place, Disk, High, "Writes to a device.")
	case why != "":
		w.addMark(f.place, WriteSensitive, High, why)
	case full == "?":
		w.addMark(f.place, WriteOutside, Medium, "Writes to a file in a folder computed at run time.")
	// A session may itself run below one of these folders. Then its own files are not
	// outside.
	case !w.inFolder(full) && (strings.HasPrefix(full, "/tmp/") || strings.HasPrefix(full, "/var/tmp/")):
		w.addMark(f.place, WriteOutside, Low, "Writes to a temporary folder.")
	case !w.inFolder(full):
		w.addMark(f.place, WriteOutside, Medium, "Writes outside the session folder.")
	default:
		return false
	}
	return true
}

func (w *walker) markRead(f field) {
	full := w.resolve(f.text)
	switch {
	case strings.HasPrefix(full, "/dev/tcp/"), strings.HasPrefix(full, "/dev/udp/"):
		w.addMark(f.place, Network, High, "Connects to another machine.")
	case f.text != "" && w.isSecret(full):
		w.addMark(f.place, ReadSecret, Medium, "Reads what is likely a secret.")
	}
}

// isSecret caches the results of the function isSecret, because a long command repeats the
// same paths behind its wrappers.
func (w *walker) isSecret(full string) bool {
	found, known := w.secrets[full]
	if !known {
		found = isSecret(full)
		w.secrets[full] = found
	}
	return found
}

func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/")
}

// resolve returns the absolute path of a name in the current folder. It leaves the beginning of
// "~/…", "~+/…" and "~user/…" unchanged, and any ".." that leads out of that folder, because
// only the shell knows where these are. It returns "?" when the path is unknown.
func (w *walker) resolve(name string) string {
	switch {
	case strings.HasPrefix(name, "~"):
		home, rest, _ := strings.Cut(name, "/")
		if rest = path.Clean(strings.TrimLeft(rest, "/")); rest == "." {
			return home
		}
		return home + "/" + rest
	case path.IsAbs(name):
		return path.Clean(name)
	case w.cwd == "?":
		return "?"
	}
	if strings.HasPrefix(w.cwd, "~") {
		return w.resolve(w.cwd + "/" + name)
	}
	return path.Join(w.cwd, name)
}

func (w *walker) inFolder(full string) bool {
	return full == w.root || strings.HasPrefix(full, strings.TrimSuffix(w.root, "/")+"/")
}

// walkNested walks a text that a command runs as a shell command.
func (w *walker) walkNested(src string, at place) { w.parse(src, &at, w.depth+1) }

// sourceOf returns the source text of a word. It does not expand unknown values.
func (w *walker) sourceOf(word *syntax.Word) string {
	if word == nil || len(word.Parts) == 0 {
		return ""
	}
	if fields := w.fields(word); len(fields) == 1 && fields[0].static {
		return fields[0].text
	}
	return w.textOf(word)
}

// walkWords walks the commands inside words, expansions and conditions.
func (w *walker) walkWords(n syntax.Node) {
	if word, ok := n.(*syntax.Word); ok && word == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.addMark(w.placeOf(n), Substitution, Low, "Its output becomes part of the command.")
			w.walkSubshell(n.Stmts)
			return false
		case *syntax.ProcSubst:
			f := w.walkSubshell(n.Stmts)
			w.procs[n] = f
			if n.Op == syntax.CmdOut && f.runsInput {
				w.addMark(w.placeOf(n), PipeRun, High, "Runs the output of another command.")
			}
			return false
		case *syntax.ParamExp:
			if n.Param != nil && isSecretVariable(n.Param.Value) {
				w.addMark(w.placeOf(n), ReadSecret, Medium, "The name suggests that this variable contains a secret.")
			}
			if n.Excl && n.Names == 0 {
				w.addMark(w.placeOf(n), Computed, Medium, "The variable name is computed at run time.")
			}
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P" {
				w.addMark(w.placeOf(n), Evaluated, High, "Runs commands from a variable.")
			}
		}
		return true
	})
}

func (w *walker) walkAssign(a *syntax.Assign) {
	if a.Value != nil {
		w.walkWords(a.Value)
	}
	if a.Array != nil {
		w.walkWords(a.Array)
	}
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	w.calls.incomplete = w.calls.incomplete || affectsPrograms(name)
	if level, why := variableRisk(name); level != "" && !(a.Naked && a.Value == nil) {
		w.addMark(w.placeOf(a), Environment, level, why)
	}
	delete(w.vars, name)
	if a.Value == nil || a.Append || a.Index != nil {
		return
	}
	if fields := w.quotedFields(a.Value); len(fields) == 1 && fields[0].static && len(fields[0].text) <= maxValue {
		w.vars[name] = fields[0].text
	} else if len(a.Value.Parts) == 0 {
		w.vars[name] = ""
	}
}

// isSecretVariable reports whether a variable's name suggests a secret.
func isSecretVariable(name string) bool {
	for part := range strings.SplitSeq(strings.ToUpper(name), "_") {
		switch part {
		case "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "KEY", "CREDENTIALS":
			return true
		}
	}
	return false
}

// variableRisk returns the risk of setting a variable; the reason is "" when there is none.
func variableRisk(name string) (Level, string) {
	switch name {
	case "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "PS4", "IFS",
		"GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
		"PERL5OPT", "PERL5LIB", "RUBYOPT", "PYTHONSTARTUP", "PYTHONINSPECT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "RUSTC_WRAPPER", "MAKEFLAGS", "LESSOPEN", "LESSCLOSE":
		return High, "This variable can make other programs run code."
	case "PATH", "PYTHONPATH", "NODE_PATH", "RUBYLIB", "CLASSPATH", "EDITOR", "VISUAL", "PAGER", "BROWSER", "SHELL", "HOME", "CDPATH", "GOFLAGS", "CC", "CXX", "MANPAGER", "SUDO_ASKPASS", "SSH_ASKPASS":
		return Medium, "This variable controls which programs run."
	}
	switch {
	case strings.HasPrefix(name, "DYLD_"), strings.HasPrefix(name, "GIT_CONFIG_"), strings.HasPrefix(name, "BASH_FUNC_"):
		return High, "This variable can make other programs run code."
	case strings.HasPrefix(name, "ANTHROPIC_"), strings.HasPrefix(name, "CLAUDE_"):
		return Medium, "This variable changes how Claude works."
	}
	return "", ""
}
