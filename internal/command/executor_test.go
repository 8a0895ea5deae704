package command_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// memory is a store and a driver that interrupts.
type memory struct {
	command.Driver

	mu          sync.Mutex // protects following
	acks        map[string][]byte
	interrupted int
	fails       error
	wait        chan struct{} // Interrupt waits for it when set
	killed      int
	forks       []string // ids that Fork was called with
	hangs       bool     // the store never replies
}

// reply waits as the store does before it replies.
func (m *memory) reply(ctx context.Context) error {
	m.mu.Lock()
	hangs := m.hangs
	m.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *memory) Running(sessionID string) (session.Session, bool) {
	return session.Session{SessionID: sessionID, Kind: session.Ours, OwnerID: "ana"}, sessionID == "ours"
}

func (m *memory) Kill(context.Context, string, bool, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed++
	return nil
}

func (m *memory) Session(ctx context.Context, id string) (session.Session, error) {
	if err := m.reply(ctx); err != nil {
		return session.Session{}, err
	}
	switch id {
	case "ours":
		return session.Session{SessionID: id, Kind: session.Ours}, nil
	case "terminal":
		return session.Session{SessionID: id, Kind: session.Terminal}, nil
	}
	return session.Session{}, session.ErrNotFound
}

func (m *memory) Request(context.Context, string) (pending.Request, error) {
	return pending.Request{}, pending.ErrNotFound
}
func (m *memory) Projects(context.Context) ([]project.Project, error) { return nil, nil }
func (m *memory) Users(context.Context) ([]account.User, error)       { return nil, nil }
func (m *memory) Attachment(context.Context, string) (session.StoredAttachment, error) {
	return session.StoredAttachment{}, session.ErrNoAttachment
}
func (m *memory) PutDraft(context.Context, account.Draft) error         { return nil }
func (m *memory) LearnTemplate(context.Context, account.Template) error { return nil }

