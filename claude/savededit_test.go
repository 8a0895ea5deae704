package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// savedLines is a conversation as the CLI saves it: two prompts, the second of which was rewound and
// asked again, a subagent and a snapshot.
var savedLines = []string{
	`{"type":"user","uuid":"00000000-0000-4000-8000-000000000001","parentUuid":null,"sessionId":"` + someUUID + `","cwd":"/w","gitBranch":"main","timestamp":"2026-01-01T00:00:00.000Z","isSidechain":false,"message":{"role":"user","content":"hello 00000000-0000-4000-8000-000000000001"}}`,
	`{"type":"assistant","uuid":"00000000-0000-4000-8000-000000000002","parentUuid":"00000000-0000-4000-8000-000000000001","sessionId":"` + someUUID + `","cwd":"/w","timestamp":"2026-01-01T00:00:01.000Z","isSidechain":false,"message":{"id":"m","role":"assistant","content":[{"type":"text","text":"hi"}]}}`,
	`{"type":"file-history-snapshot","messageId":"00000000-0000-4000-8000-000000000001","snapshot":{}}`,
	`{"type":"user","uuid":"00000000-0000-4000-8000-00000000000a","parentUuid":"00000000-0000-4000-8000-000000000002","isSidechain":true,"sessionId":"` + someUUID + `","message":{"role":"user","content":"for a subagent"}}`,
	`{"type":"user","uuid":"00000000-0000-4000-8000-000000000003","parentUuid":"00000000-0000-4000-8000-000000000002","sessionId":"` + someUUID + `","cwd":"/w","timestamp":"2026-01-01T00:00:02.000Z","isSidechain":false,"message":{"role":"user","content":"rewound"}}`,
	`{"type":"user","uuid":"00000000-0000-4000-8000-000000000004","parentUuid":"00000000-0000-4000-8000-000000000002","sessionId":"` + someUUID + `","cwd":"/w","timestamp":"2026-01-01T00:00:03.000Z","isSidechain":false,"message":{"role":"user","content":"asked again"}}`,
}

func savedFolder(t *testing.T, lines ...string) (folder *claude.SavedFolder, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "projects", "-w", someUUID+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return claude.NewSavedFolder(dir), file
}

func find(t *testing.T, folder *claude.SavedFolder, id string) claude.SavedConversation {
	t.Helper()
	s, err := folder.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prompts(t *testing.T, folder *claude.SavedFolder, s claude.SavedConversation) string {
	t.Helper()
	var all []string
	for m, err := range folder.Messages(s) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.Message.(type) {
		case *claude.User:
			all = append(all, m.Content[0].Text)
		case *claude.Assistant:
			all = append(all, m.Text())
		}
	}
	return strings.Join(all, "|")
}

func TestSavedConversationIsRenamedAndTagged(t *testing.T) {
	t.Parallel()
	folder, file := savedFolder(t, savedLines...)
	s := find(t, folder, someUUID)
	equal(t, "before", []string{s.Title, s.Tag, s.GitBranch, s.FirstPrompt, s.CreatedAt.Format(time.DateOnly)},
		[]string{"hello 00000000-0000-4000-8000-000000000001", "", "main", "hello 00000000-0000-4000-8000-000000000001", "2026-01-01"})
	if err := errors.Join(folder.Rename(s, " My title "), folder.Tag(s, "red")); err != nil {
		t.Fatal(err)
	}
	s = find(t, folder, someUUID)
	equal(t, "after", []string{s.Title, s.Tag, s.FirstPrompt[:5]}, []string{"My title", "red", "hello"})
	if err := folder.Tag(s, ""); err != nil || find(t, folder, someUUID).Tag != "" {
		t.Errorf("the tag is %q, %v", find(t, folder, someUUID).Tag, err)
	}
	// Exactly the entries of the TypeScript SDK 0.3.332.
	text, err := os.ReadFile(file)
	if want := `{"type":"custom-title","customTitle":"My title","sessionId":"` + someUUID + `"}` + "\n" + `{"type":"tag","tag":"red","sessionId":"` + someUUID + `"}` + "\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: no %s in %s", err, want, text)
	}
	if err := folder.Rename(s, "  "); err == nil {
		t.Error("an empty title was taken")
	}
}

