package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSettingsAreDocumented: each setting of the server is in docs/operating/settings.md, and
// its table names no other.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	sayso, err := program()
	must(t, err)
	help, err := exec.Command(sayso, "serve", "--help").CombinedOutput()
	must(t, err)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating", "settings.md"))
	must(t, err)
	document := string(text)

	flags := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(string(help), -1) {
		flags[match[1]] = true
		if !strings.Contains(document, "`"+match[1]+"`") && !strings.Contains(document, "--"+match[1]) {
			t.Errorf("--%s is not in docs/operating/settings.md", match[1])
		}
	}
	if len(flags) < 20 {
		t.Fatalf("only %d settings in: %s", len(flags), help)
	}
	name := regexp.MustCompile("`([a-z-]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(document, -1) {
		for _, match := range name.FindAllStringSubmatch(row[1], -1) {
			if !flags[match[1]] {
				t.Errorf("docs/operating/settings.md tells of the setting %s, and there is none", match[1])
			}
		}
	}
}
