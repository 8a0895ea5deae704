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

// hookPrefix starts the asker's id of a hook's question.
const hookPrefix = "hook/"

// questionTool is the tool whose permission request is a question.
const questionTool = "AskUserQuestion"

// terminalNamespace separates the ids of terminal sessions from all other version 5 UUIDs.
var terminalNamespace = uuid.MustParse("b8d3f1f4-5a0e-5d8d-8b5e-2f6c7d9a1e30")

// HookAsk is the body of POST /hook/ask: a question of a claude in a terminal, which a person can
// answer there or in sayso. The hook polls by sending it again, with the same Key, until there
// is an answer.
type HookAsk struct {
	Key       string  `json:"key"`        // identifies the question; chosen by the hook
	Host      string  `json:"host"`       // name of the machine
	SessionID string  `json:"session_id"` // Claude's own session id
	CWD       string  `json:"cwd"`
	Wait      float64 `json:"wait"` // maximum duration of this poll, in seconds; at most 55

	ToolName              string          `json:"tool_name"`
	ToolInput             json.RawMessage `json:"tool_input"`
	ToolUseID             string          `json:"tool_use_id,omitempty"`
	PermissionSuggestions json.RawMessage `json:"permission_suggestions,omitempty"`
	AgentID               string          `json:"agent_id,omitempty"`
	AgentType             string          `json:"agent_type,omitempty"`
}

// HookStatus is the state of a question.
type HookStatus string

const (
	HookWaiting  HookStatus = "waiting"  // 202: ask again
	HookAnswered HookStatus = "answered" // 200: by a person in sayso
	HookOver     HookStatus = "over"     // 200: it was withdrawn; print nothing
	HookNone     HookStatus = "none"     // 200: sayso gets it in another way; print nothing
)

// HookReply is the body of the reply to a [HookAsk].
type HookReply struct {
	Status HookStatus `json:"status"`
	// The other fields are set with HookAnswered.
	Decision           pending.Decision  `json:"decision,omitempty"`
	Message            string            `json:"message,omitempty"` // with a deny, for Claude
	Interrupt          bool              `json:"interrupt,omitempty"`
	UpdatedInput       json.RawMessage   `json:"updated_input,omitempty"` // nil: unchanged
	UpdatedPermissions json.RawMessage   `json:"updated_permissions,omitempty"`
	Answers            map[string]string `json:"answers,omitempty"` // of a question, by its text
}

// HookGone is the body of POST /hook/gone: the answer is no longer needed.
type HookGone struct {
	Key       string `json:"key"`
	SessionID string `json:"session_id"`
	Reason    string `json:"reason"` // terminal, refused or ended
}

// goneReasons are the statements for people, by HookGone.Reason. The asker's own text is not
// shown.
var goneReasons = map[string]string{
	"terminal": "terminal_answered",
	"refused":  "terminal_denied",
	"ended":    "terminal_ended",
}

// HookNotice is the body of POST /hook/notice: a notification of a claude in a terminal. The
// transcript contains only the latest one.
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
	case !isShortText(ask.Key, 200) || ask.Key == "":
		return badRequest("key must be a text of 1 to 200 bytes.")
	case !isShortText(ask.ToolName, 300) || ask.ToolName == "":
		return badRequest("tool_name must be a text of 1 to 300 bytes.")
	case !isObject(ask.ToolInput):
		return badRequest("tool_input must be an object.")
	case len(ask.PermissionSuggestions) > 0 && !isList(ask.PermissionSuggestions):
		return badRequest("permission_suggestions must be a list.")
	case !isShortText(ask.ToolUseID, 300) || !isShortText(ask.AgentID, 300) || !isShortText(ask.AgentType, 300):
		return badRequest("An id is too long.")
	}
	ctx := r.Context()
	if state, err := a.o.Store.ProcessState(ctx, ask.SessionID); err == nil && state.Running() {
		// A session of this server whose CLI also runs the person's hooks. It asks through its
		// own connection.
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
	row, err := a.await(r, req, pollDuration(ask.Wait), func() error { _, err := a.terminal(r); return err })
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

// hookRequest converts a hook's question to a request.
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
		req.Form, _ = pending.FormOfQuestions(ask.ToolInput) // without a form it can only be declined
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
		return badRequest("reason must be terminal, refused or ended.")
	case !isShortText(gone.Key, 200) || gone.Key == "":
		return badRequest("key must be a text of 1 to 200 bytes.")
	case !isShortText(gone.SessionID, 200) || gone.SessionID == "":
		return badRequest("session_id must be a text of 1 to 200 bytes.")
	}
	sessionID := terminalSessionID(token, gone.SessionID)
	row, err := a.o.Requests.Request(r.Context(), sessionID, pending.NewRequestID(sessionID, "", hookPrefix+gone.Key))
	if err == nil {
		err = a.o.Requests.Withdraw(r.Context(), row.RequestID, statement.New(reason))
	}
	// A question that is unknown or was answered here needs no withdrawal.
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
	if !isShortText(notice.Message, 2000) || strings.TrimSpace(notice.Message) == "" {
		return badRequest("message must be a text of 1 to 2000 bytes.")
	}
	s, err := a.terminalSession(r, token, notice.Host, notice.SessionID, notice.CWD)
	if err != nil {
		return err
	}
	body, err := json.Marshal(session.NoteBody{Level: "info", Text: notice.Message})
	if err != nil {
		return err
	}
	// Always the same key, so that a claude that waits for days adds only one item.
	item := session.Item{Key: "hook-notice", At: time.Now(), Kind: session.ItemNote, Body: body}
	if err := a.o.Store.PutItems(r.Context(), s.SessionID, []session.Item{item}); err != nil {
		return err
	}
	a.o.Notifier.Notify(s.SessionID)
	reply(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// terminal returns the token of a terminal's hook. It refuses other agents, which use other
// routes.
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
		return account.AgentToken{}, &refusal{http.StatusForbidden, "forbidden", "This token is not one of a terminal. Install the hook again."}
	}
	return token, nil
}

// terminalSessionID derives the id of the session for one token and one conversation of
// Claude.
func terminalSessionID(token account.AgentToken, claudeSessionID string) string {
	return uuid.NewSHA1(terminalNamespace, []byte(token.SessionID+"/"+claudeSessionID)).String()
}

// terminalSession finds or creates the session of a claude in a terminal. Its owner is the
// person who installed the hook.
func (a *Adapters) terminalSession(r *http.Request, token account.AgentToken, host, claudeSessionID, cwd string) (session.Session, error) {
	switch {
	case !isShortText(claudeSessionID, 200) || claudeSessionID == "":
		return session.Session{}, badRequest("session_id must be a text of 1 to 200 bytes.")
	case !isShortText(host, 200) || host == "" || strings.ContainsFunc(host, unicode.IsControl):
		return session.Session{}, badRequest("host must be a name of 1 to 200 bytes.")
	case !isShortText(cwd, 4096) || !filepath.IsAbs(cwd):
		return session.Session{}, badRequest("cwd must be an absolute path.")
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

// pollDuration returns how long a poll may wait.
func pollDuration(s float64) time.Duration {
	return time.Duration(min(max(s, 0), maxPoll.Seconds()) * float64(time.Second))
}

// terminalOn returns the name of an asker for people.
func terminalOn(host string) string { return "terminal on " + host }

// isShortText reports whether an untrusted text can be stored and shown.
func isShortText(s string, limit int) bool {
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
