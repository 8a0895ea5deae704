package alert

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// plan is one look at what waits: what is to be sent now, and when to look again.
type plan struct {
	a         *Alerter
	now       time.Time
	waits     []waiting
	attention map[string]*attention // by person
	made      []Delivery
	toasts    map[string][]waiting // by person
	next      time.Time
}

// at wants another look at a time.
func (p *plan) at(t time.Time) {
	if p.next.IsZero() || t.Before(p.next) {
		p.next = t
	}
}

// due reports whether a time has come, and wants another look when it has not.
func (p *plan) due(t time.Time) bool {
	if t.After(p.now) {
		p.at(t)
		return false
	}
	return true
}

type waiting struct {
	s session.ProcessState
	r pending.Request
}

// waits lists what waits, oldest first.
func (a *Alerter) waits() (list []waiting) {
	for _, s := range a.known {
		if s.Archived {
			continue
		}
		for _, r := range s.Requests {
			list = append(list, waiting{s, r})
		}
	}
	slices.SortFunc(list, func(x, y waiting) int {
		if c := x.r.CreatedAt.Compare(y.r.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(x.r.RequestID, y.r.RequestID)
	})
	return list
}

// nothing is what somebody has before their eyes who was never here.
var nothing attention

// person plans what one person is told: in the page that they look at, in a toast
// when that shows something else, and elsewhere when they do not look.
func (p *plan) person(who Person) {
	own := p.targetsOf(who.UserID)
	sight := p.attention[who.UserID]
	if sight == nil {
		sight = &nothing
	}
	if len(own) == 0 && !sight.any {
		return
	}
	c := p.a.choicesOf(who.UserID)
	server := p.a.choicesOf("")
	var due []waiting
	for _, w := range p.waits {
		since := w.r.CreatedAt
		if owner := p.a.owners[w.s.SessionID]; owner != who.UserID && owner != "" && !c.AllSessions {
			if server.EscalateAfter == 0 {
				continue
			}
			since = since.Add(minutes(server.EscalateAfter))
		}
		if !who.MayAnswer(w.s.SessionID) {
			continue
		}
		if sight.on(w.s.SessionID) {
			p.a.notice(who.UserID, w.r.RequestID)
			continue // the tab wakes us when it no longer shows it
		}
		if p.due(since) && !sight.knows(w.r.RequestID) {
			p.toasts[who.UserID] = append(p.toasts[who.UserID], w)
		}
		switch {
		case len(own) == 0 || sight.active && c.RemindAfter == 0:
			continue
		case sight.active: // who was told in a toast is told elsewhere in the place of a reminder
			since = since.Add(minutes(c.RemindAfter))
		case sight.lastActive.After(since):
			since = sight.lastActive.Add(grace)
		default:
			since = since.Add(grace)
		}
		if p.due(since) {
			due = append(due, w)
		}
	}
	p.tell(own, c, due)
}

// server plans what the targets of the server are told.
func (p *plan) server() {
	own := p.targetsOf("")
	if len(own) == 0 {
		return
	}
	c := p.a.choicesOf("")
	var due []waiting
	for _, w := range p.waits {
		if p.due(w.r.CreatedAt.Add(max(grace, minutes(c.EscalateAfter)))) {
			due = append(due, w)
		}
	}
	p.tell(own, c, due)
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func (p *plan) targetsOf(userID string) (list []Target) {
	for _, t := range p.a.targets {
		if t.UserID == userID {
			list = append(list, t)
		}
	}
	return list
}

// tell plans the deliveries of what is due to the targets of one person.
func (p *plan) tell(targets []Target, c Choices, due []waiting) {
	if len(due) == 0 {
		return
	}
	if end := c.Quiet.until(p.now); !end.IsZero() {
		p.at(end)
		return
	}
	for _, t := range targets {
		if !c.wants(Waiting, t.Way) {
			continue
		}
		var fresh []Delivery
		for _, w := range due {
			d := p.about(t, w, First)
			told, known := p.a.deliveries[d.DeliveryID]
			if !known {
				fresh = append(fresh, d)
				continue
			}
			// A reminder follows what was told, by itself or among others.
			if c.RemindAfter == 0 || told.State != Sent && told.State != Folded {
				continue
			}
			again := p.about(t, w, Reminder)
			if _, known := p.a.deliveries[again.DeliveryID]; !known && p.due(told.SentAt.Add(minutes(c.RemindAfter))) {
				fresh = append(fresh, again)
			}
		}
		p.fold(t, fresh)
	}
}

func (p *plan) about(t Target, w waiting, step Step) Delivery {
	return Delivery{
		DeliveryID: deliveryID(t.TargetID, w.r.RequestID, string(step)), TargetID: t.TargetID, Occasion: Waiting, Step: step,
		SessionID: w.s.SessionID, RequestID: w.r.RequestID, State: Queued, DueAt: p.now, CreatedAt: p.now,
	}
}

// fold makes one of many that come within a short time.
func (p *plan) fold(t Target, fresh []Delivery) {
	if len(fresh) == 0 {
		return
	}
	recent := 0
	var folded time.Time // when several were told of as one last
	for _, d := range p.a.deliveries {
		if d.TargetID != t.TargetID || d.Occasion != Waiting || p.now.Sub(d.CreatedAt) >= burstSpan {
			continue
		}
		switch {
		case d.Step == Fold:
			if d.CreatedAt.After(folded) {
				folded = d.CreatedAt
			}
		case d.Step != Close && d.State != Folded:
			recent++
		}
	}
	if recent+len(fresh) <= burst && folded.IsZero() {
		p.made = append(p.made, fresh...)
		return
	}
	if !folded.IsZero() && !p.due(folded.Add(burstSpan)) {
		return // later, with whatever comes until then
	}
	sum := Delivery{
		DeliveryID: deliveryID(t.TargetID, fresh[0].DeliveryID, string(Fold)), TargetID: t.TargetID, Occasion: Waiting, Step: Fold,
		SessionID: fresh[0].SessionID, State: Queued, DueAt: p.now, CreatedAt: p.now,
	}
	for i := range fresh {
		fresh[i].State, fresh[i].SentAt = Folded, p.now
	}
	p.made = append(append(p.made, sum), fresh...)
}

// closings takes back what was told of requests that are gone.
func (p *plan) closings() {
	open := map[string]bool{}
	for _, w := range p.waits {
		open[w.r.RequestID] = true
	}
	// A sum holds while any of what it was made of is open.
	holds := map[string]bool{} // by target
	for _, d := range p.a.deliveries {
		if d.State == Folded && open[d.RequestID] {
			holds[d.TargetID] = true
		}
	}
	for _, d := range p.made {
		if d.State == Folded {
			holds[d.TargetID] = true
		}
	}
	for _, d := range p.a.deliveries {
		if d.Occasion != Waiting || d.Step == Close {
			continue
		}
		if d.Step == Fold && holds[d.TargetID] || d.Step != Fold && open[d.RequestID] {
			continue
		}
		switch d.State {
		case Queued:
			if p.a.sending[d.DeliveryID] {
				continue
			}
			begun := d.begun()
			gone := d
			gone.State = Dropped
			p.made = append(p.made, gone)
			if !begun {
				continue
			}
			fallthrough // it may be shown
		case Sent:
			over := d
			over.Step, over.State, over.Attempts, over.DueAt, over.CreatedAt, over.SentAt = Close, Queued, 0, p.now, p.now, time.Time{}
			over.DeliveryID = deliveryID(d.TargetID, closed(d), string(Close))
			if _, known := p.a.deliveries[over.DeliveryID]; !known && !slices.ContainsFunc(p.made, func(m Delivery) bool { return m.DeliveryID == over.DeliveryID }) {
				p.made = append(p.made, over)
			}
		}
	}
}

// closed names what a closing is about: the first telling and its reminder have
// one tag and one end.
func closed(d Delivery) string {
	if d.Step == Fold {
		return d.DeliveryID
	}
	return d.RequestID
}

// foldTag is that of the one alert that tells of several requests.
const foldTag = "several"

// compose makes the message of a delivery; ok is false when there is no need any
// more.
func (a *Alerter) compose(d Delivery) (t Target, m Message, ok bool) {
	i := slices.IndexFunc(a.targets, func(t Target) bool { return t.TargetID == d.TargetID })
	if i < 0 {
		return t, m, false
	}
	t = a.targets[i]
	c := a.choicesOf(t.UserID)
	say := wordsOf(a.languageOf(t.UserID))
	s := a.known[d.SessionID]
	title := line(s.Title)
	if title == "" {
		title = say.untitled
	}
	m = Message{Kind: "show", Tag: d.RequestID, Path: "/sessions/" + d.SessionID}
	if d.RequestID == "" {
		m.Tag = foldTag
	} else {
		m.Path += "?request=" + d.RequestID
	}
	if d.Step == Close {
		m.Kind, m.Title, m.Body = "close", say.over, title
		return t, m, true
	}
	switch d.Occasion {
	case Finished:
		m.Tag, m.Title, m.Body = "finished "+d.SessionID, say.finished, title
		return t, m, true
	case Died:
		m.Tag, m.Title, m.Body = "died "+d.SessionID, say.died, title
		return t, m, true
	}
	all := a.waits()
	if d.Step == Fold {
		n := 0
		for _, w := range all {
			if told, known := a.deliveries[deliveryID(t.TargetID, w.r.RequestID, string(First))]; known && told.State != Dropped {
				n++
			}
		}
		m.Title, m.Path = say.several(n), "/"
		return t, m, n > 0
	}
	at := slices.IndexFunc(all, func(w waiting) bool { return w.r.RequestID == d.RequestID })
	if at < 0 {
		return t, m, false
	}
	m.Title, m.Body = say.about(all[at].r), title
	if d.Step == Reminder {
		// What may have been heard already takes its own place in silence.
		m.Title, m.Renotify = strings.ReplaceAll(say.reminder, "%s", m.Title), !d.begun()
	}
	if text := textOf(all[at].r); c.ShowText && text != "" {
		m.Body += "\n" + text
	}
	return t, m, true
}

// about is a request in a few words, none of them from its input.
func (w words) about(r pending.Request) string {
	switch {
	case r.Source == pending.SourceElicitation:
		return w.page
	case r.RequestType == pending.AskUserQuestion:
		return w.question
	case r.ToolName == "ExitPlanMode":
		return w.plan
	}
	return strings.ReplaceAll(w.approval, "%s", line(r.ToolName))
}

// textOf is what is asked, for who wants to read it in the alert.
func textOf(r pending.Request) string {
	if r.Form != nil && len(r.Form.Questions) > 0 {
		return line(r.Form.Questions[0].Question)
	}
	var input map[string]any
	_ = json.Unmarshal(r.ToolInput, &input) // one that is no object has none of these
	for _, field := range []string{"command", "file_path", "notebook_path", "url", "query"} {
		if text, ok := input[field].(string); ok && text != "" {
			return line(text)
		}
	}
	return ""
}
