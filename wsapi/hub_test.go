package wsapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wsapi"
)

func TestNotificationsCoalesce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		reading := h.collect(account.Viewer)
		stalled := h.collect(account.Member)
		stalled.pause()
		for range 1000 {
			h.SetState(id, session.AssistantTurn)
		}
		want, err := h.Store.ProcessState(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if last := reading.last("process_state"); last["version"] != float64(want.Version) {
			t.Fatalf("the reading tab is at %v, want version %d", last["version"], want.Version)
		}
		before := stalled.messages()
		stalled.resume()
		synctest.Wait()
		if last := stalled.last("process_state"); last["version"] != float64(want.Version) {
			t.Fatalf("the tab that stalled is at %v, want version %d", last["version"], want.Version)
		}
		if n := stalled.messages() - before; n > 3 {
			t.Errorf("the tab that stalled was sent %d messages for 1000 changes, want the newest state", n)
		}
	})
}

func TestSlowTabIsCutAndDelaysNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		ids := []string{h.NewSession("a"), h.NewSession("b"), h.NewSession("c")}
		reading, slow := h.collect(account.Viewer), h.collect(account.Member)
		synctest.Wait()
		slow.pause()
		start := time.Now()
		for second := range 9 {
			for _, id := range ids {
				h.SetState(id, session.AssistantTurn)
			}
			synctest.Wait()
			for _, id := range ids {
				want, err := h.Store.ProcessState(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if got := reading.version(id); got != float64(want.Version) {
					t.Fatalf("second %d: the reading tab is at version %v, want %d at once", second, got, want.Version)
				}
			}
			if slow.ended() {
				t.Fatalf("cut after %v, want the deadline of %v", time.Since(start), wsapi.WriteDeadline)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := h.tabs(); n != 1 {
			t.Fatalf("%d tabs after %v, want the slow one cut", n, time.Since(start))
		}
		slow.resume()
		synctest.Wait()
		if !slow.ended() {
			t.Error("the slow tab was not told that its connection ended")
		}
		if got := reading.ended(); got {
			t.Error("the reading tab was cut too")
		}
	})
}

// TestSlowTabIsTold: a tab that takes its message a little after the deadline
// hears why the connection ends.
func TestSlowTabIsTold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("a")
		slow := h.collect(account.Member)
		synctest.Wait()
		slow.pause()
		h.SetState(id, session.UserTurn)
		time.Sleep(wsapi.WriteDeadline + time.Second)
		slow.resume()
		synctest.Wait()
		if code := slow.code(); code != wire.CloseTooSlow {
			t.Fatalf("got close %d, want %d", code, wire.CloseTooSlow)
		}
	})
}

func TestSlowTabsCommandsWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		tab := h.collect(account.Member)
		synctest.Wait()
		tab.pause()
		sent := make(chan int, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			n := 0
			for ; n < 10_000; n++ {
				if err := tab.Conn.Write(ctx, websocket.MessageText, []byte(`{"type":"ping","command_id":"018f3a52-0000-4000-8000-00000000c0de"}`)); err != nil {
					break
				}
			}
			sent <- n
		}()
		synctest.Wait()
		cancel()
		if n := <-sent; n > 200 {
			t.Errorf("the server took %d commands of a tab that takes no acks, want a bounded number", n)
		}
	})
}

func TestDeadTabIsFound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		tab := h.collect(account.Member)
		synctest.Wait()
		tab.pause() // nothing is read any more, so no ping is answered
		time.Sleep(31 * time.Second)
		if n := h.tabs(); n != 0 {
			t.Fatalf("%d tabs, want the dead one gone", n)
		}
	})
}

func TestServerStopsWithAStuckTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := quietHarness(t)
		p := apitest.NewPipes()
		h.Web = &httptest.Server{URL: "http://127.0.0.1:8787", Listener: p, Config: &http.Server{Handler: h.Server}}
		h.Client = &http.Client{Transport: &http.Transport{DialContext: p.Dial}}
		go func() { _ = h.Web.Config.Serve(p) }()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = h.Hub.Run(ctx) }()
		synctest.Wait()
		tab := h.collect(account.Member)
		synctest.Wait()
		tab.pause()
		h.NewSession("a")
		synctest.Wait()
		start := time.Now()
		stop()
		<-done
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("the server took %v to stop, want the stuck tab cut", took)
		}
		h.Client.CloseIdleConnections()
		_ = h.Web.Config.Close()
	})
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		h.AppendText(id, 450, "x")
		tab := h.collect(account.Viewer)
		synctest.Wait()
		tab.Send("subscribe", map[string]any{"session_id": id})
		synctest.Wait()
		var items []any
		cursor := 0.0
		pieces := tab.of("transcript")
		for i, f := range pieces {
			if f["from"] != cursor || f["total"] != 450.0 || (f["more"] == true) != (i < len(pieces)-1) {
				t.Fatalf("piece %d: from %v total %v more %v, want it to go on from %v", i, f["from"], f["total"], f["more"], cursor)
			}
			cursor = f["next"].(float64)
			items = append(items, f["items"].([]any)...)
		}
		if len(items) != 450 || len(pieces) < 2 {
			t.Fatalf("got %d items in %d pieces, want 450 in several", len(items), len(pieces))
		}
		h.AppendText(id, 1, "new")
		synctest.Wait()
		last := tab.last("transcript")
		if list := last["items"].([]any); last["from"] != cursor || len(list) != 1 || list[0].(map[string]any)["text"] != "new" {
			t.Fatalf("got %v, want the new item alone", last)
		}
		// A tab that was away reads on from its cursor, and one that has
		// everything is told so.
		again := h.collect(account.Viewer)
		again.Send("subscribe", map[string]any{"session_id": id, "after": cursor})
		again.Send("subscribe", map[string]any{"session_id": id, "after": last["next"]})
		synctest.Wait()
		got := again.of("transcript")
		if n := len(got); n == 0 || got[n-1]["from"] != last["next"] || len(got[n-1]["items"].([]any)) != 0 || got[n-1]["live"] != nil {
			t.Fatalf("got %v, want an empty piece at the end", got)
		}
		tab.Send("unsubscribe", map[string]any{"session_id": id})
		synctest.Wait()
		before := len(tab.of("transcript"))
		h.AppendText(id, 1, "unseen")
		time.Sleep(time.Second)
		if after := len(tab.of("transcript")); after != before {
			t.Error("a tab that left the session was told of its transcript")
		}
	})
}

func TestTranscriptPiecesAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		large := make([]byte, 60<<10)
		for i := range large {
			large[i] = 'x'
		}
		h.AppendText(id, 40, string(large))
		tab := h.collect(account.Viewer)
		tab.Send("subscribe", map[string]any{"session_id": id})
		synctest.Wait()
		seen := map[float64]bool{}
		for _, f := range tab.of("transcript") {
			if n := len(wire.Encode(f)); n > 2<<20 {
				t.Errorf("a piece of %d bytes", n)
			}
			for _, it := range f["items"].([]any) {
				seen[it.(map[string]any)["seq"].(float64)] = true
			}
		}
		if len(seen) != 40 {
			t.Errorf("got %d different items, want 40", len(seen))
		}
	})
}

// countingStore counts what is read of sessions.
type countingStore struct {
	wsapi.Store
	reads atomic.Int64
}

func (s *countingStore) ProcessState(ctx context.Context, id string) (session.ProcessState, error) {
	s.reads.Add(1)
	return s.Store.ProcessState(ctx, id)
}

func (s *countingStore) Transcript(ctx context.Context, id string, after int64, limit int) (session.Page, error) {
	s.reads.Add(1)
	return s.Store.Transcript(ctx, id, after, limit)
}

func TestLiveBlockIsThrottledAndStatesAreNot(t *testing.T) {
	t.Parallel()
	store := &countingStore{}
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		h.AppendText(id, 1, "before")
		tab := h.collect(account.Viewer)
		tab.Send("subscribe", map[string]any{"session_id": id})
		time.Sleep(time.Second)
		before, reads := len(tab.of("transcript")), store.reads.Load()
		text := ""
		for range 1000 { // one second of a token each millisecond
			text += "x"
			h.Driver.Write(id, text)
			time.Sleep(time.Millisecond)
		}
		frames := tab.of("transcript")[before:]
		if n := len(frames); n < 15 || n > 22 {
			t.Errorf("got %d live frames in a second, want about 20", n)
		}
		if n := store.reads.Load() - reads; n != 0 {
			t.Errorf("%d reads of the store for what is not in it", n)
		}
		h.SetState(id, session.UserTurn)
		synctest.Wait() // no time passes
		if last := tab.last("process_state"); last["state"] != "user_turn" {
			t.Errorf("the state waits behind the live block: %v", last)
		}
		time.Sleep(wsapi.TranscriptEvery)
		synctest.Wait()
		last := tab.last("transcript")
		if live := last["live"].(map[string]any); live["text"] != text || live["kind"] != "text" || len(last["items"].([]any)) != 0 {
			t.Errorf("got %v, want the whole live block", last)
		}
		h.Driver.Mu.Lock()
		delete(h.Driver.Writing, id)
		h.Driver.Mu.Unlock()
		h.AppendText(id, 1, text)
		time.Sleep(wsapi.TranscriptEvery)
		synctest.Wait()
		if last := tab.last("transcript"); last["live"] != nil || len(last["items"].([]any)) != 1 {
			t.Errorf("got %v, want the block as an item and nothing live", last)
		}
	}, func(o *apitest.Options) { store.Store, o.Hub.Store = o.Hub.Store, store })
}

