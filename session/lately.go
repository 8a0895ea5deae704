package session

import (
	"cmp"
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// Lately counts what happened in a session since somebody looked.
type Lately struct {
	SessionID string
	Edits     int
	Files     int // that were edited
	Commands  int // that ran no tests
	Tests     int
	Failed    int    // tool calls
	Answered  int    // requests
	Turns     int    // that ended
	First     string // key of the first item that counted

	firstSeq int64
	files    map[string]struct{}
}

// Counted are the kinds of items that count.
var Counted = []ItemKind{ItemToolCall, ItemResolved, ItemResult}

// runners are programs that run tests, as they stand in commands; a guess on which
// only words hang.
var runners = lazyregexp.New(`\b(?:go test|(?:npm|pnpm|yarn|bun)(?: run)? test|make (?:test|check)|cargo (?:test|nextest)|pytest|vitest|jest|playwright test|mvn test|gradle test|rspec|phpunit|dotnet test|ctest)\b`)

// Add counts an item of the session; in any order, each once.
func (l *Lately) Add(it Item) {
	switch it.Kind {
	case ItemResolved:
		l.Answered++
	case ItemResult:
		l.Turns++
	case ItemToolCall:
		l.call(it.Body)
	default:
		return
	}
	if l.First == "" || it.Seq < l.firstSeq {
		l.First, l.firstSeq = it.Key, it.Seq
	}
}

func (l *Lately) call(body []byte) {
	var call struct {
		ToolName string          `json:"tool_name"`
		Input    json.RawMessage `json:"input"`
		Status   ToolStatus      `json:"status"`
		Change   FileChange      `json:"change"`
	}
	var input struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Command  string `json:"command"`
	}
	_ = json.Unmarshal(body, &call)        // what we stored ourselves
	_ = json.Unmarshal(call.Input, &input) // of any tool, so of any shape: then it has none of these
	if call.Status == ToolFailed {
		l.Failed++
	}
	switch call.ToolName {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		l.Edits++
		if l.files == nil {
			l.files = map[string]struct{}{}
		}
		l.files[cmp.Or(call.Change.Path, input.File+input.Notebook)] = struct{}{}
		l.Files = len(l.files)
	case "Bash":
		if runners.MatchString(input.Command) {
			l.Tests++
		} else {
			l.Commands++
		}
	}
}

// Anything says whether it is worth a word.
func (l *Lately) Anything() bool {
	return l.Edits+l.Commands+l.Tests+l.Answered+l.Turns > 0
}
