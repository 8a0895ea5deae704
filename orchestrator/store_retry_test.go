package orchestrator_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
)

// fullStore takes no writes while it is full.
type fullStore struct {
	*sqlite.Store
	full     atomic.Bool
	registry *pending.Registry
	orphaned func() // called after requests became so
	// afterAnswer is called once a request was resolved.
	afterAnswer func()
}

func (s *fullStore) check() error {
	if s.full.Load() {
		return fmt.Errorf("no space left: %w", pending.ErrUnavailable)
	}
	return nil
}

func (s *fullStore) OpenRequest(ctx context.Context, r pending.Request) (pending.Request, bool, error) {
	if err := s.check(); err != nil {
		return pending.Request{}, false, err
	}
	return s.Store.OpenRequest(ctx, r)
}

func (s *fullStore) ResolveRequest(ctx context.Context, id string, res pending.Resolution) (pending.Request, bool, error) {
	if err := s.check(); err != nil {
		return pending.Request{}, false, err
	}
	now, won, err := s.Store.ResolveRequest(ctx, id, res)
	if s.afterAnswer != nil {
		s.afterAnswer()
		s.afterAnswer = nil
	}
	return now, won, err
}

func (s *fullStore) OrphanRequests(ctx context.Context, id, reason string) (int, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	n, err := s.Store.OrphanRequests(ctx, id, reason)
	if s.orphaned != nil {
		s.orphaned()
	}
	return n, err
}

func (s *fullStore) CarryAnswer(ctx context.Context, r pending.Request, from string) (pending.Request, bool, error) {
	if err := s.check(); err != nil {
		return pending.Request{}, false, err
	}
	return s.Store.CarryAnswer(ctx, r, from)
}

func (s *fullStore) UpdateSession(ctx context.Context, id string, p session.Patch) (session.Session, error) {
	if err := s.check(); err != nil {
		return session.Session{}, err
	}
	return s.Store.UpdateSession(ctx, id, p)
}

func (s *fullStore) SaveProgress(ctx context.Context, id string, p session.Progress) (uint64, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	return s.Store.SaveProgress(ctx, id, p)
}

func (s *fullStore) SetDelivery(ctx context.Context, id string, d pending.Delivery) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Store.SetDelivery(ctx, id, d)
}

func on(s *fullStore) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		s.Store = o.Store.(*sqlite.Store)
		s.registry = pending.NewRegistry(s, o.Notifier)
		o.Store, o.Registry = s, s.registry
	}
}

// exited reports whether the CLI that was launched last is gone.
func (b *bench) exited() bool {
	b.launcher.mu.Lock()
	defer b.launcher.mu.Unlock()
	select {
	case <-b.launcher.last.done:
		return true
	default:
		return false
	}
}

func TestRequestWaitsUntilThereIsSpace(t *testing.T) {
	disk := &fullStore{}
	script := claudetest.Script{Turn: []claudetest.Step{{SleepMS: 1000}, bash, {Text: "It is there."}}}
	withBench(t, script, nil, func(b *bench) {
		b.registry = disk.registry
		id := b.start("make a file")
		b.wait(id, in(session.AssistantTurn))
		disk.full.Store(true)
		time.Sleep(2 * time.Minute)
		if n := len(b.launcher.records("asked")); n != 1 {
			t.Fatalf("Claude asked %d times", n)
		}
		if s := b.wait(id, in(session.AssistantTurn)); len(s.Requests) != 0 {
			t.Fatalf("a full disk took %d requests", len(s.Requests))
		}
		if heard := b.received(); len(heard) != 0 {
			t.Fatalf("Claude was told %v, and nobody was asked", heard)
		}
		disk.full.Store(false)
		b.answer(b.wait(id, asking(1)).Requests[0], nil)
		b.wait(id, in(session.UserTurn))
		if b.received()["toolu_1"]["behavior"] != "allow" {
			t.Errorf("Claude heard %v", b.received())
		}
		s, err := b.store.Session(b.t.Context(), id)
		if err != nil || !s.Begun {
			t.Errorf("that the session has begun is lost: %+v, %v", s, err)
		}
	}, on(disk))
}

