package orchestrator_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

func each(l project.Limits) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) { o.Rules.EachPerson = l }
}

// project makes one of the bench's folder.
func (b *bench) project(all, each project.Limits) project.Project {
	b.t.Helper()
	p := project.Project{ProjectID: uuid.NewString(), Name: "api", Folders: []string{b.folder}, Limits: all, EachLimit: each, CreatedAt: time.Now()}
	if _, err := b.store.CreateProject(b.t.Context(), p, b.person); err != nil {
		b.t.Fatal(err)
	}
	p.Version = 1
	return p
}

func (b *bench) send(id, text string) error {
	b.t.Helper()
	return b.Send(b.t.Context(), session.Message{MessageID: uuid.NewString(), SessionID: id, Text: text, By: b.person, CreatedAt: time.Now()})
}

func (b *bench) begins(by pending.Actor) (string, error) {
	return b.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: "hello", By: by})
}

func (b *bench) refused(err error, want string) {
	b.t.Helper()
	var full *problem.Error
	if !errors.As(err, &full) || !strings.Contains(full.Message, want) {
		b.t.Errorf("got %v, want a limit that says %q", err, want)
	}
}

// spent is what today's sessions have cost, in US dollars.
func (b *bench) spent() float64 {
	b.t.Helper()
	list, err := b.store.Spending(b.t.Context(), time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	var micros int64
	for _, s := range list {
		micros += s.Micros
	}
	return float64(micros) / 1e6
}

func (b *bench) hasSpent(want float64) {
	b.t.Helper()
	if got := b.spent(); math.Abs(got-want) > 1e-9 {
		b.t.Errorf("counted %v, want %v", got, want)
	}
}

// TestLastSlotIsReservedOnce: of many that start in the same moment as many begin as
// there is room for, and the others leave nothing behind.
func TestLastSlotIsReservedOnce(t *testing.T) {
	for name, limit := range map[string]func(*bench){
		"of a person":            func(b *bench) { b.SetRules(rulesWith(b, project.Limits{Sessions: 3})) },
		"of a project":           func(b *bench) { b.project(project.Limits{Sessions: 3}, project.Limits{}) },
		"of each in the project": func(b *bench) { b.project(project.Limits{}, project.Limits{Sessions: 3}) },
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{}, nil, func(b *bench) {
				limit(b)
				var wg sync.WaitGroup
				var mu sync.Mutex
				begun := 0
				for range 12 {
					wg.Go(func() {
						_, err := b.begins(b.person)
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							begun++
						} else if !errors.Is(err, problem.LimitReached) {
							t.Errorf("refused with %v", err)
						}
					})
				}
				wg.Wait()
				all, _, err := b.store.Sessions(b.t.Context(), session.Query{})
				if err != nil || begun != 3 || len(all) != 3 {
					t.Errorf("%d began and %d are stored, want 3; %v", begun, len(all), err)
				}
			})
		})
	}
}

func rulesWith(b *bench, l project.Limits) orchestrator.Rules {
	r := b.rules
	r.EachPerson = l
	return r
}

