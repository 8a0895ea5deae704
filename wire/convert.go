package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ProjectID returns the project_id of a session: its project, or its folder.
func ProjectID(inProject, ofFolder string) string {
	if inProject != "" {
		return inProject
	}
	return ofFolder
}

// ProjectName returns the name of the project of a place, "" for the default project.
func ProjectName(book *project.Book, in project.Place) string {
	p, _ := book.Project(in.ProjectID)
	return p.Name
}

// Rights returns what a person may do in a project, nil for the default project.
func Rights(book *project.Book, who project.Person, in project.Place) []project.Action {
	if in.ProjectID == "" {
		return nil
	}
	return book.Rights(who, in)
}

// Levels rates how much harm a request in a folder of a runner can do.
type Levels interface {
	Of(r pending.Request, runnerID, cwd string) review.Level
}

// NewProcessState converts the state of a session in a place, as seen by one person.
func NewProcessState(ctx context.Context, p session.ProcessState, in project.Place, book *project.Book, who project.Person, levels Levels) ProcessState {
	w := ProcessState{
		Type: "process_state", Version: p.Version,
		SessionID: p.SessionID, ProjectID: ProjectID(p.InProject, p.ProjectID), ProjectName: ProjectName(book, in), Rights: Rights(book, who, in), Title: p.Title, CWD: p.CWD,
		State: p.State, StartedAt: Seconds(p.StartedAt), StateChangedAt: Seconds(p.StateChangedAt),
		Model: p.Model, PermissionMode: p.PermissionMode,
		Memory: p.Memory, CPU: p.CPU, NodeID: p.NodeID, Unreachable: p.Unreachable,
		Error: OrNull(p.Error), KillReason: OrNull(p.KillReason), Stuck: OrNull(p.Stuck), Held: OrNull(p.Throttled),
		Reasons:         statement.Reasons("error", p.Error, "kill_reason", p.KillReason, "stuck", p.Stuck, "held", p.Throttled),
		QueuedMessages:  p.QueuedMessages,
		Items:           p.Items,
		PendingRequests: make([]Request, 0, len(p.Requests)),
		Demo:            p.Demo,
		Kind:            p.Kind,
		Archived:        p.Archived,
	}
	if math.IsNaN(w.CPU) || math.IsInf(w.CPU, 0) {
		w.CPU = 0 // JSON cannot represent it
	}
	for _, r := range p.Requests {
		one := NewRequest(r)
		one.Approval = NewApprovalRule(ctx, r, p.CWD, in, book, who)
		one.Held = NewHeldAnswer(r.Held, who)
		one.Risk = levels.Of(r, p.RunnerID, p.CWD)
		w.PendingRequests = append(w.PendingRequests, one)
	}
	if len(w.PendingRequests) > 0 {
		w.PendingRequest = &w.PendingRequests[0]
	}
	return w
}

// NewApprovalRule returns who may approve a request, nil if no rule restricts it.
func NewApprovalRule(ctx context.Context, r pending.Request, cwd string, in project.Place, book *project.Book, who project.Person) *ApprovalRule {
	if r.RequestType != pending.ToolApproval {
		return nil
	}
	ruling := book.Approval(ctx, in, project.Call{Tool: r.ToolName, Input: r.ToolInput, CWD: cwd}, nil)
	if ruling.Unrestricted() {
		return nil
	}
	rule := &ApprovalRule{Effect: ruling.Effect, May: book.MayApprove(who, in, ruling, r.ToolName) == nil}
	if a := r.Approval; a != nil && ruling.Effect == project.TwoPeople {
		rule.First = &FirstApproval{By: a.Actor.Name, At: Seconds(a.At), Mine: a.Actor.UserID == who.UserID}
	}
	if len(ruling.People) > 0 {
		rule.People = book.NameList(ruling.People)
	}
	return rule
}

// NewHeldAnswer converts a held or dropped answer, nil if there is none.
func NewHeldAnswer(h *pending.Held, who project.Person) *HeldAnswer {
	if h == nil {
		return nil
	}
	w := &HeldAnswer{
		By: h.Actor.Name, Mine: h.Actor.UserID == who.UserID, Decision: h.Answer.Decision, Edited: len(h.Answer.UpdatedInput) > 0,
		At: Seconds(h.At), Until: Seconds(h.Until), Dropped: h.Dropped,
		Reasons: statement.Reasons("dropped", h.Dropped),
	}
	if w.Mine {
		w.CommandID = h.CommandID
	}
	return w
}