func TestPresence(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		ada, adaToo, grace := h.collect(account.Admin), h.collect(account.Admin), h.collect(account.Member)
		for _, tab := range []*collector{ada, adaToo, grace} {
			tab.Send("subscribe", map[string]any{"session_id": id})
		}
		time.Sleep(2 * time.Second)
		viewers := func() []any { return ada.last("presence")["viewers"].([]any) }
		want := []any{map[string]any{"name": "admin-user", "typing": false}, map[string]any{"name": "member-user", "typing": false}}
		if got := viewers(); !equal(got, want) {
			t.Fatalf("got %v, want each person once", got)
		}
		before := len(ada.of("presence"))
		for range 30 { // someone types for three seconds
			grace.Send("typing", map[string]any{"session_id": id, "request_id": "r"})
			time.Sleep(100 * time.Millisecond)
		}
		want[1] = map[string]any{"name": "member-user", "typing": true, "request_id": "r"}
		if got := viewers(); !equal(got, want) {
			t.Fatalf("got %v, want member-user typing", got)
		}
		if n := len(ada.of("presence")) - before; n > 3 {
			t.Errorf("got %d presence frames in three seconds, want at most one a second", n)
		}
		time.Sleep(7 * time.Second)
		want[1] = map[string]any{"name": "member-user", "typing": false}
		if got := viewers(); !equal(got, want) {
			t.Fatalf("got %v, want nobody typing any more", got)
		}
		_ = grace.Conn.CloseNow()
		time.Sleep(2 * time.Second)
		if got := viewers(); !equal(got, want[:1]) {
			t.Fatalf("got %v, want member-user gone", got)
		}
	})
}

func equal(a, b []any) bool {
	return slices.Equal(wire.Encode(a), wire.Encode(b))
}

// flaky is a store that fails while told to.
type flaky struct {
	wsapi.Store
	mu   sync.Mutex
	fail bool
}

func (f *flaky) set(fail bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *flaky) broken() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail {
		return errors.New("the disk is away")
	}
	return nil
}

func (f *flaky) ProcessState(ctx context.Context, id string) (session.ProcessState, error) {
	if err := f.broken(); err != nil {
		return session.ProcessState{}, err
	}
	return f.Store.ProcessState(ctx, id)
}

func (f *flaky) ActiveProcesses(ctx context.Context) ([]session.ProcessState, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.Store.ActiveProcesses(ctx)
}

func (f *flaky) Transcript(ctx context.Context, id string, after int64, limit int) (session.Page, error) {
	if err := f.broken(); err != nil {
		return session.Page{}, err
	}
	return f.Store.Transcript(ctx, id, after, limit)
}

func (f *flaky) Drafts(ctx context.Context, userID string) ([]account.Draft, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.Store.Drafts(ctx, userID)
}

func (f *flaky) Bookmarks(ctx context.Context, userID string) ([]account.Bookmark, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.Store.Bookmarks(ctx, userID)
}

// TestStoreComesBack: a change that was announced while the store was away is not lost.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	f := &flaky{}
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		tab := h.collect(account.Viewer)
		tab.Send("subscribe", map[string]any{"session_id": id})
		time.Sleep(time.Second)
		f.set(true)
		h.SetState(id, session.UserTurn)
		h.AppendText(id, 1, "x")
		newcomer := h.collect(account.Viewer)
		time.Sleep(3 * time.Second)
		if last := tab.last("process_state"); last != nil && last["state"] == "user_turn" {
			t.Fatal("the store was not away")
		}
		f.set(false)
		time.Sleep(time.Second)
		if last := tab.last("process_state"); last["state"] != "user_turn" {
			t.Errorf("got %v, want the state that was missed", last)
		}
		if last := tab.last("transcript"); len(last["items"].([]any)) != 1 {
			t.Errorf("got %v, want the item that was missed", last)
		}
		if newcomer.last("active_processes") == nil {
			t.Error("the newcomer was forgotten")
		}
	}, func(o *apitest.Options) {
		f.Store = o.Hub.Store
		o.Hub.Store = f
	})
}

// TestFailedReadsOfTranscriptsDoNotMultiply: while the store is away, a transcript that changes all the
// time is tried at regular intervals.
func TestFailedReadsOfTranscriptsDoNotMultiply(t *testing.T) {
	t.Parallel()
	f, count := &flaky{}, &countingStore{}
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		tab := h.collect(account.Viewer)
		tab.Send("subscribe", map[string]any{"session_id": id})
		time.Sleep(time.Second)
		f.set(true)
		before := count.reads.Load()
		for range 200 { // 10 seconds
			h.Hub.TouchItems(id)
			time.Sleep(50 * time.Millisecond)
		}
		if n := count.reads.Load() - before; n > 45 {
			t.Errorf("%d reads in 10 seconds, want about 40", n)
		}
		f.set(false)
		h.AppendText(id, 1, "x")
		time.Sleep(time.Second)
		if last := tab.last("transcript"); last == nil || len(last["items"].([]any)) != 1 {
			t.Errorf("got %v, want the item that was missed", last)
		}
	}, func(o *apitest.Options) {
		f.Store, count.Store = o.Hub.Store, f
		o.Hub.Store = count
	})
}

