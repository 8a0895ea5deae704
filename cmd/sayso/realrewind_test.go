package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// spokenMessages returns the ids of the messages of people in a session.
func (s *server) spokenMessages(sessionID string) (ids []string) {
	s.h.t.Helper()
	var page struct {
		Items []struct {
			Kind string `json:"kind"`
			Key  string `json:"key"`
		} `json:"items"`
	}
	s.do("GET", "/api/sessions/"+sessionID+"/transcript?limit=500", nil, &page)
	for _, it := range page.Items {
		if id, ok := strings.CutPrefix(it.Key, "message:"); ok && it.Kind == "user" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Files are restored to before a message, as they were shown; and a fork ends before it, also when
// its first process ended before it was used.
func TestRealRewindAndFork(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, model := realHarness(t, version)
		s := h.start()
		file := func(name string) string {
			data, err := os.ReadFile(filepath.Join(h.work, name))
			if err != nil {
				return "-"
			}
			return string(data)
		}
		write := func(name, content string) string {
			return `[{"tool":"Write","input":{"file_path":"{{cwd}}/` + name + `","content":"` + content + `"}}],`
		}
		var made struct {
			SessionID string `json:"session_id"`
		}
		s.do("POST", "/api/sessions", map[string]any{
			"cwd": h.work, "permission_mode": "acceptEdits", "prompt": "```script\n[" + write("a", `one\n`) + `[{"text":"said first"}]]` + "\n```",
		}, &made)
		id := made.SessionID
		s.says(id, "said first")
		s.reaches(id, "user_turn")
		s.say(id, "["+`[{"tool":"Read","input":{"file_path":"{{cwd}}/a"}}],`+write("a", `two\n`)+write("b", `new\n`)+`[{"tool":"Bash","input":{"command":"sh -c 'echo > c'"}}],[{"text":"said second"}]]`)
		if version == newer {
			// No files are restored during a turn.
			s.asks(id)
			if got := s.status("GET", "/api/sessions/"+id+"/rewind?message_id="+s.spokenMessages(id)[0], nil, nil); got != 409 {
				t.Errorf("during a turn: %d", got)
			}
		}
		s.allow(s.asks(id))
		s.says(id, "said second")
		s.reaches(id, "user_turn")
		messages := s.spokenMessages(id)
		if len(messages) != 2 || file("a") != "two\n" || file("b") != "new\n" {
			t.Fatalf("messages %q, files %q, %q", messages, file("a"), file("b"))
		}

		type preview struct {
			Files []struct {
				Path    string `json:"path"`
				Missing bool   `json:"missing"`
				Changed bool   `json:"changed"`
			} `json:"files"`
			Insertions, Deletions, Commands int
			Digest                          string
		}
		look := func() (p preview) {
			t.Helper()
			s.do("GET", "/api/sessions/"+id+"/rewind?message_id="+messages[1], nil, &p)
			return p
		}
		before := look()
		if len(before.Files) != 2 || before.Files[0].Path != "a" || before.Files[0].Changed || before.Files[1].Path != "b" || before.Insertions != 1 || before.Deletions != 2 || before.Commands != 1 {
			t.Errorf("the preview: %+v", before)
		}
		later := time.Now().Add(time.Hour)
		must(t, os.WriteFile(filepath.Join(h.work, "a"), []byte("mine\n"), 0o600))
		must(t, os.Chtimes(filepath.Join(h.work, "a"), later, later))
		if got := s.status("POST", "/api/sessions/"+id+"/rewind", map[string]any{"message_id": messages[1], "digest": before.Digest}, nil); got != 409 || file("a") != "mine\n" {
			t.Errorf("as it was before: %d, a is %q", got, file("a"))
		}
		now := look()
		if len(now.Files) != 2 || !now.Files[0].Changed || now.Files[1].Changed {
			t.Errorf("the preview after an edit: %+v", now)
		}
		s.do("POST", "/api/sessions/"+id+"/rewind", map[string]any{"message_id": messages[1], "digest": now.Digest}, nil)
		if file("a") != "one\n" || file("b") != "-" || file("c") == "-" {
			t.Errorf("restored: %q, %q, %q", file("a"), file("b"), file("c"))
		}
		eventually(t, "the transcript says so", func() bool {
			return strings.Contains(strings.Join(s.story(id), "\n"), "note admin restored files to before an earlier message. Files: 2.")
		})
		var audit struct {
			Entries []struct {
				Body struct {
					What      string   `json:"what"`
					Paths     []string `json:"paths"`
					MessageID string   `json:"message_id"`
				} `json:"entry"`
			} `json:"entries"`
		}
		s.do("GET", "/api/audit?limit=200", nil, &audit)
		recorded := 0
		for _, e := range audit.Entries {
			if e.Body.What == "files_restored" && e.Body.MessageID == messages[1] && len(e.Body.Paths) == 2 {
				recorded++
			}
		}
		if recorded != 1 {
			t.Errorf("recorded %d times: %+v", recorded, audit.Entries)
		}

		// Without a process nothing can be restored. A resumed one knows the files, too.
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{}, nil)
		s.reaches(id, "dead")
		if got := s.status("GET", "/api/sessions/"+id+"/rewind?message_id="+messages[0], nil, nil); got != 409 {
			t.Errorf("of a dead session: %d", got)
		}
		s.do("POST", "/api/sessions/"+id+"/resume", map[string]any{}, nil)
		s.reaches(id, "user_turn")
		var first preview
		s.do("GET", "/api/sessions/"+id+"/rewind?message_id="+messages[0], nil, &first)
		if len(first.Files) != 1 || first.Files[0].Path != "a" {
			t.Errorf("after a resume: %+v", first)
		}

		var fork struct {
			SessionID string `json:"session_id"`
		}
		s.do("POST", "/api/sessions/"+id+"/fork", map[string]any{"message_id": messages[1]}, &fork)
		if story := strings.Join(s.story(fork.SessionID), "\n"); !strings.Contains(story, "said first") || strings.Contains(story, "said second") {
			t.Errorf("the fork says %s", story)
		}
		s.reaches(fork.SessionID, "user_turn")
		s.do("POST", "/api/sessions/"+fork.SessionID+"/kill", map[string]any{}, nil)
		s.reaches(fork.SessionID, "dead")
		s.say(fork.SessionID, `[[{"text":"said in the fork"}]]`)
		s.says(fork.SessionID, "said in the fork")
		all := model.Requests()
		body := string(all[len(all)-1].Body)
		if !strings.Contains(body, "said first") || strings.Contains(body, "said second") {
			t.Errorf("the model of the fork was told %s", body)
		}
		// It is a conversation of its own now.
		s.reaches(fork.SessionID, "user_turn")
		s.do("POST", "/api/sessions/"+fork.SessionID+"/kill", map[string]any{}, nil)
		s.reaches(fork.SessionID, "dead")
		s.say(fork.SessionID, `[[{"text":"said again"}]]`)
		s.says(fork.SessionID, "said again")
		all = model.Requests()
		if body := string(all[len(all)-1].Body); !strings.Contains(body, "said in the fork") {
			t.Errorf("the model of the fork was told %s", body)
		}

		// Before the first message there is nothing.
		s.do("POST", "/api/sessions/"+id+"/fork", map[string]any{"message_id": messages[0]}, &fork)
		if story := s.story(fork.SessionID); len(story) != 0 {
			t.Errorf("a fork before the first message says %q", story)
		}
		s.say(fork.SessionID, `[[{"text":"all new"}]]`)
		s.says(fork.SessionID, "all new")
	})
}
