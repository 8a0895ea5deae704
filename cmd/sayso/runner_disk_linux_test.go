package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestFilesAndDiskOfARunner: reading the runner's own files is never of low risk, a sandbox hides its
// token, and people see when its disk takes no output.
func TestFilesAndDiskOfARunner(t *testing.T) {
	t.Parallel()
	s := newHarness(t, claudetest.Script{}).start()
	far := newHarness(t, claudetest.Script{})
	read := func(name string) claudetest.Step {
		return claudetest.Step{Ask: map[string]any{"tool_name": "Read", "input": map[string]any{"file_path": filepath.Join(far.work, name)}}}
	}
	program, record := claudetest.Program(t, claudetest.Script{Turn: []claudetest.Step{read("a.txt"), read("token"), {Text: "done"}}})
	far.record = record
	f := newFar(s, far)
	secret, err := os.ReadFile(f.tokenFile)
	must(t, err)
	f.tokenFile = filepath.Join(f.work, "token")
	f.claude = filepath.Join(f.work, "claude")
	seen := filepath.Join(f.work, "seen")
	must(t, errors.Join(
		os.WriteFile(f.tokenFile, secret, 0o600),
		os.WriteFile(filepath.Join(f.work, "a.txt"), nil, 0o600),
		os.WriteFile(f.claude, fmt.Appendf(nil, "#!/bin/sh\ncase \"$1\" in --output-format=*) cat '%s' > '%s';; esac\nexec '%s' \"$@\"\n", f.tokenFile, seen, program), 0o700),
	))
	sandbox := "none"
	if confinable(t) {
		sandbox = "bubblewrap"
	}
	runner := f.runs(s, s.URL, "--sandbox", sandbox)
	var made struct {
		SessionID string `json:"session_id"`
	}
	s.do("POST", "/api/sessions", map[string]any{"runner_id": f.id, "cwd": f.work, "prompt": "one"}, &made)
	id := made.SessionID
	risk := func() string {
		var list struct {
			PendingRequests []struct {
				Risk string `json:"risk"`
			} `json:"pending_requests"`
		}
		s.do("GET", "/api/pending", nil, &list)
		if len(list.PendingRequests) != 1 {
			t.Fatalf("open are %+v", list)
		}
		return list.PendingRequests[0].Risk
	}
	first := s.asks(id)
	if got, err := os.ReadFile(seen); err != nil || sandbox != "none" && len(got) > 0 {
		t.Errorf("in the sandbox, the token is %q, %v", got, err)
	}
	if level := risk(); level != "low" {
		t.Errorf("the risk of reading a file is %s", level)
	}
	s.allow(first)
	second := s.asks(id)
	if level := risk(); level == "low" {
		t.Error("the risk of reading the runner's token is low")
	}

	// Only the journal is as long as its file may be.
	journals, err := filepath.Glob(filepath.Join(f.state, "shims", "*", "out.*"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals: %q, %v", journals, err)
	}
	info, err := os.Stat(journals[0])
	must(t, err)
	var meta struct{ PID int }
	text, err := os.ReadFile(filepath.Join(filepath.Dir(journals[0]), "meta.json"))
	must(t, errors.Join(err, json.Unmarshal(text, &meta)))
	limitFiles(t, meta.PID, uint64(info.Size()))
	s.allow(second)
	stuck := func() string {
		var found struct {
			ProcessState struct {
				Stuck string `json:"stuck"`
			} `json:"process_state"`
		}
		s.do("GET", "/api/sessions/"+id, nil, &found)
		return found.ProcessState.Stuck
	}
	said := func() bool {
		return strings.HasPrefix(stuck(), "Claude is waiting because build-02 cannot store its output: file too large.")
	}
	eventually(t, "people see that the output cannot be stored", said)
	eventually(t, "admins see it with the machine", func() bool { return f.listed(s).Load.Waiting == 1 })
	must(t, runner.Process.Kill())
	eventually(t, "the runner is gone", func() bool { return f.listed(s).Load == nil })
	runner = f.runs(s, s.URL, "--sandbox", sandbox)
	if log := fmt.Sprint(runner.Stderr); !strings.Contains(log, "sessions wait because their output cannot be stored") {
		t.Errorf("the log of the runner does not say so:\n%s", log)
	}
	eventually(t, "people see it again", said)
	limitFiles(t, meta.PID, ^uint64(0))
	s.reaches(id, "user_turn")
	eventually(t, "people see that it is stored again", func() bool { return stuck() == "" && f.listed(s).Load.Waiting == 0 })
}
