// Package transcript builds the items of a session's transcript from the messages of
// the CLI. It does no I/O and starts no goroutine.
package transcript

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// Builder converts the messages of one CLI to transcript items. It remembers the
// tool calls that have no result yet, and little else. It is not safe for concurrent
// use.
type Builder struct {
	Memo
	block    session.Live    // the block that Claude is writing; valid while stream is set
	text     strings.Builder // text of block; appending copies only what is new
	stream   bool
	retryKey string // key of the note about the current series of API retries; "" for none
	// allowed has the inputs with which people let calls run, by tool_use id, until
	// the result. It is not part of Memo: an adopting server reads it from the requests.
	allowed map[string]AllowedInput

	// Free is set if the model costs nothing, as in a demo, whatever the CLI reports.
	Free bool
	// Ending is why the process is being ended, "" if it is not.
	Ending string
}

// Memo is what a builder must remember of earlier messages to continue. It is stored
// with the position in the journal, for a server that adopts the process.
type Memo struct {
	Calls  map[string]*Call `json:"calls"`           // by tool_use id, until its result
	Agents map[string]Agent `json:"agents"`          // subagents, by the agent id of the CLI
	Tasks  *TaskList        `json:"tasks,omitempty"` // nil before the first task
	// Touched has when Claude last read or wrote a file, by the path that Claude used, for
	// the latest maxTouched files.
	Touched map[string]time.Time `json:"touched,omitempty"`
	// Cost is the total in the last result, in millionths of a dollar; nil while it is
	// unknown.
	Cost *int64 `json:"cost,omitempty"`
	// Context is the number of input tokens of the last answer in the main thread of this
	// turn, 0 before the first answer. ContextModel is the model that answered.
	Context      int    `json:"context,omitempty"`
	ContextModel string `json:"context_model,omitempty"`
	// ContextTokens and ContextWindow are the tokens in the context and its size at the end
	// of the last turn.
	ContextTokens int `json:"context_tokens,omitempty"`
	ContextWindow int `json:"context_window,omitempty"`
	// Model is the model of the turn, named as in the turn's first message.
	Model string `json:"model,omitempty"`
	// Limits has the limits of the Claude account that the CLI has printed, by the CLI's names.
	Limits map[string]RateLimit `json:"limits,omitempty"`
	// Interrupt is the first interrupt of the current turn that the CLI did not refuse,
	// nil if nobody interrupted the turn.
	Interrupt *Interrupt `json:"interrupt,omitempty"`
}

// Agent is a subagent as people see it. The CLI identifies a subagent by an agent id
// in requests, and by the tool_use id of the call that started it in messages; the
// transcript uses the latter.
type Agent struct {
	ToolUseID string `json:"tool_use_id"`
	Name      string `json:"name"` // its type and task
}

// Change is what one message of the CLI changes.
type Change struct {
	Items          []session.Item
	Live           *session.Live // with LiveChanged: the block that is streamed or that has become an item, nil for none
	LiveChanged    bool
	SessionStarted bool // the CLI has a conversation that can be resumed
	Working        bool // a turn is running
	TurnEnded      bool
	Model          string         // "" if it did not change
	PermissionMode string         // "" if it did not change
	Finished       []FinishedCall // calls whose result has arrived
	Cost           int64          // since the end of the previous turn, in millionths of a dollar
}

// New returns a builder for a CLI that has printed nothing yet.
func New() *Builder {
	return &Builder{Memo: Memo{Calls: map[string]*Call{}, Agents: map[string]Agent{}}, allowed: map[string]AllowedInput{}}
}

// Restore makes the builder continue from the Memo of an earlier builder for the same CLI.
func (b *Builder) Restore(m Memo) {
	if m.Calls == nil {
		m.Calls = map[string]*Call{}
	}
	if m.Agents == nil {
		m.Agents = map[string]Agent{}
	}
	b.Memo = m
}

// Apply applies one message of the CLI. It keeps no reference to the message.
func (b *Builder) Apply(m claude.Message, now time.Time) Change {
	if system, ok := claude.AsSystem(m); ok {
		return b.applySystem(system, now)
	}
	switch m := m.(type) {
	case *claude.SystemInit:
		b.Model = m.Model
		return Change{SessionStarted: true, Working: true, Model: m.Model, PermissionMode: m.PermissionMode}
	case *claude.SystemStatus:
		return Change{PermissionMode: m.PermissionMode}
	case *claude.Assistant:
		return b.applyAssistant(m, now)
	case *claude.User:
		return b.applyUser(m, now)
	case *claude.StreamEvent:
		return b.applyStreamEvent(m, now)
	case *claude.Result:
		return b.applyResult(m, now)
	case *claude.RateLimitEvent:
		return b.applyRateLimit(m.Info, now)
	}
	return Change{}
}

