package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/hook"
)

// As the CLI 2.1.329 sent it.
const permissionRequest = `{"session_id":"7216c563-d11d-4044-bf00-dcf5b835f698","transcript_path":"/home/ann/.claude/projects/-work/7216c563-d11d-4044-bf00-dcf5b835f698.jsonl","cwd":"/work","prompt_id":"7c5a77d3-eff1-4723-aac8-3ebdf4ef2860","permission_mode":"default","effort":{"level":"medium"},"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"touch made","description":"make a file"},"permission_suggestions":[{"type":"addDirectories","directories":["/work"],"destination":"session"}]}`

func TestReadAndOutput(t *testing.T) {
	t.Parallel()
	in, err := hook.Read(strings.NewReader(permissionRequest))
	must(t, err)
	if in.Name != hook.PermissionRequest || in.ToolName != "Bash" || in.SessionID == "" || in.CWD != "/work" || len(in.PermissionSuggestions) == 0 {
		t.Errorf("got %+v", in)
	}
	if _, err := hook.Read(strings.NewReader("nonsense")); err == nil {
		t.Error("nonsense was read")
	}
	question := hook.Input{ToolName: "AskUserQuestion", ToolInput: json.RawMessage(`{"questions":[{"question":"Which?"}],"n":12345678901234567890}`)}
	for _, c := range []struct {
		in   hook.Input
		d    hook.Decision
		want string
	}{
		{in, hook.Decision{Allow: true}, `{"behavior":"allow"}`},
		{in, hook.Decision{Allow: true, UpdatedInput: json.RawMessage(`{"command":"ls"}`), UpdatedPermissions: json.RawMessage(`[]`)}, `{"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[]}`},
		{in, hook.Decision{Message: "no", Interrupt: true}, `{"behavior":"deny","message":"no","interrupt":true}`},
		{question, hook.Decision{Allow: true, Answers: map[string]string{"Which?": "Red"}}, `{"behavior":"allow","updatedInput":{"answers":{"Which?":"Red"},"n":12345678901234567890,"questions":[{"question":"Which?"}]}}`},
	} {
		got, err := hook.Output(c.in, c.d)
		must(t, err)
		if want := `{"hookSpecificOutput":{"decision":` + c.want + `,"hookEventName":"PermissionRequest"}}` + "\n"; string(got) != want {
			t.Errorf("got %s want %s", got, want)
		}
	}
}

// A terminal is a folder as the CLI keeps it, and a process that stands for it.
type terminal struct {
	t    *testing.T
	dir  string
	in   hook.Input
	cli  *exec.Cmd
	envs map[string]string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	term := &terminal{t: t, dir: t.TempDir(), envs: map[string]string{}}
	must(t, os.Mkdir(filepath.Join(term.dir, "sessions"), 0o700))
	in, err := hook.Read(strings.NewReader(permissionRequest))
	must(t, err)
	in.TranscriptPath = filepath.Join(term.dir, "transcript.jsonl")
	term.in = in
	term.cli = exec.Command("sleep", "1000")
	must(t, term.cli.Start())
	t.Cleanup(func() {
		_ = term.cli.Process.Kill()
		_ = term.cli.Wait()
	})
	return term
}

func (term *terminal) says(status string) {
	term.t.Helper()
	path := filepath.Join(term.dir, "sessions", fmt.Sprint(term.cli.Process.Pid)+".json")
	text := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"status":%q}`, term.cli.Process.Pid, term.in.SessionID, status)
	must(term.t, os.WriteFile(path+".new", []byte(text), 0o600))
	must(term.t, os.Rename(path+".new", path))
}

func (term *terminal) writes(line string) {
	term.t.Helper()
	f, err := os.OpenFile(term.in.TranscriptPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	must(term.t, err)
	_, err = f.WriteString(line)
	must(term.t, err)
	must(term.t, f.Close())
}

func call(id string) string {
	return `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"description":"make a file","command":"touch made"}}]}}` + "\n"
}

func result(id string) string { return resultAt(id, time.Now().Add(time.Second)) }

func resultAt(id string, at time.Time) string {
	return `{"type":"user","timestamp":"` + at.UTC().Format(time.RFC3339Nano) + `","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"done"}]}}` + "\n"
}

