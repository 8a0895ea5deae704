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
	static bool // the text is known; otherwise it holds what is known of it
	open   bool // an expansion outside quotes: it may become several arguments
	glob   bool // a pattern outside quotes
	place  place
	word   *syntax.Word // where it comes from
	proc   *found       // it is the output of a command, as a file: <(…)
	// variable: the text, or part of it, is what a variable was given before
	variable bool
}

// maxBraces bounds what braces may grow a word to, maxFields a command.
const maxBraces = 512
const maxFields = 2_000

// splitter puts fields together out of the parts of a word.
type splitter struct {
	w      *walker
	word   *syntax.Word
	quoted bool // nothing is split
	done   []field
	now    field
	text   []byte // of now
	begun  bool   // now holds something, be it the empty string in quotes
}

func (s *splitter) flush() {
	if s.begun && len(s.done) <= maxFields {
		s.now.text, s.now.place, s.now.word = string(s.text), s.w.placeOf(s.word), s.word
		s.done = append(s.done, s.now)
	}
	s.now, s.text, s.begun = field{static: true}, nil, false
}

func (s *splitter) add(text string) {
	s.text = append(s.text, text...)
	s.begun = true
}

func (s *splitter) unknown(open bool) {
	s.now.static = false
	s.now.open = s.now.open || open
	s.begun = true
}

// fields are the arguments that a word becomes.
func (w *walker) fields(word *syntax.Word) []field {
	if word == nil {
		return nil
	}
	s := splitter{w: w, word: word, now: field{static: true}}
	s.parts(word.Parts, false)
	s.flush()
	return braces(s.done)
}

// quotedFields is the one argument that a word becomes where nothing is split, as
// in an assignment.
func (w *walker) quotedFields(word *syntax.Word) []field {
	s := splitter{w: w, word: word, quoted: true, now: field{static: true}}
	s.parts(word.Parts, false)
	s.begun = true
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
				text = ansiC(text)
			}
			s.add(signs.Replace(text))
		case *syntax.DblQuoted:
			s.begun = true
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
			// $(echo rm) is the oldest trick there is.
			if text, ok := s.w.echoed(p); ok {
				s.add(text)
			} else {
				s.unknown(!quoted)
			}
		default:
			s.unknown(!quoted)
		}
	}
}

// literal adds text that stands in the command itself.
func (s *splitter) literal(value string, quoted bool) {
	s.begun = true
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			next := value[i+1]
			if !quoted || strings.IndexByte("$`\"\\\n", next) >= 0 {
				i++
				if next == '\n' {
					continue
				}
				s.text = append(s.text, escaped, next)
				continue
			}
		}
		if !quoted && (c == '*' || c == '?' || c == '[' && strings.IndexByte(value[i:], ']') > 0) {
			s.now.glob = true
		}
		if quoted && strings.IndexByte("{},", c) >= 0 {
			s.text = append(s.text, escaped)
		}
		s.text = append(s.text, c)
	}
}

// escaped stands before a character that braces do not act on; [braces] removes it.
const escaped = '\x00'

// signs puts it before what stands in quotes.
var signs = strings.NewReplacer("{", "\x00{", "}", "\x00}", ",", "\x00,")

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
		value, known = "", true // of a command that was given none
		s.w.calls.cut = true    // a function may be given some
	}
	if p.Exp != nil {
		// ${x:-rm}: which of the two it is depends on what nobody sees here.
		if !known && p.Exp.Word != nil && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull || p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
			if alt := s.w.quotedFields(p.Exp.Word); len(alt) == 1 && alt[0].static {
				s.text = append(s.text, signs.Replace(alt[0].text)...)
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
		s.add(signs.Replace(value))
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

// echoed is what a substitution prints when that can be told: $(echo rm).
func (w *walker) echoed(p *syntax.CmdSubst) (string, bool) {
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

// braces expands {a,b} and removes the signs before what was quoted. Ranges such
// as {1..9} are left as unknown.
func braces(list []field) []field {
	var out []field
	for _, f := range list {
		for _, text := range expand(f.text, maxBraces) {
			g := f
			g.text = strings.ReplaceAll(text, string(escaped), "")
			if i := strings.Index(text, "{"); i >= 0 && strings.Contains(text[i:], "..") && strings.Contains(text[i:], "}") && (i == 0 || text[i-1] != escaped) {
				g.static = false
			}
			out = append(out, g)
		}
	}
	return out
}

// expand gives what the first braces of a text make of it, and so on.
func expand(text string, most int) []string {
	for open := 0; open < len(text) && most > 1; open++ {
		if text[open] == escaped {
			open++
			continue
		}
		if text[open] != '{' || open > 0 && text[open-1] == '$' {
			continue
		}
		options, end := alternatives(text, open)
		if end < 0 {
			break
		}
		if len(options) < 2 {
			continue
		}
		var out []string
		for _, o := range options {
			for _, whole := range expand(o+text[end+1:], most/len(options)) {
				if out = append(out, text[:open]+whole); len(out) >= most {
					return out
				}
			}
		}
		return out
	}
	return []string{text}
}

// alternatives are what stands between the brace at open, the commas that belong
// to it, and its end; -1 when it has none.
func alternatives(text string, open int) (options []string, end int) {
	depth, from := 0, open+1
	for i := open; i < len(text); i++ {
		switch text[i] {
		case escaped:
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

// ansiC reads the escapes of $'…'.
func ansiC(s string) string {
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
