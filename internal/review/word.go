package review

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// field is one argument as a command would get it.
type field struct {
	text   string
	static bool // the text is complete; otherwise it is the known part
	open   bool // an expansion outside quotes: it may become several arguments
	glob   bool // a pattern outside quotes
	place  place
	word   *syntax.Word // its source
	proc   *found       // it is the output of a command, as a file: <(…)
	// variable: the text, or part of it, is the value that the command assigned to a variable
	variable bool
}

// maxBraces bounds the expansion of braces in a word, maxFields the fields of a command.
const maxBraces = 512
const maxFields = 2_000

// splitter assembles fields from the parts of a word.
type splitter struct {
	w       *walker
	word    *syntax.Word
	quoted  bool // nothing is split
	done    []field
	now     field
	text    []byte // of now
	started bool   // now contains something, possibly the empty string in quotes
}

func (s *splitter) flush() {
	if s.started && len(s.done) <= maxFields {
		s.now.text, s.now.place, s.now.word = string(s.text), s.w.placeOf(s.word), s.word
		s.done = append(s.done, s.now)
	}
	s.now, s.text, s.started = field{static: true}, nil, false
}

func (s *splitter) add(text string) {
	s.text = append(s.text, text...)
	s.started = true
}

func (s *splitter) unknown(open bool) {
	s.now.static = false
	s.now.open = s.now.open || open
	s.started = true
}

// fields returns the arguments that a word becomes.
func (w *walker) fields(word *syntax.Word) []field {
	if word == nil {
		return nil
	}
	s := splitter{w: w, word: word, now: field{static: true}}
	s.parts(word.Parts, false)
	s.flush()
	return expandBraces(s.done)
}

// quotedFields returns the single argument that a word becomes where nothing is split, as in
// an assignment.
func (w *walker) quotedFields(word *syntax.Word) []field {
	s := splitter{w: w, word: word, quoted: true, now: field{static: true}}
	s.parts(word.Parts, false)
	s.started = true
	s.flush()
	return s.done
}

func (s *splitter) parts(parts []syntax.WordPart, quoted bool) {
	quoted = quoted || s.quoted
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			s.literal(p.Value, quoted)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = unescapeANSI(text)
			}
			s.add(addQuoteSigns.Replace(text))
		case *syntax.DblQuoted:
			s.started = true
			s.parts(p.Parts, true)
		case *syntax.ParamExp:
			s.param(p, quoted)
		case *syntax.ProcSubst:
			s.unknown(false)
			f := s.w.procs[p] // words are walked before they are split
			s.now.proc = &f
		case *syntax.ExtGlob:
			s.add(s.w.textOf(p))
			s.now.glob = true
		case *syntax.CmdSubst:
			// $(echo rm) is a common trick.
			if text, ok := s.w.echoOutput(p); ok {
				s.add(text)
			} else {
				s.unknown(!quoted)
			}
		default:
			s.unknown(!quoted)
		}
	}
}

// literal adds text of the command itself.
func (s *splitter) literal(value string, quoted bool) {
	s.started = true
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			next := value[i+1]
			if !quoted || strings.IndexByte("$`\"\\\n", next) >= 0 {
				i++
				if next == '\n' {
					continue
				}
				s.text = append(s.text, quoteSign, next)
				continue
			}
		}
		if !quoted && (c == '*' || c == '?' || c == '[' && strings.IndexByte(value[i:], ']') > 0) {
			s.now.glob = true
		}
		if quoted && strings.IndexByte("{},", c) >= 0 {
			s.text = append(s.text, quoteSign)
		}
		s.text = append(s.text, c)
	}
}

// quoteSign precedes a quoted character that braces do not act on; [expandBraces] removes it.
const quoteSign = '\x00'

// addQuoteSigns adds [quoteSign] to quoted text.
var addQuoteSigns = strings.NewReplacer("{", "\x00{", "}", "\x00}", ",", "\x00,")

