package main_test

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// limitFiles lets no file of the server grow beyond so many bytes: for the server
// that is a full disk, for everybody else the disk is as it was.
func (s *server) limitFiles(bytes uint64) {
	s.h.t.Helper()
	limitFiles(s.h.t, s.cmd.Process.Pid, bytes)
}

// limitFiles is the same for a process.
func limitFiles(t testing.TB, pid int, bytes uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: bytes, Max: ^uint64(0)}
	const fileSize = syscall.RLIMIT_FSIZE
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), fileSize, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); err != 0 {
		t.Fatal(err)
	}
}

func noticeOf(code string) func(map[string]any) bool {
	return func(f map[string]any) bool { return f["type"] == "notice" && f["code"] == code }
}

// Goal R14: while the disk is full every tab is told, what cannot be stored is
// refused and changes nothing, a session can be ended all the same, and all goes
// on by itself once there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	s := h.start()
	answered, ended, early := s.session("one"), s.session("two"), s.session("three")
	question := s.asks(answered)
	s.asks(ended)
	s.allow(s.asks(early)) // is not lost by what comes
	s.reaches(early, "user_turn")
	pid := s.pid(ended)
	tab, looking := s.tab(), s.follow()
	tab.until(t, waitLimit, "the snapshot", ofType("active_processes"))

	s.limitFiles(1)
	err := s.Do(t.Context(), "POST", "/api/pending/"+question+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"}, nil)
	var refused *blackbox.StatusError
	if !errors.As(err, &refused) || refused.Status != 503 {
		t.Fatalf("an answer on a full disk: %v, want 503", err)
	}
	tab.until(t, waitLimit, "the banner", noticeOf("read_only"))
	if status := s.status("GET", "/readyz", nil, nil); status != 503 {
		t.Errorf("ready on a full disk: %d, want 503", status)
	}
	if again := s.asks(answered); again != question {
		t.Errorf("the open request is %s now, was %s", again, question)
	}
	if n := len(h.records("control_response")); n != 1 {
		t.Errorf("Claude heard %d answers, want the one from before", n)
	}
	if p := s.process(early); p.State != "user_turn" {
		t.Errorf("what was stored cannot be read: %+v", p)
	}
	late := s.tab()
	late.until(t, waitLimit, "the banner in a tab that comes later", noticeOf("read_only"))
	_ = s.Do(t.Context(), "POST", "/api/sessions/"+ended+"/kill", map[string]any{"force": true}, nil) // that it was asked for is not stored
	eventually(t, "a session is ended on a full disk", func() bool { return !alive(pid) })
	eventually(t, "the tab shows that", func() bool { return looking.state(ended) == "dead" && len(looking.forms()) == 1 })
	if p := s.process(ended); p.State != "dead" || p.KillReason != "Ended by admin." || len(p.Requests) != 0 {
		t.Errorf("what REST says of it before there is space: %+v", p)
	}
	if open := s.openRequests(); len(open) != 1 || !open[question] {
		t.Errorf("open requests before there is space: %v, want %s", open, question)
	}

	s.limitFiles(^uint64(0))
	tab.until(t, waitLimit, "the banner goes", noticeOf("none"))
	eventually(t, "it is ready", func() bool { return s.status("GET", "/readyz", nil, nil) == 200 })
	s.reaches(ended, "dead")
	s.allow(question)
	s.reaches(answered, "user_turn")
	if n := len(h.records("control_response")); n < 2 {
		t.Errorf("Claude heard %d answers", n)
	}
}

// A server that is started on a full disk shows what there is, takes what runs over and
// ends, and goes on by itself once there is space.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	first := h.start()
	living, killed, dead := first.session("one"), first.session("two"), first.session("three")
	question := first.asks(living)
	first.asks(killed)
	first.asks(dead)
	pid := first.pid(dead)
	first.signal(syscall.SIGKILL)
	<-first.exited
	must(t, syscall.Kill(pid, syscall.SIGKILL))

	// No file grows beyond 32 KB, in units of 512 bytes: as large as the index of the WAL.
	serve := h.command("serve", "--listen", "127.0.0.1:0", "--workspace-root", h.work, "--claude", h.claude)
	limited := exec.Command("/bin/sh", append([]string{"-c", `ulimit -S -f 64; exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)...)
	limited.Env = serve.Env
	s := h.begin(limited)
	s.await()
	tab := s.follow()
	eventually(t, "the tab is told", func() bool { return tab.told() == "read_only" })
	eventually(t, "the process is taken over", func() bool { return tab.state(living) == "assistant_turn" && tab.forms()[question] })
	eventually(t, "the tab shows who is dead", func() bool { return tab.state(dead) == "dead" })
	pid = 0
	eventually(t, "a session is ended", func() bool {
		if pid == 0 {
			pid = s.pid(killed)
			_ = s.Do(t.Context(), "POST", "/api/sessions/"+killed+"/kill", map[string]any{"force": true}, nil)
		}
		return !alive(pid) && tab.state(killed) == "dead"
	})

	s.limitFiles(^uint64(0))
	eventually(t, "the tab is told", func() bool { return tab.told() == "none" })
	s.reaches(dead, "dead")
	s.reaches(killed, "dead")
	s.allow(question)
	s.reaches(living, "user_turn")
}
