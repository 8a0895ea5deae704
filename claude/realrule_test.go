package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/rule"
)

// TestRealCLIReadsRulesAsWeDo gives the real CLI one rule that allows after the
// other, has it asked for a call each, and compares what it asks for with what
// [rule.Rule.Covers] says.
func TestRealCLIReadsRulesAsWeDo(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		t.Skip("run by make test-all: it asks the CLI for some hundred calls")
	}
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startReal(t, realCLI(t, variable, version))
			s.initialize()
			for _, folder := range []string{"src/sub", "x/src"} {
				if err := os.MkdirAll(filepath.Join(s.dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			bash := func(command string) (string, map[string]any) { return "Bash", map[string]any{"command": command} }
			write := func(file string) (string, map[string]any) {
				return "Write", map[string]any{"file_path": filepath.Join(s.dir, file), "content": "x"}
			}
			fetch := func(address string) (string, map[string]any) {
				return "WebFetch", map[string]any{"url": address, "prompt": "x"}
			}
			n := 0
			check := func(text string, tool string, input map[string]any) {
				t.Helper()
				n++
				if err := s.client.ApplySettings(t.Context(), map[string]any{"permissions": map[string]any{"allow": []string{text}}}); err != nil {
					t.Fatal(err)
				}
				raw, err := json.Marshal(input)
				if err != nil {
					t.Fatal(err)
				}
				s.says(`[[{"tool":"` + tool + `","input":` + string(raw) + `}],[{"text":"over"}]]`)
				ran := true
				for over := false; !over; {
					select {
					case a := <-s.asked:
						ran = false
						a.decide <- claude.ToolDecision{Message: "no"}
					case <-s.results:
						over = true
					case <-t.Context().Done():
						t.Fatal("the test ended")
					}
				}
				covers := rule.Parse(text).Covers(rule.Call{Tool: tool, Input: raw, Dir: s.dir, Home: "/nowhere"})
				if covers != ran {
					t.Errorf("%s and %s %s: Claude runs it unasked: %v, and we say %v", text, tool, raw, ran, covers)
				}
			}
			command := func(text, line string) { t.Helper(); tool, input := bash(line); check(text, tool, input) }
			file := func(text, name string) { t.Helper(); tool, input := write(name); check(text, tool, input) }
			page := func(text, address string) { t.Helper(); tool, input := fetch(address); check(text, tool, input) }

			for _, line := range []string{
				"touch a", "touch  a", "touch\ta", " touch a ", "touch 'a'", "touch a # why", "touch", "mkdir a",
				"timeout 5 touch a", "time touch a", "nice touch a", "nohup touch a", "command touch a",
				"/usr/bin/touch a", "env touch a", "X=1 touch a", "bash -c 'touch a'", "(touch a)",
			} {
				command("Bash(touch *)", line)
			}
			for _, c := range [][2]string{
				{"Bash(touch a)", "touch a"}, {"Bash(touch b:*)", "touch b c"}, {"Bash(touch c:*)", "touch cd"}, {"Bash(touch d:*)", "touch d"},
				{"Bash(touch e*)", "touch ef"}, {"Bash(touch e)", "touch e f"}, {"Bash(* g)", "touch g"}, {"Bash(touch * --x)", "touch h --x"},
				{`Bash(touch \*)`, "touch i"}, {"Bash(touch j *:*)", "touch j k"}, {"Bash( touch l )", "touch l"}, {"bash", "touch m"}, {"Bash(TOUCH *)", "touch n"},
				{"Bash(*)", "touch o"}, {"Bash", "touch p"}, {"*", "touch q"}, {"B*", "touch r"}, {`Bash(touch \(s\))`, "touch (s)"},
			} {
				command(c[0], c[1])
			}
			for _, c := range [][2]string{
				{"Edit(src/**)", "src/a"}, {"Edit(SRC/**)", "src/b"}, {"Edit(src)", "src/c"}, {"Edit(src/)", "src/d"}, {"Edit(./src/**)", "src/e"}, {"Edit(src/*)", "src/sub/f"},
				{"Edit(*.txt)", "src/sub/g.txt"}, {"Edit(/*.go)", "src/sub/g.go"}, {"Edit(h?)", "h1"}, {"Edit(i[0-9]*)", "i2"}, {"Edit(j[0-9]*)", "jx"}, {"Edit(**/k)", "src/k"}, {"Edit(src/**/l)", "src/l"},
				{`Edit(m\*1)`, "m*1"}, {"Edit(/)", "q"}, {"Edit(.)", "r"}, {"Edit(/" + s.dir + "/**)", "s"}, {"Edit(" + s.dir + "/**)", "t"}, {"Edit(//**)", "u"}, {"Edit(sub)", "src/sub/v"}, {"Edit(src/sub)", "x/src/sub/w"},
				{"Write", "x1"},
			} {
				file(c[0], c[1])
			}
			for _, c := range [][2]string{
				{"WebFetch", "http://127.0.0.1:1/a"}, {"WebFetch(domain:127.0.0.1)", "http://127.0.0.1:1/b"}, {"WebFetch(domain:*.0.0.1)", "http://127.0.0.1:1/c"}, {"WebFetch(127.0.0.1)", "http://127.0.0.1:1/d"},
				{"WebFetch(domain:example.com)", "http://a.example.com:1/e"}, {"WebFetch(domain:*.example.com)", "http://example.com:1/f"}, {"WebFetch(domain:EXAMPLE.com)", "http://example.com:1/g"},
			} {
				page(c[0], c[1])
			}
			if n < 60 || strings.Contains(s.dir, "*") {
				t.Errorf("%d rules were tried", n)
			}
		})
	}
}
