package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// The limits of R2.
const (
	restoreP99   = 2 * time.Second
	restoreMax   = 5 * time.Second
	reconnectP99 = 500 * time.Millisecond
	reconnects   = 100 // of one tab, for its p99
)

// The web app's pauses between attempts to connect.
const (
	firstBackoff   = 250 * time.Millisecond
	longestBackoff = 15 * time.Second
)

// restored records when a watcher had all forms.
type restored struct {
	start     int // of the server
	connected time.Time
	complete  time.Time
}

// watcher is a tab that only reads. It searches messages for ids without decoding them, because
// 50 tabs on the server's machine must not distort the measurement.
type watcher struct {
	client blackbox.Client
	random *rand.Rand
	wanted map[string]bool // request ids
	start  func() int
	out    chan<- restored
}

func (w watcher) run(ctx context.Context) {
	for attempt := 0; ctx.Err() == nil; {
		if w.watch(ctx) {
			attempt = 0
		}
		wait := time.Duration(w.random.Float64() * float64(min(longestBackoff, firstBackoff<<min(attempt, 20))))
		attempt++
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// watch serves one connection and reports whether the server sent anything.
func (w watcher) watch(ctx context.Context) (greeted bool) {
	conn, err := w.client.Dial(ctx)
	if err != nil {
		return false
	}
	defer conn.CloseNow()
	r := restored{start: w.start(), connected: time.Now()}
	if w.awaitAll(ctx, conn) != nil {
		return false
	}
	r.complete = time.Now()
	select {
	case w.out <- r:
	case <-ctx.Done():
	}
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			return true
		}
	}
}

// awaitAll reads until every wanted request has appeared.
func (w watcher) awaitAll(ctx context.Context, conn *websocket.Conn) error {
	seen := make(map[string]bool, len(w.wanted))
	for len(seen) < len(w.wanted) {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		const before, length = `"request_id":"`, 36
		for {
			i := bytes.Index(text, []byte(before))
			if i < 0 || len(text) < i+len(before)+length {
				break
			}
			text = text[i+len(before):]
			if id := string(text[:length]); w.wanted[id] {
				seen[id] = true
			}
		}
	}
	return nil
}

// runRestore proves R2: many open requests, many tabs, the server killed.
func runRestore(ctx context.Context, s settings) ([]fault, error) {
	h, err := openHarness(ctx, s, false)
	if err != nil {
		return nil, err
	}
	var sessions []string
	faults, err := restoreAll(ctx, h, &sessions)
	if err != nil {
		faults = append(faults, fault{otherFaults, "run", err.Error()})
	}
	faults = h.close(ctx, sessions, faults)
	nameFaults(s.out, faults)
	return faults, nil
}

func restoreAll(ctx context.Context, h *harness, sessions *[]string) ([]fault, error) {
	texts := writer{random: h.random(1)}
	for i := range h.sessions {
		texts.steps++
		count := (h.open - i + h.sessions - 1) / h.sessions // evenly; the first sessions get one more
		if count <= 0 {
			continue
		}
		title := fmt.Sprintf("session %d", i)
		id, err := h.session(ctx, message{Title: title, Text: title + "\n" + claudetest.Prompt(claudetest.Step{Ask: texts.ask(), Count: count, Parallel: true})})
		if err != nil {
			return nil, err
		}
		*sessions = append(*sessions, id)
	}
	wanted, err := h.awaitOpen(ctx, h.open)
	if err != nil {
		return nil, err
	}

	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	out := make(chan restored, h.tabs)
	for i := range h.tabs {
		t, err := h.tab(ctx, i, tabOptions{})
		if err != nil {
			return nil, err
		}
		w := watcher{client: t.client, random: t.random, wanted: wanted, start: h.startsNow, out: out}
		watchers.Go(func() { w.run(watching) })
	}
	if _, err := h.await(ctx, out); err != nil {
		return nil, err
	}
	var all, each []time.Duration
	for range h.rounds {
		if err := h.server.Kill(); err != nil {
			return nil, err
		}
		if err := h.start(ctx); err != nil {
			return nil, err
		}
		tabs, err := h.await(ctx, out)
		if err != nil {
			return nil, err
		}
		for _, r := range tabs {
			// A tab may be served just before this program notices that the server is up.
			all = append(all, max(0, r.complete.Sub(h.server.Listening)))
			each = append(each, r.complete.Sub(r.connected))
		}
	}
	stop()
	watchers.Wait()
	single, err := h.reconnect(ctx, wanted)
	if err != nil {
		return nil, err
	}

	fmt.Fprintf(h.out, "\n## %d open requests in %d sessions, %d tabs, the server killed %d times, seed %d\n\n", len(wanted), len(*sessions), h.tabs, h.rounds, h.seed)
	h.header("what, ms", "")
	fmt.Fprintf(h.out, "| server answers → a tab has all forms, with the web app's pauses before connecting | %s |\n", summary(all))
	fmt.Fprintf(h.out, "| of it: connected → a tab has all forms, all tabs at once | %s |\n", summary(each))
	fmt.Fprintf(h.out, "| one tab alone: connecting → all forms | %s |\n", summary(single))
	var faults []fault
	for _, limit := range []struct {
		what      string
		took, max time.Duration
	}{
		{"p99 of all forms in all tabs", percentile(all, 99), restoreP99},
		{"the slowest of all tabs", percentile(all, 100), restoreMax},
		{"p99 of one tab", percentile(single, 99), reconnectP99},
	} {
		if limit.took > limit.max*h.slack {
			faults = append(faults, fault{missedLimits, limit.what, fmt.Sprintf("%s, and %s is the limit", limit.took.Round(time.Millisecond), limit.max)})
		}
	}
	now, err := h.pending(ctx)
	if err != nil {
		return faults, err
	}
	for id := range wanted {
		if !now[id] {
			faults = append(faults, fault{lostRequests, id, "it was open before the server was killed and is not now"})
		}
	}
	return faults, nil
}

// awaitOpen waits until count requests are open and returns their ids.
func (h *harness) awaitOpen(ctx context.Context, count int) (map[string]bool, error) {
	for began := time.Now(); ; {
		ids, err := h.pending(ctx)
		if err != nil || len(ids) == count {
			return ids, err
		}
		if time.Since(began) > time.Minute {
			return nil, fmt.Errorf("%d of %d requests are open after a minute", len(ids), count)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// await waits until all tabs have all forms of the present server.
func (h *harness) await(ctx context.Context, out <-chan restored) ([]restored, error) {
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	var tabs []restored
	for len(tabs) < h.tabs {
		select {
		case r := <-out:
			if r.start == h.startsNow() {
				tabs = append(tabs, r)
			}
		case <-patience.C:
			return nil, fmt.Errorf("%d of %d tabs have all forms after a minute", len(tabs), h.tabs)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return tabs, nil
}

// reconnect measures one tab that connects while nothing else happens.
func (h *harness) reconnect(ctx context.Context, wanted map[string]bool) ([]time.Duration, error) {
	var all []time.Duration
	w := watcher{wanted: wanted}
	for range reconnects {
		began := time.Now()
		conn, err := h.admin.Dial(ctx)
		if err != nil {
			return nil, err
		}
		err = w.awaitAll(ctx, conn)
		conn.CloseNow()
		if err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}
