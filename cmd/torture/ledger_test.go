package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	first, second = "session-1", "session-2"
	ada, grace    = "tab-1", "tab-2"
)

func input(command string) json.RawMessage { return encode(map[string]string{"command": command}) }

// plant is a pair of sessions in which all is well: request 1 was allowed by Ada
// and then denied by Grace, request 2 the other way round, request 3 was
// withdrawn before Ada answered, and request 4, of the other session, was
// answered by Grace alone.
func plant() ledgers {
	won := func(words string) *sentAnswer {
		return &sentAnswer{answer: answer{Expected: words}, Acks: []ack{{Result: "applied"}}}
	}
	lostTo := func(words, by, outcome string) *sentAnswer {
		return &sentAnswer{answer: answer{Expected: words}, Acks: []ack{{Result: "already_resolved", Resolved: &resolved{Outcome: outcome, By: by}}}}
	}
	l := ledgers{
		Tabs: []*tabLedger{
			{Name: ada, Shown: map[string]shown{}, Sent: map[string]*sentAnswer{
				"r1": won("allow " + canonical(input("c1"))),
				"r2": lostTo("deny ada 2", grace, "denied"),
				"r3": {answer: answer{Expected: "deny ada 3"}, Acks: []ack{{Result: "stale", Resolved: &resolved{Outcome: "withdrawn"}}}},
			}},
			{Name: grace, Shown: map[string]shown{}, Sent: map[string]*sentAnswer{
				"r1": lostTo("deny grace 1", ada, "answered"),
				"r2": won("deny grace 2"),
				"r4": won("deny grace 4"),
			}},
		},
		Rows:    map[string]row{"r1": {"answered", ada}, "r2": {"denied", grace}, "r3": {"withdrawn", ""}, "r4": {"denied", grace}},
		Items:   map[string][]row{"r1": {{"answered", ada}}, "r2": {{"denied", grace}}, "r3": {{"withdrawn", ""}}, "r4": {{"denied", grace}}},
		Pending: map[string]bool{},
		Texts:   map[string][]string{first: {"a", "b"}, second: {"c"}},
		CLIs: []*cliLedger{
			{SessionID: first, PID: 1, Users: []string{"m1", "m2"}, Said: []string{"a", "b"}, Asked: []*asked{
				{SessionID: first, RequestID: "c1", ToolUseID: "t1", Input: input("c1")},
				{SessionID: first, RequestID: "c2", ToolUseID: "t2", Input: input("c2")},
				{SessionID: first, RequestID: "c3", ToolUseID: "t3", Input: input("c3"), Withdrawn: true},
			}, Received: []received{
				{RequestID: "c1", ToolUseID: "t1", Answer: "allow " + canonical(input("c1")), Known: true},
				{RequestID: "c2", ToolUseID: "t2", Answer: "deny grace 2", Known: true},
			}},
			{SessionID: second, PID: 2, Users: []string{"m3"}, Said: []string{"c"}, Asked: []*asked{
				{SessionID: second, RequestID: "c4", ToolUseID: "t4", Input: input("c4")},
			}, Received: []received{{RequestID: "c4", ToolUseID: "t4", Answer: "deny grace 4", Known: true}}},
		},
		Messages: map[string][]string{first: {"m1", "m2"}, second: {"m3"}},
	}
	for _, t := range l.Tabs {
		for n, session := range []string{first, first, first, second} {
			digit := string(rune('1' + n))
			t.Shown["r"+digit] = shown{session, form{RequestID: "r" + digit, ToolUseID: "t" + digit, ToolInput: input("c" + digit)}}
		}
		for id, g := range t.Sent {
			g.RequestID, g.ToolUseID, g.SessionID = id, "t"+id[1:], t.Shown[id].SessionID
		}
	}
	return l
}

