package rule_test

import (
	"encoding/json"
	"testing"

	"github.com/sayso-dev/sayso/claude/rule"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, tool, input string
		want              bool
	}{
		{"Bash", "Bash", `{"command":"rm -rf x"}`, true},
		{"Bash(*)", "Bash", `{"command":"rm -rf x"}`, true},
		{"Bash(touch a *)", "Bash", `{"command":"touch a"}`, true},
		{"Bash(touch a *)", "Bash", `{"command":"touch a b"}`, true},
		{"Bash(touch a *)", "Bash", `{"command":"touch ab"}`, false},
		{"Bash(go test:*)", "Bash", `{"command":"go test ./..."}`, true},
		{"Bash(go test:*)", "Bash", `{"command":"go testing"}`, false},
		{"Bash(go test:*)", "Bash", `{"command":"cd x && go test"}`, true},
		{"Bash(go test:*)", "Bash", `{"command":"echo 'a; go test'"}`, false},
		{"Bash(git * main)", "Bash", `{"command":"git push origin main"}`, true},
		{"Bash(git * main)", "Bash", `{"command":"git push origin main2"}`, false},
		{"Bash(ls)", "Bash", `{"command":"ls -l"}`, false},
		{"Bash(ls)", "Bash", `{`, false},
		{"WebFetch(domain:example.com)", "WebFetch", `{"url":"https://Example.com:8/x"}`, true},
		{"WebFetch(domain:example.com)", "WebFetch", `{"url":"https://example.com.evil.org/"}`, false},
		{"Edit(/src/**)", "Write", `{"file_path":"/work/src/a/b.go"}`, true},
		{"Edit(/src/**)", "Write", `{"file_path":"/work/src/../b.go"}`, false},
		{"Edit", "NotebookEdit", `{"notebook_path":"/x"}`, true},
		{"Read(//etc/**)", "Read", `{"file_path":"/etc/hosts"}`, true},
		{"Read(//etc/**)", "Edit", `{"file_path":"/etc/hosts"}`, false},
		{"Read(~/notes/*.md)", "Read", `{"file_path":"/home/ada/notes/a.md"}`, true},
		{"Read(~/notes/*.md)", "Read", `{"file_path":"/home/ada/notes/x/a.md"}`, false},
		{"mcp__db", "mcp__db__query", `{}`, true},
		{"mcp__db__*", "mcp__db__query", `{}`, true},
		{"mcp__db__query", "mcp__db__query", `{}`, true},
		{"mcp__db__query", "mcp__db__query__x", `{}`, false},
		{"mcp__db", "mcp__dbx__query", `{}`, false},
		{"Agent(Explore)", "Task", `{"subagent_type":"Explore"}`, true},
		{"Bash(", "Bash", `{"command":"x"}`, false},
		{"Bash(touch *)", "Bash", `{"command":"timeout -k 1 5 touch  a # why"}`, true},
		{"Bash(touch *)", "Bash", `{"command":"env touch a"}`, false},
		{`Bash(touch \(a\))`, "Bash", `{"command":"touch (a)"}`, true},
		{`Bash(touch \*)`, "Bash", `{"command":"touch a"}`, false},
		{"Bash(:*)", "Bash", `{"command":"touch a"}`, false},
		{"Edit(/a/../b)", "Edit", `{"file_path":"/work/b"}`, false},
		{"Edit(SRC/**)", "Write", `{"file_path":"/work/src/a"}`, true},
		{"Edit(*.go)", "Write", `{"file_path":"/work/a/b/c.go"}`, true},
		{"Edit(/*.go)", "Write", `{"file_path":"/work/a/b/c.go"}`, false},
		{"Edit(src)", "Write", `{"file_path":"/work/src/a/b"}`, true},
		{"Edit(src/)", "Write", `{"file_path":"/work/src"}`, false},
		{"Edit(src/**)", "Write", `{"file_path":"/work/x/src/a"}`, false},
		{"Edit(!a)", "Write", `{"file_path":"/work/b"}`, false},
		{"Edit(/)", "Write", `{"file_path":"/work/b"}`, false},
		{"Edit(//**)", "Write", `{"file_path":"/etc/b"}`, true},
		{"Read(~/.ssh/**)", "Grep", `{"path":"/home/ada/.ssh/x"}`, true},
		{"mcp__db__get_*", "mcp__db__get_row", `{}`, true},
		{"mcp__db__get_*", "mcp__db__set_row", `{}`, false},
		{"Skill(pdf:*)", "Skill", `{"skill":"pdf fill"}`, true},
		{"*", "Bash", `{"command":"x"}`, false},
		// The CLI tells names apart by case.
		{"Bash(ls)", "Bash", `{"command":"rm x","Command":"ls"}`, false},
		{"Bash(rm *)", "Bash", `{"command":"rm x","Command":"ls"}`, true},
		{"WebFetch(domain:a.test)", "WebFetch", `{"url":"https://b.test","URL":"https://a.test"}`, false},
		{"Edit(/a)", "Write", `{"file_path":"/work/b","File_Path":"/work/a"}`, false},
		{"Edit(/a)", "Write", `{"file_path":"/work/a","File_Path":"/work/b"}`, true},
		{"Agent(a)", "Task", `{"subagent_type":"b","Subagent_Type":"a"}`, false},
		{"Skill(a)", "Skill", `{"skill":"b","Skill":"a"}`, false},
		{"Bash(ls)", "Bash", `{"command":7}`, false},
		{"Edit(/**)", "Write", `{"file_path":7}`, false},
	} {
		r := rule.Parse(c.rule)
		got := r.Covers(rule.Call{Tool: c.tool, Input: json.RawMessage(c.input), Dir: "/work", Home: "/home/ada"})
		if got != c.want {
			t.Errorf("%s covers %s %s: got %v", c.rule, c.tool, c.input, got)
		}
	}
	if r := rule.Parse("Bash(a (b))"); r != (rule.Rule{Tool: "Bash", Content: "a (b)"}) {
		t.Errorf("got %+v", r)
	}
}

func FuzzCovers(f *testing.F) {
	f.Add("Bash(git * main)", "Bash", `{"command":"git \\\"&&"}`)
	f.Add("Edit(/**/x)", "Write", `{"file_path":"/a/../.."}`)
	f.Fuzz(func(_ *testing.T, text, tool, input string) {
		rule.Parse(text).Covers(rule.Call{Tool: tool, Input: json.RawMessage(input), Dir: "/work"})
	})
}
