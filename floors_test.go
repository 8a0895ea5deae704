package sayso_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sayso-dev/sayso"

// A room is one package, its floor, and what may be imported in it. Its own
// tests may import more: see testTools.
type room struct {
	floor    int
	kit      bool     // it exists for tests: it may use their tools, and every test may use it
	ours     []string // packages of this module
	external []string // modules of others, for product code
	closed   string   // why rooms that do not list this one may not import it
}

// rooms is the architecture: an import only goes down, and only where it is
// listed. Paths are relative to the module.
var rooms = map[string]room{
	"cmd/sayso": {
		floor:    5,
		ours:     []string{"account", "alert", "attachment", "claude", "claude/config", "claude/hook", "claude/scriptedmodel", "frontend", "mcpapi", "migrations", "oidc", "orchestrator", "pending", "project", "session", "shim", "store", "workspace", "wsapi"},
		external: []string{"github.com/BurntSushi/toml", "github.com/coder/websocket", "github.com/google/uuid", "golang.org/x/crypto/acme"},
		closed:   "it is the top: it wires the rooms together and nothing stands on it",
	},
	"cmd/scriptedmodel": {
		floor:  5,
		ours:   []string{"claude/scriptedmodel"},
		closed: "it is a program; the room behind it is claude/scriptedmodel",
	},

	"cmd/bench": {
		floor:    5,
		ours:     []string{"claude", "cmd/blackbox"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		closed:   "it is a program that looks at the server from outside",
	},
	"cmd/torture": {
		floor:    5,
		ours:     []string{"claude/claudetest", "cmd/blackbox"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		closed:   "it is a program that looks at the server from outside",
	},
	"failpoint/matrix": {
		floor:    5,
		ours:     []string{"cmd/blackbox", "failpoint"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid", "modernc.org/sqlite"},
		closed:   "it is the tests of the points, and looks at the server from outside",
	},
	"e2e/conformance": {
		floor:  5,
		ours:   []string{"cmd/blackbox"},
		closed: "it is the conformance suite of MCP, and looks at the server from outside",
	},
	"cmd/blackbox": {
		floor:    5,
		external: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		closed:   "it starts the server as a process of its own, for programs that look at it from outside",
	},
	"cmd/claudetest": {
		floor:  5,
		ours:   []string{"claude/claudetest"},
		closed: "it is a program; the room behind it is claude/claudetest",
	},

	"mcpapi": {
		floor:    4,
		ours:     []string{"account", "pending", "session"},
		external: []string{"github.com/google/uuid", "github.com/modelcontextprotocol/go-sdk"},
		closed:   "it is a door: the words of agents stay in it, and one door does not speak through another",
	},
	"wsapi": {
		floor:    4,
		ours:     []string{"account", "alert", "attachment", "claude/rule", "failpoint", "oidc", "orchestrator", "pending", "project", "review", "session", "workspace"},
		external: []string{"github.com/coder/websocket", "github.com/go-playground/validator/v10", "github.com/go-webauthn/webauthn", "github.com/google/uuid"},
		closed:   "it is a door: the JSON of the browser stays in it, and one door does not speak through another",
	},

	"orchestrator": {
		floor:    3,
		ours:     []string{"account", "claude", "claude/config", "claude/folder", "claude/rule", "failpoint", "pending", "project", "session", "shim", "workspace"},
		external: []string{"github.com/google/uuid"},
		closed:   "it drives processes: what is below it is remembered and asked also while nothing runs",
	},

	"store": {
		floor:  2,
		ours:   []string{"account", "alert", "failpoint", "pending", "project", "session", "store/engine", "store/postgres", "store/sqlite", "workspace"},
		closed: "only cmd/sayso opens a database; everybody else uses the ports pending.Store, session.Store and account.Store",
	},
	"store/sqlite": {
		floor:    2,
		ours:     []string{"account", "alert", "migrations", "pending", "project", "session", "store/engine", "workspace"},
		external: []string{"modernc.org/sqlite", "github.com/google/uuid"},
		closed:   "only package store opens an engine; everybody else uses the ports pending.Store, session.Store and account.Store",
	},
	"store/postgres": {
		floor:    2,
		ours:     []string{"account", "alert", "migrations", "pending", "project", "session", "store/engine", "workspace"},
		external: []string{"github.com/jackc/pgx/v5", "github.com/google/uuid"},
		closed:   "only package store opens an engine; everybody else uses the ports pending.Store, session.Store and account.Store",
	},
	"store/engine": {
		floor:  2,
		ours:   []string{"account", "alert", "pending", "project", "session", "workspace"},
		closed: "it is what the engines share among themselves",
	},
	"store/storetest": {
		floor:    2,
		kit:      true,
		ours:     []string{"account", "alert", "migrations", "pending", "project", "session", "store", "workspace"},
		external: []string{"github.com/google/uuid"},
		closed:   "it is the contract of the engines, for tests only",
	},
	"store/postgrestest": {
		floor:    2,
		kit:      true,
		external: []string{"github.com/jackc/pgx/v5"},
		closed:   "it starts clusters for tests, and for tests only",
	},

	"alert": {
		floor:    1,
		ours:     []string{"pending", "session", "ssrf"},
		external: []string{"github.com/google/uuid"},
		closed:   "it tells people outside the app: only the door where they choose how, and the program that wires it, need it",
	},
	"attachment": {
		floor:    1,
		ours:     []string{"session"},
		external: []string{"github.com/google/uuid"},
		closed:   "it keeps files of people: only the door that takes them and the program that opens it need it",
	},
	"session": {
		floor:    1,
		ours:     []string{"pending"},
		external: []string{"github.com/google/uuid"},
	},
	"pending": {
		floor:    1,
		ours:     []string{"claude/rule"},
		external: []string{"github.com/google/uuid"},
	},
	"pending/pendingtest": {
		floor:  1,
		kit:    true,
		ours:   []string{"pending"},
		closed: "it is a store in memory, for tests only",
	},
	"workspace": {
		floor:  1,
		ours:   []string{"pending"},
		closed: "which folders there are is asked of the orchestrator, which knows the rules that hold now",
	},
	"project": {
		floor:  1,
		ours:   []string{"account", "claude/rule", "pending", "review"},
		closed: "who may do what in a project is asked at a door; floors below it act for whoever the door lets. The orchestrator asks it for limits alone, for sessions go on by themselves, too",
	},
	"account": {
		floor:    1,
		external: []string{"github.com/google/uuid", "golang.org/x/crypto/argon2", "golang.org/x/text"},
		closed:   "who a person is, is asked at a door; floors below it act for whoever the door names",
	},

	"review": {
		floor:    0,
		ours:     []string{"claude/rule"},
		external: []string{"mvdan.cc/sh/v3"},
		closed:   "it says what is risky in a tool call, for people: a door shows it, and nothing is allowed by it",
	},
	"ssrf": {
		floor:  0,
		closed: "it is asked where the server dials what somebody else names",
	},
	"oidc": {
		floor:    0,
		ours:     []string{"ssrf"},
		external: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"},
	},
	"oidc/oidctest": {
		floor:  0,
		kit:    true,
		closed: "it is an identity provider for tests only",
	},
	"claude": {
		floor:  0,
		ours:   []string{"failpoint"},
		closed: "only the orchestrator knows the CLI's JSON, so that a change of the CLI ends there",
	},
	"claude/config": {
		floor:  0,
		closed: "only cmd/sayso and the orchestrator edit the files of a person's own CLI, when a person says so",
	},
	"claude/rule": {
		floor:  0,
		closed: "the language of the CLI's rules has one reader: list a package that must say what a rule is about",
	},
	"claude/folder": {
		floor:  0,
		closed: "what the CLI takes from a folder is looked at where CLIs are started, and nowhere else",
	},
	"claude/hook": {
		floor:  0,
		ours:   []string{"claude/config"},
		closed: "it is what sayso hook knows of the CLI that runs it",
	},
	"claude/claudetest": {
		floor:  0,
		kit:    true,
		ours:   []string{"claude"},
		closed: "it is a scripted CLI, for tests only",
	},
	"claude/scriptedmodel": {
		floor:  0,
		kit:    true,
		closed: "it is a scripted model, for tests and the demo",
	},
	"shim": {
		floor:  0,
		ours:   []string{"failpoint"},
		closed: "only the orchestrator attaches to a shim and only cmd/sayso is one; it knows lines, not messages",
	},
	"failpoint": {
		floor:  0,
		closed: "its points stand where a step may fail between the CLI and the disk, the tabs or the CLI; list a room that has such a step",
	},
	"migrations": {
		floor:  0,
		closed: "SQL is a matter between the engines and their database",
	},
	"frontend": {
		floor:  0,
		closed: "cmd/sayso hands the built web app to the door that serves it",
	},
}

// externalWhy says why a module of others is kept in the rooms that list it.
var externalWhy = map[string]string{
	"github.com/coder/websocket":             "the WebSocket is the browser's door, wsapi",
	"github.com/go-playground/validator/v10": "shapes are checked at a door, meaning in pending",
	"github.com/coreos/go-oidc/v3":           "OpenID Connect is spoken in oidc alone",
	"golang.org/x/crypto/acme":               "certificates are a matter of who listens, cmd/sayso",
	"golang.org/x/oauth2":                    "OpenID Connect is spoken in oidc alone",
	"github.com/go-webauthn/webauthn":        "passkeys are the browser's: its ceremonies are spoken in wsapi alone",
	"github.com/jackc/pgx/v5":                "PostgreSQL is spoken in store/postgres alone",
	"modernc.org/sqlite":                     "SQLite is spoken in store/sqlite alone",
	"github.com/BurntSushi/toml":             "settings are read in cmd/sayso and passed down as values",
	"go.uber.org/goleak":                     "it is for tests",
	"pgregory.net/rapid":                     "it is for tests",
	"github.com/anishathalye/porcupine":      "it is for tests",
	"golang.org/x/crypto/argon2":             "passwords are stored and checked in account alone",
	"golang.org/x/text":                      "the canonical form of a name is decided in account alone",
	"mvdan.cc/sh/v3":                         "commands of the shell are read in review alone",
	"golang.org/x/sys":                       "whatever asks the kernel must be listed, so that it is seen",
	"github.com/modelcontextprotocol/go-sdk": "MCP is spoken in mcpapi alone; its protocol moves fast",
}

// standardWhy bans packages of the standard library from floors where they
// would be the first step of a leak. The second value of each is the rooms that
// may, next to every cmd.
var standardWhy = map[string]struct {
	why  string
	only []string
}{
	"os/exec":      {"processes are started by the orchestrator and the shim; claude can, so that it is a whole SDK", []string{"claude", "claude/claudetest", "orchestrator", "shim"}},
	"net/http":     {"HTTP is spoken at a door, with the files of frontend behind it; the scripted model is one for tests and the demo, and alert and oidc only call out", []string{"alert", "oidc", "wsapi", "mcpapi", "frontend", "claude/scriptedmodel"}},
	"database/sql": {"databases are spoken to in store, and their tables made in migrations", []string{"store/sqlite", "store/postgres", "migrations"}},
	"plugin":       {"nothing is loaded at run time", nil},
	"net/rpc":      {"the wire is JSON that wire.md describes", nil},
}

// testTools are what tests may import beside their room, what it may import,
// every lower floor, the other rooms of their folder, and every kit.
var testTools = []string{"go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/google/uuid"}

// forbidden says why a file of a room may not import a path, or "" when it may.
func forbidden(from, imported string, isTest bool) string {
	here, known := rooms[from]
	if !known {
		return fmt.Sprintf("folder %s has no floor: give it one in floors_test.go and in ARCHITECTURE.md", from)
	}
	isProgram := strings.HasPrefix(from, "cmd/")

	if to, ours := strings.CutPrefix(imported, module+"/"); ours {
		there, known := rooms[to]
		switch {
		case !known:
			return fmt.Sprintf("folder %s has no floor: give it one in floors_test.go and in ARCHITECTURE.md", to)
		case to == from && isTest, slices.Contains(here.ours, to):
			return ""
		case isTest && (isProgram || there.floor < here.floor || there.kit || top(from) == top(to)):
			return ""
		case there.floor > here.floor:
			return fmt.Sprintf("an import only goes down: %s is on floor %d, %s on floor %d", from, here.floor, to, there.floor)
		case there.closed != "":
			return there.closed
		default:
			return fmt.Sprintf("%s does not need %s today; if it should, say so in floors_test.go and ARCHITECTURE.md", from, to)
		}
	}

	standard := !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".")
	if standard {
		ban, banned := standardWhy[imported]
		if !banned || isTest || isProgram || slices.Contains(ban.only, from) {
			return ""
		}
		return ban.why
	}

	under := func(mod string) bool { return imported == mod || strings.HasPrefix(imported, mod+"/") }
	if slices.ContainsFunc(here.external, under) || isTest && slices.ContainsFunc(testTools, under) {
		return ""
	}
	for mod, why := range externalWhy {
		if under(mod) {
			return why
		}
	}
	return "a new dependency needs a record in docs/adr and its room in floors_test.go"
}

// top is the folder at the root of the module in which a room lies.
func top(room string) string { return strings.SplitN(room, "/", 2)[0] }

// check returns what is wrong with the imports of one file, whose path is
// relative to the module. A nil source is read from the file.
func check(file string, source any) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	from := path.Dir(filepath.ToSlash(file))
	isTest := strings.HasSuffix(file, "_test.go") || rooms[from].kit
	if from == "." && isTest {
		return nil, nil // this file: it looks at all floors and stands on none
	}
	var wrong []string
	if _, known := rooms[from]; !known {
		return []string{fmt.Sprintf("%s: %s", file, forbidden(from, "", isTest))}, nil
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if why := forbidden(from, imported, isTest); why != "" {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", file, imported, why))
		}
	}
	return wrong, nil
}

// Parsing, not go list: the test cache does not see what a child process reads,
// so a broken import would go on passing from the cache.
func TestImportsOnlyGoDown(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != "." && (name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		files++
		wrong, err := check(file, nil)
		for _, sentence := range wrong {
			t.Error(sentence)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("looked at %d files only: this test does not run at the root of the module", files)
	}
}

func TestCheckFindsForbiddenImports(t *testing.T) {
	t.Parallel()
	for _, fixture := range []struct {
		name, file, imported string
		want                 string // part of the complaint, "" for none
	}{
		{"up", "pending/x.go", module + "/wsapi", "an import only goes down"},
		{"up from a test", "pending/x_test.go", module + "/orchestrator", "an import only goes down"},
		{"between doors and the CLI", "wsapi/x.go", module + "/claude", "only the orchestrator knows the CLI's JSON"},
		{"an engine", "orchestrator/x.go", module + "/store/sqlite", "only package store opens an engine"},
		{"a test kit in the product", "orchestrator/x.go", module + "/claude/claudetest", "for tests only"},
		{"a driver", "wsapi/x.go", "github.com/jackc/pgx/v5/pgxpool", "store/postgres alone"},
		{"a test tool in the product", "pending/x.go", "pgregory.net/rapid", "it is for tests"},
		{"an unknown module", "session/x.go", "github.com/stranger/thing", "docs/adr"},
		{"HTTP below the doors", "pending/x.go", "net/http", "at a door"},
		{"a process below the orchestrator", "session/x.go", "os/exec", "started by the orchestrator"},
		{"an unknown folder", "util/x.go", "fmt", "has no floor"},
		{"of an unknown folder", "wsapi/x.go", module + "/helpers", "has no floor"},
		{"an unknown program", "cmd/other/x.go", "fmt", "has no floor"},
		{"down", "orchestrator/x.go", module + "/claude", ""},
		{"a listed module", "wsapi/x.go", "github.com/coder/websocket", ""},
		{"a lower floor from a test", "wsapi/x_test.go", module + "/store/sqlite", ""},
		{"a test tool in a test", "pending/x_test.go", "go.uber.org/goleak", ""},
		{"the room itself from its tests", "pending/x_test.go", module + "/pending", ""},
	} {
		t.Run(fixture.name, func(t *testing.T) {
			t.Parallel()
			got, err := check(fixture.file, fmt.Sprintf("package x\n\nimport _ %q\n", fixture.imported))
			if err != nil {
				t.Fatal(err)
			}
			if fixture.want == "" && len(got) > 0 {
				t.Errorf("%s may import %s, but got %q", fixture.file, fixture.imported, got)
			}
			if fixture.want != "" && (len(got) != 1 || !strings.Contains(got[0], fixture.want)) {
				t.Errorf("got %q, want one complaint with %q", got, fixture.want)
			}
		})
	}
}

// The table is only worth reading when it is consistent itself.
func TestTableOfRooms(t *testing.T) {
	t.Parallel()
	for name, r := range rooms {
		for _, to := range r.ours {
			there, known := rooms[to]
			if !known {
				t.Errorf("%s lists %s, which has no floor", name, to)
			} else if there.floor > r.floor {
				t.Errorf("%s on floor %d lists %s on floor %d: an import only goes down", name, r.floor, to, there.floor)
			}
		}
		for _, mod := range r.external {
			if externalWhy[mod] == "" && mod != "github.com/google/uuid" {
				t.Errorf("%s lists %s without a reason in externalWhy", name, mod)
			}
		}
	}
}
