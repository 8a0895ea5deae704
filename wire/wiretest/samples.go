// Package wiretest contains samples of every message, for tests of packages that send or
// receive messages.
package wiretest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// NewProcessState converts the state of a session in the default project.
func NewProcessState(p session.ProcessState) wire.ProcessState {
	return wire.NewProcessState(context.Background(), p, access.PlaceOfProcess(p), project.NewBook(nil, nil), project.Person{}, new(decision.RiskLevels))
}

// NewProcessStateFor converts the state of a session in a project, as seen by one person.
func NewProcessStateFor(p session.ProcessState, book *project.Book, who project.Person) wire.ProcessState {
	return wire.NewProcessState(context.Background(), p, access.PlaceOfProcess(p), book, who, new(decision.RiskLevels))
}

// RESTBodies returns a value of every type that only REST uses.
func RESTBodies() []any {
	return []any{
		wire.Login{}, wire.Me{}, wire.SessionList{}, wire.SessionPatch{}, wire.MessageList{}, wire.Upload{}, wire.SearchResults{}, wire.TerminalSessionList{}, wire.TerminalPage{}, wire.TranscriptPage{}, wire.Outcome{}, wire.PendingList{}, wire.RequestFate{}, wire.Preview{}, wire.PreviewQuestion{}, wire.ProcessList{}, wire.RunnerList{}, wire.RunnerChange{}, wire.RunnerCreate{}, wire.RunnerToken{}, wire.MachineList{},
		wire.Environment{}, wire.FolderList{}, wire.TokenList{}, wire.TokenCreate{}, wire.TokenCreated{}, wire.Refusal{},
		wire.SetUp{}, wire.NewPassword{}, wire.SignInList{}, wire.PersonList{}, wire.PersonCreate{}, wire.PersonChange{}, wire.SignInLink{}, wire.AuditPage{},
		wire.GrantList{}, wire.GrantRevoke{}, wire.Revocation{}, wire.ProjectList{}, wire.LimitList{}, wire.ProjectCreate{}, wire.ProjectChange{},
		wire.TrustedFolderList{}, wire.TrustRevoke{}, wire.TemplateList{}, wire.TemplateText{}, wire.Preferences{}, wire.PreferencesChange{}, wire.BookmarkList{}, wire.BookmarksChange{}, wire.CatchUpList{}, wire.WaitList{}, wire.PhoneAccess{},
		wire.Alerts{}, wire.AlertTargetCreate{}, wire.AlertTest{},
		wire.SignInWays{}, wire.PasskeyChallenge{}, wire.PasskeyLogin{}, wire.PasskeyNew{}, wire.PasskeyCreate{}, wire.PasskeySetUp{}, wire.Passkey{}, wire.PasskeyList{},
		wire.OIDCBegun{}, wire.OIDCLogin{}, wire.LinkNew{}, wire.Link{}, wire.LinkList{},
		wire.Diagnostics{}, wire.RequestViews{}, wire.AuditState{}, wire.Storage{}, wire.RetentionLimits{}, wire.SettingList{}, wire.SettingChange{},
		wire.Changes{}, wire.FileComparison{}, wire.FileDiscard{}, wire.CommitCreate{}, wire.CommitCreated{}, wire.Export{}, wire.FolderEntries{}, wire.FoundFiles{}, wire.Catalog{}, wire.ModelList{},
		wire.SessionTools{}, wire.ServerChange{}, wire.ServerChanged{}, wire.ContextUsage{}, wire.CostHistory{}, wire.Rewind{}, wire.RewindStart{}, wire.GitState{}, wire.FolderInfo{}, wire.WorktreeCreate{}, wire.WorktreeCreated{}, wire.Worktree{}, wire.WorktreeSeen{}, wire.WorktreeRemoved{}, wire.ModelList{},
	}
}

var (
	at      = time.Unix(1763692800, 250_000_000)
	cmdID   = "018f3a52-0000-4000-8000-00000000c0de"
	sessID  = "7b0c6a1e-2f57-4f0e-9f0a-0d2f4c1f7a10"
	sess2ID = "7b0c6a1e-2f57-4f0e-9f0a-0d2f4c1f7a11"
)

