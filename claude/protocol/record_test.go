package protocol_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/protocol"
	spec "github.com/sayso-dev/sayso/docs/protocol"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "mcp-server" {
		if err := protocol.ServeMCP(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const docs = "../../docs/protocol"

// TestCLISaysOnlyWhatTheSchemaKnows records the newer version, and both in `make test-all`. A
// failure lists what the schema or observed.txt lacks; docs/protocol/README.md says how they are
// updated.
func TestCLISaysOnlyWhatTheSchemaKnows(t *testing.T) {
	t.Parallel()
	schema := parse(t)
	observed, err := protocol.ReadObserved(filepath.Join(docs, "observed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{"SAYSO_TEST_CLAUDE_NEW": claude.NewestTested}
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		versions["SAYSO_TEST_CLAUDE_OLD"] = claude.OldestTested
	}
	for variable, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			path := os.Getenv(variable)
			if path == "" {
				path = filepath.Join("..", "..", ".tools", "claude-"+version, "claude-for-tests")
			}
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Fatalf("Claude CLI %s is missing; run make setup: %v", version, err)
			}
			r, err := protocol.Record(t.Context(), protocol.Options{Path: path, Scratch: t.TempDir(), Server: []string{os.Args[0], "mcp-server"}})
			if err != nil {
				for _, l := range r.Lines[max(0, len(r.Lines)-12):] {
					t.Logf("%s %s %.500s", l.Conversation, l.From, l.JSON)
				}
				t.Fatal(err)
			}
			facts := schema.Inspect(r.Lines)
			for _, u := range facts.UnknownFrom(protocol.FromCLI) {
				t.Errorf("not in the schema: %s", u)
			}
			for _, d := range observed.Diff(version, &r, facts) {
				// What depends on the moment, such as progress, may be missing.
				if d[0] == '+' {
					t.Errorf("not in observed.txt: %s", d)
				}
			}
			for _, u := range facts.UnknownFrom(protocol.FromHost) {
				if !slices.Contains(sentOnPurpose, u) {
					t.Errorf("the recorder sends what is not in the schema: %s", u)
				}
			}
		})
	}
}

// sentOnPurpose are the unknown lines of the conversations "reports" and "unknown".
var sentOnPurpose = []string{
	`host control_request/no_such_request: .request.subtype has the unknown value "no_such_request"`,
	`host no_such_type: .type has the unknown value "no_such_type"`,
}

func parse(t *testing.T) *protocol.Schema {
	t.Helper()
	s, err := protocol.ParseSchema(spec.Schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
