package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// maxShimMemory bounds what one shim has written to its memory, which it shares with no other,
// in bytes. That of `sayso shim` is over 4 MB.
const maxShimMemory = 2 << 20

// buildWithShim builds sayso with its shim inside, as `make build` does.
func buildWithShim(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	small := filepath.Join(dir, "sayso-shim")
	make := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", small, "../sayso-shim")
	make.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("build sayso-shim: %v: %s", err, out)
	}
	text, err := os.ReadFile(small)
	must(t, err)
	sum := sha256.Sum256(text)
	must(t, os.WriteFile(small+".sha256", []byte(hex.EncodeToString(sum[:])+"\n"), 0o600))
	root, err := filepath.Abs("../..")
	must(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "shim/embedded/sayso-shim"):        small,
		filepath.Join(root, "shim/embedded/sayso-shim.sha256"): small + ".sha256",
	}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	path, err := build("with-shim", "-tags", "embedshim", "-overlay", filepath.Join(dir, "overlay.json"))
	must(t, err)
	return path
}

// writtenMemory returns what a process has written to its memory, in bytes.
func writtenMemory(t *testing.T, pid int) (bytes int) {
	t.Helper()
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	must(t, err)
	for line := range strings.Lines(string(rollup)) {
		if fields := strings.Fields(line); fields[0] == "Anonymous:" {
			kilobytes, err := strconv.Atoi(fields[1])
			must(t, err)
			bytes += kilobytes << 10
		}
	}
	return bytes
}

// TestEmbeddedShim: a server runs its shims from a small program of their own. It needs no
// other file for that than the one it was started from, nor that one after its start, and
// goes on with itself as the shim where that program cannot be executed.
func TestEmbeddedShim(t *testing.T) {
	nightly(t)
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Ready."}}}).asProcesses()
	h.program = filepath.Join(filepath.Dir(h.work), "sayso")
	// Written by another process: one that this process starts meanwhile would have the file
	// open for writing for a moment too, and then it cannot be executed.
	if out, err := exec.Command("cp", buildWithShim(t), h.program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := h.start()
	shimOf := func(title string) (pid int, program string) {
		id := s.session(title)
		s.reaches(id, "user_turn")
		pid = h.bundleOf(id).Meta.PID
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		must(t, err)
		return pid, program
	}
	small := filepath.Join(h.state, "program", "sayso-shim-")
	pid, program := shimOf("as built")
	if !strings.HasPrefix(program, small) {
		t.Errorf("the shim runs %s, want %s…", program, small)
	}
	if got := writtenMemory(t, pid); got > maxShimMemory {
		t.Errorf("the shim has written %d kB of memory, and %d is the limit", got>>10, maxShimMemory>>10)
	}

	must(t, os.Rename(h.program, h.program+".away"))
	if _, program := shimOf("sayso was removed"); !strings.HasPrefix(program, small) {
		t.Errorf("without sayso the shim runs %s, want %s…", program, small)
	}
	must(t, os.Rename(h.program+".away", h.program))

	must(t, os.Remove(program))
	if _, program := shimOf("the shim was removed"); program != h.program {
		t.Errorf("without its program the shim runs %s, want %s", program, h.program)
	}

	s.stop()
	must(t, os.WriteFile(program, []byte("\x7fELF"), 0o500)) // a power cut
	stale := small + "of-an-older-build"
	must(t, os.WriteFile(stale, nil, 0o500))
	s = h.start()
	if _, again := shimOf("after a restart"); again != program {
		t.Errorf("after a restart the shim runs %s, want %s", again, program)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the program of another build is still there: %v", err)
	}
}
