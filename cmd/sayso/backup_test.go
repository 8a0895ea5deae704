package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// backUp writes a backup to a file, over stdout.
func (h *harness) backUp(args ...string) (file string) {
	h.t.Helper()
	cmd := h.command("backup", append(args, "-")...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("backup: %v: %s", err, words.String())
	}
	file = filepath.Join(h.t.TempDir(), "backup")
	must(h.t, os.WriteFile(file, out.Bytes(), 0o600))
	return file
}

// restored runs sayso restore and returns what it said.
func (h *harness) restored(args ...string) (string, error) {
	h.t.Helper()
	out, err := h.command("restore", args...).CombinedOutput()
	return string(out), err
}

// loseDisk removes the state folder except the folders of running sessions, which a process has open.
func (h *harness) loseDisk(keep ...string) {
	h.t.Helper()
	entries, err := os.ReadDir(h.state)
	must(h.t, err)
	for _, e := range entries {
		kept := false
		for _, name := range keep {
			kept = kept || e.Name() == name
		}
		if !kept {
			must(h.t, os.RemoveAll(filepath.Join(h.state, e.Name())))
		}
	}
}

// A backup is made beside the server. On this machine, where the session lives on, and on another one,
// which has nothing, people sign in as before and the request is still open.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	for engine, databases := range map[string]func(*testing.T) [2][]string{
		"sqlite": func(*testing.T) [2][]string { return [2][]string{} },
		"postgres": func(t *testing.T) (args [2][]string) {
			for i := range args {
				args[i] = []string{"--database", postgrestest.Database(t)}
			}
			return args
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			args := databases(t)
			h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
			s := h.start(args[0]...)
			user := h.command("user", args[0]...)
			user.Args = append([]string{user.Args[0], "user", "add", "Ada", "--role", "member"}, user.Args[2:]...)
			out, err := user.CombinedOutput()
			if err != nil {
				t.Fatalf("user: %v: %s", err, out)
			}
			user = h.command("user", args[0]...)
			user.Args = append([]string{user.Args[0], "user", "passwd", "Ada"}, user.Args[2:]...)
			user.Stdin = strings.NewReader("four words of mine\n")
			if out, err = user.CombinedOutput(); err != nil {
				t.Fatalf("user: %v: %s", err, out)
			}
			signsIn := func(s *server) {
				t.Helper()
				if status := s.status("POST", "/api/login", map[string]string{"username": "Ada", "password": "four words of mine"}, nil); status != 200 {
					t.Errorf("sign-in after the restore: %d", status)
				}
			}
			id := s.session("one")
			request := s.asks(id)
			pid := s.pid(id)
			key, err := os.ReadFile(filepath.Join(h.state, "push-key"))
			must(t, err)
			file := h.backUp(args[0]...)

			if said, err := h.restored(append(args[0], file)...); err == nil || !strings.Contains(said, "uses the") {
				t.Errorf("restored beside a running server: %v: %s", err, said)
			}
			s.stop()
			if said, err := h.restored(append(args[0], file)...); err == nil || !strings.Contains(said, "--replace") {
				t.Errorf("replaced a database without being told: %v: %s", err, said)
			}

			// The same machine: the database is lost, and with SQLite everything but the sessions.
			more := append([]string{file}, args[0]...)
			h.loseDisk("shims", "program")
			if engine == "postgres" {
				more = append(more, "--replace")
			}
			if said, err := h.restored(more...); err != nil || !strings.Contains(said, "Restored to "+h.state) {
				t.Fatalf("restore: %v: %s", err, said)
			}
			s = h.start(args[0]...)
			signsIn(s)
			if now, err := os.ReadFile(filepath.Join(h.state, "push-key")); err != nil || !bytes.Equal(now, key) {
				t.Errorf("the key of notifications is another one: %v", err)
			}
			if now := s.asks(id); now != request {
				t.Errorf("asks %s, want %s", now, request)
			}
			eventually(t, "the session is adopted", func() bool { return s.pid(id) == pid })
			s.allow(request)
			s.reaches(id, "user_turn")

			// Another machine.
			away := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}})
			if said, err := away.restored(append([]string{file}, args[1]...)...); err != nil {
				t.Fatalf("restore: %v: %s", err, said)
			}
			s = away.start(args[1]...)
			signsIn(s)
			eventually(t, "the request of a session whose machine is gone can be answered", func() bool {
				open := s.open(id)
				return len(open) == 1 && open[0].RequestID == request && open[0].Status == "orphaned"
			})
		})
	}
}

