package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/ssrf"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// Limits and delays of an [Alerter].
const (
	// grace is how long a person must have been inactive before an alert is sent.
	grace = 5 * time.Second
	// notifyDelay is how long the alerter waits after a change before it reads the store. No
	// alert is sent before grace anyway, and the change reaches tabs and Claude first.
	notifyDelay = 100 * time.Millisecond
	// More than burst alerts within burstSpan become one.
	burst     = 3
	burstSpan = 10 * time.Second

	maxConcurrentSends = 8
	maxAttempts        = 8               // for one delivery; then it has Failed
	initialBackoff     = 5 * time.Second // after a failure, doubled each time
	maxBackoff         = 10 * time.Minute
	storeRetryDelay    = 5 * time.Second // after the store failed
	shutdownTimeout    = 3 * time.Second // for sends in flight when the server stops
	deliveryRetention  = 7 * 24 * time.Hour
	maxTargets         = 20 // of one person
	minSecretBytes     = 16 // of a webhook
)

// Person is a user who may be notified.
type Person struct {
	UserID string
	// MayAnswer reports whether the person may answer requests of a session.
	MayAnswer func(sessionID string) bool
}

// Options configures an [Alerter]. Language and OnSent may be nil; the rest is required.
type Options struct {
	Store Store
	// Active lists the sessions that run or have open requests; State returns one. See
	// session.Store.
	Active func(ctx context.Context) ([]session.ProcessState, error)
	State  func(ctx context.Context, sessionID string) (session.ProcessState, error)
	Owner  func(ctx context.Context, sessionID string) (userID string, err error)
	People func(ctx context.Context) ([]Person, error)
	// Language returns a person's language, or "" when it is unknown. If it is "", or Language
	// is nil, the language of their choices is used.
	Language func(ctx context.Context, userID string) (string, error) `optional:"true"`
	Key      *Key
	// PublicURL is the base of links in alerts.
	PublicURL string
	// Private allows targets on this machine and in private networks.
	Private bool
	// Presence shares what people see with the other servers of the database; nil if there are
	// none.
	Presence PresenceStore `optional:"true"`
	// OnSent receives the duration and the error of each attempt to deliver an alert. It may
	// be called concurrently, and must not block. It may be nil.
	OnSent func(took time.Duration, err error) `optional:"true"`
	Log    *slog.Logger
}

// An Alerter shows toasts in the tabs of its server while Run runs. While Deliver runs as well,
// it also decides who is notified and sends the alerts; only one of several servers runs Deliver.
// Its other methods may be called from any goroutine. Those without a context never block.
type Alerter struct {
	o    Options
	http *http.Client
	wake chan struct{} // capacity 1

	mu          sync.Mutex // never held over I/O
	changed     map[string]struct{}
	wakePending bool          // Run will be woken for changed
	allChanged  bool          // any known session may have changed
	stale       bool          // targets or choices changed
	term        int64         // argument of Deliver, 0 while this server does not send alerts
	idle        chan struct{} // closed by Run once nothing is being sent; nil unless Deliver waits for it
	tabs        map[Tab]*watcher
	lastActive  map[string]time.Time           // end of each person's last active period
	noticed     map[string]map[string]struct{} // by person: requests they have noticed

	ended chan struct{} // closed when Run returns

	// The fields below belong to Run.
	loaded     int64                           // the term for which deliveries were read, 0 for none
	delivers   bool                            // whether this server sends alerts in this round
	missed     []transition                    // recent ones, recorded while another server sends alerts
	known      map[string]session.ProcessState // sessions with open requests, running, or dead for less than deadRetention
	lastSweep  time.Time                       // last call of dropDeadSessions and dropOldDeliveries
	owners     map[string]string
	readAt     time.Time // when targets, choices and languages were read
	targets    []Target
	choices    map[string]Choices
	languages  map[string]string // of people with targets
	deliveries map[string]Delivery
	sending    map[string]bool
	results    chan result
	serverID   string    // under which shared is stored
	shared     []Seen    // the presence on this server, as last stored for the others
	renewAt    time.Time // when shared must be stored again
	elsewhere  []Seen    // what people see on other servers
}

