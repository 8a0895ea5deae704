package mcpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// hookPrefix begins the asker's id of a question that a hook asks.
const hookPrefix = "hook/"

// questionTool is the tool whose permission request is really a question.
const questionTool = "AskUserQuestion"

// terminalNamespace keeps ids of sessions in terminals apart from every other
// UUIDv5.
var terminalNamespace = uuid.MustParse("b8d3f1f4-5a0e-5d8d-8b5e-2f6c7d9a1e30")

// HookAsk is the body of POST /hook/ask: what the claude of a terminal asks the
// person there, who may also answer here. It is sent again, with the same Key,
// until an answer is there: a poll.
type HookAsk struct {
	Key       string  `json:"key"`        // of this question; chosen by the hook
	Host      string  `json:"host"`       // name of the machine
	SessionID string  `json:"session_id"` // Claude's own
	CWD       string  `json:"cwd"`
	Wait      float64 `json:"wait"` // how long this poll may take, in seconds; at most 55

	ToolName              string          `json:"tool_name"`
	ToolInput             json.RawMessage `json:"tool_input"`
	ToolUseID             string          `json:"tool_use_id,omitempty"`
	PermissionSuggestions json.RawMessage `json:"permission_suggestions,omitempty"`
	AgentID               string          `json:"agent_id,omitempty"`
	AgentType             string          `json:"agent_type,omitempty"`
}

// HookStatus says what became of a question.
type HookStatus string

const (
	HookWaiting  HookStatus = "waiting"  // 202: ask again
	HookAnswered HookStatus = "answered" // 200: by a person, here
	HookOver     HookStatus = "over"     // 200: it was withdrawn; say nothing
	HookNone     HookStatus = "none"     // 200: it is asked in another way; say nothing
)

// HookReply is the body of the reply to a [HookAsk].
type HookReply struct {
	Status HookStatus `json:"status"`
	// The rest is there with HookAnswered.
	Decision           pending.Decision  `json:"decision,omitempty"`
	Message            string            `json:"message,omitempty"` // with a deny, for Claude
	Interrupt          bool              `json:"interrupt,omitempty"`
	UpdatedInput       json.RawMessage   `json:"updated_input,omitempty"` // nil: as asked
	UpdatedPermissions json.RawMessage   `json:"updated_permissions,omitempty"`
	Answers            map[string]string `json:"answers,omitempty"` // of a question, by its text
}

// HookGone is the body of POST /hook/gone: nobody needs the answer any longer.
type HookGone struct {
	Key       string `json:"key"`
	SessionID string `json:"session_id"`
	Reason    string `json:"reason"` // terminal, ended or late
}

// goneReasons are the statements that people read, by HookGone.Reason. The asker's own words
// are not shown.
var goneReasons = map[string]string{
	"terminal": "terminal_answered",
	"refused":  "terminal_denied",
	"ended":    "terminal_ended",
}

// HookNotice is the body of POST /hook/notice: something to know of a claude in a
// terminal. Only the last one is kept.
type HookNotice struct {
	Host      string `json:"host"`
	SessionID string `json:"session_id"`
	CWD       string `json:"cwd"`
	Message   string `json:"message"`
}

func (a *Adapters) postHookAsk(w http.ResponseWriter, r *http.Request) error {
	token, err := a.terminal(r)
	if err != nil {
		return err
	}
	var ask HookAsk
	if err := readJSON(w, r, &ask); err != nil {
		return err
	}
	switch {
	case !short(ask.Key, 200) || ask.Key == "":
		return bad("key must be a text of 1 to 200 bytes.")
	case !short(ask.ToolName, 300) || ask.ToolName == "":
		return bad("tool_name must be a text of 1 to 300 bytes.")
	case !isObject(ask.ToolInput):
		return bad("tool_input must be an object.")
	case len(ask.PermissionSuggestions) > 0 && !isList(ask.PermissionSuggestions):
		return bad("permission_suggestions must be a list.")
	case !short(ask.ToolUseID, 300) || !short(ask.AgentID, 300) || !short(ask.AgentType, 300):
		return bad("An id is too long.")
	}
	ctx := r.Context()
	if state, err := a.o.Store.ProcessState(ctx, ask.SessionID); err == nil && state.Running() {
		// One of ours, whose CLI has the person's hooks too: it asks us itself.
		reply(w, http.StatusOK, HookReply{Status: HookNone})
		return nil
	} else if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	s, err := a.terminalSession(r, token, ask.Host, ask.SessionID, ask.CWD)
	if err != nil {
		return err
	}
	req := hookRequest(s, ask)
	row, err := a.await(r, req, seconds(ask.Wait), func() error { _, err := a.terminal(r); return err })
	if err != nil {
		return err
	}
	status, answer := hookReply(row)
	reply(w, status, answer)
	if answer.Status == HookAnswered && ctx.Err() == nil {
		a.delivered(ctx, row)
	}
	return nil
}

