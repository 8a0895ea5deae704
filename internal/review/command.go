package review

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits for one command. A command beyond them is marked unreadable, which is never low.
const (
	// MaxCommand bounds the length of a command, in bytes.
	MaxCommand = 64 << 10
	// maxNesting bounds the brackets of a command. The parser recurses for each, and a
	// goroutine that needs 1 GB of stack ends the program.
	maxNesting = 2_000
	// maxDepth bounds the nesting of commands within strings.
	maxDepth = 8
	// maxWrapped bounds the nesting of commands that run commands.
	maxWrapped = 32
	// maxValue bounds the value of a variable that is tracked, in bytes.
	maxValue = 4 << 10
	// maxMarks and maxSteps bound what is sent to a tab.
	maxMarks = 200
	maxSteps = 200
	maxStep  = 400 // bytes of the text of one step
)

// Step is one simple command. Steps are in the order of the text.
type Step struct {
	From  int // in UTF-16 units; inside a string, the position of the string
	To    int
	Text  string
	Depth int    // 0 for the command itself, more inside strings
	CWD   string // the folder, if it is not the session's; "?" when it is computed
}

// Command is the assessment of a shell command.
type Command struct {
	Level   Level
	Steps   []Step
	Marks   []Mark // in order of their start
	Problem string // why it could not be parsed completely, or ""
}

// ReadCommand assesses a shell command that would run in a place. Its level is low only if
// every part is known to only read files of the folder.
func (p Place) ReadCommand(command string) Command {
	out, file := parseRisks(command, p.Dir)
	if out.Level != Low {
		return out
	}
	if why := unproven(command, file, p); len(why) > 0 {
		out.Level, out.Marks = Medium, sortMarks(append(out.Marks, why...))
	}
	return out
}

// findRisks marks the risky parts of a command. A command that it calls low may still write
// files and run programs of the project.
func findRisks(command, cwd string) Command {
	out, _ := parseRisks(command, cwd)
	return out
}

// parseRisks is findRisks, and also returns the syntax tree, nil if there is a problem.
func parseRisks(command, cwd string) (Command, *syntax.File) {
	w := newWalker(cwd)
	w.markHidden(command)
	w.parse(command, nil, 0)
	out := Command{Level: atLeast(Low, *w.level), Problem: w.problem}
	if out.Problem != "" {
		out.Level = atLeast(out.Level, Medium)
		if mentionsRisk(command) {
			out.Level = High
		}
	}
	out.Marks, out.Steps = w.marks, w.steps
	out.Marks = sortMarks(out.Marks)
	out.Steps = out.Steps[:min(len(out.Steps), maxSteps)]
	return out, w.file
}

// sortMarks sorts marks by their start and drops the least risky beyond maxMarks.
func sortMarks(marks []Mark) []Mark {
	slices.SortStableFunc(marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(rank[b.Level], rank[a.Level]))
	})
	marks = slices.CompactFunc(marks, func(a, b Mark) bool {
		return a.From == b.From && a.To == b.To && a.Kind == b.Kind
	})
	for _, level := range []Level{Low, Medium} { // drop the lowest levels first
		if len(marks) > maxMarks {
			marks = slices.DeleteFunc(marks, func(m Mark) bool { return m.Level == level })
		}
	}
	return marks[:min(len(marks), maxMarks)]
}

// firstWords returns the words of the first simple command of a text, or nil.
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

// mentionsRisk reports whether a text that cannot be parsed contains the name of something
// risky.
func mentionsRisk(text string) bool {
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

// place is a range in the command as given, in UTF-16 units.
type place struct{ from, to int }

func brackets(src string) int {
	return strings.Count(src, "(") + strings.Count(src, "`") + strings.Count(src, "[") + strings.Count(src, "{")
}

// utf16Units counts the UTF-16 units before each byte of s; the last element is the total.
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
