package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// granted is what a test needs of GET /api/grants.
type granted struct {
	Grants []struct {
		GrantID   string `json:"grant_id"`
		Rule      string `json:"rule"`
		Scope     string `json:"scope"`
		RequestID string `json:"request_id"`
		Uses      int    `json:"uses"`
		State     string `json:"state"`
	} `json:"grants"`
	Found []struct {
		Kind   string `json:"kind"`
		Rule   string `json:"rule"`
		Scope  string `json:"scope"`
		Folder string `json:"folder"`
		File   string `json:"file"`
	} `json:"found"`
}

func (s *server) grants(query string) (g granted) {
	s.h.t.Helper()
	s.do("GET", "/api/grants"+query, nil, &g)
	return g
}

// always approves a request of Claude and grants the rules that it suggests.
func (s *server) always(sessionID, scope string) (requestID string) {
	s.h.t.Helper()
	var found struct {
		ProcessState struct {
			Requests []struct {
				RequestID   string           `json:"request_id"`
				Suggestions []map[string]any `json:"permission_suggestions"`
			} `json:"pending_requests"`
		} `json:"process_state"`
	}
	within(s.h.t, realWaitLimit, "a request", func() bool {
		s.do("GET", "/api/sessions/"+sessionID, nil, &found)
		return len(found.ProcessState.Requests) == 1
	})
	r := found.ProcessState.Requests[0]
	var rules []any
	for _, suggestion := range r.Suggestions {
		if suggestion["type"] == "addRules" {
			suggestion["destination"] = scope
			rules = append(rules, suggestion)
		}
	}
	if len(rules) == 0 {
		s.h.t.Fatalf("nothing is suggested: %+v", r)
	}
	s.do("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow", "updated_permissions": rules}, nil)
	return r.RequestID
}

// Not only what the store says: the CLI that runs goes by it, then asks again.
func TestRealClaudeAsksAgainForWhatWasTakenBack(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		// 2.1.197 goes by the rules of a folder only when somebody has trusted it.
		home := filepath.Dir(h.work)
		trust, err := json.Marshal(map[string]any{"projects": map[string]any{h.work: map[string]any{"hasTrustDialogAccepted": true}}})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(home, ".claude.json"), trust, 0o600))
		settings := filepath.Join(h.work, ".claude", "settings.local.json")
		const before = "{\n\t\"permissions\": { \"deny\":[\"Bash(reboot)\"],\n\t\t\"allow\": [\"Bash(uptime)\"] }\n}\n"
		must(t, os.Mkdir(filepath.Dir(settings), 0o700))
		must(t, os.WriteFile(settings, []byte(before), 0o600))
		s := h.start()

		turn := 0
		run := func(command string) string { // a turn that runs a command
			turn++
			return fmt.Sprintf(`[[{"tool":"Bash","input":{"command":%q}}],[{"text":"turn %d over"}]]`, command, turn)
		}
		over := func(id string) { s.says(id, fmt.Sprintf("turn %d over", turn)) }
		// quietly fails when the command is asked for.
		quietly := func(id, command string) {
			t.Helper()
			s.say(id, run(command))
			over(id)
			if open := s.open(id); len(open) > 0 {
				t.Fatalf("asked: %+v", open)
			}
		}

		// The rule that is there is one that somebody has to trust.
		var seen distrust
		if status := s.status("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "x"}, &seen); status != 409 {
			t.Fatalf("a folder that allows something is not asked about: %d", status)
		}
		id := s.trusting(seen.Error.FolderTrust.Digest, "```script\n"+run("touch s1")+"\n```")
		asked := s.always(id, "session")
		over(id)
		quietly(id, "touch s1")
		var g granted
		within(t, realWaitLimit, "the use of the rule is counted", func() bool {
			g = s.grants("?request_id=" + asked)
			return len(g.Grants) == 1 && g.Grants[0].Uses == 1
		})
		if g.Grants[0].Rule != "Bash(touch s1 *)" || g.Grants[0].Scope != "session" || g.Grants[0].State != "in_force" {
			t.Errorf("got %+v", g.Grants[0])
		}

		var done struct {
			Revoked, Asking int
			Files, Until    []string
		}
		s.do("POST", "/api/grants/revoke", map[string]any{"request_id": asked}, &done)
		if done.Revoked != 1 || done.Asking != 1 || len(done.Files) > 0 {
			t.Errorf("got %+v", done)
		}
		s.say(id, run("touch s1"))
		s.allow(s.asks(id)) // for this once, and with it the CLI forgets the rule
		over(id)
		s.say(id, run("touch s1"))
		again := s.always(id, "session") // granted again, it holds again
		over(id)
		quietly(id, "touch s1")

		// In a file: it goes, the rest stays, and the process that runs knows it too.
		s.say(id, run("touch l1"))
		asked = s.always(id, "localSettings")
		over(id)
		quietly(id, "touch l1")
		with, err := os.ReadFile(settings)
		must(t, err)
		g = s.grants("?request_id=" + asked)
		if len(g.Grants) != 1 || g.Grants[0].State != "in_force" {
			t.Fatalf("got %+v in\n%s", g, with)
		}
		s.do("POST", "/api/grants/revoke", map[string]any{"grant_id": g.Grants[0].GrantID}, &done)
		after, err := os.ReadFile(settings)
		must(t, err)
		if done.Revoked != 1 || done.Asking != 1 || len(done.Files) != 1 || len(after) >= len(with) {
			t.Errorf("got %+v, and the file became\n%s\nfrom\n%s", done, after, with)
		}
		s.say(id, run("touch l1"))
		s.allow(s.asks(id))
		over(id)

		// What was there before us is listed, and can be taken back as well.
		g = s.grants("")
		if len(g.Found) != 1 || g.Found[0].Rule != "Bash(uptime)" || g.Found[0].File != settings {
			t.Fatalf("found %+v", g.Found)
		}
		s.do("POST", "/api/grants/revoke", map[string]any{"found": g.Found[0]}, &done)
		if g = s.grants(""); len(g.Found) != 0 || done.Revoked != 1 {
			t.Errorf("found %+v after %+v", g.Found, done)
		}
		for _, state := range s.grants("?request_id=" + again).Grants {
			if state.State != "in_force" {
				t.Errorf("another grant is %s", state.State)
			}
		}
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{}, nil)
		within(t, realWaitLimit, "the grant of the session ends with its process", func() bool {
			list := s.grants("?request_id=" + again).Grants
			return len(list) == 1 && list[0].State == "ended"
		})
		s.stop()
	})
}
