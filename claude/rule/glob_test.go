package rule_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/claude/rule"
)

// slowGlob is Glob as one would define it.
func slowGlob(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return slowGlob(pattern[1:], text) || text != "" && slowGlob(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && slowGlob(pattern[1:], text[1:])
}

// slowPath is Path as one would define it, for patterns that path.Match knows.
func slowPath(pattern, names []string) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if pattern[0] == "**" {
		return slowPath(pattern[1:], names) || len(names) > 0 && slowPath(pattern, names[1:])
	}
	if len(names) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], names[0])
	return err == nil && ok && slowPath(pattern[1:], names[1:])
}

func TestGlobIsWhatItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern, text := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern"), rapid.StringMatching(`[ab]{0,10}`).Draw(t, "text")
		if got, want := rule.Glob(pattern, text), slowGlob(pattern, text); got != want {
			t.Fatalf("%q and %q: got %v", pattern, text, got)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SliceOfN(rapid.SampledFrom([]string{"**", "*", "a", "b*", "?", "[a-b]c", "[^a]"}), 0, 6).Draw(t, "pattern")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "bc", "ac", "cc"}), 0, 6).Draw(t, "names")
		if got, want := rule.Path(pattern, names), slowPath(pattern, names); got != want {
			t.Fatalf("%q and %q: got %v", pattern, names, got)
		}
	})
}

// TestHostilePatterns would not end with a matcher that tries each way to divide a
// text among stars.
func TestHostilePatterns(t *testing.T) {
	t.Parallel()
	const many = 2000
	if rule.Glob(strings.Repeat("*a", many)+"b", strings.Repeat("a", many)) {
		t.Error("a b is found")
	}
	file := "/work/" + strings.Repeat("a/", many) + "c"
	for _, text := range []string{"Edit(/" + strings.Repeat("**/a/", many) + "b)", "Edit(/" + strings.Repeat("**/", many) + "b)", "Edit(" + strings.Repeat("**/*a*/", many) + "b)", "Edit(/" + strings.Repeat("*", many) + "b)"} {
		call := rule.Call{Tool: "Edit", Input: []byte(`{"file_path":"` + file + `"}`), Dir: "/work"}
		if rule.Parse(text).Covers(call) {
			t.Errorf("%.40s… covers it", text)
		}
	}
}

// TestParseReadsWhatStringWrites: a rule is the same after it was in a settings file.
func TestParseReadsWhatStringWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rule.Rule{Tool: rapid.StringMatching(`[A-Za-z_]{1,8}`).Draw(t, "tool"), Content: rapid.StringMatching(`[a-z \\()*:]{0,10}`).Draw(t, "content")}
		if r.Content == "*" {
			r.Content = ""
		}
		if got := rule.Parse(r.String()); got != r {
			t.Fatalf("%q: got %+v, want %+v", r.String(), got, r)
		}
	})
}
