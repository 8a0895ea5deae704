package rule

import (
	"strings"
	"unicode/utf8"
)

// Glob reports whether text matches pattern, in which * matches any characters, including none,
// and \* and \\ match * and \. Its time is at most proportional to the product of both lengths.
func Glob(pattern, text string) bool {
	return matchTokens(parseGlob(pattern, false), text)
}

// Path reports whether the elements of a path match those of a pattern. In an element, * matches
// any characters, ? one, and [a-z] one of a class; the element ** matches any number of
// elements, including none. Its time is at most proportional to the product of both lengths.
func Path(pattern, names []string) bool {
	parsed := make([][]token, len(pattern))
	for i, p := range pattern {
		if p != "**" {
			parsed[i] = parseGlob(p, true)
		}
	}
	// Backtracking to the last ** is enough.
	p, n, star, from := 0, 0, -1, 0
	for n < len(names) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, from = p, n
			p++
		case p < len(pattern) && matchTokens(parsed[p], names[n]):
			p, n = p+1, n+1
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// token is one element of a pattern.
type token struct {
	kind  kind
	char  rune
	class string // between the brackets
}

type kind int

const (
	literal kind = iota
	anyText      // *
	anyChar      // ?
	oneOf        // [a-z], [!a-z]
)

// parseGlob parses a pattern. With names, ? and [] are special, and a backslash escapes any
// character.
func parseGlob(pattern string, names bool) (tokens []token) {
	for i := 0; i < len(pattern); {
		c, size := utf8.DecodeRuneInString(pattern[i:])
		rest := pattern[i+size:]
		t := token{char: c}
		switch {
		case c == '*':
			t.kind = anyText
		case c == '?' && names:
			t.kind = anyChar
		case c == '[' && names:
			if end := strings.IndexByte(rest[min(1, len(rest)):], ']'); end >= 0 {
				t.kind, t.class = oneOf, rest[:end+1]
				size += end + 2
			}
		case c == '\\' && rest != "" && (names || rest[0] == '*' || rest[0] == '\\'):
			next, more := utf8.DecodeRuneInString(rest)
			t.char = next
			size += more
		}
		i += size
		if t.kind == anyText && len(tokens) > 0 && tokens[len(tokens)-1].kind == anyText {
			continue
		}
		tokens = append(tokens, t)
	}
	return tokens
}

func matchTokens(tokens []token, text string) bool {
	// Backtracking to the last * is enough.
	p, n, star, from := 0, 0, -1, 0
	for n < len(text) {
		c, size := utf8.DecodeRuneInString(text[n:])
		switch {
		case p < len(tokens) && tokens[p].kind == anyText:
			star, from = p, n
			p++
		case p < len(tokens) && tokens[p].matchesRune(c):
			p, n = p+1, n+size
		case star >= 0:
			_, size := utf8.DecodeRuneInString(text[from:])
			from += size
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(tokens) && tokens[p].kind == anyText {
		p++
	}
	return p == len(tokens)
}

func (t token) matchesRune(c rune) bool {
	switch t.kind {
	case anyChar:
		return true
	case oneOf:
		return classContains(t.class, c)
	}
	return t.char == c
}

func classContains(class string, c rune) bool {
	list := []rune(class)
	not := len(list) > 0 && (list[0] == '!' || list[0] == '^')
	if not {
		list = list[1:]
	}
	found := false
	for i := 0; i < len(list); i++ {
		from, to := list[i], list[i]
		if i+2 < len(list) && list[i+1] == '-' {
			to = list[i+2]
			i += 2
		}
		found = found || from <= c && c <= to
	}
	return found != not
}
