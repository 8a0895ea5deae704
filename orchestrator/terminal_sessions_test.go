package orchestrator_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// saveConversation saves a conversation in a folder as another CLI does, and returns its id.
func saveConversation(t *testing.T, config, cwd string) string {
	t.Helper()
	id := uuid.NewString()
	lines := []string{
		`{"type":"user","message":{"role":"user","content":"Look around."},"uuid":"a","timestamp":"2026-11-21T10:00:00Z","cwd":%q}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},"uuid":"b","timestamp":"2026-11-21T10:00:01Z","cwd":%q}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"main.go","is_error":false}]},"uuid":"c","timestamp":"2026-11-21T10:00:02Z","cwd":%q}`,
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"One file."}]},"uuid":"d","timestamp":"2026-11-21T10:00:03Z","cwd":%q}`,
	}
	path := filepath.Join(config, "projects", "-x", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(strings.Join(lines, "\n")+"\n", cwd, cwd, cwd, cwd)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return id
}

// kindsOf lists the kinds of items.
func kindsOf(items []session.Item) string {
	var all []string
	for _, it := range items {
		all = append(all, string(it.Kind))
	}
	return strings.Join(all, " ")
}

// readsFrom makes the CLI keep its files in a folder.
func readsFrom(config string) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		o.CLI = &launch.CLI{Path: "/bin/sh", Environ: append(os.Environ(), "CLAUDE_CONFIG_DIR="+config)}
	}
}

// TestSavedConversations: those of folders outside the workspace roots are never
// seen, those inside are listed, read and taken up with what was said.
func TestSavedConversations(t *testing.T) {
	config := t.TempDir()
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		t := b.t
		save := func(cwd string) string { return saveConversation(t, config, cwd) }
		inside, outside := save(b.folder), save(config)
		list, err := b.SavedSessions(t.Context())
		if err != nil || len(list) != 1 || list[0].SessionID != inside || list[0].CWD != b.folder || list[0].Title != "Look around." {
			t.Fatalf("got %+v, %v", list, err)
		}
		if _, err := b.SavedTranscript(t.Context(), outside, -1); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("outside: %v", err)
		}
		if _, err := b.SavedSession(t.Context(), outside); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("outside: %v", err)
		}
		page, err := b.SavedTranscript(t.Context(), inside, -1)
		if err != nil || page.Before != 0 {
			t.Fatalf("got %+v, %v", page, err)
		}
		if got := kindsOf(page.Items); got != "user tool_call text" || !strings.Contains(string(page.Items[1].Body), "main.go") {
			t.Errorf("got %s: %s", got, page.Items[1].Body)
		}

		// What was said elsewhere does not come along by its id.
		stolen, err := b.Start(t.Context(), orchestrator.StartRequest{CWD: b.folder, Resume: outside, By: b.person})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.items(stolen); len(got) > 0 && got[0].Kind == session.ItemUser {
			t.Errorf("a conversation of another folder was copied: %s", kindsOf(got))
		}
		taken, err := b.Start(t.Context(), orchestrator.StartRequest{CWD: b.folder, Resume: inside, By: b.person})
		if err != nil || taken != inside {
			t.Fatalf("got %s, %v", taken, err)
		}
		if got := kindsOf(b.items(taken)); !strings.HasPrefix(got, "user tool_call text") {
			t.Errorf("taken up: %s", got)
		}
		if list, err := b.SavedSessions(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("it is a session now: %+v, %v", list, err)
		}

		// What runs in a terminal is forked, or left alone.
		running := save(b.folder)
		status := filepath.Join(config, "sessions", "1.json")
		if err := os.MkdirAll(filepath.Dir(status), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(status, fmt.Appendf(nil, `{"pid":%d,"sessionId":%q}`, os.Getpid(), running), 0o600); err != nil {
			t.Fatal(err)
		}
		var invalid *problem.Error
		if _, err := b.Start(t.Context(), orchestrator.StartRequest{CWD: b.folder, Resume: running, By: b.person}); !errors.As(err, &invalid) || invalid.Field != "resume" {
			t.Errorf("resumed what runs: %v", err)
		}
		fork, err := b.Start(t.Context(), orchestrator.StartRequest{CWD: b.folder, Resume: running, Fork: true, By: b.person})
		if err != nil || fork == running || !strings.HasPrefix(kindsOf(b.items(fork)), "user tool_call text") {
			t.Errorf("fork: %s, %v", fork, err)
		}
	}, readsFrom(config))
}
