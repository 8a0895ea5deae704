package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// failingStore is a memoryStore whose Append fails as fail says, by its number from 1.
type failingStore struct {
	memoryStore
	fail func(call int) error

	mu    sync.Mutex
	calls int
}

func (s *failingStore) Append(ctx context.Context, key claude.SessionKey, entries []json.RawMessage) error {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.mu.Unlock()
	if err := s.fail(call); err != nil {
		return err
	}
	return s.memoryStore.Append(ctx, key, entries)
}

// mirrors is a step in which the CLI reports entries of a transcript below projects.
func mirrors(file, entries string) claudetest.Step {
	return prints(`{"type":"transcript_mirror","filePath":"/home/me/projects/.claude/projects/` + file + `","entries":[` + entries + `]}`)
}

var storedKey = claude.SessionKey{Project: "-home-me-app", SessionID: someUUID}

// mirroredSteps mirror five entries of a conversation and one of a subagent.
func mirroredSteps() []claudetest.Step {
	main, agent := storedKey.String()+".jsonl", storedKey.String()+"/subagents/agent-1.jsonl"
	return []claudetest.Step{
		mirrors(main, strings.Join(savedLines[:2], ",")), mirrors(agent, `{"type":"agent_metadata","agentType":"x"},{"uuid":"a1"}`),
		mirrors(main, strings.Join(savedLines[2:], ",")),
	}
}

func (s *memoryStore) text(key claude.SessionKey) string {
	entries, _ := s.Load(context.Background(), key)
	var text strings.Builder
	for _, entry := range entries {
		text.Write(entry)
		text.WriteByte('\n')
	}
	return text.String()
}

func TestTranscriptIsStoredAndRestored(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{Turn: mirroredSteps()})
	var store memoryStore
	o.SessionStore = &store
	if _, err := collect(t, t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	if args := claudetest.ReadRecords(t, record)[0].Args; !slices.Contains(args, "--session-mirror") {
		t.Errorf("the CLI was not asked to mirror: %q", args)
	}
	want := strings.Join(savedLines, "\n") + "\n"
	if got := store.text(storedKey); got != want {
		t.Errorf("stored:\n%swant:\n%s", got, want)
	}

	dir := t.TempDir()
	folder := claude.NewSavedFolder(dir)
	if err := folder.Restore(t.Context(), &store, storedKey); err != nil {
		t.Fatal(err)
	}
	if s := find(t, folder, someUUID); s.FirstPrompt == "" || s.CWD != "/w" {
		t.Errorf("got %+v", s)
	}
	for file, want := range map[string]string{".jsonl": want, "/subagents/agent-1.jsonl": `{"uuid":"a1"}` + "\n", "/subagents/agent-1.meta.json": `{"agentType":"x"}`} {
		if got, err := os.ReadFile(filepath.Join(dir, "projects", storedKey.String()) + file); err != nil || string(got) != want {
			t.Errorf("%s: got %s %v, want %s", file, got, err, want)
		}
	}
	if err := folder.Restore(t.Context(), &store, storedKey); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: got %v, want ErrExist", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "projects", "*", "*")); len(files) != 2 {
		t.Errorf("files were left over: %q", files)
	}
}

func TestFailedAppendIsRepeatedInOrder(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{Turn: mirroredSteps()})
	store := &failingStore{fail: func(call int) error {
		switch call {
		case 1:
			return errBoom
		case 2:
			panic("boom")
		}
		return nil
	}}
	o.SessionStore = store
	told := make(chan error, 10)
	o.OnCallbackError = func(subtype, _ string, err error) {
		if subtype == "transcript_mirror" {
			told <- err
		}
	}
	if _, err := collect(t, t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	if got, want := store.text(storedKey), strings.Join(savedLines, "\n")+"\n"; got != want {
		t.Errorf("stored:\n%swant:\n%s", got, want)
	}
	var panicked *claude.PanicError
	if len(told) != 2 || !errors.Is(<-told, errBoom) || !errors.As(<-told, &panicked) {
		t.Errorf("was told of %d failures, or of others", len(told))
	}
}

