package orchestrator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// scribe turns what a CLI says into items of the transcript, in our words. It
// remembers the tool calls that have no result yet, and nothing else of what
// was said. It is used under the lock of its process.
type scribe struct {
	memo
	block    session.Live // the block that grows, when growing
	growing  bool
	retryKey string // of the note about the present bout of API retries
	// allowed are the inputs that people let calls run with, by tool_use id, until the
	// result. A server that adopts the process has them from the requests.
	allowed map[string]allowed

	ending string // why the process is being ended, "" while it is not
}

// memo is what must be known of the output so far to go on reading it; a server
// that adopts the process gets it from the one before.
type memo struct {
	Calls    map[string]*call     `json:"calls"`              // by tool_use id, until its result
	Agents   map[string]agent     `json:"agents"`             // subagents, by the agent id of the CLI
	Answered map[string]answered  `json:"answered"`           // by tool_use id, until its result
	Elicited map[string]*elicited `json:"elicited,omitempty"` // by request id of the CLI, until answered
	Begun    bool                 `json:"begun"`              // Claude knows the conversation
	Tasks    *taskList            `json:"tasks,omitempty"`    // nil before the first task
	// Touched is when Claude last read or wrote a file, by its path as Claude gave
	// it: the last maxTouched of them.
	Touched map[string]time.Time `json:"touched,omitempty"`
	// Sending is the message for which the present turn was begun, "" when none was.
	Sending string `json:"sending,omitempty"`
	// Spoke: Claude has been heard since that turn was begun.
	Spoke bool `json:"spoke,omitempty"`
	// Ended is the message whose turn has ended last.
	Ended string `json:"ended,omitempty"`
	// Cost is the total of the last result, in millionths of a dollar; nil while
	// nothing is known of it.
	Cost *int64 `json:"cost,omitempty"`
	// Context is how many tokens the last answer of the main thread in this turn was
	// given, 0 before one, and ContextModel the model that gave it.
	Context      int    `json:"context,omitempty"`
	ContextModel string `json:"context_model,omitempty"`
	// Model is that of the turn as its beginning names it.
	Model string `json:"model,omitempty"`
	// SparedBy is who had Claude ask nobody, a user id; see endSparing.
	SparedBy string `json:"spared_by,omitempty"`
	// Interrupt is the first interrupt of the present turn that the CLI did not refuse,
	// nil when nobody interrupted it.
	Interrupt *interrupt `json:"interrupt,omitempty"`
}

// answered is a request whose answer was given to the CLI.
type answered struct {
	RequestID string    `json:"request_id"`
	ToolName  string    `json:"tool_name"`
	At        time.Time `json:"at"`
}

// allowed is the input that a person let a call run with.
type allowed struct {
	input json.RawMessage // nil when larger than session.MaxShown
	bytes int
	by    string // who edited it, "" when nobody did
}

// allowedBy is what an answer lets run; ok is false when it is nothing of the kind.
func allowedBy(r pending.Request) (what allowed, ok bool) {
	if r.Status != pending.Answered || r.Resolution == nil || r.Resolution.Answer == nil || r.RequestType != pending.ToolApproval {
		return allowed{}, false
	}
	if edited := r.Resolution.Answer.UpdatedInput; edited != nil {
		return allowed{session.Shown(edited), len(edited), r.ResolvedBy()}, true
	}
	return allowed{session.Shown(r.ToolInput), len(r.ToolInput), ""}, true
}

type call struct {
	Item session.Item          `json:"item"`
	Tool session.ToolCallBody  `json:"tool"`
	Task *session.SubagentBody `json:"task,omitempty"` // for a tool that runs a subagent
	// Background: its result came at once and said only that it was launched, so
	// it lives on beyond the turn until the CLI says how it ended.
	Background bool `json:"background,omitempty"`
	// File is what it reads or writes, for the tools that do so with one file.
	File string `json:"file,omitempty"`
	// Edit says that Tool is about another input than the proposed one.
	Edit *session.InputEdit `json:"edit,omitempty"`
	// ProposedBytes is the size of the proposed input then.
	ProposedBytes int `json:"proposed_bytes,omitempty"`
}

