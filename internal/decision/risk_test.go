package decision_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
)

func TestLevelsRememberedAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]pending.Request, 3*decision.MaxLevels)
	for i := range many {
		many[i] = pending.Request{RequestID: fmt.Sprint(i), RequestType: pending.ToolApproval}
	}
	if n := decision.LevelsRemembered(many, "/work"); n > decision.MaxLevels || n == 0 {
		t.Errorf("%d are remembered", n)
	}
	// A tab that connects is told all that are open.
	if n := decision.LevelsRemembered(many[:10_000], "/work"); n != 10_000 {
		t.Errorf("%d levels of 10,000 open requests are remembered", n)
	}
}

// TestLevelFollowsLinks: a file of the folder that leads elsewhere, to a secret or to
// the server's own state is not of low risk to read, by whatever tool.
func TestLevelFollowsLinks(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd := root + "/one"
	for _, file := range []string{cwd + "/a.go", cwd + "/sub/b.go", cwd + "/.env", cwd + "/state/sayso.db", root + "/two/c.go"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out.go": "../two/c.go", "secret.go": ".env", "two": "../two", "in.go": "a.go", "inside": "sub", "db.go": "state/sayso.db", "nowhere.go": "/nowhere/x"} {
		if err := os.Symlink(to, filepath.Join(cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	for level, calls := range map[review.Level][][2]string{
		review.Low: {{"Bash", "cat a.go in.go inside/b.go sub/*.go missing.go"}, {"Bash", "ls"}, {"Bash", "cd inside && cat b.go"}, {"Read", "in.go"}, {"Read", "inside/b.go"}, {"LS", "sub"}, {"Bash", "diff a.go in.go"}},
		review.Medium: {{"Bash", "cat out.go"}, {"Bash", "cat secret.go"}, {"Bash", "cat two/c.go"}, {"Bash", "cat *.go"}, {"Bash", "cat o*.go"}, {"Bash", "cat db.go"}, {"Bash", "cat nowhere.go"}, {"Bash", "cd two && cat c.go"}, {"Bash", "cat state/sayso.db"}, {"Bash", "grep -rn TODO ."}, {"Bash", "find two"}, {"Bash", "for f in out.go; do cat $f; done"}, {"Bash", "cat < out.go"}, {"Bash", "diff sub state"},
			{"Read", "out.go"}, {"Read", "secret.go"}, {"Read", "two/c.go"}, {"Read", "db.go"}, {"Read", cwd + "/state/sayso.db"}, {"LS", "two"}, {"LS", "state"}},
	} {
		for _, c := range calls {
			field := map[string]string{"Bash": "command", "Read": "file_path", "LS": "path"}[c[0]]
			input, _ := json.Marshal(map[string]string{field: c[1]}) // of strings alone
			r := pending.Request{RequestID: c[1], RequestType: pending.ToolApproval, Source: pending.SourceClaude, ToolName: c[0], ToolInput: input}
			if got := decision.RatedLevel(r, cwd, cwd+"/state"); got != level {
				t.Errorf("%s %s: %s, want %s", c[0], c[1], got, level)
			}
		}
	}
}
