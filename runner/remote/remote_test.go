package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/runner/remote"
	"github.com/sayso-dev/sayso/shim"
)

// The test binary is also the shim.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "shim" {
		_ = shim.Main(os.Stdin, os.Stdout) // it has told its starter
		syscall.Exit(0)                    // os.Exit sleeps for a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

// scripts are CLIs in memory, each with a journal that outlives connections.
type scripts struct {
	mu    sync.Mutex
	all   map[launch.ID]*script
	order []launch.ID
	full  error // see CheckMachine
}

// script says every line again.
type script struct {
	id      launch.ID
	started launch.Process

	mu        sync.Mutex
	changed   *sync.Cond
	journal   [][]byte // nil is a line that was too large
	written   []string // lines that reached the CLI
	exited    bool
	exit      error
	epoch     int // of the last attach
	committed int64
	removed   bool
	token     string   // given to a running CLI
	open      []string // requests, in a journal whose beginning is gone when there are none
}

func (s *scripts) Open(_ context.Context, started launch.Process) (launch.Conn, error) {
	switch started.Folder {
	case "/missing":
		return nil, &launch.Error{Sentence: "There is no CLI.", Err: fmt.Errorf("start: %w", claude.ErrCLIMissing)}
	case "/etc":
		return nil, fmt.Errorf("%w: %w", launch.ErrRefused, problem.For("cwd", "folder_outside", "folder", "/etc", "roots", "/work"))
	}
	id := started.ID
	p := &script{id: id, started: started}
	p.changed = sync.NewCond(&p.mu)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[launch.ID]*script{}
	}
	s.all[id], s.order = p, append(s.order, id)
	return p.attach(0)
}

func (s *scripts) ConnectAgent(_ context.Context, id launch.ID, token string) error {
	s.all[id].token = token
	return nil
}

func (s *scripts) CheckMachine(context.Context) error { return s.full }

func (s *scripts) Vitals(context.Context) ([]launch.Vitals, error) {
	return []launch.Vitals{{ProcessID: one, Memory: 1 << 40, CPU: time.Hour, Processes: 3}, {ProcessID: two}}, nil
}

func (s *scripts) Damaged(context.Context) ([]string, error) { return []string{two}, nil }

func (s *scripts) Leftovers(context.Context) ([]launch.Leftover, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []launch.Leftover
	for _, id := range s.order {
		if !s.all[id].removed {
			all = append(all, scriptLeft{s.all[id]})
		}
	}
	return all, nil
}

type scriptLeft struct{ p *script }

func (l scriptLeft) ID() launch.ID { return l.p.id }
func (l scriptLeft) Origin() launch.Origin {
	return launch.Origin{Alive: !l.p.exited, Folder: "/work", StartedAt: time.Unix(1e9, 0).UTC()}
}
func (l scriptLeft) Attach(_ context.Context, offset int64) (launch.Conn, error) {
	if offset > int64(len(l.p.journal)) {
		return nil, launch.ErrHung
	}
	return l.p.attach(offset)
}
func (l scriptLeft) End(context.Context) error    { l.p.end(errors.New("signal: killed")); return nil }
func (l scriptLeft) Remove(context.Context) error { l.p.removed = true; return nil }
func (l scriptLeft) Wrote(_ context.Context, requestID string) (bool, error) {
	return l.p.wrote(requestID), nil
}

func (p *script) attach(offset int64) (launch.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	p.changed.Broadcast()
	return &scriptConn{p: p, epoch: p.epoch, offset: offset, done: make(chan struct{})}, nil
}

func (p *script) say(lines ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.journal = append(p.journal, lines...)
	p.changed.Broadcast()
}

func (p *script) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exited, p.exit = true, err
	p.changed.Broadcast()
}

func (p *script) wrote(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.written, text)
}

type scriptConn struct {
	p        *script
	epoch    int
	offset   int64
	detached bool
	done     chan struct{}
	once     sync.Once
}

func (c *scriptConn) Recv() ([]byte, error) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case c.detached:
			return nil, claude.ErrClosed
		case p.epoch != c.epoch:
			return nil, launch.ErrFenced
		case c.offset < int64(len(p.journal)):
			line := p.journal[c.offset]
			c.offset++
			if line == nil {
				return nil, fmt.Errorf("%w: 300 MiB", claude.ErrTooLarge)
			}
			return line, nil
		case p.exited:
			c.once.Do(func() { close(c.done) })
			return nil, io.EOF
		}
		p.changed.Wait()
	}
}

func (c *scriptConn) Send(line []byte) error {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for string(line) == "wait" && !c.detached {
		p.changed.Wait() // the CLI reads nothing
	}
	switch {
	case c.detached:
		return claude.ErrClosed
	case slices.Contains(p.written, string(line)):
		return launch.ErrRepeated
	}
	p.written = append(p.written, string(line))
	p.journal = append(p.journal, bytes.Clone(line))
	p.changed.Broadcast()
	return nil
}