type result struct {
	d   Delivery
	err error
}

// transition is a change of a session's state.
type transition struct {
	before, now session.ProcessState
	at          time.Time
}

// New returns an alerter, which does nothing until Run is called. The error names a missing
// option.
func New(o Options) (*Alerter, error) {
	if err := options.Check("alert", o); err != nil {
		return nil, err
	}
	return &Alerter{
		o: o, http: newHTTP(o.Private), wake: make(chan struct{}, 1),
		changed: map[string]struct{}{}, stale: true, tabs: map[Tab]*watcher{}, lastActive: map[string]time.Time{},
		noticed: map[string]map[string]struct{}{}, ended: make(chan struct{}),
		known: map[string]session.ProcessState{}, owners: map[string]string{}, choices: map[string]Choices{},
		deliveries: map[string]Delivery{}, sending: map[string]bool{}, results: make(chan result, maxConcurrentSends),
		serverID: uuid.NewString(),
	}, nil
}

// Touch marks a session as changed.
func (a *Alerter) Touch(sessionID string) {
	a.mu.Lock()
	a.changed[sessionID] = struct{}{}
	due := a.wakePending
	a.wakePending = true
	a.mu.Unlock()
	if !due {
		time.AfterFunc(notifyDelay, a.wakeRun)
	}
}

// TouchAll marks every session that the alerter knows as changed.
func (a *Alerter) TouchAll() {
	a.mu.Lock()
	a.allChanged = true
	a.mu.Unlock()
	a.wakeRun()
}

func (a *Alerter) wakeRun() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Refresh makes Run read choices and targets again. Call it after another server changed
// them.
func (a *Alerter) Refresh() { a.refresh() }

func (a *Alerter) refresh() {
	a.mu.Lock()
	a.stale = true
	a.mu.Unlock()
	a.wakeRun()
}

// Deliver makes Run send alerts until ctx ends, and returns when no send is in flight any more.
// Run must be running. term is the term of the lease that lets this server send alerts. Deliver
// is a [job.Job].
func (a *Alerter) Deliver(ctx context.Context, term int64) error {
	a.mu.Lock()
	a.term = term
	a.mu.Unlock()
	a.wakeRun()
	<-ctx.Done()
	idle := make(chan struct{})
	a.mu.Lock()
	a.term, a.idle = 0, idle
	a.mu.Unlock()
	a.wakeRun()
	select {
	case <-idle:
	case <-a.ended:
	}
	return nil
}

// Run shows toasts, and sends alerts while Deliver runs, until ctx ends. It can run once.
func (a *Alerter) Run(ctx context.Context) error {
	defer close(a.ended)
	// Sends in flight may finish, so that the next server need not repeat them, but no longer
	// than shutdownTimeout.
	sendCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var sends sync.WaitGroup
	ready := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		next, err := a.sharePresence(ctx, time.Now())
		if err == nil && !ready {
			err = a.loadActive(ctx)
			ready = err == nil
		}
		if err == nil {
			err = a.followTerm(ctx)
		}
		if err == nil {
			var due time.Time
			if due, err = a.sendDue(ctx, sendCtx, time.Now(), &sends); next.IsZero() || !due.IsZero() && due.Before(next) {
				next = due
			}
		}
		if err != nil && ctx.Err() == nil {
			a.o.Log.WarnContext(ctx, "cannot send alerts; trying again", "error", err)
			next = time.Now().Add(storeRetryDelay)
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(0, time.Until(next)))
		}
		select {
		case <-ctx.Done():
		case <-a.wake:
		case <-timer.C:
		case r := <-a.results:
			a.recordResult(ctx, r, time.Now())
		}
	}
	giveUp := time.AfterFunc(shutdownTimeout, stop)
	defer giveUp.Stop()
	a.endPresence(sendCtx)
	sends.Wait()
	for len(a.results) > 0 {
		a.recordResult(context.WithoutCancel(ctx), <-a.results, time.Now())
	}
	return nil
}

