package launchtest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// cli prints two requests, and then every line that it reads.
const cli = `#!/bin/sh
echo "the key is $ANTHROPIC_API_KEY" >&2
for id in one two; do
	echo '{"type":"control_request","request_id":"'$id'","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"toolu_'$id'"}}'
done
while IFS= read -r line; do echo "got $line"; done
`

// TestLauncher tests the Launcher that reach returns for a Starter of this machine, which runs CLIs
// under shims. exe is a program that acts as a shim when its argument is "shim".
func TestLauncher(t *testing.T, exe string, reach func(t *testing.T, s *launch.Starter) launch.Launcher) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	path := filepath.Join(base, "claude")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(outside, 0o700), os.WriteFile(path, []byte(cli), 0o700)); err != nil {
		t.Fatal(err)
	}
	const secret = "a made-up key"
	c := &launch.CLI{Path: path, Environ: []string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + secret}}
	starter := &launch.Starter{
		CLI: c, Commands: &launch.Shims{Exe: exe, Root: filepath.Join(base, "shims"), Epoch: 1, Redact: c.Redact},
		Roots: func() workspace.Roots { return workspace.Roots{work} }, MCP: &launch.MCP{Exe: exe, URL: "http://127.0.0.1:1/mcp"},
	}
	l := reach(t, starter)
	ctx := t.Context()
	p := launch.Process{
		ID:     launch.ID{SessionID: savedID, ProcessID: "11111111-1111-4111-8111-111111111111"},
		Folder: outside, NewSession: savedID, PermissionMode: "default", Agent: launch.Agent{Token: "first token", Tools: []string{"ask_user"}},
	}
	var refused *problem.Error
	if _, err := l.Open(ctx, p); !errors.Is(err, launch.ErrRefused) || !errors.As(err, &refused) || refused.Reason != "folder_outside" {
		t.Errorf("a folder outside of the roots: %v", err)
	}
	var failed *launch.Error
	p.Folder = filepath.Join(work, "missing")
	if _, err := l.Open(ctx, p); !errors.As(err, &failed) || !strings.HasPrefix(failed.Sentence, "The folder "+p.Folder) {
		t.Errorf("a missing folder: %v", err)
	}
	p.Folder = work
	opened, err := l.Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	conn := opened.(launch.JournalReader)
	next := func(want string) {
		t.Helper()
		if line, err := conn.Recv(); err != nil || !strings.Contains(string(line), want) {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
	}
	next(`"one"`)
	next(`"two"`)
	requests := func(want ...string) {
		t.Helper()
		ids, whole, err := conn.OpenRequests(ctx)
		slices.Sort(ids)
		if err != nil || !whole || ids == nil || !slices.Equal(ids, want) {
			t.Errorf("open requests %q, %v, %v, want %q", ids, whole, err, want)
		}
	}
	requests("one", "two")
	answer := []byte(`{"type":"control_response","response":{"subtype":"success","request_id":"one","response":{}}}`)
	if err := conn.Send(answer); err != nil {
		t.Error(err)
	}
	if err := conn.Send(answer); !errors.Is(err, launch.ErrRepeated) {
		t.Errorf("the same answer: %v", err)
	}
	next("got ")
	requests("two")
	for id, want := range map[string]bool{"one": true, "two": false} {
		if wrote, err := conn.Wrote(ctx, id); err != nil || wrote != want {
			t.Errorf("wrote %s: %v, %v", id, wrote, err)
		}
	}
	if text, err := conn.Stderr(ctx); err != nil || strings.Contains(text, secret) { // the text may not have arrived yet
		t.Errorf("stderr %q, %v", text, err)
	}
	vitals, err := l.Vitals(ctx)
	if err != nil || len(vitals) != 1 || vitals[0].ProcessID != p.ID.ProcessID || vitals[0].Processes == 0 || vitals[0].Memory == 0 {
		t.Errorf("vitals %+v, %v", vitals, err)
	}
	if damaged, err := l.Damaged(ctx); err != nil || len(damaged) > 0 {
		t.Errorf("damaged %q, %v", damaged, err)
	}

	offset := conn.Offset()
	conn.Commit(offset)
	if err := conn.Detach(); err != nil {
		t.Error(err)
	}
	left, err := l.Leftovers(ctx)
	if err != nil || len(left) != 1 || left[0].ID() != p.ID || !left[0].Origin().Alive || left[0].Origin().Folder != work {
		t.Fatalf("leftovers %v, %v", left, err)
	}
	if wrote, err := left[0].Wrote(ctx, "one"); err != nil || !wrote {
		t.Errorf("wrote, without a connection: %v, %v", wrote, err)
	}
	connection := func(want string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(starter.Folder(p.ID), "connect.json"))
		if err != nil || string(text) != want {
			t.Errorf("where it asks: %s, %v, want %s", text, err, want)
		}
	}
	connection(`{"url":"http://127.0.0.1:1/mcp","token":"first token"}`)
	if err := l.ConnectAgent(ctx, p.ID, "next token"); err != nil {
		t.Error(err)
	}
	connection(`{"url":"http://127.0.0.1:1/mcp","token":"next token"}`)
	if opened, err = left[0].Attach(ctx, offset); err != nil {
		t.Fatal(err)
	}
	conn = opened.(launch.JournalReader)
	if err := conn.Send([]byte(`{"type":"user"}`)); err != nil {
		t.Error(err)
	}
	next(`got {"type":"user"}`)
	if conn.IsAhead() {
		t.Error("no newer server has had it")
	}
	if err := conn.CloseInput(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	<-conn.Done()
	if err := conn.ExitError(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if text, err := conn.Stderr(ctx); err != nil || text != "the key is [redacted]\n" {
		t.Errorf("stderr at the end: %q, %v", text, err)
	}
	if err := conn.Remove(ctx); err != nil {
		t.Error(err)
	}
	if left, err := l.Leftovers(ctx); err != nil || len(left) > 0 {
		t.Errorf("leftovers at the end: %v, %v", left, err)
	}
}
