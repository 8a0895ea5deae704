package orchestrator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// withTurn runs a test with a session of one turn. before prepares its folder, home is that of the CLI.
func withTurn(t *testing.T, before func(folder string), test func(r rewinding, home string)) {
	t.Helper()
	home := t.TempDir()
	withBench(t, replies(claudetest.Reply{Subtype: "rewind_files"}), nil, func(b *bench) {
		before(b.folder)
		id := b.start("one")
		b.wait(id, in(session.UserTurn))
		s, err := b.store.Session(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		folder, err := b.WorkingTree(b.t.Context(), id, workingtree.View{Hidden: []string{filepath.Join(b.folder, "hidden")}})
		if err != nil {
			b.t.Fatal(err)
		}
		r := rewinding{bench: b, session: s, folder: folder}
		for _, it := range b.items(id) {
			if message, ok := strings.CutPrefix(it.Key, "message:"); ok {
				r.messageID = message
			}
		}
		test(r, home)
	}, func(o *orchestrator.Options) {
		o.CLI = &launch.CLI{Path: "/bin/sh", Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	})
}

func (r rewinding) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.bench.folder, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// turn returns what changed since the message, by path, and the former content.
func (r rewinding) turn() (orchestrator.TurnChanges, map[string]string) {
	r.t.Helper()
	changes, err := r.TurnChanges(r.t.Context(), r.session, r.folder, r.messageID)
	if err != nil {
		r.t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range changes.Changes {
		was, err := r.CompareTurn(r.t.Context(), r.session, r.folder, r.messageID, c.Path, c.OldPath)
		if err != nil {
			r.t.Fatal(err)
		}
		found[c.Path] = fmt.Sprintf("%s: %s", c.Status, was.Before.Text)
	}
	return changes, found
}

func TestTurnChangesOfARepository(t *testing.T) {
	withTurn(t, func(folder string) {
		for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Mara"}, {"config", "user.email", "mara@example.org"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v %s", args, err, out)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "a"), []byte("before\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}, func(r rewinding, _ string) {
		if changes, _ := r.turn(); changes.Source != orchestrator.FromSnapshot || len(changes.Changes) != 0 {
			r.t.Errorf("nothing has changed: %+v", changes)
		}
		r.write("a", "after\n")
		r.write("b", "after\n")
		_, found := r.turn()
		if len(found) != 2 || found["a"] != "modified: before\n" || found["b"] != "added: " {
			r.t.Errorf("got %q", found)
		}
		if got := reasonOf(func() error {
			_, err := r.TurnChanges(r.t.Context(), r.session, r.folder, "other")
			return err
		}()); got != "rewind_unknown_message" {
			r.t.Errorf("another message: %s", got)
		}
	})
}

func TestTurnChangesOfCheckpoints(t *testing.T) {
	withTurn(t, func(string) {}, func(r rewinding, home string) {
		if changes, _ := r.turn(); changes.Source != "" || len(changes.Changes) != 0 {
			r.t.Errorf("nothing is known: %+v", changes)
		}
		config := filepath.Join(home, ".claude")
		backups := filepath.Join(config, "file-history", r.session.SessionID)
		saved := filepath.Join(config, "projects", "x", r.session.SessionID+".jsonl")
		for _, dir := range []string{backups, filepath.Dir(saved)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				r.t.Fatal(err)
			}
		}
		outside := filepath.Join(home, "outside")
		lines := []string{
			`{"type":"user","cwd":"` + r.bench.folder + `","uuid":"` + r.messageID + `","message":{"role":"user","content":"one"}}`,
			`{"type":"file-history-snapshot","messageId":"` + r.messageID + `","snapshot":{"messageId":"` + r.messageID + `","trackedFileBackups":{` +
				`"a":{"backupFileName":"aa@v1"},"same":{"backupFileName":"bb@v2"},"` + filepath.Join(r.bench.folder, "gone") + `":{"backupFileName":"aa@v1"},` +
				`"hidden":{"backupFileName":"aa@v1"},"` + outside + `":{"backupFileName":"aa@v1"},"climbing":{"backupFileName":"../../../outside"}}}}`,
			`{"type":"file-history-delta","snapshotMessageId":"` + r.messageID + `","trackingPath":"new","backup":{"backupFileName":null}}`,
			`{"type":"file-history-delta","snapshotMessageId":"another","trackingPath":"other","backup":{"backupFileName":null}}`,
		}
		for path, text := range map[string]string{
			filepath.Join(backups, "aa@v1"): "before\n", filepath.Join(backups, "bb@v2"): "same\n", outside: "secret\n", saved: strings.Join(lines, "\n") + "\n",
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"a": "after\n", "same": "same\n", "new": "after\n", "hidden": "after\n", "climbing": "x", "other": "x", "unknown": "x"} {
			r.write(name, text)
		}
		changes, found := r.turn()
		if changes.Source != orchestrator.FromCheckpoints || changes.Repository != workingtree.RepositoryMissing {
			r.t.Errorf("got %+v", changes)
		}
		want := map[string]string{"a": "modified: before\n", "gone": "deleted: before\n", "new": "added: "}
		if fmt.Sprint(found) != fmt.Sprint(want) {
			r.t.Errorf("got %q", found)
		}
		for _, path := range []string{"climbing", "unknown", "other"} {
			if _, err := r.CompareTurn(r.t.Context(), r.session, r.folder, r.messageID, path, ""); reasonOf(err) != "file_unchanged" {
				r.t.Errorf("%s: %v", path, err)
			}
		}
		for _, path := range []string{"hidden", outside} {
			if c, err := r.CompareTurn(r.t.Context(), r.session, r.folder, r.messageID, path, ""); err != nil || c.Before.Text+c.After.Text != "" {
				r.t.Errorf("%s: %+v, %v", path, c, err)
			}
		}
	})
}
