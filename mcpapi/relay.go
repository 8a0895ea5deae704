package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// PromptManager's routes. In PromptManager a stream has one slot, which the next question
// overwrites, and an answer is deleted once read. In sayso every question is a separate request,
// the next one waits for its turn, and an answer can be read repeatedly.

// relayPrefix starts the asker's id of a relayed question.
const relayPrefix = "relay/"

// relayTurnTimeout is how long the next question of a stream waits after the last poll for
// the previous one. PromptManager polls every two seconds.
const relayTurnTimeout = 5 * time.Second

// relayTool is the name of relayed questions for people.
const relayTool = "ask_user"

// RelayQuestion is the body of POST /claude/relay-question.
type RelayQuestion struct {
	StreamToken string        `json:"streamToken"`
	Question    string        `json:"question"`
	Options     []RelayOption `json:"options,omitempty"`
	MultiSelect bool          `json:"multiSelect,omitempty"`
	// QuestionID is an extension of sayso. The asker chooses it. A question that has one may be
	// sent again, and several of them may be open in one stream.
	QuestionID string `json:"questionId,omitempty"`
	// Timeout is an extension of sayso: the seconds after which the asker gives up, 0 for never.
	Timeout float64 `json:"timeout,omitempty"`
}

// RelayOption is one choice of a [RelayQuestion].
type RelayOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// RelayStatus is the state of a relayed question. PromptManager knows the first two.
type RelayStatus string

const (
	RelayWaiting  RelayStatus = "waiting"  // 202
	RelayAnswered RelayStatus = "answered" // 200
	RelayDeclined RelayStatus = "declined" // 200: a person declined
	RelayOver     RelayStatus = "over"     // 410: it can no longer be answered
)

// RelayAnswer is the body of the reply to GET /claude/poll-answer.
type RelayAnswer struct {
	Status          RelayStatus `json:"status"`
	Answer          string      `json:"answer,omitempty"`
	SelectedOptions []int       `json:"selectedOptions,omitzero"` // from 0; always present in an answer
	Reason          string      `json:"reason,omitempty"`
}

// relays remembers the latest question of each stream, by its session, because PromptManager's
// polls do not name a question.
type relays struct {
	mu      sync.Mutex
	streams map[string]stream
	turns   map[string]chan struct{} // see [relays.turn]
}

// stream is the state of a stream.
type stream struct {
	requestID string    // of the latest question, "" for none
	wanted    time.Time // time of the last poll for it, or when it was asked
}

var streamToken = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// relayer returns the token of the agent whose secret is the stream's token, if the project
// matches.
func (a *Adapters) relayer(ctx context.Context, token string, project int64) (account.AgentToken, error) {
	unknown := &refusal{http.StatusForbidden, "forbidden", "This stream is unknown here, or it has ended."}
	if !streamToken.MatchString(token) {
		return account.AgentToken{}, unknown
	}
	agent, err := a.o.Directory.Agent(ctx, token)
	switch {
	case errors.Is(err, account.ErrRefused):
		return account.AgentToken{}, unknown
	case err == nil && !agent.OfProject(project):
		return account.AgentToken{}, &refusal{http.StatusForbidden, "forbidden", "This stream belongs to another project than p says."}
	}
	return agent, err
}

// project returns the project number in the query of an HTTP request.
func project(r *http.Request) (int64, error) {
	number, ok := account.ParseStreamProject(r.URL.Query()["p"])
	if !ok {
		return 0, badRequest("p must be the number of a project.")
	}
	return number, nil
}

func (a *Adapters) postRelay(w http.ResponseWriter, r *http.Request) error {
	p, err := project(r)
	if err != nil {
		return err
	}
	var q RelayQuestion
	if err := readJSON(w, r, &q); err != nil {
		return err
	}
	agent, err := a.relayer(r.Context(), q.StreamToken, p)
	if err != nil {
		return err
	}
	form, err := relayForm(q)
	if err != nil {
		return err
	}
	ctx := r.Context()
	s, err := a.o.Store.Session(ctx, agent.SessionID)
	if err != nil {
		return err
	}
	if a.policy != nil {
		policy := a.policy(ctx, s)
		if policy.Disabled {
			return &refusal{http.StatusForbidden, "disabled", "Asking is switched off for this project."}
		}
		if q.Timeout == 0 {
			q.Timeout = policy.Timeout.Seconds()
		}
	}
	key := q.QuestionID
	if key == "" {
		key = uuid.NewString()
		endTurn, err := a.takeTurn(ctx, agent.SessionID)
		if err != nil {
			return err
		}
		defer endTurn()
	}
	req := relayRequest(agent, q, key, form)
	if q.QuestionID == "" {
		a.relays.set(agent.SessionID, stream{req.RequestID, time.Now()})
	}
	if err := a.openRequest(r, req); err != nil {
		return err
	}
	a.relays.recordPoll(agent.SessionID, req.RequestID) // it could not be polled for before
	reply(w, http.StatusOK, map[string]string{"status": "ok", "questionId": key})
	return nil
}

