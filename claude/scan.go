package claude

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrMalformed means that a line is not one JSON object.
var ErrMalformed error = protocolError("line is not a JSON object")

// maxDepth bounds nesting, as encoding/json does: a line of a million brackets is refused
// before it can exhaust the stack of a decoder.
const maxDepth = 10_000

func malformed(offset int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, offset)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at b[i], or -1. It jumps from
// quote to quote; a quote after an odd number of backslashes is escaped.
func skipString(b []byte, i int) int {
	start := i + 1
	j := start
	for {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return -1
		}
		j += n
		k := j
		for k > start && b[k-1] == '\\' {
			k--
		}
		j++
		if (j-1-k)&1 == 0 {
			return j
		}
	}
}

// skipComposite returns the index after the object or array that begins at b[i], or -1. It
// only matches brackets.
func skipComposite(b []byte, i int) int {
	var kinds uint64   // one bit per level, the innermost lowest; set for objects
	var outer []uint64 // the kinds of the outer levels, 64 per element
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			if depth == maxDepth {
				return -1
			}
			if depth > 0 && depth%64 == 0 {
				outer = append(outer, kinds)
			}
			kinds <<= 1
			if b[i] == '{' {
				kinds |= 1
			}
			depth++
		case '}', ']':
			if (kinds&1 == 1) != (b[i] == '}') {
				return -1
			}
			kinds >>= 1
			depth--
			if depth == 0 {
				return i + 1
			}
			if depth%64 == 0 {
				kinds, outer = outer[len(outer)-1], outer[:len(outer)-1]
			}
		}
		i++
	}
	return -1
}

// skipValue returns the index after the value that begins at b[i], or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipComposite(b, i)
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n':
		for i++; i < len(b); i++ {
			switch b[i] {
			case ',', '}', ']', ' ', '\t', '\r', '\n':
				return i
			}
		}
		return i
	}
	return -1
}

// field is one member of an object. Both parts are spans of the object's bytes: the key
// without quotes, unescaped if it contained an escape; the value unchanged.
type field struct{ key, value []byte }

// object walks over the object that begins at b[i] and returns the index after it. It calls
// member with each unescaped key and the index of its value; member returns the index after
// the value, or -1.
func object(b []byte, i int, member func(key []byte, i int) int) (int, error) {
	if i >= len(b) || b[i] != '{' {
		return 0, malformed(i, "no object")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return 0, malformed(i, "no key")
		}
		e := skipString(b, i)
		if e < 0 {
			return 0, malformed(i, "open string")
		}
		key := b[i+1 : e-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			s, ok := unquote(b[i:e])
			if !ok {
				return 0, malformed(i, "bad escape in a key")
			}
			key = []byte(s)
		}
		i = skipSpace(b, e)
		if i >= len(b) || b[i] != ':' {
			return 0, malformed(i, "no colon")
		}
		i = skipSpace(b, i+1)
		e = member(key, i)
		if e < 0 {
			return 0, malformed(i, "bad value")
		}
		i = skipSpace(b, e)
		if i >= len(b) {
			return 0, malformed(i, "open object")
		}
		switch b[i] {
		case '}':
			return i + 1, nil
		case ',':
			i = skipSpace(b, i+1)
		default:
			return 0, malformed(i, "no comma")
		}
	}
}

// array walks over the array that begins at b[i] and returns the index after it. It calls
// element with the index of each element; element returns the index after it, or -1.
func array(b []byte, i int, element func(i int) int) (int, error) {
	if i >= len(b) || b[i] != '[' {
		return 0, malformed(i, "no array")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		e := element(i)
		if e < 0 {
			return 0, malformed(i, "bad value")
		}
		i = skipSpace(b, e)
		if i >= len(b) {
			return 0, malformed(i, "open array")
		}
		switch b[i] {
		case ']':
			return i + 1, nil
		case ',':
			i = skipSpace(b, i+1)
		default:
			return 0, malformed(i, "no comma")
		}
	}
}

// appendFields appends the members of the object b, in order, to dst.
func appendFields(dst []field, b []byte) ([]field, error) {
	i, err := object(b, skipSpace(b, 0), func(key []byte, i int) int {
		e := skipValue(b, i)
		if e >= 0 {
			dst = append(dst, field{key, b[i:e:e]})
		}
		return e
	})
	if err != nil {
		return dst, err
	}
	return dst, end(b, i)
}

// appendElements appends the elements of the array b, in order, to dst.
func appendElements(dst [][]byte, b []byte) ([][]byte, error) {
	i, err := array(b, skipSpace(b, 0), func(i int) int {
		e := skipValue(b, i)
		if e >= 0 {
			dst = append(dst, b[i:e:e])
		}
		return e
	})
	if err != nil {
		return dst, err
	}
	return dst, end(b, i)
}

