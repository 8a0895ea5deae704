package wire

import (
	"encoding/binary"
	"math/bits"
)

// jsonSpace is the white space that JSON allows between values.
const jsonSpace = " \t\r\n"

// isObject reports whether text is a JSON object without anything around it. It accepts the
// same objects as json.Valid in about a fifth of the time, which matters because it checks
// each body of each frame.
func isObject(text []byte) bool {
	return len(text) > 0 && text[0] == '{' && validValue(text, 0, 0) == len(text)
}

// maxBodyDepth bounds nesting. It leaves the rest of the 10,000 levels of encoding/json to
// the frame.
const maxBodyDepth = 9_990

// validValue returns the index after the JSON value that begins at b[i], or -1.
func validValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; c {
	case '"':
		return validString(b, i)
	case '{', '[':
		if depth == maxBodyDepth {
			return -1
		}
		return validComposite(b, i, depth+1)
	case 't':
		return validWord(b, i, "true")
	case 'f':
		return validWord(b, i, "false")
	case 'n':
		return validWord(b, i, "null")
	default:
		return validNumber(b, i)
	}
}

func validComposite(b []byte, i, depth int) int {
	object, end := b[i] == '{', byte(']')
	if object {
		end = '}'
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == end {
		return i + 1
	}
	for {
		if object {
			if i >= len(b) || b[i] != '"' {
				return -1
			}
			if i = validString(b, i); i < 0 {
				return -1
			}
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = skipSpace(b, i+1)
		}
		if i = validValue(b, i, depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case end:
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

func validWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// validString skips up to eight bytes at a time that need no check.
func validString(b []byte, i int) int {
	for i++; i < len(b); {
		if i+8 <= len(b) {
			plain := plainBytes(binary.LittleEndian.Uint64(b[i:]))
			if i += plain; plain == 8 {
				continue
			}
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			i++
		default:
			if i+1 >= len(b) {
				return -1
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if len(b)-i < 6 {
					return -1
				}
				for _, c := range b[i+2 : i+6] {
					if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
						return -1
					}
				}
				i += 6
			default:
				return -1
			}
		}
	}
	return -1
}

// plainBytes returns how many bytes of the word, the lowest first, come before the first
// quote, backslash or control character.
func plainBytes(word uint64) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^'"'*ones, word^'\\'*ones
	// Each term has the high bit of the first matching byte; a borrow may also set that of
	// a later byte.
	special := (quote-ones)&^quote | (backslash-ones)&^backslash | (word-' '*ones)&^word
	return bits.TrailingZeros64(special&high) >> 3
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func validNumber(b []byte, i int) int {
	digits := func() bool {
		start := i
		for i < len(b) && isDigit(b[i]) {
			i++
		}
		return i > start
	}
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case !digits():
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}
