package review

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// Place is where a tool call runs, and the files that it must not read.
type Place struct {
	Dir string // the folder of the session, absolute
	// Private returns files and folders, as absolute paths, that are never low to read: sayso's
	// own on that machine. nil means none.
	Private func() []string
	// Files follows symbolic links. If nil, every path counts as having none.
	Files Files
}

// private returns the files that must not be read.
func (p Place) private() []string {
	if p.Private == nil {
		return nil
	}
	return p.Private()
}

// Files reads the file system of a [Place]. Its methods take absolute paths.
type Files interface {
	// Real resolves all links of a path; false when that fails. A missing file resolves to
	// itself.
	Real(path string) (string, bool)
	IsDir(path string) bool
	// Match returns the files that a shell pattern matches; false when there are too many.
	Match(pattern string) ([]string, bool)
}

// reading checks a command and collects why it is not low. It denies by default: an unknown
// construct is a reason.
type reading struct {
	w      *walker // expands words; its marks are not used
	place  Place
	dirs   []string             // where commands may run; several, because a cd can fail
	loops  map[string][]operand // the possible values of the variables of the loops around
	rounds int                  // number of loops around
	marks  []Mark
}

// operand is what is known about an argument before the command runs.
type operand struct {
	text     string
	glob     bool      // text is a pattern
	computed bool      // text is incomplete
	split    bool      // it may become several arguments
	count    bool      // it is a number, such as $?
	stream   bool      // <(…)
	each     []operand // in the body of a loop: one of these
	node     syntax.Node
}

func (o operand) plain() bool {
	return !o.glob && !o.computed && !o.stream && o.each == nil
}
func (o operand) many() bool   { return o.split }
func (o operand) counts() bool { return o.count }

// unproven returns marks for the reasons why a command is not low. There are none if every
// part is understood and only reads files of the folder.
func unproven(src string, file *syntax.File, place Place) []Mark {
	w := newWalker(place.Dir)
	w.src, w.units = src, utf16Units(src)
	r := &reading{w: w, place: place, dirs: []string{place.Dir}, loops: map[string][]operand{}}
	r.statements(file.Stmts)
	return r.marks
}

func (r *reading) reject(n syntax.Node, kind Risk, reason string) {
	at := r.w.placeOf(n)
	r.marks = append(r.marks, Mark{From: at.from, To: at.to, Kind: kind, Level: Medium, Reason: reason})
}

func (r *reading) statements(list []*syntax.Stmt) {
	for _, s := range list {
		r.statement(s, false)
	}
}