// A callback that panics does not end the program, and the transcript is stored.
func TestPanicOfOnCallbackErrorAboutATranscript(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{Turn: mirroredSteps()})
	store := &failingStore{fail: func(call int) error {
		if call == 1 {
			return errBoom
		}
		return nil
	}}
	var log strings.Builder
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.SessionStore, o.OnCallbackError = store, func(string, string, error) { panic("ouch") }
	if _, err := collect(t, t.Context(), "hello", o); err != nil {
		t.Fatal(err)
	}
	if got, want := store.text(storedKey), strings.Join(savedLines, "\n")+"\n"; got != want {
		t.Errorf("stored:\n%swant:\n%s", got, want)
	}
	if !strings.Contains(log.String(), "panicked: ouch") {
		t.Errorf("log: %s", log.String())
	}
}

// What could not be stored is never lost silently, and nothing is stored after it.
func TestLostTranscriptIsAnError(t *testing.T) {
	t.Parallel()
	steps := mirroredSteps()
	failedTurn := append(slices.Clone(steps), prints(`{"type":"result","is_error":true,"subtype":"error_max_turns"}`), claudetest.Step{Exit: new(int)})
	unknown := []claudetest.Step{prints(`{"type":"transcript_mirror","filePath":"/elsewhere","entries":[{},{}]}`), steps[0]}
	full := func(call int) error {
		if call > 1 {
			return errBoom
		}
		return nil
	}
	for name, test := range map[string]struct {
		turn           []claudetest.Step
		fail           func(int) error
		entries, lines int
		want           error
	}{
		"store fails":   {steps, full, 6, 2, errBoom},
		"failed turn":   {failedTurn, full, 6, 2, claude.ErrLimit},
		"unknown place": {unknown, func(int) error { return nil }, 2, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := scriptedOptions(t, claudetest.Script{Turn: test.turn})
			store := &failingStore{fail: test.fail}
			o.SessionStore = store
			_, err := collect(t, t.Context(), "hello", o)
			var lost *claude.SessionStoreError
			if !errors.As(err, &lost) || lost.Entries != test.entries || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, want the loss of %d entries, and %v", err, test.entries, test.want)
			}
			if got := strings.Count(store.text(storedKey), "\n"); got != test.lines {
				t.Errorf("%d entries are stored, want %d", got, test.lines)
			}
		})
	}
}

// meetingStore is a memoryStore in which Subpaths returns when all callers have called it.
type meetingStore struct {
	memoryStore
	callers sync.WaitGroup
}

func (s *meetingStore) Subpaths(ctx context.Context, project, sessionID string) ([]string, error) {
	s.callers.Done()
	s.callers.Wait()
	return s.memoryStore.Subpaths(ctx, project, sessionID)
}

