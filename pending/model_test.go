package pending_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

// TestRequestsBehaveAsTheirModel runs random sequences of everything that can
// happen to a request against a map, and looks after each step:
//
//	I1  a resolution, once there, never changes,
//	I2  what an Ask returns is what is stored,
//	I3  an answer that was reported as applied is stored, and no other,
//	I4  what can be answered is listed, oldest first, and nothing else is,
//
// and that an Ask waits exactly as long as its row is open, and that no change
// goes without a notification.
func TestRequestsBehaveAsTheirModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Wrapped, because rapid asks a *testing.T for its deadline, which is not
		// to be had in a bubble.
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			m := &model{ctx: t.Context(), store: pendingtest.NewStore(), rows: map[string]*modelRow{},
				first: map[string]pending.Request{}, versions: map[string]uint64{}, notified: map[string]int{}}
			m.restart(rt)
			defer m.close()
			rt.Repeat(map[string]func(*rapid.T){
				"ask":         m.ask,
				"answer":      m.answer,
				"elsewhere":   m.answerElsewhere,
				"withdraw":    m.withdraw,
				"withdrawAll": m.withdrawAll,
				"orphan":      m.orphan,
				"cancel":      m.cancel,
				"sleep":       m.sleep,
				"restart":     m.restart,
				"extend":      m.extend,
				"undo":        m.undo,
				"":            m.check,
			})
		})
	})
}

// model is what ought to be, beside what is.
type model struct {
	ctx      context.Context
	store    *pendingtest.Store
	node     node
	rows     map[string]*modelRow
	order    []string                   // ids as opened
	first    map[string]pending.Request // as first seen resolved
	versions map[string]uint64          // of each session, at the last check
	notified map[string]int
	stop     func() // ends the node's watch over what is held
}

type modelRow struct {
	status    pending.Status
	commandID string // that resolved it
	userID    string
	expiresAt time.Time
	held      *pending.Submission // that counts at heldUntil
	heldUntil time.Time
	takenBack map[string]bool // commands
	asks      []*asked        // that wait
	over      []*asked        // that must have returned the resolution without an error
}

var modelIDs = []string{"r0", "r1", "r2", "r3"}

// sessionOf spreads the requests over two sessions.
func sessionOf(id string) string { return "s" + string(id[1]%2+'0') }

func (m *model) anyID(t *rapid.T) string { return rapid.SampledFrom(modelIDs).Draw(t, "id") }

// resolve is the compare-and-set of the model.
func (m *model) resolve(r *modelRow, status pending.Status, commandID, userID string) {
	r.status, r.commandID, r.userID = status, commandID, userID
	r.held = nil
	r.over = append(r.over, r.asks...)
	r.asks = nil
}

func (m *model) request(id string, expiresAt time.Time) pending.Request {
	r := bash(id, sessionOf(id))
	r.ToolInput = []byte(fmt.Sprintf(`{"command":%q}`, id))
	r.ExpiresAt = expiresAt
	return r
}

func (m *model) ask(t *rapid.T) {
	id := m.anyID(t)
	var expiresAt time.Time
	if rapid.Bool().Draw(t, "expires") {
		expiresAt = time.Now().Add(time.Second)
	}
	fault := rapid.SampledFrom([]pendingtest.Fault{pendingtest.None, pendingtest.None, pendingtest.Fail, pendingtest.FailAfterCommit}).Draw(t, "fault")
	m.pass(time.Millisecond) // no two of one instant: the order is theirs
	m.inject(pendingtest.OpOpen, fault)
	a := m.node.ask(m.ctx, m.request(id, expiresAt))
	synctest.Wait()
	m.store.Inject(nil)
	r := m.rows[id]
	switch {
	case r == nil && fault == pendingtest.Fail:
		if _, err := a.result(); !errors.Is(err, pendingtest.ErrFault) {
			t.Fatalf("a question that was not stored: got %v", err)
		}
		return
	case r == nil:
		r = &modelRow{status: pending.Open, expiresAt: expiresAt}
		m.rows[id] = r
		m.order = append(m.order, id)
	case !r.status.Final() && !r.expiresAt.IsZero() && !time.Now().Before(r.expiresAt):
		m.resolve(r, pending.Expired, "", "") // nobody was there to see it pass
	}
	if r.status.Final() {
		r.over = append(r.over, a)
		return
	}
	r.asks = append(r.asks, a)
}