// statement checks one statement. piped means that it reads the output of another one.
func (r *reading) statement(s *syntax.Stmt, piped bool) {
	if s == nil {
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		r.reject(s, Background, "Keeps running in the background after the call ends.")
	}
	for _, d := range s.Redirs {
		given := r.redirect(d)
		switch d.Op {
		case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn, syntax.RdrInOut:
			if d.N == nil || isZero(d.N.Value) {
				piped = given
			}
		default:
			if d.N != nil && isZero(d.N.Value) { // 0>/dev/null closes the pipe, too
				piped = given
			}
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		r.call(c, piped)
	case *syntax.BinaryCmd:
		r.statement(c.X, piped)
		r.statement(c.Y, piped || c.Op == syntax.Pipe || c.Op == syntax.PipeAll)
	case *syntax.Subshell:
		r.statements(c.Stmts)
	case *syntax.Block:
		r.statements(c.Stmts)
	case *syntax.IfClause:
		for i := c; i != nil; i = i.Else {
			r.statements(i.Cond)
			r.statements(i.Then)
		}
	case *syntax.ForClause:
		r.loop(c)
	case *syntax.TimeClause:
		r.statement(c.Stmt, piped)
	case *syntax.TestClause:
		r.test(c.X)
	case *syntax.FuncDecl:
		r.reject(c, Redefine, "Defines a function, which can replace a command.")
	case *syntax.ArithmCmd, *syntax.LetClause:
		r.reject(s, Evaluated, "Bash evaluates this arithmetic, which can run commands.")
	case *syntax.DeclClause:
		r.reject(c, Unproven, "Sets variables.")
	default:
		r.reject(s, Unproven, "Not on the list of read-only statements.")
	}
}

// isZero reports whether a file descriptor is 0, which can be written as 00.
func isZero(descriptor string) bool { return descriptor != "" && strings.Trim(descriptor, "0") == "" }

// redirect checks a redirection. It reports whether it provides text to read; with /dev/null
// or a folder, for example, rg searches the current folder instead.
func (r *reading) redirect(d *syntax.Redirect) bool {
	if d.N != nil && strings.Trim(d.N.Value, "0123456789") != "" {
		r.reject(d, Unproven, "Sets a variable.")
		return false
	}
	switch d.Op {
	case syntax.DplOut, syntax.DplIn:
		if lit := d.Word.Lit(); lit == "" || strings.Trim(lit, "0123456789-") != "" {
			r.reject(d, Overwrite, "Writes to a file.")
		}
		return false
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
		if d.Word.Lit() != "/dev/null" {
			r.reject(d, Overwrite, "Writes to a file.")
		}
		return false
	case syntax.RdrIn:
		list, ok := r.word(d.Word)
		switch {
		case !ok:
		case len(list) != 1 || !list[0].plain() || list[0].text == "-":
			r.reject(d, Computed, "The file name is computed at run time.")
		default:
			r.checkPath(list[0], r.whyNotReadable(list[0], true))
			return list[0].text != "/dev/null" && list[0].text != "." && !strings.HasSuffix(list[0].text, "/") && !r.isFolder(list[0].text)
		}
		return false
	case syntax.Hdoc, syntax.DashHdoc:
		if d.Hdoc != nil {
			r.parts(d.Hdoc.Parts, true)
		}
		return true
	case syntax.WordHdoc:
		r.parts(d.Word.Parts, false)
		return true
	}
	r.reject(d, Overwrite, "Can write to a file.")
	return false
}

func (r *reading) checkPath(at operand, why string) {
	if why == "" {
		return
	}
	kind := ReadOutside
	switch why {
	case looksSecret, serverState:
		kind = ReadSecret
	case patternFits, computedFile:
		kind = Computed
	}
	r.reject(at.node, kind, why)
}

var loopName = lazyregexp.New(`^[a-z][a-z0-9]{0,7}$`)

// loop checks for x in …; do …; done. Programs may act on variables with upper-case or long
// names, so those are refused.
func (r *reading) loop(c *syntax.ForClause) {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || !loopName.MatchString(words.Name.Value) || !words.InPos.IsValid() {
		r.reject(c, Unproven, "This loop sets variables.")
		return
	}
	name := words.Name.Value
	if _, again := r.loops[name]; again {
		r.reject(words.Name, Unproven, "Two loops set this variable.")
		return
	}
	var each []operand
	for _, item := range words.Items {
		list, ok := r.word(item)
		if !ok {
			return
		}
		for _, o := range list {
			if o.computed || o.stream || o.each != nil {
				r.reject(item, Computed, "The values of the loop are computed at run time.")
				return
			}
			if o.glob { // even the number of the files is information
				if why := r.whyNotReadable(o, false); why != "" {
					r.checkPath(o, why)
					return
				}
			}
			each = append(each, o)
		}
	}
	if len(each) == 0 || len(each) > 100 {
		r.reject(c, Computed, "The values of the loop are computed at run time.")
		return
	}
	r.loops[name] = each
	r.rounds++
	r.statements(c.Do)
	r.rounds--
	delete(r.loops, name) // the loop may not have run, and then the variable is not set
}

// test checks [[ … ]].
func (r *reading) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.ParenTest:
		r.test(x.X)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot:
			r.test(x.X)
		case syntax.TsEmpStr, syntax.TsNempStr:
			r.tested(x.X)
		case syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsSmbLink, syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty:
			for _, o := range r.tested(x.X) {
				if o.computed || o.glob {
					r.reject(x, Computed, "The condition is computed at run time.")
				} else {
					r.checkPath(o, r.whyNotReadable(o, false))
				}
			}
		default:
			r.reject(x, Evaluated, "Not on the list of read-only tests.")
		}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
			r.test(x.X)
			r.test(x.Y)
		case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsReMatch, syntax.TsBefore, syntax.TsAfter:
			r.tested(x.X)
			r.tested(x.Y)
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, o := range append(r.tested(x.X), r.tested(x.Y)...) {
				if !o.count && !(o.plain() && numbers.MatchString(o.text)) {
					r.reject(x, Evaluated, "Bash evaluates the numbers it compares, which can run commands.")
				}
			}
		default:
			r.reject(x, Evaluated, "Not on the list of read-only tests.")
		}
	default:
		r.tested(x)
	}
}