// agent is a subagent as people know it. The CLI names it by an id of its own
// when it asks, and by the tool_use id of the call that started it when it
// speaks; the transcript uses the latter.
type agent struct {
	ToolUseID string `json:"tool_use_id"`
	Name      string `json:"name"` // its kind and what it was sent to do
}

// heard is what one message of the CLI means.
type heard struct {
	items          []session.Item
	live           *session.Live // when liveChanged: nil when nothing grows any more
	liveChanged    bool
	working        bool // a turn goes on
	turnEnded      bool
	model          string
	permissionMode string
	consumed       []string   // tool_use ids whose result came out
	over           []overCall // the same calls
	spent          int64      // since the turn before, in millionths of a dollar
}

// overCall is a tool call that has its result.
type overCall struct {
	toolUseID string
	tool      string          // its name, "" when it is unknown
	agentID   string          // of the subagent that made it, "" for the main thread
	input     json.RawMessage // nil when it was too large to keep
	failed    bool
}

func (s *scribe) init() {
	s.Calls = map[string]*call{}
	s.Agents = map[string]agent{}
	s.Answered = map[string]answered{}
	s.Elicited = map[string]*elicited{}
	s.allowed = map[string]allowed{}
}

// recall takes over what the reader before remembered.
func (s *scribe) recall(text []byte) error {
	s.init()
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &s.memo); err != nil {
		return fmt.Errorf("orchestrator: recall: %w", err)
	}
	for _, e := range s.Elicited {
		e.abandoned = make(chan struct{})
	}
	return nil
}

// taskTools run subagents; the name changed over the versions of the CLI.
var taskTools = map[string]bool{"Task": true, "Agent": true}

// write takes in one message. Nothing of the message is kept but copies.
func (s *scribe) write(m claude.Message, now time.Time) heard {
	switch m := m.(type) {
	case *claude.SystemInit:
		s.Begun, s.Model = true, m.Model
		return heard{working: true, model: m.Model, permissionMode: m.PermissionMode}
	case *claude.SystemStatus:
		return heard{permissionMode: m.PermissionMode}
	case *claude.System:
		return s.system(m, now)
	case *claude.Assistant:
		return s.assistant(m, now)
	case *claude.User:
		return s.user(m, now)
	case *claude.StreamEvent:
		return s.grow(m, now)
	case *claude.Result:
		return s.result(m, now)
	case *claude.Other:
		return s.other(m, now)
	}
	return heard{}
}

func (s *scribe) assistant(m *claude.Assistant, now time.Time) heard {
	h := heard{working: m.ParentToolUseID == "", live: nil, liveChanged: s.growing}
	agentID := m.ParentToolUseID
	s.answeredWith(m)
	// The message comes as soon as its block is whole.
	var thought time.Duration
	if s.growing && s.block.Kind == session.ItemThinking && s.block.AgentID == agentID {
		thought = now.Sub(s.block.Began)
	}
	s.growing, s.retryKey = false, "" // the API has answered
	for i, b := range m.Content {
		key := m.UUID + ":" + strconv.Itoa(i)
		item := session.Item{Key: key, At: now, AgentID: agentID}
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			item.Kind, item.Body = session.ItemText, encodeText(b.Text)
			if m.Error != "" {
				if s.ending != "" {
					continue // what it makes of being ended
				}
				item.Kind, item.Body = session.ItemNote, encode(session.NoteBody{Level: "error", Text: b.Text})
			}
		case "thinking":
			if b.Text == "" {
				continue
			}
			item.Kind, item.Body = session.ItemThinking, encode(session.TextBody{Text: b.Text, Took: thought.Seconds()})
		case "tool_use":
			item = s.begin(b, agentID, now)
		default:
			continue
		}
		h.items = append(h.items, item)
	}
	return h
}

