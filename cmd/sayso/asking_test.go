package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

// reads reads settings out of a file and the environment.
func reads(t *testing.T, file string, env map[string]string, args ...string) (settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sayso.toml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		switch name {
		case "SAYSO_CONFIG":
			return path
		case "SAYSO_STATE_DIR", "SAYSO_WORKSPACE_ROOT":
			return "/none"
		}
		return env[name]
	}
	s, _, err := readSettings("serve", args, getenv)
	return s, err
}

func TestSettingsOfAsking(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	file := `[ask]
timeout = "5m"
question_answer = "text"
[[ask.folder]]
path = "/src/quiet/loud"
enabled = true
[[ask.folder]]
path = "/src/quiet"
enabled = false
timeout = "30s"
[[ask.folder]]
path = "` + link + `"
timeout = "0"
`
	s, err := reads(t, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Ask.QuestionAnswer != answerText {
		t.Errorf("ask_question answers %s", s.Ask.QuestionAnswer)
	}
	for folder, want := range map[string]struct {
		enabled bool
		timeout time.Duration
	}{
		"/src":               {true, 5 * time.Minute},
		"/src/quiet":         {false, 30 * time.Second},
		"/src/quiet/a/b":     {false, 30 * time.Second},
		"/src/quieter":       {true, 5 * time.Minute},
		"/src/quiet/loud":    {true, 30 * time.Second},
		real:                 {true, 0},
		real + "/deep/below": {true, 0},
	} {
		if enabled, timeout := s.Ask.in(folder, 0); enabled != want.enabled || timeout != want.timeout {
			t.Errorf("%s: got %v, %s, want %v", folder, enabled, timeout, want)
		}
	}

	env := map[string]string{"SAYSO_ASK": "false", "SAYSO_ASK_TIMEOUT": "90s", "SAYSO_ASK_QUESTION_ANSWER": "json"}
	if s, err = reads(t, file, env); err != nil {
		t.Fatal(err)
	}
	if enabled, timeout := s.Ask.in("/src", 0); enabled || timeout != 90*time.Second || s.Ask.QuestionAnswer != answerJSON {
		t.Errorf("from the environment: %v, %s, %s", enabled, timeout, s.Ask.QuestionAnswer)
	}
	if s, err = reads(t, file, env, "--ask=true", "--ask-timeout=0", "--ask-question-answer=text"); err != nil {
		t.Fatal(err)
	}
	if enabled, timeout := s.Ask.in("/src", 0); !enabled || timeout != 0 || s.Ask.QuestionAnswer != answerText {
		t.Errorf("from flags: %v, %s, %s", enabled, timeout, s.Ask.QuestionAnswer)
	}
	if s, err = reads(t, "", nil); err != nil {
		t.Fatal(err)
	}
	if enabled, timeout := s.Ask.in("/src", 0); !enabled || timeout != 0 || s.Ask.QuestionAnswer != answerJSON {
		t.Errorf("by itself: %v, %s, %s", enabled, timeout, s.Ask.QuestionAnswer)
	}
}

func TestSettingsOfAskingThatAreRefused(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"[ask]\ntimeout = \"29s\"":                                  "30s to 15m",
		"[ask]\ntimeout = \"16m\"":                                  "30s to 15m",
		"[ask]\nquestion_answer = \"xml\"":                          "text or json",
		"[ask]\nenabeld = true":                                     "no setting",
		"[[ask.folder]]\npath = \"src\"":                            "not absolute",
		"[[ask.folder]]\npath = \"/src\"\ntimeout = \"1s\"":         "30s to 15m",
		"[[ask.folder]]\npath = \"/src\"\nenabled = true\nmode = 1": "no setting",
	} {
		if _, err := reads(t, file, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", file, err, want)
		}
	}
	if _, err := reads(t, "", map[string]string{"SAYSO_ASK": "perhaps"}); err == nil || !strings.Contains(err.Error(), "neither true nor false") {
		t.Errorf("got %v", err)
	}
}

// A certificate is made out for another name, and an address for everybody may be
// no way to ourselves.
func TestSessionsOfThisMachineFindTheServer(t *testing.T) {
	t.Parallel()
	plain := settings{Listen: "127.0.0.1:8787"}
	if l, at, err := listenLocally(plain); l != nil || at != "http://127.0.0.1:8787" || err != nil {
		t.Errorf("without TLS: %v, %s, %v", l, at, err)
	}
	for name, s := range map[string]settings{
		"with TLS":             {Listen: "127.0.0.1:8787", TLSCert: "cert.pem"},
		"beyond this machine":  {Listen: "0.0.0.0:8787", open: true},
		"both":                 {Listen: "0.0.0.0:8787", TLSCert: "cert.pem", open: true},
		"an address of others": {Listen: "192.0.2.1:8787", open: true},
	} {
		l, at, err := listenLocally(s)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if host, _, err := net.SplitHostPort(l.Addr().String()); err != nil || host != "127.0.0.1" || at != "http://"+l.Addr().String() {
			t.Errorf("%s: %s at %s", name, l.Addr(), at)
		}
	}
	handler := restrictToPaths([]string{agentsPath, "/hook/ask"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for path, want := range map[string]int{"/mcp": 204, "/hook/ask": 204, "/hook/gone": 404, "/": 404, "/api/sessions": 404, "/mcp/": 404, "/mcp/../api/sessions": 404} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		if w.Code != want {
			t.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
	}
}

func TestAskingInAProject(t *testing.T) {
	t.Parallel()
	s, err := reads(t, "[ask]\ntimeout = \"5m\"\n[[ask.folder]]\npath = \"/src/said\"\ntimeout = \"30s\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	down := false
	policy := askPolicy{projects: func(context.Context) ([]project.Project, error) {
		if down {
			return nil, errors.New("down")
		}
		return []project.Project{{ProjectID: "short", AskTimeout: 60}, {ProjectID: "ever", AskTimeout: project.AskNoTimeout}, {ProjectID: "says nothing"}}, nil
	}}
	policy.set(s.Ask)
	in := func(folder, id string) time.Duration {
		return policy.of(t.Context(), session.Session{CWD: folder, InProject: id}).Timeout
	}
	for id, want := range map[string]time.Duration{"": 5 * time.Minute, "says nothing": 5 * time.Minute, "gone": 5 * time.Minute, "short": time.Minute, "ever": 0} {
		if got := in("/src", id); got != want {
			t.Errorf("in %q a question waits %s, want %s", id, got, want)
		}
	}
	if got := in("/src/said/a", "short"); got != 30*time.Second {
		t.Errorf("the settings file says 30s of the folder, and a question waits %s", got)
	}
	down = true
	if got := in("/src", "short"); got != 5*time.Minute {
		t.Errorf("without a database a question waits %s", got)
	}
}