func (m *model) inject(at pendingtest.Op, fault pendingtest.Fault) {
	m.store.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
		if op == at {
			return fault
		}
		return pendingtest.None
	})
}

func (m *model) submission(t *rapid.T, id string) pending.Submission {
	s := allow(id, sessionOf(id), fmt.Sprintf("c-%s-%d", id, rapid.IntRange(0, 2).Draw(t, "command")))
	if rapid.Bool().Draw(t, "deny") {
		s.Decision, s.Message = pending.Deny, "no"
	}
	if rapid.Bool().Draw(t, "bob") {
		s.Actor = bob
	}
	return s
}

func (m *model) answer(t *rapid.T) {
	id := m.anyID(t)
	s := m.submission(t, id)
	kind := rapid.SampledFrom([]string{"good", "good", "good", "other session", "stale", "invalid"}).Draw(t, "kind")
	switch kind {
	case "other session":
		s.SessionID = "s9"
	case "stale":
		s.InputHash = pending.HashInput([]byte(`{"command":"other"}`))
	case "invalid":
		s.UpdatedInput = []byte(`{"more":1}`)
		s.Decision, s.Message = pending.Allow, ""
	}
	fault := rapid.SampledFrom([]pendingtest.Fault{pendingtest.None, pendingtest.None, pendingtest.Fail, pendingtest.FailAfterCommit}).Draw(t, "fault")
	m.inject(pendingtest.OpResolve, fault)
	if rapid.Bool().Draw(t, "held") {
		// Never at the very instant of a deadline.
		s.Hold = time.Duration(rapid.IntRange(1, 1200).Draw(t, "hold"))*time.Millisecond + 500*time.Microsecond
		m.inject(pendingtest.OpHold, fault)
	}
	now, err := m.node.Answer(m.ctx, s)
	m.store.Inject(nil)
	synctest.Wait()
	r := m.rows[id]
	until := time.Now().Add(s.Hold)
	overrules := r.overruledBy(s)
	if r != nil && (s.Hold == 0 || overrules || !r.expiresAt.IsZero() && !until.Before(r.expiresAt)) {
		until = time.Time{}
		if s.Hold > 0 && fault != pendingtest.None {
			fault = pendingtest.None // it was in the way of a hold, which there is none of
		}
	}
	switch {
	case r == nil || kind == "other session":
		m.want(t, err, pending.ErrNotFound)
	case r.status.Final() && r.commandID == s.CommandID && r.userID == s.Actor.UserID:
		m.want(t, err, nil)
	case r.status.Final():
		m.want(t, err, pending.ErrNotOpen)
		var notOpen *pending.NotOpenError
		if !errors.As(err, &notOpen) || notOpen.Request.Status != r.status || now.Status != r.status {
			t.Fatalf("told %+v and %s, want %s", notOpen, now.Status, r.status)
		}
	case r.takenBack[s.CommandID]:
		m.want(t, err, pending.ErrUndone)
	case r.held != nil && !overrules && (r.held.CommandID != s.CommandID || r.held.Actor.UserID != s.Actor.UserID):
		var other *pending.HeldError
		if !errors.As(err, &other) || other.Held.Actor != r.held.Actor {
			t.Fatalf("told %v, want that %s holds it", err, r.held.Actor.Name)
		}
	case r.held != nil && !overrules:
		m.want(t, err, nil)
	case kind == "stale":
		m.want(t, err, pending.ErrStale)
	case kind == "invalid":
		m.want(t, err, pending.ErrInvalid)
	case fault == pendingtest.Fail:
		m.want(t, err, pendingtest.ErrFault)
	case !until.IsZero():
		m.want(t, err, nil)
		r.held, r.heldUntil = &s, until
	default:
		m.want(t, err, nil)
		m.answered(r, s)
	}
	if err == nil && r.held != nil {
		if !now.Held.Active() || now.Held.CommandID != s.CommandID || now.Status.Final() {
			t.Fatalf("I3: applied, but the row holds %+v", now.Held)
		}
		return
	}
	if err == nil && (now.Resolution == nil || now.Resolution.CommandID != s.CommandID || now.Resolution.Actor != s.Actor) {
		t.Fatalf("I3: applied, but the row ended with %+v", now.Resolution)
	}
}

