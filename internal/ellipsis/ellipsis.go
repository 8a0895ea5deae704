// Package ellipsis truncates texts for people and marks where it did.
package ellipsis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const mark = "…"

// Bytes returns a text of at most maxBytes unchanged. Of a longer one it returns the first
// maxBytes, which do not count the "…" that follows them. It cuts between characters and drops
// invalid UTF-8.
func Bytes(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "") + mark
}

// Runes returns a text of at most maxRunes characters unchanged. A longer one becomes at most
// maxRunes characters, the last of which is "…", without white space before it.
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
