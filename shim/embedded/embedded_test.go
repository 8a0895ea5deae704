package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
)

func sumOf(program string) string {
	sum := sha256.Sum256([]byte(program))
	return hex.EncodeToString(sum[:])
}

func TestInstall(t *testing.T) {
	t.Parallel()
	const works = "#!/bin/sh\n[ \"$1\" = version ]\n"
	dir := t.TempDir()
	install := func(program string) (string, error) { return install(dir, program, sumOf(program)) }
	path, err := install(works)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := install(works); err != nil || again != path {
		t.Errorf("again: got %s, %v, want %s", again, err, path)
	}
	if second, err := os.Stat(path); err != nil || !os.SameFile(first, second) {
		t.Errorf("an intact program was written again (%v)", err)
	}
	for name, damage := range map[string]func() error{
		"changed": func() error { return os.WriteFile(path, []byte("#!/bin/sh\nexit\n"), 0o500) },
		"cut off": func() error { return os.Truncate(path, 5) },
		"mode":    func() error { return os.Chmod(path, 0o600) },
		"removed": func() error { return os.Remove(path) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := install(works); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != works {
			t.Errorf("%s: it was not mended: %q, %v", name, text, err)
		}
	}
	for name, program := range map[string]string{
		"not a program": "\x00",
		"it fails":      "#!/bin/sh\nexit 3\n",
	} {
		if got, err := install(program); err == nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
	other, err := install(works + "# newer\n")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || other == path {
		t.Errorf("got %v, want %s alone", entries, other)
	}
}

func TestInstallWithoutProgram(t *testing.T) {
	t.Parallel()
	if len(program) > 0 {
		t.Fatal("tests run without the tag embedshim")
	}
	if path, err := Install(t.TempDir()); path != "" || err != nil {
		t.Errorf("got %q, %v, want nothing", path, err)
	}
}
