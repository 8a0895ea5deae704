package main_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// A demo starts beside a server that has its address, in a folder of its own, and its next start takes
// up the session at the same address.
func TestDemoBesideAServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}})
	s := h.start()
	home := filepath.Dir(h.state)
	demo := func() *server {
		t.Helper()
		cmd := exec.Command(h.program, "demo", "--listen", strings.TrimPrefix(s.URL, "http://"), "--claude", h.claude)
		cmd.Env = h.env
		d := h.begin(cmd)
		eventually(t, "the demo runs", func() bool { return running.MatchString(d.said.String()) })
		return d
	}
	state := filepath.Join(home, ".local/state/sayso-demo")
	t.Cleanup(func() {
		if out, err := exec.Command(h.program, "kill-all", "--state-dir", state).CombinedOutput(); err != nil {
			t.Errorf("kill-all: %v: %s", err, out)
		}
	})
	first := demo()
	at := running.FindStringSubmatch(first.said.String())[1]
	if at == s.URL || !strings.Contains(first.said.String(), at+"/sessions/") {
		t.Errorf("the demo is at %s and the server at %s:\n%s", at, s.URL, first.said)
	}
	first.Token = "" // a demo has no token that this test knows
	first.stop()
	if again := running.FindStringSubmatch(demo().said.String())[1]; again != at {
		t.Errorf("the demo is at %s, then at %s", at, again)
	}
	if s.status("GET", "/api/sessions", nil, nil) != 200 {
		t.Error("the server no longer answers")
	}
}

// A start whose address is taken names the setting that gives it another.
func TestTakenAddressNamesItsSetting(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	h := newHarness(t, claudetest.Script{})
	s := h.serveExactly("--listen", taken.Addr().String(), "--claude", h.claude)
	<-s.exited
	if said := s.said.String(); s.code != 1 || !strings.Contains(said, "listens on "+taken.Addr().String()) || !strings.Contains(said, "--listen 127.0.0.1:") || !strings.Contains(said, "SAYSO_LISTEN") {
		t.Errorf("exit code %d: %s", s.code, said)
	}
}

// A program that `go install` built, from a module without the built web app, says so at its start and on
// its page, and how to get another one.
func TestWithoutTheWebApp(t *testing.T) {
	nightly(t) // it links another program
	t.Parallel()
	dist, err := filepath.Abs("../../frontend/dist")
	must(t, err)
	without := map[string]map[string]string{"Replace": {}}
	must(t, filepath.WalkDir(dist, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != ".keep" {
			without["Replace"][path] = "" // is not there
		}
		return err
	}))
	text, err := json.Marshal(without)
	must(t, err)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	must(t, os.WriteFile(overlay, text, 0o600))
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.program, err = build("without-app", "-overlay", overlay)
	must(t, err)
	s := h.start()
	const says = "built without its web app"
	eventually(t, "the start says so", func() bool { return strings.Contains(s.said.String(), says) })
	page, err := http.Get(s.URL)
	must(t, err)
	defer page.Body.Close()
	if text, err := io.ReadAll(page.Body); err != nil || !strings.Contains(string(text), says) || !strings.Contains(string(text), "releases") {
		t.Errorf("%v: %s", err, text)
	}
}
