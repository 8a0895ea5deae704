package main_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestStoppedWhileStarting sends SIGTERM at many moments of a start, of a server whose
// database is new and of one that has everything.
func TestStoppedWhileStarting(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{true, false} {
		t.Run(fmt.Sprint("fresh ", fresh), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, claudetest.Script{}).asProcesses()
			h.start().stop()
			const moments = 30
			early := 0
			for i := range moments {
				if fresh {
					must(t, os.RemoveAll(h.state))
				} else {
					must(t, os.Remove(filepath.Join(h.state, "lock")))
				}
				s := h.serve()
				// The lock is there when our own program runs; before, it is the system's.
				eventually(t, "the server has begun", func() bool {
					_, err := os.Stat(filepath.Join(h.state, "lock"))
					return err == nil
				})
				time.Sleep(time.Duration(i) * 8 * time.Millisecond) // a moment is what is tried
				s.signal(syscall.SIGTERM)
				code := s.gone(waitLimit)
				said := s.said.String()
				switch {
				case code != 0, strings.Contains(said, "panic"), strings.Contains(said, "goroutine "), strings.Contains(said, "context canceled"):
					t.Fatalf("moment %d: exit code %d, and it said:\n%s", i, code, said)
				case strings.Contains(said, "stopped before it was ready"):
					early++
				case !strings.Contains(said, "stopping; sessions keep running"):
					t.Errorf("moment %d: it said nothing of its end:\n%s", i, said)
				}
			}
			if early == 0 {
				t.Error("no signal came while the server was starting")
			}
			h.start().stop()
		})
	}
}

// TestADatabaseThatIsNotWholeIsRefused takes one table and one column away.
func TestADatabaseThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"the table credentials":                "ALTER TABLE credentials RENAME TO gone",
		"the column cwd of the table sessions": "ALTER TABLE sessions RENAME COLUMN cwd TO gone",
		"the table transcript_index":           "DROP TABLE transcript_index",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, claudetest.Script{})
			h.start().stop()
			alter(t, filepath.Join(h.state, "sayso.db"), change)
			h.serve().refused(what+" is missing", "restore a backup")
			for _, verb := range []string{"doctor", "user list"} {
				text, err := verbOf(h, verb)
				if err == nil || !strings.Contains(text, what+" is missing") || strings.Contains(text, "panic") {
					t.Errorf("%s: %v, %s", verb, err, text)
				}
				for _, pkg := range []string{"store: ", "sqlite: ", "migrations: "} {
					if strings.Contains(text, pkg) {
						t.Errorf("%s names a package of the program: %s", verb, text)
					}
				}
			}
		})
	}
}

// alter changes a database in a way that no program of ours does.
func alter(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=legacy_alter_table(1)")
	must(t, err)
	for _, statement := range statements {
		_, err = db.Exec(statement)
		must(t, err)
	}
	must(t, db.Close())
}

// verbOf runs a command with the state folder of a harness and returns all that it said.
func verbOf(h *harness, words string, more ...string) (string, error) {
	args := append(strings.Fields(words), more...)
	cmd := exec.Command(h.program, append(args, "--state-dir", h.state)...)
	cmd.Env = h.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// snapshot is what lies in a folder, with its contents.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if !strings.HasSuffix(path, "-shm") && (!strings.HasSuffix(path, "-wal") || len(data) > 0) { // which readers share
			files[path] = string(data)
		}
		return err
	}))
	return files
}

