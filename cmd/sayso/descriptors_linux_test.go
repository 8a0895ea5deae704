package main_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// startWithin starts a server whose shell has set limits.
func (h *harness) startWithin(limits string) *server {
	h.t.Helper()
	serve := h.command("serve", "--listen", "127.0.0.1:0", "--workspace-root", h.work, "--claude", h.claude)
	limited := exec.Command("/bin/sh", append([]string{"-c", limits + `; exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)...)
	limited.Env = serve.Env
	s := h.begin(limited)
	s.await()
	return s
}

// TestDescriptorsRunOut opens tabs until the server takes no more of them. It says why, in
// time to go on with what it has, and takes new ones as soon as others are gone.
func TestDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	s := h.startWithin("ulimit -n 64")
	id := s.session("one")
	request := s.asks(id)
	dial := func() (net.Conn, *http.Response, error) {
		conn, answer, err := websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/ws", &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}},
		})
		if err != nil {
			return nil, answer, err
		}
		return websocket.NetConn(t.Context(), conn, websocket.MessageText), answer, nil
	}
	var tabs []net.Conn
	t.Cleanup(func() {
		for _, tab := range tabs {
			tab.Close()
		}
	})
	for len(tabs) < 64 {
		tab, answer, err := dial()
		if err == nil {
			tabs = append(tabs, tab)
			continue
		}
		if answer == nil || answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Fatalf("tab %d: %v", len(tabs), err)
		}
		break
	}
	if len(tabs) < 8 || len(tabs) == 64 {
		t.Fatalf("%d tabs of 64 descriptors", len(tabs))
	}
	// Connections on which nothing is said take nothing from the others.
	for range 10 {
		idle, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		must(t, err)
		defer idle.Close()
	}
	var refused struct {
		Error struct{ Code, Message string }
	}
	eventually(t, "a session is refused for want of descriptors", func() bool {
		status := s.status("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "two"}, &refused)
		return status == http.StatusServiceUnavailable && refused.Error.Code == "no_descriptors" && strings.Contains(refused.Error.Message, "may open 64")
	})
	eventually(t, "a request is answered", func() bool {
		err := s.Do(t.Context(), "POST", "/api/pending/"+request+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"}, nil)
		return err == nil
	})
	eventually(t, "the session goes on", func() bool {
		var found struct {
			ProcessState struct{ State string } `json:"process_state"`
		}
		return s.Do(t.Context(), "GET", "/api/sessions/"+id, nil, &found) == nil && found.ProcessState.State == "user_turn"
	})
	for _, tab := range tabs {
		tab.Close()
	}
	tabs = nil
	eventually(t, "a session starts again", func() bool {
		return s.status("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "two"}, nil) == 200
	})
	eventually(t, "a tab is taken again", func() bool {
		tab, _, err := dial()
		if err == nil {
			tabs = append(tabs, tab)
		}
		return err == nil
	})
}

// TestLimitOfDescriptors: the server takes as many descriptors as it may, and what it
// starts has the limits with which the server was started.
func TestLimitOfDescriptors(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.claude = filepath.Join(filepath.Dir(h.work), "looker")
	limits := filepath.Join(h.work, "limits")
	must(t, os.WriteFile(h.claude, []byte(`#!/bin/sh
case "$1" in --output-format=*) ;; *) echo 2.1.329; exit;; esac
echo "$(ulimit -S -n) $(ulimit -H -n)" > `+limits+`.new
mv `+limits+`.new `+limits+`
`), 0o700))
	s := h.startWithin("ulimit -S -n 256 && ulimit -H -n 1024")
	var soft, hard int
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", s.cmd.Process.Pid))
	must(t, err)
	_, line, _ := strings.Cut(string(table), "Max open files")
	fields := strings.Fields(line)
	soft, err = strconv.Atoi(fields[0])
	must(t, err)
	hard, err = strconv.Atoi(fields[1])
	must(t, err)
	if hard != 1024 || soft < hard-1 {
		t.Errorf("the server may open %d of %d", soft, hard)
	}
	s.do("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "x"}, nil)
	eventually(t, "the CLI has looked", func() bool {
		got, err := os.ReadFile(limits)
		if errors.Is(err, os.ErrNotExist) {
			return false
		}
		must(t, err)
		if string(got) != "256 1024\n" {
			t.Fatalf("the CLI may open %q", got)
		}
		return true
	})
}