func (c *scriptConn) Close() error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.detached = true
	c.p.changed.Broadcast()
	return nil
}

func (c *scriptConn) Detach() error                                    { return c.Close() }
func (c *scriptConn) PID() int                                         { return 4711 }
func (c *scriptConn) CloseInput() error                                { c.p.end(nil); return nil }
func (c *scriptConn) Terminate() error                                 { c.p.end(errors.New("exit status 143")); return nil }
func (c *scriptConn) Kill() error                                      { c.p.end(errors.New("signal: killed")); return nil }
func (c *scriptConn) Done() <-chan struct{}                            { return c.done }
func (c *scriptConn) ExitError() error                                 { return c.p.exit }
func (c *scriptConn) Stderr(context.Context) (string, error)           { return "it says", nil }
func (c *scriptConn) Wrote(_ context.Context, id string) (bool, error) { return c.p.wrote(id), nil }
func (c *scriptConn) IsAhead() bool                                    { return c.epoch > 2 }
func (c *scriptConn) Remove(context.Context) error                     { c.p.removed = true; return nil }
func (c *scriptConn) Offset() int64 {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.offset
}
func (c *scriptConn) Commit(offset int64) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.committed = max(c.p.committed, offset) // commits may overtake each other
}
func (c *scriptConn) Committed(context.Context) (int64, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.p.committed, nil
}
func (c *scriptConn) OpenRequests(context.Context) ([]string, bool, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.p.open, len(c.p.open) > 0, nil
}

// connect returns the launcher on the server for one on the runner, and what ends the connection.
func connect(t *testing.T, local launch.Launcher) (l *remote.Launcher, lose func()) {
	t.Helper()
	host := remote.NewHost(local)
	c, lose := pair(t, host.Serve, host.Detach)
	return remote.NewLauncher(c), lose
}

// pair returns the server's side of a connection to a runner that serves calls, and what loses it.
func pair(t *testing.T, serve func(context.Context, *link.Call) (any, error), end func()) (c *link.Conn, lose func()) {
	t.Helper()
	a, b := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		c, err := link.Greet(ctx, a, "hello", nil, link.Options{Serve: serve, Errors: remote.Codes()})
		if err == nil {
			_ = c.Run(ctx) // until the connection is lost
		}
		end()
	})
	welcome := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	c, err := link.Accept(ctx, b, welcome, link.Options{Errors: remote.Codes()})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c, func() { a.Close() }
}

const (
	one = "11111111-1111-4111-8111-111111111111"
	two = "22222222-2222-4222-8222-222222222222"
)

// TestLauncherHere and TestLauncherThere are the contract of a launcher: on this machine, and over
// a connection.
func TestLauncherHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripts{}
		contract(t, s, s)
	})
}

func TestLauncherThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripts{}
		l, _ := connect(t, s)
		contract(t, s, l)
	})
}

