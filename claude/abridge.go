package claude

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Abridger shortens a long line of the CLI while it is read, so that it need never be in
// memory as a whole: of a long text in the result of a tool it keeps the beginning. All
// else stays as it is, and the line stays JSON. The zero Abridger is ready for one line.
//
// [User.OmittedBytes] says how much is missing.
type Abridger struct {
	stack    []place
	inString bool
	escape   []byte // the escape sequence that is not whole
	isKey    bool
	name     []byte // the beginning of a key
	keeps    int    // how many bytes of the string may be kept; -1 for all
	counts   bool   // what is left out counts
	kept     int
	full     bool  // nothing more of the string is kept
	omitted  int64 // bytes that count, decoded
}

// place is a container that the current byte is in.
type place struct {
	array   bool
	wantKey bool
	key     []byte
}

const (
	// keptText is what remains of a text, in bytes as they stand in the line. Whoever
	// shows it shows less, also where each byte of it is escaped.
	keptText = 1 << 20
	// keptOutput is the same for what a tool returned beside its text. It is more than
	// anybody decodes.
	keptOutput = 5 << 20

	// maxKey is more than any key has that matters, in bytes.
	maxKey = 64

	omittedKey = "sayso_omitted_bytes"
)

// Add appends to dst what remains of the next part of the line.
func (a *Abridger) Add(dst, part []byte) []byte {
	for len(part) > 0 {
		if a.inString {
			var n int
			dst, n = a.text(dst, part)
			part = part[n:]
			continue
		}
		n := bytes.IndexAny(part, `"{}[],:`)
		if n < 0 {
			return append(dst, part...)
		}
		a.structure(part[n])
		dst = append(dst, part[:n+1]...)
		part = part[n+1:]
	}
	return dst
}

// End returns the line, of which dst is what Add returned last.
func (a *Abridger) End(dst []byte) []byte {
	end := bytes.LastIndexByte(dst, '}')
	if a.omitted == 0 || end < 0 || len(a.stack) > 0 {
		return dst
	}
	dst = append(dst[:end], `,"`+omittedKey+`":`...)
	return append(strconv.AppendInt(dst, a.omitted, 10), '}')
}

// structure takes a byte outside of strings.
func (a *Abridger) structure(b byte) {
	top := len(a.stack) - 1
	switch b {
	case '{', '[':
		a.stack = append(a.stack, place{array: b == '[', wantKey: b == '{'})
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
		a.inString, a.kept, a.full, a.name = true, 0, false, a.name[:0]
		a.isKey = top >= 0 && a.stack[top].wantKey
		a.keeps, a.counts = a.mayKeep()
	}
}

// mayKeep says how much of the string that begins may be kept.
func (a *Abridger) mayKeep() (bytes int, counts bool) {
	switch {
	case a.isKey:
	case a.in("message", "content", "", "content"), a.in("message", "content", "", "content", "", "text"):
		return keptText, true
	case len(a.stack) > 0 && string(a.stack[0].key) == "tool_use_result":
		return keptOutput, false
	}
	return -1, false
}

// in reports whether the current value is at a path; "" stands for an element of a list.
func (a *Abridger) in(path ...string) bool {
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

// text takes bytes up to the end of the string and returns how many.
func (a *Abridger) text(dst, part []byte) (out []byte, n int) {
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
	if a.keeps < 0 {
		if a.isKey && len(a.name) < maxKey {
			a.name = append(a.name, run[:min(len(run), maxKey)]...)
		}
		return append(dst, run...)
	}
	n := 0
	if !a.full {
		n = min(max(0, a.keeps-a.kept), len(run))
		for n < len(run) && !utf8.RuneStart(run[n]) { // a character is not cut
			n++
		}
		a.kept += n
		a.full = n < len(run)
	}
	if a.counts {
		a.omitted += int64(len(run) - n)
	}
	return append(dst, run[:n]...)
}

// appendEscape appends an escape sequence as a whole, or leaves it out.
func (a *Abridger) appendEscape(dst []byte) []byte {
	escape := a.escape
	a.escape = a.escape[:0]
	if a.full = a.full || a.keeps >= 0 && a.kept >= a.keeps; a.full {
		if a.counts {
			a.omitted += decodedSize(escape)
		}
		return dst
	}
	a.kept += len(escape)
	return append(dst, escape...)
}

// decodedSize is that of an escape sequence in UTF-8; the first half of a pair counts for
// both.
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