// Allow records the input with which a person let a call run, and returns the item of the
// call if that changes the item.
func (b *Builder) Allow(toolUseID string, input AllowedInput) []session.Item {
	b.allowed[toolUseID] = input
	if c := b.Calls[toolUseID]; c != nil && c.allow(input) {
		return []session.Item{c.encoded()}
	}
	return nil
}

// UndoAllow undoes Allow, because the answer did not reach the CLI. It returns the item of the
// call if that changes the item.
func (b *Builder) UndoAllow(toolUseID string) []session.Item {
	delete(b.allowed, toolUseID)
	if c := b.Calls[toolUseID]; c != nil && c.restore() {
		return []session.Item{c.encoded()}
	}
	return nil
}

// RunningCalls iterates over the tool_use ids and tool names of the calls without a result.
func (b *Builder) RunningCalls() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for id, c := range b.Calls {
			if !yield(id, c.Tool.ToolName) {
				return
			}
		}
	}
}

// OldestCall returns the tool that has run longest, and since when: since the call was answered,
// if answeredAt knows the call, else since it was made. Subagents do not count.
func (b *Builder) OldestCall(answeredAt func(toolUseID string) (time.Time, bool)) (toolName string, since time.Time, runs bool) {
	for id, c := range b.Calls {
		started := c.Item.At
		if at, asked := answeredAt(id); asked {
			started = at
		}
		if c.Task == nil && (!runs || started.Before(since)) {
			toolName, since, runs = c.Tool.ToolName, started, true
		}
	}
	return toolName, since, runs
}

// Retrying reports whether the CLI is waiting to retry a request to the API.
func (b *Builder) Retrying() bool { return b.retryKey != "" }

// CloseCalls closes the calls of a turn that has ended, because they will get no result. It closes
// background calls only if all is set, because the process has ended.
func (b *Builder) CloseCalls(all bool) []session.Item {
	var items []session.Item
	for id, c := range b.Calls {
		if !all && c.mayOutliveTurn(b.Calls) {
			continue
		}
		delete(b.Calls, id)
		if c.showsInputOnly() {
			continue
		}
		c.Tool.Status, c.Tool.NoResult = session.ToolFailed, true
		if c.Task != nil {
			c.Task.Status, c.Task.NoResult = session.ToolFailed, true
		}
		items = append(items, c.encoded())
	}
	return items
}

func (b *Builder) applyAssistant(m *claude.Assistant, now time.Time) Change {
	agentID := m.ParentToolUseID
	// The message arrives as soon as its block is complete.
	streamed := b.stream && b.block.AgentID == agentID
	change := Change{Working: agentID == "", LiveChanged: streamed}
	b.noteContext(m)
	var thought time.Duration
	if streamed && b.block.Kind == session.ItemThinking {
		thought = now.Sub(b.block.Began)
	}
	b.stream, b.retryKey = b.stream && !streamed, "" // the API has answered
	for i, block := range m.Content {
		item := session.Item{Key: m.UUID + ":" + strconv.Itoa(i), At: now, AgentID: agentID}
		switch block.Type {
		case "text":
			if strings.TrimSpace(block.Text) == "" {
				continue
			}
			item.Kind, item.Body = session.ItemText, encodeText(block.Text)
			if m.Error != "" {
				if b.Ending != "" {
					continue // a consequence of ending the process
				}
				item.Kind, item.Body = session.ItemNote, Encode(session.NoteBody{Level: "error", Text: block.Text})
			}
		case "thinking":
			if block.Text == "" {
				continue
			}
			item.Kind, item.Body = session.ItemThinking, Encode(session.TextBody{Text: block.Text, Took: thought.Seconds()})
		case "tool_use":
			item = b.startCall(block, agentID, now)
		default:
			continue
		}
		change.Items = append(change.Items, item)
	}
	if streamed && len(change.Items) > 0 {
		b.block.Key = change.Items[0].Key
		change.Live = new(b.block)
	}
	return change
}

// startCall opens the item of a tool call.
func (b *Builder) startCall(block claude.ContentBlock, agentID string, now time.Time) session.Item {
	c := &Call{
		Item: session.Item{Key: "tool:" + block.ID, At: now, AgentID: agentID, Kind: session.ItemToolCall},
		Tool: session.ToolCallBody{ToolUseID: block.ID, ToolName: block.Name, Status: session.ToolRunning},
	}
	b.Calls[block.ID] = c
	c.setInput(block.Input)
	if input, known := b.allowed[block.ID]; known { // this server reads the line again
		c.allow(input)
	}
	return c.encoded()
}