func end(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		return malformed(i, "bytes after the end")
	}
	return nil
}

// unquote decodes a quoted JSON string. Invalid UTF-8 and lone surrogates become U+FFFD. It returns
// false if v is not a string.
func unquote(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return "", false
	}
	v = v[1 : len(v)-1]
	if !utf8.Valid(v) {
		v = replaceInvalid(v)
	}
	return unescapeAll(v)
}

// unescapeAll decodes the inside of a JSON string of valid UTF-8. Escapes are close together
// in source code, so it copies eight bytes at a time until it sees one: searching for the next
// escape would cost more than the copy.
func unescapeAll(v []byte) (string, bool) {
	i := bytes.IndexByte(v, '\\')
	if i < 0 {
		return string(v), true
	}
	var out strings.Builder
	out.Grow(len(v))
	out.Write(v[:i])
	var decoded [512]byte // decoded bytes that are not yet in out
	n := 0
	for i < len(v) {
		if n > len(decoded)-8-utf8.UTFMax { // room for eight bytes and the character of an escape
			out.Write(decoded[:n])
			n = 0
		}
		if i+8 <= len(v) {
			word := binary.LittleEndian.Uint64(v[i:])
			binary.LittleEndian.PutUint64(decoded[n:], word)
			plain := beforeBackslash(word)
			i, n = i+plain, n+plain
			if plain == 8 {
				continue
			}
		} else if v[i] != '\\' {
			decoded[n] = v[i]
			i, n = i+1, n+1
			continue
		}
		if i+1 < len(v) {
			if c := simpleEscapes[v[i+1]]; c != 0 {
				decoded[n] = c
				i, n = i+2, n+1
				continue
			}
		}
		r, size := unescape(v[i:])
		if size == 0 {
			return "", false
		}
		i, n = i+size, n+utf8.EncodeRune(decoded[n:], r)
	}
	out.Write(decoded[:n])
	return out.String(), true
}

// beforeBackslash returns how many bytes of the word, the lowest first, precede the first
// backslash: 8 when it has none.
func beforeBackslash(word uint64) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	x := word ^ '\\'*ones
	return bits.TrailingZeros64((x-ones)&^x&high) >> 3
}

// simpleEscapes maps the character of a short escape to its value.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// unquotePrefix decodes the inside of a JSON string: as many whole characters as fit into
// limit bytes, and the decoded size of the whole string.
func unquotePrefix(v []byte, limit int) (prefix string, size int) {
	if !utf8.Valid(v) {
		v = replaceInvalid(v)
	}
	var out strings.Builder
	full := false
	put := func(s []byte) {
		size += len(s)
		if full {
			return
		}
		if full = out.Len()+len(s) > limit; full {
			s = s[:limit-out.Len()]
			for len(s) > 0 && !utf8.Valid(s) { // at most three times: the input is valid
				s = s[:len(s)-1]
			}
		}
		out.Write(s)
	}
	var scratch [utf8.UTFMax]byte
	for {
		n := bytes.IndexByte(v, '\\')
		if n < 0 {
			put(v)
			return out.String(), size
		}
		put(v[:n])
		r, w := unescape(v[n:])
		if w == 0 {
			return out.String(), size
		}
		put(utf8.AppendRune(scratch[:0], r))
		v = v[n+w:]
	}
}

// replaceInvalid replaces every byte of invalid UTF-8 with U+FFFD, as encoding/json does.
func replaceInvalid(v []byte) []byte {
	out := make([]byte, 0, len(v)+16)
	for len(v) > 0 {
		r, w := utf8.DecodeRune(v)
		out = utf8.AppendRune(out, r)
		v = v[w:]
	}
	return out
}

// unescape decodes the escape at the start of v and returns its length, 0 when there is none.
func unescape(v []byte) (r rune, size int) {
	if len(v) < 2 {
		return 0, 0
	}
	if c := simpleEscapes[v[1]]; c != 0 {
		return rune(c), 2
	}
	if v[1] != 'u' {
		return 0, 0
	}
	r, ok := hex4(v[2:])
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(v) >= 12 && v[6] == '\\' && v[7] == 'u' {
		if low, ok := hex4(v[8:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(v []byte) (rune, bool) {
	if len(v) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range v[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// text decodes the string v. It returns "" for any other type, because a field of an unexpected type
// must not make the message unreadable.
func text(v []byte) string {
	s, _ := unquote(v)
	return s
}

func isTrue(v []byte) bool { return string(v) == "true" }

func number(v []byte) int {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		f, _ := strconv.ParseFloat(string(v), 64)
		return int(f)
	}
	return n
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
