package review

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// readerCall is a call of a listed program, split into options and operands.
type readerCall struct {
	r        *reading
	name     string
	spec     reader
	node     syntax.Node
	piped    bool // it reads the output of another command, or a file by <
	args     []operand
	options  map[string][]operand // by name, with their values
	operands []operandOf
}

// operandOf is an operand with its kind.
type operandOf struct {
	operand
	kind kind
}

func (c *readerCall) has(names ...string) bool {
	for _, n := range names {
		if _, ok := c.options[n]; ok {
			return true
		}
	}
	return false
}

func (c *readerCall) values(name string) (out []operandOf) {
	for _, v := range c.options[name] {
		out = append(out, operandOf{v, text})
	}
	return out
}

func (c *readerCall) reject(at operand, kind Risk, reason string) bool {
	n := at.node
	if n == nil {
		n = c.node
	}
	c.r.reject(n, kind, reason)
	return false
}

// option is an option that a program accepts.
type option struct {
	value    kind // "" if it takes no value
	attached bool // its value must follow "="
}

var parsedOptions = sync.OnceValue(func() map[string]map[string]option {
	out := map[string]map[string]option{}
	add := func(r reader) {
		list := map[string]option{}
		for o := range strings.FieldsSeq(r.options) {
			if name, optional := strings.CutSuffix(o, "?"); optional {
				list[name] = option{attached: true}
				continue
			}
			name, value, _ := strings.Cut(o, "=")
			list[name] = option{value: kind(value)}
		}
		out[r.options] = list
	}
	for _, r := range readers {
		add(r)
	}
	for _, r := range gitReaders {
		add(r)
	}
	return out
})

const notReading = "Not on the list of read-only options."

// parseOptions separates options from operands. It returns false, and marks the call, if an
// option is unknown.
func (c *readerCall) parseOptions() bool {
	known := parsedOptions()[c.spec.options]
	c.options = map[string][]operand{}
	over := c.spec.raw
	var plain []operand
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		if name, value, has := strings.Cut(a.text, "="); has && a.glob && !over && !c.spec.spaced && known[name].value == glob && !strings.ContainsAny(name, "*?[") {
			// The files that --include=*.go matches are other values of the same kind. Not so those
			// of rg, where --glob=!x.go excludes files.
			a.glob, a.text = false, name+"="+value
		}
		if !over && (a.glob || a.each != nil) && !c.cannotBecomeOption(a) {
			return c.reject(a, Wildcard, "A file name that begins with a dash would be read as an option.")
		}
		if over || !a.plain() || len(a.text) < 2 || a.text[0] != '-' {
			if !a.plain() && !over && a.computed && !c.spec.prints {
				return c.reject(a, Computed, "This argument is computed at run time.")
			}
			over = over || c.spec.posix
			plain = append(plain, a)
			continue
		}
		if a.text == "--" {
			over = true
			continue
		}
		if len(plain) > 0 && !c.canBeFile(a) {
			return false
		}
		if c.spec.count && lineCount.MatchString(a.text) {
			if c.spec.searches { // it is the number of lines around each match
				c.options["-C"] = append(c.options["-C"], operand{text: a.text[1:], node: a.node})
			}
			continue
		}
		if c.spec.exact || strings.HasPrefix(a.text, "--") {
			name, value, has := strings.Cut(a.text, "=")
			o, ok := known[name]
			if !ok || has && o.value == "" && !o.attached {
				return c.reject(a, Unproven, notReading)
			}
			v := operand{text: value, node: a.node}
			if !has && o.value != "" {
				if !c.spec.spaced {
					return c.reject(a, Unproven, "Without “=”, some programs take the value of this option for another argument.")
				}
				if v, ok = c.nextValue(&i, o.value, len(plain) > 0); !ok {
					return false
				}
			}
			if !c.hasKind(o.value, v) {
				return false
			}
			if o.attached && checksSignature.MatchString(value) {
				return c.reject(a, Launcher, "Starts a program to check signatures.")
			}
			c.options[name] = append(c.options[name], v)
			continue
		}
		for j := 1; j < len(a.text); j++ {
			letter := "-" + a.text[j:j+1]
			o, ok := known[letter]
			if !ok {
				return c.reject(a, Unproven, notReading)
			}
			rest := a.text[j+1:]
			switch {
			case c.spec.single && (j > 1 || rest != "" && o.value == "" && !o.attached),
				c.spec.apart && o.value != "" && (j > 1 || rest != "" && !(o.value == number && onlyDigits.MatchString(rest))):
				return c.reject(a, Unproven, "Some programs read these joined options differently.")
			}
			v := operand{node: a.node}
			if o.attached {
				j = len(a.text)
			}
			if o.value != "" {
				v.text = rest
				if rest == "" {
					if v, ok = c.nextValue(&i, o.value, len(plain) > 0); !ok {
						return false
					}
				}
				if !c.hasKind(o.value, v) {
					return false
				}
				j = len(a.text)
			}
			c.options[letter] = append(c.options[letter], v)
		}
	}
	return c.assignKinds(plain)
}

