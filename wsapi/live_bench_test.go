package wsapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// BenchmarkGrowingMessage streams a message to tabs that take what is appended, and to
// tabs that need whole blocks. One operation is one delta that every tab has in hand, of
// which there are 20 a second; -benchtime 400x is a message of 58 kB. size/tab is what
// each tab has read, in sizes of the message.
func BenchmarkGrowingMessage(b *testing.B) {
	for _, appends := range []bool{true, false} {
		for _, tabs := range []int{1, 20} {
			b.Run(fmt.Sprintf("append=%t/tabs=%d", appends, tabs), func(b *testing.B) {
				h := newHarness(b)
				id := h.NewSession("one")
				r := &liveReaders{seen: sync.NewCond(&sync.Mutex{})}
				for range tabs {
					r.open(b, h, id, appends)
				}
				text := ""
				b.ReportAllocs()
				cpu := cpuTime(b)
				b.ResetTimer()
				for i := range b.N {
					text += fmt.Sprintf("%s[%d]", strings.Repeat("word ", 28), i)
					h.Driver.Write(id, text)
					r.await(tabs * (i + 1))
				}
				b.StopTimer()
				b.ReportMetric(float64(cpuTime(b)-cpu)/1e3/float64(b.N), "cpu-µs/op")
				b.ReportMetric(float64(r.bytes)/float64(tabs)/float64(len(text)), "size/tab")
			})
		}
	}
}

// liveReaders are tabs that look for the number of each delta.
type liveReaders struct {
	seen  *sync.Cond // its L guards the following
	count int        // of deltas, over all tabs
	bytes int
}

func (r *liveReaders) open(b *testing.B, h *harness, sessionID string, appends bool) {
	b.Helper()
	conn, _, err := websocket.Dial(b.Context(), "ws"+h.Web.URL[len("http"):]+"/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + h.Token(account.Viewer)}}})
	if err != nil {
		b.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	subscribe := map[string]any{"type": "subscribe", "command_id": "018f3a52-0000-4000-8000-00000000c0de", "session_id": sessionID}
	if appends {
		subscribe["live_append"] = true
	}
	if err := conn.Write(b.Context(), websocket.MessageText, wire.Encode(subscribe)); err != nil {
		b.Fatal(err)
	}
	for subscribed := false; !subscribed; {
		_, data, err := conn.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		subscribed = bytes.Contains(data, []byte(`"type":"transcript"`))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for next := 0; ; {
			_, data, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			found := bytes.Contains(data, fmt.Appendf(nil, "[%d]", next))
			r.seen.L.Lock()
			r.bytes += len(data)
			if found {
				r.count++
				next++
			}
			r.seen.L.Unlock()
			r.seen.Broadcast()
		}
	}()
	b.Cleanup(func() {
		_ = conn.CloseNow()
		<-done
	})
}

// await returns once the tabs have seen so many deltas together.
func (r *liveReaders) await(count int) {
	r.seen.L.Lock()
	defer r.seen.L.Unlock()
	for r.count < count {
		r.seen.Wait()
	}
}

// cpuTime returns the CPU time of this process in ns.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
