package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SessionStore keeps copies of transcripts outside the CLI's configuration folder, for example in a
// database. [Options.SessionStore] fills it, and [SavedFolder.Restore] writes a conversation back.
// Its methods must return when their context ends. Sessions may call them concurrently.
type SessionStore interface {
	// Append adds entries to those of a key. Each is a JSON object that may be kept. A session
	// makes its calls one after the other, in order. It repeats a failed call, so Append must
	// ignore an entry whose uuid is already stored; it always adds entries without a uuid.
	Append(ctx context.Context, key SessionKey, entries []json.RawMessage) error
	// Load returns the entries of a key in the order in which they were added, none for an
	// unknown key. The formatting of the objects may differ.
	Load(ctx context.Context, key SessionKey) ([]json.RawMessage, error)
	// Subpaths returns the subpaths of the keys of a session, without "".
	Subpaths(ctx context.Context, project, sessionID string) ([]string, error)
}

// SessionKey names a transcript in a [SessionStore].
type SessionKey struct {
	Project   string // the CLI's name of the folder in which the session ran, such as -home-me-app
	SessionID string
	Subpath   string // names a subagent, such as subagents/agent-1; "" for the conversation itself
}

// String returns the parts, separated by slashes.
func (k SessionKey) String() string { return path.Join(k.Project, k.SessionID, k.Subpath) }

// SessionStoreError reports entries that a [SessionStore] did not store. The CLI has saved them in
// its own files.
type SessionStoreError struct {
	Key     SessionKey // of the first such entry
	Entries int        // number of such entries
	Err     error
}

func (e *SessionStoreError) Error() string {
	return fmt.Sprintf("claude: %d entries of the transcript were not stored, the first of %s: %v", e.Entries, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *SessionStoreError) Unwrap() error { return e.Err }

const (
	storeTimeout  = time.Minute            // for one Append
	storePause    = 100 * time.Millisecond // after the first failure, then doubled
	storePauseMax = 10 * time.Second
	storeAttempts = 3                // after the CLI has ended
	storeGrace    = 30 * time.Second // for everything that is left after the CLI has ended
)

// sessionMirror copies the entries that the CLI writes to its transcripts to a store.
type sessionMirror struct {
	store   SessionStore
	failed  func(key SessionKey, err error) // receives each failure
	entries *queue
	ended   chan struct{} // closed when the CLI has ended
}

func newSessionMirror(o *Options) *sessionMirror {
	return &sessionMirror{
		store: o.SessionStore, entries: newQueue(), ended: make(chan struct{}),
		failed: func(key SessionKey, err error) {
			if o.Logger != nil {
				o.Logger.Warn("the transcript was not stored", "key", key.String(), "error", err)
			}
			if f := o.OnCallbackError; f != nil {
				if panicked := protect(func() { f("transcript_mirror", "", err) }); panicked != nil && o.Logger != nil {
					o.Logger.Error("callback failed", "callback", "OnCallbackError", "error", panicked)
				}
			}
		},
	}
}

// end tells the mirror that no more entries will be added.
func (m *sessionMirror) end() {
	m.entries.end(nil)
	close(m.ended)
}

// run stores entries until the CLI has ended and none are left. It returns a *[SessionStoreError] if
// some could not be stored. Once it has given up on an Append, it stores nothing more, so that the copy
// has no gap.
func (m *sessionMirror) run(ctx context.Context) error {
	var lost *SessionStoreError
	broken := false
	for {
		next, ok, _ := m.entries.next(nil)
		if !ok {
			break
		}
		batch := next.(*TranscriptMirror)
		key, err := keyOf(batch.FilePath)
		switch {
		case broken:
			err = lost.Err
		case err != nil:
			m.failed(key, err)
		default:
			err = m.deliver(ctx, key, batch.Entries)
			broken = err != nil
		}
		if err == nil {
			continue
		}
		if lost == nil {
			lost = &SessionStoreError{Key: key, Err: err}
		}
		lost.Entries += len(batch.Entries)
	}
	if lost != nil {
		return lost
	}
	return nil
}

// deliver stores entries. While the CLI runs, it retries without limit; after that, up to
// storeAttempts times.
func (m *sessionMirror) deliver(ctx context.Context, key SessionKey, entries []json.RawMessage) error {
	for left, pause := storeAttempts, storePause; ; pause = min(2*pause, storePauseMax) {
		err := m.append(ctx, key, entries)
		if err == nil {
			return nil
		}
		m.failed(key, err)
		select {
		case <-m.ended:
			if left--; left == 0 || ctx.Err() != nil {
				return err
			}
			time.Sleep(storePause)
			continue
		default:
		}
		select {
		case <-m.ended:
		case <-time.After(pause):
		}
	}
}

func (m *sessionMirror) append(ctx context.Context, key SessionKey, entries []json.RawMessage) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := guard(ctx, func(ctx context.Context) (response, error) { return response{}, m.store.Append(ctx, key, entries) })
	return err
}

