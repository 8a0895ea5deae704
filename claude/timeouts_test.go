package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// memoryProcess is a CLI in memory that ends as its field says, so that time can be simulated.
type memoryProcess struct {
	claude.Transport
	endsBy string // eof, SIGTERM or SIGKILL

	mu    sync.Mutex
	began time.Time
	seen  []string // what it was told, with the time since began
	done  chan struct{}
}

// newMemoryProcess returns a process and the other end of its transport.
func newMemoryProcess(endsBy string) (*memoryProcess, claude.Transport) {
	host, cli := claudetest.Pipe()
	return &memoryProcess{Transport: host, endsBy: endsBy, began: time.Now(), done: make(chan struct{})}, cli
}

func (p *memoryProcess) told(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, what+" after "+time.Since(p.began).String())
	if what == p.endsBy {
		close(p.done)
		p.Transport.Close()
	}
	return nil
}

func (p *memoryProcess) PID() int              { return 1 }
func (p *memoryProcess) CloseInput() error     { return p.told("eof") }
func (p *memoryProcess) Terminate() error      { return p.told("SIGTERM") }
func (p *memoryProcess) Kill() error           { return p.told("SIGKILL") }
func (p *memoryProcess) Done() <-chan struct{} { return p.done }
func (p *memoryProcess) Stderr() string        { return "" }
func (p *memoryProcess) Wait() error           { <-p.done; return nil }

// A CLI that never answers initialize ends after two minutes, gently, then by force.
func TestInitializeHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, cli := newMemoryProcess("SIGKILL")
		go func() {
			for _, err := cli.Recv(); err == nil; _, err = cli.Recv() {
			}
		}()
		client := claude.StartOver(p, "", claude.Options{})
		err := client.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "did not answer initialize") {
			t.Errorf("got %v", err)
		}
		if _, ready := client.Ready(t.Context()); ready == nil || ready.Error() != err.Error() {
			t.Errorf("Ready: got %v, want %v", ready, err)
		}
		if want := []string{"eof after 2m0s", "SIGTERM after 2m5s", "SIGKILL after 2m10s"}; !slices.Equal(p.seen, want) {
			t.Errorf("the CLI was told %q, want %q", p.seen, want)
		}
	})
}

// The end of the input would make a CLI with a turn go on without its questions.
func TestCLIWithATurnIsTerminated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, cli := newMemoryProcess("SIGTERM")
		go (&claudetest.CLI{Transport: cli, Script: claudetest.Script{Turn: []claudetest.Step{{Silent: true}}}}).Run(t.Context())
		client := claude.StartOver(p, "", claude.Options{})
		run := make(chan error)
		go func() { run <- client.Run(t.Context()) }()
		if err := client.SendUser(t.Context(), claude.UserMessage{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		client.Close()
		if err := <-run; err != nil {
			t.Error(err)
		}
		if want := []string{"SIGTERM after 0s"}; !slices.Equal(p.seen, want) {
			t.Errorf("the CLI was told %q, want %q", p.seen, want)
		}
	})
}

// A store that never returns holds the end for half a minute, and what it lacks is reported.
func TestStoreThatHangsHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, cli := newMemoryProcess("eof")
		go (&claudetest.CLI{Transport: cli, Script: claudetest.Script{Turn: mirroredSteps()}}).Run(t.Context())
		store := hangingStore{}
		began := time.Now()
		var err error
		for _, e := range claude.QueryOver(t.Context(), p, "hello", claude.Options{SessionStore: store}) {
			err = e
		}
		var lost *claude.SessionStoreError
		if !errors.As(err, &lost) || lost.Entries != 8 || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A call of the store that hangs is ended after a minute and repeated.
func TestStoreCallHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, cli := newMemoryProcess("eof")
		go (&claudetest.CLI{Transport: cli, Script: claudetest.Script{Turn: append(mirroredSteps(), claudetest.Step{SleepMS: 300_000})}}).Run(t.Context())
		store := &onceHangingStore{}
		began := time.Now()
		var failed time.Duration
		o := claude.Options{SessionStore: store, OnCallbackError: func(_, _ string, err error) {
			if errors.Is(err, context.DeadlineExceeded) {
				failed = time.Since(began)
			}
		}}
		for _, err := range claude.QueryOver(t.Context(), p, "hello", o) {
			if err != nil {
				t.Error(err)
			}
		}
		if got, want := store.text(storedKey), strings.Join(savedLines, "\n")+"\n"; failed != time.Minute || got != want {
			t.Errorf("the call ended after %v, stored:\n%swant:\n%s", failed, got, want)
		}
	})
}

// onceHangingStore is a store whose first Append waits for the end of its context.
type onceHangingStore struct {
	memoryStore
	once sync.Once
}

func (s *onceHangingStore) Append(ctx context.Context, key claude.SessionKey, entries []json.RawMessage) (err error) {
	s.once.Do(func() {
		<-ctx.Done()
		err = ctx.Err()
	})
	if err != nil {
		return err
	}
	return s.memoryStore.Append(ctx, key, entries)
}

// hangingStore is a store whose Append waits for the end of its context.
type hangingStore struct{ claude.SessionStore }

func (hangingStore) Append(ctx context.Context, _ claude.SessionKey, _ []json.RawMessage) error {
	<-ctx.Done()
	return ctx.Err()
}

// backgroundSteps start an agent in the background and end the turn.
func backgroundSteps(more ...claudetest.Step) []claudetest.Step {
	steps := []claudetest.Step{
		prints(`{"type":"system","subtype":"task_started","task_id":"a1","task_type":"local_agent","is_backgrounded":true,"description":"Look around"}`),
		prints(`{"type":"result","subtype":"success"}`),
	}
	return append(steps, more...)
}

func TestBackgroundAgentsHaveATimeLimit(t *testing.T) {
	t.Parallel()
	const ends = `{"type":"system","subtype":"task_notification","task_id":"a1","status":"completed"}`
	ask := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "ls"}, "agent_id": "a1"}
	for name, test := range map[string]struct {
		steps  []claudetest.Step
		wait   time.Duration // of the option
		took   time.Duration
		failed bool
	}{
		"over the limit":         {backgroundSteps(claudetest.Step{Silent: true}), time.Minute, time.Minute, true},
		"no limit":               {backgroundSteps(claudetest.Step{SleepMS: 3_600_000}, prints(ends)), 0, time.Hour, false},
		"within the limit":       {backgroundSteps(claudetest.Step{SleepMS: 59_000}, prints(ends)), time.Minute, 59 * time.Second, false},
		"progress is no reason":  {backgroundSteps(claudetest.Step{SleepMS: 50_000}, prints(`{"type":"system","subtype":"task_progress","task_id":"a1"}`), claudetest.Step{Silent: true}), time.Minute, time.Minute, true},
		"a person decides":       {backgroundSteps(claudetest.Step{SleepMS: 30_000}, claudetest.Step{Ask: ask}, claudetest.Step{SleepMS: 10_000}, prints(ends)), time.Minute, 5*time.Minute + 40*time.Second, false},
		"a new turn starts anew": {backgroundSteps(claudetest.Step{SleepMS: 40_000}, prints(`{"type":"system","subtype":"init"}`), claudetest.Step{SleepMS: 40_000}, prints(`{"type":"result","subtype":"success"}`), claudetest.Step{Silent: true}), time.Minute, 140 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, cli := newMemoryProcess("SIGTERM")
				if !test.failed {
					p.endsBy = "eof"
				}
				go (&claudetest.CLI{Transport: cli, Script: claudetest.Script{Turn: test.steps}}).Run(t.Context())
				o := claude.Options{BackgroundWait: test.wait, CanUseTool: func(context.Context, claude.ToolRequest) (claude.ToolDecision, error) {
					time.Sleep(5 * time.Minute) // a person
					return claude.Allow(), nil
				}}
				began := time.Now()
				var err error
				for _, e := range claude.QueryOver(t.Context(), p, "hello", o) {
					err = e
				}
				var background *claude.BackgroundError
				if test.failed != errors.As(err, &background) || test.failed != errors.Is(err, claude.ErrLimit) {
					t.Errorf("got %v", err)
				}
				if background != nil && (len(background.Tasks) != 1 || background.Tasks[0].Description != "Look around") {
					t.Errorf("it names the tasks %+v", background.Tasks)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
			})
		})
	}
}

