package statement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
)

// TestReasonsInTheSource fails for a reason that is made and not in a table, for one that
// nobody makes, and for parameters that the text does not name.
func TestReasonsInTheSource(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	add := func(reason, text string) {
		names[reason] = []string{}
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names[reason], m[1]) {
				names[reason] = append(names[reason], m[1])
			}
		}
	}
	for _, e := range problem.Entries() {
		add(e.Reason, e.Text)
	}
	for _, e := range statement.Entries() {
		if names[e.Reason] != nil {
			t.Errorf("the reason %q is that of an error too", e.Reason)
		}
		add(e.Reason, e.Text)
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
	if pkg, ok := f.X.(*ast.Ident); !ok || !slices.Contains([]string{"problem", "refusal", "statement"}, pkg.Name) {
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

// sources returns the Go files of the product but for the tables themselves.
func sources(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "../.."):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && filepath.Base(path) != "reasons.go" && !strings.HasSuffix(path, "statement/table.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}
