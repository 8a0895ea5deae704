package session

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// The bodies of transcript items. Their JSON names are those of the stored
// column and of the wire.

// UserBody is the body of an [ItemUser].
type UserBody struct {
	Text        string           `json:"text"`
	Attachments []AttachmentInfo `json:"attachments,omitempty"`
	By          string           `json:"by,omitempty"` // name of the person
	// Snapshot names the state of the session's folder before the message, if it was stored.
	Snapshot string `json:"snapshot,omitempty"`
}

// AttachmentInfo names an attachment without its bytes.
type AttachmentInfo struct {
	AttachmentID string `json:"attachment_id,omitempty"` // absent when its bytes were not stored
	Name         string `json:"name"`
	MediaType    string `json:"media_type"`
	Size         int    `json:"size"` // bytes
}

// InputEdit records that a call ran with a different input from the one that Claude proposed. The
// rest of the body describes the input that ran.
type InputEdit struct {
	Edited bool `json:"edited,omitempty"`
	// EditedBy is the person who edited it with their approval; "" when the CLI changed
	// Claude's input, as its hooks can.
	EditedBy string `json:"edited_by,omitempty"`
	// ProposedInput is absent when larger than MaxShown.
	ProposedInput json.RawMessage `json:"proposed_input,omitempty"`
}

// PlanBody is the body of an [ItemPlan].
type PlanBody struct {
	Text string `json:"text"`
	InputEdit
}

// TextBody is the body of an [ItemText] or [ItemThinking].
type TextBody struct {
	Text string  `json:"text"`
	Took float64 `json:"took,omitempty"` // seconds of thinking; absent when its start is unknown
}

// ToolStatus is the state of a tool call.
type ToolStatus string

const (
	ToolRunning ToolStatus = "running"
	ToolDone    ToolStatus = "done"
	ToolFailed  ToolStatus = "failed"
)

// ToolCallBody is the body of an [ItemToolCall]. Input and Result are truncated to MaxShown
// bytes; the Bytes fields are the true sizes.
type ToolCallBody struct {
	ToolUseID   string          `json:"tool_use_id"`
	ToolName    string          `json:"tool_name"`
	Input       json.RawMessage `json:"input,omitempty"` // absent when larger than MaxShown
	InputBytes  int             `json:"input_bytes"`
	Status      ToolStatus      `json:"status"`
	NoResult    bool            `json:"no_result,omitempty"` // with ToolFailed: the turn or the process ended first, so the call may not have run
	Result      string          `json:"result,omitempty"`
	ResultBytes int             `json:"result_bytes"`
	FinishedAt  float64         `json:"finished_at,omitempty"` // Unix seconds
	Change      *FileChange     `json:"change,omitempty"`      // its effect on a file; absent when unknown
	InputEdit
}

// FileChange is the effect on a file, in lines, including edits by a person.
type FileChange struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// MaxShown bounds the stored part of one tool input or result, in bytes. Tabs show all of it, so
// it must not exceed what a person can read.
const MaxShown = 64 << 10

// TruncateInput returns the input, or nil if it is larger than MaxShown.
func TruncateInput(input json.RawMessage) json.RawMessage {
	if len(input) > MaxShown {
		return nil
	}
	return input
}

// TodoBody is the body of an [ItemTodo].
type TodoBody struct {
	Todos []Todo `json:"todos"`
	InputEdit
}

// Todo is one entry of Claude's todo list.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed
}

// SubagentBody is the body of an [ItemSubagent]. The items of the subagent have the same AgentID.
type SubagentBody struct {
	AgentID     string     `json:"agent_id"`
	AgentType   string     `json:"agent_type,omitempty"`
	Description string     `json:"description,omitempty"`
	Status      ToolStatus `json:"status"`
	NoResult    bool       `json:"no_result,omitempty"` // as in [ToolCallBody]
	Result      string     `json:"result,omitempty"`
	InputEdit
}