// TestLimitsOfAPerson hold outside of projects, and another may be set for one of
// them.
func TestLimitsOfAPerson(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		first := b.start("hello")
		b.wait(first, in(session.UserTurn))
		_, err := b.begins(b.person)
		b.refused(err, "are limited to 1 at a time. End one of them first.")
		_, err = b.Fork(b.t.Context(), first, "", b.person, "")
		b.refused(err, "are limited to 1 at a time")
		ben := pending.Actor{UserID: "u2", Name: "Ben"}
		if _, err := b.begins(ben); err != nil {
			t.Errorf("another person: %v", err)
		}
		two := 2
		if err := b.store.SetUserLimits(b.t.Context(), "u1", "Ada", project.Override{Sessions: &two}, ben); err != nil {
			t.Fatal(err)
		}
		second, err := b.begins(b.person)
		if err != nil {
			t.Fatalf("with a limit of their own: %v", err)
		}
		b.wait(second, in(session.UserTurn))
		_, err = b.begins(b.person)
		b.refused(err, "are limited to 2 at a time")

		// A place that is given back is taken again: by a message, and then not by
		// another way to start.
		if err := b.Kill(b.t.Context(), first, false, "Ended."); err != nil {
			t.Fatal(err)
		}
		b.wait(first, in(session.Dead))
		third, err := b.begins(b.person)
		if err != nil {
			t.Fatal(err)
		}
		b.wait(third, in(session.UserTurn))
		b.refused(b.Resume(b.t.Context(), first, b.person), "are limited to 2 at a time")
		b.refused(b.send(first, "go on"), "are limited to 2 at a time")
		if queue, err := b.store.QueuedMessages(b.t.Context(), first); err != nil || len(queue) != 0 {
			t.Errorf("what was refused is queued: %v, %v", queue, err)
		}
	}, each(project.Limits{Sessions: 1}))
}

func TestMemoryOfAPerson(t *testing.T) {
	withBench(t, claudetest.Script{}, func(l *orchestrator.Limits) { l.Sample = time.Second }, func(b *bench) {
		b.launcher.uses(launch.Vitals{Memory: 64 << 20, Processes: 1})
		first := b.start("hello")
		b.wait(first, func(s session.ProcessState) bool { return s.Memory == 64<<20 })
		_, err := b.begins(b.person)
		b.refused(err, "are limited to 64 MB of memory and use 64 MB.")
	}, each(project.Limits{Memory: 64 << 20}))
}

// TestCostLimit: the running turn ends in peace, the next one waits in the queue
// with a sentence, and goes on when the limit is raised or the day is over.
func TestCostLimit(t *testing.T) {
	for name, goOn := range map[string]func(*bench){
		"the limit is raised": func(b *bench) { b.SetRules(rulesWith(b, project.Limits{Cost: 10})) },
		"another is set for the person": func(b *bench) {
			none := 0.0
			if err := b.store.SetUserLimits(b.t.Context(), "u1", "Ada", project.Override{Cost: &none}, b.person); err != nil {
				b.t.Fatal(err)
			}
			b.LimitsChanged()
		},
		"a new day begins": func(b *bench) { time.Sleep(24 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{Turn: []claudetest.Step{bash, {Cost: 1.5}, {Text: "dear"}}}, func(l *orchestrator.Limits) {
				l.Idle, l.Absolute = 0, 0
			}, func(b *bench) {
				if err := b.store.PutUser(b.t.Context(), account.User{UserID: "u1", Name: "Ada", Role: account.Member}); err != nil {
					t.Fatal(err)
				}
				id := b.start("one")
				b.answer(b.wait(id, asking(1)).Requests[0], nil)
				b.wait(id, in(session.UserTurn))
				b.hasSpent(1.5)
				if err := b.send(id, "two"); err != nil {
					t.Fatal(err)
				}
				// The second turn has begun below the limit and is not cut off above it.
				s := b.wait(id, asking(1))
				if err := b.send(id, "three"); err != nil {
					t.Fatal(err)
				}
				b.answer(s.Requests[0], nil)
				s = b.wait(id, func(s session.ProcessState) bool { return s.Throttled != "" })
				if s.State != session.UserTurn || s.QueuedMessages != 1 ||
					s.Throttled != "Sessions of Ada are limited to $2.00 a day and have cost $3.00 today. Claude continues at 00:00 UTC or when an admin raises the limit." {
					t.Errorf("held as %s with %d queued: %s", s.State, s.QueuedMessages, s.Throttled)
				}
				_, err := b.begins(b.person)
				b.refused(err, "are limited to $2.00 a day")
				goOn(b)
				s = b.wait(id, asking(1))
				if s.Throttled != "" || s.QueuedMessages != 0 {
					t.Errorf("went on with %d queued: %q", s.QueuedMessages, s.Throttled)
				}
			}, each(project.Limits{Cost: 2}))
		})
	}
}

