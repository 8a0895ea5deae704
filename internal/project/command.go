package project

import (
	"path"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
	"github.com/sayso-dev/sayso/internal/review"
)

// commandRuling returns the ruling on a shell command. It checks every program that the
// command runs, wherever and however it is written, the text of the command, and the files
// that it is known to read and write. dir is the shell's current folder.
func (p Project) commandRuling(rules []Rule, command, dir string, c Call) Ruling {
	edits, reads := p.rulesFor("Edit", "Write", "MultiEdit", "NotebookEdit"), p.rulesFor("Read")
	if len(rules)+len(edits)+len(reads) == 0 {
		return Ruling{Effect: Allow}
	}
	calls, complete := review.Invocations(command, dir)
	var parts []part
	for _, v := range calls {
		for _, words := range commandForms(v) {
			parts = append(parts, invocationPart(v, words))
		}
	}
	var all Ruling
	switch bare := len(calls) == 1 && isFullyKnown(calls[0]) && strings.Join(strings.Fields(command), " ") == strings.Join(invocationWords(calls[0]), " "); {
	case complete || len(rules) == 0:
		all = decide(rules, parts)
	case bare && slices.ContainsFunc(rules, func(r Rule) bool { return r.Pattern == "" || parts[0].matches(r) }):
		// A rule names this program, and its effects are unknown.
		all = decide(rules, parts)
	default:
		all = unreadRuling(rules)
	}
	all = stricterRuling(all, writtenRuling(rules, command, parts))
	if anyRestricts(edits) {
		all = stricterRuling(all, p.writesRuling(edits, command, calls, complete, c))
	}
	if anyRestricts(reads) {
		all = stricterRuling(all, p.readsRuling(reads, command, calls, c))
	}
	return all
}

// anyRestricts reports whether any of the rules restricts who may approve.
func anyRestricts(rules []Rule) bool { return slices.ContainsFunc(rules, Rule.restricts) }

// invocationWords returns a program and its arguments, unquoted.
func invocationWords(v review.Invocation) []string {
	words := []string{v.Word}
	for _, a := range v.Args {
		words = append(words, a.Text)
	}
	return words
}

// isFullyKnown reports whether nothing about an invocation is unknown: its name is looked up in
// PATH, all of its arguments are known, and it redirects nothing to a file.
func isFullyKnown(v review.Invocation) bool {
	return v.Program != "" && !strings.Contains(v.Word, "/") &&
		!slices.ContainsFunc(v.Args, func(a review.Argument) bool { return !a.Known || a.Many }) &&
		!slices.ContainsFunc(v.Redirections, func(r review.Redirection) bool { return r.Writes && r.Path != "/dev/null" })
}

// commandForm is one reading of a program's invocation.
type commandForm struct {
	program string
	args    []review.Argument
}

// commandForms lists the readings of an invocation: as it is written, by its base name, and
// without the options before its subcommand.
func commandForms(v review.Invocation) []commandForm {
	list := []commandForm{{v.Program, v.Args}}
	if len(v.Subcommand) != len(v.Args) {
		list = append(list, commandForm{v.Program, v.Subcommand})
	}
	if !strings.EqualFold(v.Word, v.Program) {
		list = append(list, commandForm{v.Word, v.Args})
	}
	return list
}

// invocationPart returns the part for one reading of an invocation.
func invocationPart(v review.Invocation, words commandForm) part {
	text := words.text()
	plain := isFullyKnown(v)
	return part{matches: func(r Rule) bool {
		if !r.restricts() {
			return plain && matches(r.Pattern, text)
		}
		return r.matchesText(text) || r.matchesInvocation(words, v.Program)
	}}
}

// text returns a reading as one line. Blanks inside an argument become non-breaking, so that
// they match no blank between arguments.
func (w commandForm) text() string {
	words := []string{w.program}
	for _, a := range w.args {
		words = append(words, strings.Map(func(c rune) rune {
			if strings.ContainsRune(" \t\r\n", c) {
				return '\u00a0'
			}
			return c
		}, a.Text))
	}
	return strings.Join(words, " ")
}

// writtenRuling returns the ruling on a command's text, for patterns that span several
// programs. It checks only rules that come before the last of the rules that decide about a part.
func writtenRuling(rules []Rule, command string, parts []part) Ruling {
	texts := []string{strings.TrimSpace(command), strings.Join(strings.Fields(command), " ")}
	for _, one := range strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(";|&<>`$(){}\\\n\r", c) }) {
		texts = append(texts, strings.TrimSpace(one))
	}
	last := -1
	for _, one := range parts {
		i := decidingRule(rules, one)
		if i < 0 {
			i = len(rules)
		}
		last = max(last, i)
	}
	if len(parts) == 0 {
		last = len(rules)
	}
	for _, r := range rules[:last] {
		if r.restricts() && r.Pattern != "" && slices.ContainsFunc(texts, r.matchesText) {
			return r.ruling()
		}
	}
	return Ruling{Effect: Allow}
}