// nextValue moves i to the argument after an option, which is the value of the option, and
// returns it. after means that an operand came before. It returns false, and marks the
// argument, if a parser could take it for something else.
func (c *readerCall) nextValue(i *int, k kind, after bool) (operand, bool) {
	option := c.args[*i]
	if *i++; *i >= len(c.args) {
		return operand{}, c.reject(option, Unproven, "An option has no value.")
	}
	v := c.args[*i]
	if k != number && slices.ContainsFunc(slices.Concat([]operand{v}, v.each), func(o operand) bool { return len(o.text) > 1 && o.text[0] == '-' }) {
		return operand{}, c.reject(v, Unproven, "Some programs take this value for an option.")
	}
	return v, !after || c.canBeFile(v)
}

// canBeFile reports whether an option after an operand, or its value, can be read as a file.
// That is what the getopt of some systems takes it for.
func (c *readerCall) canBeFile(a operand) bool {
	if c.spec.anywhere || c.spec.git {
		return true
	}
	why := c.r.whyNotReadable(a, true)
	c.r.checkPath(a, why)
	return why == ""
}

// cannotBecomeOption reports whether no file that a pattern matches can be taken for an
// option that does more than read.
func (c *readerCall) cannotBecomeOption(a operand) bool {
	for _, one := range a.each {
		if !c.cannotBecomeOption(one) {
			return false
		}
	}
	if a.each != nil {
		return true
	}
	if !a.glob {
		return !strings.HasPrefix(a.text, "-")
	}
	return c.spec.anyName && !strings.HasPrefix(a.text, "-") || a.text != "" && !strings.ContainsAny(a.text[:1], "*?[-{")
}

// assignKinds gives operands their kinds and checks each.
func (c *readerCall) assignKinds(plain []operand) bool {
	kinds := strings.Fields(c.spec.operands)
	for i, a := range plain {
		at := min(i, len(kinds)-1)
		if at < 0 || i >= len(kinds) && !strings.HasSuffix(kinds[at], "*") {
			return c.reject(a, Unproven, "Not a read-only use of this program.")
		}
		k := kind(strings.TrimRight(kinds[at], "*?"))
		if (a.glob || a.split) && !strings.HasSuffix(kinds[at], "*") {
			return c.reject(a, Computed, "Can expand to more arguments than a read-only use takes.")
		}
		c.operands = append(c.operands, operandOf{a, k})
		if c.spec.searches {
			continue
		}
		if !c.hasKind(k, a) {
			return false
		}
	}
	for _, k := range kinds[min(len(plain), len(kinds)):] {
		if !strings.HasSuffix(k, "*") && !strings.HasSuffix(k, "?") && !c.spec.searches {
			return c.reject(operand{}, Unproven, "Not a read-only use of this program: an argument is missing.")
		}
	}
	return true
}