// BashRequest returns a request to run a command.
func BashRequest() pending.Request {
	input := json.RawMessage(`{"command":"touch a < b && echo '<&>'","description":"Create a file"}`)
	return pending.Request{
		RequestID: "11111111-1111-5111-8111-111111111111", SessionID: sessID,
		RequestType: pending.ToolApproval, Source: pending.SourceClaude,
		AskerRequestID: "req-1", AskerToolUseID: "toolu_01",
		ToolName: "Bash", ToolInput: input, InputHash: pending.HashInput(input),
		DecisionReason:        "This command writes a file",
		PermissionSuggestions: json.RawMessage(`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch:*"}],"behavior":"allow","destination":"session"}]`),
		CreatedAt:             at, Status: pending.Open,
	}
}

// QuestionRequest returns a request with questions from Claude.
func QuestionRequest() pending.Request {
	input := json.RawMessage(`{"questions":[{"question":"Which format?","header":"Format","multiSelect":false,"options":[{"label":"Summary","description":"Short"},{"label":"Detailed","description":"Long","preview":"# Detailed"}]},{"question":"Which parts?","header":"Parts","multiSelect":true,"options":[{"label":"API, server","description":""},{"label":"Web","description":""}]}]}`)
	return pending.Request{
		RequestID: "22222222-2222-5222-8222-222222222222", SessionID: sessID,
		RequestType: pending.AskUserQuestion, Source: pending.SourceClaude,
		AskerRequestID: "req-2", AskerToolUseID: "toolu_02",
		ToolName: "AskUserQuestion", ToolInput: input, InputHash: pending.HashInput(input),
		AgentID: "agent-7", AgentType: "general-purpose",
		CreatedAt: at.Add(time.Second), Status: pending.Open,
		Form: &pending.Form{Questions: []pending.Question{
			{ID: "q1", Question: "Which format?", Header: "Format", Kind: pending.Select, Required: true, FreeText: true,
				Options: []pending.Option{
					{Label: "Summary", Value: "Summary", Description: "Short"},
					{Label: "Detailed", Value: "Detailed", Description: "Long", Preview: "# Detailed"},
				}},
			{ID: "q2", Question: "Which parts?", Header: "Parts", Kind: pending.MultiSelect, Required: true, FreeText: true,
				Options: []pending.Option{{Label: "API, server", Value: "API, server"}, {Label: "Web", Value: "Web"}}},
		}},
	}
}

func mcpRequest() pending.Request {
	input := json.RawMessage(`{"title":"Release","questions":[]}`)
	return pending.Request{
		RequestID: "33333333-3333-5333-8333-333333333333", SessionID: sessID,
		RequestType: pending.AskUserQuestion, Source: pending.SourceMCP, Asker: "agent Reviewer over MCP",
		ToolName: "ask_user", ToolInput: input, InputHash: pending.HashInput(input),
		CreatedAt: at.Add(2 * time.Second), ExpiresAt: at.Add(5 * time.Minute), Status: pending.Orphaned,
		Form: &pending.Form{Title: "Release", Questions: []pending.Question{
			{ID: "name", Question: "What is it called?", Kind: pending.Text, Required: true, Placeholder: "v1.2"},
			{ID: "go", Question: "Shall I publish it?", Kind: pending.Confirm, Required: false,
				Options: []pending.Option{{Label: "Yes", Value: "yes"}, {Label: "No", Value: "no"}}},
		}},
	}
}