// loadActive marks the sessions that run or have open requests as changed.
func (a *Alerter) loadActive(ctx context.Context) error {
	active, err := a.o.Active(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range active {
		a.changed[s.SessionID] = struct{}{}
	}
	return nil
}

// missedSpan is how long a server remembers transitions while another one sends alerts: longer
// than it takes to elect another leader.
const missedSpan = 30 * time.Second

// followTerm starts and stops sending alerts when Deliver has started or ended. It starts a new
// term only after the sends in flight have finished.
func (a *Alerter) followTerm(ctx context.Context) error {
	a.mu.Lock()
	term := a.term
	if a.idle != nil && len(a.sending) == 0 {
		close(a.idle)
		a.idle = nil
	}
	a.mu.Unlock()
	a.delivers = term != 0 && term == a.loaded
	if term == a.loaded || len(a.sending) > 0 {
		return nil
	}
	clear(a.deliveries)
	a.loaded = 0
	if term == 0 {
		return nil
	}
	if err := a.loadDeliveries(ctx); err != nil {
		return err
	}
	a.refresh() // another server may have stored other targets and choices
	a.loaded, a.delivers = term, true
	return nil
}

// loadDeliveries deletes old deliveries and reads the rest, which other servers may have stored.
func (a *Alerter) loadDeliveries(ctx context.Context) error {
	if err := a.o.Store.ForgetDeliveries(ctx, time.Now().Add(-deliveryRetention)); err != nil {
		return err
	}
	list, err := a.o.Store.Deliveries(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.mayHaveBeenSent() && d.Attempts >= maxAttempts {
			d.State = Sent // the result is unknown; do not retry forever
		}
		a.deliveries[d.DeliveryID] = d
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// Requests may have been answered while no server ran, so their alerts must be closed.
	for _, d := range list {
		a.changed[d.SessionID] = struct{}{}
	}
	delete(a.changed, "")
	return nil
}

// sendDue plans what is due, sends it, and returns when to run next.
func (a *Alerter) sendDue(ctx, sendCtx context.Context, now time.Time, sends *sync.WaitGroup) (next time.Time, err error) {
	if err := a.readPresence(ctx); err != nil {
		return time.Time{}, err
	}
	if err := a.readChanges(ctx, now); err != nil {
		return time.Time{}, err
	}
	people, err := a.o.People(ctx)
	if err != nil {
		return time.Time{}, err
	}
	p := plan{a: a, now: now, requests: a.openRequests(), attention: a.attentionByUser(a.elsewhere), toasts: map[string][]openRequest{}}
	if len(p.requests) > 0 && slices.ContainsFunc(a.elsewhere, func(s Seen) bool { return s.Active }) {
		p.wakeAt(now.Add(grace)) // this server is not notified when they look away
	}
	for _, person := range people {
		p.planPerson(person)
	}
	if a.delivers {
		p.planServer()
		p.planClosings()
	}
	a.updateToasts(p.toasts)
	a.forgetClosed(p.requests)
	if now.Sub(a.lastSweep) >= deadRetention {
		a.lastSweep = now
		a.dropDeadSessions(now)
		a.dropOldDeliveries(ctx, now, p.requests)
	}
	for _, d := range p.deliveries {
		if err := a.storeDelivery(ctx, d); err != nil {
			return time.Time{}, err
		}
	}
	if !a.delivers {
		return p.next, nil
	}
	for _, d := range slices.SortedFunc(maps.Values(a.deliveries), compareAge) {
		if d.State != Queued || a.sending[d.DeliveryID] {
			continue
		}
		if d.DueAt.After(now) {
			p.wakeAt(d.DueAt)
			continue
		}
		if len(a.sending) >= maxConcurrentSends {
			break // a result wakes Run
		}
		t, m, ok := a.compose(d)
		if !ok {
			d.State = Dropped
			if err := a.storeDelivery(ctx, d); err != nil {
				return time.Time{}, err
			}
			continue
		}
		// Store the attempt before making it: a server that dies meanwhile may have sent the
		// alert, and one that dies at each attempt must not retry forever.
		d.Attempts++
		d.SentAt = now
		if err := a.storeDelivery(ctx, d); err != nil {
			return time.Time{}, err
		}
		if _, kept := a.deliveries[d.DeliveryID]; !kept {
			continue
		}
		a.sending[d.DeliveryID] = true
		sends.Go(func() {
			start := time.Now()
			err := a.send(sendCtx, t, d, m)
			if a.o.OnSent != nil {
				a.o.OnSent(time.Since(start), err)
			}
			a.results <- result{d, err}
		})
	}
	return p.next, nil
}

// deadRetention is how long a dead session without open requests is remembered, so that its
// alerts can be sent.
const deadRetention = 10 * time.Minute

// dropDeadSessions drops dead sessions without open requests, queued alerts or alerts about several
// requests that are still shown, and their deliveries.
func (a *Alerter) dropDeadSessions(now time.Time) {
	bySession := map[string][]Delivery{}
	for _, d := range a.deliveries {
		bySession[d.SessionID] = append(bySession[d.SessionID], d)
	}
	for id, s := range a.known {
		if s.State != session.Dead || len(s.Requests) > 0 || now.Sub(s.StateChangedAt) < deadRetention ||
			slices.ContainsFunc(bySession[id], func(d Delivery) bool {
				return d.State == Queued || a.sending[d.DeliveryID] || a.isShownFold(d)
			}) {
			continue
		}
		for _, d := range bySession[id] {
			delete(a.deliveries, d.DeliveryID)
		}
		delete(a.known, id)
		delete(a.owners, id)
	}
}

// isShownFold reports whether a delivery is an alert about several requests that must still be closed:
// it has the session of one of them, and the others may be of other sessions.
func (a *Alerter) isShownFold(d Delivery) bool {
	if d.Step != Fold || d.State != Sent {
		return false
	}
	_, closed := a.deliveries[closingID(d)]
	return !closed
}

// dropOldDeliveries deletes deliveries after deliveryRetention, and keeps those in memory without which
// an alert would be repeated or not be closed.
func (a *Alerter) dropOldDeliveries(ctx context.Context, now time.Time, open []openRequest) {
	if !a.delivers {
		return
	}
	before := now.Add(-deliveryRetention)
	if err := a.o.Store.ForgetDeliveries(ctx, before); err != nil {
		a.o.Log.WarnContext(ctx, "cannot delete old alerts; trying again later", "error", err)
		return
	}
	isOpen := make(map[string]bool, len(open))
	for _, w := range open {
		isOpen[w.r.RequestID] = true
	}
	var old []string // deleted together: without its Close, a Fold would be closed again
	for id, d := range a.deliveries {
		if d.CreatedAt.Before(before) && d.State != Queued && !a.sending[id] && !isOpen[d.RequestID] && !a.isShownFold(d) {
			old = append(old, id)
		}
	}
	for _, id := range old {
		delete(a.deliveries, id)
	}
}

func compareAge(x, y Delivery) int {
	if c := x.CreatedAt.Compare(y.CreatedAt); c != 0 {
		return c
	}
	return slices.Compare([]byte(x.DeliveryID), []byte(y.DeliveryID))
}

// storeDelivery stores a delivery and then updates it in memory.
func (a *Alerter) storeDelivery(ctx context.Context, d Delivery) error {
	err := a.o.Store.PutDelivery(ctx, d, a.loaded)
	if errors.Is(err, ErrNotFound) {
		delete(a.deliveries, d.DeliveryID) // its target was removed meanwhile
		a.refresh()
		return nil
	}
	if err == nil {
		a.deliveries[d.DeliveryID] = d
	}
	return err
}

// readChanges reads changed sessions, targets and choices.
func (a *Alerter) readChanges(ctx context.Context, now time.Time) (err error) {
	a.mu.Lock()
	// Other servers may have stored other targets and choices.
	changed, stale := a.changed, a.stale || a.o.Presence != nil && now.Sub(a.readAt) >= presenceRenewal
	if a.allChanged {
		for id := range a.known {
			changed[id] = struct{}{}
		}
	}
	a.changed, a.wakePending, a.allChanged, a.stale = map[string]struct{}{}, false, false, false
	a.mu.Unlock()
	defer func() {
		if err != nil { // try again in the next round
			a.mu.Lock()
			maps.Copy(a.changed, changed)
			a.stale = a.stale || stale
			a.mu.Unlock()
		}
	}()
	if stale {
		targets, err := a.o.Store.Targets(ctx)
		if err != nil {
			return err
		}
		stored, err := a.o.Store.Choices(ctx)
		if err != nil {
			return err
		}
		a.targets, a.choices = targets, map[string]Choices{}
		for id, c := range stored {
			a.choices[id] = readChoices(c)
		}
		if a.languages, err = a.readLanguages(ctx, targets); err != nil {
			return err
		}
		a.readAt = now
		for id, d := range a.deliveries {
			if !slices.ContainsFunc(targets, func(t Target) bool { return t.TargetID == d.TargetID }) {
				delete(a.deliveries, id)
			}
		}
	}
	if a.delivers { // transitions since the previous sender of alerts ended
		for len(a.missed) > 0 {
			if m := a.missed[0]; now.Sub(m.at) < missedSpan {
				if err := a.queueStateAlerts(ctx, m.before, m.now, now); err != nil {
					return err
				}
			}
			a.missed = a.missed[1:]
		}
	}
	for id := range changed {
		s, err := a.o.State(ctx, id)
		if errors.Is(err, session.ErrNotFound) {
			delete(a.known, id)
			delete(a.owners, id)
			continue
		}
		if err != nil {
			return err
		}
		if _, known := a.owners[id]; !known {
			owner, err := a.o.Owner(ctx, id)
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				return err
			}
			a.owners[id] = owner
		}
		before, seen := a.known[id]
		switch {
		case !seen:
		case a.delivers:
			if err := a.queueStateAlerts(ctx, before, s, now); err != nil {
				return err
			}
		case before.State != s.State:
			a.missed = append(slices.DeleteFunc(a.missed, func(m transition) bool { return now.Sub(m.at) >= missedSpan }), transition{before, s, now})
		}
		a.known[id] = s
	}
	return nil
}

// readLanguages returns the language of each person who has a target.
func (a *Alerter) readLanguages(ctx context.Context, targets []Target) (map[string]string, error) {
	list := map[string]string{}
	for _, t := range targets {
		if _, known := list[t.UserID]; known || t.UserID == "" || a.o.Language == nil {
			continue
		}
		language, err := a.o.Language(ctx, t.UserID)
		if err != nil {
			return nil, err
		}
		list[t.UserID] = language
	}
	return list, nil
}

// languageFor returns the language of a person, or of the server for "".
func (a *Alerter) languageFor(userID string) string {
	if language := a.languages[userID]; language != "" {
		return language
	}
	return a.choicesFor(userID).Language
}

// choicesFor returns the choices of a person, or of the server for "".
func (a *Alerter) choicesFor(userID string) Choices {
	if c, ok := a.choices[userID]; ok {
		return c
	}
	return DefaultChoices()
}

// queueStateAlerts queues the alerts for a change of a session's state: a turn ended, or the
// process died by itself.
func (a *Alerter) queueStateAlerts(ctx context.Context, before, s session.ProcessState, now time.Time) error {
	var occasion Occasion
	switch {
	case before.State == s.State || s.Kind != session.Ours:
		return nil
	case s.State == session.UserTurn && before.State == session.AssistantTurn && len(s.Requests) == 0:
		occasion = Finished
	case s.State == session.Dead && s.Error != "":
		occasion = Died
	default:
		return nil
	}
	people, err := a.o.People(ctx)
	if err != nil {
		return err
	}
	queue := func(userID string) error {
		c := a.choicesFor(userID)
		if !c.Quiet.endsAt(now).IsZero() {
			return nil
		}
		for _, t := range a.targets {
			if t.UserID != userID || !c.wants(occasion, t.Way) {
				continue
			}
			d := Delivery{
				DeliveryID: deliveryID(t.TargetID, s.SessionID, string(occasion), fmt.Sprint(s.StateChangedAt.UnixMicro())), TargetID: t.TargetID,
				Occasion: occasion, Step: First, SessionID: s.SessionID, State: Queued, DueAt: now, CreatedAt: now,
			}
			if _, exists := a.deliveries[d.DeliveryID]; exists {
				continue
			}
			if err := a.storeDelivery(ctx, d); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range people {
		owner := a.owners[s.SessionID]
		if a.isActive(p.UserID) || !p.MayAnswer(s.SessionID) || owner != p.UserID && !a.choicesFor(p.UserID).AllSessions {
			continue
		}
		if err := queue(p.UserID); err != nil {
			return err
		}
	}
	return queue("")
}

// deliveryNamespace separates the ids of deliveries from all other version 5 UUIDs.
var deliveryNamespace = uuid.MustParse("c3c1d2a6-6c1f-5d0e-9a43-9d2a1f7b8e10")

func deliveryID(parts ...string) string {
	text, _ := json.Marshal(parts) // never fails for strings
	return uuid.NewSHA1(deliveryNamespace, text).String()
}

// recordResult stores the result of an attempt to send a delivery.
func (a *Alerter) recordResult(ctx context.Context, r result, now time.Time) {
	delete(a.sending, r.d.DeliveryID)
	if errors.Is(r.err, context.Canceled) {
		return // this server shuts down; the next one tries again
	}
	d, known := a.deliveries[r.d.DeliveryID]
	if !known {
		return
	}
	var refused *refusedError
	errors.As(r.err, &refused)
	failure := ""
	switch {
	case r.err == nil:
		d.State, d.SentAt = Sent, now
	case refused != nil && refused.isGone() && a.wayOf(d.TargetID) == Push:
		a.o.Log.InfoContext(ctx, "a browser no longer accepts alerts; removing it", "target", d.TargetID)
		if err := a.o.Store.DeleteTarget(ctx, d.TargetID, nil); err != nil && !errors.Is(err, ErrNotFound) {
			a.o.Log.WarnContext(ctx, "cannot remove a browser that accepts no alerts", "error", err)
		}
		delete(a.deliveries, d.DeliveryID)
		a.refresh()
		return
	case refused != nil && refused.isPermanent() && d.Step == Close && a.wayOf(d.TargetID) == Ntfy:
		d.State = Dropped // an ntfy server before 2.16 cannot clear messages
	default:
		d.SentAt = time.Time{}
		failure = failureMessage(r.err)
		pause := min(initialBackoff<<(d.Attempts-1), maxBackoff)
		var invalid *problem.Error
		if refused != nil && refused.isPermanent() || errors.As(r.err, &invalid) || errors.Is(r.err, ssrf.ErrPrivate) || d.Attempts >= maxAttempts {
			d.State = Failed
		} else if refused != nil {
			pause = max(pause, refused.retryAfter)
		}
		d.DueAt = now.Add(pause)
		a.o.Log.WarnContext(ctx, "cannot deliver an alert", "target", d.TargetID, "attempt", d.Attempts, "given_up", d.State == Failed, "error", r.err)
	}
	if err := a.storeDelivery(ctx, d); err != nil {
		a.o.Log.WarnContext(ctx, "cannot store the result of an alert", "error", err)
		a.deliveries[d.DeliveryID] = d
	}
	sentAt := time.Time{}
	if r.err == nil {
		sentAt = now
	}
	if err := a.o.Store.MarkTarget(ctx, d.TargetID, sentAt, failure); err != nil && !errors.Is(err, ErrNotFound) {
		a.o.Log.WarnContext(ctx, "cannot store the result of an alert", "error", err)
	}
}

// failureMessage returns the message that tells people why an attempt failed, without the address.
func failureMessage(err error) string {
	var refused *refusedError
	var invalid *problem.Error
	switch {
	case errors.As(err, &refused):
		return statement.New("target_status", "status", refused.status, "text", http.StatusText(refused.status))
	case errors.As(err, &invalid):
		return invalid.Message
	case errors.Is(err, ssrf.ErrPrivate):
		return problem.New("url_private").Message
	case errors.Is(err, context.DeadlineExceeded):
		return statement.New("target_slow")
	}
	return statement.New("target_unreachable")
}

func (a *Alerter) wayOf(targetID string) Way {
	for _, t := range a.targets {
		if t.TargetID == targetID {
			return t.Way
		}
	}
	return ""
}
