package main_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// machine is what a test needs of a machine in a list.
type machine struct {
	RunnerID  string   `json:"runner_id"`
	Name      string   `json:"name"`
	Here      bool     `json:"here"`
	State     string   `json:"state"`
	Draining  bool     `json:"draining"`
	Labels    []string `json:"labels"`
	Processes int      `json:"processes"`
}

// shows reports whether a frame lists a machine with this state.
func shows(name, state string) func(map[string]any) bool {
	return func(f map[string]any) bool {
		all, _ := f["machines"].([]any)
		return f["type"] == "machines" && slices.ContainsFunc(all, func(m any) bool {
			one, _ := m.(map[string]any)
			return one["name"] == name && one["state"] == state
		})
	}
}

// TestMachines: tabs and people who start sessions see the machines. Folders, models and sessions are
// those of the machine that a call names, and a session that names none is placed by labels and by
// the folder. A draining machine starts nothing until it is used again.
func TestMachines(t *testing.T) {
	t.Parallel()
	turn := claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}}
	s := newHarness(t, turn).start()
	f := newFar(s, newHarness(t, turn))
	tab := s.tab()
	tab.until(t, waitLimit, "a machine that was never there", shows("build-02", "unreachable"))
	line := newCable(t, s)
	program := f.runs(s, "http://"+line.Addr().String())
	tab.until(t, waitLimit, "the machine is there", shows("build-02", "ready"))
	must(t, os.Mkdir(filepath.Join(f.work, "only-there"), 0o755))

	machines := func() (here, there machine) {
		t.Helper()
		var list struct {
			Machines []machine `json:"machines"`
		}
		s.do("GET", "/api/machines", nil, &list)
		if len(list.Machines) != 2 {
			t.Fatalf("machines: %+v", list)
		}
		return list.Machines[0], list.Machines[1]
	}
	here, there := machines()
	if !here.Here || here.State != "ready" || there.Here || there.RunnerID != f.id || fmt.Sprint(there.Labels) != "[gpu]" {
		t.Errorf("machines: %+v, %+v", here, there)
	}

	query := "runner_id=" + f.id
	var environment struct {
		WorkspaceRoots []string `json:"workspace_roots"`
	}
	s.do("GET", "/api/environment?"+query, nil, &environment)
	if !slices.Equal(environment.WorkspaceRoots, []string{f.work}) {
		t.Errorf("roots there: %q", environment.WorkspaceRoots)
	}
	var folders struct {
		Folders []struct {
			Path string `json:"path"`
		} `json:"folders"`
	}
	s.do("GET", "/api/folders?"+query+"&prefix="+url.QueryEscape(f.work+"/only"), nil, &folders)
	if len(folders.Folders) != 1 || folders.Folders[0].Path != filepath.Join(f.work, "only-there") {
		t.Errorf("folders there: %+v", folders)
	}

	start := func(want string, body map[string]any) string {
		t.Helper()
		var made struct {
			SessionID string `json:"session_id"`
		}
		body["prompt"] = "go"
		s.do("POST", "/api/sessions", body, &made)
		s.reaches(made.SessionID, "user_turn")
		if got := s.process(made.SessionID).NodeID; got != want {
			t.Errorf("%v started on %q, want %s", body, got, want)
		}
		return made.SessionID
	}
	far := start("build-02", map[string]any{"cwd": f.work, "runner_labels": []string{"gpu"}})
	start(here.Name, map[string]any{"cwd": s.h.work, "runner_id": "any"}) // the other one has no such folder
	for what, body := range map[string]map[string]any{
		"a label that no machine has": {"cwd": f.work, "runner_labels": []string{"gpu", "tpu"}},
		"a folder of no machine":      {"cwd": "/nonexistent", "runner_id": "any"},
		"an unknown machine":          {"cwd": f.work, "runner_id": "nobody"},
	} {
		body["prompt"] = "go"
		if status := s.status("POST", "/api/sessions", body, nil); status != 400 {
			t.Errorf("%s: %d", what, status)
		}
	}
	var models struct {
		CLIVersion string `json:"cli_version"`
	}
	s.do("GET", "/api/models?"+query, nil, &models)
	if models.CLIVersion == "" {
		t.Error("the machine's CLI offers no models after a session")
	}

	change := func(body map[string]any) {
		t.Helper()
		s.do("PATCH", "/api/runners/"+f.id, body, nil)
	}
	change(map[string]any{"draining": true})
	if status := s.status("POST", "/api/sessions", map[string]any{"cwd": f.work, "prompt": "go", "runner_id": f.id}, nil); status != 429 {
		t.Errorf("a new session on a draining machine: %d", status)
	}
	if status := s.status("POST", "/api/sessions", map[string]any{"cwd": f.work, "prompt": "go", "runner_labels": []string{"gpu"}}, nil); status != 409 {
		t.Errorf("a session placed on a draining machine: %d", status)
	}
	message := func() {
		s.do("POST", "/api/sessions/"+far+"/messages", map[string]any{"text": "go on"}, nil)
	}
	message()
	s.reaches(far, "user_turn") // what runs continues
	s.do("POST", "/api/sessions/"+far+"/kill", map[string]any{}, nil)
	s.reaches(far, "dead")
	message()
	eventually(t, "the message waits for the machine", func() bool { return s.process(far).Held != "" })
	change(map[string]any{"draining": false})
	s.reaches(far, "user_turn")

	change(map[string]any{"labels": []string{"big"}})
	change(map[string]any{"name": "build-03"})
	tab.until(t, waitLimit, "the new name", shows("build-03", "ready"))
	if _, there := machines(); fmt.Sprint(there.Labels) != "[big]" || there.Draining || there.Processes != 1 {
		t.Errorf("after the changes: %+v", there)
	}
	line.set(true)
	tab.until(t, waitLimit, "the machine is gone", shows("build-03", "unreachable"))
	if status := s.status("GET", "/api/environment?"+query, nil, nil); status != 409 {
		t.Errorf("the environment of a machine that is gone: %d", status)
	}
	line.set(false)
	tab.until(t, waitLimit, "the machine is back", shows("build-03", "ready"))

	// The runner is upgraded: its program ends, and the next one takes the session up.
	f.ready(s)
	pid := s.pid(far)
	must(t, program.Process.Signal(syscall.SIGTERM))
	must(t, program.Wait())
	tab.until(t, waitLimit, "the machine is upgraded", shows("build-03", "unreachable"))
	f.runs(s, "http://"+line.Addr().String())
	message()
	eventually(t, "the session goes on", func() bool { return len(f.records("user")) == 4 })
	s.reaches(far, "user_turn")
	if now := s.pid(far); now != pid || !alive(pid) {
		t.Errorf("the CLI is %d, was %d", now, pid)
	}
}