// maxTouched bounds the files in Memo.Touched, which is stored with every change.
const maxTouched = 100

func (b *Builder) touch(file string, now time.Time) {
	if b.Touched == nil {
		b.Touched = map[string]time.Time{}
	}
	b.Touched[file] = now
	if len(b.Touched) <= maxTouched {
		return
	}
	oldest := file
	for name, at := range b.Touched {
		if at.Before(b.Touched[oldest]) {
			oldest = name
		}
	}
	delete(b.Touched, oldest)
}

func (b *Builder) applyUser(m *claude.User, now time.Time) Change {
	var change Change
	for i, block := range m.Content {
		switch block.Type {
		case "tool_result":
			change.Items = append(change.Items, b.finishCall(m, block, &change.Finished, now)...)
		case "text":
			// The item of a person's message was added when the message was sent; an echo adds nothing.
			if m.IsReplay || m.ParentToolUseID != "" || m.UUID == "" || strings.TrimSpace(block.Text) == "" {
				continue
			}
			text := block.Text
			if isInterruptionMarker(text) {
				if b.Ending != "" || b.Interrupt != nil && b.Interrupt.Noted {
					continue
				}
				text = statement.New("turn_interrupted")
				if b.Interrupt != nil {
					text, b.Interrupt.Noted = b.Interrupt.reason(), true
				}
			}
			change.Items = append(change.Items, Note(m.UUID+":"+strconv.Itoa(i), "info", text, now))
		}
	}
	return change
}

// finishCall applies the result of a call, and appends the call to finished.
func (b *Builder) finishCall(m *claude.User, block claude.ContentBlock, finished *[]FinishedCall, now time.Time) (items []session.Item) {
	c, done := b.Calls[block.ToolUseID], FinishedCall{ToolUseID: block.ToolUseID, Failed: block.IsError}
	if c != nil {
		done.ToolName, done.AgentID, done.Input = c.Tool.ToolName, c.Item.AgentID, c.Tool.Input
	}
	*finished = append(*finished, done)
	if c == nil {
		return nil
	}
	if c.Task != nil && launchedOnly(m.ToolUseResult) {
		c.Background = true
		return nil
	}
	delete(b.Calls, block.ToolUseID)
	delete(b.allowed, block.ToolUseID)
	if c.showsInputOnly() {
		return nil
	}
	status := session.ToolDone
	if block.IsError {
		status = session.ToolFailed
	} else if c.File != "" {
		b.touch(c.File, now)
	}
	if !block.IsError {
		c.Tool.Change = fileChange(c.Tool.ToolName, m.ToolUseResult)
	}
	text, size := block.ResultText(session.MaxShown)
	size += m.OmittedBytes
	if block.IsError {
		if shown := b.interruption().resultText(text); shown != text {
			text, size = shown, len(shown)
		}
	}
	if c.Task != nil {
		c.Task.Status, c.Task.Result = status, text
	}
	c.Tool.Status, c.Tool.Result, c.Tool.ResultBytes = status, text, size
	c.Tool.FinishedAt = float64(now.UnixMicro()) / 1e6
	items = append(items, c.encoded())
	if list, ok := b.updateTasks(c, m.ToolUseResult, now); ok {
		items = append(items, list)
	}
	return items
}

func (b *Builder) applyResult(m *claude.Result, now time.Time) Change {
	body := session.ResultBody{
		IsError: m.IsError, Subtype: m.Subtype, DurationMS: m.DurationMS, NumTurns: m.NumTurns,
		CostUSD: m.TotalCostUSD, InputTokens: m.Usage.InputTokens + m.Usage.CacheCreationInputTokens + m.Usage.CacheReadInputTokens,
		OutputTokens: m.Usage.OutputTokens,
	}
	if m.IsError {
		body.Text = truncate(b.interruption().errorText(m))
	}
	b.ContextTokens, b.ContextWindow = b.takeContext(m)
	body.ContextTokens, body.ContextWindow = b.ContextTokens, b.ContextWindow
	cost, known := b.turnCost(m)
	if b.Free {
		cost, known, body.CostUSD = 0, false, 0
	}
	if known {
		body.SpentUSD = new(float64(cost) / 1e6)
	}
	b.stream, b.retryKey = false, ""
	items := b.CloseCalls(false)
	// A refused interrupt had no part in a turn that succeeded.
	if b.Interrupt != nil && !(b.Interrupt.Refused && m.Subtype == "success") {
		items = append(items, b.NoteInterrupt(now)...)
	}
	b.Interrupt = nil
	items = append(items, session.Item{Key: m.UUID, At: now, Kind: session.ItemResult, Body: Encode(body)})
	return Change{TurnEnded: true, LiveChanged: true, Items: items, Cost: cost}
}