// begin opens the item of a tool call.
func (s *scribe) begin(b claude.ContentBlock, agentID string, now time.Time) session.Item {
	c := &call{
		Item: session.Item{Key: "tool:" + b.ID, At: now, AgentID: agentID, Kind: session.ItemToolCall},
		Tool: session.ToolCallBody{ToolUseID: b.ID, ToolName: b.Name, Status: session.ToolRunning},
	}
	s.Calls[b.ID] = c
	c.read(b.Input)
	if with, known := s.allowed[b.ID]; known { // the line is read again
		c.runs(with)
	}
	return c.encoded()
}

// read takes what is shown of a call from its input.
func (c *call) read(input json.RawMessage) {
	c.Item.Kind, c.Item.Body, c.Task, c.File = session.ItemToolCall, nil, nil, ""
	c.Tool.Input, c.Tool.InputBytes = append(json.RawMessage(nil), session.Shown(input)...), len(input)
	if fileTools[c.Tool.ToolName] {
		var in struct {
			FilePath     string `json:"file_path"`
			NotebookPath string `json:"notebook_path"`
		}
		_ = json.Unmarshal(input, &in) // what is missing is not remembered
		c.File = cmp.Or(in.FilePath, in.NotebookPath)
	}
	switch {
	case taskTools[c.Tool.ToolName] && input != nil:
		var task struct {
			Description  string `json:"description"`
			SubagentType string `json:"subagent_type"`
		}
		_ = json.Unmarshal(input, &task) // what is missing is shown as missing
		c.Item.Kind = session.ItemSubagent
		c.Task = &session.SubagentBody{AgentID: c.Tool.ToolUseID, AgentType: task.SubagentType, Description: task.Description, Status: session.ToolRunning}
	case c.Tool.ToolName == "TodoWrite":
		var list struct {
			Todos []session.Todo `json:"todos"`
		}
		if json.Unmarshal(input, &list) == nil && len(list.Todos) > 0 {
			c.Item.Kind, c.Item.Body = session.ItemTodo, encode(session.TodoBody{Todos: list.Todos, InputEdit: c.edit()})
		}
	case c.Tool.ToolName == "ExitPlanMode":
		var plan struct {
			Plan string `json:"plan"`
		}
		if json.Unmarshal(input, &plan) == nil && plan.Plan != "" {
			c.Item.Kind, c.Item.Body = session.ItemPlan, encode(session.PlanBody{Text: plan.Plan, InputEdit: c.edit()})
		}
	}
}

// runs makes the call one of the input that it was allowed with, and reports whether
// that is another than Claude proposed.
func (c *call) runs(with allowed) bool {
	proposed := c.Tool.Input
	if c.Edit != nil {
		proposed = c.Edit.ProposedInput
	}
	// The CLI itself puts the plan into the call that presents it, and of what is not
	// kept nothing can be said.
	if with.by == "" && (c.Tool.ToolName == "ExitPlanMode" || proposed == nil || with.input == nil || sameInput(proposed, with.input)) {
		return false
	}
	if c.Edit == nil {
		c.ProposedBytes = c.Tool.InputBytes
	}
	c.Edit = &session.InputEdit{Edited: true, EditedBy: with.by, ProposedInput: proposed}
	c.read(with.input)
	c.Tool.InputBytes = with.bytes
	return true
}

// restore makes the call again what Claude proposed, since what was to run instead
// never reached it. It reports whether there was anything to restore.
func (c *call) restore() bool {
	if c.Edit == nil {
		return false
	}
	proposed := c.Edit.ProposedInput
	c.Edit = nil
	c.read(proposed)
	c.Tool.InputBytes = c.ProposedBytes
	return true
}

func (c *call) edit() session.InputEdit {
	if c.Edit == nil {
		return session.InputEdit{}
	}
	return *c.Edit
}

// said reports whether the input of the call is all that is shown of it, and its
// result says nothing.
func (c *call) said() bool { return c.Item.Kind == session.ItemPlan || c.Item.Kind == session.ItemTodo }

// maxTouched bounds what is remembered of files: it is written with every step.
const maxTouched = 100

var fileTools = map[string]bool{"Read": true, "Write": true, "Edit": true, "MultiEdit": true, "NotebookEdit": true, "NotebookRead": true}

