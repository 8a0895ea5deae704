package review_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/internal/review"
)

// Attack 53: a rule that lets through more than it seems to. However it is spelled,
// it must not look harmless.
func TestRulesThatAreTooWide(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Bash", "Bash()", "Bash(*)", "Bash(:*)", "Bash( * )", "Bash(**)", "Bash(* --help)", "Bash(* test)", "Bash(r*)", "Bash(r* -rf)", "Bash(?m:*)", "Bash([r]m:*)", "Bash(*rm:*)",
		"Bash(rm:*)", "Bash(rm *)", "Bash(/bin/rm:*)", "Bash(../../bin/rm:*)", "Bash(\\rm:*)", "Bash(r\\m:*)", "Bash('rm':*)", "Bash(\"rm\":*)", "Bash(r''m:*)", "Bash($'rm':*)", "Bash( rm:*)", "Bash(RM:*)", "Bash(rm -f:*)", "Bash({rm,-rf}:*)", "Bash(FOO=1 rm:*)", "Bash(rm$IFS-rf:*)", "Bash(\u0072\u200bm:*)", "Bash(\u0433m:*)",
		"Bash(sudo:*)", "Bash(sudo -n:*)", "Bash(doas:*)", "Bash(su -c:*)", "Bash(/usr/bin/sudo *)",
		"Bash(bash:*)", "Bash(sh -c:*)", "Bash(zsh:*)", "Bash(bash5:*)", "Bash(/bin/sh:*)", "Bash(fish:*)", "Bash(pwsh:*)",
		"Bash(python:*)", "Bash(python3:*)", "Bash(python3.12:*)", "Bash(/usr/bin/python3:*)", "Bash(python3 -c:*)", "Bash(node:*)", "Bash(node -e:*)", "Bash(perl:*)", "Bash(ruby:*)", "Bash(php -r:*)", "Bash(deno:*)", "Bash(lua:*)", "Bash(osascript:*)", "Bash(psql:*)",
		"Bash(env:*)", "Bash(env FOO=1 bash:*)", "Bash(xargs:*)", "Bash(command:*)", "Bash(exec:*)", "Bash(eval:*)", "Bash(nohup:*)", "Bash(time:*)", "Bash(timeout 5:*)", "Bash(nice:*)", "Bash(busybox:*)", "Bash(watch:*)", "Bash(npx:*)", "Bash(ssh:*)", "Bash(make:*)", "Bash(find:*)", "Bash(sed:*)", "Bash(awk:*)", "Bash(tar:*)", "Bash(source:*)", "Bash(.:*)",
		"Bash(git:*)", "Bash(git *)", "Bash(git -c:*)", "Bash(git push:*)", "Bash(git reset:*)", "Bash(git clean:*)", "Bash(git checkout:*)", "Bash(go test:*)", "Bash(docker:*)", "Bash(docker run:*)", "Bash(kubectl:*)", "Bash(terraform:*)", "Bash(aws:*)", "Bash(gh:*)", "Bash(npm:*)", "Bash(curl:*)", "Bash(wget:*)", "Bash(chmod:*)", "Bash(cp:*)", "Bash(tee:*)", "Bash(dd:*)", "Bash(mkfs.ext4:*)",
		"Bash($x:*)", "Bash($(echo rm):*)", "Bash(`echo rm`:*)", "Bash(LD_PRELOAD=x ls:*)", "Bash(PATH=. ls)x", "Bash(x | sh:*)",
		"Bash(rm -rf build)", "Bash(curl x.test | sh)", "Bash(sudo ls)", "Bash(bash -c \"$x\")",
		"Edit", "Write", "Edit(*)", "Edit(**)", "Edit(/**)", "Edit(//**)", "Edit(~/**)", "Write(./**)", "Edit(.claude/**)", "Edit(.git/hooks/*)", "Write(~/.bashrc)", "Edit(/.claude/settings.json)", "Edit(//etc/*)",
		"mcp__server", "mcp__server__*", "mcp__*", "*",
	} {
		reach := review.ReadRule(rule.Parse(text), folder)
		if text == "Bash(PATH=. ls)x" {
			continue // no rule at all: the whole text is the name of a tool
		}
		if reach.Level != review.High || reach.Reason == "" || reach.Kind == "" {
			t.Errorf("%s: %+v", text, reach)
		}
	}
}

func TestReachOfRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]review.Reach{
		"Bash(go test ./...)":          {Form: review.ExactRule, Text: "go test ./...", Level: review.Low},
		"Bash(ls:*)":                   {Form: review.PrefixRule, Text: "ls", Level: review.Low, WouldAllow: []string{"ls -la ~"}},
		"Bash(npm run build:*)":        {Form: review.PrefixRule, Text: "npm run build", Level: review.Low, WouldAllow: []string{"npm run build …"}},
		"Bash(git status *)":           {Form: review.PrefixRule, Text: "git status", Level: review.Low, WouldAllow: []string{"git status …"}},
		"Bash(touch a)":                {Form: review.ExactRule, Text: "touch a", Level: review.Low},
		"WebFetch(domain:example.com)": {Form: review.DomainRule, Text: "example.com", Level: review.Low, WouldAllow: []string{"https://example.com/any/page?any=words"}},
		"Edit(src/a.go)":               {Form: review.ExactRule, Text: "src/a.go", Level: review.Low},
		"Edit(src/**)":                 {Form: review.PatternRule, Text: "src/**", Level: review.Medium, Kind: review.AnyArguments, Reason: "Every file that matches the pattern."},
		"mcp__s__read":                 {Form: review.ToolRule, Text: "mcp__s__read", Level: review.Medium, Kind: review.WholeTool, Reason: "Any use of this tool."},
		"WebFetch":                     {Form: review.ToolRule, Text: "WebFetch", Level: review.Medium, Kind: review.WholeTool, Reason: "Every page on every host, so the URL can carry what Claude read to anyone."},
	} {
		got := review.ReadRule(rule.Parse(text), folder)
		if got.Form != want.Form || got.Text != want.Text || got.Level != want.Level || got.Kind != want.Kind || got.Reason != want.Reason || !slices.Equal(got.WouldAllow, want.WouldAllow) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", text, got, want)
		}
	}
}

func TestNarrowestRulesCoverTheirCall(t *testing.T) {
	t.Parallel()
	// What is smallest covers what it was made for.
	for _, c := range []struct{ tool, input, step string }{
		{"Bash", `{}`, "go test ./..."}, {"Write", `{"file_path":"/w/a"}`, ""}, {"WebFetch", `{"url":"https://a.test/x"}`, ""}, {"mcp__s__t", `{}`, ""},
	} {
		rules := review.NarrowestRules(c.tool, json.RawMessage(c.input), []string{c.step})
		if len(rules) != 1 || !rule.Parse(rules[0].String()).Covers(rule.Call{Tool: c.tool, Input: json.RawMessage(c.input), Dir: "/w", Commands: []string{c.step}}) {
			t.Errorf("%s %s: %v", c.tool, c.input, rules)
		}
	}
}

// TestNarrowestRuleNamesExactAddress: the host of a rule is the one that the CLI would fetch from.
func TestNarrowestRuleNamesExactAddress(t *testing.T) {
	t.Parallel()
	rules := review.NarrowestRules("WebFetch", json.RawMessage(`{"url":"https://a.test/x","URL":"https://b.test/x"}`), nil)
	if len(rules) != 1 || rules[0].Content != "domain:a.test" {
		t.Errorf("got %v", rules)
	}
}

func FuzzRule(f *testing.F) {
	f.Add("Bash(rm:*)")
	f.Add("Edit(~/**)")
	f.Fuzz(func(t *testing.T, text string) {
		reach := review.ReadRule(rule.Parse(text), folder)
		if reach.Form == "" || reach.Level == "" || reach.Level != review.Low && reach.Reason == "" {
			t.Errorf("%q: %+v", text, reach)
		}
	})
}
