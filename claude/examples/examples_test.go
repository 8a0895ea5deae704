// Package examples runs the examples of the SDK.
package examples_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// TestExamples runs each example as a person does, with a scripted CLI in PATH.
func TestExamples(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // it links four programs; each change compiles them
	}
	programs := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", programs+"/", "./...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	// example returns a command in an empty folder, and the record of its CLI.
	example := func(t *testing.T, script claudetest.Script, name string, args ...string) (cmd *exec.Cmd, record string) {
		t.Helper()
		path, record := claudetest.Program(t, script)
		cmd = exec.CommandContext(t.Context(), filepath.Join(programs, name), args...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + filepath.Dir(path) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		return cmd, record
	}
	touch := func(name string) claudetest.Step {
		return claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "touch " + name}}, Run: true}
	}

	t.Run("bot", func(t *testing.T) {
		t.Parallel()
		cmd, _ := example(t, claudetest.Script{Turn: []claudetest.Step{touch("allowed"), touch("denied"), touch("unanswered"), {Text: "{{last_tool_result}}"}}}, "bot", "hello")
		cmd.Stdin = strings.NewReader("y\nn\n")
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "Allow? [y/N]") != 3 || !strings.HasSuffix(string(out), "The person said no.\n") {
			t.Errorf("got %q %v", out, err)
		}
		if files, err := filepath.Glob(filepath.Join(cmd.Dir, "*")); err != nil || len(files) != 1 || filepath.Base(files[0]) != "allowed" {
			t.Errorf("got the files %q %v", files, err)
		}
	})

	t.Run("batch", func(t *testing.T) {
		t.Parallel()
		cmd, _ := example(t, claudetest.Script{Turn: []claudetest.Step{
			{Raw: `{"type":"result","subtype":"success","total_cost_usd":0.25,"structured_output":{"problems":["It is long."]}}`}, {Exit: new(int)},
		}}, "batch", "a.go", "b.go")
		out, err := cmd.Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		if want := []string{"$0.50", "a.go: It is long.", "b.go: It is long."}; err != nil || !slices.Equal(lines, want) {
			t.Errorf("got %q %v, want %q", lines, err, want)
		}
	})

	t.Run("web", func(t *testing.T) {
		t.Parallel()
		address, err := blackbox.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		cmd, record := example(t, claudetest.Script{}, "web", address)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		get := func(ctx context.Context, steps ...claudetest.Step) (*http.Response, error) {
			r, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			q := r.URL.Query()
			q.Set("q", claudetest.Prompt(steps...))
			r.URL.RawQuery = q.Encode()
			return http.DefaultClient.Do(r)
		}
		var answer *http.Response
		for { // until it listens
			if answer, err = get(t.Context(), claudetest.Step{Text: "Hello, visitor!"}); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(text) != "Hello, visitor!" || err != nil {
			t.Errorf("got %q %v", text, err)
		}

		ctx, leave := context.WithCancel(t.Context())
		if answer, err = get(ctx, claudetest.Step{Text: "Wait.\n"}, claudetest.Step{Silent: true}); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(answer.Body).ReadString('\n'); line != "Wait.\n" {
			t.Errorf("got %q %v while Claude writes", line, err)
		}
		leave()
		answer.Body.Close()
		for exits := 0; exits < 2; { // fails by the time limit of the tests
			exits = 0
			for _, r := range claudetest.ReadRecords(t, record) {
				if r.Kind == "exit" {
					exits++
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	})

	t.Run("guard", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		write := func(input map[string]any) claudetest.Step {
			return claudetest.Step{Request: map[string]any{"subtype": "hook_callback", "callback_id": "hook-0", "input": map[string]any{
				"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": input,
			}}}
		}
		cmd, record := example(t, claudetest.Script{Turn: []claudetest.Step{
			write(map[string]any{"file_path": folder + "/a/b"}), write(map[string]any{"file_path": "/etc/passwd"}), write(map[string]any{"file_path": folder + "/../x"}),
			write(map[string]any{"file_path": 7}), write(nil), touch("asked"), {Text: "done"},
		}}, "guard", "hello")
		cmd.Dir = folder
		if out, err := cmd.Output(); string(out) != "done\n" || err != nil {
			t.Errorf("got %q %v", out, err)
		}
		var decisions []string
		for _, r := range claudetest.ReadRecords(t, record) {
			if r.Kind != "control_response" {
				continue
			}
			for _, decision := range []string{`"permissionDecision":"allow"`, `"permissionDecision":"deny"`, `"behavior":"deny"`} {
				if strings.Contains(string(r.Line), decision) {
					decisions = append(decisions, decision)
				}
			}
		}
		allow, deny := `"permissionDecision":"allow"`, `"permissionDecision":"deny"`
		if want := []string{allow, deny, deny, deny, deny, `"behavior":"deny"`}; !slices.Equal(decisions, want) {
			t.Errorf("got %q, want %q", decisions, want)
		}
	})
}
