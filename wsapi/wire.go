package wsapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// seconds is t as Unix seconds, 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

func optionalSeconds(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	s := seconds(t)
	return &s
}

// optional is nil for "", which is null on the wire.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// encode writes v as JSON without escaping HTML, so that what was asked is shown
// byte for byte. The result is valid UTF-8 whatever a stored input holds: a
// browser ends a connection on anything else. It panics when v cannot be
// written, which only a type of this package can cause.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("wsapi: encode %T: %w", v, err))
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(out) {
		out = bytes.ToValidUTF8(out, []byte("\uFFFD"))
	}
	return out
}

// rawOr is raw when it is JSON, and otherwise what is shown in its place: the
// fallback for nothing, a string for what cannot be read.
func rawOr(raw json.RawMessage, fallback string) json.RawMessage {
	switch {
	case len(raw) == 0:
		return json.RawMessage(fallback)
	case !json.Valid(raw):
		return encode(string(raw))
	}
	return raw
}

// effective is the project_id of a session: its project, or its folder.
func effective(inProject, ofFolder string) string {
	if inProject != "" {
		return inProject
	}
	return ofFolder
}

func nameOf(book *project.Book, in project.Place) string {
	p, _ := book.Project(in.ProjectID)
	return p.Name
}

func rights(book *project.Book, who project.Person, in project.Place) []project.Action {
	if in.ProjectID == "" {
		return nil
	}
	return book.Rights(who, in)
}

// place is where a process is. What it may use unasked is not known here.
func place(p session.ProcessState) project.Place {
	return project.Place{ProjectID: p.InProject, OwnerID: p.OwnerID, Mode: p.PermissionMode}
}

func wireProcessState(p session.ProcessState, book *project.Book, who project.Person, read *riskLevels) ProcessState {
	in := place(p)
	w := ProcessState{
		Type: "process_state", Version: p.Version,
		SessionID: p.SessionID, ProjectID: effective(p.InProject, p.ProjectID), ProjectName: nameOf(book, in), Rights: rights(book, who, in), Title: p.Title, CWD: p.CWD,
		State: p.State, StartedAt: seconds(p.StartedAt), StateChangedAt: seconds(p.StateChangedAt),
		Model: p.Model, PermissionMode: p.PermissionMode,
		Memory: p.Memory, CPU: p.CPU, NodeID: p.NodeID,
		Error: optional(p.Error), KillReason: optional(p.KillReason), Stuck: optional(p.Stuck), Held: optional(p.Held),
		QueuedMessages:  p.QueuedMessages,
		Items:           p.Items,
		PendingRequests: make([]Request, 0, len(p.Requests)),
		Demo:            p.Demo,
		Kind:            p.Kind,
		Archived:        p.Archived,
	}
	if math.IsNaN(w.CPU) || math.IsInf(w.CPU, 0) {
		w.CPU = 0 // JSON has no word for it
	}
	for _, r := range p.Requests {
		one := wireRequest(r)
		one.Approval = wireApproval(r, p.CWD, in, book, who)
		one.Held = wireHeld(r.Held, who)
		one.Risk = read.of(r, p.CWD)
		w.PendingRequests = append(w.PendingRequests, one)
	}
	if len(w.PendingRequests) > 0 {
		w.PendingRequest = &w.PendingRequests[0]
	}
	return w
}

// wireApproval says who may approve a request, nil when there is nothing to say.
func wireApproval(r pending.Request, cwd string, in project.Place, book *project.Book, who project.Person) *ApprovalRule {
	if r.RequestType != pending.ToolApproval {
		return nil
	}
	ruling := book.Approval(in, project.Call{Tool: r.ToolName, Input: r.ToolInput, CWD: cwd}, nil)
	if ruling.Free() {
		return nil
	}
	rule := &ApprovalRule{Effect: ruling.Effect, May: book.MayApprove(who, in, ruling, r.ToolName) == nil}
	if a := r.Approval; a != nil && ruling.Effect == project.TwoPeople {
		rule.First = &FirstApproval{By: a.Actor.Name, At: seconds(a.At), Mine: a.Actor.UserID == who.UserID}
	}
	if len(ruling.People) > 0 {
		rule.People = book.NameList(ruling.People)
	}
	return rule
}