func (r *reading) tested(x syntax.TestExpr) []operand {
	word, ok := x.(*syntax.Word)
	if !ok {
		r.reject(x, Evaluated, "Not on the list of read-only tests.")
		return nil
	}
	list, _ := r.word(word)
	return list
}

// programName matches how a listed program can be written: without a folder, quotes or
// expansions.
var programName = lazyregexp.New(`^[a-z0-9\[:]+$`)

func (r *reading) call(c *syntax.CallExpr, piped bool) {
	for _, a := range c.Assigns {
		r.reject(a, Unproven, "Sets a variable.")
		return
	}
	if len(c.Args) == 0 {
		return
	}
	head := c.Args[0].Lit()
	spec, known := readers[head]
	if !known || len(c.Args[0].Parts) != 1 || !programName.MatchString(head) {
		r.reject(c.Args[0], Unproven, "Not on the list of read-only programs.")
		return
	}
	if head == "cd" && r.rounds > 0 {
		r.reject(c, Computed, changesFolder)
		return
	}
	rc := &readerCall{r: r, name: head, spec: spec, node: c, piped: piped}
	for _, word := range c.Args[1:] {
		list, ok := r.word(word)
		if !ok {
			return
		}
		rc.args = append(rc.args, list...)
	}
	if len(rc.args) > maxFields {
		r.reject(c, Unreadable, "It has too many arguments to analyze.")
		return
	}
	if head == "git" && !rc.parseGit() {
		return
	}
	if !rc.parseOptions() || !rc.checkTogether() {
		return
	}
	if head == "cd" {
		// It may fail; then what follows runs in the same folder as before.
		for _, dir := range slices.Clone(r.dirs) {
			if to := join(dir, rc.operands[0].text); !slices.Contains(r.dirs, to) {
				r.dirs = append(r.dirs, to)
			}
		}
		if len(r.dirs) > 20 {
			r.reject(c, Unreadable, "Too many changes of folder to analyze.")
			r.dirs = r.dirs[:20]
		}
	}
}

func join(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// word returns the arguments that a word becomes. It returns false, and marks the word, if it
// is not understood.
func (r *reading) word(word *syntax.Word) ([]operand, bool) {
	if word == nil {
		return nil, false
	}
	if list, ok := r.single(word); ok {
		return list, true
	}
	before := len(r.marks)
	plain := r.parts(word.Parts, false)
	if len(r.marks) > before {
		return nil, false
	}
	glob, braces := false, false
	for i, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		value := lit.Value
		// In zsh, =ls expands to the path of ls.
		if i == 0 && (strings.HasPrefix(value, "~") || strings.HasPrefix(value, "=") && value != "=" && value != "==") {
			r.reject(word, ReadOutside, outsideFolder)
			return nil, false
		}
		bare := unescaped(value)
		glob = glob || strings.ContainsAny(bare, "*?[")
		braces = braces || strings.Contains(bare, "{")
		if strings.Contains(bare, "{") && (strings.Contains(bare, ",") || strings.Contains(bare, "..") || len(word.Parts) > 1) && !(len(word.Parts) == 1 && simpleBraces.MatchString(value)) {
			r.reject(word, Computed, "sayso does not expand these braces.")
			return nil, false
		}
	}
	var out []operand
	for _, f := range r.w.fields(word) {
		if plain && !f.static {
			r.reject(word, Computed, "sayso does not expand these braces.")
			return nil, false
		}
		if f.text == "" && (braces || word.Lit() != "") {
			r.reject(word, Computed, "The shell drops the empty argument of these braces.")
			return nil, false
		}
		out = append(out, operand{text: f.text, glob: glob, computed: !plain, node: word})
	}
	if len(out) == 0 && !plain { // an empty expansion
		return nil, true
	}
	for i, part := range word.Parts {
		if p, ok := part.(*syntax.ParamExp); ok {
			for j := range out {
				out[j].split = true
				out[j].count = i == 0 && len(word.Parts) == 1 && (p.Param.Value == "?" || p.Param.Value == "#")
			}
		}
		if _, ok := part.(*syntax.CmdSubst); ok {
			for j := range out {
				out[j].split = true
			}
		}
	}
	return out, true
}

var simpleBraces = lazyregexp.New(`^[A-Za-z0-9_./*-]*\{[A-Za-z0-9_.,/*-]+\}[A-Za-z0-9_./*-]*$`)

