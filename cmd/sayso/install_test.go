package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// install runs contrib/install.sh with the releases that a server offers.
func install(t *testing.T, address, prefix string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "../../contrib/install.sh")
	cmd.Env = append(os.Environ(), "SAYSO_RELEASE="+address, "SAYSO_PREFIX="+prefix)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestInstallVerifiesTheSum installs an archive, and not one that was changed.
func TestInstallVerifiesTheSum(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("sayso-v9.9.9-%s-%s", runtime.GOOS, runtime.GOARCH)
	archive := func(program string) []byte {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		w := tar.NewWriter(zipped)
		for file, text := range map[string]string{
			"sayso": program, "man/sayso.1": "man", "completion/sayso.bash": "bash", "completion/_sayso": "zsh", "completion/sayso.fish": "fish",
		} {
			must(t, w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o755, Size: int64(len(text))}))
			_, err := w.Write([]byte(text))
			must(t, err)
		}
		must(t, w.Close())
		must(t, zipped.Close())
		return b.Bytes()
	}
	good := archive("#!/bin/sh\necho v9.9.9\n")
	files := map[string][]byte{"/" + name + ".tar.gz": good, "/SHA256SUMS": fmt.Appendf(nil, "%x  %s.tar.gz\n", sha256.Sum256(good), name)}
	var mu sync.Mutex // protects files
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		text, ok := files[r.URL.Path]
		mu.Unlock()
		if ok {
			_, _ = w.Write(text)
			return
		}
		http.NotFound(w, r)
	}))
	defer releases.Close()

	prefix := t.TempDir()
	said, err := install(t, releases.URL, prefix)
	if err != nil || !strings.Contains(said, "v9.9.9 is in "+prefix+"/bin") {
		t.Fatalf("%v: %s", err, said)
	}
	for file, mode := range map[string]os.FileMode{
		"bin/sayso": 0o755, "share/man/man1/sayso.1": 0o644, "share/bash-completion/completions/sayso": 0o644,
		"share/zsh/site-functions/_sayso": 0o644, "share/fish/vendor_completions.d/sayso.fish": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(prefix, file)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}

	changed := archive("#!/bin/sh\necho changed\n")
	mu.Lock()
	files["/"+name+".tar.gz"] = changed
	mu.Unlock()
	said, err = install(t, releases.URL, prefix)
	if err == nil || !strings.Contains(said, "is wrong. Nothing was installed.") {
		t.Errorf("a changed archive: %v: %s", err, said)
	}
	if text, err := os.ReadFile(filepath.Join(prefix, "bin/sayso")); err != nil || !strings.Contains(string(text), "v9.9.9") {
		t.Errorf("the program is now %q, %v", text, err)
	}
	mu.Lock()
	delete(files, "/SHA256SUMS")
	mu.Unlock()
	if said, err = install(t, releases.URL, prefix); err == nil || !strings.Contains(said, "cannot be reached") {
		t.Errorf("no release: %v: %s", err, said)
	}
}

// combined runs a command and returns what it printed, or ends the test.
func combined(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, out)
	}
	return string(out)
}

