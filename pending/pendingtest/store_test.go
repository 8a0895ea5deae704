package pendingtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func request(id string, second int) pending.Request {
	input := json.RawMessage(`{"command":"ls"}`)
	return pending.Request{RequestID: id, SessionID: "s1", RequestType: pending.ToolApproval, ToolName: "Bash", ToolInput: input,
		InputHash: pending.HashInput(input), CreatedAt: begin.Add(time.Duration(second) * time.Second), Status: pending.Open}
}

func open(t *testing.T, s *pendingtest.Store, r pending.Request) {
	t.Helper()
	if stored, opened, err := s.OpenRequest(t.Context(), r); err != nil || !opened || !reflect.DeepEqual(stored, r) {
		t.Fatalf("open: got %+v, %v, %v", stored, opened, err)
	}
}

func answered(commandID string) pending.Resolution {
	return pending.Resolution{Status: pending.Answered, Answer: &pending.Answer{Decision: pending.Allow}, CommandID: commandID, At: begin}
}

func TestOpeningIsIdempotent(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	open(t, s, request("r1", 0))
	if stored, opened, err := s.OpenRequest(t.Context(), request("r1", 9)); err != nil || opened || !stored.CreatedAt.Equal(begin) {
		t.Errorf("again: got %+v, %v, %v", stored, opened, err)
	}
	other := request("r1", 0)
	other.InputHash = pending.HashInput(nil)
	if _, opened, err := s.OpenRequest(t.Context(), other); !errors.Is(err, pending.ErrConflict) || opened {
		t.Errorf("another input: got %v, %v", opened, err)
	}
	if got := s.Version("s1"); got != 1 {
		t.Errorf("version: got %d, want 1", got)
	}
}

func TestOneResolutionWinsTheRow(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	open(t, s, request("r1", 0))
	var all sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for i := range 64 {
		all.Go(func() {
			now, won, err := s.ResolveRequest(t.Context(), "r1", answered(string(rune('a'+i))))
			if err != nil || now.Status != pending.Answered || now.Delivery != pending.Queued {
				t.Errorf("got %+v, %v", now, err)
			}
			if won {
				mu.Lock()
				defer mu.Unlock()
				wins++
			}
		})
	}
	all.Wait()
	if wins != 1 || s.Version("s1") != 2 {
		t.Errorf("got %d winners and version %d", wins, s.Version("s1"))
	}
	if _, _, err := s.ResolveRequest(t.Context(), "r9", answered("c")); !errors.Is(err, pending.ErrNotFound) {
		t.Errorf("unknown: got %v", err)
	}
	res := answered("c")
	res.Status = pending.Orphaned
	if _, won, err := s.ResolveRequest(t.Context(), "r1", res); err == nil || won {
		t.Errorf("to orphaned: got %v, %v", won, err)
	}
}

func TestOrphansCanBeAnswered(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	for _, id := range []string{"r1", "r2", "r3"} {
		open(t, s, request(id, 9-int(id[1]-'0')))
	}
	if _, _, err := s.ResolveRequest(t.Context(), "r3", answered("c3")); err != nil {
		t.Fatal(err)
	}
	version := s.Version("s1")
	if n, err := s.OrphanRequests(t.Context(), "s1", "died"); err != nil || n != 2 || s.Version("s1") != version+1 {
		t.Errorf("orphaned: got %d, version %d, %v", n, s.Version("s1"), err)
	}
	if n, err := s.OrphanRequests(t.Context(), "s1", "died"); err != nil || n != 0 || s.Version("s1") != version+1 {
		t.Errorf("again: got %d, version %d, %v", n, s.Version("s1"), err)
	}
	rows, err := s.AnswerableRequests(t.Context(), "")
	if err != nil || len(rows) != 2 || rows[0].RequestID != "r2" || rows[0].Status != pending.Orphaned || rows[0].Resolution != nil {
		t.Errorf("answerable: got %+v, %v", rows, err)
	}
	if _, won, err := s.ResolveRequest(t.Context(), "r1", answered("c1")); err != nil || !won {
		t.Errorf("answered: got %v, %v", won, err)
	}
	if rows, err := s.UndeliveredRequests(t.Context(), "s1"); err != nil || len(rows) != 2 || rows[0].RequestID != "r3" {
		t.Errorf("undelivered: got %+v, %v", rows, err)
	}
}

