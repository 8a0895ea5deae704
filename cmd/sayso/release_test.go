package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReleaseCanBeVerified: attack 86. What scripts/release makes says what it is
// made of, and a changed file, a changed list of sums and another key are found.
func TestReleaseCanBeVerified(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		t.Skip("run by make test-all")
	}
	t.Parallel()
	dir, keys := t.TempDir(), t.TempDir()
	run := func(in, dir string, command ...string) (string, error) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		cmd.Env = append(os.Environ(), "SAYSO_RELEASE_KEY="+filepath.Join(keys, "key"))
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	must := func(said string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return said
	}
	program := filepath.Join(dir, "sayso-v0.0.0-test")
	must(run("", ".", "go", "build", "-o", program, "."))
	must(run("", keys, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"))
	must(run("", ".", "../../scripts/release", "--seal", dir))

	public, err := os.ReadFile(filepath.Join(keys, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(keys, "signers")
	if err := os.WriteFile(signers, append([]byte("sayso "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	verify := func(sums string) error {
		_, err := run(sums, dir, "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "sayso", "-n", "sayso-release", "-s", "SHA256SUMS.sig")
		return err
	}
	if err := verify(string(sums)); err != nil {
		t.Errorf("the signature is refused: %v", err)
	}
	if err := verify(strings.Replace(string(sums), "a", "b", 1)); err == nil {
		t.Error("changed sums pass for signed ones")
	}
	must(run("", dir, "sha256sum", "--check", "--strict", "SHA256SUMS"))
	page, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?ms)^```sh\n(ssh-keygen .*?)^```").FindStringSubmatch(string(page))
	if commands == nil {
		t.Fatal("SECURITY.md does not say how to verify a release")
	}
	verified := t.TempDir() // as somebody who has downloaded it, and made the file of the page
	for to, from := range map[string]string{"signers": signers, "SHA256SUMS": filepath.Join(dir, "SHA256SUMS"), "SHA256SUMS.sig": filepath.Join(dir, "SHA256SUMS.sig"), filepath.Base(program): program} {
		must(run("", ".", "cp", from, filepath.Join(verified, to)))
	}
	must(run("", verified, "sh", "-ec", commands[1]))

	var list struct{ Components []struct{ Purl string } }
	text, err := os.ReadFile(filepath.Join(dir, "sayso.cdx.json"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"pkg:golang/github.com/coder/websocket@", "pkg:golang/std@", "pkg:npm/marked@", "pkg:npm/dompurify@"} {
		if !slices.ContainsFunc(list.Components, func(c struct{ Purl string }) bool { return strings.HasPrefix(c.Purl, part) }) {
			t.Errorf("the list of parts has no %s", part)
		}
	}

	file, err := os.OpenFile(program, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := run("", dir, "sha256sum", "--check", "--strict", "SHA256SUMS"); err == nil {
		t.Errorf("a changed program passes: %s", said)
	}
	_ = os.Remove(filepath.Join(keys, "key"))
	if said, err := run("", ".", "../../scripts/release", "--seal", dir); err == nil {
		t.Errorf("it was sealed without a key: %s", said)
	}
}

// TestReleaseChecksItsKeyFirst gives a file that is no key. The tree of the tests has changes
// or none; in both cases the key comes first.
func TestReleaseChecksItsKeyFirst(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../scripts/release", t.TempDir())
	cmd.Env = append(os.Environ(), "SAYSO_RELEASE_KEY="+key)
	if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "cannot sign") || strings.Contains(string(said), "There are changes") {
		t.Errorf("%v: %s", err, said)
	}
}