// matchesInvocation compares the words of a pattern with a program and its arguments. Options
// may be added, joined, spelled out or reordered, and more arguments may follow. Use it only
// for rules that restrict.
func (r Rule) matchesInvocation(w commandForm, program string) bool {
	pattern := strings.Fields(strings.ToLower(r.Pattern))
	name := pattern[0]
	if !matches(name, strings.ToLower(w.program)) && !(strings.Contains(name, "/") && matches(path.Base(name), program)) {
		return false
	}
	var plain, options []string
	for _, word := range pattern[1:] {
		if strings.HasPrefix(word, "-") && word != "-" && word != "--" {
			options = append(options, word)
		} else if word != "--" {
			plain = append(plain, word)
		}
	}
	given := func(option string) bool {
		return slices.ContainsFunc(w.args, func(a review.Argument) bool { return matchesOption(option, a, program) })
	}
	for _, o := range options {
		if given(o) {
			continue
		}
		letters := strings.TrimRight(o[1:], "*")
		if len(letters) < 2 || letters[0] == '-' {
			return false
		}
		for _, letter := range letters {
			if !given("-" + string(letter)) {
				return false
			}
		}
	}
	return matchesArguments(plain, w.args)
}

// matchesArguments reports whether the words of a pattern occur in order among arguments.
// Options may come between, and arguments that may be the value of one. An unknown argument
// may be any word.
func matchesArguments(pattern []string, args []review.Argument) bool {
	// reached[i]: the first i words have been found so far.
	reached := make([]bool, len(pattern)+1)
	reached[0] = true
	for i := 0; i < len(pattern) && pattern[i] == "*"; i++ {
		reached[i+1] = true
	}
	value := false // the argument may be the value of the option before it
	for _, a := range args {
		if reached[len(pattern)] {
			return true
		}
		option := strings.HasPrefix(a.Text, "-") && a.Text != "-"
		next := make([]bool, len(pattern)+1)
		for i, ok := range reached {
			if !ok {
				continue
			}
			if option || value || !a.Known || a.Many {
				next[i] = true
			}
			if i > 0 && pattern[i-1] == "*" {
				next[i] = true
			}
			for j := i; j < len(pattern) && (!a.Known || a.Many || matches(pattern[j], strings.ToLower(a.Text))); j++ {
				next[j+1] = true
				if pattern[j] != "*" && !a.Many {
					break
				}
			}
		}
		for i := range pattern {
			if next[i] && pattern[i] == "*" {
				next[i+1] = true
			}
		}
		reached, value = next, option && !strings.Contains(a.Text, "=") && a.Text != "--"
	}
	return reached[len(pattern)]
}

// matchesOption compares an option of a pattern with an argument. "-f" matches arguments with
// that letter and long names that begin with it; "--force" matches "--forc", "--force=x" and
// "-f".
func matchesOption(pattern string, a review.Argument, program string) bool {
	text := strings.ToLower(a.Text)
	if !a.Known || a.Many || matches(pattern, text) {
		return true
	}
	wanted := strings.TrimRight(strings.TrimLeft(pattern, "-"), "*")
	if wanted == "" {
		return strings.HasPrefix(text, "-")
	}
	if program == "git" && (wanted[0] == 'f' && strings.HasPrefix(text, "+") || wanted[0] == 'd' && strings.HasPrefix(text, ":")) {
		return true // in a refspec, + forces and : deletes
	}
	name, isLong := strings.CutPrefix(text, "--")
	name, _, _ = strings.Cut(name, "=")
	wantsLong := strings.HasPrefix(pattern, "--")
	switch {
	case isLong && wantsLong:
		wanted, _, _ = strings.Cut(wanted, "=")
		return len(name) > 1 && strings.HasPrefix(wanted, name) || strings.HasPrefix(name, wanted)
	case isLong:
		return len(wanted) == 1 && strings.HasPrefix(name, wanted)
	case len(text) > 1 && text[0] == '-':
		return (wantsLong || len(wanted) == 1) && strings.IndexByte(text[1:], wanted[0]) >= 0
	}
	return false
}