// TestReadingCommandsChangeNothing runs all commands that only look, where there is
// nothing, and on databases of every age.
func TestReadingCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	looks := []string{"doctor", "user list", "audit verify", "audit export"}
	same := func(h *harness, name string, wants map[string]string, fails bool) {
		t.Helper()
		for _, verb := range looks {
			before := snapshot(t, h.state)
			var more []string
			if verb == "doctor" {
				more = []string{"--workspace-root", h.work, "--claude", h.claude}
			}
			out, err := verbOf(h, verb, more...)
			want := wants[strings.Fields(verb)[0]]
			if !strings.Contains(out, want) || (err != nil) != (fails && verb != "doctor") {
				t.Errorf("%s, %s: %v, %s, want %q", name, verb, err, out, want)
			}
			after := snapshot(t, h.state)
			if fmt.Sprint(before) != fmt.Sprint(after) {
				t.Errorf("%s: %s has changed files", name, verb)
			}
		}
	}
	h := newHarness(t, claudetest.Script{})
	must(t, os.Remove(h.state))
	none := map[string]string{"doctor": "not created yet", "user": "there is no database at", "audit": "there is no database at"}
	for _, verb := range looks {
		out, _ := verbOf(h, verb)
		if !strings.Contains(out, none[strings.Fields(verb)[0]]) {
			t.Errorf("where there is nothing, %s said %s", verb, out)
		}
		if _, err := os.Stat(h.state); !os.IsNotExist(err) {
			t.Fatalf("%s has made the state folder", verb)
		}
	}
	must(t, os.Mkdir(h.state, 0o700))
	h.start().stop()
	same(h, "as it is", map[string]string{"doctor": "up to date", "user": "admin", "audit": ""}, false)
	database := filepath.Join(h.state, "sayso.db")
	const last = "(SELECT max(number) FROM migrations)"
	alter(t, database, "CREATE TABLE saved AS SELECT * FROM migrations WHERE number = "+last, "DELETE FROM migrations WHERE number = "+last)
	same(h, "older", map[string]string{"doctor": "older version; sayso serve", "user": "of an older version", "audit": "of an older version"}, true)
	alter(t, database, "INSERT INTO migrations SELECT * FROM saved", "DROP TABLE saved", "INSERT INTO migrations VALUES (9999, 'x', 'x', 0)")
	for _, verb := range looks {
		out, err := verbOf(h, verb)
		if err == nil || !strings.Contains(out, "start the newer sayso") {
			t.Errorf("a newer database, %s: %v, %s", verb, err, out)
		}
	}
}

// TestCommandsThatAreNotWhole changes nothing and says how it is meant.
func TestCommandsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	h.start().stop()
	if out, err := verbOf(h, "user add Ada --role viewer"); err != nil {
		t.Fatal(out)
	}
	before, err := verbOf(h, "user list")
	must(t, err)
	tokens := credentialsOf(t, h)
	for _, words := range []string{
		"user", "user role", "user role Ada", "user role Ada member", "user role Ada Bob --role member", "user passwd", "user passwd Ada --role admin", "user disable", "user disable Ada Bob",
		"user disable Ada --role admin", "user enable", "user list Ada", "user list --role admin", "user add", "user add A B", "user frobnicate Ada", "user add Ada --rol admin",
		"token extra", "token --name x extra", "token --sign-in --name x", "token --sign-in --role admin", "token --agent a --role admin", "token --agent a --name b", "token --frobnicate",
		"audit", "audit verify extra", "audit frobnicate", "version extra",
	} {
		args := strings.Fields(words)
		if args[0] != "version" {
			args = append(args, "--state-dir", h.state)
		}
		cmd := exec.Command(h.program, args...)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || len(out) == 0 {
			t.Errorf("%q: exit code %d (%v), %s", words, code, err, out)
		}
	}
	if after, err := verbOf(h, "user list"); err != nil || after != before {
		t.Errorf("the users are\n%s\nwere\n%s", after, before)
	}
	if after := credentialsOf(t, h); after != tokens {
		t.Errorf("there are %d credentials, were %d", after, tokens)
	}
}

// credentialsOf counts them.
func credentialsOf(t *testing.T, h *harness) (n int) {
	t.Helper()
	must(t, h.openDatabase().QueryRow("SELECT count(*) FROM credentials").Scan(&n))
	return n
}

// TestAnUpgradeWaitsForTheOldServer starts the new server while the old one is ending,
// which a request that it still answers keeps from it.
func TestAnUpgradeWaitsForTheOldServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}})
	first := h.start()
	request := first.asks(first.session("one"))
	half := first.halfAnswer(request)
	first.signal(syscall.SIGTERM)
	eventually(t, "the first one is ending", func() bool { return first.refusesConnections() })
	second := h.serve()
	// By the time that a start gives up on a server that is not ending, it still waits.
	other := newHarness(t, claudetest.Script{})
	lock, err := os.Create(filepath.Join(other.state, "lock"))
	must(t, err)
	defer lock.Close()
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	other.serve().refused("another sayso server")
	select {
	case <-second.exited:
		t.Fatalf("the second one did not wait: %s", second.said)
	default:
	}
	must(t, half.conn.Close())
	first.gone(waitLimit)
	second.await()
}
