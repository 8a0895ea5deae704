package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/sayso-dev/sayso/internal/visible"
)

func TestHiddenCharactersAreNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"go\ttest\n./... é 漢 🙂":           "go\ttest\n./... é 漢 🙂",
		"\x1b]0;title\x07":                "[ESC]]0;title[BEL]",
		"a\u009b31mb":                     "a[CSI]31mb",
		"rm \u202e/x":                     "rm [RLO]/x",
		"one\rtwo":                        "one[CR]two",
		"a\x00\x7f":                       "a[NUL][DEL]",
		"a\u200bb\u00ad":                  "a[ZWSP]b[SHY]",
		"a\U000e0041\ue000\ufdd0":         "a[U+E0041][U+E000][U+FDD0]",
		"\xff\xfe":                        "[byte FF][byte FE]",
		"a\ufffdb":                        "a\ufffdb",
		"=\u0338":                         "=[U+0338]",
		"e\u0301":                         "e\u0301",
		"a" + strings.Repeat("\u0301", 6): "a" + strings.Repeat("\u0301", 4) + "[U+0301][U+0301]",
		"a\u2215b":                        "a[U+2215]b",
		"\u05d0/x":                        "[U+05D0]/x",
	} {
		if got := visible.Code(text); got != want {
			t.Errorf("%+q: got %+q, want %+q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"❤️ and ⚠️, 👩‍💻, 1️⃣": "❤️ and ⚠️, 👩‍💻, 1️⃣",
		"שלום":         "שלום",
		"one\u00a0two": "one two",
		"a\u200db":     "a[ZWJ]b",
		"\x1b[2J":      "[ESC][2J",
	} {
		if got := visible.Prose(text); got != want {
			t.Errorf("prose %+q: got %+q, want %+q", text, got, want)
		}
	}
	if got := visible.Line("a\nb\t\x1bc"); got != "a b [ESC]c" {
		t.Errorf("line: %q", got)
	}
}

// TestNothingReachesTheTerminal gives every character, alone and behind a letter.
func TestNothingReachesTheTerminal(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= 0xe0fff; r++ {
		if r == 0x20000 {
			r = 0xe0000 // what is between are letters, or nothing
		}
		for _, text := range []string{visible.Code("a" + string(r)), visible.Prose(string(r) + "a"), visible.Line(string(r))} {
			for _, c := range text {
				if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == 0x2028 || c == 0x2029) {
					t.Fatalf("U+%04X is printed as %+q", r, text)
				}
			}
		}
	}
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	type object struct{ Text string }
	for _, text := range []string{"plain é 漢 🙂", "\x1b[31m", "\u009b", "\u202e", "\U000e0041", "\"\\\n"} {
		encoded, err := json.Marshal(object{text})
		if err != nil {
			t.Fatal(err)
		}
		printed := visible.JSON(encoded)
		var got object
		if err := json.Unmarshal(printed, &got); err != nil || got.Text != text {
			t.Errorf("%+q became %+q (%v)", text, got.Text, err)
		}
		for _, c := range string(printed) {
			if visible.IsHidden(c) {
				t.Errorf("%+q is printed as %+q", text, printed)
			}
		}
	}
}
