package claude

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SessionLister is a [SessionStore] that can list its sessions.
type SessionLister interface {
	SessionStore
	// Sessions returns the sessions of a project in any order, none for an unknown project.
	Sessions(ctx context.Context, project string) ([]StoredSession, error)
}

// StoredSession is a session in a [SessionStore].
type StoredSession struct {
	SessionID string
	ChangedAt time.Time // time of the last Append
}

// SessionDeleter is a [SessionStore] that can delete its sessions.
type SessionDeleter interface {
	SessionStore
	// Delete deletes the entries of a session and of all its subpaths. Deleting an unknown session
	// is not an error.
	Delete(ctx context.Context, project, sessionID string) error
}

// StoredSessions lists, reads and changes the conversations of one project in a [SessionStore], as
// [SavedFolder] does for those on this host. Its methods return [ErrNotSaved] for an unknown id.
//
// A running CLI does not see the changes; do not change a conversation that is open.
type StoredSessions struct {
	Store   SessionStore
	Project string // see [SessionKey]
}

// List returns up to limit conversations, latest first. It loads each of them. If the store is not a
// [SessionLister], the error is [errors.ErrUnsupported].
func (s StoredSessions) List(ctx context.Context, limit int) ([]SavedConversation, error) {
	lister, ok := s.Store.(SessionLister)
	if !ok {
		return nil, fmt.Errorf("claude: list stored sessions: %w", errors.ErrUnsupported)
	}
	sessions, err := lister.Sessions(ctx, s.Project)
	if err != nil {
		return nil, fmt.Errorf("claude: list stored sessions: %w", err)
	}
	slices.SortFunc(sessions, func(a, b StoredSession) int {
		return cmp.Or(b.ChangedAt.Compare(a.ChangedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	var list []SavedConversation
	for _, session := range sessions[:min(len(sessions), limit)] {
		found, err := s.Find(ctx, session.SessionID)
		if errors.Is(err, ErrNotSaved) {
			continue // it has no messages
		}
		if err != nil {
			return nil, err
		}
		found.ChangedAt = session.ChangedAt
		list = append(list, found)
	}
	return list, nil
}

// Find returns one conversation. Its ChangedAt is the latest time in its entries.
func (s StoredSessions) Find(ctx context.Context, sessionID string) (SavedConversation, error) {
	entries, err := s.load(ctx, sessionID)
	if err != nil {
		return SavedConversation{}, err
	}
	return s.describe(sessionID, entries)
}

// describe returns the conversation of entries, or [ErrNotSaved] if it has no messages.
func (s StoredSessions) describe(sessionID string, entries []json.RawMessage) (SavedConversation, error) {
	found := SavedConversation{SessionID: sessionID}
	lines := make([][]byte, len(entries))
	for i, entry := range entries {
		lines[i] = entry
		var e struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if json.Unmarshal(entry, &e) == nil && e.Timestamp.After(found.ChangedAt) {
			found.ChangedAt = e.Timestamp
		}
	}
	text := bytes.Join(lines, []byte("\n"))
	found.Size = int64(len(text))
	found.read(text)
	if found.CWD == "" {
		return SavedConversation{}, s.failed(sessionID, ErrNotSaved)
	}
	return found, nil
}

// Messages returns the messages of a conversation, see [SavedFolder.Messages].
func (s StoredSessions) Messages(ctx context.Context, sessionID string) iter.Seq2[SavedMessage, error] {
	return func(yield func(SavedMessage, error) bool) {
		entries, err := s.load(ctx, sessionID)
		if err != nil {
			yield(SavedMessage{}, err)
			return
		}
		conversation(func(each func([]byte) bool) error {
			for _, entry := range entries {
				if !each(entry) {
					break
				}
			}
			return nil
		}, yield)
	}
}

// Rename gives a conversation a title.
func (s StoredSessions) Rename(ctx context.Context, sessionID, title string) error {
	if title = strings.TrimSpace(title); title == "" {
		return errNoTitle
	}
	return s.note(ctx, sessionID, titleNote(title, sessionID))
}

// Tag marks a conversation with a tag; "" removes it.
func (s StoredSessions) Tag(ctx context.Context, sessionID, tag string) error {
	return s.note(ctx, sessionID, tagNote(tag, sessionID))
}

// Delete deletes a conversation and those of its subagents. If the store is not a [SessionDeleter],
// the error is [errors.ErrUnsupported].
func (s StoredSessions) Delete(ctx context.Context, sessionID string) error {
	deleter, ok := s.Store.(SessionDeleter)
	if !ok {
		return s.failed(sessionID, errors.ErrUnsupported)
	}
	if _, err := s.load(ctx, sessionID); err != nil {
		return err
	}
	if err := deleter.Delete(ctx, s.Project, sessionID); err != nil {
		return s.failed(sessionID, err)
	}
	return nil
}

// Fork copies a conversation, see [SavedFolder.Fork], and returns the id of the copy.
func (s StoredSessions) Fork(ctx context.Context, sessionID, upTo, title string) (copyID string, err error) {
	entries, err := s.load(ctx, sessionID)
	if err != nil {
		return "", err
	}
	found, err := s.describe(sessionID, entries)
	if err != nil {
		return "", err
	}
	copyID = uuid.NewString()
	renamed := map[string]string{}
	complete := upTo == ""
	var copies []json.RawMessage
	for _, entry := range entries {
		id, copied := forkEntry(entry, sessionID, copyID, renamed)
		if copied == nil {
			continue
		}
		copies = append(copies, copied)
		if id == upTo && upTo != "" {
			complete = true
			break
		}
	}
	if !complete || len(copies) == 0 {
		return "", s.failed(sessionID, ErrNotSaved)
	}
	name, err := stamped(titleNote(cmp.Or(title, found.forkTitle()), copyID))
	if err != nil {
		return "", err
	}
	if err := s.Store.Append(ctx, s.key(copyID), append(copies, name)); err != nil {
		return "", s.failed(sessionID, err)
	}
	return copyID, nil
}

func (s StoredSessions) key(sessionID string) SessionKey {
	return SessionKey{Project: s.Project, SessionID: sessionID}
}

func (s StoredSessions) failed(sessionID string, err error) error {
	return fmt.Errorf("claude: stored session %s: %w", s.key(sessionID), err)
}

// load returns the entries of a conversation, each in one line, without those that are not JSON.
func (s StoredSessions) load(ctx context.Context, sessionID string) ([]json.RawMessage, error) {
	if !savedName.MatchString(sessionID + ".jsonl") {
		return nil, s.failed(sessionID, ErrNotSaved)
	}
	entries, err := s.Store.Load(ctx, s.key(sessionID))
	if err == nil && len(entries) == 0 {
		err = ErrNotSaved
	}
	if err != nil {
		return nil, s.failed(sessionID, err)
	}
	lines := make([]json.RawMessage, 0, len(entries)) // the store may keep its slice
	for _, entry := range entries {
		if line, err := compact(entry); err == nil {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// note appends an entry to an existing conversation.
func (s StoredSessions) note(ctx context.Context, sessionID string, note savedNote) error {
	if _, err := s.load(ctx, sessionID); err != nil {
		return err
	}
	entry, err := stamped(note)
	if err != nil {
		return err
	}
	if err := s.Store.Append(ctx, s.key(sessionID), []json.RawMessage{entry}); err != nil {
		return s.failed(sessionID, err)
	}
	return nil
}

// stamped returns an entry with the current time and a new UUID, so that a store adds it only once.
func stamped(note savedNote) (json.RawMessage, error) {
	at := time.Now().UTC().Truncate(time.Millisecond)
	note.UUID, note.Timestamp = uuid.NewString(), &at
	return marshal(note)
}
