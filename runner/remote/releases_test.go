package remote_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/runner/remote"
	"github.com/sayso-dev/sayso/session"
)

var update = flag.Bool("update", false, "record what this release sends")

// TestReleases has a conversation with the runner and with the server of each release that has recorded
// its own: what they sent is sent again, and what this release answers is read. A release that speaks
// something new keeps what the two before it sent working, and records its own with
//
//	go test ./runner/remote -run TestReleases -update
func TestReleases(t *testing.T) {
	t.Parallel()
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	current := regexp.MustCompile(`(?m)^## \[(\d[^\]]*)\]`).FindSubmatch(changelog)
	file := filepath.Join("testdata", "releases", string(current[1])+".txt")
	if *update {
		if err := os.WriteFile(file, recordConversation(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the release has not recorded what it sends: %v", err)
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "releases", "*.txt")) // the pattern is valid
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		release := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run("runner of "+release, func(t *testing.T) {
			peer, near := net.Pipe()
			var serving sync.WaitGroup
			serving.Go(func() { serveConversation(t, peer) })
			replay(t, near, text, ">", "<")
			near.Close()
			serving.Wait()
		})
		t.Run("server of "+release, func(t *testing.T) {
			peer, near := net.Pipe()
			var serving sync.WaitGroup
			serving.Go(func() { runConversation(t, peer) })
			replay(t, near, text, "<", ">")
			near.Close()
			serving.Wait()
		})
	}
}

// conversationLimit bounds a conversation, in which nothing waits.
const conversationLimit = 30 * time.Second

// stubRunner is a runner whose answers are always the same.
type stubRunner struct{ launch.Runner }

func (stubRunner) Home(context.Context) (string, error) { return "/home/claude", nil }
func (stubRunner) Installation(context.Context) (launch.Installation, error) {
	return launch.Installation{ClaudePath: "/usr/bin/claude", ClaudeVersion: "2.1.329", SignedIn: true, Home: "/home/claude"}, nil
}
func (stubRunner) RealPath(_ context.Context, path string) (review.RealPath, error) {
	return review.RealPath{Path: path + "/real", Known: true}, nil
}
func (stubRunner) ListFolders(_ context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return workspace.Listing{Folders: []workspace.Folder{{Path: roots[0] + "/" + s.Prefix, Recent: true}}, More: true}, nil
}
func (stubRunner) ResolveFolder(_ context.Context, _ workspace.Roots, dir string) (string, error) {
	return "", problem.For("cwd", "folder_outside", "folder", dir, "roots", "/work")
}

var conversationHello = runner.Hello{
	InstallationID: "0198c0de-0000-7000-8000-000000000001", Machine: "machine", Release: "sayso", Fence: 7, Clock: time.Unix(1_700_000_000, 0).UTC(),
	Labels: []string{"gpu"}, Roots: []string{"/work"}, Capacity: session.Capacity{Processes: 4, Memory: 1 << 34, Cores: 8},
	CLIs: []session.RunnerCLI{{Path: "/usr/bin/claude", Version: "2.1.329", SignedIn: true}},
}

// runConversation is the runner's side, until the connection ends.
func runConversation(t *testing.T, s io.ReadWriteCloser) {
	ctx, cancel := context.WithTimeout(context.Background(), conversationLimit)
	defer cancel()
	methods, err := runner.MethodsOf[launch.Runner](stubRunner{})
	if err != nil {
		t.Error(err)
		return
	}
	host := remote.NewHost(&scripts{})
	defer host.Detach()
	var welcome runner.Welcome
	conn, err := link.Greet(ctx, s, conversationHello, &welcome, link.Options{
		Serve: func(ctx context.Context, call *link.Call) (any, error) {
			if _, known := methods[call.Name]; known {
				return methods.Serve(ctx, call)
			}
			return host.Serve(ctx, call)
		},
		Errors: runner.Errors(remote.Codes()), MaxCalls: 16,
	})
	if err != nil {
		t.Errorf("greeting: %v", err)
		return
	}
	if welcome.RunnerID != "runner" || welcome.Epoch != 8 {
		t.Errorf("welcomed as %+v", welcome)
	}
	_ = conn.Run(ctx) // until the other side closes it
}

