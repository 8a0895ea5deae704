// Package visible makes untrusted text safe to print in a terminal.
//
// A terminal interprets some characters (ESC starts a control sequence), shows nothing for
// others, or shows them in a different order. A person who decides about a text must see what it
// contains, and the text must not control the terminal. So [Code] and [Prose] replace each such
// character with its name in brackets, such as [ESC] or [RLO], by the same rules as the web app
// (frontend/src/text/hidden.ts).
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// names are the common abbreviations of hidden characters.
var names = map[rune]string{
	0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0b: "VT", 0x0c: "FF", 0x0d: "CR", 0x1b: "ESC", 0x7f: "DEL", 0x85: "NEL", 0x9b: "CSI",
	0xa0: "NBSP", 0xad: "SHY", 0x034f: "CGJ", 0x061c: "ALM", 0x115f: "HCF", 0x1160: "HJF", 0x17b4: "KIV", 0x17b5: "KIV",
	0x180e: "MVS", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LSEP", 0x2029: "PSEP",
	0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO", 0x202f: "NNBSP", 0x2060: "WJ",
	0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0x2800: "BLANK", 0x3000: "IDSP", 0x3164: "HF", 0xfeff: "BOM", 0xffa0: "HHF",
}

// others are characters that are shown as nothing or as a blank and are in none of the other
// tables of IsHidden.
var others = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00a0, 0x00a0, 1}, {0x1680, 0x1680, 1}, {0x2000, 0x200a, 1}, {0x202f, 0x202f, 1}, {0x205f, 0x205f, 1},
		{0x2800, 0x2800, 1}, {0x3000, 0x3000, 1}, {0xfffc, 0xfffc, 1},
	},
	R32:         []unicode.Range32{{0x13441, 0x13446, 1}, {0x16fe4, 0x16fe4, 1}, {0x1d159, 0x1d159, 1}},
	LatinOffset: 1,
}

// IsHidden reports whether a terminal or a browser shows a character as nothing or as a blank
// other than the space, or interprets it. Tab and newline are hidden too.
func IsHidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point, others)
}

// lookalikes look like the punctuation of commands and paths.
const lookalikes = "\u01c3\u037e\u2024\u2044\u2215\u2236\u2571\u29f8\ua789"

// isFromRight reports whether a character belongs to a right-to-left script, which can reorder the
// characters next to it.
func isFromRight(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// maxMarks bounds the combining marks shown on one letter; more of them would cover other lines.
const maxMarks = 4

// Code returns a command, a path or other code with names in place of hidden characters and
// lookalikes. Tab and newline stay. Right-to-left letters are replaced with their code points,
// because a terminal may reorder the characters next to them.
func Code(text string) string { return mark(text, false) }

// Prose returns a text in a human language with names in place of its hidden characters. Tab,
// newline and the joiners of emoji stay. No-break and ideographic spaces become plain spaces.
func Prose(text string) string { return mark(text, true) }

// Line is Prose on one line, with one space in place of each run of whitespace.
func Line(text string) string {
	return strings.Join(strings.Fields(Prose(text)), " ")
}

func mark(text string, prose bool) string {
	var b strings.Builder
	marks := 0         // consecutive marks before this character
	before := rune(-1) // the previous character, -1 at the beginning
	for at, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[at:], "\ufffd"):
			fmt.Fprintf(&b, "[byte %02X]", text[at])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case prose && (r == 0xa0 || r == 0x202f || r == 0x3000):
			b.WriteByte(' ')
		case prose && joinsEmoji(text, at, r, before):
			b.WriteRune(r)
		case IsHidden(r), !prose && (isFromRight(r) || strings.ContainsRune(lookalikes, r)), unicode.Is(unicode.M, r) && (marks >= maxMarks || hasNoLetter(before)):
			b.WriteString("[" + Name(r) + "]")
		default:
			b.WriteRune(r)
		}
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		before = r
	}
	return b.String()
}

// hasNoLetter reports whether a combining mark after r has no letter to combine with, so that it
// would change a symbol.
func hasNoLetter(r rune) bool {
	return r < 0 || r == ' ' || r == '\n' || r == '\t' || r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) || IsHidden(r) && r != 0xfe0f
}

// joinsEmoji reports whether a character only joins or colors an emoji.
func joinsEmoji(text string, at int, r, before rune) bool {
	switch {
	case r == 0xfe0f:
		return unicode.In(before, unicode.So) || before == '#' || before == '*' || before >= '0' && before <= '9'
	case r == 0x200d:
		next, _ := utf8.DecodeRuneInString(text[at+len("\u200d"):])
		return (unicode.In(before, unicode.So, unicode.Sk) || before == 0xfe0f) && unicode.In(next, unicode.So)
	}
	return false
}

// Name returns the abbreviation of a hidden character, or its code point, such as U+E0041.
func Name(r rune) string {
	if name, ok := names[r]; ok {
		return name
	}
	return fmt.Sprintf("U+%04X", r)
}

// JSON escapes all hidden characters in the strings of encoded JSON, so that it can be printed in a
// terminal and still has the same meaning.
func JSON(encoded []byte) []byte {
	out := make([]byte, 0, len(encoded))
	for i := 0; i < len(encoded); {
		r, size := utf8.DecodeRune(encoded[i:])
		switch {
		case r < utf8.RuneSelf && (r >= ' ' && r != 0x7f || r == '\n' || r == '\t'), r >= utf8.RuneSelf && !IsHidden(r) && r != utf8.RuneError:
			out = append(out, encoded[i:i+size]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += size
	}
	return out
}