var (
	lineCount   = lazyregexp.New(`^-[0-9]+$`)
	onlyDigits  = lazyregexp.New(`^[0-9]+$`)
	numberValue = lazyregexp.New(`^[-+]?([0-9]+(\.[0-9]+)?|\.[0-9]+)[A-Za-z]{0,3}$`)
	wordValue   = lazyregexp.New(`^[A-Za-z0-9_\[][A-Za-z0-9_.+:,-]*$`)
	// checksSignature matches the placeholders for which Git starts gpg: %G?, also as %+G?.
	checksSignature = lazyregexp.New(`%[-+ ]*G`)
)

// hasKind checks an operand, or the value of an option, against a kind.
func (c *readerCall) hasKind(k kind, a operand) bool {
	switch k {
	case "":
		return true
	case text:
		if !a.plain() && !c.spec.prints && a.each == nil {
			return c.reject(a, Computed, "This argument is computed at run time.")
		}
		for _, one := range slices.Concat([]operand{a}, a.each) {
			if checksSignature.MatchString(one.text) || strings.Contains(one.text, "signature") && c.spec.git {
				return c.reject(a, Launcher, "Starts a program to check signatures.")
			}
			if one.glob { // the names of the files that it matches are printed
				if why := c.r.whyNotReadable(one, false); why != "" {
					c.r.checkPath(a, why)
					return false
				}
			}
		}
		return true
	case pattern, glob:
		if !a.plain() {
			return c.reject(a, Computed, "This argument is computed at run time.")
		}
		return true
	case number:
		if !a.plain() || !numberValue.MatchString(a.text) {
			return c.reject(a, Unproven, "Not a number, so not a read-only use.")
		}
		return true
	case word:
		if !a.plain() || !wordValue.MatchString(a.text) {
			return c.reject(a, Unproven, "Not a plain word, so not a read-only use.")
		}
		return true
	case revision:
		return c.isRevision(a)
	case file, name, folder:
		why := c.r.whyNotReadable(a, k != name)
		c.r.checkPath(a, why)
		return why == ""
	}
	return c.reject(a, Unproven, notReading)
}

// isRevision checks a Git revision, or the files that it names.
func (c *readerCall) isRevision(a operand) bool {
	for _, one := range a.each {
		one.node = a.node
		if !c.isRevision(one) {
			return false
		}
	}
	if a.each != nil {
		return true
	}
	if a.glob || !a.plain() {
		why := c.r.whyNotReadable(a, true)
		c.r.checkPath(a, why)
		return why == ""
	}
	for _, piece := range strings.FieldsFunc(a.text, func(s rune) bool { return s == ':' || s == ')' || s == '(' }) {
		piece = strings.TrimLeft(piece, "!^")
		if piece == "" || !strings.ContainsAny(piece, "./") && !isSecret("/"+piece) {
			continue
		}
		if strings.HasSuffix(piece, "..") && piece != ".." && !strings.HasSuffix(piece, "/..") || strings.HasPrefix(piece, "..") && !strings.HasPrefix(piece, "../") && piece != ".." {
			piece = strings.Trim(piece, ".")
		}
		if piece == "" {
			continue
		}
		if why := c.r.whyNotReadable(operand{text: piece, node: a.node}, true); why != "" {
			c.r.checkPath(a, why)
			return false
		}
	}
	return true
}

// checkTogether checks what options and operands mean together.
func (c *readerCall) checkTogether() bool {
	if c.spec.also == nil {
		return true
	}
	if why := c.spec.also(c); why != "" {
		switch why {
		case outsideFolder, looksSecret, serverState, patternFits, computedFile:
			c.r.checkPath(operand{node: c.node}, why)
			return false
		}
		return c.reject(operand{}, Unproven, why)
	}
	return true
}

