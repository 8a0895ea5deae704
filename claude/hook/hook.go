// Package hook implements the protocol of the hooks in Claude Code's settings, so that the
// questions of a CLI in a person's terminal can also be answered elsewhere.
// docs/contributing/claude-cli.md describes the protocol.
//
// The CLI runs a PermissionRequest hook while it shows its own dialog, and the first answer
// counts. It ends the hook with SIGTERM if the person denies the request in the dialog, but
// does not tell the hook about any other answer: [Await] detects those.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Names of hooks.
const (
	PermissionRequest = "PermissionRequest" // a dialog opens; the output may answer it
	Notification      = "Notification"      // the CLI wants attention
)

// maxInput bounds a hook's input, in bytes.
const maxInput = 64 << 20

// Input is the input of a hook on stdin. Fields of other hooks are empty.
type Input struct {
	Name           string `json:"hook_event_name"` // of the hook
	SessionID      string `json:"session_id"`
	TranscriptPath string `json:"transcript_path"`
	CWD            string `json:"cwd"`
	PermissionMode string `json:"permission_mode"`
	AgentID        string `json:"agent_id"` // of a subagent
	AgentType      string `json:"agent_type"`

	ToolName              string          `json:"tool_name"`
	ToolInput             json.RawMessage `json:"tool_input"`
	ToolUseID             string          `json:"tool_use_id"` // not with PermissionRequest
	PermissionSuggestions json.RawMessage `json:"permission_suggestions"`

	Message          string `json:"message"` // of a Notification
	NotificationType string `json:"notification_type"`

	At time.Time `json:"-"` // when the input was read
}

// Read reads the input of a hook, up to 64 MiB.
func Read(r io.Reader) (Input, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return Input{}, fmt.Errorf("hook: read the input: %w", err)
	}
	if len(data) > maxInput {
		return Input{}, errors.New("hook: the input is too large")
	}
	in := Input{At: time.Now()}
	if err := json.Unmarshal(data, &in); err != nil {
		return Input{}, fmt.Errorf("hook: read the input: %w", err)
	}
	return in, nil
}

// Decision answers a dialog.
type Decision struct {
	Allow              bool
	Message            string          // the reason, for the model
	Interrupt          bool            // with a denial: also end the turn
	UpdatedInput       json.RawMessage // to run instead; nil for the original
	UpdatedPermissions json.RawMessage // rules to grant, a list; nil for none
	// Answers are the answers to AskUserQuestion, by the text of the question.
	Answers map[string]string
}

// Output returns the output with which a PermissionRequest hook answers the dialog.
func Output(in Input, d Decision) ([]byte, error) {
	type decision struct {
		Behavior           string          `json:"behavior"`
		Message            string          `json:"message,omitempty"`
		Interrupt          bool            `json:"interrupt,omitempty"`
		UpdatedInput       json.RawMessage `json:"updatedInput,omitempty"`
		UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
	}
	said := decision{Behavior: "deny", Message: d.Message, Interrupt: d.Interrupt}
	if d.Allow {
		said = decision{Behavior: "allow", UpdatedInput: d.UpdatedInput, UpdatedPermissions: d.UpdatedPermissions}
	}
	if d.Allow && len(d.Answers) > 0 {
		// The tool's own input with the answers added.
		input := map[string]json.RawMessage{}
		if err := json.Unmarshal(in.ToolInput, &input); err != nil {
			return nil, fmt.Errorf("hook: put answers into the input: %w", err)
		}
		answers, err := json.Marshal(d.Answers)
		if err != nil {
			return nil, fmt.Errorf("hook: encode answers: %w", err)
		}
		input["answers"] = answers
		if said.UpdatedInput, err = json.Marshal(input); err != nil {
			return nil, fmt.Errorf("hook: encode answers: %w", err)
		}
	}
	out, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": PermissionRequest, "decision": said,
	}})
	if err != nil {
		return nil, fmt.Errorf("hook: encode the decision: %w", err)
	}
	return append(out, '\n'), nil
}

// InTerminal reports whether the CLI that runs this hook shows its dialogs in a terminal. It is
// false if a program drives the CLI, which shows the questions itself, and with -p, where there
// is nobody to ask. getenv is os.Getenv.
func InTerminal(getenv func(string) string) bool {
	entry := getenv("CLAUDE_CODE_ENTRYPOINT")
	return entry == "" || entry == "cli"
}