// hookRequest turns what a claude in a terminal asks into what a person sees.
func hookRequest(s session.Session, ask HookAsk) pending.Request {
	req := pending.Request{
		RequestID:   pending.NewRequestID(s.SessionID, "", hookPrefix+ask.Key),
		SessionID:   s.SessionID,
		RequestType: pending.ToolApproval, Source: pending.SourceHook, Asker: terminalOn(ask.Host),
		AskerRequestID: hookPrefix + ask.Key, AskerToolUseID: ask.ToolUseID,
		ToolName: ask.ToolName, ToolInput: ask.ToolInput,
		AgentID: ask.AgentID, AgentType: ask.AgentType,
		CreatedAt: time.Now(),
	}
	if isList(ask.PermissionSuggestions) {
		req.PermissionSuggestions = ask.PermissionSuggestions
	}
	if ask.ToolName == questionTool {
		req.RequestType = pending.AskUserQuestion
		req.Form, _ = pending.FormOfQuestions(ask.ToolInput) // without a form it can be declined
	}
	return req
}

func hookReply(row pending.Request) (int, HookReply) {
	switch {
	case !row.Status.Final():
		return http.StatusAccepted, HookReply{Status: HookWaiting}
	case row.Resolution == nil || row.Resolution.Answer == nil:
		return http.StatusOK, HookReply{Status: HookOver}
	}
	answer := *row.Resolution.Answer
	said := HookReply{
		Status: HookAnswered, Decision: answer.Decision, Message: answer.Message, Interrupt: answer.Interrupt,
		UpdatedInput: answer.UpdatedInput, UpdatedPermissions: answer.UpdatedPermissions,
	}
	switch {
	case answer.Decision == pending.Deny && answer.Message == "" && row.RequestType == pending.AskUserQuestion:
		said.Message = "The user declined to answer."
	case answer.Decision == pending.Deny && answer.Message == "":
		said.Message = pending.DeniedAction
	case row.RequestType == pending.AskUserQuestion:
		said.Answers = pending.AnswersByText(row, answer)
	}
	return http.StatusOK, said
}

