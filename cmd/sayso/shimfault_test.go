package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/shim"
)

// bundleOf returns the folder of a session's shim, and what the shim says of itself.
func (h *harness) bundleOf(sessionID string) shim.Bundle {
	h.t.Helper()
	bundles, err := shim.List(filepath.Join(h.state, "shims"))
	must(h.t, err)
	for _, b := range bundles {
		if b.Meta.SessionID == sessionID {
			return b
		}
	}
	h.t.Fatal("the session has no shim")
	return shim.Bundle{}
}

// Goal R7: a session whose shim hangs can be killed. The log says how long it took.
func TestSessionOfAHungShimIsKilled(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "touch a"}}},
	}})
	s := h.start()
	for name, force := range map[string]bool{"in order": false, "by force": true} {
		id := s.session(name)
		s.asks(id)
		pid := s.pid(id)
		halt(t, h.bundleOf(id).Meta.PID)
		began := time.Now()
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": force}, nil)
		s.reaches(id, "dead")
		t.Logf("%s: dead after %s", name, time.Since(began))
		eventually(t, "the CLI is gone", func() bool { return !alive(pid) })
	}
}

// The files of a running process are deleted: people read so, and Claude hears the
// answer and goes on.
func TestSessionOutlivesItsJournal(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "touch a"}}},
		{Text: "it is there"},
	}})
	s := h.start()
	for name, remove := range map[string]func(dir string) error{
		"the folder": os.RemoveAll,
		"the journal": func(dir string) error {
			segments, err := filepath.Glob(filepath.Join(dir, "out.*"))
			for _, file := range segments {
				must(t, os.Remove(file))
			}
			return err
		},
	} {
		id := s.session(name)
		request := s.asks(id)
		dir := h.bundleOf(id).Dir
		must(t, remove(dir))
		eventually(t, name+": people read of it", func() bool { return strings.Contains(s.troubles()[id], "were deleted") })
		s.allow(request)
		s.says(id, "it is there")
		s.reaches(id, "user_turn")
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
		s.reaches(id, "dead")
	}
}
