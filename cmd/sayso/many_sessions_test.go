package main_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
	"github.com/sayso-dev/sayso/store"
)

// smallCLI answers initialize and costs next to nothing.
const smallCLI = `#!/bin/sh
while IFS= read -r line; do
	case $line in *'"initialize"'*)
		id=${line#*'"request_id":"'}
		printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"account":{"email":"ada@example.org","apiKeySource":"none"}}}}\n' "${id%%'"'*}" ;;
	esac
done
`

// leftBehind is one session as a server left it that was killed.
type leftBehind struct {
	sessionID string
	dir       string
	shim      shim.Handle
}

// leave has sessions run, each under a shim of its own, that no server drives.
func (h *harness) leave(count int) []leftBehind {
	h.t.Helper()
	cli := filepath.Join(h.work, "cli")
	must(h.t, os.WriteFile(cli, []byte(smallCLI), 0o700))
	opened, err := store.Open(h.t.Context(), filepath.Join(h.state, "sayso.db"))
	must(h.t, err)
	all := make([]leftBehind, count)
	turn := make(chan struct{}, 4)
	errs := make([]error, count)
	var starting sync.WaitGroup
	for i := range all {
		processID, now := uuid.NewString(), time.Now()
		l := leftBehind{sessionID: uuid.NewString(), dir: filepath.Join(h.state, "shims", processID)}
		must(h.t, opened.CreateSession(h.t.Context(), session.Session{
			SessionID: l.sessionID, Title: fmt.Sprint(i), CWD: h.work, PermissionMode: "default", CreatedAt: now, UpdatedAt: now, Begun: true,
		}))
		_, err := opened.SaveProcess(h.t.Context(), session.ProcessState{
			SessionID: l.sessionID, ProcessID: processID, State: session.UserTurn, StartedAt: now, StateChangedAt: now,
			PermissionMode: "default",
		})
		must(h.t, err)
		starting.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			l.shim, errs[i] = shim.Start(h.t.Context(), h.program, shim.Params{
				SessionID: l.sessionID, ProcessID: processID, Dir: l.dir, Path: cli, Env: []string{"PATH=" + os.Getenv("PATH")}, Cwd: h.work,
			})
			all[i] = l
		})
	}
	starting.Wait()
	for _, err := range errs {
		must(h.t, err)
	}
	must(h.t, opened.Close())
	return all
}

// silence takes the place of a shim at its socket, and takes connections there
// without a word.
func (l leftBehind) silence(t *testing.T) {
	t.Helper()
	must(t, os.Remove(filepath.Join(l.dir, "socket")))
	short, err := os.MkdirTemp("", "s") // its own path is too long for a socket
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	must(t, os.Symlink(l.dir, filepath.Join(short, "d")))
	listener, err := net.Listen("unix", filepath.Join(short, "d", "socket"))
	must(t, err)
	var accepting sync.WaitGroup
	t.Cleanup(func() { listener.Close(); accepting.Wait() })
	accepting.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	})
}

// Goal R24: 200 sessions are there, 50 of them dead or hung. The server listens
// without waiting for them, the good ones go on, and the others are told apart,
// ended and cleared away.
func TestStartWithManySessions(t *testing.T) {
	nightly(t)
	t.Parallel()
	var all []leftBehind
	t.Cleanup(func() { // after the harness is emptied
		for _, l := range all {
			select {
			case <-l.shim.Done:
			case <-time.After(waitLimit):
				t.Fatal("a shim is still there")
			}
		}
	})
	h := newHarness(t, claudetest.Script{}).asProcesses()
	all = h.leave(200)
	good, dead, hung := all[:150], all[150:165], all[165:]
	for _, l := range dead {
		must(t, syscall.Kill(l.shim.PID, syscall.SIGKILL))
		<-l.shim.Done
	}
	for i, l := range hung {
		if i < 25 {
			halt(t, l.shim.PID)
		} else {
			l.silence(t)
		}
	}

	began := time.Now()
	s := h.start("--node-id", "here")
	// How long that took is a figure and no condition: other tests run beside it.
	t.Logf("R24: it listened after %s, the goal is 3s", time.Since(began))
	s.do("GET", "/healthz", nil, nil)
	adopted := func() bool {
		now := s.processes()
		for _, l := range good {
			if now[l.sessionID].PID != l.shim.CLI {
				return false
			}
		}
		return true
	}
	within(t, 3*waitLimit, "the good ones are adopted", adopted)
	t.Logf("the good ones were adopted after %s", time.Since(began))
	within(t, 3*waitLimit, "the others are dead", func() bool { return len(s.processes()) == len(good) })
	t.Logf("the others were told dead after %s", time.Since(began))
	if !adopted() {
		t.Error("a good one went with them")
	}
	for _, l := range append(dead, hung...) {
		p := s.process(l.sessionID)
		if p.State != "dead" || p.Error == "" {
			t.Errorf("one that is gone: %+v", p)
		}
		if !strings.Contains(s.said.String(), l.sessionID) {
			t.Errorf("the log says nothing of %s", l.sessionID)
		}
	}
	for _, l := range hung {
		within(t, 3*waitLimit, fmt.Sprintf("the CLI of a hung shim, process %d, is gone", l.shim.CLI), func() bool { return !alive(l.shim.CLI) })
	}
	within(t, 3*waitLimit, "their folders are removed", func() bool {
		left, err := os.ReadDir(filepath.Join(h.state, "shims"))
		must(t, err)
		return len(left) == len(good)
	})
	t.Logf("and cleared away after %s", time.Since(began))
	for _, l := range []leftBehind{good[0], good[len(good)-1]} {
		s.do("POST", "/api/sessions/"+l.sessionID+"/kill", map[string]any{"force": true}, nil)
		s.reaches(l.sessionID, "dead")
	}
}
