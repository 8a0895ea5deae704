package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSettingsInDocumentsAreValid reads each settings file that a page shows as the server would.
func TestSettingsInDocumentsAreValid(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?ms)^```toml\n(.*?)^```")
	secretPath := regexp.MustCompile(`"/etc/sayso/[\w-]*secret"`)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a client secret of a provider\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range block.FindAllStringSubmatch(string(text), -1) {
			found++
			file := filepath.Join(t.TempDir(), "sayso.toml")
			if err := os.WriteFile(file, []byte(secretPath.ReplaceAllString(match[1], `"`+secret+`"`)), 0o600); err != nil {
				t.Fatal(err)
			}
			// Folders of the examples are not on this machine.
			_, _, err := readSettings("serve", []string{"--config", file}, func(string) string { return "" })
			if err != nil && !strings.Contains(err.Error(), "/srv/projects") {
				t.Errorf("%s: %v in\n%s", page, err, match[1])
			}
		}
	}
	if found < 6 {
		t.Errorf("found only %d settings files", found)
	}
}
