package review

import (
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// kind is the meaning of an operand, or of the value of an option. A call is low only if
// everything passes the check for its kind.
type kind string

const (
	text    kind = "text"    // printed or compared, never opened and never evaluated
	number  kind = "number"  // a count or a size, such as 20, +5 or 4K
	file    kind = "file"    // a file whose contents are read
	name    kind = "name"    // a file or folder whose name, size or dates are read
	folder  kind = "folder"  // the start of a search that reads all files below
	pattern kind = "pattern" // the pattern of a search
	glob    kind = "glob"    // file names that a search includes or excludes
	word    kind = "word"    // letters and digits: a program name, a format, a color
)

// reader describes the calls of a program that only read. Any other option or operand makes a
// call medium.
type reader struct {
	// options are the harmless ones, with "=kind" if they take a value, and "?" if they take
	// one only after "=". Options of one letter can be joined, as in -la. A value follows a short
	// option, or is the next word, and follows a long option after "=".
	options string
	// operands are the kinds in order. "*" after the last means any number of them, "?" one
	// or none.
	operands string
	// count: -20 is short for an option that takes a number.
	count bool
	// exact: options are whole words, as in find and go: -name.
	exact bool
	// anyName: no file name that a pattern such as * expands to can be an option that writes,
	// runs a program or reads another file.
	anyName bool
	// raw: every argument is an operand.
	raw bool
	// posix: the first operand ends the options.
	posix bool
	// anywhere: on every system, options may follow operands.
	anywhere bool
	// spaced: the value of a long option may also be the next word.
	spaced bool
	// single: options of one letter cannot be joined.
	single bool
	// apart: the program takes the next word as the value of a short option even if something
	// follows the letter, so such an option is a word of its own. Only digits may follow it.
	apart bool
	// git: a subcommand of Git.
	git bool
	// searches: the first operand is the pattern, unless an option gives it.
	searches bool
	// prints: operands may be the output of other commands.
	prints bool
	// also checks what options and operands mean together. It returns why the call is not
	// low, or "".
	also func(*readerCall) string
}

// readers are the programs whose calls can be low. To add one, read its whole manual for
// options that write a file, start a program, read a list of files, follow symbolic links or
// print the environment, and omit those. Then read how it parses its arguments, in its source
// and on other systems: joined letters, values in the next word, options after operands. Where
// parsers differ, the flags of [reader] leave the forms that all of them read alike.
var readers = map[string]reader{
	// The shell's own words.
	"cd": {operands: "name", posix: true, also: oneFolder}, "pwd": {options: "-L -P"}, "true": {}, "false": {}, ":": {},
	"echo":   {operands: "text*", raw: true, prints: true},
	"printf": {operands: "text text*", raw: true, prints: true, also: printfFormat},
	"test":   {operands: "text*", raw: true, prints: true, also: testOperands}, "[": {operands: "text*", raw: true, prints: true, also: testOperands},
	"type": {options: "-a -t -p -P", operands: "word*", posix: true}, "command": {options: "-v -V", operands: "word*", posix: true, also: onlyLooksUp}, "which": {options: "-a", operands: "word*", posix: true},
	"exit": {operands: "number?"},

	// Files and folders.
	"ls":       {options: "-a -A -b -B -c -C -d -f -F -g -G -h -i -k -l -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -1 -w=number --all --almost-all --human-readable --recursive --reverse --size --directory --inode --color? --sort=word --time=word --time-style=word --full-time --group-directories-first --classify? --ignore=glob --hide=glob --format=word", operands: "name*", anyName: true},
	"tree":     {options: "-a -d -f -p -s -h -u -g -D -F -r -t -v -i -q -N -C -n -S -x -L=number -P=glob -I=glob --dirsfirst --noreport --prune --gitignore --filelimit=number --du --si --sort=word --matchdirs --charset=word", operands: "name*", apart: true, anywhere: true},
	"stat":     {options: "-f -t -x -c=text --format=text --printf=text --terse --file-system", operands: "name*", anyName: true},
	"file":     {options: "-b -i -k -h -N -r -0 --brief --mime --mime-type --mime-encoding", operands: "file*"},
	"du":       {options: "-a -h -s -c -b -k -m -x -S -d=number -t=number -B=number --all --human-readable --summarize --total --bytes --apparent-size --max-depth=number --exclude=glob --si --one-file-system --time?", operands: "name*", anyName: true},
	"df":       {options: "-a -h -H -i -k -l -m -P -T -t=word -x=word --human-readable --inodes --local --print-type --total --si", operands: "file*"},
	"basename": {options: "-a -z -s=text --multiple --suffix=text", operands: "text*", prints: true},
	"dirname":  {options: "-z", operands: "text*", prints: true},
	"realpath": {options: "-e -m -q -s -z", operands: "name*"},
	"readlink": {options: "-e -f -m -n -q -s -z", operands: "name*"},
	"find":     {operands: "text*", raw: true, prints: true, also: findExpression},
	"fd":       {options: "-H -I -s -i -g -F -a -p -0 -1 -e=word -t=word -d=number -E=glob --hidden --no-ignore --glob --extension=word --type=word --max-depth=number --exclude=glob", operands: "glob? name*", anywhere: true, spaced: true},

	// What is in files.
	"cat":    {options: "-A -b -e -E -n -s -t -T -u -v --number --show-all --squeeze-blank --number-nonblank", operands: "file*", anyName: true},
	"head":   {options: "-n=number -c=number -q -v -z --lines=number --bytes=number --quiet --verbose", operands: "file*", count: true, anyName: true},
	"tail":   {options: "-n=number -c=number -q -v -z --lines=number --bytes=number --quiet --verbose", operands: "file*", count: true, anyName: true},
	"wc":     {options: "-c -m -l -L -w --bytes --chars --lines --words --max-line-length", operands: "file*", anyName: true},
	"nl":     {options: "-b=word -n=word -s=text -w=number -v=number -i=number", operands: "file*", anyName: true},
	"rev":    {operands: "file*", anyName: true},
	"cut":    {options: "-b=text -c=text -d=text -f=text -s -z -n --bytes=text --characters=text --delimiter=text --fields=text --complement --only-delimited --output-delimiter=text", operands: "file*", anyName: true},
	"tr":     {options: "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1", operands: "text text?"},
	"sort":   {options: "-b -d -f -g -h -i -M -n -r -R -V -c -C -m -s -u -z -k=text -t=text --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --reverse --version-sort --unique --stable --check? --key=text --field-separator=text --zero-terminated --sort=word", operands: "file*"},
	"uniq":   {options: "-c -d -D -i -u -z -f=number -s=number -w=number --count --repeated --ignore-case --unique --skip-fields=number --skip-chars=number --check-chars=number", operands: "file?", posix: true, also: noPatternOperand},
	"paste":  {options: "-s -z -d=text --serial --delimiters=text", operands: "file*", anyName: true},
	"join":   {options: "-i -z -1=number -2=number -t=text -a=number -v=number -o=text -e=text -j=number --header --ignore-case", operands: "file file"},
	"comm":   {options: "-1 -2 -3 -z --total --output-delimiter=text --check-order --nocheck-order", operands: "file file"},
	"column": {options: "-t -x -s=text -c=number -o=text", operands: "file*", anyName: true},
	"fold":   {options: "-b -s -w=number", operands: "file*", count: true, anyName: true},
	"fmt":    {options: "-s -u -w=number", operands: "file*", anyName: true},
	"expand": {options: "-i -t=number", operands: "file*", anyName: true}, "unexpand": {options: "-a -t=number", operands: "file*", anyName: true},
	"diff":   {options: "-u -q -N -b -B -w -i -a -y -t -T -s -p -c -e -n -Z -E -U=number -C=number -W=number -L=text --unified? --context? --brief --color? --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --suppress-common-lines --report-identical-files --text --label=text --width=number --minimal --strip-trailing-cr", operands: "file file", count: true, also: noFolders},
	"cmp":    {options: "-b -l -s -i=number -n=number --silent --quiet --verbose --print-bytes --bytes=number --ignore-initial=number", operands: "file file number? number?"},
	"md5sum": checksum, "sha1sum": checksum, "sha224sum": checksum, "sha256sum": checksum, "sha384sum": checksum, "sha512sum": checksum, "b2sum": checksum,
	"cksum": {operands: "file*"}, "sum": {operands: "file*"}, "shasum": {options: "-a=number -b -t -U", operands: "file*", single: true},
	"od":      {options: "-A=word -t=word -j=number -N=number -w? -b -c -d -o -s -x -v", operands: "file*"},
	"hexdump": {options: "-b -c -C -d -o -x -v -n=number -s=number", operands: "file*"},
	"xxd":     {options: "-p -u -b -i -E -c=number -l=number -s=number -g=number", operands: "file?", single: true, posix: true, also: noPatternOperand},
	"grep":    {options: "-i -n -v -c -l -L -o -q -s -w -x -E -F -G -P -H -h -a -I -r -z -b -T -e=pattern -m=number -A=number -B=number -C=number --include=glob --exclude=glob --exclude-dir=glob --color? --colour? --ignore-case --line-number --invert-match --count --files-with-matches --files-without-match --only-matching --quiet --silent --no-messages --word-regexp --line-regexp --extended-regexp --fixed-strings --basic-regexp --perl-regexp --with-filename --no-filename --text --recursive --max-count=number --after-context=number --before-context=number --context=number --regexp=pattern --null", operands: "pattern file*", count: true, anyName: true, searches: true, also: checkSearch},
	"rg":      {options: "-i -n -N -v -c -l -o -q -w -x -F -s -S -U -P -H -I -p -0 -a -u -. -e=pattern -g=glob -t=word -T=word -A=number -B=number -C=number -m=number -M=number -j=number -d=number -r=text --glob=glob --iglob=glob --type=word --type-not=word --max-count=number --context=number --after-context=number --before-context=number --max-depth=number --sort=word --color=word --heading --no-heading --line-number --no-line-number --ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --invert-match --count --count-matches --files-with-matches --files-without-match --only-matching --multiline --pcre2 --hidden --no-ignore --no-ignore-vcs --no-filename --with-filename --no-messages --column --trim --stats --json --vimgrep --pretty --quiet --regexp=pattern --max-columns=number --files --type-list", operands: "pattern folder*", anywhere: true, spaced: true, searches: true, also: checkSearch},
	"jq":      {options: "-r -c -n -e -s -S -M -C -j -a -R --raw-output --compact-output --null-input --exit-status --slurp --sort-keys --monochrome-output --color-output --join-output --ascii-output --raw-input --tab --indent=number", operands: "text file*", anywhere: true, spaced: true, also: jqFilter},
	"sed":     {options: "-n -E -r -s -u -e=text --quiet --silent --regexp-extended --expression=text", operands: "text file*", also: sedScript},
	"awk":     {options: "-F=text", operands: "text file*", posix: true, also: awkProgram},
	"seq":     {options: "-w -s=text", operands: "number number? number?", posix: true},

	// The machine and the time.
	"whoami": {}, "id": {options: "-u -g -G -n -r", operands: "word?"}, "groups": {operands: "word?"}, "hostname": {options: "-s -I"}, "uname": {options: "-a -s -n -r -v -m -p -i -o"}, "arch": {}, "uptime": {options: "-p -s"}, "nproc": {options: "--all"}, "tty": {}, "free": {options: "-h -b -k -m -g -t -w --human"}, "logname": {},
	"date":  {options: "-u -R -I? -d=text --utc --date=text --iso-8601? --rfc-3339=word -r=name --reference=name", operands: "text?", also: dateFormat},
	"cal":   {options: "-1 -3 -j -m -s -y", operands: "number? number?"},
	"sleep": {operands: "number"},

	// Versions. Not rustc, cargo, yarn, pnpm or go: a file of the project can choose which
	// program they run, and go downloads it.
	"node": version("--version -v"), "npm": version("--version -v"), "python": version("--version -V"), "python3": version("--version -V"), "gcc": version("--version"), "clang": version("--version"), "make": version("--version -v"), "docker": version("--version -v"), "perl": version("--version -v"), "ruby": version("--version -v"), "bash": version("--version"), "bun": version("--version -v"), "deno": version("--version -V"),

	"git": {operands: "text*"}, // see gitReaders
}

// version returns the reader of a program that may only print its version. Without the
// option, most of these programs run the code that they read.
func version(options string) reader {
	return reader{options: options, posix: true, also: hasOption(strings.Fields(options)...)}
}

func hasOption(names ...string) func(*readerCall) string {
	return func(c *readerCall) string {
		if !c.has(names...) || len(c.args) != 1 {
			return "Runs code unless only its version is requested."
		}
		return ""
	}
}

var checksum = reader{options: "-b -t -z --binary --text --tag --zero", operands: "file*", anyName: true}

// gitReaders are the subcommands of Git whose calls can be low. The repository's configuration
// can make them run programs; the trust of its folder covers those. Revisions are text; a file
// in a revision is checked as a file.
var gitReaders = map[string]reader{
	"status":       {options: "-s -b -u? -v -z --short --branch --long --porcelain? --untracked-files? --ignored? --show-stash --ahead-behind --no-ahead-behind --renames --no-renames --column?", operands: "name*"},
	"log":          {options: gitLog, operands: "revision*", count: true, single: true},
	"show":         {options: gitLog, operands: "revision*", count: true, single: true},
	"diff":         {options: gitDiff + " --cached --staged --merge-base", operands: "revision*", single: true},
	"shortlog":     {options: "-s -n -e -c --summary --numbered --email --all --since=text --until=text --no-merges --group=text", operands: "revision revision*"},
	"blame":        {options: "-L=text -b -c -e -f -l -n -s -t -w -M -C --root --date=text --porcelain --line-porcelain --show-email --show-name --show-number --since=text --color-lines", operands: "revision revision*"},
	"rev-parse":    {options: "--abbrev-ref? --short? --verify --quiet -q --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --symbolic-full-name --all --branches? --tags? --show-current", operands: "revision*"},
	"rev-list":     {options: "--count --all --max-count=number -n=number --since=text --until=text --no-merges --merges --reverse --left-right --first-parent --abbrev-commit --oneline", operands: "revision*", count: true, single: true},
	"ls-files":     {options: "-c -d -m -o -i -s -u -k -t -v -z --cached --deleted --modified --others --ignored --stage --unmerged --exclude-standard --full-name --error-unmatch --abbrev? --eol -x=glob --exclude=glob", operands: "name*"},
	"ls-tree":      {options: "-d -r -t -l -z --name-only --name-status --long --full-name --full-tree --abbrev?", operands: "revision*"},
	"describe":     {options: "--tags --all --long --always --dirty? --contains --abbrev=number --match=glob --exclude=glob --exact-match --first-parent", operands: "revision*"},
	"cat-file":     {options: "-p -t -s -e", operands: "revision revision?", exact: true},
	"merge-base":   {options: "--all -a --is-ancestor --fork-point --octopus --independent", operands: "revision*"},
	"show-ref":     {options: "--head --heads --tags --branches --verify -q -s -d --abbrev?", operands: "revision*"},
	"for-each-ref": {options: "--format=text --sort=text --count=number --merged? --no-merged? --contains? --points-at=text", operands: "revision*"},
	"name-rev":     {options: "--name-only --tags --always", operands: "revision*"},
	"branch":       {options: "-a -r -v --all --remotes --verbose --show-current --list --no-color --color? --sort=text --format=text --contains? --merged? --no-merged?", also: gitLists("--list", "--contains", "--merged", "--no-merged"), operands: "glob*"},
	"tag":          {options: "-l -n? --list --sort=text --format=text --contains? --merged? --no-merged? --points-at?", also: gitLists("--list", "-l"), operands: "glob*"},
	"remote":       {options: "-v --verbose", operands: "word? word?", also: gitRemote},
	"stash":        {operands: "word text?", options: "-p --patch --stat --name-only --name-status -u --include-untracked --oneline", single: true, also: firstWord("list", "show")},
	"reflog":       {operands: "revision*", options: "-n=number --date=text --oneline --all", count: true, single: true, also: gitReflog},
	"worktree":     {operands: "word", options: "--porcelain -v --verbose", also: firstWord("list")},
	"version":      {}, "--version": {},
	"grep":          {options: "-i -n -v -c -l -L -o -q -w -E -F -G -P -H -h -a -I -p -W -e=pattern -A=number -B=number -C=number -m=number --ignore-case --line-number --count --name-only --files-with-matches --word-regexp --extended-regexp --fixed-strings --perl-regexp --heading --break --cached --show-function --function-context --color? --column", operands: "pattern revision*", count: true, searches: true, also: checkSearch},
	"check-ignore":  {options: "-v -q -n --verbose --no-index", operands: "name*"},
	"count-objects": {options: "-v -H"},
}

const gitDiff = "-p -u -s -w -b -a -z -R -M? -C? -U? -G=text -S=text -l=number --patch --no-patch --raw --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status --patch-with-stat --minimal --patience --histogram --diff-algorithm=word --unified=number --color? --no-color --word-diff? --color-words --find-renames? --find-copies? --no-renames --diff-filter=word --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --function-context -W --exit-code --quiet --no-ext-diff --no-textconv --text --full-index --abbrev? --relative --check --compact-summary --inter-hunk-context=number --src-prefix=text --dst-prefix=text --no-prefix --pickaxe-regex --pickaxe-all"

const gitLog = gitDiff + " -n=number -g -i -E -F -c -m -L=revision --oneline --graph --all --branches? --tags? --remotes? --decorate? --no-decorate --pretty? --format? --date=text --relative-date --abbrev-commit --no-abbrev-commit --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --merges --no-merges --first-parent --follow --reverse --max-count=number --skip=number --topo-order --date-order --author-date-order --walk-reflogs --left-right --cherry-pick --cherry-mark --cherry --boundary --source --simplify-by-decoration --full-history --ancestry-path --no-notes --notes? --cc  --no-walk --show-notes"

// revision is a Git revision or a file: HEAD~1, main..topic, HEAD:go.mod, src.
const revision kind = "revision"

func oneFolder(c *readerCall) string {
	if len(c.operands) != 1 || c.operands[0].text == "" || strings.ContainsAny(c.operands[0].text[:1], "+~-") {
		return "Not a plain change into a folder."
	}
	return ""
}

func onlyLooksUp(c *readerCall) string {
	if !c.has("-v", "-V") {
		return "Starts another program."
	}
	return ""
}

func firstWord(want ...string) func(*readerCall) string {
	return func(c *readerCall) string {
		// What follows an option is no subcommand: git stash -p list stashes the file "list".
		if len(c.args) > 0 && c.args[0].plain() && slices.Contains(want, c.args[0].text) {
			return ""
		}
		return "Not on the list of read-only subcommands."
	}
}

func gitLists(list ...string) func(*readerCall) string {
	return func(c *readerCall) string {
		if len(c.operands) > 0 && !c.has(list...) {
			return "Creates a branch or a tag unless --list is given."
		}
		return ""
	}
}

func gitRemote(c *readerCall) string {
	if len(c.operands) > 0 && c.operands[0].text != "get-url" {
		return "Not on the list of read-only subcommands."
	}
	return ""
}

func gitReflog(c *readerCall) string {
	for _, a := range c.operands {
		if !a.plain() {
			return "Not on the list of read-only subcommands."
		}
		switch a.text {
		case "expire", "delete", "drop", "write":
			return "Changes the reflog."
		}
	}
	return ""
}

func noPatternOperand(c *readerCall) string {
	for _, a := range c.operands {
		if a.glob {
			return "If the pattern matches two files, the second is overwritten."
		}
	}
	return ""
}

// noFolders refuses folders: comparing two folders reads everything in them.
func noFolders(c *readerCall) string {
	for _, a := range c.operands {
		if a.stream {
			continue
		}
		if a.glob || strings.HasSuffix(a.text, "/") || a.text == "." || c.r.isFolder(a.text) {
			return "Compares every file in the folder, secrets included."
		}
	}
	return ""
}

var plainConversions = lazyregexp.New(`%[-0-9.]*[sbqc%]`)
var numbers = lazyregexp.New(`^[-+]?[0-9]+(\.[0-9]+)?$`)

// printfFormat checks the format, because some shells evaluate the arguments of %d.
func printfFormat(c *readerCall) string {
	if len(c.operands) == 0 {
		return "An option has no value."
	}
	format := c.operands[0]
	if !format.plain() || strings.HasPrefix(format.text, "-") {
		return "The format is computed at run time."
	}
	if strings.Contains(plainConversions.ReplaceAllString(format.text, ""), "%") {
		for _, a := range c.operands[1:] {
			if !a.plain() || !numbers.MatchString(a.text) {
				return "Some shells evaluate numbers in printf, which can run commands."
			}
		}
	}
	return ""
}

var testOperators = set("-f", "-d", "-e", "-r", "-w", "-x", "-s", "-L", "-h", "-z", "-n", "!", "-a", "-o", "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "]")

func testOperands(c *readerCall) string {
	files := false
	list := c.operands
	if c.name == "[" && len(list) > 0 && list[len(list)-1].text == "]" {
		list = list[:len(list)-1]
	}
	for i, a := range c.operands {
		// A computed operand can be -v itself.
		if !a.plain() && !a.counts() && !(len(list) == 2 && i == 1 && list[0].plain() && list[0].text != "-v") && !(len(list) == 3 && i != 1 && list[1].plain() && (list[1].text == "=" || list[1].text == "==" || list[1].text == "!=")) {
			return "The condition is computed at run time."
		}
		before := ""
		if i > 0 {
			before = c.operands[i-1].text
		}
		after := ""
		if i+1 < len(c.operands) {
			after = c.operands[i+1].text
		}
		compares := func(op string) bool {
			return len(op) == 3 && op[0] == '-' && strings.Contains(" -eq -ne -lt -le -gt -ge ", " "+op+" ")
		}
		switch {
		case a.glob || a.many():
			return "The condition is computed at run time."
		case a.plain() && testOperators[a.text]:
			files = files || len(a.text) == 2 && strings.Contains("fderwxsLh", a.text[1:]) || len(a.text) == 3 && strings.Contains("-nt -ot -ef", a.text)
		case (compares(before) || compares(after)) && !a.counts() && !(a.plain() && numbers.MatchString(a.text)):
			return "Some shells evaluate the numbers they compare, which can run commands."
		case a.plain() && strings.HasPrefix(a.text, "-"), strings.ContainsAny(a.text, "[`") || strings.Contains(a.text, "$("):
			return "Not on the list of read-only tests."
		}
	}
	for _, a := range c.operands {
		if files && !a.counts() && !(a.plain() && testOperators[a.text]) {
			if why := c.r.whyNotReadable(a.operand, false); why != "" {
				return why
			}
		}
	}
	return ""
}

func dateFormat(c *readerCall) string {
	if len(c.operands) > 0 && !(c.operands[0].plain() && strings.HasPrefix(c.operands[0].text, "+")) {
		return "Sets the clock."
	}
	return ""
}

var jqReads = lazyregexp.New(`(?i)env|import|include|modulemeta|get_search_list|input_filename|debug|stderr|halt|\$__`)

func jqFilter(c *readerCall) string {
	if !c.operands[0].plain() || jqReads.MatchString(c.operands[0].text) {
		return "This filter can read the environment or other files."
	}
	return ""
}

const (
	sedRegexp  = `(?:\[\^?[A-Za-z0-9 _.,:;*+"'<>(){}|=@#%&!~-]+\]|[^/\\\n\[]|\\[^\n])*`
	sedAddress = `(?:[0-9]+|\$|/` + sedRegexp + `/)`
	sedCommand = `(?:` + sedAddress + `(?:,(?:` + sedAddress + `|\+[0-9]+))?)? *!? *(?:[pdq=]|s/` + sedRegexp + `/(?:[^/\\\n]|\\[^\n])*/[gpI0-9]*)`
)

var sedReads = lazyregexp.New(`^ *` + sedCommand + `(?: *; *` + sedCommand + `)* *;? *$`)

func sedScript(c *readerCall) string {
	scripts := append(c.values("-e"), c.values("--expression")...)
	if len(scripts) == 0 {
		scripts = c.operands[:1]
	} else if why := c.r.whyNotReadable(c.operands[0].operand, true); why != "" {
		return why
	}
	for _, s := range scripts {
		if !s.plain() || !sedReads.MatchString(s.text) {
			return "This sed script can do more than print, delete and replace lines of its output."
		}
	}
	return ""
}

var awkPrintsFields = lazyregexp.New(`^ *(?:NR *(?:==|>=|<=|!=|<|>|%) *[0-9]+(?: *&& *NR *(?:==|>=|<=|<|>) *[0-9]+)?|/[A-Za-z0-9 _.,:;-]+/)? *(?:\{ *print(?: *(?:\$[0-9]+|\$NF|NR|NF|"(?:[A-Za-z0-9 _.,:;/=-]|\\[tn])*") *,?)* *;? *\} *)?$`)

func awkProgram(c *readerCall) string {
	if !c.operands[0].plain() || c.operands[0].text == "" || !awkPrintsFields.MatchString(c.operands[0].text) {
		return "This awk program can do more than print fields."
	}
	for _, a := range c.operands[1:] {
		if strings.Contains(a.text, "=") || slices.ContainsFunc(a.each, func(one operand) bool { return strings.Contains(one.text, "=") }) {
			return "Sets an awk variable."
		}
	}
	return ""
}