// NoteBody is the body of an [ItemNote].
type NoteBody struct {
	Level string `json:"level"` // info, warning, error
	Text  string `json:"text"`
	// Reasons holds the reason of "text" if the text is one of sayso's statements.
	Reasons map[string]statement.Reason `json:"reasons,omitempty"`
	// Compaction is set if the note says that the CLI summarized the conversation.
	Compaction *Compaction `json:"compaction,omitempty"`
}

// Compaction describes how a summary replaced the conversation in the context.
type Compaction struct {
	Before int  `json:"before"` // tokens in the context before; 0 when unknown
	After  int  `json:"after"`  // tokens in the context after; 0 when unknown
	Manual bool `json:"manual"` // a person asked for it
}

// RecordKey returns the Key of the [ItemResolved] of a request.
func RecordKey(requestID string) string { return "request:" + requestID }

// ResolvedBody is the body of an [ItemResolved].
type ResolvedBody struct {
	RequestID   string          `json:"request_id"`
	RequestType string          `json:"request_type"`
	ToolName    string          `json:"tool_name"`
	ToolInput   json.RawMessage `json:"tool_input,omitempty"`  // with Edited, the approved input; absent when larger than MaxShown
	ToolUseID   string          `json:"tool_use_id,omitempty"` // the call that waited for it
	Outcome     string          `json:"outcome"`               // a final pending.Status
	By          string          `json:"by,omitempty"`
	Device      string          `json:"device,omitempty"`
	Summary     string          `json:"summary"` // one sentence
	// Reasons holds the reason of "summary" if that is one of sayso's statements.
	Reasons map[string]statement.Reason `json:"reasons,omitempty"`
	Message string                      `json:"message,omitempty"`
	Edited  bool                        `json:"edited,omitempty"`
	// ProposedInput is the original input, with Edited; absent when larger than MaxShown.
	ProposedInput json.RawMessage `json:"proposed_input,omitempty"`
	Carried       bool            `json:"carried,omitempty"` // the person answered an earlier process, which has died
	Waited        float64         `json:"waited"`            // seconds
}

// ResolvedItem returns the permanent record of a request that has ended. agentID is the agent
// that asked, as the transcript names it.
func ResolvedItem(r pending.Request, agentID string, now time.Time) Item {
	body := ResolvedBody{
		RequestID: r.RequestID, RequestType: string(r.RequestType), ToolName: r.ToolName, ToolUseID: r.AskerToolUseID,
		Outcome: string(r.Status), By: r.ResolvedBy(), Device: r.Resolution.Actor.Device,
		Carried: r.Resolution.CarriedFrom != "",
		Summary: r.Resolution.Reason, Waited: now.Sub(r.CreatedAt).Seconds(),
	}
	body.ToolInput = TruncateInput(r.ToolInput)
	if a := r.Resolution.Answer; a != nil {
		body.Summary, body.Message, body.Edited = a.Summary(r), a.Message, a.UpdatedInput != nil
		if body.Edited {
			body.ToolInput, body.ProposedInput = TruncateInput(a.UpdatedInput), body.ToolInput
		}
	}
	body.Reasons = statement.Reasons("summary", body.Summary)
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("session: encode a record: %v", err)) // never fails for texts, numbers and stored JSON
	}
	return Item{Key: RecordKey(r.RequestID), At: now, Kind: ItemResolved, AgentID: agentID, Body: encoded}
}

// ResultBody is the body of an [ItemResult], the end of a turn.
type ResultBody struct {
	IsError      bool    `json:"is_error"`
	Subtype      string  `json:"subtype"` // as the CLI names it: success, error_during_execution, …
	Text         string  `json:"text,omitempty"`
	DurationMS   float64 `json:"duration_ms"`
	NumTurns     int     `json:"num_turns"`
	CostUSD      float64 `json:"cost_usd"` // of the process so far
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	// SpentUSD is the cost of this turn; absent when unknown.
	SpentUSD *float64 `json:"spent_usd,omitempty"`
	// ContextTokens is the input of the main thread's last response, of the model's
	// ContextWindow. Both are absent if no model responded, or if the conversation was compacted
	// since.
	ContextTokens int `json:"context_tokens,omitempty"`
	ContextWindow int `json:"context_window,omitempty"`
}