func (s *scribe) touch(file string, now time.Time) {
	if s.Touched == nil {
		s.Touched = map[string]time.Time{}
	}
	s.Touched[file] = now
	if len(s.Touched) <= maxTouched {
		return
	}
	oldest := file
	for name, at := range s.Touched {
		if at.Before(s.Touched[oldest]) {
			oldest = name
		}
	}
	delete(s.Touched, oldest)
}

func (c *call) encoded() session.Item {
	item := c.Item
	switch {
	case c.said():
	case c.Task != nil:
		body := *c.Task
		body.InputEdit = c.edit()
		item.Body = encode(body)
	default:
		body := c.Tool
		body.InputEdit = c.edit()
		item.Body = encode(body)
	}
	return item
}

func (s *scribe) user(m *claude.User, now time.Time) heard {
	var h heard
	for i, b := range m.Content {
		switch b.Type {
		case "tool_result":
			c, over := s.Calls[b.ToolUseID], overCall{toolUseID: b.ToolUseID, failed: b.IsError}
			if c != nil {
				over.tool, over.agentID, over.input = c.Tool.ToolName, c.Item.AgentID, c.Tool.Input
			}
			h.consumed, h.over = append(h.consumed, b.ToolUseID), append(h.over, over)
			if c == nil {
				continue
			}
			if c.Task != nil && launchedOnly(m.ToolUseResult) {
				c.Background = true
				continue
			}
			delete(s.Calls, b.ToolUseID)
			delete(s.allowed, b.ToolUseID)
			if c.said() {
				continue
			}
			status := session.ToolDone
			if b.IsError {
				status = session.ToolFailed
			} else if c.File != "" {
				s.touch(c.File, now)
			}
			if !b.IsError {
				c.Tool.Change = changeOf(c.Tool.ToolName, m.ToolUseResult)
			}
			text, size := b.ResultText(session.MaxShown)
			if b.IsError {
				if said := s.interruption().result(text); said != text {
					text, size = said, len(said)
				}
			}
			if c.Task != nil {
				c.Task.Status, c.Task.Result = status, text
			}
			c.Tool.Status, c.Tool.Result, c.Tool.ResultBytes = status, text, size
			c.Tool.FinishedAt = float64(now.UnixMicro()) / 1e6
			h.items = append(h.items, c.encoded())
			if list, ok := s.task(c, m.ToolUseResult, now); ok {
				h.items = append(h.items, list)
			}
		case "text":
			// What a person said is written when it is sent; an echo says nothing new.
			if m.IsReplay || m.ParentToolUseID != "" || m.UUID == "" || strings.TrimSpace(b.Text) == "" {
				continue
			}
			text := b.Text
			if marker(text) {
				if s.ending != "" || s.Interrupt != nil && s.Interrupt.Noted {
					continue
				}
				text = turnInterrupted
				if s.Interrupt != nil {
					text, s.Interrupt.Noted = s.Interrupt.reason(), true
				}
			}
			h.items = append(h.items, session.Item{
				Key: m.UUID + ":" + strconv.Itoa(i), At: now, Kind: session.ItemNote,
				Body: encode(session.NoteBody{Level: "info", Text: cut(text)}),
			})
		}
	}
	return h
}

func (s *scribe) result(m *claude.Result, now time.Time) heard {
	body := session.ResultBody{
		IsError: m.IsError, Subtype: m.Subtype, DurationMS: m.DurationMS, NumTurns: m.NumTurns,
		CostUSD: m.TotalCostUSD, InputTokens: m.Usage.InputTokens + m.Usage.CacheCreationInputTokens + m.Usage.CacheReadInputTokens,
		OutputTokens: m.Usage.OutputTokens,
	}
	if m.IsError {
		body.Text = cut(s.interruption().errors(m))
	}
	body.ContextTokens, body.ContextWindow = s.fullness(m)
	spent, told := s.spend(m)
	if told {
		body.SpentUSD = new(float64(spent) / 1e6)
	}
	s.growing, s.retryKey = false, ""
	items := s.abandon(false)
	// One that was refused had no part in a turn that ended well.
	if s.Interrupt != nil && !(s.Interrupt.Refused && m.Subtype == "success") {
		items = append(items, s.noteInterrupt(now)...)
	}
	s.Interrupt = nil
	items = append(items, session.Item{Key: m.UUID, At: now, Kind: session.ItemResult, Body: encode(body)})
	return heard{turnEnded: true, liveChanged: true, items: items, spent: spent}
}

