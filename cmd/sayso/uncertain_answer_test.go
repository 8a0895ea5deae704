package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// A server that dies as soon as the shim has written an answer leaves the answer
// queued in its row. Claude, dead a moment later, may have heard it and done what
// it allows. Resumed, it asks the same again: then the answer is not given
// silently a second time, but shown to the person who decides.
func TestAnswerThatMayHaveBeenHeardIsNotCarried(t *testing.T) {
	nightly(t)
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	var err error
	h.program, err = build("failing", "-tags", "failpoints")
	must(t, err)
	env := h.env
	h.env = append(env[:len(env):len(env)], "SAYSO_FAILPOINTS=delivered.before_commit:kill")
	first := h.start()
	id := first.session("one")
	request, pid := first.asks(id), first.pid(id)
	// What is written waits in the pipe. From here nobody can tell this from a
	// Claude that has read it.
	halt(t, pid)
	_ = first.Do(t.Context(), "POST", "/api/pending/"+request+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"}, nil) // or dead by then
	if code := first.gone(waitLimit); code != -1 {
		t.Fatalf("the server exited with %d, not by its failpoint", code)
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))

	h.env = env
	second := h.start()
	second.reaches(id, "user_turn") // it resumes by itself
	second.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "go on"}, nil)
	again := second.asks(id)
	var found struct {
		ProcessState struct {
			Requests []struct {
				Earlier struct {
					RequestID string `json:"request_id"`
					Summary   string `json:"summary"`
				} `json:"earlier"`
			} `json:"pending_requests"`
		} `json:"process_state"`
	}
	second.do("GET", "/api/sessions/"+id, nil, &found)
	if e := found.ProcessState.Requests[0].Earlier; again == request || e.RequestID != request || e.Summary != "Approved" {
		t.Errorf("beside the new question %s stands %+v, want the answer to %s", again, e, request)
	}
	if n := len(h.records("control_response")); n != 0 {
		t.Errorf("Claude heard %d answers before a person decided", n)
	}
	second.allow(again)
	second.reaches(id, "user_turn")
	if n := len(h.records("control_response")); n != 1 {
		t.Errorf("Claude heard %d answers, want 1", n)
	}
}

// halt stops a process and returns once none of its threads runs any more: until the one
// that takes the signal is on a processor, the others go on.
func halt(t testing.TB, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	eventually(t, "the process has stopped", func() bool {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
			return stat[bytes.LastIndexByte(stat, ')')+2] == 'T'
		}
		state, err := exec.Command("/bin/ps", "-o", "state=", "-p", fmt.Sprint(pid)).Output() // macOS
		must(t, err)
		return bytes.HasPrefix(state, []byte("T"))
	})
}
