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

// Times and numbers of an [Alerter].
const (
	// grace is how long nobody must have looked before anybody is told.
	grace = 5 * time.Second
	// notifyDelay is how long after a notification the alerter reads: nobody is told
	// sooner than grace, and the change is on its way to tabs and Claude meanwhile.
	notifyDelay = 100 * time.Millisecond
	// Of more than burst alerts within burstSpan one is made.
	burst     = 3
	burstSpan = 10 * time.Second

	maxConcurrentSends = 8
	mostAttempts       = 8                // then a delivery has failed
	firstPause         = 5 * time.Second  // after a failure, doubled each time
	longestPause       = 10 * time.Minute //
	retryStore         = 5 * time.Second  // after the store failed
	lastSends          = 3 * time.Second  // for what is under way when the server stops
	remembered         = 7 * 24 * time.Hour
	maxTargets         = 20 // of one person
	minSecret          = 16 // bytes, of a webhook
)

// Person is somebody who may be told.
type Person struct {
	UserID string
	// MayAnswer says whether requests of a session are theirs to answer.
	MayAnswer func(sessionID string) bool
}

// Options configures an [Alerter]. Language and OnSent may be nil; the rest is required.
type Options struct {
	Store Store
	// Active lists what runs or waits, State is one of it; see session.Store.
	Active func(ctx context.Context) ([]session.ProcessState, error)
	State  func(ctx context.Context, sessionID string) (session.ProcessState, error)
	Owner  func(ctx context.Context, sessionID string) (userID string, err error)
	People func(ctx context.Context) ([]Person, error)
	// Language returns the language that a person reads, or "" when it is unknown. Then,
	// and when Language is nil, it is that of their choices.
	Language func(ctx context.Context, userID string) (string, error) `optional:"true"`
	Key      *Key
	// PublicURL is where links in alerts lead.
	PublicURL string
	// Private allows addresses of this machine and of private networks.
	Private bool
	// OnSent is told how long each attempt to deliver an alert took, and its error. It
	// may be called concurrently, and must not block. It may be nil.
	OnSent func(took time.Duration, err error) `optional:"true"`
	Log    *slog.Logger
}

// An Alerter decides who is told, and tells them, while Run does. Its other
// methods may be called from any goroutine and, but for those that take a
// context, never block.
type Alerter struct {
	o    Options
	http *http.Client
	wake chan struct{} // capacity 1

	mu         sync.Mutex // never held over I/O
	changed    map[string]struct{}
	due        bool // Run will be woken for what changed
	stale      bool // targets or choices changed
	tabs       map[Tab]*watcher
	lastActive map[string]time.Time           // when a person looked last
	noticed    map[string]map[string]struct{} // by person: requests of which they know

	// Run's own.
	known      map[string]session.ProcessState // sessions with open requests, that run, or that ran a moment ago
	swept      time.Time                       // when forgetDead was last called
	owners     map[string]string
	targets    []Target
	choices    map[string]Choices
	languages  map[string]string // of people with targets
	deliveries map[string]Delivery
	sending    map[string]bool
	results    chan result
}

type result struct {
	d   Delivery
	err error
}

// New returns an alerter, which alerts while Run does. The error names an option that is
// missing.
func New(o Options) (*Alerter, error) {
	if err := options.Check("alert", o); err != nil {
		return nil, err
	}
	return &Alerter{
		o: o, http: newHTTP(o.Private), wake: make(chan struct{}, 1),
		changed: map[string]struct{}{}, stale: true, tabs: map[Tab]*watcher{}, lastActive: map[string]time.Time{},
		noticed: map[string]map[string]struct{}{},
		known:   map[string]session.ProcessState{}, owners: map[string]string{}, choices: map[string]Choices{},
		deliveries: map[string]Delivery{}, sending: map[string]bool{}, results: make(chan result, maxConcurrentSends),
	}, nil
}

// Touch says that a session changed.
func (a *Alerter) Touch(sessionID string) {
	a.mu.Lock()
	a.changed[sessionID] = struct{}{}
	due := a.due
	a.due = true
	a.mu.Unlock()
	if !due {
		time.AfterFunc(notifyDelay, a.wakeRun)
	}
}

func (a *Alerter) wakeRun() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Refresh makes Run read again what people chose; for when it was changed elsewhere.
func (a *Alerter) Refresh() { a.refresh() }

// refresh makes Run read targets and choices again.
func (a *Alerter) refresh() {
	a.mu.Lock()
	a.stale = true
	a.mu.Unlock()
	a.wakeRun()
}

// Run tells people until ctx ends. It can run once.
func (a *Alerter) Run(ctx context.Context) error {
	// What was begun is brought to its end, so that the next server need not send
	// it again; a place that takes its time is not waited for.
	sends, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var senders sync.WaitGroup
	ready := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		var next time.Time
		var err error
		if !ready {
			err = a.load(ctx)
			ready = err == nil
		}
		if err == nil {
			next, err = a.round(ctx, sends, time.Now(), &senders)
		}
		if err != nil && ctx.Err() == nil {
			a.o.Log.WarnContext(ctx, "alerts have to wait", "error", err)
			next = time.Now().Add(retryStore)
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
			a.settle(ctx, r, time.Now())
		}
	}
	impatient := time.AfterFunc(lastSends, stop)
	defer impatient.Stop()
	senders.Wait()
	for len(a.results) > 0 {
		a.settle(context.WithoutCancel(ctx), <-a.results, time.Now())
	}
	return nil
}

