package main

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds of faults, in the order of the report.
const (
	lostRequests      = "lost"                       // asked, but neither answered, withdrawn nor answerable
	answeredTwice     = "answered twice"             // the CLI received two answers to one request
	misrouted         = "misrouted"                  // an answer reached another request or session
	wrongAnswer       = "other answer"               // the CLI did not receive the answer that was acked as applied
	twoWinners        = "two winners"                // two answers were acked as applied
	undelivered       = "applied but never received" // acked as applied, but the CLI received nothing
	undoneAnswers     = "undone but delivered"       // an undo was acked, but the answer counted or was received
	endedSessions     = "sessions ended"             // although only the server was killed
	failedStarts      = "failed starts"              // of the server, after a kill
	transcriptLines   = "transcript lines"           // of the CLI, missing, doubled or out of order
	userMessages      = "messages to the CLI"        // lost, doubled or out of order
	contradictoryAcks = "contradictory acks"         // an ack is missing, changes, or does not fit the end of the request
	contradictoryRows = "contradictory rows"         // the outcome at the server does not match
	leftBehind        = "processes left behind"      // after every session was ended
	otherFaults       = "other faults"               // everything else
	missedLimits      = "missed a time limit"        // of R2 or R23
	growth            = "grows with time"            // in a soak
	disturbed         = "other sessions disturbed"   // of R23
	againstModel      = "against the model"          // no order explains what was seen, or a change is no step
)

var kinds = []string{lostRequests, answeredTwice, misrouted, wrongAnswer, twoWinners, undelivered, undoneAnswers, endedSessions, failedStarts, transcriptLines, userMessages, contradictoryAcks, contradictoryRows, leftBehind, missedLimits, growth, disturbed, againstModel, otherFaults}

// fault is a violation of what the run proves.
type fault struct {
	Kind    string
	ID      string // of the request or session
	Message string
}

// row is how a request ended, according to the server.
type row struct {
	Outcome string
	By      string
}

// ledgers are the records of one run by the tabs, the server and the CLIs.
type ledgers struct {
	Tabs []*tabLedger // requests shown, answers sent, acks received
	// Of the server: the resolved requests in the transcripts, the result of another answer
	// to each, what can still be answered, and the texts in the transcripts.
	Items   map[string][]row // by request id
	Rows    map[string]row   // by request id; of each that a tab showed
	Pending map[string]bool  // request ids
	Texts   map[string][]string
	CLIs    []*cliLedger      // requests asked, answers received
	States  map[string]string // of the sessions, for messages
	// Messages are the titles of the messages sent to each session.
	Messages map[string][]string
	// Of a run with runners: the journals of their shims and, with PostgreSQL, the changes of the database.
	Journals []journal
	Trail    []change
}

// tally counts what the ledgers contain.
type tally struct {
	Asked, Withdrawn, Raced int
	WithdrawnLate           int // applied after the CLI had withdrawn the request
	Wins                    map[string]int
	Texts                   int
	Holds                   holds
}

// holds counts the answers that were sent to be held.
type holds struct {
	Asked, Acked                     int // sent, and acked as held
	Counted, Undone, Withdrawn, Late int // applied, undone, withdrawn by the CLI, later than another answer
	Undos, FailedUndos               int // undo commands, and those without effect
	Refused                          int // answers refused while another one was held
}

// compare compares the ledgers and returns every contradiction.
func compare(l ledgers) ([]fault, tally) {
	c := comparison{ledgers: l, tally: tally{Wins: map[string]int{}},
		asked: map[string]*asked{}, received: map[*asked][]received{}, ended: map[string]bool{},
		sent: map[string][]claim{}, expected: map[string][]claim{}, ids: map[string][]string{}}
	for _, t := range l.Tabs {
		c.tally.Holds.Refused += t.RefusedWhileHeld
		c.faults = append(c.faults, t.Faults...)
	}
	c.readCLIs()
	c.readTabs()
	for _, cli := range l.CLIs {
		for _, a := range cli.Asked {
			c.request(a)
		}
	}
	for id := range l.Pending {
		c.addFault(contradictoryRows, id, "the request can still be answered after all was settled")
	}
	c.lines()
	return c.faults, c.tally
}

// claim is an answer and its tab.
type claim struct {
	*sentAnswer
	tab string
}

// firstAck returns the first ack of the answer, for messages.
func (c claim) firstAck() string {
	if len(c.Acks) == 0 {
		return "nothing"
	}
	return c.Acks[0].String()
}

