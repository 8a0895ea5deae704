package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/anishathalye/porcupine"
)

// step is an operation on a request. Its output is what its caller learned, see [seen].
type step struct {
	kind   stepKind
	name   string // command of an answer
	by     string // tab
	denies bool
}

type stepKind string

const (
	answering   stepKind = "answering"   // counts at once
	holding     stepKind = "holding"     // is held, to count later unless it is undone
	counting    stepKind = "counting"    // a held answer counts now, which no caller sees
	undoing     stepKind = "undoing"     // of the answer that the tab holds
	withdrawing stepKind = "withdrawing" // by the CLI
	learning    stepKind = "learning"    // that the request ended, and perhaps how
)

// seen is the output of a step. Empty fields were not seen: without an ack, an operation may or may not
// have had an effect.
type seen struct {
	winner   string // command that won, or withdrawal
	by       string // tab whose answer won
	outcome  string
	expected string // answer that won, as a CLI receives it
	ended    bool   // the request is not open any more
	undone   bool   // the undo had an effect
	never    string // command that will never count, because it was undone
}

// withdrawal is the winner of a request that its CLI withdrew.
const withdrawal = "its CLI"

// request is the state of a request: the command that won, or the one that is held and by whom, and
// those that were undone, each between two spaces.
type request struct {
	winner, held, by string
	heldDenies       bool
	undone           string
}

// after returns the request after an operation, and whether an undo had an effect.
func (r request) after(s step) (next request, undone bool) {
	barred := r.held != "" && (r.heldDenies || !s.denies)
	switch {
	case s.kind == learning || r.winner != "" || s.name != "" && strings.Contains(r.undone, " "+s.name+" "):
	case s.kind == withdrawing:
		return request{winner: withdrawal, undone: r.undone}, false
	case s.kind == undoing && r.held != "" && r.by == s.by:
		return request{undone: r.undone + " " + r.held + " "}, true
	case s.kind == counting && r.held == s.name, s.kind == answering && !barred:
		return request{winner: s.name, undone: r.undone}, false
	case s.kind == holding && !barred:
		r.held, r.by, r.heldDenies = s.name, s.by, s.denies
	}
	return r, false
}

// requestModel returns the specification of a request: the first answer or withdrawal counts, and
// everybody learns of it. A held answer keeps other answers from counting, except that a denial ends a
// held approval. sent are the answers by their commands.
func requestModel(sent map[string]claim) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return request{} },
		Step: func(state, input, output any) (bool, any) {
			r, undone := state.(request).after(input.(step))
			o, winner := output.(seen), sent[state.(request).winner]
			if r.winner != "" {
				winner = sent[r.winner]
			}
			won := r.winner != "" && r.winner != withdrawal
			ok := (o.winner == "" || o.winner == r.winner) &&
				(o.by == "" || won && winner.tab == o.by && winner.outcome() == o.outcome) &&
				(o.expected == "" || won && winner.Expected == o.expected) &&
				(!o.ended || r.winner != "") && (!o.undone || undone) &&
				(o.never == "" || strings.Contains(r.undone, " "+o.never+" "))
			return ok, r
		},
	}
}

// history checks that the history of each request is linearizable: what tabs, the store and CLIs saw is
// possible if the operations happened one after the other, each answer between its sending and its ack.
// It returns how many requests it checked.
func history(l ledgers) (checked int, faults []fault) {
	sent := map[string]claim{}
	requests := map[string][]porcupine.Operation{} // by tool use
	client := 0
	add := func(id string, call, ret int64, in step, out seen) {
		client++ // operations of one tab overlap, too
		requests[id] = append(requests[id], porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: ret})
	}
	for _, t := range l.Tabs {
		for _, g := range t.Sent {
			sent[g.CommandID] = claim{g, t.Name}
			in := step{kind: answering, name: g.CommandID, by: t.Name, denies: strings.HasPrefix(g.Expected, "deny")}
			call, ret, out := g.SentAt.UnixNano(), int64(math.MaxInt64), seen{}
			if len(g.Acks) > 0 {
				ret, out = g.AckedAt.UnixNano(), seenIn(g)
			}
			if g.Hold == 0 {
				add(g.ToolUseID, call, ret, in, out)
				continue
			}
			// A denial may have replaced the held answer and been undone; then the answer was held again.
			in.kind = holding
			add(g.ToolUseID, call, ret, in, seen{})
			add(g.ToolUseID, call, ret, in, seen{})
			in.kind = counting
			add(g.ToolUseID, call, math.MaxInt64, in, seen{})
			add(g.ToolUseID, call, ret, step{kind: learning}, out)
		}
		for _, u := range t.Undos {
			ret, out := int64(math.MaxInt64), seen{undone: u.applied}
			if u.acked {
				ret = u.ackedAt.UnixNano()
			}
			add(u.of.ToolUseID, u.sentAt.UnixNano(), ret, step{kind: undoing, by: t.Name}, out)
		}
		for id, at := range t.Gone {
			s := t.Shown[id]
			add(s.ToolUseID, 0, at.UnixNano(), step{kind: learning}, seen{ended: true})
		}
		for id, s := range t.Shown {
			if r, ok := l.Rows[id]; ok && r.By != "" {
				add(s.ToolUseID, 0, math.MaxInt64, step{kind: learning}, seen{by: r.By, outcome: r.Outcome})
			}
		}
	}
	for _, cli := range l.CLIs {
		byID := map[string]string{}
		for _, a := range cli.Asked {
			byID[a.RequestID] = a.ToolUseID
			if a.Withdrawn {
				add(a.ToolUseID, a.WithdrawnAt.UnixNano(), math.MaxInt64, step{kind: withdrawing}, seen{})
			}
		}
		for _, r := range cli.Received {
			if id := byID[r.RequestID]; id != "" {
				add(id, 0, r.At.UnixNano(), step{kind: learning}, seen{expected: r.Answer})
			}
		}
	}
	for id, operations := range requests {
		if id == "" {
			continue // already faults
		}
		checked++
		if !porcupine.CheckOperations(requestModel(sent), operations) {
			faults = append(faults, fault{againstModel, id, fmt.Sprintf("no order explains what was seen: %+v", operations)})
		}
	}
	return checked, faults
}

// seenIn returns what the first ack of an answer shows.
func seenIn(g *sentAnswer) seen {
	switch a := g.Acks[0]; {
	case a.Result == "applied":
		return seen{winner: g.CommandID}
	case a.Code == "taken_back":
		return seen{never: g.CommandID}
	case a.Resolved != nil && a.Resolved.By != "":
		return seen{by: a.Resolved.By, outcome: a.Resolved.Outcome}
	case a.Resolved != nil && a.Resolved.Outcome == "withdrawn":
		return seen{winner: withdrawal}
	}
	return seen{}
}