func TestConsistentLedgers(t *testing.T) {
	t.Parallel()
	faults, sum := compare(plant())
	for _, f := range faults {
		t.Errorf("%s: %s: %s", f.Kind, f.ID, f.Message)
	}
	if sum.Asked != 4 || sum.Raced != 2 || sum.Withdrawn != 1 || sum.WithdrawnLate != 0 || sum.Wins[ada] != 1 || sum.Wins[grace] != 2 || sum.Texts != 3 {
		t.Errorf("got %+v", sum)
	}
}

// If the CLI withdraws a request at the same moment, it may receive the answer or not.
func TestAnswerThatMeetsAWithdrawalIsNoFault(t *testing.T) {
	t.Parallel()
	l := plant()
	l.Tabs[0].Sent["r3"].Acks = []ack{{Result: "applied"}}
	l.Rows["r3"], l.Items["r3"] = row{"denied", ada}, []row{{"denied", ada}}
	if faults, sum := compare(l); len(faults) > 0 || sum.WithdrawnLate != 1 {
		t.Errorf("not received: got %v, %+v", faults, sum)
	}
	l.CLIs[0].Received = append(l.CLIs[0].Received, received{RequestID: "c3", ToolUseID: "t3", Answer: "deny ada 3"})
	if faults, sum := compare(l); len(faults) > 0 || sum.WithdrawnLate != 0 {
		t.Errorf("received: got %v, %+v", faults, sum)
	}
}

// An approval that was held ends when somebody else denies.
func TestADenialEndsWhatIsHeld(t *testing.T) {
	t.Parallel()
	l := plant()
	g := l.Tabs[0].Sent["r2"]
	g.Hold, g.Held, g.Expected = time.Second, true, "allow "+canonical(input("c2"))
	if faults, _ := compare(l); len(faults) > 0 {
		t.Errorf("got %v", faults)
	}
}

// takenBack adds to what was planted an answer of Ada to request 4 that was held and
// that she took back before Grace answered.
func takenBack(l *ledgers) *sentAnswer {
	g := &sentAnswer{
		answer: answer{Expected: "deny ada 4"}, SessionID: second, RequestID: "r4", ToolUseID: "t4",
		Hold: time.Second, Held: true, Undos: 1, Undone: true, Acks: []ack{{Result: "rejected", Code: "taken_back"}},
	}
	l.Tabs[0].Sent["r4"] = g
	return g
}

// What was held ends in one of four ways, and none of them is a fault.
func TestConsistentLedgersWithHeldAnswers(t *testing.T) {
	t.Parallel()
	fits := func(l ledgers, want holds) {
		t.Helper()
		faults, sum := compare(l)
		for _, f := range faults {
			t.Errorf("%s: %s: %s", f.Kind, f.ID, f.Message)
		}
		if sum.Holds != want {
			t.Errorf("got %+v, want %+v", sum.Holds, want)
		}
	}
	l := plant()
	l.Tabs[0].RefusedWhileHeld, l.Tabs[1].RefusedWhileHeld = 1, 2
	for _, g := range []*sentAnswer{l.Tabs[0].Sent["r1"], l.Tabs[0].Sent["r3"]} { // one counts, the other was withdrawn
		g.Hold, g.Held = time.Second, true
	}
	l.Tabs[0].Sent["r2"].Hold = time.Second // Grace was first
	g := takenBack(&l)
	g.Undos = 2
	fits(l, holds{Asked: 4, Acked: 3, Counted: 1, Undone: 1, Withdrawn: 1, Late: 1, Undos: 2, FailedUndos: 1, Refused: 3})

	// The same command again, after Grace answered.
	g.Acks = append(g.Acks, ack{Result: "already_resolved", Resolved: &resolved{Outcome: "denied", By: grace}})
	fits(l, holds{Asked: 4, Acked: 3, Counted: 1, Undone: 1, Withdrawn: 1, Late: 1, Undos: 2, FailedUndos: 1, Refused: 3})

	// Whose undo was acked and whose answer was not before Grace's counted.
	g.Acks = g.Acks[1:]
	fits(l, holds{Asked: 4, Acked: 3, Counted: 1, Undone: 1, Withdrawn: 1, Late: 1, Undos: 2, FailedUndos: 1, Refused: 3})
}

