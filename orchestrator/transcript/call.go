package transcript

import (
	"cmp"
	"encoding/json"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Call is a tool call that has no result yet. Its fields are stored; see [Memo].
type Call struct {
	Item session.Item          `json:"item"`
	Tool session.ToolCallBody  `json:"tool"`
	Task *session.SubagentBody `json:"task,omitempty"` // set for a tool that runs a subagent
	// Background is set once a result has reported only that the subagent was launched. The
	// call then outlives its turn, until the CLI reports how the subagent ended.
	Background bool `json:"background,omitempty"`
	// File is the path that the tool reads or writes, "" for other tools.
	File string `json:"file,omitempty"`
	// Edit is set if Tool has another input than Claude proposed.
	Edit *session.InputEdit `json:"edit,omitempty"`
	// ProposedBytes is the size of the proposed input when Edit is set.
	ProposedBytes int `json:"proposed_bytes,omitempty"`
}

// FinishedCall is a tool call that has its result.
type FinishedCall struct {
	ToolUseID string
	ToolName  string          // "" when unknown
	AgentID   string          // the subagent that made the call, "" for the main thread
	Input     json.RawMessage // nil if it was too large to keep
	Failed    bool
}

// AllowedInput is the input with which a person let a call run.
type AllowedInput struct {
	input json.RawMessage // nil if larger than session.MaxShown
	bytes int             // size of the whole input
	by    string          // who edited the input, "" if nobody did
}

// InputAllowedBy returns the input with which the answer to a request lets a call run. ok is
// false if the answer does not approve a tool call.
func InputAllowedBy(r pending.Request) (input AllowedInput, ok bool) {
	if r.Status != pending.Answered || r.Resolution == nil || r.Resolution.Answer == nil || r.RequestType != pending.ToolApproval {
		return AllowedInput{}, false
	}
	if edited := r.Resolution.Answer.UpdatedInput; edited != nil {
		return AllowedInput{session.TruncateInput(edited), len(edited), r.ResolvedBy()}, true
	}
	return AllowedInput{session.TruncateInput(r.ToolInput), len(r.ToolInput), ""}, true
}

// subagentTools lists the tools that run subagents. The CLI renamed the tool between versions.
var subagentTools = map[string]bool{"Task": true, "Agent": true}

var fileTools = map[string]bool{"Read": true, "Write": true, "Edit": true, "MultiEdit": true, "NotebookEdit": true, "NotebookRead": true}

// setInput sets the input of the call, and everything that the item shows of it.
func (c *Call) setInput(input json.RawMessage) {
	c.Item.Kind, c.Item.Body, c.Task, c.File = session.ItemToolCall, nil, nil, ""
	c.Tool.Input, c.Tool.InputBytes = append(json.RawMessage(nil), session.TruncateInput(input)...), len(input)
	// A map, because the names in the tags of a struct match in any case, and the CLI's do not.
	var in map[string]json.RawMessage
	_ = json.Unmarshal(input, &in) // missing fields are shown as missing
	text := func(name string) (s string) {
		_ = json.Unmarshal(in[name], &s)
		return s
	}
	if fileTools[c.Tool.ToolName] {
		c.File = cmp.Or(text("file_path"), text("notebook_path"))
	}
	switch {
	case subagentTools[c.Tool.ToolName] && input != nil:
		c.Item.Kind = session.ItemSubagent
		c.Task = &session.SubagentBody{AgentID: c.Tool.ToolUseID, AgentType: text("subagent_type"), Description: text("description"), Status: session.ToolRunning}
	case c.Tool.ToolName == "TodoWrite":
		var todos []session.Todo
		if json.Unmarshal(in["todos"], &todos) == nil && len(todos) > 0 {
			c.Item.Kind, c.Item.Body = session.ItemTodo, Encode(session.TodoBody{Todos: todos, InputEdit: c.inputEdit()})
		}
	case c.Tool.ToolName == "ExitPlanMode":
		if plan := text("plan"); plan != "" {
			c.Item.Kind, c.Item.Body = session.ItemPlan, Encode(session.PlanBody{Text: plan, InputEdit: c.inputEdit()})
		}
	}
}

// allow shows the input with which the call was allowed, and reports whether that input differs
// from the one that Claude proposed.
func (c *Call) allow(allowed AllowedInput) bool {
	proposed := c.Tool.Input
	if c.Edit != nil {
		proposed = c.Edit.ProposedInput
	}
	// The CLI itself adds the plan to the input of ExitPlanMode. Inputs that were too large to
	// keep cannot be compared.
	if allowed.by == "" && (c.Tool.ToolName == "ExitPlanMode" || proposed == nil || allowed.input == nil || SameInput(proposed, allowed.input)) {
		return false
	}
	if c.Edit == nil {
		c.ProposedBytes = c.Tool.InputBytes
	}
	c.Edit = &session.InputEdit{Edited: true, EditedBy: allowed.by, ProposedInput: proposed}
	c.setInput(allowed.input)
	c.Tool.InputBytes = allowed.bytes
	return true
}

// restore shows the proposed input again, because the edited input never reached the CLI. It
// reports whether there was an edit.
func (c *Call) restore() bool {
	if c.Edit == nil {
		return false
	}
	proposed := c.Edit.ProposedInput
	c.Edit = nil
	c.setInput(proposed)
	c.Tool.InputBytes = c.ProposedBytes
	return true
}

func (c *Call) inputEdit() session.InputEdit {
	if c.Edit == nil {
		return session.InputEdit{}
	}
	return *c.Edit
}

// showsInputOnly reports whether the item of the call shows its input but not its result.
func (c *Call) showsInputOnly() bool {
	return c.Item.Kind == session.ItemPlan || c.Item.Kind == session.ItemTodo
}

func (c *Call) encoded() session.Item {
	item := c.Item
	switch {
	case c.showsInputOnly():
	case c.Task != nil:
		body := *c.Task
		body.InputEdit = c.inputEdit()
		item.Body = Encode(body)
	default:
		body := c.Tool
		body.InputEdit = c.inputEdit()
		item.Body = Encode(body)
	}
	return item
}

// mayOutliveTurn reports whether a call launched a subagent in the background, or was made by
// such a subagent.
func (c *Call) mayOutliveTurn(calls map[string]*Call) bool {
	if c.Background {
		return true
	}
	parent := calls[c.Item.AgentID]
	return parent != nil && parent != c && parent.mayOutliveTurn(calls)
}

// launchedOnly reports whether the result of a subagent call only reports that the subagent now
// works in the background.
func launchedOnly(result json.RawMessage) bool {
	var r struct {
		IsAsync bool   `json:"isAsync"`
		Status  string `json:"status"`
	}
	return json.Unmarshal(result, &r) == nil && (r.IsAsync || r.Status == "async_launched")
}
