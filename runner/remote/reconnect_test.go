package remote_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/runner/remote"
)

// database is what servers know of one process.
type database struct {
	token [sha256.Size]byte

	mu     sync.Mutex
	epoch  uint64
	offset int64
	lines  []string
	sent   int // messages that the CLI has got, as far as a server was told
	got    int // and those that it has said it got
	cuts   int // connections that were cut
	done   chan struct{}
}

func (d *database) FindToken(_ context.Context, hash [sha256.Size]byte) (string, error) {
	if hash != d.token {
		return "", runner.ErrToken
	}
	return "one", nil
}

func (d *database) TakeLease(context.Context, string, runner.Hello) (runner.Welcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	return runner.Welcome{RunnerID: "one", Epoch: d.epoch}, nil
}

// line stores a line, and reports whether the connection is to be cut now.
func (d *database) line(text string, offset int64) (cut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines, d.offset = append(d.lines, text), offset
	if strings.HasPrefix(text, "got ") {
		d.got++
	}
	if d.cuts < 4 && len(d.lines) > 700*(d.cuts+1) && int(d.epoch) > d.cuts {
		d.cuts++
		return true
	}
	return false
}

// cutter is a listener whose connections can be cut.
type cutter struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
	return conn, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if conn != nil {
			conn.Close()
		}
	}
	c.conns = nil
}

const (
	messages = 40
	// talker notes each line that it gets, says that it has got it, and 100 lines of 2 KB more.
	talker = `#!/bin/sh
while IFS= read -r line; do
	echo "$line" >>counted
	echo "got $line"
	i=0
	while [ $i -lt 100 ]; do i=$((i+1)); echo "$line $i %s"; done
done`
)

var long = strings.Repeat("x", 2000)

// drive is what a server does with the runner: it goes on where the database says.
func drive(ctx context.Context, d *database, c *link.Conn, folder string, cut func()) error {
	l := remote.NewLauncher(c)
	left, err := l.Leftovers(ctx)
	if err != nil {
		return err
	}
	var opened launch.Conn
	d.mu.Lock()
	offset := d.offset
	d.mu.Unlock()
	if len(left) == 0 {
		opened, err = l.Open(ctx, launch.Process{
			ID: launch.ID{SessionID: "session", ProcessID: one}, Folder: folder, PermissionMode: "default", NewSession: two,
		})
	} else {
		opened, err = left[0].Attach(ctx, offset)
	}
	if err != nil {
		return err
	}
	conn := opened.(launch.JournaledConn)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer conn.Close()
	progress := make(chan struct{}, 1)
	defer close(progress)
	sending.Go(func() {
		for {
			d.mu.Lock()
			next, got := d.sent, d.got
			d.mu.Unlock()
			if got < next { // one message after the other, so that some are under way at each cut
				if _, ok := <-progress; !ok {
					return
				}
				continue
			}
			if next == messages {
				_ = conn.CloseInput() // the CLI exits; else the next connection does it
				return
			}
			err := conn.Send(fmt.Appendf(nil, "message %d", next))
			if err != nil && !errors.Is(err, launch.ErrRepeated) {
				return // nobody knows whether the CLI got it
			}
			d.mu.Lock()
			d.sent = next + 1
			d.mu.Unlock()
		}
	})
	for {
		line, err := conn.Recv()
		if err == nil {
			if d.line(string(line), conn.Offset()) {
				cut()
			}
			conn.Commit(conn.Offset())
			select {
			case progress <- struct{}{}:
			default:
			}
			continue
		}
		if err != io.EOF {
			return err
		}
		<-conn.Done()
		if err := conn.Remove(ctx); err != nil {
			return err
		}
		close(d.done)
		<-ctx.Done()
		return nil
	}
}

// A CLI runs under a shim on a runner, which loses its connection again and again, and dials either
// of two servers: the CLI gets every message once, and every line that it says is stored once.
func TestConnectionsAreCutUnderAProcess(t *testing.T) {
	t.Parallel()
	token, hash := runner.NewToken()
	d := &database{token: hash, done: make(chan struct{})}
	folder, root := t.TempDir(), filepath.Join(t.TempDir(), "shims")
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	var servers []string
	var pin string
	for range 2 {
		var listener *cutter
		e, err := runner.NewEndpoint(runner.EndpointOptions{
			Registry: d, Log: quiet, Codes: remote.Codes(),
			Drive: func(ctx context.Context, _ runner.Welcome, _ runner.Hello, c *link.Conn) error {
				return drive(ctx, d, c, folder, listener.cut)
			},
			Serve: func(context.Context, string, *link.Call) (any, error) { return nil, link.ErrUnknown },
		})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewUnstartedServer(e)
		listener = &cutter{Listener: web.Listener}
		web.Listener = listener
		web.StartTLS()
		run(t, e.Run, web.Close)
		key := sha256.Sum256(web.Certificate().RawSubjectPublicKeyInfo)
		servers, pin = append(servers, web.URL), "sha256:"+hex.EncodeToString(key[:])
	}
	cli := &launch.CLI{Path: filepath.Join(t.TempDir(), "claude"), Environ: []string{"PATH=" + os.Getenv("PATH")}}
	if err := os.WriteFile(cli.Path, fmt.Appendf(nil, talker, long), 0o700); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := runner.NewProgram(runner.ProgramOptions{
		Servers: servers, Pin: pin, Log: quiet, Codes: remote.Codes(),
		Token: func() (string, error) { return token, nil },
		Hello: func(context.Context) (runner.Hello, error) { return runner.Hello{}, nil },
		Begin: func(w runner.Welcome) (runner.Serve, func()) {
			h := remote.NewHost(&launch.Starter{
				CLI: cli, Commands: &launch.Shims{Exe: exe, Root: root, Epoch: w.Epoch}, Roots: func() workspace.Roots { return workspace.Roots{folder} },
			})
			return h.Serve, h.Detach
		},
		Greeted: func(ctx context.Context, _ runner.Welcome, _ *link.Conn) error {
			<-ctx.Done()
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, p.Run, func() {})
	<-d.done

	text, err := os.ReadFile(filepath.Join(folder, "counted"))
	if err != nil {
		t.Fatal(err)
	}
	var counted, said strings.Builder
	for m := range messages {
		fmt.Fprintf(&counted, "message %d\n", m)
		fmt.Fprintf(&said, "got message %d\n", m)
		for i := range 100 {
			fmt.Fprintf(&said, "message %d %d %s\n", m, i+1, long)
		}
	}
	if string(text) != counted.String() {
		t.Errorf("the CLI got %q", text)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := strings.Join(d.lines, "\n") + "\n"; got != said.String() {
		t.Errorf("%d lines were stored, want %d, each once and in order", len(d.lines), messages*101)
	}
	if d.cuts != 4 || d.epoch < 5 {
		t.Errorf("%d connections were cut, %d leases taken", d.cuts, d.epoch)
	}
}

// run runs something until the end of the test.
func run(t *testing.T, do func(context.Context) error, after func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := do(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		after()
	})
}
