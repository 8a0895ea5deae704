package sayso_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinksOfDocuments fails when a link of a document leads to a file or heading that does
// not exist.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, file), -1) {
			path, heading, _ := strings.Cut(match[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s leads to %s, which is not there", file, match[1])
			} else if heading != "" && strings.HasSuffix(target, ".md") && !headings(read(t, target))[heading] {
				t.Errorf("%s leads to %s, and there is no such heading", file, match[1])
			}
		}
	}
}

// documents returns the files of all documents.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 10 {
		t.Fatalf("only %d documents were found", len(files))
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	headingLine = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\w\- ]`)
)

// headings returns the headings of a document in the form of their anchors.
func headings(text string) map[string]bool {
	all := map[string]bool{}
	for _, match := range headingLine.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")] = true
	}
	return all
}

var (
	makeTarget   = regexp.MustCompile("(?:^|`|&& |=\\S+ )make ([a-z][a-z0-9-]*)")
	httpCall     = regexp.MustCompile("`(GET|POST|PATCH|DELETE) (/[^`? ]+)")
	pathInCode   = regexp.MustCompile("`((?:scripts|cmd|internal|e2e|frontend|claude|pending|session|contrib|docs|store|wsapi|httpapi|mcpapi|orchestrator|shim|migrations)/[\\w./-]*\\w)`")
	variable     = regexp.MustCompile(`\bSAYSO_[A-Z][A-Z_]*[A-Z]\b`)
	makefileRule = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

// TestPagesNameTheirReader fails when a page of docs does not begin with the reader it is for.
func TestPagesNameTheirReader(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		if strings.HasPrefix(filepath.ToSlash(file), "docs/adr/0") || !strings.HasPrefix(filepath.ToSlash(file), "docs/") {
			continue
		}
		if lines := strings.SplitN(read(t, file), "\n", 4); len(lines) < 3 || !strings.HasPrefix(lines[2], "For ") {
			t.Errorf("%s does not say in its first line whom it is for", file)
		}
	}
}

// TestNamesInDocuments fails when a document names a target of make, a call of REST, a
// file of this repository or a variable that does not exist.
func TestNamesInDocuments(t *testing.T) {
	t.Parallel()
	targets := map[string]bool{}
	for _, match := range makefileRule.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[match[1]] = true
	}
	calls := readOpenAPI(t).Paths
	variables := sourceVariables(t)
	for _, file := range documents(t) {
		text := read(t, file)
		for _, line := range strings.Split(text, "\n") {
			for _, match := range makeTarget.FindAllStringSubmatch(line, -1) {
				if !targets[match[1]] {
					t.Errorf("%s names make %s, which does not exist", file, match[1])
				}
			}
			for _, match := range httpCall.FindAllStringSubmatch(line, -1) {
				_, known := calls[match[2]][strings.ToLower(match[1])]
				if agents := strings.HasPrefix(match[2], "/hook/") || strings.HasPrefix(match[2], "/claude/"); !known && !agents {
					t.Errorf("%s names %s %s, which does not exist", file, match[1], match[2])
				}
			}
			for _, match := range pathInCode.FindAllStringSubmatch(line, -1) {
				// SECURITY.md names tests by their package; attacks_test.go checks them.
				if _, err := os.Stat(filepath.FromSlash(match[1])); err != nil && !strings.Contains(match[1], ".Test") {
					t.Errorf("%s names %s, which does not exist", file, match[1])
				}
			}
			for _, name := range variable.FindAllString(line, -1) {
				if !variables(name) {
					t.Errorf("%s names %s, which nothing reads", file, name)
				}
			}
		}
	}
}

// sourceVariables returns a function that reports whether the code or a script names a
// variable. The settings of the server are named by their flags.
func sourceVariables(t *testing.T) func(name string) bool {
	var source strings.Builder
	for _, root := range []string{"cmd", "internal", "scripts", "e2e", "Makefile", "claude"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() == "node_modules" {
				return cmp.Or(err, error(filepath.SkipDir))
			}
			if entry.Type().IsRegular() && (strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".ts") || !strings.Contains(entry.Name(), ".")) {
				source.WriteString(read(t, path))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := source.String()
	return func(name string) bool {
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "SAYSO_")), "_", "-")
		return strings.Contains(text, name) || strings.Contains(text, `"`+flag+`"`)
	}
}
