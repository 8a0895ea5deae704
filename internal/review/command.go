package review

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is read of one command. Beyond them it is said to be unreadable,
// which is never low.
const (
	// MaxCommand is the longest command that is read, in bytes.
	MaxCommand = 64 << 10
	// maxNesting bounds the brackets of a command: the parser calls itself for each,
	// and a goroutine that needs 1 GB of stack ends the program.
	maxNesting = 2_000
	// maxDepth is how many commands within strings within commands are followed.
	maxDepth = 8
	// maxWrapped is how many commands that run commands are followed.
	maxWrapped = 32
	// maxValue is the longest value of a variable that is followed, in bytes.
	maxValue = 4 << 10
	// maxMarks and maxSteps bound what goes to a tab.
	maxMarks = 200
	maxSteps = 200
	maxStep  = 400 // bytes of the text of one step
)

// Step is one simple command, in the order in which they stand there.
type Step struct {
	From  int // UTF-16 units; of what runs inside a string, those of the string
	To    int
	Text  string
	Depth int    // 0 for what stands in the command itself, more inside strings
	CWD   string // where it runs, when that is not where the session is; "?" when it is computed
}

// Command is what was found in one.
type Command struct {
	Level   Level
	Steps   []Step
	Marks   []Mark // in the order of where they begin
	Problem string // why it could not be read whole, "" when it was
}

// ReadCommand reads a shell command that is to run in cwd, an absolute folder of which
// nothing else is known.
func ReadCommand(command, cwd string) Command { return Place{Dir: cwd}.ReadCommand(command) }

// ReadCommand reads a shell command that is to run in a place. It is of low risk only
// when each part of it is known to only read files of the folder.
func (p Place) ReadCommand(command string) Command {
	out, file := parseRisks(command, p.Dir)
	if out.Level != Low {
		return out
	}
	if why := unproven(command, file, p); len(why) > 0 {
		out.Level, out.Marks = Medium, inOrder(append(out.Marks, why...))
	}
	return out
}

// findRisks marks what can do harm in a command. What it calls low may still write
// files and run programs of the project.
func findRisks(command, cwd string) Command {
	out, _ := parseRisks(command, cwd)
	return out
}

// parseRisks is findRisks that also returns the syntax tree, nil if there is a problem.
func parseRisks(command, cwd string) (Command, *syntax.File) {
	w := newWalker(cwd)
	w.hidden(command)
	w.parse(command, nil, 0)
	out := Command{Level: atLeast(Low, *w.level), Problem: w.problem}
	if out.Problem != "" {
		out.Level = atLeast(out.Level, Medium)
		if crude(command) {
			out.Level = High
		}
	}
	out.Marks, out.Steps = w.marks, w.steps
	out.Marks = inOrder(out.Marks)
	out.Steps = out.Steps[:min(len(out.Steps), maxSteps)]
	return out, w.file
}

// inOrder sorts marks by where they begin and keeps as many as a tab is sent.
func inOrder(marks []Mark) []Mark {
	slices.SortStableFunc(marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(rank[b.Level], rank[a.Level]))
	})
	marks = slices.CompactFunc(marks, func(a, b Mark) bool {
		return a.From == b.From && a.To == b.To && a.Kind == b.Kind
	})
	for _, level := range []Level{Low, Medium} { // what is cut is the least of it
		if len(marks) > maxMarks {
			marks = slices.DeleteFunc(marks, func(m Mark) bool { return m.Level == level })
		}
	}
	return marks[:min(len(marks), maxMarks)]
}

// firstWords are the words of the first simple command of a text, none when it has
// no such thing.
func (w *walker) firstWords(text string) []field {
	if len(text) > MaxCommand/8 {
		return nil
	}
	file, err := parseBash(text)
	if err != nil || len(file.Stmts) == 0 {
		return nil
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	w.src, w.units = text, utf16Units(text)
	var out []field
	for _, a := range call.Assigns {
		if a.Name != nil {
			out = append(out, field{text: a.Name.Value + "=", static: true})
		}
	}
	for _, word := range call.Args {
		out = append(out, w.fields(word)...)
	}
	return out
}

// crude reports whether a text that no parser reads has the name of something
// risky in it.
func crude(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '.' && c != '-'
	})
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "rm", "sudo", "eval", "exec", "source", "dd", "curl", "wget", "base64", "chmod", "chown", "kill", "shred", "-rf", "-fr":
			return true
		}
		return shells[word] || strings.HasPrefix(word, "mkfs")
	})
}

// place is where in the command as given something stands, in UTF-16 units.
type place struct{ from, to int }

func brackets(src string) int {
	return strings.Count(src, "(") + strings.Count(src, "`") + strings.Count(src, "[") + strings.Count(src, "{")
}

// utf16Units counts the UTF-16 units before each byte of s, and of all of it.
func utf16Units(s string) []int {
	units := make([]int, len(s)+1)
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		for j := range size {
			units[i+j] = n
		}
		n++
		if r >= 0x10000 {
			n++
		}
		i += size
	}
	units[len(s)] = n
	return units
}
