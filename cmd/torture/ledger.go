package main

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds of faults, in the order in which they are shown.
const (
	lost        = "lost"                         // asked, never answered nor withdrawn, and nobody can answer it
	twice       = "answered twice"               // the CLI heard two answers to one request
	misrouted   = "misrouted"                    // an answer at another request or session than it was given to
	differs     = "other answer"                 // the CLI heard another answer than the one whose tab was told applied
	twoWinners  = "two winners"                  // two tabs were told applied
	undelivered = "applied and never heard"      // told applied, and the CLI heard nothing
	revoked     = "taken back and yet given"     // an undo was acked, and the answer counted or was heard
	ended       = "sessions ended"               // though nobody but the server was killed
	down        = "starts that failed"           // of the server, after a kill
	text        = "transcript lines"             // of the CLI, missing, doubled or out of order
	spoken      = "messages to the CLI"          // lost, doubled or out of order
	told        = "acks that contradict"         // an ack is missing, changes, or does not fit the end of the request
	stored      = "rows that contradict"         // what the server says of a request afterwards does not fit
	leftBehind  = "processes left behind"        // at the end, when all was ended
	other       = "other faults"                 //
	late        = "missed a time limit"          // of R2 or R23
	grown       = "grows with time"              // in a soak
	touched     = "bystanders that were touched" // of R23
)

var kinds = []string{lost, twice, misrouted, differs, twoWinners, undelivered, revoked, ended, down, text, spoken, told, stored, leftBehind, late, grown, touched, other}

// fault is one thing that must not be.
type fault struct {
	Kind     string
	ID       string // of the request or session
	Sentence string
}

// row is what the server says of a request once it is over.
type row struct {
	Outcome string
	By      string
}

// ledgers are the three accounts of one run.
type ledgers struct {
	Tabs []*tabLedger // what tabs saw, gave and were told
	// Of the server: what each transcript says of resolved requests, what a
	// further answer to each is told, what can still be answered, and the texts.
	Items   map[string][]row // by request id
	Rows    map[string]row   // by request id; of each that a tab was shown
	Pending map[string]bool  // request ids
	Texts   map[string][]string
	CLIs    []*cliLedger      // what the CLIs asked and heard
	States  map[string]string // of the sessions, as a person would tell it
	// Messages are the titles of what was said to each session.
	Messages map[string][]string
}

// tally is what the ledgers come to when all is well.
type tally struct {
	Asked, Withdrawn, Raced int
	Late                    int // applied, and the CLI had withdrawn
	Wins                    map[string]int
	Texts                   int
	Holds                   holds
}

// holds counts the answers that asked to be held.
type holds struct {
	Asked, Told               int // of these, their tab was told so
	Counted, Back, Gone, Late int // applied, taken back, withdrawn by the CLI, after another's
	Undos, Vain               int // commands, and those that took nothing back
	Barred                    int // refusals of answers while another's was held
}

// compare holds the ledgers against each other and returns everything that does
// not fit.
func compare(l ledgers) ([]fault, tally) {
	c := comparison{ledgers: l, tally: tally{Wins: map[string]int{}},
		asked: map[string]*asked{}, heard: map[*asked][]heard{}, ended: map[string]bool{},
		given: map[string][]claim{}, words: map[string][]claim{}, ids: map[string][]string{}}
	for _, t := range l.Tabs {
		c.tally.Holds.Barred += t.Barred
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
		c.blame(stored, id, "the request can still be answered after all was settled")
	}
	c.lines()
	return c.faults, c.tally
}

// claim is an answer and whose it is.
type claim struct {
	*given
	tab string
}

// told is what the claim's tab was told first.
func (c claim) told() string {
	if len(c.Acks) == 0 {
		return "nothing"
	}
	return c.Acks[0].String()
}

func (c claim) won() bool { return len(c.Acks) > 0 && c.Acks[0].Result == "applied" }

type comparison struct {
	ledgers
	faults []fault
	tally  tally
	asked  map[string]*asked   // by tool use id
	heard  map[*asked][]heard  // answers that arrived at the CLI under the request's id
	ended  map[string]bool     // sessions whose CLI ended
	given  map[string][]claim  // by tool use id
	words  map[string][]claim  // by what the CLI would have to hear
	ids    map[string][]string // request ids by tool use id
}

func (c *comparison) blame(kind, id, format string, args ...any) {
	c.faults = append(c.faults, fault{Kind: kind, ID: id, Sentence: fmt.Sprintf(format, args...)})
}

