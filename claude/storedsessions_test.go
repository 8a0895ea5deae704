package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// storedSessions returns a store with the conversation of savedLines and one of a subagent.
func storedSessions(t *testing.T) (claude.StoredSessions, *memoryStore) {
	t.Helper()
	store := &memoryStore{}
	agent := storedKey
	agent.Subpath = "subagents/agent-1"
	var entries []json.RawMessage
	for _, line := range savedLines {
		entries = append(entries, json.RawMessage(line))
	}
	if err := errors.Join(store.Append(t.Context(), storedKey, entries), store.Append(t.Context(), agent, entries[:1])); err != nil {
		t.Fatal(err)
	}
	return claude.StoredSessions{Store: store, Project: storedKey.Project}, store
}

// textsOf returns what was said in a stored conversation.
func textsOf(t *testing.T, s claude.StoredSessions, id string) string {
	t.Helper()
	var all []string
	for m, err := range s.Messages(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.Message.(type) {
		case *claude.User:
			all = append(all, strings.Fields(m.Content[0].Text)[0])
		case *claude.Assistant:
			all = append(all, m.Text())
		}
	}
	return strings.Join(all, "|")
}

func TestStoredSessionsAreListedAndRead(t *testing.T) {
	t.Parallel()
	s, store := storedSessions(t)
	other := claude.SessionKey{Project: storedKey.Project, SessionID: "00000000-0000-4000-8000-0000000000aa"}
	elsewhere := claude.SessionKey{Project: "-elsewhere", SessionID: "00000000-0000-4000-8000-0000000000ab"}
	for _, key := range []claude.SessionKey{other, elsewhere} {
		if err := store.Append(t.Context(), key, []json.RawMessage{json.RawMessage(`{"type":"summary"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context(), 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("got %+v %v, want the one conversation with messages", list, err)
	}
	found, err := s.Find(t.Context(), someUUID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "found", []string{found.SessionID, found.CWD, found.GitBranch, found.FirstPrompt[:5], found.CreatedAt.Format(time.DateTime), found.ChangedAt.Format(time.DateTime)},
		[]string{someUUID, "/w", "main", "hello", "2026-01-01 00:00:00", "2026-01-01 00:00:03"})
	equal(t, "messages", textsOf(t, s, someUUID), "hello|hi|asked")
}

func TestStoredSessionIsChanged(t *testing.T) {
	t.Parallel()
	s, store := storedSessions(t)
	if err := errors.Join(s.Rename(t.Context(), someUUID, " My title "), s.Tag(t.Context(), someUUID, "red")); err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), someUUID)
	if err != nil || found.Title != "My title" || found.Tag != "red" {
		t.Errorf("got %+v %v", found, err)
	}
	// The entries are those of the TypeScript SDK 0.3.332.
	for _, want := range []string{`{"type":"custom-title","customTitle":"My title","sessionId":"` + someUUID + `","uuid":"`, `{"type":"tag","tag":"red","sessionId":"` + someUUID + `","uuid":"`} {
		if text := store.text(storedKey); !strings.Contains(text, want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
	if err := s.Tag(t.Context(), someUUID, ""); err != nil {
		t.Error(err)
	}
	if found, err := s.Find(t.Context(), someUUID); err != nil || found.Tag != "" {
		t.Errorf("the tag is %q, %v", found.Tag, err)
	}
	if err := s.Rename(t.Context(), someUUID, " "); err == nil {
		t.Error("an empty title was taken")
	}

	copied, err := s.Fork(t.Context(), someUUID, "00000000-0000-4000-8000-000000000002", "")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "copy", textsOf(t, s, copied), "hello|hi")
	if found, err := s.Find(t.Context(), copied); err != nil || found.Title != "My title (fork)" {
		t.Errorf("got %+v %v", found, err)
	}
	if text := store.text(claude.SessionKey{Project: storedKey.Project, SessionID: copied}); strings.Contains(text, `"uuid":"00000000-0000-4000-8000-000000000001"`) {
		t.Errorf("an entry has the UUID of the original: %s", text)
	}

	if err := s.Delete(t.Context(), someUUID); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(t.Context(), someUUID); !errors.Is(err, claude.ErrNotSaved) {
		t.Errorf("got %v, want ErrNotSaved", err)
	}
	if subpaths, err := store.Subpaths(t.Context(), storedKey.Project, someUUID); len(subpaths) != 0 || err != nil {
		t.Errorf("subagents are left: %q %v", subpaths, err)
	}
	equal(t, "copy after the original was deleted", textsOf(t, s, copied), "hello|hi")
}

// indentingStore formats the entries that it loads, as a database may.
type indentingStore struct{ *memoryStore }

func (s indentingStore) Load(ctx context.Context, key claude.SessionKey) ([]json.RawMessage, error) {
	entries, err := s.memoryStore.Load(ctx, key)
	for i, entry := range entries {
		var indented bytes.Buffer
		if err := json.Indent(&indented, entry, " ", "\t"); err != nil {
			return nil, err
		}
		entries[i] = append([]byte("\n "), append(indented.Bytes(), '\n')...)
	}
	return entries, err
}

func TestFormattingOfAStoreDoesNotMatter(t *testing.T) {
	t.Parallel()
	s, store := storedSessions(t)
	plain, err := s.Find(t.Context(), someUUID)
	if err != nil {
		t.Fatal(err)
	}
	s.Store = indentingStore{store}
	if found, err := s.Find(t.Context(), someUUID); err != nil || found != plain {
		t.Errorf("found %+v %v, want %+v", found, err, plain)
	}
	if list, err := s.List(t.Context(), 10); err != nil || len(list) != 1 {
		t.Errorf("listed %+v %v, want one conversation", list, err)
	}
	equal(t, "messages", textsOf(t, s, someUUID), "hello|hi|asked")
	copied, err := s.Fork(t.Context(), someUUID, "", "")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "copy", textsOf(t, s, copied), "hello|hi|asked")
}

func TestStoredSessionIsNotThere(t *testing.T) {
	t.Parallel()
	s, store := storedSessions(t)
	ctx := t.Context()
	before := len(store.entries)
	for _, id := range []string{"00000000-0000-4000-8000-0000000000ff", "../x", ""} {
		_, findErr := s.Find(ctx, id)
		_, forkErr := s.Fork(ctx, id, "", "")
		var messagesErr error
		for _, err := range s.Messages(ctx, id) {
			messagesErr = err
		}
		for i, err := range []error{findErr, forkErr, messagesErr, s.Rename(ctx, id, "x"), s.Tag(ctx, id, "x"), s.Delete(ctx, id)} {
			if !errors.Is(err, claude.ErrNotSaved) {
				t.Errorf("%d of %q: got %v, want ErrNotSaved", i, id, err)
			}
		}
	}
	if _, err := s.Fork(ctx, someUUID, "00000000-0000-4000-8000-0000000000ff", ""); !errors.Is(err, claude.ErrNotSaved) {
		t.Errorf("fork at an unknown entry: got %v", err)
	}
	if len(store.entries) != before {
		t.Error("something was stored")
	}
}

// plainStore has the methods of SessionStore alone.
type plainStore struct{ claude.SessionStore }

func TestStoreThatCannot(t *testing.T) {
	t.Parallel()
	s, store := storedSessions(t)
	s.Store = plainStore{store}
	_, err := s.List(t.Context(), 1)
	for _, err := range []error{err, s.Delete(t.Context(), someUUID)} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v, want ErrUnsupported", err)
		}
	}
	s.Store = brokenStore{}
	for i, call := range []func() error{
		func() error { _, err := s.List(t.Context(), 1); return err },
		func() error { _, err := s.Find(t.Context(), someUUID); return err },
		func() error { return s.Rename(t.Context(), someUUID, "x") },
		func() error { return s.Delete(t.Context(), someUUID) },
	} {
		if err := call(); !errors.Is(err, errBoom) {
			t.Errorf("%d: got %v, want the error of the store", i, err)
		}
	}
}

// brokenStore fails.
type brokenStore struct{ claude.SessionStore }

func (brokenStore) Load(context.Context, claude.SessionKey) ([]json.RawMessage, error) {
	return nil, errBoom
}

func (brokenStore) Sessions(context.Context, string) ([]claude.StoredSession, error) {
	return nil, errBoom
}

func (brokenStore) Delete(context.Context, string, string) error { return errBoom }

// The latest is first, and the limit counts from there.
func TestStoredSessionsAreSorted(t *testing.T) {
	t.Parallel()
	s, store := storedSessions(t)
	second := claude.SessionKey{Project: storedKey.Project, SessionID: "00000000-0000-4000-8000-0000000000aa"}
	if err := store.Append(t.Context(), second, []json.RawMessage{json.RawMessage(savedLines[0])}); err != nil {
		t.Fatal(err)
	}
	s.Store = datedStore{store, map[string]time.Time{someUUID: time.Unix(1, 0), second.SessionID: time.Unix(2, 0)}}
	var got []string
	for _, limit := range []int{1, 10} {
		list, err := s.List(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range list {
			got = append(got, found.SessionID)
		}
	}
	if want := []string{second.SessionID, second.SessionID, someUUID}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// datedStore says when sessions were changed.
type datedStore struct {
	*memoryStore
	changed map[string]time.Time
}

func (s datedStore) Sessions(ctx context.Context, project string) ([]claude.StoredSession, error) {
	list, err := s.memoryStore.Sessions(ctx, project)
	for i := range list {
		list[i].ChangedAt = s.changed[list[i].SessionID]
	}
	return list, err
}