func (m *memory) Command(ctx context.Context, userID, id string) ([]byte, error) {
	if err := m.reply(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ack, ok := m.acks[userID+id]; ok {
		return ack, nil
	}
	return nil, account.ErrNotFound
}

func (m *memory) SaveCommand(ctx context.Context, userID, id string, ack []byte, _ time.Time) ([]byte, error) {
	if err := m.reply(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acks == nil {
		m.acks = map[string][]byte{}
	}
	m.acks[userID+id] = ack
	return ack, nil
}

func (m *memory) Interrupt(context.Context, string, pending.Actor) error {
	m.mu.Lock()
	m.interrupted++
	wait, fails := m.wait, m.fails
	m.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return fails
}

func (m *memory) Fork(_ context.Context, _, _ string, _ pending.Actor, forkID string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forks = append(m.forks, forkID)
	return forkID, m.fails
}

func unavailable(err error) wire.NoticeCode {
	if pending.IsTemporary(err) {
		return wire.Unavailable
	}
	return ""
}

func (m *memory) executor() *command.Executor {
	guard := access.NewGuard(m, m, nil)
	e, err := command.New(command.Options{
		Guard: guard, Rules: decision.New(guard, nil), Store: m, Driver: m,
		Requests: struct{ command.Requests }{},
		Refusals: &refusal.Table{ClassifyStoreError: unavailable}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	return e
}

func person(role account.Role) account.Identity {
	return account.Identity{User: account.User{UserID: "ana", Name: "Ana", Role: role}}
}

// interrupt gives the command, which needs a process and is done once.
func interrupt(t *testing.T, e *command.Executor, who account.Identity, sessionID, id string) command.Result {
	t.Helper()
	spec, _ := command.Find("interrupt")
	c := &wire.Interrupt{}
	c.CommandID, c.SessionID = id, sessionID
	return e.Perform(t.Context(), spec, c, who)
}

func TestExecuteChecksRights(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		role      account.Role
		sessionID string
		want      int
		done      int
	}{
		"a member":          {account.Member, "ours", http.StatusOK, 1},
		"a viewer":          {account.Viewer, "ours", http.StatusForbidden, 0},
		"no such session":   {account.Member, "none", http.StatusNotFound, 0},
		"without a process": {account.Member, "terminal", http.StatusConflict, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &memory{}
			id := uuid.NewString()
			got := interrupt(t, m.executor(), person(row.role), row.sessionID, id)
			if got.Status != row.want || m.interrupted != row.done || got.Outcome.CommandID != id {
				t.Errorf("got %d for %q, done %d times, want %d, %d times", got.Status, got.Outcome.CommandID, m.interrupted, row.want, row.done)
			}
		})
	}
}

// TestRepeatedCommands: a command that is repeated is done once; one that failed for a
// reason that may pass is done again.
func TestRepeatedCommands(t *testing.T) {
	t.Parallel()
	m := &memory{fails: errors.New("the disk is full")}
	id, who := uuid.NewString(), person(account.Member)
	if got := interrupt(t, m.executor(), who, "ours", id); got.Status != http.StatusInternalServerError {
		t.Errorf("failing: got %d", got.Status)
	}
	m.fails = nil
	for range 3 { // each by an executor that remembers nothing, as after a restart
		if got := interrupt(t, m.executor(), who, "ours", id); got.Status != http.StatusOK || got.Outcome.Result != wire.Applied {
			t.Errorf("got %+v", got)
		}
	}
	if m.interrupted != 2 {
		t.Errorf("done %d times, want once after it failed", m.interrupted)
	}
}

// TestARepeatedForkHasTheSameID: the driver can tell that it has made the fork before.
func TestARepeatedForkHasTheSameID(t *testing.T) {
	t.Parallel()
	m := &memory{fails: errors.New("the disk is full")}
	spec, _ := command.Find("fork_session")
	fork := func(commandID string) command.Result {
		c := &wire.ForkSession{}
		c.CommandID, c.SessionID = commandID, "ours"
		return m.executor().Perform(t.Context(), spec, c, person(account.Member))
	}
	id := uuid.NewString()
	if got := fork(id); got.Status != http.StatusInternalServerError {
		t.Fatalf("failing: got %d", got.Status)
	}
	m.fails = nil
	if got := fork(id); got.Status != http.StatusOK || got.Outcome.SessionID == "" || got.Outcome.SessionID != m.forks[0] {
		t.Errorf("repeated: got %d, %q, first %q", got.Status, got.Outcome.SessionID, m.forks)
	}
	if got := fork(uuid.NewString()); got.Outcome.SessionID == m.forks[0] {
		t.Error("another command has the same fork")
	}
}

// TestKillWithoutStore: a session is ended while the store does not reply, by whoever might
// end it before; everything else waits for the store.
func TestKillWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		e := m.executor()
		kill := func(who account.Identity, sessionID string) command.Result {
			spec, _ := command.Find("kill_process")
			c := &wire.KillProcess{}
			c.CommandID, c.SessionID = uuid.NewString(), sessionID
			return e.Perform(t.Context(), spec, c, who)
		}
		m.hangs = true
		if got := kill(person(account.Member), "ours"); got.Status != http.StatusServiceUnavailable || m.killed != 0 {
			t.Errorf("before anything was known of projects: got %d", got.Status)
		}
		m.hangs = false
		kill(person(account.Member), "ours")
		m.hangs, m.killed = true, 0
		began := time.Now()
		if got := kill(person(account.Member), "ours"); got.Status != http.StatusOK || m.killed != 1 {
			t.Errorf("got %d, ended %d sessions", got.Status, m.killed)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		if got := kill(person(account.Member), "none"); got.Status != http.StatusServiceUnavailable {
			t.Errorf("what does not run: got %d", got.Status)
		}
		if got := kill(person(account.Viewer), "ours"); got.Status != http.StatusForbidden {
			t.Errorf("a viewer: got %d", got.Status)
		}
		if got := interrupt(t, e, person(account.Member), "ours", uuid.NewString()); got.Status != http.StatusServiceUnavailable || m.interrupted != 0 {
			t.Errorf("another command: got %d", got.Status)
		}
	})
}

// TestRepeatedCommandsAtOnceRunOnce: the same command from two tabs at once is done once.
func TestRepeatedCommandsAtOnceRunOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{wait: make(chan struct{})}
		e, id := m.executor(), uuid.NewString()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if got := interrupt(t, e, person(account.Member), "ours", id); got.Status != http.StatusOK {
					t.Errorf("got %d", got.Status)
				}
			})
		}
		synctest.Wait()
		close(m.wait)
		both.Wait()
		if m.interrupted != 1 {
			t.Errorf("done %d times", m.interrupted)
		}
	})
}

// TestLargeCommandsRunInTurn: one person has two slots for what is large, and everybody together
// four.
func TestLargeCommandsRunInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := (&memory{}).executor()
		acquire := func(userID string) (func(), bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return e.AcquireLarge(ctx, userID)
		}
		var release func()
		for _, row := range []struct {
			userID string
			free   bool
		}{{"ana", true}, {"ana", true}, {"ana", false}, {"ben", true}, {"ben", true}, {"eva", false}} {
			r, ok := acquire(row.userID)
			if ok != row.free {
				t.Fatalf("%s got a slot: %v, want %v", row.userID, ok, row.free)
			}
			if ok {
				release = r
			}
		}
		release()
		release() // has no second effect
		if _, ok := acquire("eva"); !ok {
			t.Error("the slot that became free is not given")
		}
		if _, ok := acquire("ana"); ok {
			t.Error("a slot that was released twice counts twice")
		}
	})
}