func TestRestoresAtOnce(t *testing.T) {
	t.Parallel()
	const restores = 20
	var store meetingStore
	store.callers.Add(restores)
	agent := storedKey
	agent.Subpath = "subagents/agent-1"
	entry := json.RawMessage(`{"type":"user","text":"` + strings.Repeat("x", 256<<10) + `"}`)
	for _, key := range []claude.SessionKey{storedKey, agent} {
		if err := store.Append(t.Context(), key, []json.RawMessage{entry}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	folder := claude.NewSavedFolder(dir)
	var succeeded atomic.Int32
	var running sync.WaitGroup
	for range restores {
		running.Go(func() {
			switch err := folder.Restore(t.Context(), &store, storedKey); {
			case err == nil:
				succeeded.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("got %v, want nil or ErrExist", err)
				return
			}
			for _, key := range []claude.SessionKey{storedKey, agent} {
				got, err := os.ReadFile(filepath.Join(dir, "projects", key.String()) + ".jsonl")
				if err != nil || string(got) != string(entry)+"\n" {
					t.Errorf("%s has %d bytes, %v", key, len(got), err)
				}
			}
		})
	}
	running.Wait()
	if n := succeeded.Load(); n != 1 {
		t.Errorf("%d succeeded, want 1", n)
	}
	var files []string
	for _, pattern := range []string{"*/*", "*/*/*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, "projects", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) != 3 { // two transcripts and a folder
		t.Errorf("files were left over: %q", files)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	outside := storedKey
	outside.SessionID = "00000000-0000-4000-8000-0000000000aa"
	var store memoryStore
	for _, key := range []claude.SessionKey{
		outside, {Project: outside.Project, SessionID: outside.SessionID, Subpath: "../../../../outside"},
	} {
		if err := store.Append(t.Context(), key, []json.RawMessage{json.RawMessage(`{"type":"user"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	folder := claude.NewSavedFolder(dir)
	for name, key := range map[string]claude.SessionKey{
		"unknown":               storedKey,
		"subpath outside":       outside,
		"project outside":       {Project: "..", SessionID: someUUID},
		"project with a folder": {Project: "a/b", SessionID: someUUID},
		"no session id":         {Project: "a", SessionID: "../x"},
		"subagent":              {Project: "a", SessionID: someUUID, Subpath: "subagents/agent-1"},
	} {
		err := folder.Restore(t.Context(), &store, key)
		if err == nil || (name == "unknown") != errors.Is(err, claude.ErrNotSaved) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if list, err := folder.List(10); len(list) != 0 || err != nil {
		t.Errorf("something was written: %v %v", list, err)
	}
}

// A real CLI goes on with a conversation that only a store has.
func TestRealCLIResumesFromAStore(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // TestTranscriptIsStoredAndRestored shows the same with the scripted CLI
	}
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o, home := realOptions(t, realCLI(t, variable, version))
			var store memoryStore
			o.SessionStore, o.SessionID = &store, someUUID
			turn := `[[{"tool":"Agent","input":{"description":"d","subagent_type":"general-purpose","prompt":"go"},"script":[[{"text":"agent done"}]]}],[{"text":"first answer"}]]`
			if _, err := claude.Ask(t.Context(), script(turn), o); err != nil {
				t.Fatal(err)
			}
			projects := filepath.Join(home, ".claude", "projects")
			written := transcripts(t, projects)
			saved := find(t, claude.NewSavedFolder(filepath.Join(home, ".claude")), someUUID)
			key := claude.SessionKey{Project: filepath.Dir(saved.File), SessionID: someUUID}
			if err := os.RemoveAll(projects); err != nil {
				t.Fatal(err)
			}
			folder := claude.NewSavedFolder(filepath.Join(home, ".claude"))
			if err := folder.Restore(t.Context(), &store, key); err != nil {
				t.Fatal(err)
			}
			if restored := transcripts(t, projects); len(restored) != 2 || !maps.Equal(restored, written) {
				t.Errorf("restored:\n%v\nwant:\n%v", restored, written)
			}
			o.SessionID, o.Resume = "", someUUID
			r, err := claude.Ask(t.Context(), script(`[[{"text":"second answer"}]]`), o)
			if err != nil || r.Text != "second answer" || r.SessionID != someUUID {
				t.Errorf("got %+v %v", r, err)
			}
			if got := store.text(key); !strings.Contains(got, "first answer") || !strings.Contains(got, "second answer") {
				t.Errorf("the store has %s", got)
			}
			if got := prompts(t, folder, find(t, folder, someUUID)); !strings.Contains(got, "first answer") || !strings.Contains(got, "second answer") {
				t.Errorf("the restored conversation has the prompts %s", got)
			}
		})
	}
}

// transcripts returns the uuids in the transcripts below a folder, by their paths. The CLI does not
// mirror its notes about requests to the API, which have none.
func transcripts(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".jsonl") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		for line := range strings.Lines(string(text)) {
			var entry struct{ UUID string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				return err
			}
			if entry.UUID != "" {
				all[file] += entry.UUID + "\n"
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