// TestCostIsCountedOnce over the ways in which CLIs count: each from nothing, on
// from what the conversation cost before, and anew after /clear.
func TestCostIsCountedOnce(t *testing.T) {
	turn := func(cost float64) []claudetest.Step { return []claudetest.Step{{Cost: cost}, {Text: "ok"}} }
	for name, second := range map[string]struct {
		script claudetest.Script
		want   float64
	}{
		"begins from nothing":            {claudetest.Script{Turn: turn(0.25)}, 0.75},
		"goes on":                        {claudetest.Script{Turn: turn(0.25), Restored: 0.5}, 0.75},
		"goes on with more than is ours": {claudetest.Script{Turn: turn(0.25), Restored: 7}, 0.75},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{Turn: turn(0.25)}, nil, func(b *bench) {
				b.launcher.later = []claudetest.Script{second.script, second.script}
				id := b.start("one")
				b.wait(id, in(session.UserTurn))
				b.turn(id, "two")
				b.hasSpent(0.5)
				if err := b.Kill(b.t.Context(), id, false, "Ended."); err != nil {
					t.Fatal(err)
				}
				b.wait(id, in(session.Dead))
				b.turn(id, "three")
				b.hasSpent(second.want)
				if _, err := b.Fork(b.t.Context(), id, "", b.person, ""); err != nil {
					t.Fatal(err)
				}
				b.hasSpent(second.want)
			})
		})
	}
	t.Run("anew after /clear", func(t *testing.T) {
		withBench(t, claudetest.Script{Turn: turn(0.5)}, nil, func(b *bench) {
			id := b.start("one")
			b.wait(id, in(session.UserTurn))
			b.turn(id, claudetest.Prompt(claudetest.Step{Cost: -9}, claudetest.Step{Text: "cleared"}))
			b.hasSpent(0.5)
			b.turn(id, "two")
			b.hasSpent(1)
		})
	})
	t.Run("not of a demo", func(t *testing.T) {
		withBench(t, claudetest.Script{Turn: turn(0.5)}, nil, func(b *bench) {
			id, err := b.Start(b.t.Context(), orchestrator.StartRequest{Demo: true, By: b.person})
			if err != nil {
				t.Fatal(err)
			}
			b.wait(id, in(session.UserTurn))
			b.hasSpent(0)
		}, func(o *orchestrator.Options) { o.Demo = &launch.Demo{Folder: o.Rules.Roots[0], Prompt: "hello"} })
	})
}

// turn sends a message and waits until its turn is over.
func (b *bench) turn(id, text string) {
	b.t.Helper()
	results := func() (n int) {
		for _, it := range b.items(id) {
			if it.Kind == session.ItemResult {
				n++
			}
		}
		return n
	}
	before := results()
	if err := b.send(id, text); err != nil {
		b.t.Fatal(err)
	}
	b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && results() > before })
}

// TestNoAutomaticResumeWithoutCapacity: an answer, and a message, that would resume
// a session wait until there is room, and say so.
func TestNoAutomaticResumeWithoutCapacity(t *testing.T) {
	for name, waits := range map[string]func(*bench, string, pending.Request){
		"an answer": func(b *bench, _ string, r pending.Request) { b.answer(r, nil) },
		"a message": func(b *bench, id string, r pending.Request) {
			// It came in while the process was on its way out.
			if _, err := b.store.QueueMessage(b.t.Context(), session.Message{MessageID: uuid.NewString(), SessionID: id, Text: "and this", By: b.person, CreatedAt: time.Now()}); err != nil {
				b.t.Fatal(err)
			}
			b.answer(r, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
				b.launcher.later = []claudetest.Script{{}, {Turn: []claudetest.Step{bash}}}
				id := b.start("one")
				r := b.wait(id, asking(1)).Requests[0]
				b.launcher.killLast()
				b.wait(id, in(session.Dead))
				other := b.start("another takes the place")
				b.wait(other, in(session.UserTurn))
				waits(b, id, r)
				s := b.wait(id, func(s session.ProcessState) bool { return s.Throttled != "" })
				if s.State != session.Dead || !strings.Contains(s.Throttled, "are limited to 1 at a time") {
					t.Errorf("it is %s and says %q", s.State, s.Throttled)
				}
				if err := b.Kill(b.t.Context(), other, false, "Ended."); err != nil {
					t.Fatal(err)
				}
				s = b.wait(id, func(s session.ProcessState) bool { return s.State != session.Dead })
				if s.Throttled != "" {
					t.Errorf("it goes on and says %q", s.Throttled)
				}
			}, each(project.Limits{Sessions: 1}), func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
		})
	}
}

