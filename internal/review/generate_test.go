package review_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/internal/review"
)

// The grammar of generated commands: each program of the list with each of its options
// and operands of every kind, and among them what hostile calls are made of.

var hostileWords = []string{
	".env", "./.env", "../.bashrc", "~/.ssh/id_rsa", "/etc/shadow", "/proc/self/environ", "../state/sayso.db", "server.key", "src/id_rsa", "sub/.npmrc", "links/secret.go", "links/env.go", "links/home/.netrc", "links/home/other/x.go", "links/*", "links/*.go", "links/out.txt", "*", "*.txt", ".*", ".e*", "*/*", "*/.npmrc", "?*", "-*", "[a-z]*", "{a.txt,.env}", "{.env,}", "src/../../.bashrc", "--", "-", "''", "{,x}", "{,-o}", "links/[!z]*", "**", "/root/.ssh/*", "0>/dev/null", "0>&-",
	"$x", "\"$x\"", "${x@P}", "${x[0]}", "'a[$(touch x)]'", "\"$(touch x)\"", "$(touch x)", "`touch x`", "$(( a[$(touch x)] ))", "$((1+1))", "$'\\x2eenv'", "'.'env", "\\.env", "<(cat .env)", ">(cat > x)", "<(sort a.txt)", "@.env", "a=b", "HEAD:.env", ":(top).env", "-ofoo.txt", "-o x", "-ox", "--output=x", "--output x", "-i", "-i.bak", "-w", "-w x", "-f x", "-f .env", "-e 'w x'", "-exec ./evil {} +", "-exec touch x ;", "-delete", "-fprint x", "-fls x", "--pre=./evil", "--pre ./evil", "--compress-program=./evil", "--files0-from=a.txt", "-c core.pager=./evil", "--ext-diff", "--textconv", "-O./evil", "--exec-path=.", "--no-index", "--git-dir=x", "-R", "-L", "-r", "-a", "-v", "-v 'a[$(touch x)]'", "-s", "-d x", "-D x", "-m x", "-T .", "--set=1", "-C", "-p", "-P ./evil", "-K", "-x ./evil", "-X ./evil", "-n", "-S", "--to-file=.env", "--format=%G?", "@{u}", "{}", "+", "\\;", "!", "(", ")", "'1e touch x'", "'s/a/b/w x'", "'s/a/b/e'", "'w x'", "'{print > \"x\"}'", "'BEGIN{system(\"touch x\")}'", "'{print $1}'", "'$ENV'", "env", "'input_filename'", "1", "-1", "-99", "+1", "x", "TODO", ".", "=", "''", "-Po x", "-pc 1", "-iNPo", "--format", "--iglob '*'", "-g '!*.go'",
}

var harmlessFiles = []string{"a.txt", "b.txt", "README.md", "src/main.go", "a.go", "package.json", "./a.txt", "src", ".", "'src/x y.go'", "src/*.go", "*.go", "a*", "links/in.txt", "nope.txt", "data.csv", "a.txt b.txt", "-", "/dev/null", "vendor", "{a,b}.txt", "\"a.txt\""}

func valueOf(t *rapid.T, kind string) string {
	if rapid.IntRange(0, 9).Draw(t, "hostile") == 0 {
		return rapid.SampledFrom(hostileWords).Draw(t, "word")
	}
	switch kind {
	case "number":
		return rapid.SampledFrom([]string{"1", "2", "10", "+2", "0.1", "-1", "1K"}).Draw(t, "number")
	case "word":
		return rapid.SampledFrom([]string{"go", "ls", "name", "version", "list", "show", "always", "long", "x", "f", "d", "origin", "get-url", "date"}).Draw(t, "word")
	case "text":
		return rapid.SampledFrom([]string{"a", ":", "' '", "'%s\\n'", "'%h %s'", "1", "1,2", "'1,2p'", "'s/a/b/g'", "'/main/p'", "'{print $1}'", "'NR==1'", ".", ".name", "'.scripts|keys'", "a-z", "A-Z", "'\\n'", "yesterday", "x", "-f", "-d", "=", "!=", "-eq", "+%s", "aux", "src/main.go", "hello"}).Draw(t, "text")
	case "pattern":
		return rapid.SampledFrom([]string{"TODO", "main", "'func main'", "'foo|bar'", "'a.*b'", ".", "''", "PASSWORD", "^", "x*"}).Draw(t, "pattern")
	case "glob":
		return rapid.SampledFrom([]string{"'*.go'", "'*'", "node_modules", "'v*'", "'!*.md'", "main", "'*.{go,ts}'"}).Draw(t, "glob")
	case "revision":
		return rapid.SampledFrom([]string{"HEAD", "HEAD~1", "main", "v1", "main..topic", "HEAD:a.txt", "topic...main", "a.txt", "src", "-- a.txt", "-p HEAD:a.txt", "@{0}", "'HEAD^{tree}'", "1,3:a.txt"}).Draw(t, "revision")
	}
	return rapid.SampledFrom(harmlessFiles).Draw(t, "file")
}

