package session_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/session"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"!!! -- \" ' %":                     "",
		"Hello, hello WORLD":                "hello world",
		"main.go:12 --flag=x_y":             "main go 12 flag x y",
		"parseHTTPRequest":                  "parsehttprequest httprequest request",
		"SessionList":                       "sessionlist list",
		"Größe ΣΊΣΥΦΟΣ":                     "größe σίσυφοσ",
		"漢字 text":                           "漢 字 text",
		"\xff\x00broken":                    "broken",
		strings.Repeat("x", 100) + " after": strings.Repeat("x", 64) + " after",
	} {
		if got := strings.Join(session.Words(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for search, want := range map[string]string{"parseHTTPRequest main.go": "parsehttprequest main go", "漢字": "漢 字", "a A a": "a", "'; DROP": "drop"} {
		if got := strings.Join(session.SearchWords(search), " "); got != want {
			t.Errorf("search %q: got %q, want %q", search, got, want)
		}
	}
}

// TestSearchFindsCopiedText: each word of a text, and the text itself, finds it.
func TestSearchFindsCopiedText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 60, -1).Draw(t, "text")
		words := session.Words(text)
		for _, asked := range session.SearchWords(text) {
			if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, asked) }) {
				t.Fatalf("%q is not found by %q: %q", text, asked, words)
			}
		}
		session.Excerpt(text, session.SearchWords(text))
	})
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ü ", 40) + "the\nneedle in it" + strings.Repeat(" after", 60)
	got := session.Excerpt(long, []string{"need"})
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || !strings.Contains(got, "the needle in it") || len([]rune(got)) > 240 {
		t.Errorf("got %q", got)
	}
	if got := session.Excerpt("short", []string{"none"}); got != "short" {
		t.Errorf("got %q", got)
	}
}
