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

// rule holds the layer of a package and the packages that it may import. Its tests may
// import more: see testTools.
type rule struct {
	layer    int
	testOnly bool     // exists for tests: it may import testTools, and every test may import it
	ours     []string // packages of this module
	external []string // third-party modules, for product code
	closed   string   // why packages that do not list this one may not import it
}

// packages is the architecture: an import only goes down, and only where it is
// listed. Paths are relative to the module.
var packages = map[string]rule{
	"cmd/sayso": {
		layer:    5,
		ours:     []string{"internal/access", "internal/account", "internal/alert", "internal/attachment", "internal/backup", "claude", "claude/config", "internal/cluster", "claude/hook", "claude/scriptedmodel", "internal/command", "internal/decision", "internal/job", "frontend", "httpapi", "mcpapi", "migrations", "internal/oidc", "orchestrator", "orchestrator/launch", "pending", "internal/project", "internal/refusal", "runner", "runner/link", "runner/remote", "session", "shim", "shim/embedded", "store", "wire", "internal/workspace", "wsapi", "internal/problem", "internal/descriptors", "internal/ssrf", "internal/tracing", "internal/ellipsis", "internal/visible"},
		external: []string{"github.com/BurntSushi/toml", "github.com/coder/websocket", "github.com/google/uuid", "github.com/prometheus/client_golang", "go.opentelemetry.io/otel", "golang.org/x/crypto/acme", "golang.org/x/sync", "golang.org/x/text"},
		closed:   "it is the top layer: it wires the packages together and nothing imports it",
	},
	"cmd/sayso-shim": {
		layer:  5,
		ours:   []string{"shim"},
		closed: "it is the parent of each CLI; whatever it imports is initialized once for each session",
	},
	"cmd/protocol": {
		layer:  5,
		ours:   []string{"claude", "claude/protocol", "docs/protocol"},
		closed: "it is a program; its code is in claude/protocol",
	},
	"cmd/scriptedmodel": {
		layer:  5,
		ours:   []string{"claude/scriptedmodel"},
		closed: "it is a program; its code is in claude/scriptedmodel",
	},

	"cmd/bench": {
		layer:    5,
		ours:     []string{"claude", "claude/scriptedmodel", "cmd/blackbox", "session", "store", "store/postgrestest"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		closed:   "it is a program that talks to the server from outside, and fills databases for it",
	},
	"cmd/bench/fanouthub": {
		layer:  5,
		ours:   []string{"internal/access", "internal/account", "internal/alert", "internal/command", "internal/decision", "internal/project", "internal/refusal", "session", "wsapi"},
		closed: "it is a program; it serves the hub alone, for cmd/bench",
	},
	"cmd/bench/anchors": { // a module of its own
		layer:    5,
		external: []string{"github.com/centrifugal/centrifuge", "github.com/coder/websocket", "github.com/gorilla/websocket", "github.com/lxzan/gws"},
		closed:   "it is a program; it is what cmd/bench compares the fan-out with",
	},
	"contrib/kubernetes": { // a module of its own
		layer:    5,
		testOnly: true,
		external: []string{"github.com/compose-spec/compose-go", "helm.sh/helm", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/yaml"},
		closed:   "it only has the tests of what is beside them",
	},
	"cmd/torture": {
		layer:    5,
		ours:     []string{"claude/claudetest", "cmd/blackbox", "pending", "session", "shim", "store/postgrestest"},
		external: []string{"github.com/anishathalye/porcupine", "github.com/coder/websocket", "github.com/google/uuid", "github.com/jackc/pgx/v5", "modernc.org/sqlite"},
		closed:   "it is a program that talks to the server from outside, and holds what the server stored against the rules of requests",
	},
	"internal/failpoint/matrix": {
		layer:    5,
		ours:     []string{"cmd/blackbox", "internal/failpoint"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid", "modernc.org/sqlite"},
		closed:   "it tests the failpoints against the server from outside",
	},
	"e2e/conformance": {
		layer:  5,
		ours:   []string{"cmd/blackbox"},
		closed: "it runs the MCP conformance suite against the server from outside",
	},
	"e2e/typescript": {
		layer:  5,
		ours:   []string{"claude", "claude/claudetest", "claude/tool"},
		closed: "it compares what the SDK sends with the TypeScript SDK",
	},
	"cmd/approvaltest": {
		layer:    5,
		ours:     []string{"claude", "cmd/blackbox"},
		external: []string{"github.com/google/uuid"},
		closed:   "it is a program that hosts of the CLI start, and talks to them from outside",
	},
	"cmd/blackbox": {
		layer:    5,
		external: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		closed:   "it starts the server as a process, for programs that talk to it from outside",
	},
	"cmd/claudetest": {
		layer:  5,
		ours:   []string{"claude/claudetest"},
		closed: "it is a program; its code is in claude/claudetest",
	},

	"internal/cluster": {
		layer:  4,
		ours:   []string{"internal/options", "internal/problem", "internal/refusal", "internal/workingtree", "orchestrator", "orchestrator/launch", "pending", "runner", "runner/link", "runner/remote", "session", "wire"},
		closed: "it connects servers: the other packages do not know that there are several",
	},
	"mcpapi": {
		layer:    4,
		ours:     []string{"internal/account", "internal/options", "pending", "session", "internal/statement"},
		external: []string{"github.com/google/uuid", "github.com/modelcontextprotocol/go-sdk"},
		closed:   "it is an edge: what agents see is decided here, and one edge does not call another",
	},
	"wire": {
		layer:    4,
		ours:     []string{"internal/account", "internal/alert", "internal/project", "internal/review", "pending", "session", "internal/problem", "internal/statement", "internal/ellipsis"},
		external: []string{"github.com/go-playground/validator/v10"},
		closed:   "it is the browser's JSON: only the edges that speak it know it, and agents have a JSON of their own",
	},
	"wire/wiretest": {
		layer:    4,
		testOnly: true,
		ours:     []string{"internal/access", "internal/account", "internal/alert", "internal/decision", "internal/project", "internal/review", "pending", "session", "wire"},
		closed:   "it holds samples of messages, for tests only",
	},
	"internal/refusal": {
		layer:  4,
		ours:   []string{"internal/access", "internal/account", "internal/alert", "internal/attachment", "internal/decision", "orchestrator", "pending", "internal/project", "session", "wire", "internal/problem"},
		closed: "it says to browsers what went wrong: only the edges that speak to them need it",
	},
	"internal/command": {
		layer:    4,
		ours:     []string{"internal/access", "internal/account", "internal/attachment", "internal/decision", "internal/failpoint", "internal/options", "internal/project", "internal/refusal", "orchestrator", "pending", "session", "wire", "internal/problem", "internal/statement"},
		external: []string{"github.com/google/uuid"},
		closed:   "it carries out what people command, the same over REST and on the WebSocket",
	},
	"wsapi": {
		layer:    4,
		ours:     []string{"internal/access", "internal/account", "internal/alert", "internal/command", "internal/decision", "internal/failpoint", "internal/options", "pending", "internal/project", "internal/refusal", "session", "wire", "internal/problem"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid"},
		closed:   "it is the live edge: one edge does not call another",
	},
	"httpapi": {
		layer:    4,
		ours:     []string{"internal/access", "internal/account", "internal/alert", "internal/attachment", "claude/rule", "internal/command", "internal/decision", "internal/export", "internal/oidc", "internal/options", "orchestrator", "pending", "internal/project", "internal/refusal", "internal/review", "session", "wire", "internal/ellipsis", "internal/workspace", "internal/workingtree", "internal/problem", "internal/statement", "internal/ssrf"},
		external: []string{"github.com/go-webauthn/webauthn", "github.com/google/uuid", "github.com/prometheus/client_golang"},
		closed:   "it is the edge over HTTP: one edge does not call another",
	},
	"internal/apitest": {
		layer:    4,
		testOnly: true,
		ours:     []string{"internal/access", "internal/account", "internal/alert", "internal/attachment", "internal/command", "internal/decision", "httpapi", "orchestrator", "pending", "internal/project", "internal/refusal", "session", "store/sqlite", "wire", "wire/wiretest", "internal/workspace", "internal/workingtree", "wsapi", "internal/problem"},
		external: []string{"github.com/coder/websocket", "github.com/google/uuid", "github.com/prometheus/client_golang"},
		closed:   "it runs both edges for tests only",
	},

	"orchestrator": {
		layer:    3,
		ours:     []string{"internal/account", "claude", "claude/folder", "claude/rule", "internal/failpoint", "internal/options", "orchestrator/admission", "orchestrator/grants", "orchestrator/launch", "orchestrator/transcript", "pending", "internal/project", "session", "internal/workspace", "internal/workingtree", "internal/problem", "internal/statement", "internal/ellipsis", "internal/ssrf", "internal/tracing"},
		external: []string{"github.com/google/uuid"},
		closed:   "it drives processes; the layers below also work while nothing runs",
	},
	"orchestrator/admission": {
		layer:  3,
		ours:   []string{"internal/project", "internal/problem"},
		closed: "processes are admitted where they are started: ask the orchestrator for the limits",
	},
	"orchestrator/grants": {
		layer:  3,
		ours:   []string{"claude", "claude/rule", "pending"},
		closed: "grants are revoked by the orchestrator, which also tells the running processes",
	},
	"orchestrator/launch": {
		layer:    3,
		ours:     []string{"claude", "claude/config", "claude/folder", "internal/failpoint", "internal/problem", "internal/procfs", "internal/project", "pending", "internal/review", "runner/link", "shim", "internal/statement", "internal/workingtree", "internal/workspace"},
		external: []string{"github.com/google/uuid"},
		closed:   "it starts processes for the orchestrator; only cmd/sayso configures it",
	},
	"orchestrator/launch/launchtest": {
		layer:    3,
		testOnly: true,
		ours:     []string{"claude", "internal/problem", "internal/workspace", "orchestrator/launch", "pending", "internal/review"},
		closed:   "it is the contract of runners, for tests only",
	},
	"orchestrator/transcript": {
		layer:  3,
		ours:   []string{"claude", "internal/lazyregexp", "pending", "session", "internal/statement", "internal/ellipsis"},
		closed: "it reads the CLI's messages; everybody else reads the items it builds, from the store",
	},

	"store": {
		layer:  2,
		ours:   []string{"internal/account", "internal/alert", "internal/job", "internal/failpoint", "pending", "internal/project", "session", "store/sqlstore", "store/postgres", "store/sqlite", "store/transfer", "internal/workspace"},
		closed: "only cmd/sayso opens a database; everybody else uses the ports pending.Store, session.Store and account.Store",
	},
	"store/sqlite": {
		layer:    2,
		ours:     []string{"internal/account", "internal/alert", "internal/job", "migrations", "pending", "internal/project", "session", "store/sqlstore", "store/transfer", "internal/workspace"},
		external: []string{"modernc.org/sqlite", "github.com/google/uuid"},
		closed:   "only package store opens an engine; everybody else uses the ports pending.Store, session.Store and account.Store",
	},
	"store/postgres": {
		layer:    2,
		ours:     []string{"internal/account", "internal/alert", "internal/job", "migrations", "pending", "internal/project", "session", "store/sqlstore", "store/transfer", "internal/workspace"},
		external: []string{"github.com/jackc/pgx/v5", "github.com/google/uuid"},
		closed:   "only package store opens an engine; everybody else uses the ports pending.Store, session.Store and account.Store",
	},
	"store/transfer": {
		layer:  2,
		ours:   []string{"migrations", "session"},
		closed: "only package store copies databases, because the engines open them",
	},
	"store/sqlstore": {
		layer:  2,
		ours:   []string{"internal/account", "internal/alert", "internal/lazyregexp", "pending", "internal/project", "session", "internal/workspace"},
		closed: "it is what the engines share among themselves",
	},
	"store/storetest": {
		layer:    2,
		testOnly: true,
		ours:     []string{"internal/account", "internal/alert", "migrations", "pending", "internal/project", "session", "store", "internal/workspace"},
		external: []string{"github.com/google/uuid"},
		closed:   "it is the contract of the engines, for tests only",
	},
	"store/sqlitetest": {
		layer:    2,
		testOnly: true,
		ours:     []string{"internal/memdir", "store/sqlite"},
		external: []string{"modernc.org/libc", "modernc.org/sqlite"},
		closed:   "it makes databases for tests, and for tests only",
	},
	"internal/memdir": {
		layer:    0,
		testOnly: true,
		closed:   "it gives tests folders in memory, and is for tests only",
	},
	"internal/seedtest": {
		layer:    0,
		testOnly: true,
		closed:   "it gives tests seeds, and is for tests only",
	},
	"store/postgrestest": {
		layer:    2,
		testOnly: true,
		ours:     []string{"internal/memdir"},
		external: []string{"github.com/jackc/pgx/v5"},
		closed:   "it starts clusters for tests, and for tests only",
	},

	"internal/alert": {
		layer:    1,
		ours:     []string{"internal/options", "pending", "session", "internal/ssrf", "internal/problem", "internal/statement", "internal/ellipsis"},
		external: []string{"github.com/google/uuid"},
		closed:   "it alerts people outside the app: only the API where they configure it and cmd/sayso need it",
	},
	"internal/job": {
		layer:    1,
		external: []string{"golang.org/x/sync"},
		closed:   "it runs what one server does for all: only cmd/sayso says what that is, and the stores keep its lease",
	},
	"internal/attachment": {
		layer:    1,
		ours:     []string{"session", "internal/problem", "internal/ellipsis"},
		external: []string{"github.com/google/uuid"},
		closed:   "it stores uploaded files: only the API that receives them and cmd/sayso need it",
	},
	"session": {
		layer:    1,
		ours:     []string{"internal/lazyregexp", "pending", "internal/statement"},
		external: []string{"github.com/google/uuid"},
	},
	"pending": {
		layer:    1,
		ours:     []string{"claude/rule", "internal/problem", "internal/statement", "internal/ellipsis"},
		external: []string{"github.com/google/uuid"},
	},
	"pending/pendingtest": {
		layer:    1,
		testOnly: true,
		ours:     []string{"pending"},
		closed:   "it is a store in memory, for tests only",
	},
	"internal/workspace": {
		layer:  1,
		ours:   []string{"pending", "internal/problem"},
		closed: "ask the orchestrator for folders: it knows the roots in force",
	},
	"internal/backup": {
		layer:  0,
		closed: "only the commands sayso backup and sayso restore use its files",
	},
	"internal/export": {
		layer:    1,
		ours:     []string{"session", "internal/ellipsis"},
		external: []string{"github.com/yuin/goldmark"},
	},
	"internal/workingtree": {
		layer:  1,
		ours:   []string{"internal/options", "internal/problem", "internal/workspace"},
		closed: "it runs git as the user of sessions: ask the orchestrator, which knows that user and the roots in force",
	},
	"internal/access": {
		layer:  1,
		ours:   []string{"internal/account", "pending", "internal/project", "session", "internal/problem"},
		closed: "the edges check what a person may do; the layers below act for the person they are given",
	},
	"internal/decision": {
		layer:  1,
		ours:   []string{"internal/access", "internal/account", "pending", "internal/project", "internal/review", "claude/rule", "session", "internal/problem", "internal/statement"},
		closed: "the edges ask it; the stores and pending do not know it",
	},
	"internal/project": {
		layer:  1,
		ours:   []string{"internal/account", "claude/rule", "internal/lazyregexp", "pending", "internal/review", "internal/problem"},
		closed: "the edges check project permissions; the orchestrator needs only limits and rules",
	},
	"internal/account": {
		layer:    1,
		ours:     []string{"internal/problem"},
		external: []string{"github.com/google/uuid", "golang.org/x/crypto/argon2", "golang.org/x/text"},
		closed:   "the edges authenticate; the layers below act for the person they are given",
	},

	"internal/review": {
		layer:    0,
		ours:     []string{"claude/rule", "internal/lazyregexp", "internal/ellipsis"},
		external: []string{"mvdan.cc/sh/v3"},
		closed:   "it rates the risk of a tool call for people; nothing is allowed by it",
	},
	"internal/problem": {
		layer: 0,
	},
	"internal/statement": {
		layer: 0,
		ours:  []string{"internal/lazyregexp", "internal/problem"},
	},
	"internal/ssrf": {
		layer:  0,
		closed: "it guards connections to addresses that somebody else chose",
	},
	"internal/oidc": {
		layer:    0,
		ours:     []string{"internal/ssrf"},
		external: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"},
	},
	"internal/oidc/oidctest": {
		layer:    0,
		testOnly: true,
		closed:   "it is an identity provider for tests only",
	},
	"claude": {
		layer:    0,
		ours:     []string{"internal/failpoint", "internal/procfs", "internal/ellipsis"},
		external: []string{"github.com/google/uuid"},
		closed:   "only the orchestrator knows the CLI's JSON, so that a change of the CLI ends there",
	},
	"claude/examples": {
		layer:  5,
		ours:   []string{"claude/claudetest", "cmd/blackbox"},
		closed: "it runs the examples",
	},
	"claude/examples/bot": {
		layer:  5,
		ours:   []string{"claude"},
		closed: "it is a program that shows the SDK",
	},
	"claude/examples/batch": {
		layer:  5,
		ours:   []string{"claude", "claude/tool"},
		closed: "it is a program that shows the SDK",
	},
	"claude/examples/web": {
		layer:  5,
		ours:   []string{"claude"},
		closed: "it is a program that shows the SDK",
	},
	"claude/examples/guard": {
		layer:  5,
		ours:   []string{"claude"},
		closed: "it is a program that shows the SDK",
	},
	"claude/tool": {
		layer:    0,
		ours:     []string{"claude"},
		external: []string{"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk"},
		closed:   "it is for other programs that use package claude; what agents of sayso call is in mcpapi",
	},
	"claude/config": {
		layer:  0,
		closed: "only cmd/sayso and the orchestrator edit the files of a person's own CLI, when a person says so",
	},
	"claude/rule": {
		layer:  0,
		closed: "the CLI's rule language has one parser: list a package that must read rules",
	},
	"claude/folder": {
		layer:  0,
		ours:   []string{"internal/ellipsis"},
		closed: "what the CLI loads from a folder matters only where CLIs are started",
	},
	"claude/hook": {
		layer:  0,
		ours:   []string{"claude/config"},
		closed: "it is the protocol between sayso hook and the CLI that runs it",
	},
	"claude/claudetest": {
		layer:    0,
		testOnly: true,
		ours:     []string{"claude"},
		closed:   "it is a scripted CLI, for tests only",
	},
	"claude/protocol": {
		layer:    0,
		testOnly: true,
		ours:     []string{"claude", "claude/scriptedmodel", "docs/protocol"},
		external: []string{"github.com/google/uuid"},
		closed:   "it records CLIs, for the documents and for tests",
	},
	"docs/protocol": {
		layer:  0,
		closed: "it holds the schema of the protocol, for tests and for programs that check others",
	},
	"claude/scriptedmodel": {
		layer:    0,
		testOnly: true,
		closed:   "it is a scripted model, for tests and the demo",
	},
	"shim": {
		layer:  0,
		ours:   []string{"internal/failpoint"},
		closed: "only the orchestrator attaches to a shim, and only cmd/sayso-shim and cmd/sayso are one; it knows lines, not messages",
	},
	"runner": {
		layer:    4,
		ours:     []string{"internal/ssrf", "runner/link", "session"},
		external: []string{"github.com/coder/websocket"},
		closed:   "it is the edge for runners on other hosts, and their side of it: one edge does not call another",
	},
	"runner/remote": {
		layer:    4,
		ours:     []string{"claude", "internal/workingtree", "internal/workspace", "orchestrator/launch", "pending", "internal/review", "runner", "runner/link"},
		external: []string{"github.com/google/uuid"},
		closed:   "it carries processes to a server; cmd/sayso gives its launcher to the orchestrator",
	},
	"runner/link": {
		layer:    0,
		external: []string{"github.com/coder/websocket"},
		closed:   "it carries calls between a server and a runner; it knows neither their names nor processes",
	},
	"shim/embedded": {
		layer:  0,
		closed: "it holds the program sayso-shim, which cmd/sayso installs",
	},
	"internal/descriptors": {
		layer:  0,
		ours:   []string{"internal/problem"},
		closed: "only cmd/sayso watches the descriptors of the server; the packages below get a function",
	},
	"internal/ellipsis": {
		layer:  0,
		closed: "texts for people are truncated with it: list a package that truncates some",
	},
	"internal/visible": {
		layer:  0,
		closed: "only cmd/sayso prints texts of others in a terminal; browsers have frontend/src/text/hidden.ts",
	},
	"internal/leak": {
		layer:    0,
		testOnly: true,
		closed:   "it is for the tests of package claude and what belongs to it; others use goleak",
	},
	"internal/lazyregexp": {
		layer:  0,
		closed: "regular expressions that every command of sayso would otherwise compile at its start; list a package that keeps some at package level",
	},
	"internal/options": {
		layer:  0,
		closed: "constructors check their options with it: list a package that has some",
	},
	"internal/procfs": {
		layer:  0,
		closed: "the process table is read by what kills or measures trees of processes; the shim reads its own, see ADR 19",
	},
	"internal/tracing": {
		layer:  0,
		closed: "only what a request passes on its way is measured",
	},
	"internal/failpoint": {
		layer:  0,
		closed: "failpoints mark steps between the CLI, the disk and the tabs; list a package that has such a step",
	},
	"migrations": {
		layer:  0,
		closed: "only the stores run migrations",
	},
	"frontend": {
		layer:  0,
		closed: "cmd/sayso passes the built web app to the package that serves it",
	},
}

// externalWhy holds the reasons why only the listed packages may import an external module.
var externalWhy = map[string]string{
	"go.opentelemetry.io/otel":               "only cmd/sayso sends traces; other packages report steps to internal/tracing",
	"github.com/yuin/goldmark":               "it formats the Markdown of exported pages; see docs/adr/0052-goldmark-for-exports.md",
	"github.com/coder/websocket":             "WebSockets are served in wsapi and runner",
	"github.com/go-playground/validator/v10": "shapes are validated at the edge, meaning in pending",
	"github.com/coreos/go-oidc/v3":           "OpenID Connect is spoken in oidc alone",
	"golang.org/x/crypto/acme":               "certificates are obtained in cmd/sayso, which listens",
	"golang.org/x/sync":                      "the parts of the server are run as groups in cmd/sayso",
	"golang.org/x/oauth2":                    "OpenID Connect is spoken in oidc alone",
	"github.com/go-webauthn/webauthn":        "passkey ceremonies are handled in httpapi alone",
	"github.com/prometheus/client_golang":    "metrics are measured in cmd/sayso and served by httpapi",
	"github.com/jackc/pgx/v5":                "PostgreSQL is spoken in store/postgres alone",
	"modernc.org/libc":                       "a test helper calls SQLite below its driver; nothing else does",
	"modernc.org/sqlite":                     "SQLite is spoken in store/sqlite alone",
	"github.com/centrifugal/centrifuge":      "cmd/bench/anchors compares sayso with it; nothing else depends on it",
	"github.com/gorilla/websocket":           "cmd/bench/anchors compares sayso with it; nothing else depends on it",
	"github.com/lxzan/gws":                   "cmd/bench/anchors compares sayso with it; nothing else depends on it",
	"github.com/BurntSushi/toml":             "settings are read in cmd/sayso and passed down as values",
	"github.com/compose-spec/compose-go":     "it is for the tests of contrib/kubernetes, a module of its own",
	"helm.sh/helm":                           "it is for the tests of contrib/kubernetes, a module of its own",
	"k8s.io/api":                             "it is for the tests of contrib/kubernetes, a module of its own",
	"k8s.io/apimachinery":                    "it is for the tests of contrib/kubernetes, a module of its own",
	"k8s.io/client-go":                       "it is for the tests of contrib/kubernetes, a module of its own",
	"sigs.k8s.io/yaml":                       "it is for the tests of contrib/kubernetes, a module of its own",
	"go.uber.org/goleak":                     "it is for tests",
	"pgregory.net/rapid":                     "it is for tests",
	"github.com/anishathalye/porcupine":      "it is for tests",
	"golang.org/x/crypto/argon2":             "passwords are stored and checked in account alone",
	"golang.org/x/text":                      "the canonical form of a name is decided in account alone",
	"mvdan.cc/sh/v3":                         "commands of the shell are read in review alone",
	"golang.org/x/sys":                       "whatever asks the kernel must be listed, so that it is seen",
	"github.com/modelcontextprotocol/go-sdk": "MCP is spoken in mcpapi and claude/tool; its protocol moves fast",
	"github.com/google/jsonschema-go":        "schemas of Go types are made in claude/tool alone; see docs/adr/0059-sdk-in-this-module.md",
}

// standardWhy bans packages of the standard library whose use would begin to mix layers.
// Every cmd and the packages in only may import them.
var standardWhy = map[string]struct {
	why  string
	only []string
}{
	"os/exec":      {"processes are started by the orchestrator and the shim, and procfs runs ps where there is no /proc, and workingtree runs git; claude can, so that it is a whole SDK", []string{"claude", "claude/claudetest", "orchestrator", "orchestrator/launch", "internal/procfs", "internal/workingtree", "shim", "shim/embedded"}},
	"net/http":     {"HTTP is served at the edges; alert and oidc only make requests", []string{"runner", "internal/alert", "internal/oidc", "internal/command", "internal/refusal", "httpapi", "wsapi", "mcpapi", "frontend", "claude/scriptedmodel", "claude/examples/web"}},
	"database/sql": {"databases are spoken to in store, and their tables made in migrations", []string{"store/sqlite", "store/postgres", "store/transfer", "migrations"}},
	"plugin":       {"nothing is loaded at run time", nil},
	"net/rpc":      {"the wire format is JSON, described in docs/integrating/websocket.md", nil},
}

// testTools lists the modules that tests may import, in addition to their own package,
// its imports, every lower layer, the packages of the same folder, and every testOnly
// package.
var testTools = []string{"github.com/coder/websocket", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/google/uuid", "github.com/prometheus/prometheus/promql/parser", "go.yaml.in/yaml/v3", "github.com/google/jsonschema-go", "mvdan.cc/sh/v3/syntax"}

// forbidden returns why a file of a package may not import a path, or "" when it may.
func forbidden(from, imported string, isTest bool) string {
	here, known := packages[from]
	if !known {
		return fmt.Sprintf("folder %s has no layer: add it to layers_test.go and in ARCHITECTURE.md", from)
	}
	isProgram := strings.HasPrefix(from, "cmd/")

	if to, ours := strings.CutPrefix(imported, module+"/"); ours {
		there, known := packages[to]
		switch {
		case !known:
			return fmt.Sprintf("folder %s has no layer: add it to layers_test.go and in ARCHITECTURE.md", to)
		case to == from && isTest, slices.Contains(here.ours, to):
			return ""
		case isTest && (isProgram || there.layer < here.layer || there.testOnly || group(from) == group(to)):
			return ""
		case there.layer > here.layer:
			return fmt.Sprintf("an import only goes down: %s is on layer %d, %s on layer %d", from, here.layer, to, there.layer)
		case there.closed != "":
			return there.closed
		default:
			return fmt.Sprintf("%s does not import %s today; if it should, add it to layers_test.go and ARCHITECTURE.md", from, to)
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
	return "a new dependency needs an ADR and an entry in layers_test.go"
}

// group returns the folder that a package shares with its siblings.
func group(pkg string) string {
	pkg = strings.TrimPrefix(pkg, "internal/")
	return strings.SplitN(pkg, "/", 2)[0]
}

// check returns the forbidden imports of one file, whose path is relative to the
// module. A nil source is read from the file.
func check(file string, source any) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	from := path.Dir(filepath.ToSlash(file))
	isTest := strings.HasSuffix(file, "_test.go") || packages[from].testOnly
	if from == "." && isTest {
		return nil, nil // tests of the whole tree
	}
	var wrong []string
	if _, known := packages[from]; !known {
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

// TestImportsOnlyGoDown parses the files instead of running go list, because the test
// cache does not track the files that a child process reads. The cached test would
// pass although an import is forbidden.
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
		t.Errorf("read only %d files: this test must run at the root of the module", files)
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
		{"from an edge to the CLI", "wsapi/x.go", module + "/claude", "only the orchestrator knows the CLI's JSON"},
		{"an engine", "orchestrator/x.go", module + "/store/sqlite", "only package store opens an engine"},
		{"a test helper in the product", "orchestrator/x.go", module + "/claude/claudetest", "for tests only"},
		{"a driver", "wsapi/x.go", "github.com/jackc/pgx/v5/pgxpool", "store/postgres alone"},
		{"a test tool in the product", "pending/x.go", "pgregory.net/rapid", "it is for tests"},
		{"an unknown module", "session/x.go", "github.com/stranger/thing", "needs an ADR"},
		{"HTTP below the edges", "pending/x.go", "net/http", "at the edges"},
		{"a process below the orchestrator", "session/x.go", "os/exec", "started by the orchestrator"},
		{"an unknown folder", "util/x.go", "fmt", "has no layer"},
		{"of an unknown folder", "wsapi/x.go", module + "/helpers", "has no layer"},
		{"an unknown program", "cmd/other/x.go", "fmt", "has no layer"},
		{"down", "orchestrator/x.go", module + "/claude", ""},
		{"a listed module", "wsapi/x.go", "github.com/coder/websocket", ""},
		{"a lower layer from a test", "wsapi/x_test.go", module + "/store/sqlite", ""},
		{"a test tool in a test", "pending/x_test.go", "go.uber.org/goleak", ""},
		{"the package itself from its tests", "pending/x_test.go", module + "/pending", ""},
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

// TestLayerTableIsConsistent checks the table itself.
func TestLayerTableIsConsistent(t *testing.T) {
	t.Parallel()
	for name, r := range packages {
		for _, to := range r.ours {
			there, known := packages[to]
			if !known {
				t.Errorf("%s lists %s, which has no layer", name, to)
			} else if there.layer > r.layer {
				t.Errorf("%s on layer %d lists %s on layer %d: an import only goes down", name, r.layer, to, there.layer)
			}
		}
		for _, mod := range r.external {
			if externalWhy[mod] == "" && mod != "github.com/google/uuid" {
				t.Errorf("%s lists %s without a reason in externalWhy", name, mod)
			}
		}
	}
}
