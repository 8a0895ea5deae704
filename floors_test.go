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
		ours:     []string{"account", "alert", "attachment", "claude", "claude/config", "claude/hook", "claude/scriptedmodel", "frontend", "mcpapi", "migrations", "orchestrator", "pending", "session", "shim", "store", "workspace", "wsapi"},
		external: []string{"github.com/BurntSushi/toml", "github.com/google/uuid"},
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
