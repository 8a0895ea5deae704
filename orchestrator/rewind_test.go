package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
)

// readingStore counts the items of transcripts that are read.
type readingStore struct {
	orchestrator.Store
	read int
}

func (s *readingStore) Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error) {
	page, err := s.Store.Transcript(ctx, sessionID, after, limit)
	s.read += len(page.Items)
	return page, err
}

// rewinding is a session in which it is a person's turn, and its first message.
type rewinding struct {
	*bench
	session   session.Session
	folder    workingtree.Tree
	messageID string
	reading   *readingStore
}

// withRewinding runs a test with a CLI that answers requests to rewind so.
func withRewinding(t *testing.T, reply claudetest.Reply, test func(r rewinding)) {
	t.Helper()
	reply.Subtype = "rewind_files"
	reading := &readingStore{}
	withBench(t, replies(reply), nil, func(b *bench) {
		id := b.start("one")
		b.wait(id, in(session.UserTurn))
		s, err := b.store.Session(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		folder, err := b.WorkingTree(b.t.Context(), id, workingtree.View{})
		if err != nil {
			b.t.Fatal(err)
		}
		r := rewinding{bench: b, session: s, folder: folder, reading: reading}
		for _, it := range b.items(id) {
			if message, ok := strings.CutPrefix(it.Key, "message:"); ok && r.messageID == "" {
				r.messageID = message
			}
		}
		test(r)
	}, func(o *orchestrator.Options) { reading.Store, o.Store = o.Store, reading })
}

// notes returns what the transcript says of restored files.
func (r rewinding) notes() (reasons []string) {
	page, err := r.store.Transcript(r.t.Context(), r.session.SessionID, 0, 10_000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, it := range page.Items {
		if it.Kind == session.ItemNote && strings.HasPrefix(it.Key, "restored:") {
			var note struct{ Text string }
			if err := json.Unmarshal(it.Body, &note); err != nil {
				r.t.Fatal(err)
			}
			reasons = append(reasons, note.Text)
		}
	}
	return reasons
}

func TestRewindThatClaudeDoesNotAnswer(t *testing.T) {
	withRewinding(t, claudetest.Reply{Never: true}, func(r rewinding) {
		_, err := r.PreviewRewind(r.t.Context(), r.session, r.folder, r.messageID)
		if got := reasonOf(err); got != "claude_unanswered" {
			r.t.Errorf("the preview: %s", got)
		}
	})
}

func TestRewindReadsOnlyWhatCameAfterTheMessage(t *testing.T) {
	changed := map[string]any{"canRewind": true, "filesChanged": []any{"a", "b"}, "insertions": 1, "deletions": 0}
	withRewinding(t, claudetest.Reply{Response: changed}, func(r rewinding) {
		for _, name := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(r.bench.folder, name), []byte(name), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}
		edit := func(key, path string, at time.Time) session.Item {
			body, err := json.Marshal(session.ToolCallBody{ToolName: "Edit", FinishedAt: float64(at.UnixMicro()) / 1e6, Change: &session.FileChange{Path: path}})
			if err != nil {
				r.t.Fatal(err)
			}
			return session.Item{Key: key, At: at, Kind: session.ItemToolCall, Body: body}
		}
		info, err := os.Stat(filepath.Join(r.bench.folder, "a"))
		if err != nil {
			r.t.Fatal(err)
		}
		var items []session.Item
		for i := range 3_000 {
			items = append(items, edit(fmt.Sprint("early", i), "a", info.ModTime()))
		}
		items = append(items, session.Item{Key: "message:late", At: info.ModTime().Add(-time.Minute), Kind: session.ItemUser, Body: []byte(`{"text":"late"}`)},
			edit("late", "a", info.ModTime()))
		if err := r.store.PutItems(r.t.Context(), r.session.SessionID, items); err != nil {
			r.t.Fatal(err)
		}
		r.reading.read = 0
		plan, err := r.PreviewRewind(r.t.Context(), r.session, r.folder, "late")
		if err != nil {
			r.t.Fatal(err)
		}
		if len(plan.Files) != 2 || plan.Files[0].Changed || !plan.Files[1].Changed {
			r.t.Errorf("b, and not a, was changed by something else: %+v", plan.Files)
		}
		if r.reading.read > 5 {
			r.t.Errorf("the preview read %d items", r.reading.read)
		}
		r.reading.read = 0
		if err := r.Rewind(r.t.Context(), r.session, r.folder, "late", plan.Digest, r.person); err != nil {
			r.t.Fatal(err)
		}
		if r.reading.read > 0 {
			r.t.Errorf("the rewind read %d items", r.reading.read)
		}
		if notes := r.notes(); len(notes) != 1 || !strings.Contains(notes[0], "restored files") {
			r.t.Errorf("the transcript says %q", notes)
		}
		// The files are the same, and what they would become is not.
		if got := reasonOf(r.Rewind(r.t.Context(), r.session, r.folder, r.messageID, plan.Digest, r.person)); got != "rewind_changed" {
			r.t.Errorf("to another message: %s", got)
		}
	})
}

func TestRewindThatClaudeRefusesOrDoesNotConfirm(t *testing.T) {
	changed := map[string]any{"canRewind": true, "filesChanged": []any{"a"}}
	for name, c := range map[string]struct {
		last   claudetest.Reply
		reason string
		note   string
	}{
		"refused":     {claudetest.Reply{Subtype: "rewind_files", Error: "no checkpoint"}, "rewind_refused", "Claude refused"},
		"unconfirmed": {claudetest.Reply{Subtype: "rewind_files", Never: true}, "claude_unanswered", "has not confirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			again := claudetest.Reply{Subtype: "rewind_files", Response: changed, Next: &c.last}
			withRewinding(t, claudetest.Reply{Response: changed, Next: &again}, func(r rewinding) {
				plan, err := r.PreviewRewind(r.t.Context(), r.session, r.folder, r.messageID)
				if err != nil {
					r.t.Fatal(err)
				}
				if got := reasonOf(r.Rewind(r.t.Context(), r.session, r.folder, r.messageID, plan.Digest, r.person)); got != c.reason {
					r.t.Errorf("got %s, want %s", got, c.reason)
				}
				if notes := r.notes(); len(notes) != 1 || !strings.Contains(notes[0], c.note) {
					r.t.Errorf("the transcript says %q", notes)
				}
			})
		})
	}
}
