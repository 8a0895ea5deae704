package ellipsis_test

import (
	"testing"

	"github.com/sayso-dev/sayso/internal/ellipsis"
)

func TestBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aäb", 2, "a…"}, // ä has two bytes
		{"aäb", 3, "aä…"},
		{"a\xffbcd", 3, "ab…"},
		{"a\xff", 2, "a\xff"},
	} {
		if got := ellipsis.Bytes(c.text, c.max); got != c.want {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.text, c.max, got, c.want)
		}
	}
}

func TestRunes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"", 1, ""},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
		{"ab", 1, "…"},
		{"a b", 3, "a b"},
		{"a bc", 3, "a…"},
		{"a\xffcd", 3, "a\xff…"},
	} {
		if got := ellipsis.Runes(c.text, c.max); got != c.want {
			t.Errorf("Runes(%q, %d) = %q, want %q", c.text, c.max, got, c.want)
		}
	}
}