// overruledBy reports whether an answer denies what somebody else, or another command,
// holds an approval of: it counts at once and ends the hold.
func (r *modelRow) overruledBy(s pending.Submission) bool {
	return r != nil && r.held != nil && !r.takenBack[s.CommandID] && r.held.Decision == pending.Allow && s.Decision == pending.Deny &&
		(r.held.CommandID != s.CommandID || r.held.Actor.UserID != s.Actor.UserID)
}

func (m *model) answered(r *modelRow, s pending.Submission) {
	status := pending.Answered
	if s.Decision == pending.Deny {
		status = pending.Denied
	}
	m.resolve(r, status, s.CommandID, s.Actor.UserID)
}

// answerElsewhere answers on another node, whose notifier wakes this one.
func (m *model) answerElsewhere(t *rapid.T) {
	id := m.anyID(t)
	s := m.submission(t, id)
	_, err := newNode(m.store).Answer(m.ctx, s)
	m.node.Wake(sessionOf(id))
	m.node.notifier.Notify(sessionOf(id)) // it hears the other's notifier
	synctest.Wait()
	switch r := m.rows[id]; {
	case r == nil || r.status.Final():
	case r.takenBack[s.CommandID]:
		m.want(t, err, pending.ErrUndone)
	case r.held == nil, r.overruledBy(s):
		m.want(t, err, nil)
		m.answered(r, s)
	case r.held.CommandID == s.CommandID && r.held.Actor == s.Actor:
		m.want(t, err, nil)
	case !errors.As(err, new(*pending.HeldError)):
		t.Fatalf("answered over what is held: %v", err)
	}
}

// undo takes back what is held, here or on another node, if it is theirs.
func (m *model) undo(t *rapid.T) {
	id := m.anyID(t)
	by := rapid.SampledFrom([]pending.Actor{ann, bob}).Draw(t, "by")
	fault := rapid.SampledFrom([]pendingtest.Fault{pendingtest.None, pendingtest.None, pendingtest.Fail, pendingtest.FailAfterCommit}).Draw(t, "fault")
	m.inject(pendingtest.OpUnhold, fault)
	r := m.rows[id]
	// One that names what it takes back, or whichever there is.
	named := ""
	if rapid.Bool().Draw(t, "named") {
		names := []string{"a command of nobody"}
		if r != nil {
			names = append(names, slices.Sorted(maps.Keys(r.takenBack))...)
			if r.held != nil {
				names = append(names, r.held.CommandID)
			}
		}
		named = rapid.SampledFrom(names).Draw(t, "name")
	}
	err := m.node.Undo(m.ctx, sessionOf(id), id, named, by)
	m.store.Inject(nil)
	synctest.Wait()
	switch {
	case r != nil && r.takenBack[named]:
		m.want(t, err, nil)
		return
	case r == nil:
		m.want(t, err, pending.ErrNotFound)
		return
	case r.status.Final():
		m.want(t, err, pending.ErrNotOpen)
		return
	case r.held == nil || r.held.Actor != by || named != "" && named != r.held.CommandID:
		m.want(t, err, pending.ErrNothingHeld)
		return
	case fault == pendingtest.Fail:
		m.want(t, err, pendingtest.ErrFault)
		return
	default:
		m.want(t, err, nil)
	}
	if r.takenBack == nil {
		r.takenBack = map[string]bool{}
	}
	r.takenBack[r.held.CommandID] = true
	r.held = nil
}

func (m *model) withdraw(t *rapid.T) {
	id := m.anyID(t)
	err := m.node.Withdraw(m.ctx, id, "Withdrawn by the test.")
	synctest.Wait()
	switch r := m.rows[id]; {
	case r == nil:
		m.want(t, err, pending.ErrNotFound)
	case !r.status.Final():
		m.want(t, err, nil)
		m.resolve(r, pending.Withdrawn, "", "")
	case r.status == pending.Withdrawn:
		m.want(t, err, nil)
	default:
		m.want(t, err, pending.ErrNotOpen)
	}
}

