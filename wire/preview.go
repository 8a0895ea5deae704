package wire

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/review"
)

// Preview is what a person should know about a tool request before they decide. A tab shows the
// form without waiting for it, and fetches it afterwards.
type Preview struct {
	Level   review.Level    `json:"level"`             // the highest level of all marks, low without marks
	Command *CommandPreview `json:"command,omitempty"` // for Bash
	File    *FilePreview    `json:"file,omitempty"`    // for Write, Edit, MultiEdit and NotebookEdit
	Rules   []RulePreview   `json:"rules"`             // that permission_suggestions would add
	Why     *WhyAsked       `json:"why,omitempty"`     // absent in the preview of an edit
}

// CommandPreview is a command as a shell parses it.
type CommandPreview struct {
	Steps   []CommandStep `json:"steps"`
	Marks   []RiskMark    `json:"marks"`
	Problem string        `json:"problem"` // why it could not be parsed completely, else ""
}

// CommandStep is one simple command. From and To count UTF-16 units; for a command inside a
// string, they are those of the string.
type CommandStep struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Text  string `json:"text"`
	Depth int    `json:"depth"`         // 0 for a step of the command itself
	CWD   string `json:"cwd,omitempty"` // where it runs, if not in the session's folder; ? if that is computed
}

// RiskMark marks a part of the input that a person should check.
type RiskMark struct {
	From   int          `json:"from"`
	To     int          `json:"to"`
	Kind   review.Risk  `json:"kind"`
	Level  review.Level `json:"level"`
	Reason string       `json:"reason"` // one English sentence
}

// FilePreview is the effect of a tool on the current content of a file.
type FilePreview struct {
	State   review.ChangeState `json:"state"`
	Failing []FailingEdit      `json:"failing"`
	Drifted bool               `json:"drifted"` // changed after Claude last read or wrote it
	// Before and After are the lines that differ, with three lines of context. Line is the
	// number of the first line, from 1, or 0 if there are none.
	Line            int    `json:"line"`
	Before          string `json:"before"`
	After           string `json:"after"`
	CRLF            bool   `json:"crlf"` // lines end with CR LF, before and after
	NoNewlineBefore bool   `json:"no_newline_before"`
	NoNewlineAfter  bool   `json:"no_newline_after"`
	// The line endings of the file; absent if there is only LF, or none.
	LineEndsBefore review.LineEnds `json:"line_ends_before,omitempty"`
	LineEndsAfter  review.LineEnds `json:"line_ends_after,omitempty"`
}

// FailingEdit is one edit of a tool that would fail.
type FailingEdit struct {
	Edit    int                `json:"edit"` // its index in the list, from 0
	Problem review.EditProblem `json:"problem"`
	Found   int                `json:"found"` // how often the text occurs
}

// RulePreview is one rule of a suggestion, and what it would allow.
type RulePreview struct {
	Suggestion int             `json:"suggestion"` // its index in permission_suggestions
	Rule       string          `json:"rule"`
	Form       review.RuleForm `json:"form"`
	Text       string          `json:"text"`
	Level      review.Level    `json:"level"`
	Kind       review.Risk     `json:"kind,omitempty"` // why its risk is not low
	Reason     string          `json:"reason"`
	WouldAllow []string        `json:"would_allow"`
}

// WhyAsked explains why Claude asks.
type WhyAsked struct {
	PermissionMode string        `json:"permission_mode"`
	Reason         string        `json:"reason"`       // as the CLI reports it, "" if it reports none
	BlockedPath    string        `json:"blocked_path"` // "" when none is
	Rules          []SettingRule `json:"rules"`        // rules in the settings that apply to this call
	Uncovered      []string      `json:"uncovered"`    // simple commands that no allow rule covers
	Smallest       []string      `json:"smallest"`     // the narrowest rules that would prevent the request, empty if no rule can
}

// SettingRule is a rule in a settings file of the CLI.
type SettingRule struct {
	Rule     string `json:"rule"`
	Behavior string `json:"behavior"` // allow, ask or deny
	Source   string `json:"source"`   // managed, user, project or local
}

// PreviewQuestion requests the preview of a request with a different input.
type PreviewQuestion struct {
	ToolInput json.RawMessage `json:"tool_input" validate:"required" ts:"unknown"`
}