func relayRequest(agent account.AgentToken, q RelayQuestion, key string, form *pending.Form) pending.Request {
	input, err := json.Marshal(map[string]any{"question": q.Question, "options": q.Options, "multiSelect": q.MultiSelect})
	if err != nil {
		panic(fmt.Sprintf("mcpapi: encode a question: %v", err)) // never fails for texts
	}
	req := pending.Request{
		RequestID:   relayID(agent.SessionID, key),
		SessionID:   agent.SessionID,
		RequestType: pending.AskUserQuestion, Source: pending.SourceMCP,
		AskerRequestID: relayPrefix + key, ToolName: relayTool, ToolInput: input, Form: form,
		CreatedAt: time.Now(),
	}
	if agent.Name != "" {
		req.Asker = "agent " + agent.Name + " over MCP"
	}
	if q.Timeout > 0 {
		req.ExpiresAt = req.CreatedAt.Add(time.Duration(q.Timeout * float64(time.Second)))
	}
	return req
}

func relayID(sessionID, key string) string {
	return pending.NewRequestID(sessionID, "", relayPrefix+key)
}

// relayForm returns the form of a relayed question.
func relayForm(q RelayQuestion) (*pending.Form, error) {
	switch {
	case strings.TrimSpace(q.Question) == "":
		return nil, badRequest("question must be a text.")
	case !isShortText(q.Question, pending.MaxQuestionBytes):
		return nil, badRequest(fmt.Sprintf("question is longer than %d bytes, or no text.", pending.MaxQuestionBytes))
	case len(q.Options) > pending.MaxOptions:
		return nil, badRequest(fmt.Sprintf("There are %d options, at most %d.", len(q.Options), pending.MaxOptions))
	case !isShortText(q.QuestionID, 200):
		return nil, badRequest("questionId is longer than 200 bytes, or no text.")
	case q.Timeout < 0 || q.Timeout > pending.MaxWait.Seconds():
		return nil, badRequest(fmt.Sprintf("timeout must be a number of seconds up to %.0f.", pending.MaxWait.Seconds()))
	}
	one := pending.Question{ID: "q1", Question: q.Question, Kind: pending.Text, Required: true, FreeText: true}
	if len(q.Options) > 0 {
		one.Kind = pending.Select
		if q.MultiSelect {
			one.Kind = pending.MultiSelect
		}
	}
	for i, o := range q.Options {
		switch {
		case strings.TrimSpace(o.Label) == "" || !isShortText(o.Label, pending.MaxLabelBytes):
			return nil, badRequest(fmt.Sprintf("Option %d needs a label of at most %d bytes.", i+1, pending.MaxLabelBytes))
		case slices.ContainsFunc(one.Options, func(other pending.Option) bool { return other.Label == o.Label }):
			return nil, badRequest(fmt.Sprintf("Option %d is there twice.", i+1)) // the answer could not distinguish them
		case !isShortText(o.Description, pending.MaxQuestionBytes):
			return nil, badRequest(fmt.Sprintf("The description of option %d is too long.", i+1))
		}
		one.Options = append(one.Options, pending.Option{Label: o.Label, Value: o.Label, Description: o.Description})
	}
	return &pending.Form{Questions: []pending.Question{one}}, nil
}

// openRequest opens a request without waiting for its answer.
func (a *Adapters) openRequest(r *http.Request, req pending.Request) error {
	for {
		_, err := a.await(r, req, 10*time.Millisecond, func() error { return nil })
		if !errors.Is(err, pending.ErrNotFound) {
			return err
		}
		// The request is not stored yet.
		if err := r.Context().Err(); err != nil {
			return err
		}
	}
}

// takeTurn blocks until the previous question of a stream has ended, because a poll without a
// question id could return its answer to the wrong asker. The turn lasts until the caller calls
// endTurn, after it has stored its question: until then, the next caller would not find it.
func (a *Adapters) takeTurn(ctx context.Context, sessionID string) (endTurn func(), err error) {
	turn := a.relays.turn(sessionID)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	endTurn = func() { <-turn }
	if err := a.awaitPrevious(ctx, sessionID); err != nil {
		endTurn()
		return nil, err
	}
	return endTurn, nil
}

