package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// steps are the values of X at which a curve is measured.
var steps = []int{1, 10, 100, 1000, 10_000}

// benchCurves measures how times grow with tabs, with the length of a transcript and with open
// requests.
func benchCurves(ctx context.Context, s settings) error {
	for _, draw := range []func(context.Context, settings, string) (curve, error){tabCurve, deltaCurve, transcriptCurve, requestCurve} {
		folder, err := os.MkdirTemp("", "sayso-bench-")
		if err != nil {
			return err
		}
		c, err := draw(ctx, s, folder)
		os.RemoveAll(folder)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		c.Part = "curves"
		s.report.draw(c)
	}
	return nil
}

// tabCurve answers requests in one tab while more and more other tabs are open.
func tabCurve(ctx context.Context, s settings, folder string) (curve, error) {
	c := curve{Name: "frame_by_tabs", What: "From a request to its frame in one of many tabs", X: "tabs", Unit: "ms"}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return c, err
	}
	defer v.stop()
	first, err := v.tab(ctx)
	if err != nil {
		return c, err
	}
	defer first.conn.CloseNow()
	ids, err := startIdle(ctx, v, first, 1)
	if err != nil {
		return c, err
	}
	tabs := 1
	for _, want := range []int{1, 10, 100, 1000, 1900} { // a server accepts 2000
		for ; tabs < want; tabs++ {
			t, err := v.tab(ctx)
			if err != nil {
				return c, err
			}
			defer t.conn.CloseNow()
			go t.discard(ctx)
		}
		// This is the tab that was opened last. The hub sends a frame to its tabs in no particular
		// order, so this one does not always get it last.
		last, err := v.tab(ctx)
		if err != nil {
			return c, err
		}
		file := filepath.Join(folder, fmt.Sprint(want))
		if err := v.send(ctx, ids[0], fmt.Sprintf("ask 50 20ms %s", file)); err != nil {
			return c, err
		}
		took, err := answerTurn(ctx, last, ids[0], 50)
		last.conn.CloseNow()
		if err != nil {
			return c, err
		}
		c.Points = append(c.Points, point{X: float64(want), Samples: inUnit(time.Millisecond, took)})
	}
	return c, nil
}

// deltaCurve answers requests while sessions write more and more pieces a second.
func deltaCurve(ctx context.Context, s settings, folder string) (curve, error) {
	c := curve{Name: "frame_by_deltas", What: "From a request to its frame while other sessions write", X: "pieces of text a second", Unit: "ms"}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return c, err
	}
	defer v.stop()
	t, err := v.tab(ctx)
	if err != nil {
		return c, err
	}
	defer t.conn.CloseNow()
	ids, err := startIdle(ctx, v, t, 11)
	if err != nil {
		return c, err
	}
	for _, rate := range steps {
		writers := min(10, rate)
		each := time.Second * time.Duration(writers) / time.Duration(rate)
		const lasting = 4 * time.Second
		for _, id := range ids[1 : writers+1] {
			if err := v.send(ctx, id, fmt.Sprintf("deltas %d %s 40", max(1, lasting/each), each)); err != nil {
				return c, err
			}
		}
		file := filepath.Join(folder, fmt.Sprint(rate))
		if err := v.send(ctx, ids[0], fmt.Sprintf("ask 200 5ms %s", file)); err != nil {
			return c, err
		}
		took, err := answerTurn(ctx, t, ids[0], 200)
		if err != nil {
			return c, err
		}
		c.Points = append(c.Points, point{X: float64(rate), Samples: inUnit(time.Millisecond, took)})
		time.Sleep(lasting)
	}
	return c, nil
}

// transcriptCurve reads the end of transcripts of more and more items.
func transcriptCurve(ctx context.Context, s settings, folder string) (curve, error) {
	c := curve{Name: "transcript_by_items", What: "The first page of a transcript", X: "items", Unit: "ms"}
	dsn := "sqlite:" + filepath.Join(folder, "long.db")
	var ids []string
	if err := seeding(ctx, dsn, func(to *seed) error {
		if err := to.sessionsUpTo(ctx, len(steps)); err != nil {
			return err
		}
		ids = to.sessions
		for i, count := range steps {
			for n := 0; n < count; n += 100 {
				items := make([]session.Item, min(100, count-n))
				for k := range items {
					items[k] = session.Item{Key: fmt.Sprint(n + k), At: time.Now(), Kind: session.ItemText, Body: []byte(`{"text":"` + to.text(500) + `"}`)}
				}
				if err := to.st.PutItems(ctx, ids[i], items); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return c, err
	}
	s.flags = []string{"--database", dsn}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return c, err
	}
	defer v.stop()
	for i, count := range steps {
		took, err := v.gets(ctx, "/api/sessions/"+ids[i]+"/transcript?limit=100", 20)
		if err != nil {
			return c, err
		}
		c.Points = append(c.Points, point{X: float64(count), Samples: took})
	}
	return c, nil
}

// requestCurve connects tabs while more and more requests are open.
func requestCurve(ctx context.Context, s settings, folder string) (curve, error) {
	c := curve{Name: "connect_by_requests", What: "From connecting to knowing all open requests", X: "open requests", Unit: "ms"}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return c, err
	}
	defer v.stop()
	const each = 100 // of a session
	open := 0
	for _, want := range steps {
		for open < want {
			more := min(each, want-open)
			if _, err := v.session(ctx, fmt.Sprintf("open %d", more)); err != nil {
				return c, err
			}
			open += more
		}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			var all struct {
				Requests []struct{} `json:"pending_requests"`
			}
			if err := v.Do(ctx, http.MethodGet, "/api/pending", nil, &all); err != nil {
				return c, err
			}
			if len(all.Requests) >= want {
				break
			}
			if time.Now().After(deadline) {
				return c, fmt.Errorf("%d of %d requests are open", len(all.Requests), want)
			}
		}
		var took []time.Duration
		for range 10 {
			began := time.Now()
			t, err := v.tab(ctx)
			if err != nil {
				return c, err
			}
			known := false
			for !known {
				if err := t.nextFrames(ctx, func(f frame) error {
					known = known || f.Type == "active_processes"
					return nil
				}); err != nil {
					return c, err
				}
			}
			took = append(took, time.Since(began))
			t.conn.CloseNow()
		}
		c.Points = append(c.Points, point{X: float64(want), Samples: inUnit(time.Millisecond, took)})
	}
	return c, nil
}
