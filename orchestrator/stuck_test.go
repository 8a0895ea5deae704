package orchestrator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

const retrying = `{"type":"system","subtype":"api_retry","uuid":"5f2c","attempt":3,"max_retries":10,"retry_delay_ms":1000,"error_status":529}`

// A session that seems to be stuck says at what.
func TestWhatIsStuckSaysWhy(t *testing.T) {
	hang := claudetest.Step{Silent: true}
	tool := claudetest.Step{Raw: `{"type":"assistant","uuid":"5f2d","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"sleep 1000"}}]}}`}
	for name, c := range map[string]struct {
		turn []claudetest.Step
		says string
	}{
		"the model":   {[]claudetest.Step{{Text: "Let me think."}, hang}, "Waiting for the Claude API, which has sent nothing since 00:00:"},
		"the network": {[]claudetest.Step{{Text: "Let me think."}, {Raw: retrying}, hang}, "Waiting for the Claude API since 00:00:"},
		"the tool":    {[]claudetest.Step{{Text: "Let me look."}, {SleepMS: 7000}, tool, hang}, "The tool Bash has been running since 00:00:07 UTC without activity."},
	} {
		t.Run(name, func(t *testing.T) {
			limits := func(l *orchestrator.Limits) { l.Sample = time.Second }
			withBench(t, claudetest.Script{Turn: c.turn}, limits, func(b *bench) {
				id := b.start("one")
				b.wait(id, in(session.AssistantTurn))
				time.Sleep(100 * time.Second)
				if s := b.wait(id, in(session.AssistantTurn)); s.Stuck != "" {
					t.Errorf("too early: %s", s.Stuck)
				}
				time.Sleep(30 * time.Second)
				s := b.wait(id, func(s session.ProcessState) bool { return s.Stuck != "" })
				if !strings.HasPrefix(s.Stuck, c.says) {
					t.Errorf("it says %q, want %q", s.Stuck, c.says)
				}
			})
		})
	}
}

// A CLI that took a message and then says nothing at all.
func TestTurnWithoutAnyOutputIsStuck(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample = time.Second }
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, limits, func(b *bench) {
		b.launcher.mute = true
		id := b.start("one")
		s := b.wait(id, in(session.AssistantTurn))
		time.Sleep(2 * time.Minute)
		s = b.wait(id, func(s session.ProcessState) bool { return s.Stuck != "" })
		if want := "Claude has been silent since 00:00:00 UTC, when its turn began."; s.Stuck != want {
			t.Errorf("it says %q, want %q", s.Stuck, want)
		}
	})
}

// A tool that a person has allowed and that has a child since is running, however
// quiet it is; and it is running since it was allowed.
func TestAQuietToolIsNoIgnoredAnswer(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample = time.Second }
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, limits, func(b *bench) {
		b.launcher.deaf = true
		b.launcher.uses(launch.Vitals{Processes: 1})
		id := b.start("one")
		r := b.wait(id, asking(1)).Requests[0]
		time.Sleep(9 * time.Second)
		b.answer(r, nil)
		time.Sleep(2 * time.Second)
		b.launcher.uses(launch.Vitals{Processes: 2})
		time.Sleep(90 * time.Second)
		if s := b.wait(id, asking(0)); s.Stuck != "" {
			t.Errorf("after a minute and a half: %s", s.Stuck)
		}
		time.Sleep(40 * time.Second)
		s := b.wait(id, func(s session.ProcessState) bool { return s.Stuck != "" })
		if want := "The tool Bash has been running since 00:00:09 UTC without activity."; s.Stuck != want {
			t.Errorf("it says %q, want %q", s.Stuck, want)
		}
	})
}