func (c *comparison) readCLIs() {
	owner := map[string]string{} // session by the CLI's request id
	processes := map[string]int{}
	for _, cli := range c.CLIs {
		if processes[cli.SessionID]++; processes[cli.SessionID] == 2 {
			c.blame(ended, cli.SessionID, "the session has a second CLI")
		}
		if cli.EOF || cli.Exit {
			c.ended[cli.SessionID] = true
			c.blame(ended, cli.SessionID, "the CLI of the session ended (process %d)", cli.PID)
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
		for _, h := range cli.Heard {
			a := own[h.RequestID]
			if a == nil {
				whose := owner[h.RequestID]
				if whose == "" {
					whose = "nobody"
				}
				c.blame(misrouted, h.RequestID, "the CLI of session %s heard an answer to a request that %s asked: %s", cli.SessionID, whose, h.Words)
				continue
			}
			c.heard[a] = append(c.heard[a], h)
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
					c.blame(misrouted, id, "two tabs were shown different requests under this id")
				}
				continue
			}
			seen[id] = s
			c.ids[s.ToolUseID] = append(c.ids[s.ToolUseID], id)
			switch a := c.asked[s.ToolUseID]; {
			case a == nil:
				c.blame(misrouted, id, "%s was shown a request that no CLI asked (%s)", t.Name, s.ToolUseID)
			case a.SessionID != s.SessionID:
				c.blame(misrouted, id, "%s was shown the request in session %s, but session %s asked it", t.Name, s.SessionID, a.SessionID)
			case canonical(a.Input) != canonical(s.ToolInput):
				c.blame(misrouted, id, "%s was shown other input than the CLI asked with", t.Name)
			}
		}
		for _, g := range t.Given {
			m := claim{g, t.Name}
			c.given[g.ToolUseID] = append(c.given[g.ToolUseID], m)
			c.words[g.Words] = append(c.words[g.Words], m)
		}
	}
}

// request checks all that is known of one request.
func (c *comparison) request(a *asked) {
	id := a.ToolUseID
	if ids := c.ids[id]; len(ids) > 1 {
		c.blame(twice, id, "one request of the CLI was shown under %d ids: %s", len(ids), strings.Join(ids, ", "))
	} else if len(ids) == 1 {
		id = ids[0]
	}
	claims, answers := c.given[a.ToolUseID], c.heard[a]
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
		c.blame(twoWinners, id, "%s and %s were both told applied", winners[0].tab, winners[1].tab)
	}
	if len(answers) > 1 {
		c.blame(twice, id, "the CLI heard %d answers: %s; %s", len(answers), answers[0].Words, answers[1].Words)
	}
	for _, h := range answers {
		c.answer(id, a, h, claims, winners)
	}
	visible := slices.ContainsFunc(c.ids[a.ToolUseID], func(id string) bool { return c.Pending[id] })
	switch {
	case len(answers) > 0 || visible:
	case a.Withdrawn && len(winners) > 0:
		c.tally.Late++
	case a.Withdrawn:
	case len(winners) > 0:
		c.blame(undelivered, id, "%s was told applied, and the CLI of session %s never heard it", winners[0].tab, a.SessionID)
	default:
		c.blame(lost, id, "session %s asked it (%s), nobody's answer reached its CLI, and nobody can answer it%s", a.SessionID, a.ToolUseID, c.known(a))
	}
	for _, m := range claims {
		c.acks(id, a, m, winners)
	}
	for _, id := range c.ids[a.ToolUseID] {
		c.row(id, a, winners)
	}
}

// known says who knows of a request that was lost.
func (c *comparison) known(a *asked) string {
	switch {
	case c.ended[a.SessionID]:
		return "; its CLI ended"
	case len(c.ids[a.ToolUseID]) == 0:
		return "; no tab was ever shown it"
	case len(c.given[a.ToolUseID]) == 0:
		return "; it was shown, and no tab answered"
	}
	m := c.given[a.ToolUseID][0]
	return "; " + m.tab + " answered and was told " + m.told()
}

// answer checks one answer that a CLI heard.
func (c *comparison) answer(id string, a *asked, h heard, claims, winners []claim) {
	if h.ToolUseID != a.ToolUseID {
		c.blame(misrouted, id, "the answer that the CLI heard names the tool use %q, not %s", h.ToolUseID, a.ToolUseID)
	}
	said := func(m claim) bool { return m.Words == h.Words }
	switch {
	case slices.ContainsFunc(winners, said):
	case slices.ContainsFunc(claims, func(m claim) bool { return said(m) && m.takenBack() }):
		c.blame(revoked, id, "the CLI heard an answer that was taken back: %s", h.Words)
	case slices.ContainsFunc(claims, said) && len(winners) > 0:
		c.blame(differs, id, "%s was told applied, but the CLI heard another tab's answer: %s", winners[0].tab, h.Words)
	case slices.ContainsFunc(claims, said):
		m := claims[slices.IndexFunc(claims, said)]
		c.blame(told, id, "the CLI heard the answer of %s, which was told %s", m.tab, m.told())
	case len(c.words[h.Words]) > 0:
		m := c.words[h.Words][0]
		c.blame(misrouted, id, "the CLI heard the answer that %s gave to %s", m.tab, m.RequestID)
	case len(winners) > 0:
		c.blame(differs, id, "%s was told applied for %q, but the CLI heard %q", winners[0].tab, winners[0].Words, h.Words)
	default:
		c.blame(differs, id, "the CLI heard what nobody answered: %s", h.Words)
	}
}

