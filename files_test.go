package sayso_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// acyclic lists the packages of more than ten files without cycles between their files: each
// file uses only declarations of files below it.
var acyclic = []string{"orchestrator", "wsapi", "httpapi"}

// TestFilesFormNoCircle fails if two files of a package need each other, directly or
// through other files.
func TestFilesFormNoCircle(t *testing.T) {
	t.Parallel()
	for _, pkg := range acyclic {
		uses, err := fileUses(pkg)
		if err != nil {
			t.Fatal(err)
		}
		for _, circle := range circles(uses) {
			t.Errorf("files of %s need each other: %s", pkg, strings.Join(circle, " → "))
		}
	}
}

func TestCirclesAreFound(t *testing.T) {
	t.Parallel()
	uses := map[string][]string{"run.go": {"state.go", "events.go"}, "state.go": {"memo.go"}, "memo.go": {"state.go"}}
	if got := circles(uses); len(got) != 1 || len(got[0]) != 3 {
		t.Errorf("circles = %v, want one of state.go and memo.go", got)
	}
}

// noImports imports nothing: the use of other packages does not connect the files of a package.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// fileUses returns, for each file of a package, the other files of the package whose
// declarations it uses.
func fileUses(pkg string) (map[string][]string, error) {
	paths, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	ignore := func(error) {} // imported names are unknown
	checked, _ := (&types.Config{Importer: noImports{}, Error: ignore}).Check(pkg, set, files, info)
	fileOf := func(pos token.Pos) string { return filepath.Base(set.Position(pos).Filename) }
	uses := map[string][]string{}
	for name, object := range info.Uses {
		from, to := fileOf(name.Pos()), ""
		if object.Pkg() == checked && object.Pos().IsValid() {
			to = fileOf(object.Pos())
		}
		if to != "" && to != from && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses, nil
}

// circles returns a path from a file back to itself for each cycle that it finds when it walks
// the files in the order of their names.
func circles(uses map[string][]string) (found [][]string) {
	done := map[string]bool{}
	var path []string
	var walk func(file string)
	walk = func(file string) {
		if i := slices.Index(path, file); i >= 0 {
			found = append(found, append(slices.Clone(path[i:]), file))
			return
		}
		if done[file] {
			return
		}
		path = append(path, file)
		for _, next := range slices.Sorted(slices.Values(uses[file])) {
			walk(next)
		}
		path = path[:len(path)-1]
		done[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		walk(file)
	}
	return found
}