// What is busy is not silent; but one that says nothing while it takes more and
// more memory says so.
func TestGrowthWithoutTextIsSentToTabs(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample = time.Second }
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Let me look."}, {Silent: true}}}, limits, func(b *bench) {
		grow := func(mb uint64, children int) {
			b.launcher.uses(launch.Vitals{Memory: mb << 20, Processes: 1 + children})
		}
		grow(300, 0)
		id := b.start("one")
		b.wait(id, in(session.AssistantTurn))
		for i := range 200 {
			time.Sleep(time.Second)
			grow(300+uint64(i)*2, i%2) // 400 MB more, and its children come and go
		}
		if s := b.wait(id, in(session.AssistantTurn)); s.Stuck != "" {
			t.Errorf("it has grown little: %s", s.Stuck)
		}
		var s session.ProcessState
		for i := range 20 {
			time.Sleep(time.Second)
			grow(1500, i%2)
		}
		s = b.wait(id, func(s session.ProcessState) bool { return s.Stuck != "" })
		if want := " the memory of its processes has grown from 300 MB to 1500 MB."; !strings.HasPrefix(s.Stuck, "Claude has been silent since 00:00:") || !strings.HasSuffix(s.Stuck, want) {
			t.Errorf("it says %q, want …%q", s.Stuck, want)
		}
	})
}

// Goal R7: a session whose shim does not answer is gone 10 seconds after it was killed,
// and 1 second after it was killed by force. Until then nobody reads that an answer was
// delivered which is queued.
func TestSessionOfAHungShimIsKilledInTime(t *testing.T) {
	for name, c := range map[string]struct {
		force bool
		limit time.Duration
	}{"in order": {false, 10 * time.Second}, "by force": {true, time.Second}} {
		t.Run(name, func(t *testing.T) {
			limits := func(l *orchestrator.Limits) { l.Sample = time.Second }
			withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, limits, func(b *bench) {
				b.launcher.hung = true
				id := b.start("one")
				r := b.wait(id, asking(1)).Requests[0]
				b.answer(r, nil)
				time.Sleep(time.Minute)
				s := b.wait(id, func(s session.ProcessState) bool { return s.Stuck != "" })
				if row := b.row(r.RequestID); row.Delivery != pending.Queued || strings.Contains(s.Stuck, "delivered") || !strings.Contains(s.Stuck, "has not reached Claude") {
					t.Errorf("the answer is %s, and people read %q", row.Delivery, s.Stuck)
				}
				killed := time.Now()
				if err := b.Kill(b.t.Context(), id, c.force, "Ada ended it."); err != nil {
					t.Fatal(err)
				}
				b.wait(id, in(session.Dead))
				if took := time.Since(killed); took > c.limit {
					t.Errorf("it took %s, want at most %s", took, c.limit)
				} else {
					t.Logf("it took %s", took)
				}
			})
		})
	}
}

// A session whose output cannot be stored says so, is not ended for its silence, and says afterwards
// that it has waited for a server.
func TestSessionWhoseOutputCannotBeStored(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample, l.Silent = time.Second, 3*time.Minute }
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}, {Silent: true}}}, limits, func(b *bench) {
		id := b.start("one")
		b.wait(id, in(session.AssistantTurn))
		says := func(want string) {
			t.Helper()
			b.wait(id, func(s session.ProcessState) bool {
				return strings.HasPrefix(s.Stuck, want) && (s.Stuck == "") == (want == "")
			})
		}
		b.launcher.uses(launch.Vitals{Blocked: "write out.0: no space left on device"})
		says("Claude is waiting because here cannot store its output: no space left on device.")
		time.Sleep(10 * time.Minute)
		if n := b.Stalled(); n != 1 {
			t.Errorf("%d sessions are stalled", n)
		}
		if n := b.notes(id, "could not hold more"); n != 0 {
			t.Errorf("%d notes that it waits for a server", n)
		}
		b.launcher.uses(launch.Vitals{})
		says("")
		b.launcher.uses(launch.Vitals{Blocked: launch.JournalFull})
		says("Claude is waiting because here cannot hold more of its output")
		time.Sleep(time.Minute)
		b.launcher.uses(launch.Vitals{})
		says("")
		if n := b.notes(id, "Claude waited because here could not hold more of its output while no server was connected."); n != 1 {
			t.Errorf("%d notes that it has waited", n)
		}
		if n := b.Stalled(); n != 0 {
			t.Errorf("%d sessions are stalled still", n)
		}
	})
}
