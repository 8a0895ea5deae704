package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// sessionStore holds what sessionHandlers reads and writes.
type sessionStore interface {
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	QueuedMessages(ctx context.Context, sessionID string) ([]session.Message, error)
	Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error)
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error)
	UpdateSession(ctx context.Context, sessionID string, p session.Patch) (session.Session, error)
}

// sessionDriver is what sessionHandlers needs from the orchestrator.
type sessionDriver interface {
	Delete(ctx context.Context, sessionID string) error
	Environment(ctx context.Context, runnerID string) (orchestrator.Environment, error)
	Unqueue(ctx context.Context, sessionID, messageID string) (removed bool, err error)
}

// sessionHandlers serves sessions, their transcripts and their queues.
type sessionHandlers struct {
	store    sessionStore
	driver   sessionDriver
	guard    *access.Guard
	rules    *decision.Rules
	live     Live
	notifier session.Notifier
}

// Numbers of entries in a page.
const (
	maxSessions       = 200
	maxTranscript     = 500
	defaultTranscript = 200
)

func (s *sessionHandlers) getSessions(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	limit, err := queryNumber(query.Get("limit"), "limit", 50, maxSessions)
	if err != nil {
		return err
	}
	book, err := s.guard.Book(r.Context())
	if err != nil {
		return err
	}
	page, next, err := s.store.Sessions(r.Context(), session.Query{
		Hidden: book.Hidden(access.Person(who)), Text: query.Get("q"), Archived: query.Get("archived") == "true", Cursor: query.Get("cursor"), Limit: int(limit),
	})
	if err != nil {
		return err
	}
	list := wire.SessionList{Sessions: make([]wire.Session, 0, len(page)), Next: wire.OrNull(next)}
	for _, ses := range page {
		// The book may lack a project that was created after it was read.
		if book.May(access.Person(who), project.See, access.PlaceOf(ses)) == nil {
			list.Sessions = append(list.Sessions, wireSession(ses, book, access.Person(who)))
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// queryNumber parses a query parameter that is not negative. It returns maximum for larger
// values, and fallback for an absent one.
func queryNumber(text, name string, fallback, maximum int64) (int64, error) {
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, refusal.For(name, "parameter_number", "name", name)
	}
	return min(n, maximum), nil
}

func (s *sessionHandlers) getSession(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	id := r.PathValue("id")
	ses, _, err := s.guard.Session(r.Context(), who, project.See, id)
	if err != nil {
		return err
	}
	state, err := s.store.ProcessState(r.Context(), id)
	if err != nil {
		return err
	}
	book, err := s.guard.Book(r.Context())
	if err != nil {
		return err
	}
	out := wireSession(ses, book, access.Person(who))
	ws := wire.NewProcessState(r.Context(), state, access.PlaceOfProcess(state), book, access.Person(who), s.rules.Levels)
	out.ProcessState = &ws
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *sessionHandlers) patchSession(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var p wire.SessionPatch
	if err := readBody(r, &p); err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, _, err := s.guard.Session(r.Context(), who, project.Tend, id); err != nil {
		return err
	}
	book, err := s.guard.Book(r.Context())
	if err != nil {
		return err
	}
	ses, err := s.store.UpdateSession(context.WithoutCancel(r.Context()), id, session.Patch{Title: p.Title, Archived: p.Archived})
	if err != nil {
		return err
	}
	s.notifier.Notify(id)
	writeJSON(w, http.StatusOK, wireSession(ses, book, access.Person(who)))
	return nil
}

func (s *sessionHandlers) deleteSession(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	id := r.PathValue("id")
	ses, _, err := s.guard.Session(ctx, who, project.End, id)
	if err != nil {
		return err
	}
	s.live.Deleting(id, ses.InProject)
	if err := s.driver.Delete(ctx, id); err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	s.notifier.Notify(id)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *sessionHandlers) getTranscript(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	after, err := queryNumber(query.Get("after"), "after", 0, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	limit, err := queryNumber(query.Get("limit"), "limit", defaultTranscript, maxTranscript)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, _, err := s.guard.Session(r.Context(), who, project.See, id); err != nil {
		return err
	}
	page, err := s.store.Transcript(r.Context(), id, after, max(int(limit), 1))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.TranscriptPage{Items: wire.NewItems(page.Items), Next: page.Next, More: page.More, Total: page.Total})
	return nil
}

// getMessages lists the messages queued until Claude's turn ends.
func (s *sessionHandlers) getMessages(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	id := r.PathValue("id")
	if _, _, err := s.guard.Session(r.Context(), who, project.See, id); err != nil {
		return err
	}
	queue, err := s.store.QueuedMessages(r.Context(), id)
	if err != nil {
		return err
	}
	list := wire.MessageList{Messages: make([]wire.QueuedMessage, 0, len(queue))}
	for _, m := range queue {
		q := wire.QueuedMessage{MessageID: m.MessageID, Text: m.Text, Attachments: []session.AttachmentInfo{}, By: m.By.Name, CreatedAt: wire.Seconds(m.CreatedAt)}
		for _, a := range m.Attachments {
			q.Attachments = append(q.Attachments, a.Info())
		}
		list.Messages = append(list.Messages, q)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// deleteMessage removes a message from the queue, if Claude has not received it.
func (s *sessionHandlers) deleteMessage(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	id := r.PathValue("id")
	if _, _, err := s.guard.Session(ctx, who, project.Tend, id); err != nil {
		return err
	}
	removed, err := s.driver.Unqueue(ctx, id, r.PathValue("message_id"))
	if err != nil {
		return err
	}
	if !removed {
		return refusal.New("not_queued")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *sessionHandlers) getEnvironment(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	e, err := s.driver.Environment(r.Context(), r.URL.Query().Get("runner_id"))
	if err != nil {
		return err
	}
	roots := e.WorkspaceRoots
	if roots == nil {
		roots = []string{}
	}
	writeJSON(w, http.StatusOK, wire.Environment{
		Claude:        wire.ClaudeInfo{Path: e.ClaudePath, Version: e.ClaudeVersion, SignedIn: e.SignedIn, Problem: wire.OrNull(e.Problem), Reasons: statement.Reasons("problem", e.Problem)},
		DemoAvailable: e.DemoAvailable, WorkspaceRoots: roots, Home: e.Home,
	})
	return nil
}

func wireSession(s session.Session, book *project.Book, who project.Person) wire.Session {
	tools := s.AllowedTools
	if tools == nil {
		tools = []string{}
	}
	in := access.PlaceOf(s)
	return wire.Session{
		SessionID: s.SessionID, ProjectID: wire.ProjectID(s.InProject, s.ProjectID), ProjectName: wire.ProjectName(book, in), Rights: wire.Rights(book, who, in), Title: s.Title, CWD: s.CWD, Model: s.Model,
		PermissionMode: s.PermissionMode, AllowedTools: tools, Archived: s.Archived, Demo: s.Demo, Kind: s.Kind,
		CreatedAt: wire.Seconds(s.CreatedAt), UpdatedAt: wire.Seconds(s.UpdatedAt), Items: s.Items,
	}
}