// keyOf returns the key for a transcript file of the CLI.
func keyOf(file string) (SessionKey, error) {
	_, below, found := cutLast(filepath.ToSlash(file), "/projects/")
	parts := strings.Split(below, "/")
	last := len(parts) - 1
	name, isTranscript := strings.CutSuffix(parts[last], ".jsonl")
	parts[last] = name
	if !found || !isTranscript || len(parts) < 2 {
		return SessionKey{}, fmt.Errorf("claude: %q is no transcript of a session", file)
	}
	return SessionKey{Project: parts[0], SessionID: parts[1], Subpath: strings.Join(parts[2:], "/")}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Restore writes a conversation from a store, with its subagents, to the configuration folder, so that
// [Options.Resume] finds it when it is resumed in the folder in which it ran. key must have no Subpath.
// The error is [ErrNotSaved] if the store has no such conversation, and [fs.ErrExist] if the
// configuration folder already has it.
func (f *SavedFolder) Restore(ctx context.Context, store SessionStore, key SessionKey) error {
	if !savedName.MatchString(key.SessionID+".jsonl") || key.Subpath != "" || !isLocal(key.Project) || strings.Contains(key.Project, "/") {
		return fmt.Errorf("claude: restore %s: it is no key of a conversation", key)
	}
	if err := f.restore(ctx, store, key); err != nil {
		return fmt.Errorf("claude: restore %s: %w", key, err)
	}
	return nil
}

func (f *SavedFolder) restore(ctx context.Context, store SessionStore, key SessionKey) error {
	conversation, err := store.Load(ctx, key)
	if err != nil {
		return err
	}
	if len(conversation) == 0 {
		return ErrNotSaved
	}
	subpaths, err := store.Subpaths(ctx, key.Project, key.SessionID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(f.dir, "projects"), 0o700); err != nil {
		return err
	}
	root, err := f.root()
	if err != nil {
		return err
	}
	defer root.Close()
	target := key.String() + ".jsonl"
	if _, err := root.Lstat(target); err == nil {
		return fs.ErrExist
	}
	for _, subpath := range subpaths {
		if !isLocal(subpath) {
			return fmt.Errorf("%q is no subpath", subpath)
		}
		k := SessionKey{Project: key.Project, SessionID: key.SessionID, Subpath: subpath}
		entries, err := store.Load(ctx, k)
		if err != nil {
			return err
		}
		if err := writeTranscript(root, k.String(), entries, root.Rename); err != nil {
			return err
		}
	}
	// The conversation is written last, so that another Restore can complete a failed one. Of several
	// that run at once, one succeeds.
	return writeTranscript(root, key.String(), conversation, root.Link)
}

// writeTranscript writes entries to the file name.jsonl, and the description of an agent to
// name.meta.json. For publish, see writeWhole.
func writeTranscript(root *os.Root, name string, entries []json.RawMessage, publish func(part, name string) error) error {
	var lines bytes.Buffer
	var meta []byte
	for _, entry := range entries {
		line, err := compact(entry)
		if err != nil || !isObject(line) {
			return errors.New("an entry is no JSON object")
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			return err
		}
		if string(fields["type"]) == `"agent_metadata"` {
			delete(fields, "type")
			if meta, err = marshal(fields); err != nil {
				return err
			}
			continue
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if meta != nil {
		if err := writeWhole(root, name+".meta.json", meta, publish); err != nil {
			return err
		}
	}
	return writeWhole(root, name+".jsonl", lines.Bytes(), publish)
}

// writeWhole writes a file that is never seen incomplete, even if several calls write it at once: each
// writes a file of its own, to which publish gives the name.
func writeWhole(root *os.Root, name string, text []byte, publish func(part, name string) error) error {
	part := name + ".restored." + uuid.NewString()
	err := root.WriteFile(part, text, 0o600)
	if err == nil {
		err = publish(part, name)
	}
	if e := root.Remove(part); e != nil && !errors.Is(e, fs.ErrNotExist) { // a renamed part is gone
		err = errors.Join(err, e)
	}
	return err
}

// isLocal reports whether a path from a store stays below the folder that it is joined to.
func isLocal(p string) bool {
	return p != "." && filepath.IsLocal(filepath.FromSlash(p)) && path.Clean(p) == p && !strings.ContainsRune(p, '\\')
}
