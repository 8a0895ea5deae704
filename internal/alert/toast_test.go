package alert_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
)

// page is a tab, and what it was given last.
type page struct {
	mu    sync.Mutex
	ids   []string
	more  int
	given int
}

func (p *page) Toast(ids []string, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids, p.more, p.given = ids, more, p.given+1
}

func (p *page) shows(t *testing.T, what string, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.ids, want) {
		t.Errorf("%s: toasts %q, want %q", what, p.ids, want)
	}
}

// at is where a tab with the focus is; away is one that cannot be seen.
func at(sessionID string) alert.Presence {
	return alert.Presence{Active: true, Showing: &alert.Showing{SessionID: sessionID}}
}

func away(sessionID string) alert.Presence {
	return alert.Presence{Showing: &alert.Showing{SessionID: sessionID}}
}

func TestWhoLooksAtAnotherSessionSeesAToast(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		tab := &page{}
		r.alerter.SetPresence(tab, "ada", at("other"))
		r.ask("s", "q1")
		expect(t, "while she looks elsewhere", r.after(time.Hour))
		tab.shows(t, "while she looks elsewhere", "q1")
		// She goes there, and it is in the page alone.
		r.alerter.SetPresence(tab, "ada", at("s"))
		expect(t, "there", r.after(time.Hour))
		tab.shows(t, "there")
		// What she has seen is no news to her, as long as she looks at sayso at all.
		r.alerter.SetPresence(tab, "ada", at("other"))
		expect(t, "back", r.after(time.Hour))
		tab.shows(t, "back")
		r.alerter.SetPresence(tab, "ada", away("other"))
		expect(t, "nowhere", r.after(6*time.Second), show)
		r.answer("s", "q1")
		expect(t, "answered", r.after(time.Second), "close q1: Answered / api-server")
	})
}

func TestAToastGoesWhenItsRequestIsOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		tab, hers := &page{}, &page{} // Grace has nothing to do with sessions of Ada
		r.alerter.SetPresence(tab, "ada", at(""))
		r.alerter.SetPresence(hers, "grace", at(""))
		r.ask("s", "q1", "q2")
		r.after(time.Second)
		tab.shows(t, "waiting", "q1", "q2")
		hers.shows(t, "of another")
		r.answer("s", "q1")
		r.after(time.Second)
		tab.shows(t, "one is answered", "q2")
		r.alerter.RemoveTab(tab)
		r.answer("s", "q2")
		r.after(time.Second)
		tab.shows(t, "a tab that is gone is told nothing", "q2")
		if tab.given != 2 || hers.given != 0 {
			t.Errorf("told %d and %d times, want only what changed", tab.given, hers.given)
		}
	})
}

// A toast that was closed, or a session that was looked at, in one tab is no news in
// the others of that person.
func TestAToastIsClosedInAllTabs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		here, there, old := &page{}, &page{}, &page{}
		r.alerter.SetPresence(here, "ada", at("a"))
		r.alerter.SetPresence(there, "ada", away("b"))
		r.ask("s", "q1")
		r.after(time.Second)
		here.shows(t, "first", "q1")
		there.shows(t, "first", "q1")
		r.alerter.MarkNoticed("ada", "q1")
		r.alerter.MarkNoticed("ada", "of no request")
		r.after(time.Second)
		here.shows(t, "closed")
		there.shows(t, "closed")

		r.ask("b", "q2")
		r.after(time.Second)
		here.shows(t, "of the session that the other tab shows without the focus", "q2")
		there.shows(t, "of the session that it shows itself")
		// A window that sees everything is looked at.
		r.alerter.SetPresence(here, "ada", away("a"))
		r.alerter.SetPresence(there, "ada", alert.Presence{Active: true, Showing: &alert.Showing{Inbox: true}})
		r.after(time.Second)
		here.shows(t, "the inbox has it")
		// One that does not say what it shows shows everything, and is told nothing.
		r.alerter.SetPresence(there, "ada", away("b"))
		r.alerter.SetPresence(old, "ada", alert.Presence{Active: true})
		r.ask("s", "q3")
		expect(t, "an old tab looks", r.after(time.Hour))
		here.shows(t, "an old tab looks")
		if old.given != 0 {
			t.Error("an old tab was told of toasts")
		}
	})
}