// interruption returns why the present turn ends before its time.
func (s *scribe) interruption() interruption {
	switch {
	case s.ending != "":
		return interruption{reason: s.ending, ended: true}
	case s.Interrupt != nil:
		return interruption{reason: s.Interrupt.reason()}
	}
	return interruption{}
}

// noteInterrupt returns the note about the interrupt of the present turn, if there was
// one and the CLI has said nothing of it.
func (s *scribe) noteInterrupt(now time.Time) []session.Item {
	if s.Interrupt == nil || s.Interrupt.Noted {
		return nil
	}
	s.Interrupt.Noted = true
	return []session.Item{s.Interrupt.note(now)}
}

// abandon closes the calls of a turn that was cut off: nobody will bring their
// results. What runs in the background ends only with the process.
func (s *scribe) abandon(everything bool) []session.Item {
	var items []session.Item
	for id, c := range s.Calls {
		if !everything && c.inBackground(s) {
			continue
		}
		delete(s.Calls, id)
		if c.said() {
			continue
		}
		c.Tool.Status = session.ToolFailed
		if c.Task != nil {
			c.Task.Status = session.ToolFailed
		}
		items = append(items, c.encoded())
	}
	return items
}

// inBackground reports whether a call may outlive its turn: it was launched in
// the background, or a subagent that was made it.
func (c *call) inBackground(s *scribe) bool {
	if c.Background {
		return true
	}
	parent := s.Calls[c.Item.AgentID]
	return parent != nil && parent != c && parent.inBackground(s)
}

// launchedOnly reports whether the result of a task call says no more than that
// the subagent works in the background now.
func launchedOnly(result json.RawMessage) bool {
	var r struct {
		IsAsync bool   `json:"isAsync"`
		Status  string `json:"status"`
	}
	return json.Unmarshal(result, &r) == nil && (r.IsAsync || r.Status == "async_launched")
}

func (s *scribe) system(m *claude.System, now time.Time) heard {
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
		Metadata     struct {
			Trigger   string `json:"trigger"`
			PreTokens int    `json:"pre_tokens"`
		} `json:"compact_metadata"`
	}
	_ = json.Unmarshal(m.Raw, &f) // a field of another shape is one we do not show
	note := func(key, level, text string) heard {
		return heard{items: []session.Item{{Key: key, At: now, Kind: session.ItemNote, Body: encode(session.NoteBody{Level: level, Text: cut(text)})}}}
	}
	switch m.Subtype {
	case "task_started":
		s.Agents[f.TaskID] = agent{ToolUseID: f.ToolUseID, Name: strings.Trim(f.SubagentType+": "+f.Description, ": ")}
	case "task_notification":
		c := s.Calls[f.ToolUseID]
		if c == nil || !c.Background {
			return heard{} // a foreground task ends with its tool_result
		}
		delete(s.Calls, f.ToolUseID)
		delete(s.Agents, f.TaskID)
		c.Task.Status, c.Task.Result = session.ToolDone, cut(f.Summary)
		if f.Status != "completed" {
			c.Task.Status = session.ToolFailed
		}
		return heard{items: []session.Item{c.encoded()}}
	case "api_retry":
		// One note for each bout of retries, kept up to date.
		if f.Attempt <= 1 || s.retryKey == "" {
			s.retryKey = m.UUID
		}
		why := "The connection to the Claude API failed"
		switch {
		case f.ErrorStatus == 429:
			why = "The Claude API asks to slow down (429)"
		case f.ErrorStatus == 529:
			why = "The Claude API is overloaded (529)"
		case f.ErrorStatus != 0:
			why = fmt.Sprintf("The Claude API answered with an error (%d)", f.ErrorStatus)
		}
		return note(s.retryKey, "warning", fmt.Sprintf(
			"%s. Trying again in %.0f s (attempt %d of %d).", why, f.RetryDelayMS/1000, f.Attempt, f.MaxRetries))
	case "compact_boundary":
		s.Context, s.ContextModel = 0, "" // Claude was given that before
		return note(m.UUID, "info", "Claude summarised the conversation so far to save room.")
	case "informational", "local_command_output":
		if f.Content != "" {
			level := f.Level
			if level != "warning" && level != "error" {
				level = "info"
			}
			return note(m.UUID, level, f.Content)
		}
	}
	return heard{}
}