// parseGit skips Git's own options and finds the subcommand.
func (c *readerCall) parseGit() bool {
	for len(c.args) > 0 {
		a := c.args[0]
		switch {
		case !a.plain():
			return c.reject(a, Computed, "The Git command is computed at run time.")
		case a.text == "--no-pager" || a.text == "--no-optional-locks" || a.text == "-P":
			c.args = c.args[1:]
			continue
		case a.text == "-C" && len(c.args) > 1:
			if !c.args[1].plain() {
				return c.reject(c.args[1], Computed, computedFile)
			}
			if !c.hasKind(name, c.args[1]) {
				return false
			}
			if c.r.rounds > 0 {
				return c.reject(a, Computed, changesFolder)
			}
			for _, dir := range c.r.dirs[:len(c.r.dirs):len(c.r.dirs)] {
				c.r.dirs = append(c.r.dirs, join(dir, c.args[1].text))
			}
			c.args = c.args[2:]
			continue
		}
		spec, ok := gitReaders[a.text]
		if !ok {
			return c.reject(a, Unproven, "Not on the list of read-only Git commands.")
		}
		spec.git = true
		c.name, c.spec, c.args = "git "+a.text, spec, c.args[1:]
		return true
	}
	return c.reject(operand{}, Unproven, "Not on the list of read-only Git commands.")
}

var findTests = func() map[string]kind {
	out := map[string]kind{"!": "", "(": "", ")": ""}
	for _, t := range strings.Fields("-not -a -and -o -or -print -print0 -ls -prune -empty -true -false -xdev -mount -quit -depth -readable -writable -executable -daystart -nouser -nogroup -P") {
		out[t] = ""
	}
	for _, t := range strings.Fields("-newermt -newerct -newerat -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -perm -printf -regextype") {
		out[t] = text
	}
	for _, t := range strings.Fields("-maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -size -links -inum -uid -gid") {
		out[t] = number
	}
	for _, t := range strings.Fields("-type -xtype -user -group") {
		out[t] = word
	}
	out["-newer"], out["-anewer"], out["-cnewer"], out["-samefile"] = name, name, name, name
	return out
}()

// findExpression checks the folders and the expression of find.
func findExpression(c *readerCall) string {
	expression := false
	for i := 0; i < len(c.operands); i++ {
		a := c.operands[i].operand
		if !a.plain() && a.each == nil && !a.glob {
			return "What find searches for is computed at run time."
		}
		if (a.glob || a.each != nil) && !c.cannotBecomeOption(a) {
			return "A file name that begins with a dash would be read as an option."
		}
		k, known := findTests[a.text]
		switch {
		case a.plain() && known:
			expression = true
			if k == "" {
				continue
			}
			i++
			if i >= len(c.operands) {
				return "An option has no value."
			}
			v := c.operands[i].operand
			if !v.plain() {
				return "What find searches for is computed at run time."
			}
			if !c.hasKind(k, v) {
				return "Not on the list of read-only expressions."
			}
		case expression || strings.HasPrefix(a.text, "-"):
			return "Not on the list of read-only expressions."
		default:
			if why := c.r.whyNotReadable(a, false); why != "" {
				return why
			}
		}
	}
	return ""
}

