package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// TestInstallClaudeVerifiesTheSum installs the CLI of the tests from a mirror, and nothing that was
// changed on the way.
func TestInstallClaudeVerifiesTheSum(t *testing.T) {
	t.Parallel()
	name, sum, err := pinnedClaude(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	cli := os.Getenv("SAYSO_TEST_CLAUDE_NEW") // of the tests, in the folder of what runs it
	if cli == "" {
		cli = "../../.tools/claude-" + claude.NewestTested + "/claude-for-tests"
	}
	program := filepath.Join(filepath.Dir(cli), "node_modules/@anthropic-ai/claude-code-"+runtime.GOOS+"-"+arch, "claude")
	if !hasSum(program, sum) {
		t.Fatalf("%s does not have the sum in claude.sha256. Type: make setup, scripts/pin-claude", program)
	}
	changed := false
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/mirror/"+name:
			http.NotFound(w, r)
		case changed:
			_, _ = w.Write([]byte("#!/bin/sh\n"))
		default:
			http.ServeFile(w, r, program)
		}
	}))
	defer mirror.Close()
	install := func(folder, from string) (stdout, stderr string, code int) {
		var out, err bytes.Buffer
		code = run(t.Context(), []string{"install-claude", "--into", folder, "--from", mirror.URL + from}, streams{strings.NewReader(""), &out, &err})
		return out.String(), err.String(), code
	}
	folder := filepath.Join(t.TempDir(), "bin")
	for range 2 { // the second finds it there
		out, said, code := install(folder, "/mirror/")
		if code != 0 || out != filepath.Join(folder, "claude")+"\n" || !hasSum(filepath.Join(folder, "claude"), sum) {
			t.Fatalf("exit code %d: %s%s", code, out, said)
		}
		changed = true
	}
	if info, err := os.Stat(filepath.Join(folder, "claude")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}

	other := filepath.Join(t.TempDir(), "bin")
	for from, says := range map[string]string{"/mirror": "Somebody on the way may have changed it", "/elsewhere": "404 Not Found"} {
		if _, said, code := install(other, from); code != 1 || !strings.Contains(said, "Claude Code was not installed") || !strings.Contains(said, says) {
			t.Errorf("%s: exit code %d: %s", from, code, said)
		}
	}
	if left, _ := os.ReadDir(other); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	own := filepath.Join(other, "claude")
	if err := os.WriteFile(own, []byte("mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, said, code := install(other, "/mirror"); code != 1 || !strings.Contains(said, "Remove it, or name another folder") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if text, _ := os.ReadFile(own); string(text) != "mine" {
		t.Errorf("it is now %q", text)
	}
}