// Each planted fault must be found, and named with the right kind and id.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, planted := range []struct {
		name string
		do   func(*ledgers)
		kind string
		id   string
		says string // part of the sentence
	}{
		{"an answer that is received twice", func(l *ledgers) {
			l.CLIs[0].Received = append(l.CLIs[0].Received, l.CLIs[0].Received[0])
		}, answeredTwice, "r1", "received 2 answers"},
		{"the loser's answer is received as well", func(l *ledgers) {
			l.CLIs[0].Received = append(l.CLIs[0].Received, received{RequestID: "c1", ToolUseID: "t1", Answer: "deny grace 1"})
		}, answeredTwice, "r1", "deny grace 1"},
		{"one request shown under two ids", func(l *ledgers) {
			l.Tabs[0].Shown["r9"] = l.Tabs[0].Shown["r4"]
		}, answeredTwice, "t4", "under 2 ids"},
		{"a request that nobody was shown", func(l *ledgers) {
			l.CLIs[1].Asked = append(l.CLIs[1].Asked, &asked{SessionID: second, RequestID: "c5", ToolUseID: "t5", Input: input("c5")})
		}, lostRequests, "t5", "no tab was ever shown it"},
		{"a request that was shown and vanished", func(l *ledgers) {
			delete(l.Tabs[1].Sent, "r4")
			l.CLIs[1].Received = nil
			l.Rows["r4"], l.Items["r4"] = row{"withdrawn", ""}, []row{{"withdrawn", ""}}
		}, lostRequests, "r4", "no tab answered"},
		{"a request that can still be answered", func(l *ledgers) {
			delete(l.Tabs[1].Sent, "r4")
			l.CLIs[1].Received, l.Pending["r4"] = nil, true
		}, contradictoryRows, "r4", "can still be answered"},
		{"an answer that was applied and is not received", func(l *ledgers) {
			l.CLIs[1].Received = nil
		}, undelivered, "r4", "never received it"},
		{"an answer at another request of the CLI", func(l *ledgers) {
			l.CLIs[0].Received[1] = received{RequestID: "c2", ToolUseID: "t2", Answer: l.CLIs[0].Received[0].Answer}
		}, misrouted, "r2", "of tab-1 to r1"},
		{"answers of two requests exchanged", func(l *ledgers) {
			a, b := &l.CLIs[0].Received[0], &l.CLIs[0].Received[1]
			a.Answer, b.Answer = b.Answer, a.Answer
		}, misrouted, "r1", "of tab-2 to r2"},
		{"an answer at another session", func(l *ledgers) {
			l.CLIs[0].Received = append(l.CLIs[0].Received, l.CLIs[1].Received...)
			l.CLIs[1].Received = nil
		}, misrouted, "c4", "a request that session-2 asked"},
		{"an answer to a request that nobody asked", func(l *ledgers) {
			l.CLIs[1].Received = append(l.CLIs[1].Received, received{RequestID: "c8", ToolUseID: "t8", Answer: "deny x"})
		}, misrouted, "c8", "that nobody asked"},
		{"an answer under another tool use", func(l *ledgers) {
			l.CLIs[0].Received[0].ToolUseID = "t2"
		}, misrouted, "r1", `names the tool use "t2"`},
		{"a request shown in another session", func(l *ledgers) {
			s := l.Tabs[0].Shown["r4"]
			s.SessionID = first
			l.Tabs[0].Shown["r4"] = s
		}, misrouted, "r4", "session"},
		{"a request shown with another input", func(l *ledgers) {
			for _, tab := range l.Tabs {
				s := tab.Shown["r4"]
				s.ToolInput = input("c1")
				tab.Shown["r4"] = s
			}
		}, misrouted, "r4", "other input"},
		{"a request shown that nobody asked", func(l *ledgers) {
			l.Tabs[1].Shown["r9"] = shown{first, form{RequestID: "r9", ToolUseID: "t9"}}
		}, misrouted, "r9", "that no CLI asked"},
		{"the loser's answer is received", func(l *ledgers) {
			l.CLIs[0].Received[0].Answer = "deny grace 1"
		}, wrongAnswer, "r1", "another tab's answer"},
		{"an answer that was changed on its way", func(l *ledgers) {
			l.CLIs[0].Received[1].Answer = "deny grace 22"
		}, wrongAnswer, "r2", `received "deny grace 22"`},
		{"an answer that nobody sent", func(l *ledgers) {
			delete(l.Tabs[1].Sent, "r4")
		}, wrongAnswer, "r4", "nobody sent"},
		{"two acks applied", func(l *ledgers) {
			l.Tabs[1].Sent["r1"].Acks = []ack{{Result: "applied"}}
		}, twoWinners, "r1", "tab-1 and tab-2"},
		{"an answer that was undone and is received", func(l *ledgers) {
			takenBack(l)
			l.CLIs[1].Received[0].Answer = "deny ada 4"
		}, undoneAnswers, "r4", "deny ada 4"},
		{"an answer that was undone, without the ack of the undo, and is received", func(l *ledgers) {
			takenBack(l).Undone = false
			l.CLIs[1].Received[0].Answer = "deny ada 4"
		}, undoneAnswers, "r4", "deny ada 4"},
		{"an answer that is received beside the one that was undone", func(l *ledgers) {
			takenBack(l)
			l.CLIs[1].Received = append(l.CLIs[1].Received, received{RequestID: "c4", ToolUseID: "t4", Answer: "deny ada 4"})
		}, undoneAnswers, "r4", "deny ada 4"},
		{"an answer that was undone and counts", func(l *ledgers) {
			takenBack(l).Acks = []ack{{Result: "applied"}}
		}, undoneAnswers, "r4", "for its undo"},
		{"an answer said to be undone by nobody", func(l *ledgers) {
			g := takenBack(l)
			g.Undos, g.Undone = 0, false
		}, contradictoryAcks, "r4", "taken_back"},
		{"an answer that was undone and counts later", func(l *ledgers) {
			g := takenBack(l)
			g.Acks = append(g.Acks, ack{Result: "applied"})
		}, contradictoryAcks, "r4", "sending again"},
		{"an answer that was undone, and nobody's came after", func(l *ledgers) {
			takenBack(l)
			delete(l.Tabs[1].Sent, "r4")
			l.CLIs[1].Received = nil
		}, lostRequests, "r4", "nobody can answer it"},
		{"a held answer that another's overtook", func(l *ledgers) {
			g := l.Tabs[0].Sent["r2"]
			g.Hold, g.Held = time.Second, true
		}, contradictoryAcks, "r2", "never undid it"},
		{"a held answer that counts and is not received", func(l *ledgers) {
			g := l.Tabs[1].Sent["r4"]
			g.Hold, g.Held = time.Second, true
			l.CLIs[1].Received = nil
		}, undelivered, "r4", "never received it"},
		{"a CLI whose input ended", func(l *ledgers) { l.CLIs[1].EOF = true }, endedSessions, second, "ended"},
		{"a CLI that exited", func(l *ledgers) { l.CLIs[0].Exit = true }, endedSessions, first, "ended"},
		{"a second CLI of a session", func(l *ledgers) {
			l.CLIs = append(l.CLIs, &cliLedger{SessionID: second, PID: 3})
		}, endedSessions, second, "second CLI"},
		{"a tab that was never acked", func(l *ledgers) {
			l.Tabs[1].Sent["r1"].Acks = nil
		}, contradictoryAcks, "r1", "never got an ack"},
		{"the winner told it lost", func(l *ledgers) {
			l.Tabs[1].Sent["r4"].Acks = []ack{{Result: "already_resolved", Resolved: &resolved{Outcome: "answered", By: ada}}}
		}, contradictoryAcks, "r4", "received the answer of tab-2"},
		{"a loser told of another winner", func(l *ledgers) {
			l.Tabs[1].Sent["r1"].Acks[0].Resolved.By = grace
		}, contradictoryAcks, "r1", "tab-1 got the ack applied"},
		{"a loser told of another outcome", func(l *ledgers) {
			l.Tabs[1].Sent["r1"].Acks[0].Resolved.Outcome = "denied"
		}, contradictoryAcks, "r1", "tab-1 got the ack applied"},
		{"an ack that changes", func(l *ledgers) {
			g := l.Tabs[1].Sent["r4"]
			g.Acks = append(g.Acks, ack{Result: "stale"})
		}, contradictoryAcks, "r4", "sending again"},
		{"a request called withdrawn that was not", func(l *ledgers) {
			l.CLIs[0].Asked[2].Withdrawn = false
		}, contradictoryAcks, "r3", "the CLI withdrew it: false"},
		{"an answer that was rejected", func(l *ledgers) {
			l.Tabs[0].Sent["r2"].Acks[0] = ack{Result: "rejected", Code: "invalid_answer"}
		}, contradictoryAcks, "r2", "invalid_answer"},
		{"a row that names the loser", func(l *ledgers) { l.Rows["r1"] = row{"denied", grace} }, contradictoryRows, "r1", "the server says"},
		{"a row that can still be resolved", func(l *ledgers) { l.Rows["r4"] = row{Outcome: "still open"} }, contradictoryRows, "r4", "still open"},
		{"a transcript without the end of a request", func(l *ledgers) { delete(l.Items, "r3") }, contradictoryRows, "r3", "does not say how it ended"},
		{"a transcript with two ends", func(l *ledgers) { l.Items["r2"] = append(l.Items["r2"], l.Items["r2"][0]) }, contradictoryRows, "r2", "2 times"},
		{"a transcript with another end", func(l *ledgers) { l.Items["r2"][0].By = ada }, contradictoryRows, "r2", "but it ended as"},
		{"a line of the CLI that is missing", func(l *ledgers) { l.Texts[first] = []string{"b"} }, transcriptLines, first, `the first is "a"`},
		{"a line of the CLI that is doubled", func(l *ledgers) { l.Texts[second] = []string{"c", "c"} }, transcriptLines, second, "2 times"},
		{"lines of the CLI exchanged", func(l *ledgers) { l.Texts[first] = []string{"b", "a"} }, transcriptLines, first, "another order"},
		{"a line that nobody said", func(l *ledgers) { l.Texts[second] = []string{"c", "x"} }, transcriptLines, second, "nobody sent"},
		{"a message that is lost", func(l *ledgers) { l.CLIs[0].Users = []string{"m1"} }, userMessages, first, `the first is "m2"`},
		{"a message that is received twice", func(l *ledgers) { l.CLIs[1].Users = []string{"m3", "m3"} }, userMessages, second, "2 times"},
		{"what a tab saw happen", func(l *ledgers) {
			l.Tabs[0].Faults = []fault{{Kind: otherFaults, ID: "r1", Message: "open again"}}
		}, otherFaults, "r1", "open again"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			t.Parallel()
			l := plant()
			planted.do(&l)
			faults, _ := compare(l)
			if !slices.ContainsFunc(faults, func(f fault) bool {
				return f.Kind == planted.kind && f.ID == planted.id && strings.Contains(f.Message, planted.says)
			}) {
				t.Errorf("got %q, want %q of %s with %q", faults, planted.kind, planted.id, planted.says)
			}
		})
	}
}
