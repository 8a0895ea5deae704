package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// unsaved has the transcript that the CLI keeps of a session end before the first
// line that holds the words, as that of a CLI does that was killed before it wrote them.
func (h *harness) unsaved(sessionID, words string) {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(h.work), ".claude", "projects", "*", sessionID+".jsonl"))
	must(h.t, err)
	if len(files) != 1 {
		h.t.Fatalf("%d transcripts, want 1", len(files))
	}
	text, err := os.ReadFile(files[0])
	must(h.t, err)
	if at := bytes.Index(text, []byte(words)); at >= 0 {
		must(h.t, os.Truncate(files[0], int64(bytes.LastIndexByte(text[:at], '\n')+1)))
	}
}

// The CLI writes its transcript a moment after it has said what stands there: killed
// in between, it knows nothing of the message that its turn began with.
func TestRealTurnThatClaudeDidNotSaveGoesOn(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		s := h.start("--resume-on-answer=false")
		id := s.session("```script\n[[{\"text\":\"I am here\"}]]\n```")
		s.says(id, "I am here")
		s.say(id, thenSays("AskUserQuestion", `{"questions":[{"question":"Which?","header":"Which","multiSelect":false,"options":[{"label":"This","description":"a"},{"label":"That","description":"b"}]}]}`, "heard:"))
		q := s.question(id, "claude")
		must(t, syscall.Kill(s.pid(id), syscall.SIGKILL))
		s.reaches(id, "dead")
		h.unsaved(id, "AskUserQuestion")
		s.answer(q.RequestID, map[string]string{"Which?": "That"})
		s.do("POST", "/api/sessions/"+id+"/resume", map[string]any{}, nil)
		s.says(id, "heard: ")
		s.says(id, "That")
	})
}