var simpleGen = rapid.Custom(func(t *rapid.T) string {
	r := rapid.SampledFrom(table).Draw(t, "program")
	words := []string{r.Name}
	hostile := func() bool { return rapid.IntRange(0, 24).Draw(t, "hostile") == 0 }
	options := strings.Fields(r.Options)
	for range rapid.IntRange(0, 3).Draw(t, "options") {
		if len(options) == 0 || hostile() {
			if hostile() {
				words = append(words, rapid.SampledFrom(hostileWords).Draw(t, "hostile word"))
			}
			continue
		}
		o := rapid.SampledFrom(options).Draw(t, "option")
		name, kind, value := strings.Cut(o, "=")
		name, optional := strings.CutSuffix(name, "?")
		switch {
		case value && strings.HasPrefix(name, "--"):
			words = append(words, name+rapid.SampledFrom([]string{"=", " "}).Draw(t, "joint")+valueOf(t, kind))
		case value:
			words = append(words, name+rapid.SampledFrom([]string{"", " "}).Draw(t, "joint")+valueOf(t, kind))
		case optional && strings.HasPrefix(name, "--") && rapid.Bool().Draw(t, "valued"):
			words = append(words, name+"="+rapid.SampledFrom([]string{"always", "short", "x", "auto", "HEAD"}).Draw(t, "value"))
		default:
			words = append(words, name)
		}
	}
	if r.Name == "find" {
		for range rapid.IntRange(1, 3).Draw(t, "tests") {
			words = append(words, rapid.SampledFrom([]string{"-name '*.go'", "-type f", "-maxdepth 1", "-not", "-empty", "-size +1", "-o", "-print", "-newer a.txt", "\\( -name a \\)", "-printf '%p\\n'", "-ls", "-prune", "-mtime -1", "-delete", "-exec ls {} +", "-fprint x"}).Draw(t, "test"))
		}
		words = slices.Insert(words, 1, rapid.SampledFrom([]string{".", "src", "links", "..", "links/home"}).Draw(t, "where"))
	}
	for _, k := range strings.Fields(r.Operands) {
		kind := strings.TrimRight(k, "*?")
		n := 1
		if strings.HasSuffix(k, "*") {
			n = rapid.IntRange(0, 3).Draw(t, "operands")
		} else if strings.HasSuffix(k, "?") {
			n = rapid.IntRange(0, 1).Draw(t, "operand")
		}
		for range n {
			words = append(words, valueOf(t, kind))
		}
	}
	if hostile() {
		words = append(words, rapid.SampledFrom(hostileWords).Draw(t, "last"))
	}
	switch rapid.IntRange(0, 60).Draw(t, "mutation") {
	case 0:
		words[0] = "./" + words[0]
	case 1:
		words[0] = rapid.SampledFrom([]string{"x=1 ", "PATH=. ", "command ", "\\", "exec ", "env ", "builtin ", "sudo ", "xargs ", "x[$(touch x)]=1 "}).Draw(t, "prefix") + words[0]
	case 2:
		words[0] = rapid.SampledFrom([]string{"/bin/", "bin/", "~/", "$x", "$(echo ls) "}).Draw(t, "where from") + words[0]
	}
	command := strings.Join(words, " ")
	switch rapid.IntRange(0, 15).Draw(t, "redirection") {
	case 0:
		command += rapid.SampledFrom([]string{" 2>/dev/null", " 2>&1", " > /dev/null", " &> /dev/null", " < a.txt", " < /dev/null"}).Draw(t, "to")
	case 1:
		command += rapid.SampledFrom([]string{" > x", " >> a.txt", " 2> x", " < .env", " <> x", " >| x", " {x}> y", " > $x", " < $x", " <<< \"$(touch x)\"", " >& x", " > '/dev/null'/../x"}).Draw(t, "to")
	}
	return command
})

