package sayso_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sdkSources returns the Go files under claude, including tests and examples, and the test that
// checks what the SDK sends.
func sdkSources(t *testing.T) map[string]string {
	t.Helper()
	const sent = "e2e/typescript/typescript_test.go"
	sources := map[string]string{sent: read(t, sent)}
	err := filepath.WalkDir("claude", func(file string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".go") {
			sources[file] = read(t, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// TestParityRowsNameTests fails when a row of the comparison with the official SDKs names no existing
// test, unless the row says that the capability is missing.
func TestParityRowsNameTests(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w+)\(`)
	for file, text := range sdkSources(t) {
		if strings.HasSuffix(file, "_test.go") {
			for _, match := range declared.FindAllStringSubmatch(text, -1) {
				tests[match[1]] = true
			}
		}
	}
	named := regexp.MustCompile("`((?:Test|Example|Fuzz)\\w+)`")
	rows := 0
	for line := range strings.Lines(read(t, "docs/sdk/parity.md")) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.Contains(line, "| Tests |") {
			continue
		}
		rows++
		names := named.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(names) == 0 && !(len(cells) > 1 && cells[1] == "no") {
			t.Errorf("no test is named by: %s", line)
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("%s does not exist, named by: %s", name[1], line)
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows were found", rows)
	}
}

// TestGoInTheSDKDocumentsIsCompiled fails when Go code in a page is not part of a file that is
// compiled and tested, whatever its indentation.
func TestGoInTheSDKDocumentsIsCompiled(t *testing.T) {
	t.Parallel()
	var sources []string
	for file, text := range sdkSources(t) {
		if strings.HasSuffix(file, "example_test.go") || strings.HasPrefix(filepath.ToSlash(file), "claude/examples/") {
			sources = append(sources, withoutIndentation(text))
		}
	}
	pages, err := filepath.Glob("docs/sdk/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("found %q, %v", pages, err)
	}
	blocks := 0
	fenced := regexp.MustCompile("(?s)```go\n(.*?)```")
	for _, page := range pages {
	block:
		for _, match := range fenced.FindAllStringSubmatch(read(t, page), -1) {
			blocks++
			for _, source := range sources {
				if strings.Contains(source, withoutIndentation(match[1])) {
					continue block
				}
			}
			t.Errorf("%s: this is in no example:\n%s", page, match[1])
		}
	}
	if blocks < 10 {
		t.Errorf("only %d blocks were found", blocks)
	}
}

func withoutIndentation(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return out.String()
}
