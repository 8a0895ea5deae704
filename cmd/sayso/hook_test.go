package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/shim"
)

// installed is a harness with our hook in the settings of its person.
func installed(t *testing.T, settings string) (h *harness, settingsFile string) {
	t.Helper()
	h = newHarness(t, claudetest.Script{})
	settingsFile = filepath.Join(filepath.Dir(h.state), ".claude", "settings.json")
	if settings != "" {
		must(t, os.Mkdir(filepath.Dir(settingsFile), 0o700))
		must(t, os.WriteFile(settingsFile, []byte(settings), 0o640))
	}
	h.hook(t, "--install")
	return h, settingsFile
}

func (h *harness) hook(t *testing.T, args ...string) string {
	t.Helper()
	out, err := h.command("hook", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("hook %v: %v: %s", args, err, out)
	}
	return string(out)
}

// hookCommand is what the settings have the CLI run.
func hookCommand(t *testing.T, settingsFile, name string) string {
	t.Helper()
	data, err := os.ReadFile(settingsFile)
	must(t, err)
	var file struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	must(t, json.Unmarshal(data, &file))
	for _, entry := range file.Hooks[name] {
		for _, h := range entry.Hooks {
			if strings.Contains(h.Command, "--connect") {
				return h.Command
			}
		}
	}
	t.Fatalf("no hook in %s", data)
	return ""
}

// A scripted CLI runs a hook as the real one does: by sh, with JSON on stdin.
type runningHook struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr words
	ended  chan struct{}
}

func (h *harness) runHook(t *testing.T, settingsFile string, input map[string]any, env ...string) *runningHook {
	t.Helper()
	name := fmt.Sprint(input["hook_event_name"])
	data, err := json.Marshal(input)
	must(t, err)
	r := &runningHook{t: t, ended: make(chan struct{})}
	// exec, so that a signal reaches the hook itself: the CLI signals the group.
	r.cmd = exec.Command("sh", "-c", "exec "+hookCommand(t, settingsFile, name))
	r.cmd.Env = append(append([]string{}, h.env...), append([]string{"CLAUDE_CODE_ENTRYPOINT=cli"}, env...)...)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = bytes.NewReader(data), &r.stdout, &r.stderr
	must(t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.ended
		if strings.Contains(r.stderr.String(), "DATA RACE") || t.Failed() {
			t.Errorf("the hook said:\n%s", r.stderr.String())
		}
	})
	return r
}

// says waits for the end of the hook and returns its output.
func (r *runningHook) says() string {
	r.t.Helper()
	eventually(r.t, "the hook ends", func() bool {
		select {
		case <-r.ended:
			return true
		default:
			return false
		}
	})
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("exit code %d: %s", code, r.stderr.String())
	}
	return strings.TrimSpace(r.stdout.String())
}

func dialog(h *harness) map[string]any {
	return map[string]any{
		"hook_event_name": "PermissionRequest", "session_id": "7216c563-d11d-4044-bf00-dcf5b835f698", "cwd": h.work,
		"transcript_path": filepath.Join(h.work, "none.jsonl"), "tool_name": "Bash", "tool_input": map[string]any{"command": "touch x"},
	}
}

// waiting is the one request that waits for a person.
func (s *server) waiting(t *testing.T) (requestID string) {
	t.Helper()
	eventually(t, "the hook asks", func() bool {
		list := s.openIDs(t)
		if len(list) == 1 {
			requestID = list[0]
		}
		return len(list) == 1
	})
	return requestID
}

func (s *server) openIDs(t *testing.T) (ids []string) {
	t.Helper()
	var found struct {
		Requests []struct {
			RequestID string `json:"request_id"`
		} `json:"pending_requests"`
	}
	s.do("GET", "/api/pending", nil, &found)
	for _, r := range found.Requests {
		ids = append(ids, r.RequestID)
	}
	return ids
}

