package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// stores stores a session of the runner, its process p0 as change leaves it, and messages in its
// queue, as an earlier server did.
func stores(t *testing.T, s session.Session, change func(*session.ProcessState), queue ...string) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		ctx := context.Background()
		s.CWD, s.PermissionMode, s.CreatedAt, s.UpdatedAt = o.Rules.Roots[0], "default", time.Now(), time.Now()
		err := o.Store.CreateSession(ctx, s)
		for i, text := range queue {
			if err == nil {
				_, err = o.Store.QueueMessage(ctx, session.Message{
					MessageID: text, SessionID: s.SessionID, Text: text, By: pending.Actor{UserID: "u1", Name: "Ada"}, CreatedAt: time.Now().Add(time.Duration(i)),
				})
			}
		}
		state := session.ProcessState{SessionID: s.SessionID, State: session.Dead, ProcessID: "p0", StartedAt: time.Now(), StateChangedAt: time.Now(), PermissionMode: "default"}
		change(&state)
		if err == nil {
			_, err = o.Store.SaveProcess(ctx, state)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// remembers stores what an earlier server knew of the process p0 of a session.
func remembers(t *testing.T, sessionID, memo string) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		if _, err := o.Store.SaveProgress(context.Background(), sessionID, session.Progress{Mark: &session.Mark{ProcessID: "p0", Memo: []byte(memo)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// An answer to a session that is dead already was stored while no server drove its runner, or just
// before the server died. The session is resumed as soon as the runner is driven again.
func TestAnswerThatNobodyActedOnResumesItsSession(t *testing.T) {
	atOnce := func(*orchestrator.Options) {}
	setting := func(is bool) func(*orchestrator.Options) {
		return func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = is }
	}
	for name, c := range map[string]struct {
		runnerID   string
		killReason string
		memo       string
		change     func(*orchestrator.Options)
		resumes    bool
	}{
		"Claude died by itself":       {"here", "", `{}`, atOnce, true},
		"it died with the machine":    {"here", "The server was stopped, and Claude with it.", `{}`, atOnce, true},
		"a limit ended it":            {"here", "Nobody sent a message for 1 hour.", `{"ended_by_limit":true}`, atOnce, true},
		"a person ended it":           {"here", "Ended by Ada.", `{}`, atOnce, false},
		"another runner has it":       {"elsewhere", "", `{}`, atOnce, false},
		"it is resumed by hand":       {"here", "", `{}`, setting(false), false},
		"nobody has waited for weeks": {"here", "", `{}`, func(*orchestrator.Options) { time.Sleep(31 * 24 * time.Hour) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			id := uuid.NewString()
			died := stores(t, session.Session{SessionID: id, RunnerID: c.runnerID, Begun: true}, func(s *session.ProcessState) { s.KillReason = c.killReason })
			requestID, answer := answered(t, id, "p0", "toolu_1")
			again := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_2", "touch a")}}
			withBench(t, again, nil, func(b *bench) {
				if !c.resumes {
					time.Sleep(10 * time.Minute)
					if n := len(b.launcher.commands()); n != 0 || b.row(requestID).Delivery != pending.Queued {
						t.Errorf("Claude was started %d times, and the answer is %s", n, b.row(requestID).Delivery)
					}
					return
				}
				b.wait(id, func(session.ProcessState) bool { return b.row(requestID).Delivery == pending.Carried })
				if first := b.launcher.commands()[0]; !contains(first.Args, "--resume="+id) || !contains(first.Env, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1") {
					t.Errorf("resumed with %v", first.Args)
				}
			}, setting(true), died, remembers(t, id, c.memo), answer, c.change)
		})
	}
}

// unreadable fails to read answers as often as it is told to.
type unreadable struct {
	orchestrator.Store
	failures atomic.Int64
}

func (s *unreadable) UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	if s.failures.Add(-1) >= 0 {
		return nil, pending.ErrUnavailable
	}
	return s.Store.UndeliveredRequests(ctx, sessionID)
}

// A store that fails for a moment just after an answer does not keep the session from being resumed.
func TestAnswerResumesASessionOnceTheStoreIsBack(t *testing.T) {
	var store unreadable
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("make a file")
		old := b.die(id, 1)[0]
		time.Sleep(time.Minute)
		store.failures.Store(3)
		b.answer(old, nil)
		b.wait(id, func(session.ProcessState) bool { return len(b.launcher.commands()) == 2 })
	}, func(o *orchestrator.Options) {
		o.Rules.ResumeOnAnswer = true
		store.Store, o.Store = o.Store, &store
	})
}

// slowStart starts no CLI before the server stops.
type slowStart struct {
	*launcher
	starts atomic.Int64
}