func (c claim) won() bool { return len(c.Acks) > 0 && c.Acks[0].Result == "applied" }

type comparison struct {
	ledgers
	faults   []fault
	tally    tally
	asked    map[string]*asked     // by tool use id
	received map[*asked][]received // answers that the CLI received with the request's id
	ended    map[string]bool       // sessions whose CLI ended
	sent     map[string][]claim    // by tool use id
	expected map[string][]claim    // by the canonical answer that the CLI would receive
	ids      map[string][]string   // request ids by tool use id
}

func (c *comparison) addFault(kind, id, format string, args ...any) {
	c.faults = append(c.faults, fault{Kind: kind, ID: id, Message: fmt.Sprintf(format, args...)})
}

func (c *comparison) readCLIs() {
	owner := map[string]string{} // session by the CLI's request id
	processes := map[string]int{}
	for _, cli := range c.CLIs {
		if processes[cli.SessionID]++; processes[cli.SessionID] == 2 {
			c.addFault(endedSessions, cli.SessionID, "the session has a second CLI")
		}
		if cli.EOF || cli.Exit {
			c.ended[cli.SessionID] = true
			c.addFault(endedSessions, cli.SessionID, "the CLI of the session ended (process %d)", cli.PID)
		}
		for _, a := range cli.Asked {
			c.tally.Asked++
			owner[a.RequestID] = a.SessionID
			c.asked[a.ToolUseID] = a
		}
	}
	for _, cli := range c.CLIs {
		own := map[string]*asked{}
		for _, a := range cli.Asked {
			own[a.RequestID] = a
		}
		for _, h := range cli.Received {
			a := own[h.RequestID]
			if a == nil {
				whose := owner[h.RequestID]
				if whose == "" {
					whose = "nobody"
				}
				c.addFault(misrouted, h.RequestID, "the CLI of session %s received an answer to a request that %s asked: %s", cli.SessionID, whose, h.Answer)
				continue
			}
			c.received[a] = append(c.received[a], h)
		}
	}
}

func (c *comparison) readTabs() {
	seen := map[string]shown{}
	for _, t := range c.Tabs {
		for id, s := range t.Shown {
			first, again := seen[id]
			if again {
				if first.ToolUseID != s.ToolUseID || first.SessionID != s.SessionID {
					c.addFault(misrouted, id, "two tabs were shown different requests under this id")
				}
				continue
			}
			seen[id] = s
			c.ids[s.ToolUseID] = append(c.ids[s.ToolUseID], id)
			switch a := c.asked[s.ToolUseID]; {
			case a == nil:
				c.addFault(misrouted, id, "%s was shown a request that no CLI asked (%s)", t.Name, s.ToolUseID)
			case a.SessionID != s.SessionID:
				c.addFault(misrouted, id, "%s was shown the request in session %s, but session %s asked it", t.Name, s.SessionID, a.SessionID)
			case canonical(a.Input) != canonical(s.ToolInput):
				c.addFault(misrouted, id, "%s was shown other input than the CLI asked with", t.Name)
			}
		}
		for _, g := range t.Sent {
			m := claim{g, t.Name}
			c.sent[g.ToolUseID] = append(c.sent[g.ToolUseID], m)
			c.expected[g.Expected] = append(c.expected[g.Expected], m)
		}
	}
}

// request checks everything known about one request.
func (c *comparison) request(a *asked) {
	id := a.ToolUseID
	if ids := c.ids[id]; len(ids) > 1 {
		c.addFault(answeredTwice, id, "one request of the CLI was shown under %d ids: %s", len(ids), strings.Join(ids, ", "))
	} else if len(ids) == 1 {
		id = ids[0]
	}
	claims, answers := c.sent[a.ToolUseID], c.received[a]
	var winners []claim
	for _, m := range claims {
		if m.won() {
			winners = append(winners, m)
			c.tally.Wins[m.tab]++
		}
		c.count(m)
	}
	if slices.ContainsFunc(claims, func(m claim) bool { return m.tab != claims[0].tab }) {
		c.tally.Raced++
	}
	if a.Withdrawn {
		c.tally.Withdrawn++
	}
	if len(winners) > 1 {
		c.addFault(twoWinners, id, "%s and %s were both acked as applied", winners[0].tab, winners[1].tab)
	}
	if len(answers) > 1 {
		c.addFault(answeredTwice, id, "the CLI received %d answers: %s; %s", len(answers), answers[0].Answer, answers[1].Answer)
	}
	for _, h := range answers {
		c.answer(id, a, h, claims, winners)
	}
	visible := slices.ContainsFunc(c.ids[a.ToolUseID], func(id string) bool { return c.Pending[id] })
	switch {
	case len(answers) > 0 || visible:
	case a.Withdrawn && len(winners) > 0:
		c.tally.WithdrawnLate++
	case a.Withdrawn:
	case len(winners) > 0:
		c.addFault(undelivered, id, "%s was acked as applied, but the CLI of session %s never received it", winners[0].tab, a.SessionID)
	default:
		c.addFault(lostRequests, id, "session %s asked it (%s), nobody's answer reached its CLI, and nobody can answer it%s", a.SessionID, a.ToolUseID, c.known(a))
	}
	for _, m := range claims {
		c.acks(id, a, m, winners)
	}
	for _, id := range c.ids[a.ToolUseID] {
		c.row(id, a, winners)
	}
}

