package config_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/claude/config"
)

func TestWithoutRule(t *testing.T) {
	t.Parallel()
	const whole = "{\n  \"model\": \"x\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a *)\",\n      \"Bash(b)\",\n      7\n    ],\n    \"deny\": [\"Bash(b)\"]\n  }\n}\n"
	for name, c := range map[string]struct{ data, rule, want string }{
		"the first":      {whole, "Bash(a *)", "{\n  \"model\": \"x\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(b)\",\n      7\n    ],\n    \"deny\": [\"Bash(b)\"]\n  }\n}\n"},
		"one between":    {whole, "Bash(b)", "{\n  \"model\": \"x\",\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a *)\",\n      7\n    ],\n    \"deny\": [\"Bash(b)\"]\n  }\n}\n"},
		"the only one":   {`{"permissions":{"allow":[ "Read" ]}}`, "Read", `{"permissions":{"allow":[]}}`},
		"it stood twice": {`{"permissions":{"allow":["a","Read","Read"]}}`, "Read", `{"permissions":{"allow":["a"]}}`},
		"escaped":        {`{"permissions":{"allow":["Re\u0061d","b"]}}`, "Read", `{"permissions":{"allow":["b"]}}`},
		"another":        {whole, "Bash(c)", whole},
		"no permissions": {"{}", "Read", "{}"},
		"no list":        {`{"permissions":{}}`, "Read", `{"permissions":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.WithoutRule([]byte(c.data), c.rule)
			if err != nil || string(got) != c.want {
				t.Errorf("got error %v and\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
	for _, broken := range []string{`{"permissions":{"allow":{}}}`, `{"permissions":[]}`, `[`} {
		if _, err := config.WithoutRule([]byte(broken), "Read"); err == nil {
			t.Errorf("%s was edited", broken)
		}
	}
	rules, directories, err := config.GrantsOf([]byte(`{"permissions":{"allow":["a",1,"b"],"additionalDirectories":["/x"]}}`))
	if err != nil || !slices.Equal(rules, []string{"a", "b"}) || !slices.Equal(directories, []string{"/x"}) {
		t.Errorf("got %v, %v, %v", rules, directories, err)
	}
	if got, err := config.WithoutDirectory([]byte(`{"permissions":{"additionalDirectories":["/x","/y"]}}`), "/x"); err != nil || string(got) != `{"permissions":{"additionalDirectories":["/y"]}}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// Whatever the list holds: the rule is gone, the rest is what it was, in its order.
func TestWithoutRuleLeavesTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]any{"a", "b", `q"]\`, "a,b", 1.0, true, nil, []any{"a"}, map[string]any{"a": "b"}})
		list := rapid.SliceOfN(words, 0, 6).Draw(t, "list")
		data, err := json.Marshal(map[string]any{"x": "a", "permissions": map[string]any{"allow": list, "ask": []any{"a"}}})
		must(t, err)
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			must(t, json.Indent(&b, data, "", "\t"))
			data = b.Bytes()
		}
		rule := rapid.SampledFrom([]string{"a", "b", `q"]\`, "a,b", "c"}).Draw(t, "rule")
		got, err := config.WithoutRule(data, rule)
		must(t, err)
		rest := []any{}
		for _, v := range list {
			if s, ok := v.(string); !ok || s != rule {
				rest = append(rest, v)
			}
		}
		want, err := json.Marshal(map[string]any{"x": "a", "permissions": map[string]any{"allow": rest, "ask": []any{"a"}}})
		must(t, err)
		if !sameJSON(got, want) {
			t.Fatalf("without %q\n%s\nbecame\n%s", rule, data, got)
		}
	})
}