// serveConversation is the server's side. It closes the connection at the end.
func serveConversation(t *testing.T, s io.ReadWriteCloser) {
	ctx, cancel := context.WithTimeout(context.Background(), conversationLimit)
	defer cancel()
	conn, err := link.Accept(ctx, s, func(_ context.Context, text json.RawMessage) (any, error) {
		var hello runner.Hello
		if err := json.Unmarshal(text, &hello); err != nil || !reflect.DeepEqual(hello, conversationHello) {
			t.Errorf("the hello %s is read as %+v, %v", text, hello, err)
		}
		return runner.Welcome{RunnerID: "runner", Epoch: 8, Time: time.Unix(1_700_000_001, 0).UTC()}, nil
	}, link.Options{
		Serve:  func(context.Context, *link.Call) (any, error) { return nil, link.ErrUnknown },
		Errors: runner.Errors(remote.Codes()), MaxCalls: 16,
	})
	if err != nil {
		t.Errorf("accepting: %v", err)
		return
	}
	var running sync.WaitGroup
	running.Go(func() { _ = conn.Run(ctx) }) // until it is closed
	defer running.Wait()
	defer conn.Close(runner.ErrGoingAway)

	near, launcher := remote.NewRunner(conn), remote.NewLauncher(conn)
	expect := func(what string, got any, err error, want any) {
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", what, got, err, want)
		}
	}
	home, err := near.Home(ctx)
	expect("home", home, err, "/home/claude")
	installed, err := near.Installation(ctx)
	expect("installation", installed, err, launch.Installation{ClaudePath: "/usr/bin/claude", ClaudeVersion: "2.1.329", SignedIn: true, Home: "/home/claude"})
	real, err := near.RealPath(ctx, "/work")
	expect("path", real, err, review.RealPath{Path: "/work/real", Known: true})
	folders, err := near.ListFolders(ctx, workspace.Roots{"/work"}, workspace.Search{Prefix: "a", Limit: 5})
	expect("folders", folders, err, workspace.Listing{Folders: []workspace.Folder{{Path: "/work/a", Recent: true}}, More: true})
	var reason *problem.Error
	if _, err := near.ResolveFolder(ctx, workspace.Roots{"/work"}, "/etc"); !errors.As(err, &reason) || reason.Reason != "folder_outside" || reason.Params["folder"] != "/etc" {
		t.Errorf("a folder outside: %v", err)
	}
	expect("machine", nil, launcher.CheckMachine(ctx), nil)
	left, err := launcher.Leftovers(ctx)
	expect("leftovers", len(left), err, 0)
	vitals, err := launcher.Vitals(ctx)
	expect("vitals2", vitals, err, []launch.Vitals{{ProcessID: one, Memory: 1 << 40, CPU: time.Hour, Processes: 3}, {ProcessID: two}})
	started := launch.Process{ID: launch.ID{SessionID: one, ProcessID: two}, Folder: "/etc", NewSession: one, PermissionMode: "default", AllowedTools: []string{"Read"}}
	if _, err := launcher.Open(ctx, started); !errors.Is(err, launch.ErrRefused) {
		t.Errorf("a process in a folder outside: %v", err)
	}
}

// recordConversation returns what both sides of this release send: a frame a line, "> " from the
// runner and "< " from the server, in hexadecimal.
func recordConversation(t *testing.T) []byte {
	var out bytes.Buffer
	var mu sync.Mutex
	far, near := net.Pipe()
	tap := func(s net.Conn, from string) io.ReadWriteCloser {
		return &tapped{Conn: s, sent: func(frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&out, "%s %x\n", from, frame)
		}}
	}
	var running sync.WaitGroup
	running.Go(func() { runConversation(t, tap(far, ">")) })
	serveConversation(t, tap(near, "<"))
	running.Wait()
	mu.Lock()
	defer mu.Unlock()
	return out.Bytes()
}

// tapped tells which frames are written, before they go out.
type tapped struct {
	net.Conn
	sent func(frame []byte)
	rest []byte // the beginning of a frame
}

func (c *tapped) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for r := bytes.NewReader(c.rest); ; c.rest = c.rest[len(c.rest)-r.Len():] {
		frame, err := readWhole(r)
		if err != nil {
			break
		}
		if isAnswer(frame) {
			c.sent(frame)
		}
	}
	return c.Conn.Write(p)
}

// replay sends the frames of one side in their places between those of the other.
func replay(t *testing.T, s net.Conn, recording []byte, mine, theirs string) {
	t.Helper()
	_ = s.SetDeadline(time.Now().Add(conversationLimit)) // a pipe has deadlines
	lines := bufio.NewScanner(bytes.NewReader(recording))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		from, text, _ := strings.Cut(lines.Text(), " ")
		frame, err := hex.DecodeString(text)
		if err != nil || len(frame) < frameHeader {
			t.Fatalf("line %d is no frame: %v", n, err)
		}
		switch from {
		case mine:
			if _, err := s.Write(frame); err != nil {
				t.Fatalf("line %d: %v", n, err)
			}
		case theirs:
			got, err := readAnswer(s)
			if err != nil {
				t.Fatalf("line %d: %v", n, err)
			}
			if kind, channel := got[17], binary.BigEndian.Uint16(got[18:]); kind != frame[17] || channel != binary.BigEndian.Uint16(frame[18:]) {
				t.Fatalf("line %d: a frame of kind %d on channel %d (%s), want %q", n, kind, channel, got[frameHeader:], frame[frameHeader:])
			}
		}
	}
}

const frameHeader = 20

// readWhole reads one frame, of which only the length is interpreted.
func readWhole(r io.Reader) (frame []byte, err error) {
	header := make([]byte, frameHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	frame = append(header, make([]byte, binary.BigEndian.Uint32(header))...)
	_, err = io.ReadFull(r, frame[frameHeader:])
	return frame, err
}

// isAnswer reports whether a frame depends on what was said, and not on the time.
func isAnswer(frame []byte) bool { return frame[17] != 11 && frame[17] != 15 && frame[17] != 16 }

func readAnswer(r io.Reader) ([]byte, error) {
	for {
		frame, err := readWhole(r)
		if err != nil || isAnswer(frame) {
			return frame, err
		}
	}
}