func (b *Builder) applySystem(m *claude.System, now time.Time) Change {
	var f struct {
		ToolUseID    string  `json:"tool_use_id"`
		TaskID       string  `json:"task_id"`
		Description  string  `json:"description"`
		SubagentType string  `json:"subagent_type"`
		Status       string  `json:"status"`
		Summary      string  `json:"summary"`
		Attempt      int     `json:"attempt"`
		MaxRetries   int     `json:"max_retries"`
		RetryDelayMS float64 `json:"retry_delay_ms"`
		ErrorStatus  int     `json:"error_status"`
		Content      string  `json:"content"`
		Level        string  `json:"level"`
	}
	_ = json.Unmarshal(m.Raw, &f) // a field of an unexpected type is not shown
	note := func(key, level, text string) Change {
		return Change{Items: []session.Item{Note(key, level, text, now)}}
	}
	switch m.Subtype {
	case "task_started":
		b.Agents[f.TaskID] = Agent{ToolUseID: f.ToolUseID, Name: strings.Trim(f.SubagentType+": "+f.Description, ": ")}
	case "task_notification":
		c := b.Calls[f.ToolUseID]
		if c == nil || !c.Background {
			return Change{} // a foreground task ends with its tool_result
		}
		delete(b.Calls, f.ToolUseID)
		delete(b.Agents, f.TaskID)
		c.Task.Status, c.Task.Result = session.ToolDone, truncate(f.Summary)
		if f.Status != "completed" {
			c.Task.Status = session.ToolFailed
		}
		return Change{Items: []session.Item{c.encoded()}}
	case "api_retry":
		// Each series of retries has one note, which is kept up to date.
		if f.Attempt <= 1 || b.retryKey == "" {
			b.retryKey = m.UUID
		}
		seconds := strconv.FormatFloat(f.RetryDelayMS/1000, 'f', 0, 64)
		text := ""
		switch f.ErrorStatus {
		case 0:
			text = statement.New("retry_connection", "seconds", seconds, "attempt", f.Attempt, "max", f.MaxRetries)
		case 429:
			text = statement.New("retry_throttled", "seconds", seconds, "attempt", f.Attempt, "max", f.MaxRetries)
		case 529:
			text = statement.New("retry_overloaded", "seconds", seconds, "attempt", f.Attempt, "max", f.MaxRetries)
		default:
			text = statement.New("retry_status", "status", f.ErrorStatus, "seconds", seconds, "attempt", f.Attempt, "max", f.MaxRetries)
		}
		return note(b.retryKey, "warning", text)
	case "compact_boundary":
		b.Context, b.ContextModel = 0, "" // they were counted before the summary
		return Change{Items: []session.Item{compactionNote(m, now)}}
	case "informational", "local_command_output":
		if f.Content != "" {
			level := f.Level
			if level != "warning" && level != "error" {
				level = "info"
			}
			return note(m.UUID, level, f.Content)
		}
	}
	return Change{}
}

// applyStreamEvent follows the block that the model is writing.
func (b *Builder) applyStreamEvent(m *claude.StreamEvent, now time.Time) Change {
	switch m.EventType {
	case "content_block_start":
		var start struct {
			Block struct {
				Name string `json:"name"`
			} `json:"content_block"`
		}
		b.block = session.Live{AgentID: m.ParentToolUseID, Began: now}
		b.text.Reset()
		switch m.BlockType {
		case "text":
			b.block.Kind = session.ItemText
		case "thinking":
			b.block.Kind = session.ItemThinking
		case "tool_use":
			_ = json.Unmarshal(m.Event, &start) // a block without a name is shown as a tool
			b.block.Kind, b.block.Tool = session.ItemToolCall, start.Block.Name
		default:
			return Change{}
		}
		b.stream = true
	case "content_block_delta":
		if !b.stream || m.ParentToolUseID != b.block.AgentID || m.Text == "" || len(b.block.Text) > session.MaxShown {
			return Change{}
		}
		// Appended text has whole characters, so that it can be sent without the text before it.
		b.text.WriteString(strings.ToValidUTF8(m.Text, "\uFFFD"))
		b.block.Text = b.text.String()
	default:
		return Change{}
	}
	return Change{Working: m.ParentToolUseID == "", Live: new(b.block), LiveChanged: true}
}