// A CLI that was killed leaves half a line.
func TestRenameAfterHalfALine(t *testing.T) {
	t.Parallel()
	folder, file := savedFolder(t, savedLines...)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"type":"assi`)
	}
	if err := errors.Join(err, f.Close(), folder.Rename(find(t, folder, someUUID), "whole")); err != nil {
		t.Fatal(err)
	}
	equal(t, "title", find(t, folder, someUUID).Title, "whole")
}

func TestSavedConversationIsArchived(t *testing.T) {
	t.Parallel()
	folder, file := savedFolder(t, savedLines...)
	s := find(t, folder, someUUID)
	if err := folder.Archive(s, true); err != nil || !find(t, folder, someUUID).Archived {
		t.Errorf("archived is %v, %v", find(t, folder, someUUID).Archived, err)
	}
	mark, err := os.ReadFile(filepath.Join(strings.TrimSuffix(file, ".jsonl"), "archived.json"))
	if err != nil || !strings.HasPrefix(string(mark), `{"archived":true,"at":"`) || !strings.HasSuffix(string(mark), `Z","by":"sdk"}`) {
		t.Errorf("the mark is %s, %v", mark, err)
	}
	list, err := folder.List(10)
	if err != nil || len(list) != 1 || !list[0].Archived {
		t.Errorf("the list is %v %v", list, err)
	}
	if err := folder.Archive(s, false); err != nil || find(t, folder, someUUID).Archived {
		t.Errorf("archived is %v, %v", find(t, folder, someUUID).Archived, err)
	}
	// A later prompt ends the mark.
	if err := folder.Archive(s, true); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"type":"user","uuid":"00000000-0000-4000-8000-000000000009","timestamp":"2999-01-01T00:00:00.000Z","message":{"role":"user","content":"later"}}` + "\n")
	}
	if err := errors.Join(err, f.Close()); err != nil || find(t, folder, someUUID).Archived {
		t.Errorf("archived is %v, %v", find(t, folder, someUUID).Archived, err)
	}
}

func TestMessagesAreThoseOfTheConversation(t *testing.T) {
	t.Parallel()
	folder, _ := savedFolder(t, savedLines...)
	equal(t, "messages", prompts(t, folder, find(t, folder, someUUID)), "hello 00000000-0000-4000-8000-000000000001|hi|asked again")
}

func TestForkCopiesUpToAnEntry(t *testing.T) {
	t.Parallel()
	folder, file := savedFolder(t, savedLines...)
	s := find(t, folder, someUUID)
	id, err := folder.Fork(s, "00000000-0000-4000-8000-000000000002", "")
	if err != nil {
		t.Fatal(err)
	}
	copied := find(t, folder, id)
	equal(t, "title", copied.Title, "hello 00000000-0000-4000-8000-000000000001 (fork)")
	equal(t, "messages", prompts(t, folder, copied), "hello 00000000-0000-4000-8000-000000000001|hi")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), id+".jsonl"))
	if err != nil || strings.Contains(string(text), `"uuid":"00000000`) || strings.Contains(string(text), `"parentUuid":"00000000`) ||
		!strings.Contains(string(text), `"forkedFrom":{"messageUuid":"00000000-0000-4000-8000-000000000001","sessionId":"`+someUUID+`"}`) {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := folder.Fork(s, otherUUID, ""); !errors.Is(err, claude.ErrNotSaved) {
		t.Errorf("up to an unknown entry: %v, want ErrNotSaved", err)
	}
	if list, err := folder.List(10); err != nil || len(list) != 2 {
		t.Errorf("a fork that failed left something: %v %v", list, err)
	}
}

func TestDeleteRemovesEverything(t *testing.T) {
	t.Parallel()
	folder, file := savedFolder(t, savedLines...)
	s := find(t, folder, someUUID)
	agent := filepath.Join(strings.TrimSuffix(file, ".jsonl"), "subagents", "agent-a1.jsonl")
	if err := errors.Join(os.MkdirAll(filepath.Dir(agent), 0o700), os.WriteFile(agent, []byte(savedLines[3]+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	agents, err := folder.Subagents(s)
	if err != nil || len(agents) != 1 || agents[0].SessionID != "a1" {
		t.Errorf("subagents: got %v %v", agents, err)
	}
	if err := folder.Delete(s); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	for what, err := range map[string]error{"delete": folder.Delete(s), "rename": folder.Rename(s, "x"), "archive": folder.Archive(s, true)} {
		if !errors.Is(err, claude.ErrNotSaved) {
			t.Errorf("%s afterwards: %v, want ErrNotSaved", what, err)
		}
	}
}
