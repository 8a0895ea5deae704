package wsapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wsapi"
)

var (
	errFull = errors.New("no space left")
	errAway = errors.New("no route to the database")
)

// sickStore is a store, and whoever answers through it, that fails when told to.
type sickStore struct {
	wsapi.Store
	command.Requests
	mu   sync.Mutex
	pain error
}

func (s *sickStore) fall(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pain = err
}

func (s *sickStore) Ping(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pain
}

func (s *sickStore) Answer(ctx context.Context, sub pending.Submission) (pending.Request, error) {
	if err := s.Ping(ctx); err != nil {
		return pending.Request{}, fmt.Errorf("answer: %w", err)
	}
	return s.Requests.Answer(ctx, sub)
}

func sick(s *sickStore) func(*apitest.Options) {
	return func(o *apitest.Options) {
		s.Store, s.Requests = o.Hub.Store, o.Command.Requests
		o.Hub.Store, o.Command.Requests = s, s
		o.Refusals.ClassifyStoreError = func(err error) wire.NoticeCode {
			switch {
			case errors.Is(err, errFull):
				return wire.ReadOnly
			case errors.Is(err, errAway):
				return wire.Unavailable
			}
			return ""
		}
	}
}

func isNotice(code string) func(map[string]any) bool {
	return func(f map[string]any) bool {
		return f["type"] == "notice" && f["code"] == code && (f["message"] == "") == (code == "none")
	}
}

// Every tab hears that nothing can be stored, and that it can again, without
// having done anything; a tab that comes later hears it at once.
func TestNotice(t *testing.T) {
	t.Parallel()
	store := &sickStore{}
	inBubble(t, func(t *testing.T, h *harness) {
		early := h.OpenTab(account.Viewer)
		store.fall(errFull)
		began := time.Now()
		early.Until("the notice", isNotice("read_only"))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the notice came after %s", took)
		}
		late := h.OpenTab(account.Viewer)
		if f := late.Next(); !isNotice("read_only")(f) {
			t.Errorf("a new tab got %v first, want the notice", f)
		}
		store.fall(errors.New("the server ends"))
		time.Sleep(3 * time.Second)
		store.fall(errAway)
		for _, b := range []*apitest.Tab{early, late} {
			if f := b.Next(); !isNotice("unavailable")(f) {
				t.Errorf("got %v, want the other notice, and none from an error that says nothing", f)
			}
		}
		store.fall(nil)
		for _, b := range []*apitest.Tab{early, late} {
			if f := b.Next(); !isNotice("none")(f) {
				t.Errorf("got %v, want the end of the notice", f)
			}
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		fresh := h.OpenTab(account.Viewer)
		fresh.Send("ping", nil)
		if f := fresh.Next(); f["type"] != "ack" {
			t.Errorf("a tab that has nothing to be told got %v", f)
		}
	}, sick(store))
}

// A tab that opens while nothing can be read hears why, and what runs as soon as it can be
// read.
func TestNoticeToATabThatOpensWithoutAStore(t *testing.T) {
	t.Parallel()
	store, reads := &sickStore{}, &flaky{}
	inBubble(t, func(t *testing.T, h *harness) {
		store.fall(errAway)
		reads.set(true)
		time.Sleep(3 * time.Second)
		tab := h.collect(account.Viewer)
		time.Sleep(5 * time.Second)
		if last := tab.last("notice"); last == nil || last["code"] != "unavailable" {
			t.Errorf("the tab was told %v", last)
		}
		if last := tab.last("active_processes"); last != nil {
			t.Fatalf("the store was not away: %v", last)
		}
		store.fall(nil)
		reads.set(false)
		time.Sleep(5 * time.Second)
		if last := tab.last("notice"); last == nil || last["code"] != "none" {
			t.Errorf("afterwards the tab was told %v", last)
		}
		if tab.last("active_processes") == nil {
			t.Error("the tab was not told what runs")
		}
	}, sick(store), func(o *apitest.Options) {
		reads.Store = o.Hub.Store
		o.Hub.Store = reads
	})
}

// A tab that opens while nothing can be read gets the drafts and bookmarks of its person as soon as they
// can be read.
func TestPersonalFramesOfATabThatOpensWithoutAStore(t *testing.T) {
	t.Parallel()
	reads := &flaky{}
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		r, _ := h.Ask(id, "q", apitest.AsQuestions)
		if a := h.OpenTab(account.Member).Do("draft", map[string]any{"request_id": r.RequestID, "value": map[string]any{"note": "half"}}); a.Result != wire.Applied {
			t.Fatalf("the draft: %+v", a)
		}
		yes := true
		a := h.CallAs(account.Member, "PATCH", "/api/bookmarks", wire.BookmarksChange{Bookmarks: []wire.BookmarkChange{{SessionID: id, Pinned: &yes}}})
		if a.Status != http.StatusOK {
			t.Fatalf("the bookmark: %d %s", a.Status, a.Body)
		}
		reads.set(true)
		tab, gone := h.collect(account.Member), h.collect(account.Member)
		time.Sleep(time.Minute)
		_ = gone.Conn.CloseNow() // it must not be waited for
		reads.set(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if f := tab.last("draft"); f == nil || f["request_id"] != r.RequestID {
			t.Errorf("the tab got the draft %v", f)
		}
		if list, _ := tab.last("bookmarks")["bookmarks"].([]any); len(list) != 1 {
			t.Errorf("the tab got the bookmarks %v", list)
		}
	}, func(o *apitest.Options) {
		reads.Store = o.Hub.Store
		o.Hub.Store = reads
	})
}

// What cannot be stored is refused, by name and with a sentence, and can be sent
// again with the same command id.
func TestRefusedWhileReadOnly(t *testing.T) {
	t.Parallel()
	store := &sickStore{}
	h := newHarness(t, sick(store))
	id := h.NewSession("one")
	r, answered := h.Ask(id, "a", nil)
	tab := h.OpenTab(account.Member)
	store.fall(errFull)
	command := apitest.Allow(r)
	command["command_id"] = "018f3a52-0000-4000-8000-00000000f011"
	ack := tab.Do("pending_request_response", command)
	if ack.Result != wire.Rejected || ack.Error == nil || ack.Error.Code != "read_only" || !strings.Contains(ack.Error.Message, "Nothing was changed") {
		t.Errorf("got %+v, want it rejected as read_only", ack)
	}
	tab.Until("the notice", isNotice("read_only"))
	a := h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"})
	apitest.CheckRefusal(t, a, 503, "read_only")
	if a.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	if a := h.CallAs(account.Viewer, "GET", "/api/sessions", nil); a.Status != 200 {
		t.Errorf("the list: got %d", a.Status)
	}
	if a := h.CallAs(account.Admin, "POST", "/api/sessions/"+id+"/kill", nil); a.Status != 202 {
		t.Errorf("kill: got %d %s", a.Status, a.Body)
	}
	if a := h.CallAs(account.Admin, "GET", "/metrics", nil); !strings.Contains(string(a.Body), "\nsayso_storing 0\n") {
		t.Error("the metrics do not say that nothing is stored")
	}
	store.fall(nil)
	if ack := tab.Do("pending_request_response", command); ack.Result != wire.Applied {
		t.Errorf("the same command again: %+v", ack)
	}
	if got := <-answered; got.Status != pending.Answered {
		t.Errorf("the asker got %+v", got)
	}
}