// awaitPrevious blocks until the previous question of a stream has ended. It withdraws a question
// for which nobody polls any more.
func (a *Adapters) awaitPrevious(ctx context.Context, sessionID string) error {
	for {
		if !a.questions.beginCall() { // Run waits for this call
			return errStopping
		}
		a.questions.endCall()
		s, err := a.currentQuestion(ctx, sessionID)
		if err != nil || s.requestID == "" {
			return err
		}
		row, err := a.o.Requests.Request(ctx, sessionID, s.requestID)
		idle := time.Since(s.wanted) > relayTurnTimeout
		switch {
		case errors.Is(err, pending.ErrNotFound):
			return nil
		case err != nil:
			return err
		case row.Status.Final() && (row.Delivery != pending.Queued || idle):
			return nil
		case idle:
			err := a.o.Requests.Withdraw(ctx, s.requestID, statement.New("agent_asks_other"))
			if err != nil && !errors.Is(err, pending.ErrNotOpen) && !errors.Is(err, pending.ErrNotFound) {
				return err
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// currentQuestion returns the question that a poll without a question id asks for. After a
// restart, that is the newest one that is open or whose answer nobody has read.
func (a *Adapters) currentQuestion(ctx context.Context, sessionID string) (stream, error) {
	if s := a.relays.get(sessionID); s.requestID != "" {
		return s, nil
	}
	open, err := a.o.Requests.Open(ctx, sessionID)
	if err != nil {
		return stream{}, err
	}
	answered, err := a.o.Store.UndeliveredRequests(ctx, sessionID)
	if err != nil {
		return stream{}, err
	}
	for _, row := range slices.Backward(append(answered, open...)) {
		if strings.HasPrefix(row.AskerRequestID, relayPrefix) {
			s := stream{row.RequestID, time.Now()}
			a.relays.set(sessionID, s)
			return s, nil
		}
	}
	return stream{}, nil
}

func (l *relays) get(sessionID string) stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[sessionID]
}

func (l *relays) set(sessionID string, s stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams[sessionID] = s
}

// turn returns the lock of a stream, which is held while the channel is full.
func (l *relays) turn(sessionID string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns[sessionID] == nil {
		l.turns[sessionID] = make(chan struct{}, 1)
	}
	return l.turns[sessionID]
}

// recordPoll records a poll for a question.
func (l *relays) recordPoll(sessionID, requestID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams[sessionID].requestID == requestID {
		l.streams[sessionID] = stream{requestID, time.Now()}
	}
}

func (a *Adapters) getPoll(w http.ResponseWriter, r *http.Request) error {
	p, err := project(r)
	if err != nil {
		return err
	}
	query, ctx := r.URL.Query(), r.Context()
	agent, err := a.relayer(ctx, query.Get("streamToken"), p)
	if err != nil {
		return err
	}
	wait := 0.0
	if text := query.Get("wait"); text != "" {
		if wait, err = strconv.ParseFloat(text, 64); err != nil || !(wait >= 0) {
			return badRequest("wait must be a number of seconds.")
		}
	}
	requestID := relayID(agent.SessionID, query.Get("questionId"))
	if !query.Has("questionId") {
		last, err := a.currentQuestion(ctx, agent.SessionID)
		if err != nil {
			return err
		}
		requestID = last.requestID
	}
	a.relays.recordPoll(agent.SessionID, requestID)
	row, err := a.o.Requests.Request(ctx, agent.SessionID, requestID)
	if err == nil && !row.Status.Final() {
		row, err = a.await(r, row, pollDuration(wait), func() error { _, err := a.relayer(ctx, query.Get("streamToken"), p); return err })
	}
	switch {
	case errors.Is(err, pending.ErrNotFound):
		reply(w, http.StatusAccepted, RelayAnswer{Status: RelayWaiting}) // as in PromptManager: nothing was asked yet
		return nil
	case err != nil:
		return err
	}
	a.relays.recordPoll(agent.SessionID, requestID)
	status, answer := relayAnswer(row)
	reply(w, status, answer)
	if ctx.Err() == nil {
		a.delivered(ctx, row)
	}
	return nil
}

func relayAnswer(row pending.Request) (int, RelayAnswer) {
	if !row.Status.Final() {
		return http.StatusAccepted, RelayAnswer{Status: RelayWaiting}
	}
	if row.Resolution == nil || row.Resolution.Answer == nil {
		reason := ""
		if row.Resolution != nil {
			reason = row.Resolution.Reason
		}
		return http.StatusGone, RelayAnswer{Status: RelayOver, Reason: reason}
	}
	answer := *row.Resolution.Answer
	if answer.Decision == pending.Deny {
		return http.StatusOK, RelayAnswer{Status: RelayDeclined, Reason: answer.Message}
	}
	said := RelayAnswer{Status: RelayAnswered, SelectedOptions: []int{}}
	if row.Form == nil || len(row.Form.Questions) != 1 {
		return http.StatusOK, said
	}
	question := row.Form.Questions[0]
	said.Answer = pending.AnswersByText(row, answer)[question.Question]
	for _, r := range answer.Responses {
		for i, o := range question.Options {
			if slices.Contains(r.Values, o.Value) {
				said.SelectedOptions = append(said.SelectedOptions, i)
			}
		}
	}
	return http.StatusOK, said
}