// acks checks what a tab was told about its answer.
func (c *comparison) acks(id string, a *asked, m claim, winners []claim) {
	if len(m.Acks) == 0 {
		c.blame(told, id, "%s answered and never got an ack", m.tab)
		return
	}
	for _, again := range m.Acks[1:] {
		// What was taken back is told how the request ended once it has.
		over := m.Acks[0].Code == "taken_back" && (again.Result == "already_resolved" || again.Result == "stale")
		if again.String() != m.Acks[0].String() && !over {
			c.blame(told, id, "%s was told %q and, asking again, %q", m.tab, m.Acks[0], again)
			break
		}
	}
	first := m.Acks[0]
	// A denial ends an approval that is held; nothing else may.
	denied := strings.HasPrefix(m.Words, "allow ") && first.Resolved != nil && first.Resolved.Outcome == "denied"
	if m.Held && m.Undos == 0 && first.Result == "already_resolved" && !denied {
		c.blame(told, id, "%s was told that its answer is held, never took it back, and was told %q", m.tab, first)
	}
	switch first.Result {
	case "applied":
		if m.Undone {
			c.blame(revoked, id, "%s was told that its answer is taken back, and %q", m.tab, first)
		}
	case "already_resolved":
		if len(winners) == 0 {
			c.blame(told, id, "%s was told %q, but nobody was told applied", m.tab, first)
		} else if first.Resolved == nil || first.Resolved.By != winners[0].tab || first.Resolved.Outcome != winners[0].outcome() {
			c.blame(told, id, "%s was told %q, but %s was told applied for %q", m.tab, first, winners[0].tab, winners[0].Words)
		}
	case "stale":
		if !a.Withdrawn || first.Resolved == nil || first.Resolved.Outcome != "withdrawn" {
			c.blame(told, id, "%s was told %q; the CLI withdrew it: %t", m.tab, first, a.Withdrawn)
		}
	default:
		if first.Code != "taken_back" || m.Undos == 0 {
			c.blame(told, id, "%s was told %q", m.tab, first)
		}
	}
}

// count adds a claim to what is told of holds.
func (c *comparison) count(m claim) {
	if m.Hold == 0 {
		return
	}
	sum := &c.tally.Holds
	sum.Asked++
	sum.Undos += m.Undos
	if m.Held {
		sum.Told++
	}
	sum.Vain += m.Undos
	switch {
	case m.takenBack():
		sum.Back++
		sum.Vain-- // an undo whose ack was lost is one that took something back
	case m.won():
		sum.Counted++
	case len(m.Acks) > 0 && m.Acks[0].Result == "stale":
		sum.Gone++
	default:
		sum.Late++
	}
}

// outcome is how a request ends that this answer resolves.
func (c claim) outcome() string {
	if strings.HasPrefix(c.Words, "deny") {
		return "denied"
	}
	return "answered"
}

// row checks what the server says of a request afterwards.
func (c *comparison) row(id string, a *asked, winners []claim) {
	if c.Pending[id] {
		return // blamed already
	}
	want := row{Outcome: "withdrawn"}
	if len(winners) > 0 {
		want = row{Outcome: winners[0].outcome(), By: winners[0].tab}
	} else if !a.Withdrawn {
		return // lost or ended, and blamed already
	}
	if got := c.Rows[id]; got != want {
		c.blame(stored, id, "the server says %+v, but it ended as %+v", got, want)
	}
	switch items := c.Items[id]; {
	case len(items) == 0:
		c.blame(stored, id, "the transcript of session %s does not say how it ended", a.SessionID)
	case len(items) > 1:
		c.blame(stored, id, "the transcript of session %s says %d times how it ended", a.SessionID, len(items))
	case items[0] != want:
		c.blame(stored, id, "the transcript of session %s says %+v, but it ended as %+v", a.SessionID, items[0], want)
	}
}

// lines checks what was said both ways.
func (c *comparison) lines() {
	said, users := map[string][]string{}, map[string][]string{}
	for _, cli := range c.CLIs {
		said[cli.SessionID] = append(said[cli.SessionID], cli.Said...)
		users[cli.SessionID] = append(users[cli.SessionID], cli.Users...)
		c.tally.Texts += len(cli.Said)
	}
	for id, messages := range c.Messages {
		c.same(spoken, id, "message", messages, users[id])
		c.same(text, id, "line", said[id], c.Texts[id])
	}
}

// same blames a list for each way in which it is not the wanted one.
func (c *comparison) same(kind, id, what string, want, got []string) {
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
			c.blame(kind, id, "the %s %q arrived %d times", what, s, n)
			whole = false
		}
		delete(counts, s)
	}
	if len(missing) > 0 {
		c.blame(kind, id, "%d %ss never arrived, the first is %q; the session is in %s", len(missing), what, missing[0], c.States[id])
	}
	for s := range counts {
		c.blame(kind, id, "the %s %q arrived, which nobody said", what, s)
		whole = false
	}
	if whole && !slices.Equal(want, got) {
		c.blame(kind, id, "the %ss arrived in another order than they were said", what)
	}
}
