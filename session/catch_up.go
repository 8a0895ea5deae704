package session

import (
	"cmp"
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// CatchUp counts what happened in a session since a person last viewed it.
type CatchUp struct {
	SessionID string
	Edits     int
	Files     int // edited files
	Commands  int // commands that run no tests
	Tests     int
	Failed    int    // tool calls
	Answered  int    // requests
	Turns     int    // ended turns
	First     string // key of the first counted item

	firstSeq int64
	files    map[string]struct{}
}

// CatchUpKinds are the kinds of items that a [CatchUp] counts.
var CatchUpKinds = []ItemKind{ItemToolCall, ItemResolved, ItemResult}

// testRunners matches commands that run tests. A wrong guess only counts a test run as a
// command.
var testRunners = lazyregexp.New(`\b(?:go test|(?:npm|pnpm|yarn|bun)(?: run)? test|make (?:test|check)|cargo (?:test|nextest)|pytest|vitest|jest|playwright test|mvn test|gradle test|rspec|phpunit|dotnet test|ctest)\b`)

// Add counts an item of the session. Items may come in any order, each once.
func (c *CatchUp) Add(it Item) {
	switch it.Kind {
	case ItemResolved:
		c.Answered++
	case ItemResult:
		c.Turns++
	case ItemToolCall:
		c.call(it.Body)
	default:
		return
	}
	if c.First == "" || it.Seq < c.firstSeq {
		c.First, c.firstSeq = it.Key, it.Seq
	}
}

func (c *CatchUp) call(body []byte) {
	var call struct {
		ToolName string `json:"tool_name"`
		Input    struct {
			File     string `json:"file_path"`
			Notebook string `json:"notebook_path"`
			Command  string `json:"command"`
		} `json:"input"`
		Status   ToolStatus `json:"status"`
		NoResult bool       `json:"no_result"`
		Change   FileChange `json:"change"`
	}
	// sayso wrote this JSON, except for the input, which may be that of any tool. A field of an
	// unexpected type is skipped.
	_ = json.Unmarshal(body, &call)
	input := call.Input
	if call.Status == ToolFailed && !call.NoResult {
		c.Failed++
	}
	switch call.ToolName {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		c.Edits++
		if c.files == nil {
			c.files = map[string]struct{}{}
		}
		c.files[cmp.Or(call.Change.Path, input.File+input.Notebook)] = struct{}{}
		c.Files = len(c.files)
	case "Bash":
		if testRunners.MatchString(input.Command) {
			c.Tests++
		} else {
			c.Commands++
		}
	}
}

// HasActivity reports whether anything was counted.
func (c *CatchUp) HasActivity() bool {
	return c.Edits+c.Commands+c.Tests+c.Answered+c.Turns > 0
}