func elicitation() pending.Request {
	input := json.RawMessage(`{"mcp_server_name":"billing","message":"Where does the bill go?","mode":"form","requested_schema":{}}`)
	least, most := 1.0, 31.0
	return pending.Request{
		RequestID: "66666666-6666-5666-8666-666666666666", SessionID: sessID,
		RequestType: pending.AskUserQuestion, Source: pending.SourceElicitation,
		ToolName: "billing", ToolInput: input, InputHash: pending.HashInput(input),
		CreatedAt: at.Add(3 * time.Second), Status: pending.Open,
		Form: &pending.Form{Questions: []pending.Question{
			{ID: "email", Question: "Address", Description: "For the bill", Kind: pending.Text, Required: true, Format: pending.Email, MaxLength: 100},
			{ID: "day", Question: "Day of the month", Kind: pending.Text, Format: pending.Integer, Minimum: &least, Maximum: &most, Default: []string{"1"}},
			{ID: "parts", Question: "What is billed?", Kind: pending.MultiSelect, MinItems: 1, MaxItems: 2, Default: []string{"hours"},
				Options: []pending.Option{{Label: "Hours", Value: "hours"}, {Label: "Travel", Value: "travel"}, {Label: "Parts", Value: "parts"}}},
			{ID: "paper", Question: "On paper?", Kind: pending.Confirm, Default: []string{"no"}},
		}},
	}
}

func processState() session.ProcessState {
	return session.ProcessState{
		SessionID: sessID, ProjectID: "api-server", Title: "Fix the login", CWD: "/home/ada/api-server", Version: 42,
		State: session.AssistantTurn, StartedAt: at, StateChangedAt: at.Add(3 * time.Second),
		PermissionMode: "default", Memory: 231_735_296, CPU: 0.4, PID: 4711, NodeID: "node-1",
	}
}

func with(p session.ProcessState, change func(*session.ProcessState)) session.ProcessState {
	change(&p)
	return p
}

func items() []session.Item {
	raw := func(v any) json.RawMessage { return wire.Encode(v) }
	return []session.Item{
		{Key: "u1", Seq: 1, Rev: 1, At: at, Kind: session.ItemUser, Body: raw(session.UserBody{Text: "Make a file", By: "ada",
			Attachments: []session.AttachmentInfo{{Name: "shot.png", MediaType: "image/png", Size: 2048}}})},
		{Key: "h1", Seq: 2, Rev: 2, At: at, Kind: session.ItemThinking, Body: raw(session.TextBody{Text: "A file is wanted."})},
		{Key: "t1", Seq: 3, Rev: 3, At: at, Kind: session.ItemText, Body: raw(session.TextBody{Text: "I will use `touch`."})},
		{Key: "toolu_01", Seq: 4, Rev: 9, At: at, Kind: session.ItemToolCall, Body: raw(session.ToolCallBody{
			ToolUseID: "toolu_01", ToolName: "Bash", Input: json.RawMessage(`{"command":"touch a"}`), InputBytes: 21,
			Status: session.ToolDone, Result: "done", ResultBytes: 4, FinishedAt: 1763692804.5})},
		{Key: "toolu_02", Seq: 4, Rev: 9, At: at, Kind: session.ItemToolCall, Body: raw(session.ToolCallBody{
			ToolUseID: "toolu_02", ToolName: "Bash", Input: json.RawMessage(`{"command":"touch b"}`), InputBytes: 21,
			Status: session.ToolFailed, NoResult: true})},
		{Key: "todo", Seq: 5, Rev: 4, At: at, Kind: session.ItemTodo, Body: raw(session.TodoBody{Todos: []session.Todo{
			{Content: "Create the file", Status: "completed"}, {Content: "Tell", Status: "in_progress"}}})},
		{Key: "p1", Seq: 6, Rev: 5, At: at, Kind: session.ItemPlan, Body: raw(session.PlanBody{Text: "# Plan"})},
		{Key: "agent-7", Seq: 7, Rev: 6, At: at, Kind: session.ItemSubagent, Body: raw(session.SubagentBody{
			AgentID: "agent-7", AgentType: "general-purpose", Description: "Look around", Status: session.ToolRunning})},
		{Key: "t2", Seq: 8, Rev: 7, At: at, Kind: session.ItemText, AgentID: "agent-7", Body: raw(session.TextBody{Text: "Looking."})},
		{Key: "n1", Seq: 9, Rev: 8, At: at, Kind: session.ItemNote, Body: raw(session.NoteBody{Level: "warning", Text: "The API is slow."})},
		{Key: "r1", Seq: 10, Rev: 10, At: at, Kind: session.ItemResolved, Body: raw(session.ResolvedBody{
			RequestID: "11111111-1111-5111-8111-111111111111", RequestType: "tool_approval", ToolName: "Bash",
			ToolInput: json.RawMessage(`{"command":"touch a"}`), Outcome: "answered", By: "ada", Device: "Chrome on Linux",
			Summary: "Approved", Edited: true, Waited: 3.5})},
		{Key: "e1", Seq: 11, Rev: 11, At: at, Kind: session.ItemResult, Body: raw(session.ResultBody{
			Subtype: "success", Text: "Done.", DurationMS: 4200, NumTurns: 2, CostUSD: 0.0123, InputTokens: 1200, OutputTokens: 80,
			SpentUSD: new(0.0041), ContextTokens: 1100, ContextWindow: 200_000})},
	}
}