// writesRuling returns the ruling on the files that a command is known to write, by the rules
// for tools that edit files. Which other files a program writes is unknown. So a rule with a
// pattern applies to the files that a program is given as arguments, and a rule without a
// pattern to the programs that write such files.
func (p Project) writesRuling(rules []Rule, command string, calls []review.Invocation, complete bool, c Call) Ruling {
	all := Ruling{Effect: Allow}
	named := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Pattern == "" })
	if !complete {
		all = decide(named, []part{{matches: func(r Rule) bool { return r.restricts() && r.isMentionedIn(command) }}})
	}
	for _, v := range calls {
		for _, to := range v.Redirections {
			if to.Writes && !strings.HasPrefix(to.Path, "/dev/") {
				all = stricterRuling(all, decide(rules, p.fileParts(c, to.Path, v.Dir)))
			}
		}
		if onlyReads(v) {
			continue
		}
		apply := named
		if copies[v.Program] {
			apply = rules
		}
		names, known := operands(v, false)
		if !known && (copies[v.Program] || writers[v.Program]) {
			all = stricterRuling(all, unreadRuling(apply))
		}
		for _, name := range names {
			all = stricterRuling(all, decide(apply, p.fileParts(c, name, v.Dir)))
			all = stricterRuling(all, decide(named, p.folderParts(c, name, v.Dir)))
		}
		if unpackers[v.Program] || v.Program == "git" && len(v.Subcommand) > 0 && v.Subcommand[0].Text == "apply" {
			all = stricterRuling(all, decide(named, p.folderParts(c, ".", v.Dir)))
		}
	}
	return all
}

// isMentionedIn reports whether a command contains the longest literal text of the pattern.
func (r Rule) isMentionedIn(command string) bool {
	longest := ""
	for _, text := range strings.Split(strings.ToLower(r.Pattern), "*") {
		if text = strings.Trim(text, "/"); len(text) > len(longest) {
			longest = text
		}
	}
	return strings.Contains(strings.ToLower(command), longest)
}

// folderParts returns the parts for a folder that may contain files with rules.
func (p Project) folderParts(c Call, folder, dir string) (parts []part) {
	for _, name := range c.pathsOf(folder, dir) {
		forms := p.namesIn(c, name)
		parts = append(parts, part{matches: func(r Rule) bool {
			return r.restricts() && r.Pattern != "" && slices.ContainsFunc(forms, r.mayContain)
		}})
	}
	return parts
}

// readsRuling returns the ruling on the files that a command names, by the rules for tools
// that read files. A rule without a pattern applies only to the tools, not to commands.
func (p Project) readsRuling(rules []Rule, command string, calls []review.Invocation, c Call) Ruling {
	all := Ruling{Effect: Allow}
	rules = slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Pattern == "" })
	hidden, globs := expandsToHidden(command, calls), 0
	for _, v := range calls {
		for _, from := range v.Redirections {
			if !from.Writes {
				all = stricterRuling(all, decide(rules, p.fileParts(c, from.Path, v.Dir)))
			}
		}
		names, known := operands(v, true)
		if !known && disclosers[v.Program] {
			all = stricterRuling(all, unreadRuling(rules))
		}
		for _, name := range names {
			all = stricterRuling(all, decide(rules, p.fileParts(c, name, v.Dir)))
		}
		for _, a := range v.Args {
			if !a.Glob || printsOnly(v) {
				continue
			}
			if globs++; globs > maxGlobs {
				return stricterRuling(all, unreadRuling(rules))
			}
			all = stricterRuling(all, decide(rules, p.globParts(c, a.Text, v.Dir, hidden)))
		}
	}
	return all
}

// maxGlobs bounds the globs of a command that are compared with rules, because comparing two
// patterns takes long.
const maxGlobs = 20

// expandsToHidden reports whether the globs of a command may match names that begin with a dot,
// which needs an option of the shell.
func expandsToHidden(command string, calls []review.Invocation) bool {
	return strings.Contains(command, "GLOBIGNORE") || slices.ContainsFunc(calls, func(v review.Invocation) bool {
		return v.Program == "shopt" || v.Program == "setopt" || v.Program == "emulate" || slices.ContainsFunc(v.Args, func(a review.Argument) bool {
			name := strings.ToLower(strings.ReplaceAll(a.Text, "_", ""))
			return strings.Contains(name, "dotglob") || strings.Contains(name, "globdots")
		})
	})
}

// printsOnly reports whether a program prints its arguments and uses none as a file.
func printsOnly(v review.Invocation) bool { return v.Program == "echo" || v.Program == "printf" }

