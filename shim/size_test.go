package shim_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	tokens "go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shimLines is the most that a process which keeps a CLI may consist of on one
// system, in lines of code. docs/adr/0019-size-of-the-shim.md says what they are
// for; a change that needs more begins there.
const shimLines = 1750

// files says what each file is for: the shim itself, the server that finds,
// starts and drives it, or both.
var files = map[string]string{
	"supervisor.go": "shim", "peer.go": "shim", "input.go": "shim", "journal.go": "shim", "tail.go": "shim",
	"shim.go": "both", "frame.go": "both", "record.go": "both", "tree.go": "both", "os_linux.go": "both", "os_other.go": "both",
	"conn.go": "server", "inbox.go": "server", "parse.go": "server", "bundle.go": "server", "start.go": "server",
	"detached_linux.go": "server", "detached_other.go": "server",
}

// The shim is small, and nothing of what a server needs is in its way: an
// upgrade of the server changes what the shim neither runs nor reads.
func TestSizeOfTheShim(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := tokens.NewFileSet()
	parsed := map[string]*ast.File{}
	lines := map[string]int{}
	serverOnly := map[string]string{} // what is declared at the top of a file of the server
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		role := files[name]
		if role == "" {
			t.Errorf("%s: is it the shim's, the server's, or both's?", name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if parsed[name], err = parser.ParseFile(set, name, text, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_other.go") { // instead of that for Linux
			lines[role] += codeLines(text)
		}
		for _, i := range parsed[name].Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if strings.Contains(path, ".") && path != "github.com/sayso-dev/sayso/internal/failpoint" {
				t.Errorf("%s imports %s, which is not of the standard library", name, path)
			}
		}
		for _, d := range parsed[name].Decls {
			if role == "server" {
				for _, declared := range namesOf(d) {
					serverOnly[declared] = name
				}
			}
		}
	}
	for name, file := range parsed {
		if files[name] == "server" {
			continue
		}
		var look func(n ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) { // the names of members are not those of the package
			case *ast.SelectorExpr:
				ast.Inspect(n.X, look)
				return false
			case *ast.Field:
				ast.Inspect(n.Type, look)
				return false
			case *ast.KeyValueExpr:
				ast.Inspect(n.Value, look)
				return false
			case *ast.FuncDecl:
				ast.Inspect(n.Type, look)
				if n.Body != nil {
					ast.Inspect(n.Body, look)
				}
				return false
			}
			if id, ok := n.(*ast.Ident); ok && serverOnly[id.Name] != "" {
				t.Errorf("%s uses %s of %s: the shim needs nothing of the server", set.Position(id.Pos()), id.Name, serverOnly[id.Name])
			}
			return true
		}
		ast.Inspect(file, look)
	}
	t.Logf("the shim alone %d lines, both %d, the server alone %d", lines["shim"], lines["both"], lines["server"])
	if n := lines["shim"] + lines["both"]; n > shimLines {
		t.Errorf("the shim has %d lines of code, and %d is the most", n, shimLines)
	}
}

// namesOf are the names that a declaration makes in its package, methods left out.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// codeLines counts the lines that hold more than comments.
func codeLines(text []byte) int {
	set := tokens.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == tokens.EOF {
			return len(lines)
		}
		if kind != tokens.SEMICOLON || literal == ";" {
			lines[set.Position(at).Line] = true
		}
	}
}