// awaits runs Await; the channel gets what it returns.
func (term *terminal) awaits(ctx context.Context) <-chan hook.Ending {
	ended, in := make(chan hook.Ending, 1), term.in
	go func() {
		ended <- hook.Await(ctx, in, term.dir, func(name string) string { return term.envs[name] })
	}()
	return ended
}

const patience = 2 * time.Minute

func (term *terminal) gets(ended <-chan hook.Ending, want hook.Ending) {
	term.t.Helper()
	select {
	case got := <-ended:
		if got != want {
			term.t.Errorf("got %q, want %q", got, want)
		}
	case <-time.After(patience):
		term.t.Fatalf("Await never returned %q", want)
	}
}

func TestAwaitSeesTheResult(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.writes(call("before") + resultAt("before", term.in.At.Add(-time.Minute))) // alike, but over
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	term.gets(term.awaits(ctx), "")
	term.writes(call("this") + "no json\n")
	ended := term.awaits(t.Context())
	term.writes(result("other"))
	term.writes(result("this")[:40])
	term.writes(result("this")[40:])
	term.gets(ended, hook.InDialog)
}

// Of two calls that are alike the CLI does not say which a dialog is about.
func TestAwaitWaitsForBothOfTwoAlike(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.writes(call("a") + call("b") + result("a"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := term.awaits(ctx)
	term.says("busy") // never seen to wait: says nothing
	cancel()
	term.gets(ended, "")
	ended = term.awaits(t.Context())
	term.writes(result("b"))
	term.gets(ended, hook.InDialog)
}

func TestAwaitSeesASubagentsResult(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.in.AgentID = "a1"
	main := term.in.TranscriptPath
	term.in.TranscriptPath = filepath.Join(term.dir, "transcript", "subagents", "agent-a1.jsonl")
	must(t, os.MkdirAll(filepath.Dir(term.in.TranscriptPath), 0o700))
	term.writes(call("this") + resultAt("this", time.Time{}) + call("next"))
	sub := term.in.TranscriptPath
	term.in.TranscriptPath = main
	ended := term.awaits(t.Context())
	term.in.TranscriptPath = sub
	term.writes(result("next"))
	term.gets(ended, hook.InDialog)
}

// An allowed tool may run for long: what the CLI says of itself tells at once.
func TestAwaitSeesThatTheDialogIsGone(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]bool{"told its process": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := newTerminal(t)
			if env {
				term.envs["CLAUDE_PID"] = fmt.Sprint(term.cli.Process.Pid)
			}
			must(t, os.WriteFile(filepath.Join(term.dir, "sessions", "1.json"), []byte(`{"pid":1,"sessionId":"another","status":"busy"}`), 0o600))
			term.writes(call("this"))
			term.says("waiting")
			ended := term.awaits(t.Context())
			time.Sleep(time.Second) // several looks
			select {
			case got := <-ended:
				t.Fatalf("got %q while it waits", got)
			default:
			}
			term.says("busy")
			term.gets(ended, hook.InDialog)
		})
	}
}

func TestAwaitSeesTheEnd(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.says("waiting")
	ended := term.awaits(t.Context())
	must(t, term.cli.Process.Kill())
	_ = term.cli.Wait()
	term.gets(ended, hook.Exited)
}

func TestAwaitWithoutTranscript(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	term.in.TranscriptPath = filepath.Join(term.dir, "nowhere")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	term.gets(term.awaits(ctx), "")
}

func TestInTerminal(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]bool{"": true, "cli": true, "sdk-cli": false, "sdk-go": false} {
		if got := hook.InTerminal(func(string) string { return entry }); got != want {
			t.Errorf("%q: got %v", entry, got)
		}
	}
}