// unescaped removes the backslashes of escapes.
func unescaped(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' {
			i++
			continue
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// single expands words that are a single expansion: a loop variable, $? or <(…).
func (r *reading) single(word *syntax.Word) ([]operand, bool) {
	if len(word.Parts) != 1 {
		return nil, false
	}
	part, quoted := word.Parts[0], false
	if q, ok := part.(*syntax.DblQuoted); ok && !q.Dollar && len(q.Parts) == 1 {
		part, quoted = q.Parts[0], true
	}
	switch p := part.(type) {
	case *syntax.ParamExp:
		if !simpleParam(p) {
			return nil, false
		}
		each, ok := r.loops[p.Param.Value]
		if !ok {
			if quoted && (p.Param.Value == "?" || p.Param.Value == "#") {
				return []operand{{computed: true, count: true, node: word}}, true
			}
			return nil, false
		}
		if !quoted && slices.ContainsFunc(each, func(o operand) bool {
			return o.glob || o.text == "" || strings.ContainsAny(o.text, " \t\n*?[")
		}) {
			return nil, false // it is split, its patterns expand, and it disappears if it is empty
		}
		return []operand{{each: each, node: word}}, true
	case *syntax.ProcSubst:
		if p.Op != syntax.CmdIn || quoted {
			return nil, false
		}
		before := len(r.marks)
		r.statements(p.Stmts)
		return []operand{{stream: true, node: word}}, len(r.marks) == before
	}
	return nil, false
}

func simpleParam(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// harmlessParams hold no secret and nothing that an attacker can choose.
var harmlessParams = set("?", "#", "$", "!", "PWD", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "OSTYPE", "LANG", "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "BASH_VERSION", "PATH", "TERM", "UID", "EUID", "PPID")

// parts checks the parts of a word and marks what is not understood. plain is false when the
// text is unknown before the command runs.
func (r *reading) parts(parts []syntax.WordPart, heredoc bool) (plain bool) {
	plain = true
	for i, part := range parts {
		if p, ok := part.(*syntax.ParamExp); ok && p.Short && i+1 < len(parts) {
			if next, ok := parts[i+1].(*syntax.Lit); ok && strings.ContainsAny(next.Value[:min(1, len(next.Value))], "[:") {
				r.reject(p, Evaluated, "Some shells evaluate a subscript here, which can run commands.")
			}
		}
		switch p := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if p.Dollar && !simpleEscapes.MatchString(p.Value) {
				r.reject(p, Unproven, "Not on the list of read-only expansions.")
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				r.reject(p, Unproven, "Bash translates this text before using it.")
			}
			plain = r.parts(p.Parts, heredoc) && plain
		case *syntax.ParamExp:
			plain = false
			if _, loop := r.loops[paramName(p)]; !simpleParam(p) || !loop && !harmlessParams[p.Param.Value] {
				r.reject(p, Computed, "The value of this variable is unknown.")
			}
		case *syntax.CmdSubst:
			plain = false
			if p.TempFile || p.ReplyVar {
				r.reject(p, Unproven, "Not on the list of read-only expansions.")
			}
			r.statements(p.Stmts)
		case *syntax.ArithmExp:
			plain = false
			if p.Bracket || p.Unsigned || !literalArithmetic(p.X) {
				r.reject(p, Evaluated, "Bash evaluates this arithmetic, which can run commands.")
			}
		default:
			plain = false
			r.reject(p, Computed, "Not on the list of read-only expansions.")
		}
	}
	return plain
}

var simpleEscapes = lazyregexp.New(`^(?:[^\\]|\\[ntr\\'"])*$`)

func paramName(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	return p.Param.Value
}

// literalArithmetic reports whether an expression contains only numbers. A variable can hold
// text that is evaluated again.
func literalArithmetic(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		return strings.Contains("+-*/%", x.Op.String()) && literalArithmetic(x.X) && literalArithmetic(x.Y)
	case *syntax.ParenArithm:
		return literalArithmetic(x.X)
	case *syntax.Word:
		return regexp.MustCompile(`^[0-9]+$`).MatchString(x.Lit())
	}
	return false
}

const (
	outsideFolder = "Reads outside the session folder."
	looksSecret   = "Reads a file that may contain secrets."
	serverState   = "Reads sayso's own files."
	patternFits   = "This pattern can match a file that contains secrets."
	computedFile  = "The file name is computed at run time."
	changesFolder = "A change of folder in a loop also affects its next round."
)

// whyNotReadable returns why reading a file, or its attributes, is not low, or "".
func (r *reading) whyNotReadable(o operand, content bool) string {
	for _, one := range o.each {
		if why := r.whyNotReadable(one, content); why != "" {
			return why
		}
	}
	switch {
	case o.each != nil, o.stream:
		return ""
	case o.computed:
		return computedFile
	case o.text == "-", o.text == "/dev/null":
		return ""
	case o.text == "", strings.HasPrefix(o.text, "~"), strings.HasPrefix(o.text, "@"), strings.ContainsRune(o.text, 0), slices.Contains(strings.Split(o.text, "/"), ".."), r.place.Dir == "/":
		return outsideFolder
	}
	for _, dir := range r.dirs {
		full := join(dir, o.text)
		why := ""
		if o.glob {
			why = r.whyNotReadablePattern(full, content)
		} else {
			why = r.whyNotReadablePath(full, content)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func within(full, dir string) bool {
	return full == dir || strings.HasPrefix(full, strings.TrimSuffix(dir, "/")+"/")
}

// whyNotReadablePath is whyNotReadable for an absolute, clean path.
func (r *reading) whyNotReadablePath(full string, content bool) string {
	root := path.Clean(r.place.Dir)
	if why := r.whyNotAllowed(full, root, content); why != "" || r.place.Files == nil {
		return why
	}
	realRoot, ok := r.place.Files.Real(root)
	real, found := r.place.Files.Real(full)
	if !ok || !found {
		return outsideFolder
	}
	return r.whyNotAllowed(real, realRoot, content)
}

func (r *reading) whyNotAllowed(full, root string, content bool) string {
	switch {
	case !within(full, root):
		return outsideFolder
	case slices.ContainsFunc(r.place.private(), func(p string) bool {
		return within(full, p) || r.place.Files != nil && within(full, realPath(r.place.Files, p))
	}):
		return serverState
	case content && isSecret(full):
		return looksSecret
	}
	return ""
}

func realPath(d Files, p string) string {
	if real, ok := d.Real(p); ok {
		return real
	}
	return p
}

// sourceExtensions are the extensions of source files and documents. Files with secrets do
// not have them.
var sourceExtensions = set("go", "mod", "sum", "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "svelte", "py", "rb", "rs", "c", "h", "cc", "cpp", "hpp", "cs", "java", "kt", "swift", "scala", "php", "pl", "lua", "ex", "exs", "erl", "hs", "ml", "zig", "dart", "css", "scss", "less", "html", "svg", "md", "mdx", "rst", "proto", "graphql", "cmake", "mk", "tex", "m", "mm", "r", "jl", "clj", "elm", "nix", "bazel", "gradle", "csv", "tsv")

// whyNotReadablePattern is whyNotReadable for a pattern.
func (r *reading) whyNotReadablePattern(full string, content bool) string {
	at := strings.IndexAny(full, "*?[")
	if at < 0 {
		return r.whyNotReadablePath(full, content)
	}
	// What these match depends on the shell and its settings, and Go reads [!a] and [[:alpha:]]
	// differently.
	if strings.ContainsAny(full, "[\\") || strings.Contains(full, "**") {
		return patternFits
	}
	base := path.Dir(full[:at] + "x")
	if why := r.whyNotReadablePath(base, false); why != "" {
		return why
	}
	for _, p := range r.place.private() {
		if within(p, base) {
			return serverState
		}
	}
	if content && !sourcePattern(path.Base(full)) || hiddenPattern(full) {
		return patternFits
	}
	if r.place.Files == nil {
		return ""
	}
	list, ok := r.place.Files.Match(full)
	if !ok {
		return patternFits
	}
	for _, one := range list {
		if why := r.whyNotReadablePath(one, content); why != "" {
			return why
		}
	}
	return ""
}

// sourcePattern reports whether all files that a pattern matches have a source extension.
func sourcePattern(base string) bool {
	end := base[strings.LastIndexAny(base, "*?[]")+1:]
	dot := strings.LastIndex(base, ".")
	return dot >= 0 && !strings.ContainsAny(base[dot:], "*?[]{}") && sourceExtensions[base[dot+1:]] && strings.Contains(end, ".") && !strings.HasPrefix(base, ".")
}

// hiddenPattern reports whether a pattern matches names that begin with a dot.
func hiddenPattern(full string) bool {
	for part := range strings.SplitSeq(full, "/") {
		if strings.HasPrefix(part, ".") && strings.ContainsAny(part, "*?[") {
			return true
		}
	}
	return false
}

func (r *reading) isFolder(name string) bool {
	return r.place.Files != nil && slices.ContainsFunc(r.dirs, func(dir string) bool { return r.place.Files.IsDir(join(dir, name)) })
}
