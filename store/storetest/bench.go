package storetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// Benchmark measures one request and its answer through an engine, and as a baseline one write of
// 4 KiB and its fdatasync in the same folder. In addition to the mean, it reports p50 and p99, in
// microseconds.
func Benchmark(b *testing.B, st store.Store, dir string) {
	// A cancelable context, as real requests have, because it may cost time.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	id := uuid.NewString()
	ok := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	hello := Runner(b, st)
	driving := store.WithLease(st, TakeLease(b, st, hello)) // for writes of Claude, not of people
	ok(st.CreateSession(ctx, session.Session{SessionID: id, Title: "Bench", CWD: "/work", CreatedAt: time.Now()}))

	measure := func(name string, before func() func() error) {
		b.Run(name, func(b *testing.B) {
			var spans []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				step := before()
				b.StartTimer()
				start := time.Now()
				err := step()
				spans = append(spans, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(spans)
			b.ReportMetric(float64(spans[len(spans)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(spans[len(spans)*99/100].Nanoseconds())/1e3, "p99-µs")
		})
	}
	last := ""
	openOne := func() error {
		r := bashRequest(id, "go test ./... && git status")
		last = r.RequestID
		_, _, err := driving.OpenRequest(ctx, r)
		return err
	}
	withdraw := func() {
		if last == "" {
			return
		}
		_, _, err := st.ResolveRequest(ctx, last, pending.Resolution{Status: pending.Withdrawn, At: time.Now()})
		ok(err)
	}
	resolve := func(res pending.Resolution) func() func() error {
		return func() func() error {
			ok(openOne())
			return func() error {
				_, _, err := st.ResolveRequest(ctx, last, res)
				return err
			}
		}
	}
	read := func() error {
		_, err := st.ProcessState(ctx, id)
		return err
	}

	measure("OpenRequest", func() func() error {
		withdraw()
		return openOne
	})
	measure("ProcessState", func() func() error { return read })
	withdraw()
	measure("ResolveRequest/answered", resolve(approval("c1")))
	measure("ResolveRequest/withdrawn", resolve(pending.Resolution{Status: pending.Withdrawn, At: time.Now()}))
	measure("WholeWay", func() func() error {
		return func() error {
			ok(openOne())
			ok(read())
			_, _, err := st.ResolveRequest(ctx, last, approval("c1"))
			return err
		}
	})
	measure("SaveProcess", func() func() error {
		return func() error {
			_, err := driving.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.AssistantTurn, Memory: 1 << 30})
			return err
		}
	})
	n := 0
	measure("PutItems/20", func() func() error {
		items := make([]session.Item, 20)
		for i := range items {
			n++
			items[i] = item(fmt.Sprint("k", n), "some words that Claude said about the work at hand")
		}
		return func() error { return driving.PutItems(ctx, id, items) }
	})

	measure("Transcript/nothing new", func() func() error {
		page, err := st.Transcript(ctx, id, 0, 1)
		ok(err)
		return func() error {
			_, err := st.Transcript(ctx, id, int64(page.Total), 100)
			return err
		}
	})

	for name, memo := range map[string]int{"2kB": 2_000, "300kB": 300_000} {
		mark := session.Mark{ProcessID: id, Memo: make([]byte, memo)}
		measure("SaveProgress/"+name, func() func() error {
			n++
			mark.Offset += 500
			mark.Memo[0]++
			p := session.Progress{Items: []session.Item{item(fmt.Sprint("k", n), "some words that Claude said about the work at hand")}, Mark: &mark}
			return func() error {
				_, err := driving.SaveProgress(ctx, id, p)
				return err
			}
		})
	}
	measure("CarryAnswer", func() func() error {
		from, to := requestOf(id, "one"), requestOf(id, "two")
		_, _, err := st.OpenRequest(ctx, from)
		ok(err)
		_, _, err = st.ResolveRequest(ctx, from.RequestID, approval("c1"))
		ok(err)
		return func() error {
			_, _, err := driving.CarryAnswer(ctx, to, from.RequestID)
			return err
		}
	})
	measure("TakeLease", func() func() error {
		return func() error {
			_, err := st.TakeLease(ctx, hello) // ends the lease of driving
			return err
		}
	})

	file, err := os.Create(filepath.Join(dir, "raw"))
	ok(err)
	defer file.Close()
	page := make([]byte, 4096)
	measure("WriteAndSync4KiB", func() func() error {
		return func() error {
			if _, err := file.Write(page); err != nil {
				return err
			}
			return datasync(file)
		}
	})
}