// Frames returns a sample of every frame that the server sends, by the name of its golden file.
func Frames() map[string]any {
	hello := wire.Hello{Type: "hello", Protocol: wire.Protocol, ServerVersion: "0.1.0", NodeID: "node-1", UserID: "0198c0de-0000-7000-8000-00000000000a",
		User: wire.User{Name: "ada", Role: account.Admin}, ServerTime: 1763692800.25, LiveAppend: true}
	idle := NewProcessState(with(processState(), func(p *session.ProcessState) { p.State = session.UserTurn; p.Model = "opus"; p.Items = 12 }))
	approval := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.Version = 43
		p.Requests = []pending.Request{BashRequest()}
	}))
	shared := NewProcessStateFor(with(processState(), func(p *session.ProcessState) {
		p.Version, p.InProject = 43, "4b7e4d0e-6a44-4a51-8f43-2d5e2f6f0a77"
		p.Requests = []pending.Request{BashRequest()}
		p.Requests[0].Approval = &pending.Approval{Actor: pending.Actor{UserID: "ana", Name: "Ana"}, At: at}
	}), project.NewBook([]project.Project{{
		ProjectID: "4b7e4d0e-6a44-4a51-8f43-2d5e2f6f0a77", Name: "api-server",
		Members: []project.Member{{UserID: "cleo", Role: account.Member}},
		Start:   project.Whom{Role: account.Admin}, Answer: project.Whom{Role: account.Member},
		Rules: []project.Rule{{Tool: "Bash", Effect: project.TwoPeople, People: []string{"ana", "ben"}}},
	}}, []account.User{{UserID: "ana", Name: "Ana"}, {UserID: "ben", Name: "Ben"}}), project.Person{UserID: "cleo", Role: account.Member})
	many := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.Version, p.QueuedMessages, p.Stuck = 44, 1, ""
		p.Requests = []pending.Request{BashRequest(), QuestionRequest(), mcpRequest()}
	}))
	elicited := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.Version, p.Requests = 47, []pending.Request{elicitation()}
	}))
	dead := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.Version, p.State, p.PID, p.Memory, p.CPU = 45, session.Dead, 0, 0, 0
		p.Error = "Claude ended by itself with exit code 1. Its last words: out of memory"
	}))
	killed := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.SessionID, p.Version, p.State, p.Demo, p.Archived = sess2ID, 7, session.Dead, true, true
		p.KillReason = "Ended by ada."
	}))
	outside := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.SessionID, p.Version, p.Title, p.Kind, p.PID, p.Memory, p.CPU = sess2ID, 8, "terminal on ada-laptop", session.Terminal, 0, 0, 0
		r := BashRequest()
		r.SessionID, r.Source, r.Asker = sess2ID, pending.SourceHook, "terminal on ada-laptop"
		p.Requests = []pending.Request{r}
	}))
	held := NewProcessState(with(processState(), func(p *session.ProcessState) {
		p.Version = 48
		r := BashRequest()
		r.Held = &pending.Held{Actor: pending.Actor{UserID: "ana", Name: "Ana"}, At: at, Until: at.Add(3 * time.Second), CommandID: cmdID,
			Answer: pending.Answer{Decision: pending.Allow}}
		dropped := BashRequest()
		dropped.RequestID = sess2ID
		dropped.Held = &pending.Held{Actor: pending.Actor{UserID: "ana", Name: "Ana"}, At: at, Until: at.Add(3 * time.Second), CommandID: cmdID,
			Answer: pending.Answer{Decision: pending.Deny, Message: "No."}, Dropped: "They can no longer answer this request."}
		p.Requests = []pending.Request{r, dropped}
	}))
	step, steps := 2.0, 5.0
	lifecycle := wire.NewLifecycle(sessID, &session.Lifecycle{EventType: "plan-started", PhaseName: "Hook Bridge", PhaseNumber: "33",
		Step: &step, TotalSteps: &steps, At: at})
	deleted := NewProcessState(with(processState(), func(p *session.ProcessState) { p.Version, p.State = 46, session.Dead }))
	deleted.Deleted = true
	agent := "agent-7"
	transcript := wire.Transcript{Type: "transcript", SessionID: sessID, From: 0, Next: 11,
		Items: wire.NewItems(items()), Total: 11}
	live := wire.Transcript{Type: "transcript", SessionID: sessID, From: 11, Next: 11, Items: []wire.Item{}, Total: 11,
		Live: &wire.Live{Kind: session.ItemText, Text: "I am just sa", AgentID: &agent}}
	tool := live
	tool.Live = &wire.Live{Kind: session.ItemToolCall, Tool: "Write", Text: `{"file_path":"/tmp/a","cont`}
	thinking := live
	thinking.Live = &wire.Live{Kind: session.ItemThinking, Text: "Hm, so", At: 1763693395.5}
	growing := live
	growing.Live = &wire.Live{Kind: session.ItemText, Text: "I am just sa", AgentID: &agent, Rev: 3}
	kept := transcript
	kept.LiveRev, kept.Items, kept.Next = 3, transcript.Items[:2], 2
	ended := kept
	ended.LiveItem = ended.Items[1].Key
	more := transcript
	more.Next, more.More, more.Items = 2, true, transcript.Items[:2]
	extended := 1763693400.25
	by, device := "grace", "Firefox on macOS"
	ack := func(a wire.Ack) wire.Ack { a.Type, a.CommandID = "ack", cmdID; return a }
	return map[string]any{
		"hello":                       hello,
		"active_processes":            wire.ActiveProcesses{Type: "active_processes", Processes: []wire.ProcessState{approval, with2(idle, sess2ID)}},
		"active_processes.empty":      wire.ActiveProcesses{Type: "active_processes", Processes: []wire.ProcessState{}},
		"process_state.idle":          idle,
		"process_state.tool_approval": approval,
		"process_state.many_requests": many,
		"process_state.elicitation":   elicited,
		"process_state.dead":          dead,
		"process_state.killed":        killed,
		"process_state.deleted":       deleted,
		"process_state.terminal":      outside,
		"process_state.project":       shared,
		"process_state.held":          held,
		"lifecycle":                   lifecycle,
		"lifecycle.bare":              wire.NewLifecycle(sessID, &session.Lifecycle{EventType: "task-completed", At: at}),
		"transcript":                  transcript,
		"transcript.more":             more,
		"transcript.live":             live,
		"transcript.live_tool":        tool,
		"transcript.live_thinking":    thinking,
		"transcript.live_rev":         growing,
		"transcript.live_kept":        kept,
		"transcript.live_item":        ended,
		"live_append":                 wire.LiveAppend{Type: "live_append", SessionID: sessID, After: 3, Rev: 4, Text: "ying <hi> \u2028\n"},
		"batch":                       wire.Batch{Type: "batch", Frames: []json.RawMessage{wire.Encode(many), wire.Encode(live)}},
		"ack.applied":                 ack(wire.Ack{Result: wire.Applied}),
		"ack.applied_session":         ack(wire.Ack{Result: wire.Applied, SessionID: sess2ID}),
		"ack.applied_message":         ack(wire.Ack{Result: wire.Applied, MessageID: "5f0c6a1e-2f57-5f0e-9f0a-0d2f4c1f7a12"}),
		"ack.applied_held":            ack(wire.Ack{Result: wire.Applied, HeldUntil: &extended}),
		"ack.applied_extend":          ack(wire.Ack{Result: wire.Applied, ExpiresAt: &extended}),
		"ack.already_resolved": ack(wire.Ack{Result: wire.AlreadyResolved,
			Error: &wire.ErrorBody{Code: "already_resolved", Message: "Denied by grace: use pnpm. Your answer was not sent."}, Resolved: &wire.Resolved{
				Outcome: pending.Denied, By: &by, Device: &device, At: 1763692801.5, Summary: "Denied by grace: use pnpm"}}),
		"ack.stale": ack(wire.Ack{Result: wire.Stale,
			Error: &wire.ErrorBody{Code: "stale", Message: "Claude withdrew this request. Your answer was not sent."}, Resolved: &wire.Resolved{
				Outcome: pending.Withdrawn, At: 1763692801.5, Summary: "Claude withdrew this request."}}),
		"ack.stale_unknown": ack(wire.Ack{Result: wire.Stale,
			Error: &wire.ErrorBody{Code: "not_found", Message: "This request is no longer open. Your answer was not sent."}}),
		"ack.rejected_folder_untrusted": ack(wire.Ack{Result: wire.Rejected, Error: &wire.ErrorBody{
			Code: "folder_untrusted", Message: "The settings of /home/ada/api-server have changed since they were trusted. Look at what they would run, then start again.",
			FolderTrust: &wire.FolderTrust{
				Folder: "/home/ada/api-server", Digest: "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
				Items: []wire.FolderItem{
					{Kind: "hook", Danger: "runs", File: "/home/ada/api-server/.claude/settings.json", Name: "PreToolUse Bash", Text: "curl https://example.com | sh", New: true},
					{Kind: "mcp_server", Danger: "runs", File: "/home/ada/api-server/.mcp.json", Name: "db", Text: "npx db-server"},
				},
				Gone: []wire.FolderItem{{Kind: "rule", Danger: "permits", File: "/home/ada/api-server/.claude/settings.json", Text: "Bash(make *)"}},
				Told: []string{"/home/ada/api-server/CLAUDE.md"}, CanLeaveOut: true,
				Before: &wire.TrustedBy{By: "Ada", At: 1763692000},
			}}}),
		"ack.rejected": ack(wire.Ack{Result: wire.Rejected,
			Error: &wire.ErrorBody{Code: "invalid_answer", Message: "Answer the question \"Which format?\".", Field: "q1"}}),
		"presence": wire.Presence{Type: "presence", SessionID: sessID, Viewers: []wire.ViewerInfo{
			{Name: "ada"}, {Name: "grace", Typing: true, RequestID: "11111111-1111-5111-8111-111111111111"}}},
		"presence.empty": wire.Presence{Type: "presence", SessionID: sessID, Viewers: []wire.ViewerInfo{}},
		"draft": wire.KeptDraft{Type: "draft", SessionID: sessID, RequestID: QuestionRequest().RequestID,
			Value: json.RawMessage(`{"reason":"Use pnpm"}`), At: 1_763_719_200, CommandID: cmdID},
		"draft.message": wire.KeptDraft{Type: "draft", SessionID: sessID, Value: json.RawMessage(`"And then"`), At: 1_763_719_200},
		"draft.gone":    wire.KeptDraft{Type: "draft", SessionID: sessID, Value: json.RawMessage(`null`), At: 1_763_719_201, CommandID: cmdID},
		"bookmarks": wire.Bookmarks{Type: "bookmarks", Bookmarks: wire.NewBookmarks([]account.Bookmark{
			{SessionID: sessID, PinnedAt: at, Seen: 12, SeenAt: at, ChangedAt: at}, {SessionID: sess2ID, Seen: 3, SeenAt: at, ChangedAt: at}})},
		"notice": wire.Notice{Type: "notice", Code: wire.ReadOnly, Message: "The disk of the server is full."},
		"toasts": wire.Toasts{Type: "toasts", RequestIDs: []string{BashRequest().RequestID, QuestionRequest().RequestID}, More: 2},
		"machines": wire.Machines{Type: "machines", Machines: []wire.Machine{
			{RunnerID: "runner-1", Name: "atlas", Here: true, State: wire.RunnerReady, Labels: []string{}, Processes: 3},
			{RunnerID: "runner-2", Name: "build-02", State: wire.RunnerUnreachable, SeenAt: new(1_700_000_000.0), Labels: []string{"gpu"}, MaxProcesses: 4},
		}},
		"notice.none": wire.Notice{Type: "notice", Code: wire.NoNotice},
		"error":       wire.ErrorFrame{Type: "error", Code: "signed_out", Message: "You are signed out. Sign in again."},
	}
}

