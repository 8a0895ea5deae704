package sayso_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportingTheSDKAddsOnlyUUID checks that a module that imports the SDK gets uuid and no other
// module. Module graph pruning achieves that, as long as neither the package nor its tests import
// more: see docs/adr/0059-sdk-in-this-module.md.
func TestImportingTheSDKAddsOnlyUUID(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, imports, uses string }{
		{"program", module + "/claude", "claude.MaxLine"},
		{"test double", module + "/claude/claudetest", "claudetest.Version"},
		{"test model", module + "/claude/scriptedmodel", "scriptedmodel.Demo"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"main.go": "package main\n\nimport " + `"` + test.imports + `"` + "\n\nfunc main() { _ = " + test.uses + " }\n",
				"go.mod":  "module example.com/importer\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tidy := exec.Command("go", "mod", "tidy")
			tidy.Dir = dir
			tidy.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off")
			if out, err := tidy.CombinedOutput(); err != nil {
				t.Fatalf("go mod tidy: %v\n%s", err, out)
			}
			sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(sum)) {
				if !strings.HasPrefix(line, "github.com/google/uuid ") {
					t.Errorf("go.sum of the importer has %s", strings.TrimSpace(line))
				}
			}
		})
	}
}
