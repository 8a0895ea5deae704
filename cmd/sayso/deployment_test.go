package main_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The charts, manifests and compose files of contrib set only what sayso has, and start it by commands
// that it has.
func TestDeploymentsNameSettings(t *testing.T) {
	t.Parallel()
	sayso, err := program()
	must(t, err)
	flags := map[string]bool{}
	for _, verb := range []string{"serve", "runner"} {
		help, err := exec.Command(sayso, verb, "--help").CombinedOutput()
		must(t, err)
		for _, name := range flagName.FindAllStringSubmatch(string(help), -1) {
			flags[name[1]] = true
		}
	}
	variable, option := regexp.MustCompile(`\bSAYSO_([A-Z_]+)\b`), regexp.MustCompile(`[\s\[]--([a-z-]+)=`)
	checked := 0
	for _, folder := range []string{"kubernetes/chart", "kubernetes/manifests", "compose"} {
		must(t, filepath.WalkDir(filepath.Join("..", "..", "contrib", folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
				checked++
				if name := strings.ReplaceAll(strings.ToLower(found[1]), "_", "-"); found[1] != "" && !flags[name] {
					t.Errorf("%s sets SAYSO_%s, which is no setting", path, found[1])
				}
			}
			for _, found := range option.FindAllStringSubmatch(string(text), -1) {
				checked++
				if !flags[found[1]] {
					t.Errorf("%s has --%s, which is no flag", path, found[1])
				}
			}
			return nil
		}))
	}
	if checked < 40 {
		t.Errorf("only %d settings were found", checked)
	}
}
