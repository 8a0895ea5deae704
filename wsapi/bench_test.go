package wsapi_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
)

// BenchmarkFanOut changes the state of one session before 100 tabs; one
// operation is one change that every tab has in hand.
func BenchmarkFanOut(b *testing.B) {
	for _, tabs := range []int{1, 20, 100} {
		b.Run(fmt.Sprintf("tabs=%d", tabs), func(b *testing.B) {
			h, wait := fanOut(b, tabs)
			id := h.NewSession("one")
			wait()
			b.ResetTimer()
			for range b.N {
				h.SetState(id, session.AssistantTurn)
				wait()
			}
		})
	}
}

// fanOut opens tabs over loopback TCP that read without looking. wait returns
// once each has had one more message since it was called last.
func fanOut(b *testing.B, tabs int) (h *harness, wait func()) {
	b.Helper()
	h = newHarness(b)
	token := h.Token(account.Viewer)
	var got int64 // guarded by more.L
	more := sync.NewCond(&sync.Mutex{})
	for range tabs {
		conn, _, err := websocket.Dial(b.Context(), "ws"+h.Web.URL[len("http"):]+"/ws", &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}},
			HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.CloseNow() })
		for range 2 {
			if _, _, err := conn.Read(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		go func() {
			for {
				if _, _, err := conn.Read(context.Background()); err != nil {
					return
				}
				more.L.Lock()
				got++
				more.L.Unlock()
				more.Broadcast()
			}
		}()
	}
	var want int64
	return h, func() {
		want += int64(tabs)
		more.L.Lock()
		defer more.L.Unlock()
		for got < want {
			more.Wait()
		}
	}
}
