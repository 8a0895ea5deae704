package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// TestWhatTheServerGivesToClaude holds the environment and the descriptors of what a
// whole server starts, with and without a sandbox, against what they must be.
func TestWhatTheServerGivesToClaude(t *testing.T) {
	t.Parallel()
	sandboxes := []string{"none"}
	if confinable(t) {
		sandboxes = append(sandboxes, "bubblewrap")
	}
	for _, sandbox := range sandboxes {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, claudetest.Script{}).asProcesses()
			h.claude = filepath.Join(filepath.Dir(h.work), "looker")
			must(t, os.WriteFile(h.claude, []byte(`#!/bin/sh
case "$1" in --output-format=*) ;; *) echo 2.1.329; exit;; esac
tr '\0' '\n' < /proc/$$/environ > `+h.work+`/environ
for f in /proc/$$/fd/*; do readlink "$f"; done > `+h.work+`/descriptors.new
mv `+h.work+`/descriptors.new `+h.work+`/descriptors
`), 0o700))
			h.env = append(h.env,
				"LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/evil", "NODE_OPTIONS=--require /evil", "BASH_ENV=/evil", "GIT_SSH_COMMAND=evil", "PYTHONPATH=/evil",
				"AWS_SECRET_ACCESS_KEY=secret", "GOOGLE_APPLICATION_CREDENTIALS=secret", "SAYSO_DATABASE_PASSWORD=secret", "PGPASSWORD=secret", "SSH_AUTH_SOCK=/secret",
				"CLAUDECODE=1", "LC_ALL=C.UTF-8", "HTTPS_PROXY=http://127.0.0.1:9",
			)
			// The loader would complain about it to everything that runs here.
			h.env = slices.DeleteFunc(h.env, func(e string) bool { return strings.HasPrefix(e, "LD_PRELOAD") })
			s := h.start("--sandbox", sandbox)
			s.do("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "x"}, nil)
			var descriptors []byte
			eventually(t, "the CLI has looked", func() bool {
				var err error
				descriptors, err = os.ReadFile(filepath.Join(h.work, "descriptors"))
				return err == nil
			})
			environ, err := os.ReadFile(filepath.Join(h.work, "environ"))
			must(t, err)
			var names []string
			for line := range strings.Lines(string(environ)) {
				name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
				names = append(names, name)
			}
			slices.Sort(names)
			want := []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "CLAUDE_CODE_ENTRYPOINT", "HOME", "HTTPS_PROXY", "LC_ALL", "PATH", "PWD", "SAYSO_SHIM", "TMPDIR"}
			if !slices.Equal(names, want) {
				t.Errorf("variables %q, want %q", names, want)
			}
			// The shell itself holds its script and, in place of its stdout, what it writes.
			open := slices.DeleteFunc(strings.Fields(string(descriptors)), func(to string) bool { return to == h.claude || strings.HasSuffix(to, "/descriptors.new") })
			if len(open) != 3 || slices.ContainsFunc(open, func(to string) bool { return !strings.HasPrefix(to, "pipe:") }) {
				t.Errorf("descriptors %q, want three pipes", open)
			}
		})
	}
}
