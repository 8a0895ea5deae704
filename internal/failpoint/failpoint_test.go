package failpoint_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

// root is the module's folder.
const root = "../.."

// TestEveryPointStandsInTheCode: a place that is not in Points panics when it is
// passed, and a point that no place has would be a row of the matrix that proves
// nothing.
func TestEveryPointStandsInTheCode(t *testing.T) {
	t.Parallel()
	places := map[string][]string{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "failpoint"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, name := range pointsOf(n) {
				places[name] = append(places[name], files.Position(n.Pos()).String())
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range failpoint.Points() {
		if known[p.Name] {
			t.Errorf("%s is listed twice", p.Name)
		}
		known[p.Name] = true
		if p.Twin != "" && len(places[p.Twin]) == 0 {
			t.Errorf("the twin of %s, %s, stands nowhere", p.Name, p.Twin)
		}
		switch at := places[p.Name]; len(at) {
		case 0:
			t.Errorf("%s is listed and stands nowhere", p.Name)
		case 1:
		default:
			t.Errorf("%s stands at %d places, so that it is not known which one a cell of the matrix is about: %v", p.Name, len(at), at)
		}
	}
	for name, at := range places {
		if !known[name] {
			t.Errorf("%s: %q is not in failpoint.Points, so the matrix has no row for it", at[0], name)
		}
	}
}

// pointsOf returns the points that a node of the syntax tree marks: a call of Hit
// or After, or of the store's commit, which gets its two by name.
func pointsOf(n ast.Node) (names []string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	number := 1
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); !ok || of.Name != "failpoint" || f.Sel.Name != "Hit" && f.Sel.Name != "After" {
			return nil
		}
	case *ast.Ident:
		if f.Name != "commit" || len(call.Args) != 3 {
			return nil
		}
		number = 2
	default:
		return nil
	}
	for _, arg := range call.Args[:number] {
		if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if name, err := strconv.Unquote(literal.Value); err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestPointsCostNothingWithoutTheTag: not even the name of a point is left in the
// program that people run. That they are found where they are is a test of the
// matrix.
func TestPointsCostNothingWithoutTheTag(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "sayso")
	build := exec.Command("go", "build", "-o", program, "./cmd/sayso")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range failpoint.Points() {
		if bytes.Contains(text, []byte(p.Name)) {
			t.Errorf("the program without the tag holds %s", p.Name)
		}
	}
}
