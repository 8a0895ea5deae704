package main

import (
	"testing"
	"time"
)

// A history in which two answers counted, an undone one did, or the CLI received another one than the
// first, has no order that explains it.
func TestHistory(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0) }
	tab := func(name string, sent, acked int, acks ...ack) *tabLedger {
		g := &sentAnswer{answer: answer{CommandID: name, Expected: "allow " + name}, ToolUseID: "t", SentAt: at(sent), AckedAt: at(acked), Acks: acks}
		return &tabLedger{Name: name, Sent: map[string]*sentAnswer{name: g}}
	}
	held := func(t *tabLedger, undone ...int) *tabLedger {
		g := t.Sent[t.Name]
		g.Hold = time.Second
		if len(undone) > 0 {
			t.Undos = []*undo{{of: g, acked: true, applied: true, sentAt: at(undone[0]), ackedAt: at(undone[1])}}
		}
		return t
	}
	gone := func(t *tabLedger, when int) *tabLedger {
		t.Shown, t.Gone = map[string]shown{"q": {form: form{ToolUseID: "t"}}}, map[string]time.Time{"q": at(when)}
		return t
	}
	denial := func(t *tabLedger) *tabLedger {
		t.Sent[t.Name].Expected = "deny " + t.Name
		return t
	}
	heard := func(what string, when int) []*cliLedger {
		return []*cliLedger{{Asked: []*asked{{RequestID: "r", ToolUseID: "t"}}, Received: []received{{RequestID: "r", Answer: "allow " + what, At: at(when)}}}}
	}
	withdrew := func(when int) []*cliLedger {
		return []*cliLedger{{Asked: []*asked{{RequestID: "r", ToolUseID: "t", Withdrawn: true, WithdrawnAt: at(when)}}}}
	}
	applied, second := ack{Result: "applied"}, ack{Result: "already_resolved", Resolved: &resolved{Outcome: "answered", By: "a"}}
	never, late := ack{Result: "rejected", Code: "taken_back"}, ack{Result: "stale", Resolved: &resolved{Outcome: "withdrawn"}}
	denied := ack{Result: "already_resolved", Resolved: &resolved{Outcome: "denied", By: "b"}}
	for name, c := range map[string]struct {
		tabs    []*tabLedger
		clis    []*cliLedger
		isFault bool
	}{
		"one counts":                      {[]*tabLedger{tab("a", 1, 2, applied), tab("b", 1, 3, second)}, heard("a", 4), false},
		"no ack":                          {[]*tabLedger{tab("a", 1, 2), tab("b", 1, 3, second)}, heard("a", 4), false},
		"both count":                      {[]*tabLedger{tab("a", 1, 2, applied), tab("b", 1, 3, applied)}, heard("a", 4), true},
		"the CLI got the other one":       {[]*tabLedger{tab("a", 1, 2, applied), tab("b", 1, 3, second)}, heard("b", 4), true},
		"the CLI got it before":           {[]*tabLedger{tab("a", 5, 6, applied)}, heard("a", 4), true},
		"the later one is told second":    {[]*tabLedger{tab("a", 5, 6, applied), tab("b", 1, 3, second)}, heard("a", 7), true},
		"withdrawn":                       {[]*tabLedger{tab("a", 3, 4, late)}, withdrew(2), false},
		"told so before":                  {[]*tabLedger{tab("a", 3, 4, late)}, withdrew(5), true},
		"answered although withdrawn":     {[]*tabLedger{tab("a", 3, 4, late), tab("b", 6, 7, applied)}, withdrew(2), true},
		"held, then counts":               {[]*tabLedger{held(tab("a", 1, 4, applied)), tab("b", 2, 5, second)}, heard("a", 5), false},
		"held, and undone":                {[]*tabLedger{held(tab("a", 1, 4, never), 2, 3)}, nil, false},
		"undone, and counts":              {[]*tabLedger{held(tab("a", 1, 6, applied), 2, 3)}, heard("a", 7), true},
		"undone, and received":            {[]*tabLedger{held(tab("a", 1, 4, never), 2, 3)}, heard("a", 7), true},
		"another one counts after undo":   {[]*tabLedger{held(tab("b", 1, 4, never), 2, 3), tab("a", 2, 5, applied)}, heard("a", 7), false},
		"a denial ends what is held":      {[]*tabLedger{held(tab("a", 1, 4, denied)), denial(tab("b", 2, 3, applied))}, nil, false},
		"undone, before it was sent":      {[]*tabLedger{held(tab("a", 4, 5, never), 2, 3)}, nil, true},
		"a form goes once it is answered": {[]*tabLedger{gone(tab("a", 1, 4, applied), 3)}, heard("a", 5), false},
		"a form goes before":              {[]*tabLedger{gone(tab("a", 4, 5, applied), 3)}, heard("a", 6), true},
	} {
		if n, faults := history(ledgers{Tabs: c.tabs, CLIs: c.clis}); n != 1 || (len(faults) > 0) != c.isFault {
			t.Errorf("%s: %d checked, faults %v", name, n, faults)
		}
	}
}
