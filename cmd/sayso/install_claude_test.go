package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// TestDownloadClaudeVerifiesTheSum downloads a program, and nothing that was changed on the way.
func TestDownloadClaudeVerifiesTheSum(t *testing.T) {
	t.Parallel()
	program := "#!/bin/sh\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(program)))
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write([]byte(program))
		case "/changed":
			_, _ = w.Write([]byte(program + "rm -rf /\n"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer mirror.Close()
	path := filepath.Join(t.TempDir(), "bin", "claude")
	for from, says := range map[string]string{"/changed": "The download may have been tampered with", "/elsewhere": "404 Not Found"} {
		if err := downloadClaude(t.Context(), mirror.URL+from, sum, path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", from, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := downloadClaude(t.Context(), mirror.URL+"/good", sum, path); err != nil || !hasSum(path, sum) {
		t.Errorf("not installed: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}

	// Another program of that name, which somebody installed, stays.
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"install-claude", "--into", filepath.Dir(path), "--from", mirror.URL}, streams{strings.NewReader(""), &out, &said})
	if code != 1 || !strings.Contains(said.String(), "Remove it, or name another folder") || !hasSum(path, sum) {
		t.Errorf("exit code %d: %s", code, said.String())
	}
	for _, platform := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}} {
		if name, sum, err := pinnedClaude(platform[0], platform[1]); err != nil || len(sum) != 64 || !strings.HasPrefix(name, claude.NewestTested+"/") {
			t.Errorf("%v: %s %s, %v. Type: scripts/pin-claude %s", platform, name, sum, err, claude.NewestTested)
		}
	}
}

// TestInstallClaude installs the CLI of the tests from a mirror: it has the sum that was pinned.
func TestInstallClaude(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		t.Skip("run by make test-all")
	}
	t.Parallel()
	name, sum, err := pinnedClaude(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+name {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join("../../.tools/claude-"+claude.NewestTested, "node_modules/@anthropic-ai/claude-code/bin/claude.exe"))
	}))
	address := mirror.URL
	defer mirror.Close()
	folder := filepath.Join(t.TempDir(), "bin")
	for range 2 { // the second time nothing is downloaded
		var out, said bytes.Buffer
		code := run(t.Context(), []string{"install-claude", "--into", folder, "--from", address}, streams{strings.NewReader(""), &out, &said})
		if code != 0 || out.String() != filepath.Join(folder, "claude")+"\n" || !hasSum(filepath.Join(folder, "claude"), sum) {
			t.Fatalf("exit code %d: %s%s", code, out.String(), said.String())
		}
		address = "http://127.0.0.1:1"
	}
}