// What the CLI withdrew, and how far an answer came, while the store took nothing, is
// stored once it does.
func TestChangesDuringAnOutageAreStored(t *testing.T) {
	disk := &fullStore{}
	given, withdrawn := bashWith("toolu_1", "touch a"), bashWith("toolu_2", "touch b")
	withdrawn.CancelMS = 60_000
	withBench(t, claudetest.Script{Turn: []claudetest.Step{given, withdrawn, {Text: "It is there."}}}, nil, func(b *bench) {
		b.registry = disk.registry
		id := b.start("make two files")
		first := b.wait(id, asking(1)).Requests[0]
		disk.afterAnswer = func() { disk.full.Store(true) }
		b.answer(first, nil)
		b.wait(id, func(session.ProcessState) bool { return b.received()["toolu_1"] != nil })
		time.Sleep(time.Second)
		if got := b.row(first.RequestID); got.Delivery != pending.Queued {
			t.Fatalf("a full disk took the change: the answer is %s", got.Delivery)
		}
		recover := func() {
			disk.full.Store(false)
			b.registry.Recover(b.t.Context())
			b.Recover(b.t.Context())
		}
		recover()
		b.wait(id, func(session.ProcessState) bool { return b.row(first.RequestID).Delivery == pending.Consumed })
		second := b.wait(id, asking(1)).Requests[0]
		disk.full.Store(true)
		time.Sleep(2 * time.Minute)
		if got := b.row(second.RequestID); got.Status != pending.Open {
			t.Fatalf("a full disk took the change: the request is %s", got.Status)
		}
		recover()
		b.wait(id, func(session.ProcessState) bool { return b.row(second.RequestID).Status == pending.Withdrawn })
		b.wait(id, in(session.UserTurn))
	}, on(disk))
}

// What a person has answered is carried over also when the disk is full in the
// moment in which it is asked again.
func TestAnswerIsCarriedOnceThereIsSpace(t *testing.T) {
	disk := &fullStore{}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{{SleepMS: 1000}, bashWith("toolu_2", "touch a"), {Text: "It is there."}}}}
		id := b.start("make a file")
		r := b.die(id, 1)[0]
		b.answer(r, nil)
		b.say(id, "go on")
		b.wait(id, in(session.AssistantTurn))
		disk.full.Store(true)
		time.Sleep(time.Minute)
		if n := len(b.launcher.records("asked")); n != 2 {
			t.Fatalf("Claude asked %d times", n)
		}
		if got := b.row(r.RequestID); got.Delivery == pending.Carried || b.received()["toolu_2"] != nil {
			t.Fatalf("a full disk took the change: the answer is %s", got.Delivery)
		}
		disk.full.Store(false)
		b.wait(id, in(session.UserTurn))
		if got := b.row(r.RequestID); got.Delivery != pending.Carried {
			t.Errorf("the answer is %s, want it carried", got.Delivery)
		}
		if b.received()["toolu_2"]["behavior"] != "allow" {
			t.Errorf("Claude heard %v", b.received())
		}
	}, on(disk))
}

func TestKillWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		t.Run(fmt.Sprint("force=", force), func(t *testing.T) {
			disk := &fullStore{}
			withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
				id := b.start("make a file")
				r := b.wait(id, asking(1)).Requests[0]
				disk.full.Store(true)
				defer disk.full.Store(false)
				patience := 15 * time.Second
				if force {
					patience = time.Second
				}
				if err := b.Kill(b.t.Context(), id, force, "Ended by Ada."); err != nil {
					t.Fatal(err)
				}
				time.Sleep(patience)
				if !b.exited() {
					t.Fatalf("it lives %s after the kill", patience)
				}
				time.Sleep(2 * time.Minute)
				disk.full.Store(false)
				s := b.wait(id, in(session.Dead))
				if s.KillReason != "Ended by Ada." || len(s.Requests) != 0 {
					t.Errorf("what is stored of its end: %+v", s)
				}
				if got := b.row(r.RequestID); got.Status != pending.Withdrawn {
					t.Errorf("its request is %s", got.Status)
				}
				b.say(id, "go on")
				b.wait(id, asking(1))
			}, on(disk))
		})
	}
}

// A session is shown as dead as soon as its CLI is gone. Whoever resumes it then waits
// until its end is stored, and learns that the store is away if that takes long.
func TestResumeWhileTheEndIsNotStored(t *testing.T) {
	disk := &fullStore{}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		b.registry = disk.registry
		id := b.start("make a file")
		stored := b.wait(id, asking(1))
		disk.full.Store(true)
		b.launcher.killLast()
		for b.Present(stored).State != session.Dead {
			time.Sleep(20 * time.Millisecond)
		}
		if err := b.Resume(b.t.Context(), id, b.person); !errors.Is(err, pending.ErrUnavailable) {
			t.Errorf("resumed with a store that takes nothing: %v", err)
		}
		time.AfterFunc(2*time.Second, func() { disk.full.Store(false) })
		if err := b.Resume(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.AssistantTurn))
	}, on(disk))
}