func TestDeliveryOnlyMovesForward(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	forward := map[pending.Delivery][]pending.Delivery{
		pending.Queued:    {pending.Delivered, pending.Consumed, pending.Carried, pending.Dropped},
		pending.Delivered: {pending.Consumed, pending.Dropped},
		pending.Consumed:  nil,
		pending.Carried:   nil,
		pending.Dropped:   nil,
	}
	for from, next := range forward {
		for to := range forward {
			id := string(from + to)
			open(t, s, request(id, 0))
			if err := s.SetDelivery(t.Context(), id, to); err != nil || must(s.Request(t.Context(), id)).Delivery != pending.NotDelivered {
				t.Errorf("before the answer to %s: %v", to, err)
			}
			if _, _, err := s.ResolveRequest(t.Context(), id, answered("c")); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.SetDelivery(t.Context(), id, from), s.SetDelivery(t.Context(), id, to)); err != nil {
				t.Fatal(err)
			}
			want := from
			if slices.Contains(next, to) {
				want = to
			}
			if got := must(s.Request(t.Context(), id)).Delivery; got != want {
				t.Errorf("%s to %s: got %s, want %s", from, to, got, want)
			}
		}
	}
	if err := s.SetDelivery(t.Context(), "r9", pending.Delivered); !errors.Is(err, pending.ErrNotFound) {
		t.Errorf("unknown: got %v", err)
	}
	if err := s.SetDelivery(t.Context(), "queuedqueued", "posted"); err == nil {
		t.Error("a delivery that is none was taken")
	}
}