// checkSearch checks grep and similar programs. A search through all files below a folder
// also reads those with secrets, so its pattern must not match them.
func checkSearch(c *readerCall) string {
	patterns := append(c.values("-e"), c.values("--regexp")...)
	files := c.operands
	if len(patterns) == 0 && !c.has("--files", "--type-list") {
		if len(files) == 0 {
			return "Not a read-only use of this program: an argument is missing."
		}
		patterns, files = files[:1], files[1:]
	}
	below := c.has("-r", "--recursive") || c.spec.git || c.name == "rg" && (len(files) > 0 || !c.piped)
	for _, p := range patterns {
		if !p.plain() {
			return "The search pattern is computed at run time."
		}
	}
	for _, f := range files {
		if c.spec.git {
			if !c.isRevision(f.operand) {
				return outsideFolder
			}
			continue
		}
		if why := c.r.whyNotReadable(f.operand, true); why != "" {
			return why
		}
		for _, p := range c.r.place.private() {
			for _, dir := range c.r.dirs {
				if below && within(p, join(dir, f.text)) {
					return serverState
				}
			}
		}
	}
	if !below || c.has("--files", "--type-list") {
		return ""
	}
	if len(files) == 0 {
		for _, p := range c.r.place.private() {
			for _, dir := range c.r.dirs {
				if within(p, dir) {
					return serverState
				}
			}
		}
	}
	if c.sourceOnly() {
		return ""
	}
	if c.has("-v", "--invert-match", "-A", "-B", "-C", "--context", "--after-context", "--before-context", "-P", "--perl-regexp", "-U", "--multiline", "-W", "-p", "--function-context", "--show-function", "-z") && c.name != "rg" || c.has("-v", "--invert-match", "-A", "-B", "-C", "--context", "--after-context", "--before-context", "-U", "--multiline", "-P", "--pcre2") {
		return "Can print lines of every file in the folder, secrets included."
	}
	for _, p := range patterns {
		if !needsWord(p.text) {
			return "Can print secrets: it searches every file in the folder, and the pattern is not a specific word."
		}
	}
	return ""
}

// sourceOnly reports whether a search only opens source files.
func (c *readerCall) sourceOnly() bool {
	only := false
	for _, name := range []string{"--include", "-g", "--glob", "--iglob"} {
		for _, v := range c.options[name] {
			if strings.HasPrefix(v.text, "!") && name != "--include" {
				continue
			}
			if !sourceGlob(v.text) {
				return false
			}
			only = true
		}
	}
	for _, name := range []string{"-t", "--type"} {
		for _, v := range c.options[name] {
			if !sourceTypes[v.text] {
				return false
			}
			only = true
		}
	}
	return only
}

// sourceTypes are file types of rg that contain only source files. The type java contains
// *.properties, and gradle contains gradle.properties.
var sourceTypes = set("c", "cpp", "cs", "css", "csv", "dart", "elm", "go", "graphql", "h", "hs", "html", "js", "less", "lua", "md", "nix", "php", "py", "python", "rst", "rust", "scala", "svelte", "swift", "tex", "ts", "vue", "zig")

// plainGlob matches patterns without special meaning: rg excludes the files of !*.go, and
// ignores #*.go as a comment.
var plainGlob = lazyregexp.New(`^[A-Za-z0-9_.*?/{-][A-Za-z0-9_.*?/{},-]*$`)

// sourceGlob is sourcePattern with braces: *.{ts,tsx}.
func sourceGlob(pattern string) bool {
	if !plainGlob.MatchString(pattern) {
		return false
	}
	for _, one := range expandFirst(pattern, maxBraces) {
		if strings.Contains(one, ",") || !sourcePattern(baseName(one)) { // Grep separates patterns by commas
			return false
		}
	}
	return true
}

func baseName(s string) string { return s[strings.LastIndex(s, "/")+1:] }

var (
	secretWords   = lazyregexp.New(`(?i)secret|passw|passphrase|pwd|token|credential|bearer|private|database_url|dsn|(^|[^a-z])(key|api|aws|auth|begin|rsa|pass|user)([^a-z]|$)|api_?key|access_?key|_key|_url|key_`)
	searchWord    = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]{2,}`)
	repeatedGroup = lazyregexp.New(`\)\\?[*?{]`)
	patternParts  = lazyregexp.New(`\\?\||\n`)
	// optional matches what a text need not contain: an optional letter, a class.
	optional = lazyregexp.New(`\[[^\]]*\][*+?{]?|\\?.[*?{]|\\[A-Za-z.]`)
)

// needsWord reports whether each line that a pattern matches contains a word that does not
// typically occur next to secrets.
func needsWord(pattern string) bool {
	if strings.Contains(pattern, "(") && repeatedGroup.MatchString(pattern) || secretWords.MatchString(pattern) {
		return false
	}
	for _, one := range patternParts.Split(pattern, -1) {
		if !searchWord.MatchString(optional.ReplaceAllString(one, " ")) {
			return false
		}
	}
	return true
}