func (m *model) withdrawAll(t *rapid.T) {
	sessionID := rapid.SampledFrom([]string{"s0", "s1"}).Draw(t, "session")
	n, err := m.node.WithdrawAll(m.ctx, sessionID, "All withdrawn.")
	synctest.Wait()
	m.want(t, err, nil)
	want := 0
	for id, r := range m.rows {
		if sessionOf(id) == sessionID && !r.status.Final() {
			want++
			m.resolve(r, pending.Withdrawn, "", "")
		}
	}
	if n != want {
		t.Fatalf("withdrew %d, want %d", n, want)
	}
}

func (m *model) orphan(t *rapid.T) {
	sessionID := rapid.SampledFrom([]string{"s0", "s1"}).Draw(t, "session")
	n, err := m.node.Orphan(m.ctx, sessionID, "It died.")
	synctest.Wait()
	m.want(t, err, nil)
	if want := m.orphaned(sessionID); n != want {
		t.Fatalf("orphaned %d, want %d", n, want)
	}
}

func (m *model) orphaned(sessionID string) (n int) {
	for id, r := range m.rows {
		if sessionOf(id) == sessionID && r.status == pending.Open {
			r.status = pending.Orphaned
			n++
		}
	}
	return n
}

// cancel ends one waiting Ask.
func (m *model) cancel(t *rapid.T) {
	id := m.anyID(t)
	r := m.rows[id]
	if r == nil || len(r.asks) == 0 {
		t.Skip("nobody waits")
	}
	cause := rapid.SampledFrom([]error{pending.ErrDeadline, context.DeadlineExceeded, context.Canceled, errors.New("Gone."),
		pending.ErrDetached, pending.ErrAskerDied{Reason: "It died."}}).Draw(t, "cause")
	fault := rapid.SampledFrom([]pendingtest.Fault{pendingtest.None, pendingtest.FailAfterCommit}).Draw(t, "fault")
	m.inject(pendingtest.OpResolve, fault)
	defer m.store.Inject(nil)
	a := r.asks[0]
	r.asks = r.asks[1:]
	a.cancel(cause)
	row, err := a.result()
	m.want(t, err, cause)
	synctest.Wait()
	switch {
	case errors.Is(cause, pending.ErrDetached):
	case errors.As(cause, new(pending.ErrAskerDied)):
		m.orphaned(sessionOf(id))
	case errors.Is(cause, pending.ErrDeadline), errors.Is(cause, context.DeadlineExceeded):
		m.resolve(r, pending.Expired, "", "")
	default:
		m.resolve(r, pending.Withdrawn, "", "")
	}
	if row.Status != r.status && !errors.Is(cause, pending.ErrDetached) {
		t.Fatalf("returned %s, want %s", row.Status, r.status)
	}
}

func (m *model) sleep(t *rapid.T) {
	m.pass(time.Duration(rapid.IntRange(20, 1500).Draw(t, "milliseconds")) * time.Millisecond)
}

// pass lets time pass: what an Ask waits for expires.
func (m *model) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	for _, r := range m.rows {
		expires := len(r.asks) > 0 && !r.expiresAt.IsZero() && r.expiresAt.Before(r.heldUntil)
		if r.held != nil && !time.Now().Before(r.heldUntil) && !expires {
			m.answered(r, *r.held)
		}
		if !r.status.Final() && len(r.asks) > 0 && !r.expiresAt.IsZero() && !time.Now().Before(r.expiresAt) {
			m.resolve(r, pending.Expired, "", "")
		}
	}
}

// restart is another server over the same store.
func (m *model) restart(t *rapid.T) {
	for _, r := range m.rows {
		for _, a := range r.asks {
			a.cancel(pending.ErrDetached)
			_, err := a.result()
			m.want(t, err, pending.ErrDetached)
		}
		r.asks = nil
	}
	if m.stop != nil {
		m.stop()
	}
	m.node = newNode(m.store)
	m.notified = map[string]int{}
	ctx, cancel := context.WithCancel(m.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.node.RunHolds(ctx, holdRules(func(context.Context, pending.Request) (string, error) { return "", nil })); err != nil {
			panic(err)
		}
	}()
	m.stop = func() { cancel(); <-ended }
}