func (l *slowStart) Open(ctx context.Context, _ launch.Process) (launch.Conn, error) {
	l.starts.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// runs runs another orchestrator until stop is called.
func (b *bench) runs(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			b.t.Errorf("run: %v", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// A server that is stopped while Claude starts leaves the first message to the next one.
func TestStopWhileClaudeStarts(t *testing.T) {
	slow := &slowStart{}
	var options orchestrator.Options
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
		id := b.start("make a file")
		b.until("Claude is started", func() bool { return slow.starts.Load() == 1 })
		b.stop()
		if s := b.wait(id, func(session.ProcessState) bool { return true }); s.Error != "" || s.QueuedMessages != 1 {
			t.Errorf("it says %q, and %d messages wait", s.Error, s.QueuedMessages)
		}
		options.Launcher = b.launcher
		next, err := orchestrator.New(options)
		if err != nil {
			t.Fatal(err)
		}
		defer b.runs(next.Run)()
		s := b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && s.QueuedMessages == 0 })
		if said := b.launcher.records("user"); len(said) != 1 || !strings.Contains(string(said[0].Line), "make a file") || s.Error != "" {
			t.Errorf("Claude heard %d messages, and the session says %q", len(said), s.Error)
		}
	}, func(o *orchestrator.Options) {
		slow.launcher = o.Launcher.(*launcher)
		o.Launcher = slow
		options = *o
	})
}

// A server died before it had started Claude, or Claude died with the machine: the messages that
// wait are sent by the next server, and the turn that was cut off continues before them.
func TestQueueOutlivesAnOutage(t *testing.T) {
	const byLimit, byPerson = "Nobody sent a message for 1 hour.", "Ended by Ada."
	for name, c := range map[string]struct {
		state            session.State
		killReason, memo string
		begun            bool
		queue            []string
		says             []string // what Claude hears
		continues        bool
	}{
		"it was starting":                    {session.Starting, "", `{}`, false, []string{"one"}, []string{"one"}, false},
		"Claude waited":                      {session.UserTurn, "", `{}`, true, []string{"one"}, []string{"one"}, false},
		"Claude worked":                      {session.AssistantTurn, "", `{"sending":"one","spoke":true}`, true, []string{"one", "two"}, []string{"two"}, true},
		"a message was perhaps sent":         {session.AssistantTurn, "", `{"sending":"one"}`, true, []string{"one"}, []string{"one"}, false},
		"a limit was ending it":              {session.UserTurn, byLimit, `{"ended_by_limit":true}`, true, []string{"one"}, []string{"one"}, false},
		"a person was ending it":             {session.UserTurn, byPerson, `{}`, true, []string{"one"}, nil, false},
		"of a release before, a limit maybe": {session.UserTurn, byLimit, `{"begun":true}`, true, []string{"one"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			id := uuid.NewString()
			died := stores(t, session.Session{SessionID: id, RunnerID: "here", Begun: c.begun}, func(s *session.ProcessState) {
				s.State, s.KillReason = c.state, c.killReason
			}, c.queue...)
			withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
				b.wait(id, func(session.ProcessState) bool { return len(b.launcher.records("user")) >= len(c.says) })
				time.Sleep(time.Minute)
				heard := b.launcher.records("user")
				if len(heard) != len(c.says) {
					t.Fatalf("Claude heard %d messages, want %q", len(heard), c.says)
				}
				for i, text := range c.says {
					if !strings.Contains(string(heard[i].Line), `"`+text+`"`) {
						t.Errorf("Claude heard %s, want %s", heard[i].Line, text)
					}
				}
				if c.says == nil {
					b.wait(id, in(session.Dead))
					return
				}
				if first := b.launcher.commands()[0]; contains(first.Env, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1") != c.continues {
					t.Errorf("started with %v", first.Env)
				}
			}, died, remembers(t, id, c.memo))
		})
	}
}

// A server died between the end of Claude and what follows from it.
func TestQueueOfAProcessThatIsStoredAsDead(t *testing.T) {
	id := uuid.NewString()
	p := &left{sessionID: id}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
		b.wait(id, func(s session.ProcessState) bool {
			return s.State == session.UserTurn && len(b.launcher.records("user")) == 1
		})
		if !p.gone() {
			t.Error("what was left of the process was not removed")
		}
	}, inherits(t, p), func(o *orchestrator.Options) {
		_, err := o.Store.QueueMessage(context.Background(), session.Message{MessageID: "m1", SessionID: id, Text: "one", CreatedAt: time.Now()})
		s, readErr := o.Store.ProcessState(context.Background(), id)
		if err = errors.Join(err, readErr); err == nil {
			s.State = session.Dead
			_, err = o.Store.SaveProcess(context.Background(), s)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