// answers returns an MCP server that answers requests with results, by method, and notes the methods.
func answers(results map[string]string, noted chan<- string) claude.LocalServer {
	return claude.LocalServer{Serve: func(ctx context.Context, conn claude.MCPConn) error {
		for {
			line, err := conn.Recv(ctx)
			if err != nil {
				return nil
			}
			var m rpc
			if err := json.Unmarshal(line, &m); err != nil {
				return err
			}
			noted <- m.Method
			if result := results[m.Method]; result != "" {
				if err := conn.Send(ctx, json.RawMessage(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)); err != nil {
					return err
				}
			}
		}
	}}
}

// A CLI that reads manifests need not ask the servers of this process, and connects to those that are
// too slow.
func TestManifestsAreSent(t *testing.T) {
	t.Parallel()
	const hello, tools = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x"}}`, `{"tools":[{"name":"greet"}]}`
	synctest.Test(t, func(t *testing.T) {
		noted := make(chan string, 100)
		changes := answers(map[string]string{"initialize": hello, "tools/list": tools}, noted)
		serve := changes.Serve
		changes.Serve = func(ctx context.Context, conn claude.MCPConn) error {
			go conn.Send(ctx, json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
			synctest.Wait()
			return serve(ctx, conn)
		}
		o := claude.Options{MCPServers: map[string]claude.MCPServerConfig{
			"local":   answers(map[string]string{"initialize": hello, "tools/list": tools}, noted),
			"plain":   answers(map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{}}`}, noted),
			"paged":   answers(map[string]string{"initialize": hello, "tools/list": `{"tools":[],"nextCursor":"2"}`}, noted),
			"slow":    answers(nil, noted),
			"half":    answers(map[string]string{"initialize": hello}, noted),
			"changes": changes,
			"fails":   claude.LocalServer{Serve: func(context.Context, claude.MCPConn) error { return errBoom }},
		}}
		p, cli := newMemoryProcess("eof")
		client := claude.StartOver(p, "2.1.329", o)
		run := make(chan error)
		go func() { run <- client.Run(t.Context()) }()
		line, err := cli.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(p.began); took != time.Second {
			t.Errorf("initialize was sent after %v", took)
		}
		var sent struct {
			Request claude.InitializeRequest `json:"request"`
		}
		if err := json.Unmarshal(line, &sent); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for name, m := range sent.Request.SDKMCPServerManifests {
			got[name] = string(m.ToolsListResult)
		}
		// The CLI lists the tools of those without a list by itself.
		if want := map[string]string{"local": tools, "plain": "", "paged": "", "changes": ""}; !maps.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if m := sent.Request.SDKMCPServerManifests["local"]; string(m.InitializeResult) != hello {
			t.Errorf("got %s", m.InitializeResult)
		}
		// What a server says by itself comes after initialize: a CLI exits if another request is first.
		if line, err = cli.Recv(); err != nil || !strings.Contains(string(line), "list_changed") {
			t.Errorf("got %s %v", line, err)
		}
		client.Close()
		if err := <-run; err != nil {
			t.Error(err)
		}
	})
}

// An older CLI does not read them.
func TestManifestsAreForNewerCLIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, cli := newMemoryProcess("eof")
		client := claude.StartOver(p, "2.1.328", claude.Options{MCPServers: map[string]claude.MCPServerConfig{"slow": answers(nil, make(chan string, 10))}})
		run := make(chan error)
		go func() { run <- client.Run(t.Context()) }()
		if line, err := cli.Recv(); err != nil || strings.Contains(string(line), "Manifests") || time.Since(p.began) != 0 {
			t.Errorf("after %v: got %s %v", time.Since(p.began), line, err)
		}
		client.Close()
		if err := <-run; err != nil {
			t.Error(err)
		}
	})
}
