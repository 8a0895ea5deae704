package sayso_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// TestTheCLIIsPinned checks that each installed version of the CLI has a hash for every
// system, and that no address is stored with the hashes.
func TestTheCLIIsPinned(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("scripts/versions")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"CLAUDE_OLD": claude.OldestTested, "CLAUDE_NEW": claude.NewestTested} {
		if !strings.Contains(string(text), "\n"+name+"="+want+"\n") {
			t.Errorf("claude/tested.go has %s for %s, and scripts/versions another", want, name)
		}
	}
	versions := regexp.MustCompile(`(?m)^CLAUDE_\w+=(.+)$`).FindAllStringSubmatch(string(text), -1)
	if len(versions) < 2 {
		t.Fatalf("versions: %q", versions)
	}
	for _, v := range versions {
		data, err := os.ReadFile(filepath.Join("scripts/claude", v[1], "package-lock.json"))
		if err != nil {
			t.Errorf("%v; scripts/pin-claude %s", err, v[1])
			continue
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity, Resolved string }
		}
		if err := json.Unmarshal(data, &lock); err != nil {
			t.Fatal(err)
		}
		for _, system := range []string{"", "-linux-x64", "-linux-arm64", "-linux-x64-musl", "-linux-arm64-musl", "-darwin-x64", "-darwin-arm64"} {
			name := "node_modules/@anthropic-ai/claude-code" + system
			p := lock.Packages[name]
			hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Integrity, "sha512-"))
			if p.Version != v[1] || err != nil || len(hash) != 64 {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if strings.Contains(string(data), "://") {
			for line := range strings.Lines(string(data)) {
				if strings.Contains(line, "://") && !strings.Contains(line, "funding") {
					t.Errorf("an address: %s", line)
				}
			}
		}
	}
}

// TestAnotherCLIIsNotInstalled checks that nothing is installed if npm finds another
// hash, in a required or an optional package, if it fails, or if a version has no hashes.
func TestAnotherCLIIsNotInstalled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ npm, says string }{
		"another hash":          {"echo 'npm error code EINTEGRITY' >&2; exit 1", "is not what its hashes"},
		"an optional left out":  {`mkdir -p "$3/node_modules/@anthropic-ai/claude-code/bin"`, "is not what its hashes"},
		"no network":            {"exit 1", "is the network there?"},
		"a version without one": {"exit 0", "scripts/pin-claude 9.9.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			version := "1.2.3"
			if strings.Contains(c.says, "9.9.9") {
				version = "9.9.9"
			}
			script, err := os.ReadFile("scripts/install-claude")
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{
				"scripts/install-claude": string(script), "scripts/claude/1.2.3/package-lock.json": "{}", "scripts/claude/1.2.3/package.json": "{}", "bin/npm": "#!/bin/sh\n" + c.npm + "\n",
			} {
				at := filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(dir, "scripts/install-claude"), version)
			cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.says) {
				t.Errorf("%v: %s", err, out)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".tools", "claude-"+version)); len(left) > 0 {
				t.Errorf("it was installed: %v", left)
			}
		})
	}
}
