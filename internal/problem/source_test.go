package problem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
)

var placeholder = regexp.MustCompile(`\{(\w+)(:usd)?\}`)

// TestTable holds every entry to a form of its own, and every text to sentences.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range problem.Entries() {
		if seen[e.Reason] || !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(e.Reason) {
			t.Errorf("the reason %q is in the table twice, or is no word", e.Reason)
		}
		seen[e.Reason] = true
		if e.Class == nil || e.Class.Status < 400 || !strings.HasSuffix(e.Text, ".") {
			t.Errorf("%s: no class, or %q is no sentence", e.Reason, e.Text)
		}
	}
}

// TestReasonsInTheSource fails for a reason that is made and not in the table, for one that
// nobody makes, and for parameters that the text does not name.
func TestReasonsInTheSource(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	for _, e := range problem.Entries() {
		names[e.Reason] = []string{}
		for _, m := range placeholder.FindAllStringSubmatch(e.Text, -1) {
			if !slices.Contains(names[e.Reason], m[1]) {
				names[e.Reason] = append(names[e.Reason], m[1])
			}
		}
	}
	used := map[string]bool{}
	for _, file := range sources(t) {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok {
				used[text(l)] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			reason, params := made(call)
			if reason == "" {
				return true
			}
			want, known := names[reason]
			at := set.Position(call.Pos())
			if !known {
				t.Errorf("%s: the reason %q is not in the table", at, reason)
				return true
			}
			for _, name := range want {
				if !slices.Contains(params, name) {
					t.Errorf("%s: %s names the parameter %q, which is not given", at, reason, name)
				}
			}
			for _, name := range params {
				if !slices.Contains(want, name) {
					t.Errorf("%s: %s does not name the parameter %q", at, reason, name)
				}
			}
			return true
		})
	}
	for reason := range names {
		if !used[reason] {
			t.Errorf("nobody makes the reason %q", reason)
		}
	}
}

// made returns the reason of a call of New or For, and the names of its parameters; "" for
// any other call and for a reason that is not written there.
func made(call *ast.CallExpr) (reason string, params []string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	if pkg, ok := f.X.(*ast.Ident); !ok || pkg.Name != "problem" && pkg.Name != "refusal" {
		return "", nil
	}
	first := map[string]int{"New": 0, "For": 1}
	i, ok := first[f.Sel.Name]
	if !ok || len(call.Args) <= i || call.Ellipsis.IsValid() {
		return "", nil
	}
	for n := i + 1; n < len(call.Args); n += 2 {
		params = append(params, text(call.Args[n]))
	}
	return text(call.Args[i]), params
}

// text returns the value of a string literal, "" for anything else.
func text(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(l.Value)
	return s
}

// sources returns the Go files of the product but for the table itself.
func sources(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "../.."):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && filepath.Base(path) != "reasons.go":
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}
