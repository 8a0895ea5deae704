package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/review"
)

// Preview says what a person should know of a tool's request before they decide.
// A tab asks for it when it has the form: no form waits for it.
type Preview struct {
	Level   review.Level    `json:"level"`             // the highest of what was found, low when nothing was
	Command *CommandPreview `json:"command,omitempty"` // of Bash
	File    *FilePreview    `json:"file,omitempty"`    // of Write, Edit, MultiEdit and NotebookEdit
	Rules   []RulePreview   `json:"rules"`             // those that permission_suggestions would add
	Why     *WhyAsked       `json:"why,omitempty"`     // not with the preview of an edit
}

// CommandPreview is a command as a shell would read it.
type CommandPreview struct {
	Steps   []CommandStep `json:"steps"`
	Marks   []RiskMark    `json:"marks"`
	Problem string        `json:"problem"` // why it could not be read whole, "" when it was
}

// CommandStep is one simple command. From and To count UTF-16 units; of what runs
// inside a string they are those of the string.
type CommandStep struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Text  string `json:"text"`
	Depth int    `json:"depth"`         // 0 for what stands in the command itself
	CWD   string `json:"cwd,omitempty"` // where it runs, when not where the session is; ? when that is computed
}

// RiskMark is one place that a person should look at.
type RiskMark struct {
	From   int          `json:"from"`
	To     int          `json:"to"`
	Kind   review.Risk  `json:"kind"`
	Level  review.Level `json:"level"`
	Reason string       `json:"reason"` // one English sentence
}

// FilePreview is what a tool would do to a file as it is now.
type FilePreview struct {
	State   review.ChangeState `json:"state"`
	Failing []FailingEdit      `json:"failing"`
	Drifted bool               `json:"drifted"` // changed after Claude last read or wrote it
	// Before and After are the lines that differ, with three around them; Line is
	// the number of the first, from 1, and 0 when there are none.
	Line            int    `json:"line"`
	Before          string `json:"before"`
	After           string `json:"after"`
	CRLF            bool   `json:"crlf"` // lines end with CR LF, and stay so
	NoNewlineBefore bool   `json:"no_newline_before"`
	NoNewlineAfter  bool   `json:"no_newline_after"`
	// How the lines of the file end; absent when with LF alone, or not at all.
	LineEndsBefore review.LineEnds `json:"line_ends_before,omitempty"`
	LineEndsAfter  review.LineEnds `json:"line_ends_after,omitempty"`
}

// FailingEdit is one edit of a tool that would fail.
type FailingEdit struct {
	Edit    int                `json:"edit"` // its place in the list, from 0
	Problem review.EditProblem `json:"problem"`
	Found   int                `json:"found"` // how often the text is there
}

// RulePreview is one rule of a suggestion, and what it would let through.
type RulePreview struct {
	Suggestion int             `json:"suggestion"` // its place in permission_suggestions
	Rule       string          `json:"rule"`
	Form       review.RuleForm `json:"form"`
	Text       string          `json:"text"`
	Level      review.Level    `json:"level"`
	Kind       review.Risk     `json:"kind,omitempty"` // why it is not low
	Reason     string          `json:"reason"`
	WouldAllow []string        `json:"would_allow"`
}

// WhyAsked says why Claude asks a person at all.
type WhyAsked struct {
	PermissionMode string        `json:"permission_mode"`
	Reason         string        `json:"reason"`       // as the CLI says it, "" when it says nothing
	BlockedPath    string        `json:"blocked_path"` // "" when none is
	Rules          []SettingRule `json:"rules"`        // of the settings, that speak of this call
	Uncovered      []string      `json:"uncovered"`    // simple commands that no allow rule covers
	Smallest       []string      `json:"smallest"`     // the narrowest rules that would stop it, none when no rule can
}

// SettingRule is a rule as it stands in a settings file of the CLI.
type SettingRule struct {
	Rule     string `json:"rule"`
	Behavior string `json:"behavior"` // allow, ask or deny
	Source   string `json:"source"`   // managed, user, project or local
}

// PreviewQuestion asks for the preview of a request with another input.
type PreviewQuestion struct {
	ToolInput json.RawMessage `json:"tool_input" validate:"required" ts:"unknown"`
}
