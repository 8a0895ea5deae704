package claude

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Abridger shortens a long line of the CLI while it is read, so that the whole line is never in
// memory. It keeps only the beginning of a long text in a tool result. Everything else stays unchanged,
// and the line stays valid JSON. The zero Abridger is ready for one line.
//
// [User.OmittedBytes] returns the number of bytes left out.
type Abridger struct {
	stack        []container
	inString     bool
	escape       []byte // an incomplete escape sequence
	isKey        bool
	name         []byte // the beginning of a key
	limit        int    // bytes of the string to keep; -1 for all
	counted      bool   // omitted bytes of the string are counted
	kept         int
	truncated    bool  // the limit is reached
	omittedBytes int64 // decoded bytes left out of counted strings
}

// container is an object or array around the current byte.
type container struct {
	array   bool
	wantKey bool
	key     []byte
}

const (
	// maxText bounds a text, in bytes of the line. It exceeds what any client displays, even if
	// every byte is escaped.
	maxText = 1 << 20
	// maxOutput bounds a text in the structured output of a tool, in the same way. It exceeds what
	// any caller decodes.
	maxOutput = 5 << 20

	// maxKey exceeds the length of every relevant key, in bytes.
	maxKey = 64

	omittedKey = "sayso_omitted_bytes"
)

// Add appends the next part of the line to dst, shortened.
func (a *Abridger) Add(dst, part []byte) []byte {
	for len(part) > 0 {
		if a.inString {
			var n int
			dst, n = a.addText(dst, part)
			part = part[n:]
			continue
		}
		n := bytes.IndexAny(part, `"{}[],:`)
		if n < 0 {
			return append(dst, part...)
		}
		a.addStructure(part[n])
		dst = append(dst, part[:n+1]...)
		part = part[n+1:]
	}
	return dst
}

// End completes the line and returns it. dst is the last result of Add.
func (a *Abridger) End(dst []byte) []byte {
	end := bytes.LastIndexByte(dst, '}')
	if a.omittedBytes == 0 || end < 0 || len(a.stack) > 0 {
		return dst
	}
	dst = append(dst[:end], `,"`+omittedKey+`":`...)
	return append(strconv.AppendInt(dst, a.omittedBytes, 10), '}')
}

// addStructure handles a byte outside of strings.
func (a *Abridger) addStructure(b byte) {
	top := len(a.stack) - 1
	switch b {
	case '{', '[':
		a.stack = append(a.stack, container{array: b == '[', wantKey: b == '{'})
	case '}', ']':
		if top >= 0 {
			a.stack = a.stack[:top]
		}
	case ':':
		if top >= 0 {
			a.stack[top].wantKey = false
		}
	case ',':
		if top >= 0 {
			a.stack[top].wantKey = !a.stack[top].array
		}
	case '"':
		a.inString, a.kept, a.truncated, a.name = true, 0, false, a.name[:0]
		a.isKey = top >= 0 && a.stack[top].wantKey
		a.limit, a.counted = a.limitOfString()
	}
}

// limitOfString returns how many bytes of the string that starts here are kept, -1 for all, and whether
// omitted bytes are counted.
func (a *Abridger) limitOfString() (bytes int, counts bool) {
	switch {
	case a.isKey:
	case a.atPath("message", "content", "", "content"), a.atPath("message", "content", "", "content", "", "text"):
		return maxText, true
	case len(a.stack) > 0 && string(a.stack[0].key) == "tool_use_result":
		return maxOutput, false
	}
	return -1, false
}

// atPath reports whether the current value is at a path; "" matches any array element.
func (a *Abridger) atPath(path ...string) bool {
	if len(a.stack) != len(path) {
		return false
	}
	for i, p := range a.stack {
		if p.array != (path[i] == "") || !p.array && string(p.key) != path[i] {
			return false
		}
	}
	return true
}

// addText handles bytes up to the end of the string and returns their number.
func (a *Abridger) addText(dst, part []byte) (out []byte, n int) {
	for n < len(part) {
		switch c := part[n]; {
		case len(a.escape) > 0 || c == '\\':
			n++
			a.escape = append(a.escape, c)
			if size := len(a.escape); size == 6 || size == 2 && c != 'u' {
				dst = a.appendEscape(dst)
			}
		case c == '"':
			a.endString()
			return append(dst, c), n + 1
		default:
			run := bytes.IndexAny(part[n:], `"\`)
			if run < 0 {
				run = len(part) - n
			}
			dst = a.appendPlain(dst, part[n:n+run])
			n += run
		}
	}
	return dst, n
}

func (a *Abridger) appendPlain(dst, run []byte) []byte {
	if a.limit < 0 {
		if a.isKey && len(a.name) < maxKey {
			a.name = append(a.name, run[:min(len(run), maxKey)]...)
		}
		return append(dst, run...)
	}
	n := 0
	if !a.truncated {
		n = min(max(0, a.limit-a.kept), len(run))
		for n < len(run) && !utf8.RuneStart(run[n]) { // keep characters whole
			n++
		}
		a.kept += n
		a.truncated = n < len(run)
	}
	if a.counted {
		a.omittedBytes += int64(len(run) - n)
	}
	return append(dst, run[:n]...)
}

// appendEscape appends a whole escape sequence, or omits it.
func (a *Abridger) appendEscape(dst []byte) []byte {
	escape := a.escape
	a.escape = a.escape[:0]
	if a.truncated = a.truncated || a.limit >= 0 && a.kept >= a.limit; a.truncated {
		if a.counted {
			a.omittedBytes += decodedSize(escape)
		}
		return dst
	}
	a.kept += len(escape)
	return append(dst, escape...)
}

// decodedSize returns the size of an escape sequence in UTF-8. The first half of a surrogate
// pair counts for both.
func decodedSize(escape []byte) int64 {
	if len(escape) < 6 {
		return 1
	}
	code, err := strconv.ParseUint(string(escape[2:]), 16, 16)
	switch {
	case err != nil:
		return 0
	case code < 0x80:
		return 1
	case code < 0x800:
		return 2
	case 0xD800 <= code && code < 0xDC00:
		return 4
	case 0xDC00 <= code && code < 0xE000:
		return 0
	}
	return 3
}

func (a *Abridger) endString() {
	a.inString = false
	if a.isKey {
		top := &a.stack[len(a.stack)-1]
		top.key = append(top.key[:0], a.name...)
	}
}