// releaseOf builds a release for this machine from a clone of the last commit, to which change may do
// something, and returns its folder.
func releaseOf(t *testing.T, change func(clone string), env ...string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	clone := filepath.Join(t.TempDir(), "clone")
	combined(t, exec.Command("git", "clone", "-q", "--no-local", root, clone))
	combined(t, exec.Command("cp", "-R", filepath.Join(root, "frontend/dist"), filepath.Join(clone, "frontend")))
	if change != nil {
		change(clone)
		commit := exec.Command("git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "--all", "--message", "next")
		commit.Dir = clone
		combined(t, commit)
	}
	cmd := exec.Command("scripts/release")
	cmd.Dir = clone
	cmd.Env = append(append(os.Environ(), "UNSIGNED=1", "PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH), env...)
	combined(t, cmd)
	return filepath.Join(clone, "bin/release")
}

// oneFile returns the only file that a pattern matches.
func oneFile(t *testing.T, pattern ...string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s: %v", filepath.Join(pattern...), found)
	}
	return found[0]
}

// firstMinute bounds how long `make run` in an unpacked release takes until the server has its address. It
// takes less than a second on an idle machine.
const firstMinute = 10 * time.Second

// TestReleaseIsReproducible builds a release of the last commit in two folders, installs from it, and
// runs its archive without a compiler. `make test-all` builds the web app before.
func TestReleaseIsReproducible(t *testing.T) {
	forRelease(t)
	t.Parallel()
	dir := releaseOf(t, nil)
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	must(t, err)
	// The list of Debian packages in the image is part of the release, and decides what is in the next one.
	var env []string
	if packages, _ := filepath.Glob(filepath.Join(dir, "*-image-packages.txt")); len(packages) > 0 {
		env = []string{"PACKAGES=" + packages[0]}
	}
	again, err := os.ReadFile(filepath.Join(releaseOf(t, nil, env...), "SHA256SUMS"))
	must(t, err)
	if string(again) != string(sums) {
		t.Errorf("the same commit built twice:\n%s\n%s", sums, again)
	}

	releases := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer releases.Close()
	prefix := t.TempDir()
	if said, err := install(t, releases.URL, prefix); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if page, err := os.ReadFile(filepath.Join(prefix, "share/man/man1/sayso.1")); err != nil || !bytes.HasPrefix(page, []byte(".TH")) {
		t.Errorf("man page %.40q, %v", page, err)
	}
	unpacked := t.TempDir()
	combined(t, exec.Command("tar", "-xzf", oneFile(t, dir, "*.tar.gz"), "-C", unpacked, "--strip-components=1"))

	// make and a shell are all that it finds.
	tools := t.TempDir()
	for _, tool := range []string{"make", "sh", "git"} {
		path, err := exec.LookPath(tool)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(tools, tool)))
	}
	targets := map[string]bool{}
	for _, page := range []string{"README.md", "docs/getting-started.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		must(t, err)
		for _, found := range regexp.MustCompile(`(?m)^make (\w+)`).FindAllStringSubmatch(string(text), -1) {
			targets[found[1]] = true
		}
	}
	if len(targets) != 2 {
		t.Errorf("the first pages name the targets %v, want run and demo", targets)
	}
	for target := range targets {
		h := newHarness(t, claudetest.Script{})
		cmd := exec.Command(filepath.Join(tools, "make"), target)
		cmd.Dir = unpacked
		cmd.Env = []string{"PATH=" + tools, "HOME=" + t.TempDir(), "SAYSO_LISTEN=127.0.0.1:0", "SAYSO_STATE_DIR=" + h.state, "SAYSO_CLAUDE=" + h.claude, "SAYSO_BOOTSTRAP_TOKEN=" + blackbox.Token}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // make has a child
		out := &words{}
		cmd.Stdout, cmd.Stderr = out, out
		began := time.Now()
		must(t, cmd.Start())
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("make %s said:\n%s", target, out)
			}
		})
		eventually(t, "make "+target+" starts the server", func() bool { return running.MatchString(out.String()) })
		took := time.Since(began)
		t.Logf("make %s took %s to the address", target, took)
		if took > firstMinute {
			t.Errorf("make %s took %s, more than %s", target, took, firstMinute)
		}
	}

	if runtime.GOOS != "linux" {
		return
	}
	deb := oneFile(t, dir, "*.deb")
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		return // not Debian
	}
	contents := combined(t, exec.Command("dpkg-deb", "--contents", deb))
	if strings.Contains(contents, "drw-") {
		t.Errorf("a folder that nobody can enter:\n%s", contents)
	}
	for _, file := range []string{
		"./usr/bin/sayso", "./usr/lib/systemd/system/sayso-apart.service", "./usr/lib/systemd/system/sayso@.service", "./usr/lib/systemd/user/sayso.service",
		"./usr/share/man/man1/sayso.1.gz", "./usr/share/man/man1/sayso-mcp-register.1.gz", "./usr/share/bash-completion/completions/sayso",
	} {
		if !strings.Contains(contents, " "+file+"\n") {
			t.Errorf("the package has no %s:\n%s", file, contents)
		}
	}
	unit := combined(t, exec.Command("sh", "-c", "dpkg-deb --fsys-tarfile \"$0\" | tar -xO ./usr/lib/systemd/system/sayso-apart.service", deb))
	if !strings.Contains(unit, "ExecStart=/usr/bin/sayso serve") {
		t.Errorf("the unit:\n%s", unit)
	}
}