// extend moves a deadline, here or on another node that wakes nobody here.
func (m *model) extend(t *rapid.T) {
	id := m.anyID(t)
	by := time.Duration(rapid.IntRange(-100, 3000).Draw(t, "milliseconds")) * time.Millisecond
	on := m.node
	elsewhere := rapid.Bool().Draw(t, "elsewhere")
	if elsewhere {
		on = newNode(m.store)
	}
	to, err := on.Extend(m.ctx, id, by)
	if elsewhere {
		m.node.notifier.Notify(sessionOf(id)) // late, and without a wake
	}
	synctest.Wait()
	switch r := m.rows[id]; {
	case r == nil:
		m.want(t, err, pending.ErrNotFound)
	case r.status.Final():
		m.want(t, err, pending.ErrNotOpen)
	case r.expiresAt.IsZero() || by <= 0:
		m.want(t, err, problem.CannotExtend)
	default:
		m.want(t, err, nil)
		r.expiresAt = r.expiresAt.Add(by)
		if !to.Equal(r.expiresAt) {
			t.Fatalf("extended to %s, want %s", to, r.expiresAt)
		}
	}
}

func (m *model) want(t *rapid.T, got, want error) {
	t.Helper()
	if want == nil && got != nil || !errors.Is(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func (m *model) check(t *rapid.T) {
	var open []string
	for _, id := range m.order {
		r := m.rows[id]
		row, err := m.store.Request(m.ctx, id)
		if err != nil || row.Status != r.status {
			t.Fatalf("%s is %q, want %q: %v", id, row.Status, r.status, err)
		}
		if row.Held.Active() != (r.held != nil) || r.held != nil && row.Held.CommandID != r.held.CommandID {
			t.Fatalf("%s holds %+v, want %+v", id, row.Held, r.held)
		}
		if !r.status.Final() {
			open = append(open, id)
			if row.Resolution != nil {
				t.Fatalf("%s is open with %+v", id, row.Resolution)
			}
		} else {
			if row.Resolution == nil || row.Resolution.CommandID != r.commandID || row.Resolution.Actor.UserID != r.userID ||
				(row.Resolution.Answer != nil) != (r.status == pending.Answered || r.status == pending.Denied) {
				t.Fatalf("%s ended with %+v, want command %q of %q", id, row.Resolution, r.commandID, r.userID)
			}
			if _, known := m.first[id]; !known {
				m.first[id] = row
			}
			if !reflect.DeepEqual(m.first[id], row) {
				t.Fatalf("I1: %s changed from %+v to %+v", id, m.first[id], row)
			}
		}
		for _, a := range r.asks {
			if a.returned() {
				t.Fatalf("an Ask of %s returned %s, %v, but it is %s", id, a.row.Status, a.err, r.status)
			}
		}
		for _, a := range r.over {
			if !a.returned() {
				t.Fatalf("an Ask of %s waits, but it is %s", id, r.status)
			}
			if a.err != nil || !reflect.DeepEqual(a.row, row) {
				t.Fatalf("I2: an Ask of %s returned %+v, %v, but stored is %+v", id, a.row, a.err, row)
			}
		}
		r.over = nil
	}
	rows, err := m.node.Open(m.ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range rows {
		listed = append(listed, row.RequestID)
	}
	if !slices.Equal(listed, open) {
		t.Fatalf("I4: listed %v, want %v", listed, open)
	}
	for _, sessionID := range []string{"s0", "s1"} {
		version, notified := m.store.Version(sessionID), m.node.notifier.count(sessionID)
		if version != m.versions[sessionID] && notified == m.notified[sessionID] {
			t.Fatalf("session %s changed without a ring", sessionID)
		}
		m.versions[sessionID], m.notified[sessionID] = version, notified
	}
}

// close lets no Ask outlive its sequence.
func (m *model) close() {
	m.store.Inject(nil)
	m.stop()
	for _, r := range m.rows {
		for _, a := range append(r.asks, r.over...) {
			a.cancel(pending.ErrDetached)
			<-a.done
		}
	}
}