// known describes who knows of a lost request.
func (c *comparison) known(a *asked) string {
	switch {
	case c.ended[a.SessionID]:
		return "; its CLI ended"
	case len(c.ids[a.ToolUseID]) == 0:
		return "; no tab was ever shown it"
	case len(c.sent[a.ToolUseID]) == 0:
		return "; it was shown, and no tab answered"
	}
	m := c.sent[a.ToolUseID][0]
	return "; " + m.tab + " answered and got the ack " + m.firstAck()
}

// answer checks one answer that a CLI received.
func (c *comparison) answer(id string, a *asked, h received, claims, winners []claim) {
	if h.ToolUseID != a.ToolUseID {
		c.addFault(misrouted, id, "the answer that the CLI received names the tool use %q, not %s", h.ToolUseID, a.ToolUseID)
	}
	same := func(m claim) bool { return m.Expected == h.Answer }
	switch {
	case slices.ContainsFunc(winners, same):
	case slices.ContainsFunc(claims, func(m claim) bool { return same(m) && m.wasUndone() }):
		c.addFault(undoneAnswers, id, "the CLI received an undone answer: %s", h.Answer)
	case slices.ContainsFunc(claims, same) && len(winners) > 0:
		c.addFault(wrongAnswer, id, "%s was acked as applied, but the CLI received another tab's answer: %s", winners[0].tab, h.Answer)
	case slices.ContainsFunc(claims, same):
		m := claims[slices.IndexFunc(claims, same)]
		c.addFault(contradictoryAcks, id, "the CLI received the answer of %s, whose ack was %s", m.tab, m.firstAck())
	case len(c.expected[h.Answer]) > 0:
		m := c.expected[h.Answer][0]
		c.addFault(misrouted, id, "the CLI received the answer of %s to %s", m.tab, m.RequestID)
	case len(winners) > 0:
		c.addFault(wrongAnswer, id, "%s was acked as applied for %q, but the CLI received %q", winners[0].tab, winners[0].Expected, h.Answer)
	default:
		c.addFault(wrongAnswer, id, "the CLI received an answer that nobody sent: %s", h.Answer)
	}
}

// acks checks the acks of an answer.
func (c *comparison) acks(id string, a *asked, m claim, winners []claim) {
	if len(m.Acks) == 0 {
		c.addFault(contradictoryAcks, id, "%s answered and never got an ack", m.tab)
		return
	}
	for _, again := range m.Acks[1:] {
		// Once the request has ended, an undone answer gets the outcome.
		over := m.Acks[0].Code == "taken_back" && (again.Result == "already_resolved" || again.Result == "stale")
		if again.String() != m.Acks[0].String() && !over {
			c.addFault(contradictoryAcks, id, "%s got the ack %q and, sending again, %q", m.tab, m.Acks[0], again)
			break
		}
	}
	first := m.Acks[0]
	// Only a denial ends a held approval.
	denied := strings.HasPrefix(m.Expected, "allow ") && first.Resolved != nil && first.Resolved.Outcome == "denied"
	if m.Held && m.Undos == 0 && first.Result == "already_resolved" && !denied {
		c.addFault(contradictoryAcks, id, "%s got an ack for a held answer, never undid it, and got the ack %q", m.tab, first)
	}
	switch first.Result {
	case "applied":
		if m.Undone {
			c.addFault(undoneAnswers, id, "%s got an ack for its undo, and the ack %q", m.tab, first)
		}
	case "already_resolved":
		if len(winners) == 0 {
			c.addFault(contradictoryAcks, id, "%s got the ack %q, but nobody got the ack applied", m.tab, first)
		} else if first.Resolved == nil || first.Resolved.By != winners[0].tab || first.Resolved.Outcome != winners[0].outcome() {
			c.addFault(contradictoryAcks, id, "%s got the ack %q, but %s got the ack applied for %q", m.tab, first, winners[0].tab, winners[0].Expected)
		}
	case "stale":
		if !a.Withdrawn || first.Resolved == nil || first.Resolved.Outcome != "withdrawn" {
			c.addFault(contradictoryAcks, id, "%s got the ack %q; the CLI withdrew it: %t", m.tab, first, a.Withdrawn)
		}
	default:
		if first.Code != "taken_back" || m.Undos == 0 {
			c.addFault(contradictoryAcks, id, "%s got the ack %q", m.tab, first)
		}
	}
}

