// Package ellipsis truncates texts for people and marks the cut with "…".
package ellipsis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const mark = "…"

// Bytes returns a text of at most maxBytes unchanged. It truncates a longer text to maxBytes, not
// counting the "…" that it appends. It cuts between characters and drops invalid UTF-8.
func Bytes(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "") + mark
}

// Runes returns a text of at most maxRunes characters unchanged. It truncates a longer text to at
// most maxRunes characters, the last of which is "…", without white space before it.
func Runes(text string, maxRunes int) string {
	if utf8.RuneCountInString(text) <= maxRunes {
		return text
	}
	n := 0
	for end := range text {
		if n++; n == maxRunes {
			return strings.TrimRightFunc(text[:end], unicode.IsSpace) + mark
		}
	}
	return ""
}