func with2(p wire.ProcessState, id string) wire.ProcessState {
	p.SessionID = id
	return p
}

// Commands returns a sample of every command that a tab sends, by the name of its golden file.
func Commands() map[string]any {
	picture := []wire.Attachment{{Name: "shot.png", MediaType: "image/png", Data: []byte("\x89PNG")}}
	approval := wire.PendingRequestResponse{Type: "pending_request_response", Head: wire.Head{CommandID: cmdID}, SessionID: sessID,
		RequestID: BashRequest().RequestID, RequestType: pending.ToolApproval, InputHash: BashRequest().InputHash}
	question := wire.PendingRequestResponse{Type: "pending_request_response", Head: wire.Head{CommandID: cmdID}, SessionID: sessID,
		RequestID: QuestionRequest().RequestID, RequestType: pending.AskUserQuestion, InputHash: QuestionRequest().InputHash}
	allow, edit, deny, answers, responses, decline := approval, approval, approval, question, question, question
	allow.Decision = pending.Allow
	edit.Decision = pending.Allow
	edit.UpdatedInput = json.RawMessage(`{"command":"touch b"}`)
	edit.UpdatedPermissions = json.RawMessage(`[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)
	deny.Decision, deny.Message, deny.Interrupt = pending.Deny, "Use pnpm, not npm", true
	answers.Answers = map[string]string{"Which format?": "Summary", "Which parts?": "Web, and the docs"}
	responses.Responses = []wire.Response{{ID: "q1", Values: []string{"Summary"}}, {ID: "q2", Values: []string{"Web"}, Text: "and the docs"}}
	decline.Decision, decline.Message = pending.Deny, "not now"
	return map[string]any{
		"command.pending_request_response.allow":     &allow,
		"command.pending_request_response.batch":     &wire.PendingRequestResponse{Type: "pending_request_response", Head: wire.Head{CommandID: cmdID}, SessionID: sessID, RequestID: BashRequest().RequestID, RequestType: pending.ToolApproval, Decision: pending.Allow, Batch: true, Together: []string{BashRequest().RequestID, QuestionRequest().RequestID}},
		"command.pending_request_response.held":      &wire.PendingRequestResponse{Type: "pending_request_response", Head: wire.Head{CommandID: cmdID}, SessionID: sessID, RequestID: BashRequest().RequestID, RequestType: pending.ToolApproval, Decision: pending.Allow, UndoMS: 3000},
		"command.pending_request_response.edit":      &edit,
		"command.pending_request_response.deny":      &deny,
		"command.pending_request_response.answers":   &answers,
		"command.pending_request_response.responses": &responses,
		"command.pending_request_response.decline":   &decline,
		"command.send_message":                       &wire.SendMessage{Type: "send_message", Head: wire.Head{CommandID: cmdID}, SessionID: sessID, Text: "Go on", Attachments: picture},
		"command.create_session": &wire.CreateSession{Type: "create_session", Head: wire.Head{CommandID: cmdID}, CWD: "/home/ada/api-server", Prompt: "Fix the login",
			Title: "Login", Model: "opus", PermissionMode: "plan", Attachments: picture, AllowedTools: []string{"Read"}},
		"command.create_session.demo":             &wire.CreateSession{Type: "create_session", Head: wire.Head{CommandID: cmdID}, Demo: true},
		"command.create_session.trust":            &wire.CreateSession{Type: "create_session", Head: wire.Head{CommandID: cmdID}, CWD: "/home/ada/api-server", Prompt: "Fix the login", FolderConsent: wire.FolderConsent{Trust: "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"}},
		"command.resume_session.without_settings": &wire.ResumeSession{Type: "resume_session", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, FolderConsent: wire.FolderConsent{WithoutSettings: true}},
		"command.resume_session":                  &wire.ResumeSession{Type: "resume_session", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}},
		"command.fork_session":                    &wire.ForkSession{Type: "fork_session", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}},
		"command.interrupt":                       &wire.Interrupt{Type: "interrupt", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}},
		"command.kill_process":                    &wire.KillProcess{Type: "kill_process", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, Force: true},
		"command.set_model":                       &wire.SetModel{Type: "set_model", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, Model: "sonnet"},
		"command.set_permission_mode":             &wire.SetPermissionMode{Type: "set_permission_mode", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, PermissionMode: "acceptEdits"},
		"command.subscribe":                       &wire.Subscribe{Type: "subscribe", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, After: 11},
		"command.subscribe_append":                &wire.Subscribe{Type: "subscribe", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, LiveAppend: true},
		"command.unsubscribe":                     &wire.Unsubscribe{Type: "unsubscribe", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}},
		"command.draft": &wire.Draft{Type: "draft", Head: wire.Head{CommandID: cmdID}, SessionID: sessID, RequestID: QuestionRequest().RequestID,
			Value: json.RawMessage(`{"responses":[{"id":"q1","values":["Summary"]}]}`)},
		"command.draft.clear":       &wire.Draft{Type: "draft", Head: wire.Head{CommandID: cmdID}, RequestID: QuestionRequest().RequestID, Value: json.RawMessage(`null`)},
		"command.looking":           &wire.Looking{Type: "looking", Head: wire.Head{CommandID: cmdID}, Looking: true},
		"command.looking.session":   &wire.Looking{Type: "looking", Head: wire.Head{CommandID: cmdID}, Looking: true, Showing: &wire.Showing{SessionID: sessID}},
		"command.looking.inbox":     &wire.Looking{Type: "looking", Head: wire.Head{CommandID: cmdID}, Showing: &wire.Showing{Inbox: true}},
		"command.noticed":           &wire.Noticed{Type: "noticed", Head: wire.Head{CommandID: cmdID}, RequestID: BashRequest().RequestID},
		"command.typing":            &wire.Typing{Type: "typing", SessionHead: wire.SessionHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID}, RequestID: QuestionRequest().RequestID},
		"command.extend":            &wire.Extend{Type: "extend", RequestHead: wire.RequestHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID, RequestID: mcpRequest().RequestID}},
		"command.withdraw_approval": &wire.WithdrawApproval{Type: "withdraw_approval", RequestHead: wire.RequestHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID, RequestID: BashRequest().RequestID}},
		"command.undo":              &wire.Undo{Type: "undo", RequestHead: wire.RequestHead{Head: wire.Head{CommandID: cmdID}, SessionID: sessID, RequestID: BashRequest().RequestID}},
		"command.undo.answer":       &wire.Undo{Type: "undo", RequestHead: wire.RequestHead{Head: wire.Head{CommandID: cmdID}, RequestID: BashRequest().RequestID}, Answer: sessID},
		"command.ping":              &wire.Ping{Type: "ping", Head: wire.Head{CommandID: cmdID}},
		"command.draft.message":     &wire.Draft{Type: "draft", Head: wire.Head{CommandID: cmdID}, SessionID: sessID, Value: json.RawMessage(`"And then"`)},
	}
}
