package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// unsteady is a store that fails the next write of a kind, once.
type unsteady struct {
	orchestrator.Store
	progress, items, removal atomic.Bool // the next one fails
}

func failOnce(next *atomic.Bool) error {
	if next.CompareAndSwap(true, false) {
		return fmt.Errorf("no space left: %w", pending.ErrUnavailable)
	}
	return nil
}

func (s *unsteady) SaveProgress(ctx context.Context, id string, p session.Progress) (uint64, error) {
	if err := failOnce(&s.progress); err != nil {
		return 0, err
	}
	return s.Store.SaveProgress(ctx, id, p)
}

func (s *unsteady) PutItems(ctx context.Context, id string, items []session.Item) error {
	if err := failOnce(&s.items); err != nil {
		return err
	}
	return s.Store.PutItems(ctx, id, items)
}

func (s *unsteady) RemoveQueued(ctx context.Context, messageID string) (bool, error) {
	if err := failOnce(&s.removal); err != nil {
		return false, err
	}
	return s.Store.RemoveQueued(ctx, messageID)
}

func over(s *unsteady) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) { s.Store, o.Store = o.Store, s }
}

// TestSendAfterAFailedSend: a message whose process could not be started is sent once, whether its
// command is repeated or the person sends it again.
func TestSendAfterAFailedSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stays bool // the message cannot be removed from the queue
		died  bool // the server died before it started a process, instead of failing
		anew  bool // it is sent with another id
	}{
		"repeated":                    {},
		"sent again":                  {anew: true},
		"repeated, and still queued":  {stays: true},
		"repeated to the next server": {died: true},
	} {
		t.Run(name, func(t *testing.T) {
			store := &unsteady{}
			withBench(t, claudetest.Script{}, nil, func(b *bench) {
				id := b.start("one")
				b.wait(id, in(session.UserTurn))
				if err := b.Kill(b.t.Context(), id, true, "test"); err != nil {
					t.Fatal(err)
				}
				b.wait(id, in(session.Dead))
				synctest.Wait()
				m := session.Message{MessageID: uuid.NewString(), SessionID: id, Text: "two", By: b.person, CreatedAt: time.Now()}
				if c.died {
					if _, err := b.store.QueueMessage(b.t.Context(), m); err != nil {
						t.Fatal(err)
					}
				} else {
					store.progress.Store(true)
					store.removal.Store(c.stays)
					if err := b.Send(b.t.Context(), m); !errors.Is(err, pending.ErrUnavailable) {
						t.Fatalf("sent with a store that fails: %v", err)
					}
				}
				if c.anew {
					m.MessageID = uuid.NewString()
				}
				for range 2 {
					if err := b.Send(b.t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				s := b.wait(id, in(session.UserTurn))
				if n, said := len(b.launcher.commands()), len(b.launcher.records("user")); n != 2 || said != 2 || s.QueuedMessages != 0 {
					t.Errorf("%d processes were started, Claude got %d messages and %d wait, want 2, 2 and none", n, said, s.QueuedMessages)
				}
			}, over(store))
		})
	}
}

// TestARepeatedForkMakesOneFork: a fork whose process could not be started is completed.
func TestARepeatedForkMakesOneFork(t *testing.T) {
	store := &unsteady{}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		id := b.start("one")
		b.wait(id, in(session.UserTurn))
		synctest.Wait()
		forkID := uuid.NewString()
		store.progress.Store(true)
		if _, err := b.Fork(b.t.Context(), id, "", b.person, forkID); !errors.Is(err, pending.ErrUnavailable) {
			t.Fatalf("forked with a store that fails: %v", err)
		}
		for range 2 {
			if got, err := b.Fork(b.t.Context(), id, "", b.person, forkID); err != nil || got != forkID {
				t.Fatalf("got %s, %v, want %s", got, err, forkID)
			}
			b.wait(forkID, func(s session.ProcessState) bool { return s.PID != 0 })
		}
		all, _, err := b.store.Sessions(b.t.Context(), session.Query{})
		if err != nil || len(all) != 2 || len(b.launcher.commands()) != 2 {
			t.Errorf("there are %d sessions and %d processes, want 2 of each; %v", len(all), len(b.launcher.commands()), err)
		}
		if got, want := kindsOf(b.items(forkID)), kindsOf(b.items(id)); got != want {
			t.Errorf("the fork has %s, want %s", got, want)
		}
	}, over(store))
}

// TestARepeatedImportIsCompleted: an import that failed halfway is completed by its person with the
// same settings. To anybody else, and once its process was started, the conversation is listed.
func TestARepeatedImportIsCompleted(t *testing.T) {
	config, store := t.TempDir(), &unsteady{}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		id := saveConversation(t, config, b.folder)
		request := orchestrator.StartRequest{SessionID: uuid.NewString(), CWD: b.folder, Resume: id, Prompt: "go on", By: b.person}
		store.items.Store(true)
		if _, err := b.Start(b.t.Context(), request); !errors.Is(err, pending.ErrUnavailable) {
			t.Fatalf("imported with a store that fails: %v", err)
		}
		listed := func(r orchestrator.StartRequest) {
			t.Helper()
			var refused *problem.Error
			if _, err := b.Start(b.t.Context(), r); !errors.As(err, &refused) || refused.Reason != "resume_listed" {
				t.Errorf("got %v, want that the conversation is listed", err)
			}
		}
		other := request
		other.By = pending.Actor{UserID: "u2", Name: "Ben"}
		listed(other)
		other = request
		other.AllowedTools = []string{"Bash"}
		listed(other)
		store.progress.Store(true)
		if _, err := b.Start(b.t.Context(), request); !errors.Is(err, pending.ErrUnavailable) {
			t.Fatalf("repeated with a store that fails: %v", err)
		}
		other = request
		other.SessionID, other.Prompt = uuid.NewString(), "and this" // another command, whose message is no repetition
		if got, err := b.Start(b.t.Context(), other); err != nil || got != id {
			t.Fatalf("repeated: got %s, %v", got, err)
		}
		b.wait(id, func(s session.ProcessState) bool {
			return s.State == session.UserTurn && len(b.launcher.records("user")) == 2
		})
		if got := kindsOf(b.items(id)); !strings.HasPrefix(got, "user tool_call text user") {
			t.Errorf("the transcript has %s", got)
		}
		listed(request)
		if n := len(b.launcher.commands()); n != 1 {
			t.Errorf("%d processes were started", n)
		}
	}, over(store), readsFrom(config))
}