// A damaged backup is named before anything is changed.
func TestRestoreRefusesADamagedBackup(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	h.start().stop()
	file := h.backUp()
	whole, err := os.ReadFile(file)
	must(t, err)
	before := snapshot(t, h.state)
	altered := bytes.Clone(whole)
	altered[len(altered)/2] ^= 1
	for what, content := range map[string][]byte{"truncated": whole[:len(whole)-9], "altered": altered, "empty": nil, "another file": []byte("hello")} {
		must(t, os.WriteFile(file, content, 0o600))
		for _, args := range [][]string{{"--check"}, {"--replace"}} {
			said, err := h.restored(append(args, file)...)
			if err == nil || !strings.Contains(said, "the backup is damaged") || !strings.Contains(said, "Nothing was changed") {
				t.Errorf("%s, %s: %v: %s", what, args, err, said)
			}
		}
	}
	if after := snapshot(t, h.state); len(after) != len(before) {
		t.Errorf("%d files, before %d", len(after), len(before))
	}
	must(t, os.WriteFile(file, whole, 0o600))
	if said, err := h.restored("--check", file); err != nil || !strings.Contains(said, "The backup is intact") {
		t.Errorf("check: %v: %s", err, said)
	}
	if said, err := h.restored("--replace", file); err != nil || !strings.Contains(said, "sayso.db-replaced-") {
		t.Errorf("restore: %v: %s", err, said)
	}
	h.start().stop()
}

// A restore is killed at many moments. No server starts on what it leaves, and another restore
// completes it.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.start().stop()
	file := h.backUp()
	killed := 0
	for i := range 12 {
		h.loseDisk()
		cmd := h.command("restore", file)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		for begun := false; !begun; {
			select {
			case err = <-ended:
				begun = true
				ended <- err
			default:
				_, statErr := os.Stat(filepath.Join(h.state, "restoring"))
				begun = statErr == nil
			}
		}
		time.Sleep(time.Duration(i) * time.Millisecond) // a moment is what is tried
		_ = cmd.Process.Kill()                          // it may have ended
		if err = <-ended; err == nil {
			continue
		}
		if _, ok := err.(*exec.ExitError); !ok || strings.Contains(said.String(), "Nothing was changed") {
			t.Fatalf("restore: %v: %s", err, said.String())
		}
		if _, err := os.Stat(filepath.Join(h.state, "restoring")); err != nil {
			continue // killed at its very end
		}
		killed++
		if i%4 == 0 {
			h.serve().refused("interrupted", "sayso restore")
		}
		if out, err := h.restored(file); err != nil {
			t.Fatalf("after %d ms: %v: %s", i, err, out)
		}
	}
	if killed == 0 {
		t.Error("no restore was killed")
	}
	h.start().stop()
}

// The commands of docs/operating/backup.md work as they are there, but for its folder and host.
func TestBackupRecipes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	s := h.start()
	dir := t.TempDir()
	run := func(block string) {
		t.Helper()
		script := strings.NewReplacer("/var/backups", dir, "ssh backup.example.org", "sh -c", "2026-11-24", "$(date +%F)").Replace(block)
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(h.env, "PATH="+filepath.Dir(h.program)+":"+os.Getenv("PATH"), "SAYSO_STATE_DIR="+h.state)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s%s", err, block, out)
		}
	}
	blocks := recipes(t, "backup.md", "Back up")
	for _, block := range blocks {
		run(block)
	}
	if len(blocks) != 2 {
		t.Errorf("%d blocks", len(blocks))
	}
	s.stop()
	h.loseDisk()
	run(recipes(t, "backup.md", "Restore")[0])
	if out, err := h.restored("--check", filepath.Join(dir, "sayso-backup")); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	h.start().stop()
}