// An answer that comes while a dead process is being buried resumes the session,
// once.
func TestAnswerToADyingProcessResumesItsSession(t *testing.T) {
	disk := &fullStore{}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		one := 1
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{{SleepMS: 3000}, {Exit: &one}}}}
		id := b.start("make a file")
		r := b.wait(id, asking(1)).Requests[0]
		disk.orphaned = func() {
			disk.orphaned = nil
			b.answer(r, nil)
		}
		b.launcher.killLast()
		b.wait(id, func(session.ProcessState) bool { return len(b.launcher.commands()) == 2 })
		if c := b.launcher.commands()[1]; !contains(c.Args, "--resume="+id) {
			t.Errorf("resumed with %v", c.Args)
		}
		b.say(id, "are you there?")
		b.wait(id, in(session.Dead))
		time.Sleep(time.Minute)
		if n := len(b.launcher.commands()); n != 2 {
			t.Errorf("it was started %d times, for one answer", n)
		}
	}, on(disk), func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
}

// left is a process that a former server left.
type left struct {
	id     launch.ID
	from   *launcher
	attach func(attempt int) error // nil: it can be reached
	slow   time.Duration           // of Remove
	heard  bool                    // an answer was written to it
	// sessionID is that of its session; "" for s and its number.
	sessionID string
	runnerID  string // of its session
	mu        sync.Mutex
	tries     int
	removed   bool
}

func (l *left) ID() launch.ID { return l.id }

func (l *left) Origin() launch.Origin { return launch.Origin{} }

func (l *left) Attach(ctx context.Context, _ int64) (launch.Conn, error) {
	l.mu.Lock()
	l.tries++
	tries := l.tries
	l.mu.Unlock()
	if l.attach != nil {
		if err := l.attach(tries); err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return l.from.Launch(ctx, l.id, claude.Command{}, nil)
}

func (l *left) Wrote(context.Context, string) (bool, error) { return l.heard, nil }

func (l *left) End(ctx context.Context) error { return l.Remove(ctx) }

func (l *left) Remove(context.Context) error {
	time.Sleep(l.slow)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed = true
	return nil
}

func (l *left) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.removed
}

// heir finds processes that a former server left.
type heir struct {
	*launcher
	left []launch.Leftover
}

func (h *heir) Leftovers(context.Context) ([]launch.Leftover, error) { return h.left, nil }

// inherits has a session and its process stored, as the former server did.
func inherits(t *testing.T, processes ...*left) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		h := &heir{launcher: o.Launcher.(*launcher)}
		o.Launcher = h
		for i, l := range processes {
			l.from = h.launcher
			h.left = append(h.left, l)
			if l.id.SessionID != "" {
				l.id.ProcessID = "stray"
				continue
			}
			l.id = launch.ID{SessionID: cmp.Or(l.sessionID, fmt.Sprint("s", i)), ProcessID: fmt.Sprint("p", i)}
			now := time.Now()
			if err := o.Store.CreateSession(context.Background(), session.Session{SessionID: l.id.SessionID, RunnerID: l.runnerID, CWD: o.Rules.Roots[0], PermissionMode: "default", CreatedAt: now, UpdatedAt: now, Begun: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := o.Store.SaveProcess(context.Background(), session.ProcessState{
				SessionID: l.id.SessionID, State: session.UserTurn, StartedAt: now, StateChangedAt: now, ProcessID: l.id.ProcessID,
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A shim that is slow to answer is waited for, one that never does is ended,
// and neither holds up the others.
func TestHungProcessesAreWaitedForAndThenEnded(t *testing.T) {
	hung := fmt.Errorf("attach: %w", launch.ErrHung)
	fine, slow, dead := &left{}, &left{attach: func(n int) error {
		if n < 5 {
			return hung
		}
		return nil
	}}, &left{attach: func(int) error { return hung }}
	stray := &left{id: launch.ID{SessionID: "nobody knows it"}, slow: 5 * time.Second}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
		if stray.gone() {
			t.Error("the stray was waited for")
		}
		s := b.wait("s1", func(s session.ProcessState) bool { return s.Stuck != "" })
		if s.State != session.UserTurn {
			t.Errorf("while it does not answer it is %s", s.State)
		}
		b.wait("s1", func(s session.ProcessState) bool { return s.PID != 0 && s.Stuck == "" })
		s = b.wait("s2", in(session.Dead))
		if s.Error == "" || !dead.gone() {
			t.Errorf("what never answered was ended without a word: %+v", s)
		}
		if !stray.gone() || fine.gone() || slow.gone() {
			t.Error("not exactly what is of no use was removed")
		}
		for _, id := range []string{"s0", "s1"} {
			b.wait(id, in(session.UserTurn))
		}
	}, inherits(t, fine, slow, dead, stray))
}

// A server that is stopped while it starts leaves what it has not reached yet.
func TestStopWhileAdopting(t *testing.T) {
	hung := fmt.Errorf("attach: %w", launch.ErrHung)
	p := &left{attach: func(int) error { return hung }}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.Stuck != "" })
		b.stop()
		if p.gone() {
			t.Error("the process was ended")
		}
		if s := b.wait("s0", in(session.UserTurn)); s.Error != "" || s.KillReason != "" {
			t.Errorf("it is said to be gone: %+v", s)
		}
	}, inherits(t, p))
}