// grow follows the block that the model is writing.
func (s *scribe) grow(m *claude.StreamEvent, now time.Time) heard {
	switch m.EventType {
	case "content_block_start":
		var start struct {
			Block struct {
				Name string `json:"name"`
			} `json:"content_block"`
		}
		s.block = session.Live{AgentID: m.ParentToolUseID, Began: now}
		switch m.BlockType {
		case "text":
			s.block.Kind = session.ItemText
		case "thinking":
			s.block.Kind = session.ItemThinking
		case "tool_use":
			_ = json.Unmarshal(m.Event, &start) // without a name it is shown as a tool
			s.block.Kind, s.block.Tool = session.ItemToolCall, start.Block.Name
		default:
			return heard{}
		}
		s.growing = true
	case "content_block_delta":
		if !s.growing || m.ParentToolUseID != s.block.AgentID || m.Text == "" || len(s.block.Text) > session.MaxShown {
			return heard{}
		}
		s.block.Text += m.Text
	default:
		return heard{}
	}
	live := s.block
	return heard{working: m.ParentToolUseID == "", live: &live, liveChanged: true}
}

// oldestTool is the tool that has run longest, and since when: since it was
// allowed, if a person was asked.
func (s *scribe) oldestTool() (name string, since time.Time, runs bool) {
	for id, c := range s.Calls {
		began := c.Item.At
		if a, asked := s.Answered[id]; asked {
			began = a.At
		}
		if c.Task == nil && (!runs || began.Before(since)) {
			name, since, runs = c.Tool.ToolName, began, true
		}
	}
	return name, since, runs
}

// userItem is the record of a person's message.
func userItem(m session.Message) session.Item {
	body := session.UserBody{Text: m.Text, By: m.By.Name}
	for _, a := range m.Attachments {
		body.Attachments = append(body.Attachments, a.Info())
	}
	return session.Item{Key: "message:" + m.MessageID, At: time.Now(), Kind: session.ItemUser, Body: encode(body)}
}

// cut keeps what is shown of a text within bounds, between characters.
func cut(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= session.MaxShown {
		return s
	}
	return strings.ToValidUTF8(s[:session.MaxShown], "") + "…"
}

// encode writes a body of ours; it can only fail for a type that is not one.
// encodeText is encode of a [session.TextBody]. Of a long text it makes no copy but
// the one that it returns.
func encodeText(text string) json.RawMessage {
	const long, step = 256 << 10, 64 << 10
	if len(text) < long {
		return encode(session.TextBody{Text: text})
	}
	const head, tail = `{"text":"`, `"}`
	out := append(make([]byte, 0, len(head)+quotedSize(text)+len(tail)), head...)
	for len(text) > 0 {
		n := min(step, len(text))
		for n < len(text) && n > step-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		part := encode(text[:n])
		out, text = append(out, part[1:len(part)-1]...), text[n:]
	}
	return append(out, tail...)
}

// quotedSize is how long a text is as a JSON string of encoding/json, without the
// quotes; for what is no UTF-8 it may be less.
func quotedSize(text string) int {
	size := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r', c == '\b', c == '\f':
			size++
		case c < ' ', c == '<', c == '>', c == '&':
			size += 5
		case c == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			size += 3
		}
	}
	return size
}

func encode(body any) json.RawMessage {
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("orchestrator: encode %T: %v", body, err))
	}
	return b
}