// operands lists the arguments of a program that may name files: all that are not options, and
// the values joined to options. reading includes files that are only read, and the known text
// of arguments that are not fully known; globs and outputs of commands are then left out.
// complete is false when there may be more.
func operands(v review.Invocation, reading bool) (names []string, complete bool) {
	if printsOnly(v) {
		return nil, true
	}
	complete = true
	plain := 0 // non-option arguments so far
	for i, a := range v.Args {
		text := a.Text
		if a.Many || !a.Known {
			if reading && (a.Glob || a.Output) {
				continue
			}
			if complete = false; !reading {
				continue
			}
		}
		switch {
		case strings.HasPrefix(text, "-"):
			if _, value, ok := strings.Cut(text, "="); ok {
				names = append(names, value)
			} else if len(text) > 2 && text[1] != '-' {
				names = append(names, text[2:])
			}
			continue
		case v.Program == "dd":
			name, value, _ := strings.Cut(text, "=")
			if name == "if" && !reading {
				continue
			}
			text = value
		case !reading && (v.Program == "cp" || v.Program == "install"):
			// The last operand is written, unless an option names another target.
			if i < len(v.Args)-1 && !slices.ContainsFunc(v.Args, func(a review.Argument) bool {
				return strings.HasPrefix(a.Text, "-") && (strings.Contains(a.Text, "t") || !a.Known)
			}) {
				continue
			}
		case !reading && v.Program == "sed":
			if plain++; plain == 1 {
				complete = complete && !sedWrites.MatchString(text)
			}
		}
		if text != "" {
			names = append(names, text)
		}
	}
	return names, complete
}

// sedWrites matches what may be a command of sed that writes a file.
var sedWrites = lazyregexp.New(`[wW]\s*[^\s;}]`)

// copies are the programs that write all of their operands, or the last one. writers change
// their operands in other ways. unpackers write files that their input names.
var (
	copies    = set("tee", "dd", "cp", "mv", "install", "ln", "sponge", "truncate")
	writers   = set("sed", "perl", "rm", "rmdir", "unlink", "shred", "touch", "mkdir", "chmod", "chown", "chgrp", "setfacl", "rsync", "scp")
	unpackers = set("tar", "bsdtar", "unzip", "7z", "cpio", "patch", "unrar", "ar")
)

// disclosers are the programs that print, copy, move or link the files that they are given. If
// such a file is unknown, it may be any. For other programs that would restrict far too much:
// every commit whose message is computed, for example.
var disclosers = set("cat", "tac", "head", "tail", "grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "cmp", "comm", "cut", "nl", "od", "hexdump", "xxd", "strings", "base64", "base32", "less", "more", "bat", "sort", "uniq", "shuf", "paste", "join", "fold", "fmt", "pr", "rev", "column", "expand", "unexpand", "iconv", "jq", "yq",
	"awk", "gawk", "mawk", "nawk", "sed", "perl", "cp", "mv", "install", "ln", "dd", "rsync", "scp", "tar", "bsdtar", "cpio", "zip", "7z", "gzip", "bzip2", "xz", "zstd", "split", "csplit", "openssl", "gpg")

// readers are the programs that write none of their operands, unless an option says so.
var readers = set("cat", "tac", "head", "tail", "grep", "egrep", "fgrep", "rg", "ag", "ls", "ll", "stat", "file", "wc", "diff", "cmp", "comm", "cut", "tr", "nl", "od", "hexdump",
	"md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "basename", "dirname", "realpath", "readlink", "test", "[", "jq", "du", "df", "cd", "pushd", "popd", "pwd", "which", "type", "command", "env", "xargs",
	"nohup", "nice", "time", "timeout", "stdbuf", "sudo", "true", "false", "exit", "export", "bash", "sh", "zsh", "dash", "find", "tree", "sort", "git", "sleep", "date", "ps", "id", "whoami", "uname", "less", "more")

// gitReads are the subcommands of git that change no file of the work tree.
var gitReads = set("status", "log", "diff", "show", "blame", "add", "ls-files", "ls-tree", "grep", "commit", "push", "fetch", "rev-parse", "describe", "branch", "tag", "remote", "shortlog", "reflog", "rev-list", "cat-file", "config")

// onlyReads reports whether a program writes none of its operands.
func onlyReads(v review.Invocation) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(v.Args, func(a review.Argument) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(a.Text, name) })
		})
	}
	switch v.Program {
	case "git":
		return len(v.Subcommand) > 0 && gitReads[v.Subcommand[0].Text] && !has("--output", "-o")
	case "find":
		return !has("-delete", "-fprint", "-fls")
	case "sort", "tree":
		return !has("-o", "--o")
	case "uniq":
		names, known := operands(v, false)
		return known && len(names) < 2
	case "sed":
		_, known := operands(v, false)
		return known && !has("--i") && !slices.ContainsFunc(v.Args, func(a review.Argument) bool {
			return strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--") && strings.Contains(a.Text, "i")
		})
	case "awk":
		return true
	}
	return readers[v.Program]
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}