func (a *Adapters) postHookGone(w http.ResponseWriter, r *http.Request) error {
	token, err := a.terminal(r)
	if err != nil {
		return err
	}
	var gone HookGone
	if err := readJSON(w, r, &gone); err != nil {
		return err
	}
	reason, known := goneReasons[gone.Reason]
	switch {
	case !known:
		return bad("reason must be terminal, refused or ended.")
	case !short(gone.Key, 200) || gone.Key == "":
		return bad("key must be a text of 1 to 200 bytes.")
	case !short(gone.SessionID, 200) || gone.SessionID == "":
		return bad("session_id must be a text of 1 to 200 bytes.")
	}
	sessionID := terminalSessionID(token, gone.SessionID)
	row, err := a.o.Requests.Request(r.Context(), sessionID, pending.NewRequestID(sessionID, "", hookPrefix+gone.Key))
	if err == nil {
		err = a.o.Requests.Withdraw(r.Context(), row.RequestID, statement.New(reason))
	}
	// One that is not there, or answered here already, needs no withdrawal.
	if err != nil && !errors.Is(err, pending.ErrNotFound) && !errors.Is(err, pending.ErrNotOpen) {
		return err
	}
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (a *Adapters) postHookNotice(w http.ResponseWriter, r *http.Request) error {
	token, err := a.terminal(r)
	if err != nil {
		return err
	}
	var notice HookNotice
	if err := readJSON(w, r, &notice); err != nil {
		return err
	}
	if !short(notice.Message, 2000) || strings.TrimSpace(notice.Message) == "" {
		return bad("message must be a text of 1 to 2000 bytes.")
	}
	s, err := a.terminalSession(r, token, notice.Host, notice.SessionID, notice.CWD)
	if err != nil {
		return err
	}
	body, err := json.Marshal(session.NoteBody{Level: "info", Text: notice.Message})
	if err != nil {
		return err
	}
	// One key, so that a claude that waits for days fills nothing.
	item := session.Item{Key: "hook-notice", At: time.Now(), Kind: session.ItemNote, Body: body}
	if err := a.o.Store.PutItems(r.Context(), s.SessionID, []session.Item{item}); err != nil {
		return err
	}
	a.o.Notifier.Notify(s.SessionID)
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// terminal returns the token of a terminal's hook. Other agents use other routes.
func (a *Adapters) terminal(r *http.Request) (account.AgentToken, error) {
	token, err := a.agent(r)
	if err != nil {
		return account.AgentToken{}, err
	}
	s, err := a.o.Store.Session(r.Context(), token.SessionID)
	switch {
	case err != nil:
		return account.AgentToken{}, err
	case s.Kind != session.Terminal:
		return account.AgentToken{}, &refused{http.StatusForbidden, "forbidden", "This token is not one of a terminal. Install the hook again."}
	}
	return token, nil
}

// terminalSessionID is the session here of a claude there: the same for one
// token and one conversation, and nobody else's.
func terminalSessionID(token account.AgentToken, claudeSessionID string) string {
	return uuid.NewSHA1(terminalNamespace, []byte(token.SessionID+"/"+claudeSessionID)).String()
}

// terminalSession finds or makes the session of a claude in a terminal. It
// belongs to whoever installed the hook.
func (a *Adapters) terminalSession(r *http.Request, token account.AgentToken, host, claudeSessionID, cwd string) (session.Session, error) {
	switch {
	case !short(claudeSessionID, 200) || claudeSessionID == "":
		return session.Session{}, bad("session_id must be a text of 1 to 200 bytes.")
	case !short(host, 200) || host == "" || strings.ContainsFunc(host, unicode.IsControl):
		return session.Session{}, bad("host must be a name of 1 to 200 bytes.")
	case !short(cwd, 4096) || !filepath.IsAbs(cwd):
		return session.Session{}, bad("cwd must be an absolute path.")
	}
	ctx, id := r.Context(), terminalSessionID(token, claudeSessionID)
	s, err := a.o.Store.Session(ctx, id)
	if !errors.Is(err, session.ErrNotFound) {
		return s, err
	}
	anchor, err := a.o.Store.Session(ctx, token.SessionID)
	if err != nil {
		return session.Session{}, err
	}
	now := time.Now()
	s = session.Session{
		SessionID: id, ProjectID: session.ProjectOf(cwd), Title: terminalOn(host), CWD: cwd,
		PermissionMode: "default", OwnerID: anchor.OwnerID, Kind: session.Terminal, CreatedAt: now, UpdatedAt: now,
	}
	if err := a.o.Store.CreateSession(ctx, s); err != nil && !errors.Is(err, session.ErrExists) {
		return session.Session{}, err
	}
	return s, nil
}

// seconds is how long a poll may wait.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), longestPoll.Seconds()) * float64(time.Second))
}

// terminalOn names an asker for people.
func terminalOn(host string) string { return "terminal on " + host }

// short reports whether a text from outside can be kept and shown.
func short(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

func isObject(raw json.RawMessage) bool { return firstByte(raw) == '{' }

func isList(raw json.RawMessage) bool { return firstByte(raw) == '[' }

func firstByte(raw json.RawMessage) byte {
	text := strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n")
	if text == "" {
		return 0
	}
	return text[0]
}