// Whoever sits before a toast and does nothing is told elsewhere when they wanted to be
// reminded; and then as anybody, once and once again, on each of their devices.
func TestNobodyReactsToAToast(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.device("ada", "two")
		r.choose("ada", func(c *alert.Choices) { c.RemindAfter = 3 })
		tab := &page{}
		r.alerter.SetPresence(tab, "ada", at("other"))
		r.ask("s", "q1")
		expect(t, "before the time has come", r.after(179*time.Second))
		tab.shows(t, "before the time has come", "q1")
		first := r.after(2 * time.Second)
		expect(t, "then", first, show, show)
		if first[0].to == first[1].to {
			t.Errorf("both went to %s", first[0].to)
		}
		expect(t, "the reminder", r.after(3*time.Minute), "show q1: Reminder: Approval needed: Bash / api-server", "show q1: Reminder: Approval needed: Bash / api-server")
		r.alerter.SetPresence(tab, "ada", away("other"))
		expect(t, "and no more", r.after(time.Hour))
		r.answer("s", "q1")
		expect(t, "the end", r.after(time.Second), "close q1: Answered / api-server", "close q1: Answered / api-server")
		tab.shows(t, "the end")
	})
}

// What is not hers is shown to her when it is everybody's.
func TestToastsOfOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		tab := &page{}
		r.choose("", func(c *alert.Choices) { c.EscalateAfter = 10 })
		r.alerter.SetPresence(tab, "grace", at("other"))
		r.ask("s", "q1")
		r.after(9 * time.Minute)
		tab.shows(t, "not yet")
		r.after(2 * time.Minute)
		tab.shows(t, "escalated", "q1")
		r.choose("grace", func(c *alert.Choices) { c.AllSessions = true })
		r.ask("s", "q2")
		r.after(time.Second)
		tab.shows(t, "when she wants all", "q1", "q2")
	})
}

func TestToastsAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		tab := &page{}
		r.alerter.SetPresence(tab, "ada", at(""))
		for i := range 23 {
			r.ask("s", fmt.Sprintf("q%02d", i))
		}
		r.after(time.Second)
		if len(tab.ids) != 20 || tab.more != 3 {
			t.Errorf("%d and %d more, want 20 and 3", len(tab.ids), tab.more)
		}
	})
}

// A server that dies after a push service took a message and before it noted that sends
// it again. Whatever a device has by then, one notification is shown and it sounds once:
// both have one tag and one topic, and the second one says that it is not to be heard.
func TestAMessageThatIsSentTwiceIsShownOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"first", "reminder", "close"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, r *harness) {
				r.device("ada", "one")
				r.choose("ada", func(c *alert.Choices) { c.RemindAfter = 3 })
				r.ask("s", "q1")
				if step != "first" {
					expect(t, "first", r.after(6*time.Second), show)
				}
				r.store.failNoting(true)
				var once []told
				switch step {
				case "first":
					once = r.after(6 * time.Second)
				case "reminder":
					once = r.after(3 * time.Minute)
				case "close":
					r.answer("s", "q1")
					once = r.after(time.Second)
				}
				r.stop()
				r.store.failNoting(false)
				r.start()
				again := r.after(time.Second)
				if len(once) != 1 || len(again) != 1 || once[0].topic != again[0].topic || once[0].Tag != again[0].Tag {
					t.Fatalf("sent %q, then %q", lines(once), lines(again))
				}
				if again[0].Renotify {
					t.Error("it is heard twice")
				}
				if step == "reminder" && !strings.Contains(again[0].Title, "Reminder") {
					t.Errorf("the second time it says %q", again[0].Title)
				}
				expect(t, "later", r.after(time.Minute))
			})
		})
	}
}

// What may have been shown is taken back, too, when it was answered before the next
// server came.
func TestWhatMayHaveBeenSentIsTakenBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("s", "q1")
		r.store.failNoting(true)
		expect(t, "sent, and not noted", r.after(6*time.Second), show)
		r.stop()
		r.answer("s", "q1")
		r.store.failNoting(false)
		r.start()
		expect(t, "the next server", r.after(time.Second), "close q1: Answered / api-server")
		expect(t, "later", r.after(time.Hour))
	})
}

// A server that dies again and again while it sends does not send for ever.
func TestTriesAreCountedOverRestarts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("s", "q1")
		r.store.failNoting(true)
		var all []told
		for range 20 {
			all = append(all, r.after(time.Minute)...)
			r.stop()
			r.start()
		}
		if len(all) != 8 {
			t.Errorf("%d tries, want 8", len(all))
		}
		r.store.failNoting(false)
		r.answer("s", "q1")
		expect(t, "it may have been shown", r.after(time.Second), "close q1: Answered / api-server")
	})
}