// load reads what an earlier server left.
func (a *Alerter) load(ctx context.Context) error {
	if err := a.o.Store.ForgetDeliveries(ctx, time.Now().Add(-remembered)); err != nil {
		return err
	}
	list, err := a.o.Store.Deliveries(ctx)
	if err != nil {
		return err
	}
	active, err := a.o.Active(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.begun() && d.Attempts >= mostAttempts {
			d.State = Sent // as far as anybody can know
		}
		a.deliveries[d.DeliveryID] = d
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range active {
		a.changed[s.SessionID] = struct{}{}
	}
	// What was told of and was answered while nobody was there is looked at too.
	for _, d := range list {
		a.changed[d.SessionID] = struct{}{}
	}
	delete(a.changed, "")
	return nil
}

// round plans what is due, sends it, and says when to look again.
func (a *Alerter) round(ctx, sends context.Context, now time.Time, senders *sync.WaitGroup) (next time.Time, err error) {
	if err := a.read(ctx, now); err != nil {
		return time.Time{}, err
	}
	people, err := a.o.People(ctx)
	if err != nil {
		return time.Time{}, err
	}
	p := plan{a: a, now: now, waits: a.waits(), attention: a.attentionByUser(), toasts: map[string][]waiting{}}
	for _, person := range people {
		p.person(person)
	}
	p.server()
	p.closings()
	a.toast(p.toasts)
	a.forget(p.waits)
	if now.Sub(a.swept) >= keepDead {
		a.swept = now
		a.forgetDead(now)
	}
	for _, d := range p.made {
		if err := a.keep(ctx, d); err != nil {
			return time.Time{}, err
		}
	}
	for _, d := range slices.SortedFunc(maps.Values(a.deliveries), older) {
		if d.State != Queued || a.sending[d.DeliveryID] {
			continue
		}
		if d.DueAt.After(now) {
			p.at(d.DueAt)
			continue
		}
		if len(a.sending) >= maxConcurrentSends {
			break // a result wakes Run
		}
		t, m, ok := a.compose(d)
		if !ok {
			d.State = Dropped
			if err := a.keep(ctx, d); err != nil {
				return time.Time{}, err
			}
			continue
		}
		// That it is tried is noted before: a server that dies meanwhile may have told
		// of it, and one that dies each time does not try for ever.
		d.Attempts++
		d.SentAt = now
		if err := a.keep(ctx, d); err != nil {
			return time.Time{}, err
		}
		if _, kept := a.deliveries[d.DeliveryID]; !kept {
			continue
		}
		a.sending[d.DeliveryID] = true
		senders.Go(func() {
			start := time.Now()
			err := a.send(sends, t, d, m)
			if a.o.OnSent != nil {
				a.o.OnSent(time.Since(start), err)
			}
			a.results <- result{d, err}
		})
	}
	return p.next, nil
}

// keepDead is how long a dead session is known that has nothing open: until then alerts of
// it are sent.
const keepDead = 10 * time.Minute

// forgetDead drops dead sessions that have nothing open and of which nothing is to be
// told, with what was told of them.
func (a *Alerter) forgetDead(now time.Time) {
	of := map[string][]Delivery{}
	for _, d := range a.deliveries {
		of[d.SessionID] = append(of[d.SessionID], d)
	}
	for id, s := range a.known {
		if s.State != session.Dead || len(s.Requests) > 0 || now.Sub(s.StateChangedAt) < keepDead ||
			slices.ContainsFunc(of[id], func(d Delivery) bool { return d.State == Queued || a.sending[d.DeliveryID] }) {
			continue
		}
		for _, d := range of[id] {
			delete(a.deliveries, d.DeliveryID)
		}
		delete(a.known, id)
		delete(a.owners, id)
	}
}

func older(x, y Delivery) int {
	if c := x.CreatedAt.Compare(y.CreatedAt); c != 0 {
		return c
	}
	return slices.Compare([]byte(x.DeliveryID), []byte(y.DeliveryID))
}

// keep stores a delivery, then goes by it.
func (a *Alerter) keep(ctx context.Context, d Delivery) error {
	err := a.o.Store.PutDelivery(ctx, d)
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

// read takes in what changed: bells, targets, choices.
func (a *Alerter) read(ctx context.Context, now time.Time) (err error) {
	a.mu.Lock()
	changed, stale := a.changed, a.stale
	a.changed, a.due, a.stale = map[string]struct{}{}, false, false
	a.mu.Unlock()
	defer func() {
		if err != nil { // again the next time
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
		for id, d := range a.deliveries {
			if !slices.ContainsFunc(targets, func(t Target) bool { return t.TargetID == d.TargetID }) {
				delete(a.deliveries, id)
			}
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
		a.known[id] = s
		if seen {
			if err := a.passed(ctx, before, s, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLanguages asks for the language of each person who has a target.
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

// languageOf is the one in which a person is told, or for "" that of the server.
func (a *Alerter) languageOf(userID string) string {
	if language := a.languages[userID]; language != "" {
		return language
	}
	return a.choicesOf(userID).Language
}

// choicesOf are those of a person, or of the server for "".
func (a *Alerter) choicesOf(userID string) Choices {
	if c, ok := a.choices[userID]; ok {
		return c
	}
	return DefaultChoices()
}

// passed tells of what a session has become, once: that a turn ended or that its
// process died by itself.
func (a *Alerter) passed(ctx context.Context, before, s session.ProcessState, now time.Time) error {
	var what Occasion
	switch {
	case before.State == s.State || s.Kind != session.Ours:
		return nil
	case s.State == session.UserTurn && before.State == session.AssistantTurn && len(s.Requests) == 0:
		what = Finished
	case s.State == session.Dead && s.Error != "":
		what = Died
	default:
		return nil
	}
	people, err := a.o.People(ctx)
	if err != nil {
		return err
	}
	tell := func(userID string) error {
		c := a.choicesOf(userID)
		if !c.Quiet.until(now).IsZero() {
			return nil
		}
		for _, t := range a.targets {
			if t.UserID != userID || !c.wants(what, t.Way) {
				continue
			}
			d := Delivery{
				DeliveryID: deliveryID(t.TargetID, s.SessionID, string(what), fmt.Sprint(s.StateChangedAt.UnixMicro())), TargetID: t.TargetID,
				Occasion: what, Step: First, SessionID: s.SessionID, State: Queued, DueAt: now, CreatedAt: now,
			}
			if _, told := a.deliveries[d.DeliveryID]; told {
				continue
			}
			if err := a.keep(ctx, d); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range people {
		owner := a.owners[s.SessionID]
		if a.isActive(p.UserID) || !p.MayAnswer(s.SessionID) || owner != p.UserID && !a.choicesOf(p.UserID).AllSessions {
			continue
		}
		if err := tell(p.UserID); err != nil {
			return err
		}
	}
	return tell("")
}

// deliveryNamespace keeps the ids of deliveries apart from all other UUIDv5.
var deliveryNamespace = uuid.MustParse("c3c1d2a6-6c1f-5d0e-9a43-9d2a1f7b8e10")

func deliveryID(parts ...string) string {
	text, _ := json.Marshal(parts) // of strings it never fails
	return uuid.NewSHA1(deliveryNamespace, text).String()
}

// settle notes what became of a delivery.
func (a *Alerter) settle(ctx context.Context, r result, now time.Time) {
	delete(a.sending, r.d.DeliveryID)
	if errors.Is(r.err, context.Canceled) {
		return // as if the server had died: the next one cannot know either
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
	case refused != nil && refused.gone() && a.wayOf(d.TargetID) == Push:
		a.o.Log.InfoContext(ctx, "a browser no longer takes alerts, so it is forgotten", "target", d.TargetID)
		if err := a.o.Store.DeleteTarget(ctx, d.TargetID, nil); err != nil && !errors.Is(err, ErrNotFound) {
			a.o.Log.WarnContext(ctx, "cannot forget a browser that takes no alerts", "error", err)
		}
		delete(a.deliveries, d.DeliveryID)
		a.refresh()
		return
	case refused != nil && refused.final() && d.Step == Close && a.wayOf(d.TargetID) == Ntfy:
		d.State = Dropped // it is too old to take anything back
	default:
		d.SentAt = time.Time{}
		failure = failureOf(r.err)
		pause := min(firstPause<<(d.Attempts-1), longestPause)
		var invalid *problem.Error
		if refused != nil && refused.final() || errors.As(r.err, &invalid) || errors.Is(r.err, ssrf.ErrPrivate) || d.Attempts >= mostAttempts {
			d.State = Failed
		} else if refused != nil {
			pause = max(pause, refused.again)
		}
		d.DueAt = now.Add(pause)
		a.o.Log.WarnContext(ctx, "an alert was not taken", "target", d.TargetID, "attempt", d.Attempts, "given_up", d.State == Failed, "error", r.err)
	}
	if err := a.keep(ctx, d); err != nil {
		a.o.Log.WarnContext(ctx, "cannot note what became of an alert", "error", err)
		a.deliveries[d.DeliveryID] = d
	}
	sentAt := time.Time{}
	if r.err == nil {
		sentAt = now
	}
	if err := a.o.Store.MarkTarget(ctx, d.TargetID, sentAt, failure); err != nil && !errors.Is(err, ErrNotFound) {
		a.o.Log.WarnContext(ctx, "cannot note what became of an alert", "error", err)
	}
}

// failureOf is a sentence for people, without the address.
func failureOf(err error) string {
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