// waited has a session stored with a message that waited for room when the former server ended.
func waited(t *testing.T, id string) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		cwd := o.Rules.Roots[0]
		now := time.Now()
		for _, err := range []error{
			o.Store.CreateSession(context.Background(), session.Session{SessionID: id, ProjectID: session.ProjectOf(cwd), CWD: cwd, PermissionMode: "default", OwnerID: "u1", CreatedAt: now}),
			func() error {
				_, err := o.Store.QueueMessage(context.Background(), session.Message{MessageID: uuid.NewString(), SessionID: id, Text: "go on", By: pending.Actor{UserID: "u1", Name: "Ada"}, CreatedAt: now})
				return err
			}(),
			func() error {
				_, err := o.Store.SaveProcess(context.Background(), session.ProcessState{SessionID: id, State: session.Dead, StateChangedAt: now, PermissionMode: "default", Throttled: "They are limited to 1 at a time."})
				return err
			}(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWaitingForCapacitySurvivesARestart: what waited for room when the server ended goes
// on when the next one finds room.
func TestWaitingForCapacitySurvivesARestart(t *testing.T) {
	id := uuid.NewString()
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		s := b.wait(id, in(session.UserTurn))
		if s.Throttled != "" || s.QueuedMessages != 0 {
			b.t.Errorf("it says %q, and %d messages wait", s.Throttled, s.QueuedMessages)
		}
	}, waited(t, id))
}

// busyMachine has no room for processes while it is full, after it has been asked a few times.
type busyMachine struct {
	*launcher
	full atomic.Bool
	free atomic.Int32 // times that it says that there is room, although it is full
}

func (m *busyMachine) CheckMachine(context.Context) error {
	if m.full.Load() && m.free.Add(-1) < 0 {
		return problem.New("runner_full", "max", 1)
	}
	return nil
}

func onBusyMachine(m *busyMachine) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) { m.launcher, o.Launcher = o.Launcher.(*launcher), m }
}

// TestAKillWhileItWaitsForCapacitySurvivesARestart: what a person has ended does not begin by itself, also
// when the next server finds room.
func TestAKillWhileItWaitsForCapacitySurvivesARestart(t *testing.T) {
	id, machine := uuid.NewString(), &busyMachine{}
	machine.full.Store(true)
	var options orchestrator.Options
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.wait(id, func(s session.ProcessState) bool { return strings.Contains(s.Throttled, "its maximum of 1 sessions") })
		if err := b.Kill(b.t.Context(), id, false, "Ended by Ada."); err != nil {
			t.Fatal(err)
		}
		if s := b.wait(id, func(session.ProcessState) bool { return true }); s.Throttled != "" {
			t.Errorf("ended, it says %q", s.Throttled)
		}
		b.stop()

		machine.full.Store(false)
		next, err := orchestrator.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		running.Go(func() {
			if err := next.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		time.Sleep(5 * time.Minute)
		if s := b.wait(id, in(session.Dead)); s.QueuedMessages != 1 || len(b.launcher.commands()) != 0 {
			t.Errorf("%d processes were started and %d messages wait, want none and 1", len(b.launcher.commands()), s.QueuedMessages)
		}
	}, waited(t, id), onBusyMachine(machine), func(o *orchestrator.Options) { options = *o })
}