// wireHeld says whose answer is held, nil when none is or was.
func wireHeld(h *pending.Held, who project.Person) *HeldAnswer {
	if h == nil {
		return nil
	}
	w := &HeldAnswer{
		By: h.Actor.Name, Mine: h.Actor.UserID == who.UserID, Decision: h.Answer.Decision, Edited: len(h.Answer.UpdatedInput) > 0,
		At: seconds(h.At), Until: seconds(h.Until), Dropped: h.Dropped,
	}
	if w.Mine {
		w.CommandID = h.CommandID
	}
	return w
}

func wireRequest(r pending.Request) Request {
	w := Request{
		RequestID: r.RequestID, RequestType: r.RequestType, Source: r.Source,
		ToolName: r.ToolName, ToolInput: rawOr(r.ToolInput, "{}"), InputHash: r.InputHash,
		CreatedAt: seconds(r.CreatedAt), ExpiresAt: optionalSeconds(r.ExpiresAt), Status: r.Status, Asker: r.Asker,
		AgentID: optional(r.AgentID), AgentType: optional(r.AgentType),
		Title: optional(r.Title), Description: optional(r.Description),
		DecisionReason: optional(r.DecisionReason), BlockedPath: optional(r.BlockedPath),
		ToolUseID:             optional(r.AskerToolUseID),
		PermissionSuggestions: rawOr(r.PermissionSuggestions, "[]"),
		Draft:                 json.RawMessage("null"),
	}
	if p := r.Policy; p != nil {
		w.DefaultToNo, w.SuppressAlwaysAllowRule, w.RequiresUserInteraction = p.DefaultToNo, p.SuppressAlwaysAllowRule, p.RequiresUserInteraction
		w.MatchedAskRule, w.ClassifierApprovable, w.MCPServer = (*AskRule)(p.MatchedAskRule), p.ClassifierApprovable, (*MCPServer)(p.MCPServer)
	}
	if r.RequestType == pending.AskUserQuestion {
		w.Form = wireForm(r.Form)
	}
	if e := r.Earlier; e != nil {
		w.Earlier = &Earlier{
			RequestID: e.RequestID, ToolInput: rawOr(e.ToolInput, "{}"), Outcome: e.Status,
			Summary: e.Summary, By: optional(e.By), At: seconds(e.At),
		}
		if e.UpdatedInput != nil {
			w.Earlier.UpdatedInput = rawOr(e.UpdatedInput, "{}")
		}
	}
	return w
}

func wireLifecycle(sessionID string, l *session.Lifecycle) Lifecycle {
	return Lifecycle{
		Type: "lifecycle", SessionID: sessionID, EventType: l.EventType, PhaseName: l.PhaseName, PhaseNumber: l.PhaseNumber,
		Step: finite(l.Step), TotalSteps: finite(l.TotalSteps), At: seconds(l.At),
	}
}

// finite is n unless JSON has no word for it.
func finite(n *float64) *float64 {
	if n == nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
		return nil
	}
	return n
}

func wireForm(f *pending.Form) *Form {
	w := &Form{Questions: []Question{}}
	if f == nil {
		return w
	}
	w.Title = optional(f.Title)
	for _, q := range f.Questions {
		wq := Question{
			ID: q.ID, Question: q.Question, Header: q.Header, Kind: q.Kind, Options: []Option{},
			Required: q.Required, Placeholder: optional(q.Placeholder), FreeText: q.FreeText,
			Description: q.Description, Default: q.Default, Format: q.Format, Minimum: finite(q.Minimum), Maximum: finite(q.Maximum),
			MinLength: q.MinLength, MaxLength: q.MaxLength, MinItems: q.MinItems, MaxItems: q.MaxItems,
		}
		for _, o := range q.Options {
			wq.Options = append(wq.Options, Option{
				Label: o.Label, Value: o.Value, Description: o.Description, Preview: optional(o.Preview),
			})
		}
		w.Questions = append(w.Questions, wq)
	}
	return w
}

func wireItems(items []session.Item) []Item {
	w := make([]Item, 0, len(items))
	for _, it := range items {
		body := it.Body
		if len(body) == 0 || !json.Valid(body) || bytes.TrimSpace(body)[0] != '{' {
			body = encode(map[string]string{"text": string(it.Body)})
		}
		w = append(w, Item{
			Seq: it.Seq, Rev: it.Rev, Key: it.Key, At: it.At, Kind: it.Kind, AgentID: it.AgentID, Body: body,
		})
	}
	return w
}

func wireLive(l session.Live, ok bool) *Live {
	if !ok {
		return nil
	}
	return &Live{Kind: l.Kind, Text: l.Text, Tool: l.Tool, AgentID: optional(l.AgentID), At: seconds(l.Began)}
}