func TestHookInstallAndUninstall(t *testing.T) {
	t.Parallel()
	before := "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]\n  }\n}\n"
	h, file := installed(t, before)
	connect := filepath.Join(h.state, "agents", "terminal.json")
	token, err := os.ReadFile(connect)
	must(t, err)
	info, err := os.Stat(connect)
	must(t, err)
	settings, err := os.ReadFile(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 || strings.Contains(hookCommand(t, file, "Notification"), "token") {
		t.Errorf("mode %v, settings %s", info.Mode(), settings)
	}
	if info, err = os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	h.hook(t, "--install")
	if again, err := os.ReadFile(connect); err != nil || !bytes.Equal(again, token) {
		t.Errorf("the second time made another token: %v", err)
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, settings) {
		t.Errorf("the second time wrote\n%s", again)
	}
	h.hook(t, "--uninstall")
	if after, err := os.ReadFile(file); err != nil || string(after) != before {
		t.Errorf("after --uninstall:\n%s", after)
	}
	if _, err := os.Stat(connect); !os.IsNotExist(err) {
		t.Error("the token was left")
	}
	if out := h.hook(t, "--uninstall"); !strings.Contains(out, "No hook found in "+file) || strings.Contains(out, "removed") {
		t.Errorf("it removed what is not there:\n%s", out)
	}
	must(t, os.WriteFile(file, []byte("{,}"), 0o600))
	if out, err := h.command("hook", "--install").CombinedOutput(); err == nil || !strings.Contains(string(out), "left as it is") {
		t.Errorf("over broken settings: %s", out)
	}
}

func TestHookIsAnsweredAndOutlivesTheServer(t *testing.T) {
	t.Parallel()
	h, file := installed(t, "")
	h.asProcesses()
	s := h.start()
	hook := h.runHook(t, file, dialog(h))
	id := s.waiting(t)
	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	s = h.start() // at another address
	if again := s.waiting(t); again != id {
		t.Errorf("after a restart %s, before %s", again, id)
	}
	s.allow(id)
	if got, want := hook.says(), `{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := h.runHook(t, file, map[string]any{"hook_event_name": "Notification", "session_id": "s", "cwd": h.work, "message": "look", "notification_type": "idle_prompt"}).says(); got != "" {
		t.Errorf("a notification: %s", got)
	}
}

// TestHookOutlivesTheServerBehindAProxy has a proxy answer 502 while there is no server.
func TestHookOutlivesTheServerBehindAProxy(t *testing.T) {
	t.Parallel()
	h, _ := installed(t, "")
	h.asProcesses()
	s := h.start()
	var to atomic.Pointer[url.URL]
	lead := func() {
		at, err := url.Parse(s.URL)
		must(t, err)
		to.Store(at)
	}
	lead()
	var failed atomic.Int32
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to.Load()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			failed.Add(1)
			w.WriteHeader(http.StatusBadGateway)
		},
	})
	t.Cleanup(proxy.Close)
	var connection map[string]string
	text, err := os.ReadFile(filepath.Join(h.state, "agents", "terminal.json"))
	must(t, err)
	must(t, json.Unmarshal(text, &connection))
	connection["url"] = proxy.URL + "/mcp"
	text, err = json.Marshal(connection)
	must(t, err)
	connect, settings := filepath.Join(h.state, "proxied.json"), filepath.Join(h.work, "settings.json")
	must(t, os.WriteFile(connect, text, 0o600))
	h.hook(t, "--install", "--connect", connect, "--settings", settings)

	hook := h.runHook(t, settings, dialog(h))
	id := s.waiting(t)
	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	eventually(t, "the proxy answers in place of the server", func() bool { return failed.Load() > 0 })
	s = h.start()
	lead()
	if again := s.waiting(t); again != id {
		t.Errorf("after a restart %s, before %s", again, id)
	}
	s.allow(id)
	if got, want := hook.says(), `{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}`; got != want {
		t.Errorf("got %s", got)
	}
}

// TestHookNeedsNoCertificate: on its own machine, the hook reaches a server whose certificate it does
// not trust, at an address that a restart does not change.
func TestHookNeedsNoCertificate(t *testing.T) {
	t.Parallel()
	h, file := installed(t, "")
	cert, key := filepath.Join(h.state, "cert.pem"), filepath.Join(h.state, "key.pem")
	pair(t, cert, key, 1)
	s := h.start("--tls-cert", cert, "--tls-key", key)
	hook := h.runHook(t, file, dialog(h))
	var list struct {
		Requests []struct {
			RequestID string `json:"request_id"`
			Digest    string `json:"digest"`
		} `json:"pending_requests"`
	}
	eventually(t, "the hook asks", func() bool {
		out, err := h.command("pending", "--json").Output()
		return err == nil && json.Unmarshal(out, &list) == nil && len(list.Requests) == 1
	})
	if out, err := h.command("answer", "--digest", list.Requests[0].Digest, list.Requests[0].RequestID, "allow").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := hook.says(), `{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}`; got != want {
		t.Errorf("got %s", got)
	}

	connect := filepath.Join(h.state, "agents", "terminal.json")
	before, err := os.ReadFile(connect)
	must(t, err)
	s.stop()
	h.start("--tls-cert", cert, "--tls-key", key)
	if after, err := os.ReadFile(connect); err != nil || !bytes.Equal(after, before) {
		t.Errorf("after a restart the hook connects with %s, before with %s (%v)", after, before, err)
	}
}

func TestHookEndsWithTheDialog(t *testing.T) {
	t.Parallel()
	h, file := installed(t, "")
	s := h.start()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		hook := h.runHook(t, file, dialog(h))
		s.waiting(t)
		must(t, hook.cmd.Process.Signal(sig))
		if got := hook.says(); got != "" {
			t.Errorf("after %s it said %s", sig, got)
		}
		eventually(t, "the form goes", func() bool { return len(s.openIDs(t)) == 0 })
	}
}

// Whatever is wrong, the hook says nothing, and the terminal asks as ever.
func TestHookSaysNothing(t *testing.T) {
	t.Parallel()
	h, file := installed(t, "")
	for name, env := range map[string]string{"no server": "A=b", "claude -p": "CLAUDE_CODE_ENTRYPOINT=sdk-cli", "a program's": "CLAUDE_CODE_ENTRYPOINT=sdk-py"} {
		if got := h.runHook(t, file, dialog(h), env).says(); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := h.start()
	// A CLI of ours asks through its session, whatever it was started from.
	if got := h.runHook(t, file, dialog(h), shim.Marker+"=1").says(); got != "" {
		t.Errorf("a session's: %s", got)
	}
	other := dialog(h)
	other["hook_event_name"] = "PermissionRequest"
	other["tool_name"] = ""
	if got := h.runHook(t, file, other).says(); got != "" {
		t.Errorf("a dialog that is none: %s", got)
	}
	h.hook(t, "--install")
	connect := filepath.Join(h.state, "agents", "terminal.json")
	must(t, os.WriteFile(connect, []byte(`{"url":"`+s.URL+`/mcp","token":"unknown"}`), 0o600))
	if got := h.runHook(t, file, dialog(h)).says(); got != "" {
		t.Errorf("an unknown token: %s", got)
	}
	must(t, os.Remove(connect))
	if got := h.runHook(t, file, dialog(h)).says(); got != "" {
		t.Errorf("no token: %s", got)
	}
	if open := s.openIDs(t); len(open) > 0 {
		t.Errorf("open: %v", open)
	}
}

// What was asked and how it ended is in the transcript of the terminal's session.
func TestHookIsRecorded(t *testing.T) {
	t.Parallel()
	h, file := installed(t, "")
	s := h.start()
	hook := h.runHook(t, file, dialog(h))
	id := s.waiting(t)
	s.do("POST", "/api/pending/"+id+"/response", map[string]any{"request_type": "tool_approval", "decision": "deny", "message": "not here"}, nil)
	if got, want := hook.says(), `{"behavior":"deny","message":"not here"}`; !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
	hook = h.runHook(t, file, dialog(h))
	s.waiting(t)
	must(t, hook.cmd.Process.Signal(syscall.SIGTERM))
	hook.says()
	var sessions struct {
		Sessions []struct {
			SessionID string `json:"session_id"`
			Kind      string `json:"kind"`
		} `json:"sessions"`
	}
	s.do("GET", "/api/sessions", nil, &sessions)
	if len(sessions.Sessions) != 1 || sessions.Sessions[0].Kind != "terminal" {
		t.Fatalf("sessions %+v", sessions)
	}
	eventually(t, "both are recorded", func() bool {
		var page struct {
			Items []struct {
				Kind    string `json:"kind"`
				Summary string `json:"summary"`
			} `json:"items"`
		}
		s.do("GET", "/api/sessions/"+sessions.Sessions[0].SessionID+"/transcript", nil, &page)
		var said []string
		for _, item := range page.Items {
			if item.Kind == "resolved" {
				said = append(said, item.Summary)
			}
		}
		all := strings.Join(said, "; ")
		return strings.Contains(all, "not here") && strings.Contains(all, "denied in the terminal")
	})
}

// TestHookInTwoFiles installs the hook for a person and for a project. Removing one leaves the
// other at work; its token ends with the last.
func TestHookInTwoFiles(t *testing.T) {
	t.Parallel()
	h, person := installed(t, `{"model":"opus"}`)
	connect := filepath.Join(h.state, "agents", "terminal.json")
	project := filepath.Join(h.work, ".claude", "settings.local.json")
	out := h.hook(t, "--install", "--settings", project)
	if !strings.Contains(out, "sayso hook --uninstall --settings "+project) {
		t.Errorf("it does not say how to remove it:\n%s", out)
	}
	out = h.hook(t, "--uninstall", "--settings", project)
	if !strings.Contains(out, "still in "+person) {
		t.Errorf("it does not name the other file:\n%s", out)
	}
	if _, err := os.Stat(connect); err != nil {
		t.Fatalf("the token of the other file has ended: %v", err)
	}
	hookCommand(t, person, "PermissionRequest")
	h.hook(t, "--install", "--settings", project)
	must(t, os.Remove(filepath.Join(h.state, "agents", "terminal.settings"))) // as of an earlier version
	h.hook(t, "--uninstall", "--settings", project)
	if _, err := os.Stat(connect); err != nil {
		t.Fatalf("the token of the other file has ended: %v", err)
	}
	h.hook(t, "--install", "--settings", project)
	h.hook(t, "--uninstall")
	for _, file := range []string{person, project} {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "--connect") {
			t.Errorf("%s still has the hook: %s (%v)", file, data, err)
		}
	}
	if _, err := os.Stat(connect); !os.IsNotExist(err) {
		t.Error("the token was left")
	}
}
