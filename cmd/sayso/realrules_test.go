package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestRealClaudeAsksForWhatAProjectKeeps: whatever allows a call to the real CLI (the
// person's settings and those of the folder, and a grant from before there was a rule),
// it asks for what the project's rules keep, also in a subagent, and for commands that
// only read; a skill runs no command by itself.
func TestRealClaudeAsksForWhatAProjectKeeps(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		home := filepath.Dir(h.work)
		in := func(name string) string { return filepath.Join(h.work, name) }
		trust, err := json.Marshal(map[string]any{"projects": map[string]any{h.work: map[string]any{"hasTrustDialogAccepted": true}}})
		must(t, err)
		must(t, os.WriteFile(filepath.Join(home, ".claude.json"), trust, 0o600))
		const allowed = `{"permissions":{"allow":["Write","Edit","Edit(/**)","Bash","Bash(ls:*)","Read"]},"disableAllHooks":true,"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true}}`
		for _, folder := range []string{home, h.work} {
			must(t, os.MkdirAll(filepath.Join(folder, ".claude", "commands"), 0o700))
			must(t, os.WriteFile(filepath.Join(folder, ".claude", "settings.json"), []byte(allowed), 0o600))
		}
		must(t, os.WriteFile(filepath.Join(home, ".claude", "commands", "inline.md"), []byte("---\nallowed-tools: Bash(touch:*)\n---\nIt says !`touch inline`.\n\n```script\n[[{\"text\":\"inline over\"}]]\n```\n"), 0o600))
		s := h.start()

		turn := 0
		run := func(tool string, input map[string]any) string {
			turn++
			call, err := json.Marshal(map[string]any{"tool": tool, "input": input})
			must(t, err)
			return fmt.Sprintf(`[[%s],[{"text":"turn %d over"}]]`, call, turn)
		}
		over := func(id string) { t.Helper(); s.says(id, fmt.Sprintf("turn %d over", turn)) }
		quietly := func(id, tool string, input map[string]any) {
			t.Helper()
			s.say(id, run(tool, input))
			over(id)
			if open := s.open(id); len(open) > 0 {
				t.Fatalf("asked: %+v", open)
			}
		}
		write := func(name string) map[string]any { return map[string]any{"file_path": in(name), "content": "x"} }
		bash := func(command string) map[string]any { return map[string]any{"command": command} }

		var seen distrust
		if status := s.status("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "x"}, &seen); status != 409 {
			t.Fatalf("a folder that allows something is not asked about: %d", status)
		}
		var made struct {
			SessionID string `json:"session_id"`
		}
		s.do("POST", "/api/sessions", map[string]any{
			"cwd": h.work, "prompt": "```script\n" + run("Write", write("before")) + "\n```", "trust": seen.Error.FolderTrust.Digest,
		}, &made)
		id := made.SessionID
		over(id)
		quietly(id, "Bash", bash("touch before-too"))
		for _, name := range []string{"before", "before-too"} {
			if _, err := os.Stat(in(name)); err != nil {
				t.Fatalf("without a rule nothing is asked for: %v", err)
			}
		}

		// While the process lives.
		var project struct {
			ProjectID string `json:"project_id"`
			Version   int    `json:"version"`
		}
		s.do("POST", "/api/projects", map[string]any{"name": "ops", "folders": []string{h.work}}, &project)
		s.do("PATCH", "/api/projects/"+project.ProjectID, map[string]any{"version": project.Version, "rules": []any{
			map[string]any{"tool": "Write", "pattern": "deploy/**", "effect": "two_people", "people": []any{}},
			map[string]any{"tool": "Bash", "pattern": "ls*", "effect": "two_people", "people": []any{}},
		}}, nil)
		must(t, os.Mkdir(in("deploy"), 0o700))
		must(t, os.Symlink(in("deploy"), in("link")))
		must(t, os.WriteFile(in("deploy/old"), []byte("old"), 0o600))

		// kept fails when the call runs with the approval of one person.
		kept := func(script string) {
			t.Helper()
			s.say(id, script)
			var open []waiting
			within(t, realWaitLimit, "a request", func() bool { open = s.open(id); return len(open) == 1 })
			s.allow(open[0].RequestID)
			var now struct {
				ProcessState struct {
					Requests []struct {
						Approval struct {
							Effect string         `json:"effect"`
							First  map[string]any `json:"first"`
						} `json:"approval"`
					} `json:"pending_requests"`
				} `json:"process_state"`
			}
			s.do("GET", "/api/sessions/"+id, nil, &now)
			if r := now.ProcessState.Requests; len(r) != 1 || r[0].Approval.Effect != "two_people" || r[0].Approval.First == nil {
				t.Fatalf("one person was enough: %+v", now)
			}
			s.do("POST", "/api/pending/"+open[0].RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "deny"}, nil)
			over(id)
		}
		kept(run("Write", write("deploy/new")))
		kept(run("Write", write("link/new")))
		kept(run("Bash", bash("touch x > deploy/new")))
		kept(run("Bash", bash("ls")))
		kept(run("Bash", bash("env  ls deploy")))
		turn++
		kept(fmt.Sprintf(`[[{"tool":"Task","input":{"description":"x","subagent_type":"general-purpose","prompt":"go"},"script":{"replies":[{"blocks":[{"tool":"Write","input":{"file_path":%q,"content":"x"}}]},{"blocks":[{"text":"it was denied"}]}]}}],[{"text":"turn %d over"}]]`, in("deploy/new"), turn))
		if _, err := os.Stat(in("deploy/new")); err == nil {
			t.Error("the file was written")
		}
		// A command that means other files than people would see goes back to Claude.
		quietly(id, "Bash", bash("cd deploy"))
		quietly(id, "Bash", bash("touch x > new"))
		quietly(id, "Bash", bash("cd .."))
		if _, err := os.Stat(in("deploy/new")); err == nil {
			t.Error("the file was written from inside of the folder")
		}
		// What no rule is about is as it was.
		quietly(id, "Write", write("after"))
		quietly(id, "Bash", bash("touch after-too"))

		// The model is not asked where the CLI refuses the command of its own.
		s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "/inline"}, nil)
		quietly(id, "Bash", bash("touch last"))
		if _, err := os.Stat(in("inline")); err == nil {
			t.Error("a skill ran a command that nobody was asked about")
		}

		var refused struct {
			Error struct{ Code, Message string }
		}
		for _, body := range []map[string]any{{"permission_mode": "acceptEdits"}, {"allowed_tools": []string{"Edit(/**)"}}} {
			body["cwd"], body["prompt"], body["trust"] = h.work, "x", seen.Error.FolderTrust.Digest
			const want = "A rule of ops restricts who can approve this (Write deploy/**). Choose a permission mode that asks, and allow nothing in advance."
			if status := s.status("POST", "/api/sessions", body, &refused); status != 403 || refused.Error.Code != "forbidden" || refused.Error.Message != want {
				t.Errorf("%v: got %d %+v", body, status, refused)
			}
		}
		s.stop()
	})
}
