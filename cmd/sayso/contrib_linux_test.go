package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// systemd itself finds nothing to say about the units.
func TestSystemdUnitsAreValid(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal("systemd-analyze is missing. Type: make setup")
	}
	sayso, err := program()
	must(t, err)
	dir := t.TempDir()
	for unit, args := range map[string][]string{
		"sayso.service":       {"--user", "verify", "--man=no", filepath.Join(dir, "sayso.service")},
		"sayso-apart.service": {"verify", "--man=no", filepath.Join(dir, "sayso-apart.service")},
		"sayso@ada.service":   {"verify", "--man=no", filepath.Join(dir, "sayso@ada.service")},
	} {
		name := unit
		if unit == "sayso@ada.service" {
			name = "sayso@.service"
		}
		text, err := os.ReadFile(filepath.Join("../../contrib/systemd", name))
		must(t, err)
		text = bytes.ReplaceAll(text, []byte("/usr/local/bin/sayso "), []byte(sayso+" ")) // it must be there
		must(t, os.WriteFile(filepath.Join(dir, unit), text, 0o600))
		verify := exec.Command(analyze, args...)
		verify.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir}
		if out, err := verify.CombinedOutput(); err != nil || bytes.Contains(out, []byte(unit)) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}