func TestRowsAreCopies(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	r := request("r1", 0)
	r.ToolInput = json.RawMessage(`{"command":"ls"}`)
	open(t, s, r)
	r.ToolInput[2] = 'X'
	row, _ := s.Request(t.Context(), "r1")
	row.ToolInput[2] = 'Y'
	if row, _ := s.Request(t.Context(), "r1"); string(row.ToolInput) != `{"command":"ls"}` {
		t.Errorf("got %s", row.ToolInput)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	for fault, there := range map[pendingtest.Fault]bool{pendingtest.Fail: false, pendingtest.FailAfterCommit: true} {
		s.Inject(func(op pendingtest.Op, id string) pendingtest.Fault {
			if op != pendingtest.OpOpen || id != "r1" {
				t.Errorf("asked for %s of %s", op, id)
			}
			return fault
		})
		if _, opened, err := s.OpenRequest(t.Context(), request("r1", 0)); !errors.Is(err, pendingtest.ErrFault) || opened {
			t.Errorf("fault %d: got %v, %v", fault, opened, err)
		}
		s.Inject(nil)
		if _, err := s.Request(t.Context(), "r1"); (err == nil) != there {
			t.Errorf("fault %d: row: %v", fault, err)
		}
		s.Lose("r1")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.OpenRequest(ctx, request("r1", 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
}

// askedBy is a request of a process.
func askedBy(id, processID string) pending.Request {
	r := request(id, 0)
	r.ProcessID = processID
	return r
}

func TestAnswersAreCarriedOnce(t *testing.T) {
	t.Parallel()
	s := pendingtest.NewStore()
	res := answered("c1")
	res.Actor = pending.Actor{UserID: "u1", Name: "Ada"}
	open(t, s, askedBy("r1", "one"))
	old, _, err := s.ResolveRequest(t.Context(), "r1", res)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	wins := map[string]pending.Request{}
	for i := range 32 {
		all.Go(func() {
			stored, carried, err := s.CarryAnswer(t.Context(), askedBy("n"+string(rune('a'+i)), "two"), "r1")
			if err != nil {
				t.Error(err)
			}
			if carried {
				mu.Lock()
				defer mu.Unlock()
				wins[stored.RequestID] = stored
			}
		})
	}
	all.Wait()
	if len(wins) != 1 || s.Version("s1") != 3 {
		t.Fatalf("got %d winners and version %d", len(wins), s.Version("s1"))
	}
	for id, stored := range wins {
		want := askedBy(id, "two")
		want.Status, want.Delivery = pending.Answered, pending.Queued
		want.Resolution = &pending.Resolution{Status: pending.Answered, Answer: res.Answer, Actor: res.Actor, At: want.CreatedAt, CarriedFrom: "r1"}
		if !reflect.DeepEqual(stored, want) {
			t.Errorf("got %+v, want %+v", stored, want)
		}
		if again, carried, err := s.CarryAnswer(t.Context(), askedBy(id, "two"), "r1"); err != nil || !carried || !reflect.DeepEqual(again, want) {
			t.Errorf("again: got %+v, %v, %v", again, carried, err)
		}
		if rows, err := s.UndeliveredRequests(t.Context(), "s1"); err != nil || len(rows) != 1 || rows[0].RequestID != id {
			t.Errorf("undelivered: got %+v, %v", rows, err)
		}
		third, carried, err := s.CarryAnswer(t.Context(), askedBy("third", "three"), id)
		if err != nil || !carried || third.Resolution.CarriedFrom != "r1" {
			t.Errorf("on and on: got %+v, %v, %v", third, carried, err)
		}
		if _, carried, err := s.CarryAnswer(t.Context(), askedBy("third", "three"), "r1"); err != nil || carried {
			t.Errorf("from the first: got %v, %v", carried, err)
		}
	}
	old.Delivery = pending.Carried
	if row, err := s.Request(t.Context(), "r1"); err != nil || !reflect.DeepEqual(row, old) {
		t.Errorf("the old one: got %+v, %v", row, err)
	}
	other := askedBy("third", "three")
	other.InputHash = pending.HashInput(nil)
	if _, carried, err := s.CarryAnswer(t.Context(), other, "r1"); !errors.Is(err, pending.ErrConflict) || carried {
		t.Errorf("another input: got %v, %v", carried, err)
	}
}

func TestOnlyAPersonsUnheardAnswerIsCarried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from    string // process
		to      pending.Request
		resolve func(res *pending.Resolution)
		move    pending.Delivery
	}{
		"the same process":  {from: "two", to: askedBy("r2", "two")},
		"from no process":   {to: askedBy("r2", "two")},
		"to no process":     {from: "one", to: askedBy("r2", "")},
		"another session":   {from: "one", to: func() pending.Request { r := askedBy("r2", "two"); r.SessionID = "s2"; return r }()},
		"nobody":            {from: "one", to: askedBy("r2", "two"), resolve: func(res *pending.Resolution) { res.Actor = pending.Actor{} }},
		"no answer":         {from: "one", to: askedBy("r2", "two"), resolve: func(res *pending.Resolution) { res.Answer = nil }},
		"withdrawn":         {from: "one", to: askedBy("r2", "two"), resolve: func(res *pending.Resolution) { res.Status = pending.Withdrawn }},
		"not answered":      {from: "one", to: askedBy("r2", "two"), resolve: func(res *pending.Resolution) { res.Status = "" }},
		"delivered":         {from: "one", to: askedBy("r2", "two"), move: pending.Delivered},
		"dropped":           {from: "one", to: askedBy("r2", "two"), move: pending.Dropped},
		"carried elsewhere": {from: "one", to: askedBy("r2", "two"), move: pending.Carried},
	} {
		s := pendingtest.NewStore()
		open(t, s, askedBy("r1", c.from))
		res := answered("c1")
		res.Actor = pending.Actor{UserID: "u1"}
		if c.resolve != nil {
			c.resolve(&res)
		}
		if res.Status != "" {
			if _, _, err := s.ResolveRequest(t.Context(), "r1", res); err != nil {
				t.Fatal(err)
			}
		}
		if c.move != "" {
			if err := s.SetDelivery(t.Context(), "r1", c.move); err != nil {
				t.Fatal(err)
			}
		}
		before, version := must(s.Request(t.Context(), "r1")), s.Version("s1")
		stored, carried, err := s.CarryAnswer(t.Context(), c.to, "r1")
		if err != nil || carried || !reflect.DeepEqual(stored, pending.Request{}) {
			t.Errorf("%s: got %+v, %v, %v", name, stored, carried, err)
		}
		if after := must(s.Request(t.Context(), "r1")); !reflect.DeepEqual(after, before) || s.Version("s1") != version {
			t.Errorf("%s: changed to %+v", name, after)
		}
		if _, err := s.Request(t.Context(), "r2"); !errors.Is(err, pending.ErrNotFound) {
			t.Errorf("%s: the new one: got %v", name, err)
		}
	}
}

func must(r pending.Request, err error) pending.Request {
	if err != nil {
		panic(err)
	}
	return r
}