// count adds an answer to the counts of held answers.
func (c *comparison) count(m claim) {
	if m.Hold == 0 {
		return
	}
	sum := &c.tally.Holds
	sum.Asked++
	sum.Undos += m.Undos
	if m.Held {
		sum.Acked++
	}
	sum.FailedUndos += m.Undos
	switch {
	case m.wasUndone():
		sum.Undone++
		sum.FailedUndos-- // even if the ack of that undo was lost
	case m.won():
		sum.Counted++
	case len(m.Acks) > 0 && m.Acks[0].Result == "stale":
		sum.Withdrawn++
	default:
		sum.Late++
	}
}

// outcome returns the outcome of a request that this answer resolves.
func (c claim) outcome() string {
	if strings.HasPrefix(c.Expected, "deny") {
		return "denied"
	}
	return "answered"
}

// row checks the outcome at the server.
func (c *comparison) row(id string, a *asked, winners []claim) {
	if c.Pending[id] {
		return // already a fault
	}
	want := row{Outcome: "withdrawn"}
	if len(winners) > 0 {
		want = row{Outcome: winners[0].outcome(), By: winners[0].tab}
	} else if !a.Withdrawn {
		return // lost or ended, and already a fault
	}
	if got := c.Rows[id]; got != want {
		c.addFault(contradictoryRows, id, "the server says %+v, but it ended as %+v", got, want)
	}
	switch items := c.Items[id]; {
	case len(items) == 0:
		c.addFault(contradictoryRows, id, "the transcript of session %s does not say how it ended", a.SessionID)
	case len(items) > 1:
		c.addFault(contradictoryRows, id, "the transcript of session %s says %d times how it ended", a.SessionID, len(items))
	case items[0] != want:
		c.addFault(contradictoryRows, id, "the transcript of session %s says %+v, but it ended as %+v", a.SessionID, items[0], want)
	}
}

// lines checks the messages to the CLIs and the texts from them.
func (c *comparison) lines() {
	texts, users := map[string][]string{}, map[string][]string{}
	for _, cli := range c.CLIs {
		texts[cli.SessionID] = append(texts[cli.SessionID], cli.Said...)
		users[cli.SessionID] = append(users[cli.SessionID], cli.Users...)
		c.tally.Texts += len(cli.Said)
	}
	for id, messages := range c.Messages {
		c.reportDifferences(userMessages, id, "message", messages, users[id])
		c.reportDifferences(transcriptLines, id, "line", texts[id], c.Texts[id])
	}
}

// reportDifferences adds a fault for each difference between two lists.
func (c *comparison) reportDifferences(kind, id, what string, want, got []string) {
	counts := map[string]int{}
	for _, s := range got {
		counts[s]++
	}
	whole := len(want) == len(got)
	var missing []string
	for _, s := range want {
		switch n := counts[s]; n {
		case 0:
			missing = append(missing, s)
			whole = false
		case 1:
		default:
			c.addFault(kind, id, "the %s %q arrived %d times", what, s, n)
			whole = false
		}
		delete(counts, s)
	}
	if len(missing) > 0 {
		c.addFault(kind, id, "%d %ss never arrived, the first is %q; the session is in %s", len(missing), what, missing[0], c.States[id])
	}
	for s := range counts {
		c.addFault(kind, id, "the %s %q arrived, which nobody sent", what, s)
		whole = false
	}
	if whole && !slices.Equal(want, got) {
		c.addFault(kind, id, "the %ss arrived in another order than they were sent", what)
	}
}