func (s *splitter) param(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		s.unknown(!quoted)
		return
	}
	name := p.Param.Value
	value, known := s.w.vars[name]
	switch {
	case name == "IFS" && !known:
		value, known = " \t\n", true
	case name == "PWD" && s.w.cwd != "?":
		value, known = s.w.cwd, true
	case name == "HOME" && !known:
		value, known = "~", true
	case len(name) == 1 && strings.Contains("@*123456789", name):
		value, known = "", true     // the command itself has no arguments
		s.w.calls.incomplete = true // a function may have some
	}
	if p.Exp != nil {
		// ${x:-rm}: either value is possible.
		if !known && p.Exp.Word != nil && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull || p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
			if alt := s.w.quotedFields(p.Exp.Word); len(alt) == 1 && alt[0].static {
				s.text = append(s.text, addQuoteSigns.Replace(alt[0].text)...)
			}
		}
		s.unknown(!quoted)
		return
	}
	if !known {
		s.unknown(!quoted)
		return
	}
	s.now.variable = true
	if quoted {
		s.add(addQuoteSigns.Replace(value))
		return
	}
	for i, piece := range strings.FieldsFunc(value, blank) {
		if i > 0 || blank(rune(value[0])) {
			s.flush()
			s.now.variable = true
		}
		s.add(piece)
		if strings.ContainsAny(piece, "*?[") {
			s.now.glob = true
		}
	}
	if value != "" && blank(rune(value[len(value)-1])) {
		s.flush()
	}
}

func blank(c rune) bool { return c == ' ' || c == '\t' || c == '\n' }

// echoOutput returns the output of a substitution when it is known: $(echo rm).
func (w *walker) echoOutput(p *syntax.CmdSubst) (string, bool) {
	if len(p.Stmts) != 1 || len(p.Stmts[0].Redirs) > 0 {
		return "", false
	}
	call, ok := p.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	var words []string
	for _, arg := range call.Args {
		for _, f := range w.fields(arg) {
			if !f.static || f.glob {
				return "", false
			}
			words = append(words, f.text)
		}
	}
	switch {
	case len(words) == 2 && (words[0] == "echo" || words[0] == "printf") && !strings.ContainsAny(words[1], "%\\"):
		return words[1], true
	case len(words) == 3 && words[0] == "printf" && words[1] == "%s", len(words) == 3 && words[0] == "echo" && words[1] == "-n":
		return words[2], true
	}
	return "", false
}

// expandBraces expands {a,b} and removes the signs of quoted characters. It does not expand
// ranges such as {1..9}, and marks their fields as not static.
func expandBraces(list []field) []field {
	var out []field
	for _, f := range list {
		for _, text := range expandFirst(f.text, maxBraces) {
			g := f
			g.text = strings.ReplaceAll(text, string(quoteSign), "")
			if i := strings.Index(text, "{"); i >= 0 && strings.Contains(text[i:], "..") && strings.Contains(text[i:], "}") && (i == 0 || text[i-1] != quoteSign) {
				g.static = false
			}
			out = append(out, g)
		}
	}
	return out
}

// expandFirst expands the first braces of a text, then the next, up to limit texts.
func expandFirst(text string, limit int) []string {
	for open := 0; open < len(text) && limit > 1; open++ {
		if text[open] == quoteSign {
			open++
			continue
		}
		if text[open] != '{' || open > 0 && text[open-1] == '$' {
			continue
		}
		options, end := braceAlternatives(text, open)
		if end < 0 {
			break
		}
		if len(options) < 2 {
			continue
		}
		var out []string
		for _, o := range options {
			for _, whole := range expandFirst(o+text[end+1:], limit/len(options)) {
				if out = append(out, text[:open]+whole); len(out) >= limit {
					return out
				}
			}
		}
		return out
	}
	return []string{text}
}

// braceAlternatives returns the texts between the brace at open, its commas and its end; end
// is -1 when it has none.
func braceAlternatives(text string, open int) (options []string, end int) {
	depth, from := 0, open+1
	for i := open; i < len(text); i++ {
		switch text[i] {
		case quoteSign:
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				options = append(options, text[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				return append(options, text[from:i]), i
			}
		}
	}
	return nil, -1
}

// unescapeANSI resolves the escapes of $'…'.
func unescapeANSI(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		number := func(base, most int) {
			j := i + 1
			if base == 8 {
				j = i
			}
			end := j
			for end < len(s) && end-j < most {
				if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
					break
				}
				end++
			}
			if n, err := strconv.ParseUint(s[j:end], base, 32); err == nil {
				if base == 8 || most == 2 {
					b.WriteByte(byte(n))
				} else {
					b.WriteRune(rune(n))
				}
			}
			i = end - 1
		}
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'e', 'E':
			b.WriteByte(27)
		case 'f':
			b.WriteByte(12)
		case 'v':
			b.WriteByte(11)
		case 'x':
			number(16, 2)
		case 'u':
			number(16, 4)
		case 'U':
			number(16, 8)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			number(8, 3)
		default:
			b.WriteByte(s[i])
		}
	}
	if !utf8.ValidString(b.String()) {
		return strings.ToValidUTF8(b.String(), "\uFFFD")
	}
	return b.String()
}
