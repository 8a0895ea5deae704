package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// wired are the arguments of the CLI of a new session, and whether it was given a
// way to ask over MCP.
func (h *harness) wired(sessionID string) (args []string, wired bool) {
	h.t.Helper()
	eventually(h.t, "the CLI is started", func() bool {
		for _, r := range h.records("start") {
			if slices.Contains(r.Args, "--session-id="+sessionID) {
				args = r.Args
			}
		}
		return args != nil
	})
	return args, slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--mcp-config=") })
}

func TestFoldersThatDoNotAskAreReadAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	file := filepath.Join(h.state, "sayso.toml")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("")
	s := h.start("--config", file)
	if args, wired := h.wired(s.session("one")); !wired {
		t.Errorf("by itself a session does not ask over MCP: %q", args)
	}
	write("[[ask.folder]]\npath = \"" + h.work + "\"\nenabled = false\n")
	s.hangUp(readAgain)
	if args, wired := h.wired(s.session("two")); wired {
		t.Errorf("in a folder where it may not, a session asks over MCP: %q", args)
	}
	write("[ask]\ntimeout = \"1s\"\n")
	s.hangUp(notTaken)
	write("[ask]\ntimeout = \"1m\"\n")
	s.hangUp(readAgain)
	if args, wired := h.wired(s.session("three")); !wired {
		t.Errorf("a session does not ask over MCP any more: %q", args)
	}
}

// The files of a session are for its owner alone, and its token is good as long as
// its process lives, over a restart of the server too.
func TestTokenOfASessionEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.reaches(id, "user_turn")
	args, _ := h.wired(id)
	var config, connect string
	for _, a := range args {
		if path, found := strings.CutPrefix(a, "--mcp-config="); found {
			config, connect = path, filepath.Join(filepath.Dir(path), "connect.json")
		}
	}
	for _, path := range []string{config, connect} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
	}
	read := func() (c struct{ URL, Token string }) {
		text, err := os.ReadFile(connect)
		must(t, err)
		must(t, json.Unmarshal(text, &c))
		return c
	}
	status := func(url, token string) int {
		r, err := http.NewRequest("POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	first := read()
	if first.URL != s.URL+"/mcp" || status(first.URL, first.Token) != 200 {
		t.Errorf("%s answers %d; the server is %s", first.URL, status(first.URL, first.Token), s.URL)
	}
	if got := s.status("GET", "/api/sessions", nil, nil); got != 200 {
		t.Fatalf("with a token of a person: %d", got)
	}
	person := s.Token
	s.Token = first.Token
	if got := s.status("GET", "/api/sessions", nil, nil); got != 401 {
		t.Errorf("with the token of a session, REST answers %d", got)
	}
	s.Token = person

	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	s = h.start()
	eventually(t, "the session knows the new address", func() bool { return read().URL == s.URL+"/mcp" })
	if second := read(); second.Token != first.Token || status(second.URL, second.Token) != 200 {
		t.Errorf("after a restart it answers %d", status(second.URL, second.Token))
	}

	s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
	s.reaches(id, "dead")
	// Its end is shown before it is stored.
	eventually(t, "the token of the dead session is refused", func() bool { return status(s.URL+"/mcp", first.Token) == 401 })
	eventually(t, "its files are gone", func() bool {
		_, err := os.Stat(connect)
		return os.IsNotExist(err)
	})
}

// The CLI lists an open elicitation to nobody who attaches later.
func TestElicitationOutlivesTheServer(t *testing.T) {
	t.Parallel()
	const ask = `{"type":"control_request","request_id":"e1","request":{"subtype":"elicitation","mcp_server_name":"people","message":"Who?","mode":"form","requested_schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}}`
	// A message behind it, so that the place in the journal goes beyond it.
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Raw: ask}, {Text: "I wait."}, {SleepMS: 3_600_000}}}).asProcesses()
	s := h.start()
	id := s.session("one")
	request := s.asks(id)
	s.says(id, "I wait.")
	for range 2 { // by the second server it is known from the notes of the first alone
		s.signal(syscall.SIGKILL)
		s.gone(waitLimit)
		s = h.start()
		if again := s.asks(id); again != request {
			t.Fatalf("asked again as %s, want %s", again, request)
		}
	}
	s.answer(request, map[string]string{"age": "36"})
	eventually(t, "the CLI has its answer", func() bool { return len(h.records("control_response")) > 0 })
	if got := string(h.records("control_response")[0].Line); !strings.Contains(got, `{"action":"accept","content":{"age":36}}`) {
		t.Errorf("the CLI was told %s", got)
	}
	eventually(t, "nothing is asked any more", func() bool { return len(s.open(id)) == 0 })
}
