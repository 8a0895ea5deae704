package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// releaseBackups holds a backup of a small server of each release, for each engine:
// VERSION.ENGINE.backup. `SAYSO_RELEASE_BACKUPS=write go test ./cmd/sayso -run TestDatabasesOfReleases`
// writes those of this version, when it is released.
const releaseBackups = "testdata/releases"

// The database of every release can be upgraded and used. Then its backup is restored over it, as when
// somebody goes back: the session that was started meanwhile lives on.
func TestDatabasesOfReleases(t *testing.T) {
	t.Parallel()
	version, err := os.ReadFile("VERSION")
	must(t, err)
	if os.Getenv("SAYSO_RELEASE_BACKUPS") == "write" {
		for _, engine := range []string{"sqlite", "postgres"} {
			writeReleaseBackup(t, engine, filepath.Join(releaseBackups, "v"+strings.TrimSpace(string(version))+"."+engine+".backup"))
		}
	}
	files, err := filepath.Glob(filepath.Join(releaseBackups, "*.backup"))
	must(t, err)
	if len(files) < 2 {
		t.Fatalf("backups of releases: %v", files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
			args := databaseOf(t, file)
			if said, err := h.restored(append([]string{file}, args...)...); err != nil {
				t.Fatalf("restore: %v: %s", err, said)
			}
			s := h.start(args...)
			if status := s.status("POST", "/api/login", map[string]string{"username": "Ada", "password": "four words of mine"}, nil); status != 200 {
				t.Errorf("sign-in: %d", status)
			}
			var list struct {
				Sessions []struct {
					SessionID string `json:"session_id"`
					Title     string `json:"title"`
				}
			}
			s.do("GET", "/api/sessions", nil, &list)
			ids := map[string]string{}
			for _, known := range list.Sessions {
				ids[known.Title] = known.SessionID
			}
			if len(ids) != 2 || ids["answered"] == "" || ids["open"] == "" {
				t.Fatalf("sessions: %+v", list)
			}
			if texts := s.texts(ids["answered"]); len(texts) != 1 {
				t.Errorf("the transcript has %d lines of Claude", len(texts))
			}
			eventually(t, "the request of the session whose machine is gone can be answered", func() bool {
				open := s.open(ids["open"])
				return len(open) == 1 && open[0].Status == "orphaned"
			})
			id := s.session("meanwhile")
			request := s.asks(id)
			pid := s.pid(id)

			s.stop()
			if said, err := h.restored(append([]string{"--replace", file}, args...)...); err != nil {
				t.Fatalf("restore: %v: %s", err, said)
			}
			s = h.start(args...)
			eventually(t, "the session is recovered", func() bool { return s.status("GET", "/api/sessions/"+id, nil, nil) == 200 })
			if now := s.asks(id); now != request {
				t.Errorf("asks %s, before %s", now, request)
			}
			eventually(t, "its process goes on", func() bool { return s.processes()[id].PID == pid })
			s.allow(request)
			s.reaches(id, "user_turn")
		})
	}
}

// databaseOf returns the flags of an empty database for the engine of a backup.
func databaseOf(t *testing.T, file string) []string {
	if strings.Contains(file, ".postgres.") {
		return []string{"--database", postgrestest.Database(t)}
	}
	return nil
}

// writeReleaseBackup writes the backup of a server with a person, a session that is done and one that asks.
func writeReleaseBackup(t *testing.T, engine, file string) {
	t.Helper()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	args := databaseOf(t, "."+engine+".")
	s := h.start(args...)
	for _, verb := range []string{"user add Ada --role member", "user passwd Ada"} {
		cmd := exec.Command(h.program, append(append(strings.Fields(verb), "--state-dir", h.state), args...)...)
		cmd.Env, cmd.Stdin = h.env, strings.NewReader("four words of mine\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", verb, err, out)
		}
	}
	for _, title := range []string{"answered", "open"} {
		id := s.session(title)
		s.do("PATCH", "/api/sessions/"+id, map[string]any{"title": title}, nil)
		request := s.asks(id)
		if title == "answered" {
			s.allow(request)
			s.reaches(id, "user_turn")
		}
	}
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	content, err := os.ReadFile(h.backUp(args...))
	must(t, err)
	must(t, os.WriteFile(file, content, 0o600))
}