func contract(t *testing.T, s *scripts, l launch.Launcher) {
	ctx := t.Context()
	id := launch.ID{SessionID: "session", ProcessID: one}
	var failed *launch.Error
	if _, err := l.Open(ctx, launch.Process{ID: id, Folder: "/missing"}); !errors.As(err, &failed) || failed.Sentence != "There is no CLI." {
		t.Errorf("a CLI that is missing: %v", err)
	}
	var outside *problem.Error
	if _, err := l.Open(ctx, launch.Process{ID: id, Folder: "/etc"}); !errors.Is(err, launch.ErrRefused) || !errors.As(err, &outside) || outside.Reason != "folder_outside" {
		t.Errorf("a folder outside of the roots: %v", err)
	}
	want := launch.Process{
		ID: id, Folder: "/work", NewSession: "a", Resume: "b", Fork: true, ResumeAt: "c", ContinueTurn: true, Model: "opus",
		PermissionMode: "plan", AllowBypass: true, AllowedTools: []string{"Read"}, UserSettingsOnly: true,
		Overrides: map[string]string{"GIT_CONFIG_COUNT": "0"}, Demo: true,
		Trusted: &launch.Trusted{Digest: "sha256:1", Granted: map[pending.Scope][]string{pending.ScopeLocal: {"Bash(ls:*)"}}}, Agent: launch.Agent{Token: "secret", Tools: []string{"ask_user"}},
	}
	for i, v := 0, reflect.ValueOf(want); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not tried", v.Type().Field(i).Name)
		}
	}
	opened, err := l.Open(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	c := opened.(launch.JournalReader)
	p := s.all[id]
	if c.PID() != 4711 || !reflect.DeepEqual(p.started, want) {
		t.Errorf("pid %d of %+v", c.PID(), p.started)
	}
	if err := l.CheckMachine(ctx); err != nil {
		t.Errorf("the machine: %v", err)
	}
	s.full = problem.New("no_demo")
	if err := l.CheckMachine(ctx); !errors.As(err, &outside) || outside.Reason != "no_demo" {
		t.Errorf("a machine that can run no more: %v", err)
	}
	vitals, err := l.Vitals(ctx)
	if err != nil || !reflect.DeepEqual(vitals, []launch.Vitals{{ProcessID: one, Memory: 1 << 40, CPU: time.Hour, Processes: 3}, {ProcessID: two}}) {
		t.Errorf("vitals %+v, %v", vitals, err)
	}
	if damaged, err := l.Damaged(ctx); err != nil || !slices.Equal(damaged, []string{two}) {
		t.Errorf("damaged: %q, %v", damaged, err)
	}
	long := bytes.Repeat([]byte("long "), 300_000)
	for i, line := range [][]byte{[]byte("first"), {}, long, []byte("\xff no text")} {
		p.say(line)
		got, err := c.Recv()
		if err != nil || !bytes.Equal(got, line) || c.Offset() != int64(i+1) {
			t.Fatalf("line %d: %d bytes at %d, %v", i, len(got), c.Offset(), err)
		}
	}
	p.say(nil, []byte("after"))
	if _, err := c.Recv(); !errors.Is(err, claude.ErrTooLarge) || c.Offset() != 5 {
		t.Errorf("a large line: %v", err)
	}
	if got, err := c.Recv(); string(got) != "after" || err != nil {
		t.Errorf("after it: %q, %v", got, err)
	}
	if err := c.Send([]byte("answer 7")); err != nil {
		t.Error(err)
	}
	if err := c.Send([]byte("answer 7")); !errors.Is(err, launch.ErrRepeated) {
		t.Errorf("the same again: %v", err)
	}
	if err := c.Send(long); err != nil {
		t.Error(err)
	}
	if is, err := c.Wrote(ctx, "answer 7"); !is || err != nil {
		t.Errorf("wrote: %v, %v", is, err)
	}
	if is, err := c.Wrote(ctx, "answer 8"); is || err != nil {
		t.Errorf("wrote what nobody sent: %v, %v", is, err)
	}
	c.Commit(3)
	synctest.Wait()
	if offset, err := c.Committed(ctx); offset != 3 || err != nil {
		t.Errorf("committed %d, %v", offset, err)
	}
	if ids, whole, err := c.OpenRequests(ctx); ids != nil || whole || err != nil {
		t.Errorf("requests that are unknown: %q, %v, %v", ids, whole, err)
	}
	p.open = []string{"7", "8"}
	if ids, whole, err := c.OpenRequests(ctx); !slices.Equal(ids, p.open) || !whole || err != nil {
		t.Errorf("open requests: %q, %v, %v", ids, whole, err)
	}
	if text, err := c.Stderr(ctx); text != "it says" || err != nil {
		t.Errorf("stderr %q, %v", text, err)
	}
	if err := c.Detach(); err != nil {
		t.Error(err)
	}
	for err = nil; err == nil; _, err = c.Recv() { //nolint:revive // to the end
	}

	left, err := l.Leftovers(ctx)
	if err != nil || len(left) != 1 || left[0].ID() != id {
		t.Fatalf("leftovers %v, %v", left, err)
	}
	if err := l.ConnectAgent(ctx, id, "another"); err != nil || p.token != "another" {
		t.Errorf("another token: %q, %v", p.token, err)
	}
	if o := left[0].Origin(); !o.Alive || o.Folder != "/work" || !o.StartedAt.Equal(time.Unix(1e9, 0)) {
		t.Errorf("origin %+v", o)
	}
	if is, err := left[0].Wrote(ctx, "answer 7"); !is || err != nil {
		t.Errorf("wrote: %v, %v", is, err)
	}
	if _, err := left[0].Attach(ctx, 99); !errors.Is(err, launch.ErrHung) {
		t.Errorf("beyond the end: %v", err)
	}
	opened, err = left[0].Attach(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	c = opened.(launch.JournalReader)
	for _, want := range []string{"after", "answer 7", string(long)} {
		if got, err := c.Recv(); string(got) != want || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if c.Offset() != 8 || c.IsAhead() {
		t.Errorf("at %d, ahead %v", c.Offset(), c.IsAhead())
	}

	// Another server takes it.
	other, err := left[0].Attach(ctx, 8)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Recv(); err == nil {
		t.Error("two read one process")
	}
	if !other.(launch.JournaledConn).IsAhead() {
		t.Error("it is not ahead")
	}
	if err := other.Terminate(); err != nil {
		t.Error(err)
	}
	if _, err := other.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	<-other.Done()
	if err := other.ExitError(); err == nil || err.Error() != "exit status 143" {
		t.Errorf("exit %v", err)
	}
	if text, err := other.Stderr(ctx); text != "it says" || err != nil {
		t.Errorf("stderr %q, %v", text, err)
	}
	if err := other.(launch.JournaledConn).Remove(ctx); err != nil {
		t.Error(err)
	}
	if left, err := l.Leftovers(ctx); err != nil || len(left) != 0 {
		t.Errorf("leftovers %v, %v", left, err)
	}

	// One that exits without an error, while Send waits for it.
	c2, err := l.Open(ctx, launch.Process{ID: launch.ID{SessionID: "session", ProcessID: two}})
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- c2.Send([]byte("wait")) }()
	synctest.Wait()
	if err := c2.Close(); err != nil {
		t.Error(err)
	}
	if err := <-sent; err == nil {
		t.Error("Send outlived Close")
	}
	left, err = l.Leftovers(ctx)
	if err != nil || len(left) != 1 {
		t.Fatalf("leftovers %v, %v", left, err)
	}
	if c2, err = left[0].Attach(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := c2.CloseInput(); err != nil {
		t.Error(err)
	}
	if _, err := c2.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	<-c2.Done()
	if err := c2.ExitError(); err != nil {
		t.Errorf("exit %v", err)
	}
	if err := left[0].Remove(ctx); err != nil {
		t.Error(err)
	}
}

// When the connection is lost, processes continue, and the next connection goes on from the offset.
func TestAConnectionIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripts{}
		id := launch.ID{SessionID: "session", ProcessID: one}
		l, lose := connect(t, s)
		c, err := l.Open(t.Context(), launch.Process{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		p := s.all[id]
		p.say([]byte("1"), []byte("2"))
		if got, err := c.Recv(); string(got) != "1" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		offset := c.(launch.JournaledConn).Offset()
		lose()
		p.say([]byte("3"))
		for err = nil; err == nil; _, err = c.Recv() { //nolint:revive // what had come may be read
		}
		if !errors.Is(err, link.ErrLost) {
			t.Errorf("Recv returned %v", err)
		}
		if err := c.Send([]byte("x")); !errors.Is(err, link.ErrLost) {
			t.Errorf("Send returned %v", err)
		}
		l, _ = connect(t, s)
		left, err := l.Leftovers(t.Context())
		if err != nil || len(left) != 1 {
			t.Fatalf("%v, %v", left, err)
		}
		if c, err = left[0].Attach(t.Context(), offset); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"2", "3"} {
			if got, err := c.Recv(); string(got) != want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
	})
}

// A server cannot make a runner start what its settings do not allow, nor reach files beside those of
// a process.
func TestServersThatWantTooMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripts{}
		l, _ := connect(t, &launch.Starter{
			CLI: &launch.CLI{Path: "/bin/sh"}, Commands: commands{s}, Roots: func() workspace.Roots { return workspace.Roots{"/work"} },
		})
		good := launch.Process{ID: launch.ID{SessionID: "s", ProcessID: one}, Folder: "/work", PermissionMode: "default", NewSession: one}
		for _, row := range []struct {
			name   string
			change func(*launch.Process)
			want   string
		}{
			{"another folder", func(p *launch.Process) { p.Folder = "/etc" }, "/etc is outside"},
			{"a way out of a root", func(p *launch.Process) { p.Folder = "/work/../etc" }, "/work/../etc is outside"},
			{"a demo", func(p *launch.Process) { p.Demo = true }, "no demo"},
			{"the folder of all", func(p *launch.Process) { p.ID.ProcessID = "" }, "is a UUID"},
			{"a folder beside", func(p *launch.Process) { p.ID.ProcessID = "../../etc/cron.d" }, "is a UUID"},
			{"an id with a prefix", func(p *launch.Process) { p.ID.ProcessID = "urn:uuid:" + one }, "is a UUID"},
		} {
			p := good
			row.change(&p)
			_, err := l.Open(t.Context(), p)
			if !errors.Is(err, launch.ErrRefused) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		if len(s.all) > 0 {
			t.Errorf("%d were started", len(s.all))
		}
		if err := l.ConnectAgent(t.Context(), launch.ID{SessionID: "s", ProcessID: "../beside"}, "token"); !errors.Is(err, remote.ErrNoProcess) {
			t.Errorf("a token for files beside: %v", err)
		}
		if _, err := l.Open(t.Context(), good); err != nil {
			t.Errorf("what is allowed: %v", err)
		}
	})
}

// commands starts scripts whatever the command.
type commands struct{ *scripts }

func (commands) Folder(launch.ID) string { return "" }

func (c commands) Launch(ctx context.Context, id launch.ID, _ claude.Command, _ map[string][]byte) (launch.Conn, error) {
	return c.Open(ctx, launch.Process{ID: id})
}
