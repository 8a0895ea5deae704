package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// SavedSession is a conversation that another CLI on a runner has saved, such as one in somebody's
// terminal, and that is not a session of sayso yet.
type SavedSession struct {
	SessionID string
	Title     string
	CWD       string // resolved, inside the workspace roots
	ChangedAt time.Time
	Size      int64 // bytes
	Running   bool  // open in a terminal at the moment
	RunnerID  string
	Machine   string // the name of that runner
}

// SavedPage is a page of a saved transcript. Pages are read from the end.
type SavedPage struct {
	Items []session.Item // Seq and Rev count within the page
	// Before is where the previous page ends; 0 when there is none.
	Before int64
}

const (
	maxSaved      = 500     // conversations in the list
	savedPageSize = 1 << 20 // bytes of a page
	maxImported   = 8 << 20 // bytes at the end of an imported conversation that are copied to its transcript
)

// SavedSessions lists the conversations saved in folders inside the workspace roots, the latest
// change first.
func (o *Orchestrator) SavedSessions(ctx context.Context) ([]SavedSession, error) {
	all, err := o.runner.SavedConversations(ctx, maxSaved)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: %w", err)
	}
	roots := o.rules().Roots
	folders := map[string]string{} // resolved folders by the paths that the CLI uses; "" for those outside
	machine := o.machineName(ctx)
	var list []SavedSession
	for _, s := range all {
		folder, known := folders[s.CWD]
		if !known {
			if real, err := o.runner.ResolveFolder(ctx, roots, s.CWD); err == nil {
				folder = real
			}
			folders[s.CWD] = folder
		}
		if folder == "" {
			continue
		}
		_, err := o.o.Store.Session(ctx, s.SessionID)
		if err == nil {
			continue // it is one of our sessions
		}
		if !errors.Is(err, session.ErrNotFound) {
			return nil, err
		}
		list = append(list, o.savedSession(s, folder, machine))
	}
	return list, nil
}

func (o *node) savedSession(s claude.SavedConversation, folder, machine string) SavedSession {
	return SavedSession{
		SessionID: s.SessionID, Title: s.Title, CWD: folder, ChangedAt: s.ChangedAt, Size: s.Size, Running: s.Running,
		RunnerID: o.o.RunnerID, Machine: machine,
	}
}

// SavedSession returns one saved session. It returns [session.ErrNotFound] for an unknown session and
// for one outside the workspace roots.
func (o *Orchestrator) SavedSession(ctx context.Context, sessionID string) (SavedSession, error) {
	s, folder, err := o.findSaved(ctx, sessionID)
	if err != nil {
		return SavedSession{}, err
	}
	return o.savedSession(s, folder, o.machineName(ctx)), nil
}

// SavedTranscript reads one page, which ends at the offset before, in bytes; -1 means the end.
func (o *Orchestrator) SavedTranscript(ctx context.Context, sessionID string, before int64) (SavedPage, error) {
	s, _, err := o.findSaved(ctx, sessionID)
	if err != nil {
		return SavedPage{}, err
	}
	var page SavedPage
	page.Items, page.Before, err = o.readSaved(ctx, s.SessionID, before, savedPageSize)
	return page, err
}

func (o *Orchestrator) findSaved(ctx context.Context, sessionID string) (s claude.SavedConversation, folder string, err error) {
	s, err = o.runner.SavedConversation(ctx, sessionID)
	if errors.Is(err, claude.ErrNotSaved) {
		return s, "", session.ErrNotFound
	}
	if err != nil {
		return s, "", fmt.Errorf("orchestrator: %w", err)
	}
	folder, err = o.runner.ResolveFolder(ctx, o.rules().Roots, s.CWD)
	if err != nil {
		return s, "", session.ErrNotFound
	}
	return s, folder, nil
}

// readSaved converts a part of a saved conversation to items.
func (o *Orchestrator) readSaved(ctx context.Context, sessionID string, end, size int64) ([]session.Item, int64, error) {
	chunk, err := o.runner.ReadSaved(ctx, sessionID, end, size)
	if err != nil {
		return nil, 0, fmt.Errorf("orchestrator: %w", err)
	}
	items := transcript.NewSaved()
	for _, line := range chunk.Lines {
		if m, ok := claude.DecodeSaved(line); ok {
			items.Add(m)
		}
	}
	return items.Items(), chunk.Begin, nil
}

// checkImport refuses to import a conversation that is open in a terminal, because two CLIs would
// write to one file.
func (o *Orchestrator) checkImport(ctx context.Context, r StartRequest) error {
	if r.Resume == "" || r.Fork {
		return nil
	}
	s, err := o.runner.SavedConversation(ctx, r.Resume)
	if err == nil && s.Running { // the CLI will report a conversation that it does not find
		return problem.For("resume", "resume_in_terminal")
	}
	return nil
}

// importTranscript copies an imported conversation, or the last maxImported bytes of it, to the
// transcript of s. It ignores a conversation of another folder. It copies only items for which
// wanted returns true; if wanted is nil, it copies all.
func (o *Orchestrator) importTranscript(ctx context.Context, s session.Session, resume string, wanted func(session.Item) bool) error {
	from, folder, err := o.findSaved(ctx, resume)
	if err != nil || folder != s.CWD {
		return nil // the CLI will report an unknown conversation
	}
	items, begin, err := o.readSaved(ctx, from.SessionID, -1, maxImported)
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the earlier conversation", "session_id", s.SessionID, "error", err)
		return nil
	}
	if begin > 0 {
		earlier := transcript.Note("earlier", "info", statement.New("earlier_too_long"), s.CreatedAt)
		items = append([]session.Item{earlier}, items...)
	}
	if wanted != nil {
		items = slices.DeleteFunc(items, func(it session.Item) bool { return !wanted(it) })
	}
	const atOnce = 500
	for ; len(items) > 0; items = items[min(atOnce, len(items)):] {
		if err := o.o.Store.PutItems(ctx, s.SessionID, items[:min(atOnce, len(items))]); err != nil {
			return fmt.Errorf("orchestrator: copy the earlier conversation: %w", err)
		}
	}
	return nil
}