// NewRequest converts a request, without the fields that depend on the viewer.
func NewRequest(r pending.Request) Request {
	w := Request{
		RequestID: r.RequestID, RequestType: r.RequestType, Source: r.Source,
		ToolName: r.ToolName, ToolInput: RawOr(r.ToolInput, "{}"), InputHash: r.InputHash,
		CreatedAt: Seconds(r.CreatedAt), ExpiresAt: SecondsOrNull(r.ExpiresAt), Status: r.Status, Asker: r.Asker,
		AgentID: OrNull(r.AgentID), AgentType: OrNull(r.AgentType),
		Title: OrNull(r.Title), Description: OrNull(r.Description),
		DecisionReason: OrNull(r.DecisionReason), BlockedPath: OrNull(r.BlockedPath),
		ToolUseID:             OrNull(r.AskerToolUseID),
		PermissionSuggestions: RawOr(r.PermissionSuggestions, "[]"),
		Draft:                 json.RawMessage("null"),
	}
	if p := r.Policy; p != nil {
		w.DefaultToNo, w.SuppressAlwaysAllowRule, w.RequiresUserInteraction = p.DefaultToNo, p.SuppressAlwaysAllowRule, p.RequiresUserInteraction
		w.MatchedAskRule, w.ClassifierApprovable, w.MCPServer = (*AskRule)(p.MatchedAskRule), p.ClassifierApprovable, (*MCPServer)(p.MCPServer)
	}
	if r.RequestType == pending.AskUserQuestion {
		w.Form = newForm(r.Form)
	}
	if e := r.Earlier; e != nil {
		w.Earlier = &Earlier{
			RequestID: e.RequestID, ToolInput: RawOr(e.ToolInput, "{}"), Outcome: e.Status,
			Summary: e.Summary, By: OrNull(e.By), At: Seconds(e.At),
			Reasons: statement.Reasons("summary", e.Summary),
		}
		if e.UpdatedInput != nil {
			w.Earlier.UpdatedInput = RawOr(e.UpdatedInput, "{}")
		}
	}
	return w
}

// NewLifecycle converts the progress that an agent reported.
func NewLifecycle(sessionID string, l *session.Lifecycle) Lifecycle {
	return Lifecycle{
		Type: "lifecycle", SessionID: sessionID, EventType: l.EventType, PhaseName: l.PhaseName, PhaseNumber: l.PhaseNumber,
		Step: finite(l.Step), TotalSteps: finite(l.TotalSteps), At: Seconds(l.At),
	}
}

func newForm(f *pending.Form) *Form {
	w := &Form{Questions: []Question{}}
	if f == nil {
		return w
	}
	w.Title = OrNull(f.Title)
	for _, q := range f.Questions {
		wq := Question{
			ID: q.ID, Question: q.Question, Header: q.Header, Kind: q.Kind, Options: []Option{},
			Required: q.Required, Placeholder: OrNull(q.Placeholder), FreeText: q.FreeText,
			Description: q.Description, Default: q.Default, Format: q.Format, Minimum: finite(q.Minimum), Maximum: finite(q.Maximum),
			MinLength: q.MinLength, MaxLength: q.MaxLength, MinItems: q.MinItems, MaxItems: q.MaxItems,
		}
		for _, o := range q.Options {
			wq.Options = append(wq.Options, Option{
				Label: o.Label, Value: o.Value, Description: o.Description, Preview: OrNull(o.Preview),
			})
		}
		w.Questions = append(w.Questions, wq)
	}
	return w
}

// NewItems converts items of a transcript. A body that is not an object becomes a text.
func NewItems(items []session.Item) []Item {
	w := make([]Item, 0, len(items))
	for _, it := range items {
		body := json.RawMessage(bytes.Trim(it.Body, jsonSpace))
		if !isObject(body) {
			body = Encode(map[string]string{"text": string(it.Body)})
		}
		w = append(w, Item{
			Seq: it.Seq, Rev: it.Rev, Key: it.Key, At: it.At, Kind: it.Kind, AgentID: it.AgentID, Body: body, checked: true,
		})
	}
	return w
}

// NewLive converts the growing last block of a transcript.
func NewLive(l session.Live, rev int64) *Live {
	return &Live{Kind: l.Kind, Text: l.Text, Tool: l.Tool, AgentID: OrNull(l.AgentID), At: Seconds(l.Began), Rev: rev}
}