var table = func() []review.ReaderTable {
	list := review.Readers()
	slices.SortFunc(list, func(a, b review.ReaderTable) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(list, func(r review.ReaderTable) bool { return r.Name == "sleep" })
}()

// commandGen generates commands of one or more calls.
var commandGen = rapid.Custom(func(t *rapid.T) string {
	a := simpleGen.Draw(t, "first")
	b := func() string { return simpleGen.Draw(t, "second") }
	switch rapid.IntRange(0, 40).Draw(t, "construct") {
	case 0:
		return a + " | " + b()
	case 1:
		return a + " && " + b()
	case 2:
		return a + "; " + b()
	case 3:
		return a + " || " + b()
	case 4:
		return "(" + a + ")"
	case 5:
		return "{ " + a + "; }"
	case 6:
		return "if " + a + "; then " + b() + "; fi"
	case 7:
		return "for f in a.txt src/*.go; do " + a + " \"$f\"; done"
	case 8:
		return "echo $(" + a + ")"
	case 9:
		return "echo \"x $(" + a + ")\""
	case 10:
		return "cd src && " + a
	case 11:
		return "time " + a
	case 12:
		return "! " + a
	case 13:
		return rapid.SampledFrom([]string{"x=$(" + a + ")", a + " &", "eval " + a, "eval '" + a + "'", "f() { " + a + "; }; f", "while " + a + "; do break; done", "let \"x=$(" + a + ")\"", "[[ -v 'a[$(" + a + ")]' ]]", "(( $(" + a + ") ))", "declare -i x=1; " + a, "unset x; " + a, "trap '" + a + "' EXIT", "for PATH in .; do " + a + "; done", "cat <<EOF\n$(" + a + ")\nEOF", a + " | tee x", a + " | xargs cat", a + " | bash", "diff <(" + a + ") <(" + b() + ")", "[[ -n \"$(" + a + ")\" ]]", "cd links/home && " + a, "cd .. && " + a, "for f in .env; do " + a + " $f; done", "select x in 1; do " + a + "; done", "case x in x) " + a + ";; esac", "cat $(" + a + ")"}).Draw(t, "odd")
	}
	return a
})

// TestLowHasNoEffectInItsText holds what is called low against the tree by another
// reading: no assignment, no file that is written, no program that is named by a path.
func TestLowHasNoEffectInItsText(t *testing.T) {
	t.Parallel()
	low := 0
	rapid.Check(t, func(t *rapid.T) {
		command := commandGen.Draw(t, "command")
		if (review.Place{Dir: folder}).ReadCommand(command).Level == review.Low {
			low++
			independent(t, command)
		}
	})
	t.Logf("%d were low", low)
}

// FuzzLow is the same for whatever text.
func FuzzLow(f *testing.F) {
	for _, c := range slices.Concat(everyday, attackCalls) {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if (review.Place{Dir: folder}).ReadCommand(command).Level == review.Low {
			independent(t, command)
		}
	})
}

type failer interface {
	Errorf(format string, args ...any)
}

var evaluatedWords = regexp.MustCompile(`^(let|declare|typeset|local|export|readonly|unset|read|mapfile|readarray|eval|source|\.|exec|trap|alias|hash|enable|set|shopt|getopts|env|xargs|sudo|tee|builtin|coproc|bash|sh)$`)

func independent(t failer, command string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		t.Errorf("%q is low and cannot be read", command)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign, *syntax.ArithmCmd, *syntax.LetClause, *syntax.FuncDecl, *syntax.CoprocClause, *syntax.ExtGlob, *syntax.CStyleLoop, *syntax.WhileClause, *syntax.DeclClause:
			t.Errorf("%q is low and has a %T", command, n)
		case *syntax.Stmt:
			if n.Background {
				t.Errorf("%q is low and goes on", command)
			}
		case *syntax.ParamExp:
			if n.Index != nil || n.Exp != nil || n.Excl || n.Slice != nil || n.Repl != nil {
				t.Errorf("%q is low and has an expansion that is evaluated", command)
			}
		case *syntax.ProcSubst:
			if n.Op != syntax.CmdIn {
				t.Errorf("%q is low and writes to a process", command)
			}
		case *syntax.Redirect:
			switch n.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob, syntax.RdrInOut:
				if n.Word.Lit() != "/dev/null" {
					t.Errorf("%q is low and writes to a file", command)
				}
			}
			if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
				t.Errorf("%q is low and sets a variable", command)
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				break
			}
			head := n.Args[0].Lit()
			version := len(n.Args) == 2 && strings.Contains(n.Args[1].Lit(), "-v")
			if head == "" || strings.ContainsAny(head, "/\\*?~$={") || evaluatedWords.MatchString(head) && !version {
				t.Errorf("%q is low and runs %q", command, head)
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				t.Errorf("%q is low and tests a subscript", command)
			}
		}
		return true
	})
}