// TestFirstFramesAreMessagesOfTheirOwn: a simple client reads two messages and
// has the state of the world, whatever happens meanwhile.
func TestFirstFramesAreMessagesOfTheirOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					h.SetState(id, session.AssistantTurn)
				}
			}
		})
		for range 20 {
			b := h.Dial(account.Viewer)
			for _, want := range []string{"hello", "active_processes"} {
				_, data, err := b.Conn.Read(t.Context())
				var f struct{ Type string }
				if err != nil || json.Unmarshal(data, &f) != nil || f.Type != want {
					t.Fatalf("got %s, %v, want %s", data, err, want)
				}
			}
			_ = b.Conn.CloseNow()
		}
		close(stop)
		wg.Wait()
	})
}

// collector is a tab that reads by itself until it is paused.
type collector struct {
	*apitest.Tab
	mu     sync.Mutex
	gate   chan struct{} // closed while reading
	frames []map[string]any
	count  int // messages
	bytes  int // of them
	err    error
}

func (h *harness) collect(role account.Role) *collector {
	h.T.Helper()
	c := &collector{Tab: h.Dial(role), gate: make(chan struct{})}
	close(c.gate)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c.mu.Lock()
			gate := c.gate
			c.mu.Unlock()
			<-gate
			_, data, err := c.Conn.Read(context.Background())
			c.mu.Lock()
			if err != nil {
				c.err = err
				c.mu.Unlock()
				return
			}
			c.count++
			c.bytes += len(data)
			var f map[string]any
			if err := json.Unmarshal(data, &f); err != nil {
				panic(fmt.Sprintf("message %q: %v", data, err))
			}
			if f["type"] == "batch" {
				for _, inner := range f["frames"].([]any) {
					c.frames = append(c.frames, inner.(map[string]any))
				}
			} else {
				c.frames = append(c.frames, f)
			}
			c.mu.Unlock()
		}
	}()
	h.T.Cleanup(func() {
		_ = c.Conn.CloseNow()
		c.resume()
		<-done
	})
	return c
}

// pause stops reading. The message that is being waited for is still taken, so
// it asks for one.
func (c *collector) pause() {
	c.mu.Lock()
	c.gate = make(chan struct{})
	c.mu.Unlock()
	c.Send("ping", nil)
	synctest.Wait()
}

func (c *collector) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gate:
	default:
		close(c.gate)
	}
}

func (c *collector) of(kind string) []map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []map[string]any
	for _, f := range c.frames {
		if f["type"] == kind {
			list = append(list, f)
		}
	}
	return list
}

func (c *collector) last(kind string) map[string]any {
	list := c.of(kind)
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

func (c *collector) version(sessionID string) any {
	list := c.of("process_state")
	for i := len(list) - 1; i >= 0; i-- {
		if list[i]["session_id"] == sessionID {
			return list[i]["version"]
		}
	}
	return nil
}

func (c *collector) messages() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

func (c *collector) received() (bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

func (c *collector) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

func (c *collector) code() websocket.StatusCode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return websocket.CloseStatus(c.err)
}

// tabs is how many WebSockets the server has.
func (h *harness) tabs() int { return h.Hub.Tabs() }

// TestFramesAreMeasured: a request is measured once, when its first frame is put before
// the tabs that are open; what waited for the first tab is not.
func TestFramesAreMeasured(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var frames []time.Duration
	measured := func() int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return len(frames)
	}
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		h.Ask(id, "before", nil)
		time.Sleep(time.Second)
		h.collect(account.Viewer)
		h.SetState(id, session.UserTurn)
		if n := measured(); n != 0 {
			t.Errorf("%d frames measured for a request from before the first tab", n)
		}
		time.Sleep(time.Second)
		h.Ask(id, "after", nil)
		h.SetState(id, session.AssistantTurn)
		h.SetState(id, session.UserTurn)
		if n := measured(); n != 1 || frames[0] > time.Second {
			t.Errorf("got %v, want one frame, soon", frames)
		}
	}, func(o *apitest.Options) {
		o.Hub.OnFrame = func(_ string, created time.Time) {
			mu.Lock()
			defer mu.Unlock()
			frames = append(frames, time.Since(created))
		}
	})
}
