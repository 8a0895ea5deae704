package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// trail is what a database notes in which all is well: a drives the runner, asks and is answered by b;
// then b takes the runner and delivers.
func trail() []change {
	var all []change
	add := func(server, what, id, state, delivery string, number int64) *change {
		all = append(all, change{N: int64(len(all)), At: time.Unix(int64(len(all)), 0), Server: server, What: what, RunnerID: "r", ID: id, State: state, Delivery: delivery, Number: number})
		return &all[len(all)-1]
	}
	add("a", "lease", "r", "id-a", "", 10)
	add("a", "process", "s", "starting", "", 2)
	add("a", "process", "s", "assistant_turn", "", 3)
	add("a", "request", "q", "open", "", 0).Asked = "t"
	held := add("b", "request", "q", "open", "", 0)
	held.Asked, held.Held = "t", "c"
	add("b", "request", "q", "open", "", 0).Undone = " c "
	answered := add("b", "request", "q", "answered", "queued", 0)
	answered.Asked, answered.Answer, answered.By, answered.Undone = "t", "x", "ada", " c "
	add("a", "lease", "r", "", "", 10)
	add("b", "lease", "r", "id-b", "", 11)
	for _, delivery := range []string{"delivered", "consumed"} {
		c := add("b", "request", "q", "answered", delivery, 0)
		c.Asked, c.Answer, c.By, c.Undone = "t", "x", "ada", " c "
	}
	add("b", "process", "s", "user_turn", "", 4)
	return all
}

func TestReplay(t *testing.T) {
	t.Parallel()
	if steps, faults := replay(trail()); len(faults) > 0 || steps != len(trail()) {
		t.Errorf("%d steps, faults %v", steps, faults)
	}
	for _, c := range []struct {
		name string
		do   func([]change) []change
		says string
	}{
		{"a server that was replaced", func(all []change) []change { all[9].Server = "a"; return all }, "b has driven its runner"},
		{"a server that was replaced changes the process", func(all []change) []change { all[11].Server = "a"; return all }, "b has driven its runner"},
		{"nobody drives", func(all []change) []change { return slices.Delete(all, 8, 9) }, "no server drives"},
		{"an epoch twice", func(all []change) []change { all[8].Number = 10; return all }, "the epoch before was 10"},
		{"an epoch that goes back", func(all []change) []change { all[8].Number = 9; return all }, "the epoch before was 10"},
		{"a version that goes back", func(all []change) []change { all[11].Number = 3; return all }, "the version before was 3"},
		{"an illegal state", func(all []change) []change { all[2].State, all[11].State = "dead", "assistant_turn"; return all }, "the state before was dead"},
		{"a second answer", func(all []change) []change { all[9].Answer = "y"; return all }, "another answer"},
		{"an answer by somebody else", func(all []change) []change { all[10].By = "grace"; return all }, "another answer"},
		{"open again", func(all []change) []change { all[9].State, all[9].Delivery = "open", ""; return all }, "it was answered"},
		{"answered after it was withdrawn", func(all []change) []change {
			all[4].State, all[4].Held, all[4].Server, all[5].State, all[5].Undone, all[5].Server = "withdrawn", "", "a", "withdrawn", "", "a"
			return all
		}, "it was withdrawn"},
		{"delivered before it was answered", func(all []change) []change { all[4].Delivery = "delivered"; return all }, "its delivery was"},
		{"a delivery that goes back", func(all []change) []change { all[10].Delivery = "queued"; return all }, "its delivery was delivered"},
		{"an undone answer that is held again", func(all []change) []change {
			all[5].Held = "c"
			return all
		}, "what is held was undone"},
		{"an undo that is forgotten", func(all []change) []change { all[6].Undone = ""; return all }, "what was undone is forgotten"},
	} {
		_, faults := replay(c.do(trail()))
		if !slices.ContainsFunc(faults, func(f fault) bool { return strings.Contains(f.Message, c.says) }) {
			t.Errorf("%s: got %v, want one that says %q", c.name, faults, c.says)
		}
	}
}

func TestReplayOfJournals(t *testing.T) {
	t.Parallel()
	plant := func() ledgers {
		return ledgers{
			Trail: trail(),
			CLIs: []*cliLedger{{SessionID: "s", PID: 7, Printed: []string{"said a", "asked q", "said b"}, Lines: 2,
				Asked: []*asked{{RequestID: "q", ToolUseID: "t"}}, Received: []received{{RequestID: "q", At: time.Unix(8, 0)}}}},
			Journals: []journal{{SessionID: "s", RunnerID: "r", CLI: 7, Printed: []string{"said a", "asked q", "said b"}, Lines: 2, Epoch: 11}},
		}
	}
	if lines, faults := replayJournals(plant()); len(faults) > 0 || lines != 5 {
		t.Errorf("%d lines, faults %v", lines, faults)
	}
	for _, c := range []struct {
		says string
		do   func(*ledgers)
	}{
		{"cannot be read", func(l *ledgers) { l.Journals = nil }},
		{"every CLI lives", func(l *ledgers) { l.Trail[4].State = "orphaned" }},
		{"at entry 1", func(l *ledgers) { l.Journals[0].Printed[1] = "asked x" }},
		{"at entry 2: 2 and 3", func(l *ledgers) { l.Journals[0].Printed = l.Journals[0].Printed[:2] }},
		{"read 3 lines, but", func(l *ledgers) { l.CLIs[0].Lines = 3 }},
		{"no lease has one above 11", func(l *ledgers) { l.Journals[0].Epoch = 12 }},
		{"before it was stored", func(l *ledgers) { l.CLIs[0].Received[0].At = time.Unix(5, 0) }},
		{"before it was stored", func(l *ledgers) { l.Trail = l.Trail[:5] }},
	} {
		l := plant()
		c.do(&l)
		if _, faults := replayJournals(l); !slices.ContainsFunc(faults, func(f fault) bool { return strings.Contains(f.Message, c.says) }) {
			t.Errorf("got %v, want one that says %q", faults, c.says)
		}
	}
}