func TestKillOfAProcessThatDoesNotAnswer(t *testing.T) {
	hung := fmt.Errorf("attach: %w", launch.ErrHung)
	p := &left{attach: func(int) error { return hung }}
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.wait("s0", func(s session.ProcessState) bool { return s.Stuck != "" })
		if err := b.Kill(b.t.Context(), "s0", true, "Ended by Ada."); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s := b.wait("s0", in(session.Dead))
		if took := time.Since(began); took > time.Second || s.KillReason != "Ended by Ada." || !p.gone() {
			t.Errorf("after %s: %+v", took, s)
		}
	}, inherits(t, p))
}

// witness keeps every state of a process that is stored.
type witness struct {
	orchestrator.Store
	mu     sync.Mutex
	states []session.ProcessState
}

func (w *witness) SaveProgress(ctx context.Context, id string, p session.Progress) (uint64, error) {
	if p.Process != nil {
		w.mu.Lock()
		w.states = append(w.states, *p.Process)
		w.mu.Unlock()
	}
	return w.Store.SaveProgress(ctx, id, p)
}

func (w *witness) has(ok func(session.ProcessState) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.states, ok)
}

// A server that dies while it ends Claude has said why; the next one goes on with it.
func TestKillOutlivesTheServer(t *testing.T) {
	t.Run("what is stored while it ends", func(t *testing.T) {
		stored := &witness{}
		withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
			id := b.start("make a file")
			b.wait(id, asking(1))
			if err := b.Kill(b.t.Context(), id, false, "Ended by Ada."); err != nil {
				t.Fatal(err)
			}
			b.wait(id, in(session.Dead))
			if !stored.has(func(s session.ProcessState) bool { return s.Running() && s.KillReason == "Ended by Ada." }) {
				t.Error("nothing was stored of it until it was over")
			}
		}, func(o *orchestrator.Options) { stored.Store, o.Store = o.Store, stored })
	})
	t.Run("what the next server does", func(t *testing.T) {
		p := &left{}
		withBench(t, claudetest.Script{}, nil, func(b *bench) {
			if s := b.wait("s0", in(session.Dead)); s.KillReason != "Ended by Ada." || s.Error != "" {
				t.Errorf("got %+v", s)
			}
		}, inherits(t, p), func(o *orchestrator.Options) {
			s, err := o.Store.ProcessState(context.Background(), "s0")
			if err != nil {
				t.Fatal(err)
			}
			s.KillReason = "Ended by Ada."
			if _, err := o.Store.SaveProcess(context.Background(), s); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestRulesChangeWhileItRuns(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample, l.Idle = time.Minute, 0 }
	withBench(t, claudetest.Script{}, limits, func(b *bench) {
		id := b.start("hello")
		b.wait(id, in(session.UserTurn))
		time.Sleep(2 * time.Hour)
		b.wait(id, in(session.UserTurn))
		rules := orchestrator.Rules{Roots: workspace.Roots{"/elsewhere"}, Limits: orchestrator.DefaultLimits()}
		rules.Limits.Idle = time.Minute
		b.SetRules(rules)
		time.Sleep(2 * time.Minute)
		if s := b.wait(id, in(session.Dead)); s.KillReason == "" {
			t.Errorf("it ended without a reason: %+v", s)
		}
		_, err := b.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: "more", By: b.person})
		var invalid *problem.Error
		if !errors.As(err, &invalid) || invalid.Field != "cwd" {
			t.Errorf("a session outside of the new roots: %v", err)
		}
	})
}
