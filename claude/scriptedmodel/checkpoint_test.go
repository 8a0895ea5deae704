package scriptedmodel_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// TestCLIKeepsCheckpoints pins where the CLI keeps the previous content of the files that it edits: with the
// message before which it was, also of what a command changed since Claude's last edit.
func TestCLIKeepsCheckpoints(t *testing.T) {
	onVersions(t, func(t *testing.T, v version) {
		_, url := serve(t, scriptedmodel.Options{})
		id := uuid.NewString()
		s := start(t, v, url, launch{id: id, mode: "acceptEdits", env: []string{claude.FileCheckpoints + "=true"}})
		s.control("initialize", nil)
		say := func(script string) (messageID string) {
			messageID = uuid.NewString()
			s.send(map[string]any{"type": "user", "uuid": messageID, "session_id": "", "parent_tool_use_id": nil,
				"message": map[string]string{"role": "user", "content": fenced(script)}})
			s.until(isResult, nil)
			return messageID
		}
		write := func(file, text string) string {
			return `[{"tool":"Write","input":{"file_path":"{{cwd}}/` + file + `","content":"` + text + `"}}]`
		}
		path := func(name string) string { return filepath.Join(s.cwd, name) }
		first := say(`[` + write("a", "one") + `,[{"text":"x"}]]`)
		if err := os.WriteFile(path("a"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		second := say(`[[{"tool":"Read","input":{"file_path":"{{cwd}}/a"}}],` + write("a", "two") + `,` + write("b", "new") + `,[{"text":"x"}]]`)
		third := say(`[[{"text":"x"}]]`)
		_ = s.stdin.Close()
		s.exitCode()

		folder := claude.NewSavedFolder(filepath.Join(s.home, ".claude"))
		saved, err := folder.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		content := func(messageID, name string) string {
			t.Helper()
			c, err := folder.Checkpoint(saved, messageID)
			if err != nil {
				t.Fatal(err)
			}
			backup, known := c.Files[path(name)]
			if !known {
				backup, known = c.Files[name]
			}
			switch {
			case !known:
				return "unknown"
			case backup == "":
				return "missing"
			}
			data, err := os.ReadFile(filepath.Join(c.Folder, backup))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		for _, c := range []struct{ message, file, want string }{
			{first, "a", "missing"}, {first, "b", "unknown"}, {second, "a", "mine"}, {second, "b", "missing"}, {third, "a", "two"}, {third, "b", "new"},
		} {
			if got := content(c.message, c.file); got != c.want {
				t.Errorf("%s before %s: %q, not %q", c.file, c.message, got, c.want)
			}
		}
		if _, err := folder.Checkpoint(saved, uuid.NewString()); !errors.Is(err, claude.ErrNotSaved) {
			t.Errorf("an unknown message: %v", err)
		}
	})
}
