package alert

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// plan is the work of one round: the alerts to send now, and when the next round is due.
type plan struct {
	a          *Alerter
	now        time.Time
	requests   []openRequest
	attention  map[string]*attention // by person
	deliveries []Delivery
	toasts     map[string][]openRequest // by person
	next       time.Time
}

// wakeAt schedules a round at t, unless an earlier one is due.
func (p *plan) wakeAt(t time.Time) {
	if p.next.IsZero() || t.Before(p.next) {
		p.next = t
	}
}

// due reports whether t is not in the future. Otherwise, it schedules a round at t.
func (p *plan) due(t time.Time) bool {
	if t.After(p.now) {
		p.wakeAt(t)
		return false
	}
	return true
}

type openRequest struct {
	s session.ProcessState
	r pending.Request
}

// openRequests lists the open requests, oldest first.
func (a *Alerter) openRequests() (list []openRequest) {
	for _, s := range a.known {
		if s.Archived {
			continue
		}
		for _, r := range s.Requests {
			list = append(list, openRequest{s, r})
		}
	}
	slices.SortFunc(list, func(x, y openRequest) int {
		if c := x.r.CreatedAt.Compare(y.r.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(x.r.RequestID, y.r.RequestID)
	})
	return list
}

// noAttention is the attention of a person who never had a tab.
var noAttention attention

// planPerson plans one person's alerts: none for a session that they are looking at, a toast while
// they are looking at another page, and a delivery to their targets while they are inactive.
func (p *plan) planPerson(who Person) {
	own := p.targetsOf(who.UserID)
	attention := p.attention[who.UserID]
	if attention == nil {
		attention = &noAttention
	}
	if len(own) == 0 && !attention.takesToasts {
		return
	}
	c := p.a.choicesFor(who.UserID)
	server := p.a.choicesFor("")
	var due []openRequest
	for _, w := range p.requests {
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
		if attention.sees(w.s.SessionID) {
			p.a.markNoticed(who.UserID, w.r.RequestID)
			continue // the tab wakes Run when it stops showing the session
		}
		if p.due(since) && !attention.hasNoticed(w.r.RequestID) {
			p.toasts[who.UserID] = append(p.toasts[who.UserID], w)
		}
		switch {
		case len(own) == 0 || attention.active && c.RemindAfter == 0:
			continue
		case attention.active: // they have a toast; the targets get a reminder only
			since = since.Add(minutes(c.RemindAfter))
		case attention.lastActive.After(since):
			since = attention.lastActive.Add(grace)
		default:
			since = since.Add(grace)
		}
		if p.due(since) {
			due = append(due, w)
		}
	}
	p.planRequests(own, c, due)
}

// planServer plans the alerts of the server's own targets.
func (p *plan) planServer() {
	own := p.targetsOf("")
	if len(own) == 0 {
		return
	}
	c := p.a.choicesFor("")
	var due []openRequest
	for _, w := range p.requests {
		if p.due(w.r.CreatedAt.Add(max(grace, minutes(c.EscalateAfter)))) {
			due = append(due, w)
		}
	}
	p.planRequests(own, c, due)
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// targetsOf returns the targets of a person, or of the server for "". It returns none while
// another server sends alerts.
func (p *plan) targetsOf(userID string) (list []Target) {
	if !p.a.delivers {
		return nil
	}
	for _, t := range p.a.targets {
		if t.UserID == userID {
			list = append(list, t)
		}
	}
	return list
}

// planRequests plans the deliveries about the due requests to one person's targets.
func (p *plan) planRequests(targets []Target, c Choices, due []openRequest) {
	if len(due) == 0 {
		return
	}
	if end := c.Quiet.endsAt(p.now); !end.IsZero() {
		p.wakeAt(end)
		return
	}
	for _, t := range targets {
		if !c.wants(Waiting, t.Way) {
			continue
		}
		var fresh []Delivery
		for _, w := range due {
			d := p.delivery(t, w, First)
			first, known := p.a.deliveries[d.DeliveryID]
			if !known {
				fresh = append(fresh, d)
				continue
			}
			// A reminder follows the first alert, whether it was sent alone or folded.
			if c.RemindAfter == 0 || first.State != Sent && first.State != Folded {
				continue
			}
			reminder := p.delivery(t, w, Reminder)
			if _, known := p.a.deliveries[reminder.DeliveryID]; !known && p.due(first.SentAt.Add(minutes(c.RemindAfter))) {
				fresh = append(fresh, reminder)
			}
		}
		p.fold(t, fresh)
	}
}

func (p *plan) delivery(t Target, w openRequest, step Step) Delivery {
	return Delivery{
		DeliveryID: deliveryID(t.TargetID, w.r.RequestID, string(step)), TargetID: t.TargetID, Occasion: Waiting, Step: step,
		SessionID: w.s.SessionID, RequestID: w.r.RequestID, State: Queued, DueAt: p.now, CreatedAt: p.now,
	}
}

// fold plans fresh deliveries of one target. When too many come within burstSpan, one alert
// replaces them.
func (p *plan) fold(t Target, fresh []Delivery) {
	if len(fresh) == 0 {
		return
	}
	recent := 0
	var lastFold time.Time // time of the last Fold
	for _, d := range p.a.deliveries {
		if d.TargetID != t.TargetID || d.Occasion != Waiting || p.now.Sub(d.CreatedAt) >= burstSpan {
			continue
		}
		switch {
		case d.Step == Fold:
			if d.CreatedAt.After(lastFold) {
				lastFold = d.CreatedAt
			}
		case d.Step != Close && d.State != Folded:
			recent++
		}
	}
	if recent+len(fresh) <= burst && lastFold.IsZero() {
		p.deliveries = append(p.deliveries, fresh...)
		return
	}
	if !lastFold.IsZero() && !p.due(lastFold.Add(burstSpan)) {
		return // a later round folds these and later ones
	}
	sum := Delivery{
		DeliveryID: deliveryID(t.TargetID, fresh[0].DeliveryID, string(Fold)), TargetID: t.TargetID, Occasion: Waiting, Step: Fold,
		SessionID: fresh[0].SessionID, State: Queued, DueAt: p.now, CreatedAt: p.now,
	}
	for i := range fresh {
		fresh[i].State, fresh[i].SentAt = Folded, p.now
	}
	p.deliveries = append(append(p.deliveries, sum), fresh...)
}

// planClosings closes the alerts about requests that are no longer open.
func (p *plan) planClosings() {
	open := map[string]bool{}
	for _, w := range p.requests {
		open[w.r.RequestID] = true
	}
	// A Fold stays open while any of its requests is open.
	foldOpen := p.a.openFolds(p.requests) // by target
	for _, d := range p.deliveries {
		if d.State == Folded {
			foldOpen[d.TargetID] = true
		}
	}
	for _, d := range p.a.deliveries {
		if d.Occasion != Waiting || d.Step == Close {
			continue
		}
		if d.Step == Fold && foldOpen[d.TargetID] || d.Step != Fold && open[d.RequestID] {
			continue
		}
		switch d.State {
		case Queued:
			if p.a.sending[d.DeliveryID] {
				continue
			}
			begun := d.mayHaveBeenSent()
			dropped := d
			dropped.State = Dropped
			p.deliveries = append(p.deliveries, dropped)
			if !begun {
				continue
			}
			fallthrough // it may have been sent
		case Sent:
			closing := d
			closing.Step, closing.State, closing.Attempts, closing.DueAt, closing.CreatedAt, closing.SentAt = Close, Queued, 0, p.now, p.now, time.Time{}
			closing.DeliveryID = closingID(d)
			if _, known := p.a.deliveries[closing.DeliveryID]; !known && !slices.ContainsFunc(p.deliveries, func(m Delivery) bool { return m.DeliveryID == closing.DeliveryID }) {
				p.deliveries = append(p.deliveries, closing)
			}
		}
	}
}

// openFolds returns the targets with a Fold about requests of which one is open.
func (a *Alerter) openFolds(requests []openRequest) map[string]bool {
	open := make(map[string]bool, len(requests))
	for _, w := range requests {
		open[w.r.RequestID] = true
	}
	folds := map[string]bool{}
	for _, d := range a.deliveries {
		if d.State == Folded && open[d.RequestID] {
			folds[d.TargetID] = true
		}
	}
	return folds
}

// closingID returns the id of the delivery that closes an alert. The first alert about a request and
// its reminder share one tag, so one closing clears both.
func closingID(d Delivery) string {
	if d.Step == Fold {
		return deliveryID(d.TargetID, d.DeliveryID, string(Close))
	}
	return deliveryID(d.TargetID, d.RequestID, string(Close))
}

// foldTag is the tag of the one alert about several requests.
const foldTag = "several"

// compose builds the message of a delivery. ok is false when it is no longer needed.
func (a *Alerter) compose(d Delivery) (t Target, m Message, ok bool) {
	i := slices.IndexFunc(a.targets, func(t Target) bool { return t.TargetID == d.TargetID })
	if i < 0 {
		return t, m, false
	}
	t = a.targets[i]
	c := a.choicesFor(t.UserID)
	msgs := messagesFor(a.languageFor(t.UserID))
	s := a.known[d.SessionID]
	title := singleLine(s.Title)
	if title == "" {
		title = msgs.untitled
	}
	m = Message{Kind: "show", Tag: d.RequestID, Path: "/sessions/" + d.SessionID}
	if d.RequestID == "" {
		m.Tag = foldTag
	} else {
		m.Path += "?request=" + d.RequestID
	}
	if d.Step == Close {
		m.Kind, m.Title, m.Body = "close", msgs.closed, title
		// All Folds of a target share one tag: this one may be late and would remove a newer one.
		return t, m, d.RequestID != "" || !a.openFolds(a.openRequests())[d.TargetID]
	}
	switch d.Occasion {
	case Finished:
		m.Tag, m.Title, m.Body = "finished "+d.SessionID, msgs.finished, title
		return t, m, true
	case Died:
		m.Tag, m.Title, m.Body = "died "+d.SessionID, msgs.died, title
		return t, m, true
	}
	all := a.openRequests()
	if d.Step == Fold {
		n := 0
		for _, w := range all {
			if first, known := a.deliveries[deliveryID(t.TargetID, w.r.RequestID, string(First))]; known && first.State != Dropped {
				n++
			}
		}
		m.Title, m.Path = msgs.several(n), "/"
		return t, m, n > 0
	}
	index := slices.IndexFunc(all, func(w openRequest) bool { return w.r.RequestID == d.RequestID })
	if index < 0 {
		return t, m, false
	}
	m.Title, m.Body = msgs.summary(all[index].r), title
	if d.Step == Reminder {
		// The reminder may have been sent already; then its repetition makes no sound.
		m.Title, m.Renotify = strings.ReplaceAll(msgs.reminder, "%s", m.Title), !d.mayHaveBeenSent()
	}
	if text := requestText(all[index].r); c.ShowText && text != "" {
		m.Body += "\n" + text
	}
	return t, m, true
}

// summary describes a request in a few words, none of them from its input.
func (w messages) summary(r pending.Request) string {
	switch {
	case r.Source == pending.SourceElicitation:
		return w.page
	case r.RequestType == pending.AskUserQuestion:
		return w.question
	case r.ToolName == "ExitPlanMode":
		return w.plan
	}
	return strings.ReplaceAll(w.approval, "%s", singleLine(r.ToolName))
}

// requestText returns the question, or the main field of the tool input, for people who want the
// text in the alert.
func requestText(r pending.Request) string {
	if r.Form != nil && len(r.Form.Questions) > 0 {
		return singleLine(r.Form.Questions[0].Question)
	}
	var input map[string]any
	_ = json.Unmarshal(r.ToolInput, &input) // an input that is not an object has none of these fields
	for _, field := range []string{"command", "file_path", "notebook_path", "url", "query"} {
		if text, ok := input[field].(string); ok && text != "" {
			return singleLine(text)
		}
	}
	return ""
}
