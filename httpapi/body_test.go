package httpapi_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/wire"
)

// plug is a connection of the bubble on which a test writes what it likes.
func (h *harness) plug() net.Conn {
	h.T.Helper()
	conn, err := h.Web.Listener.(*apitest.Pipes).Dial(h.T.Context(), "", "")
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { conn.Close() })
	return conn
}

// begin sends the head of a request and a part of its body.
func (h *harness) begin(head string, length int, part string) net.Conn {
	h.T.Helper()
	conn := h.plug()
	if _, err := fmt.Fprintf(conn, "%s\r\nHost: 127.0.0.1:8787\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", head, length, part); err != nil {
		h.T.Fatal(err)
	}
	return conn
}

// endOf says after how long the server was done with a connection.
func endOf(conn net.Conn, patience time.Duration) (took time.Duration, done bool) {
	began := time.Now()
	if err := conn.SetReadDeadline(began.Add(patience)); err != nil {
		return 0, false
	}
	_, err := io.Copy(io.Discard, conn)
	timeout, ok := err.(net.Error)
	return time.Since(began), !ok || !timeout.Timeout()
}

// TestBodyThatNeverComes: whoever announces a body and does not send it holds a
// connection for seconds, and whoever may not even do so, no longer.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		bearer := "\r\nAuthorization: Bearer " + h.Token(account.Member)
		for name, head := range map[string]string{
			"signed out, a public route":   "POST /api/login HTTP/1.1",
			"signed out, a members' route": "POST /api/sessions HTTP/1.1",
			"signed out, an agent's":       "POST /mcp HTTP/1.1",
			"signed out, no route":         "POST /nowhere HTTP/1.1",
			"a member, a small body":       "POST /api/sessions/x/interrupt HTTP/1.1" + bearer,
			"a member, a large body":       "POST /api/sessions HTTP/1.1" + bearer,
			"a member, a route of admins":  "POST /api/users HTTP/1.1" + bearer,
		} {
			took, done := endOf(h.begin(head, 1000, "{"), time.Hour)
			if !done || took > 20*time.Second {
				t.Errorf("%s: over after %v: %v", name, took, done)
			}
		}
	}, func(o *apitest.Options) {
		o.Agents = map[string]http.Handler{"/mcp": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })}
	})
}

// TestLongCallIsNotCutByItsBody: the time that a body has is no time of the answer.
func TestLongCallIsNotCutByItsBody(t *testing.T) {
	t.Parallel()
	cut := make(chan error, 1)
	inBubble(t, func(t *testing.T, h *harness) {
		got := h.Call("POST", "/mcp", map[string]any{"a": 1})
		if got.Status != http.StatusOK {
			t.Errorf("got %d", got.Status)
		}
		if err := <-cut; err != nil {
			t.Errorf("the call was cut: %v", err)
		}
	}, func(o *apitest.Options) {
		o.Agents = map[string]http.Handler{"/mcp": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			select {
			case <-r.Context().Done():
				cut <- context.Cause(r.Context())
			case <-time.After(time.Minute):
				cut <- nil
			}
		})}
	})
}

// announced is a command of a member that is larger than the small ones, of which
// only the beginning is sent: what stands there, and then nothing.
func (h *harness) announced(t *testing.T, begin string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn := h.plug()
	if _, err := fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8787\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", h.Token(account.Member)); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	if resp, err := http.ReadResponse(from, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("no upgrade: %v, %v", resp, err)
	}
	frame := append([]byte{0x81, 0xff}, binary.BigEndian.AppendUint64(nil, 1<<30)...)
	frame = append(append(frame, 0, 0, 0, 0), begin...)
	go func() { _, _ = conn.Write(frame) }() // a pipe takes it as it is read
	return conn, from
}

// TestAnnouncedMessagesKeepNobodyOut: a member who announces gigabytes and sends
// little keeps nobody else's large message waiting, and their own for seconds.
func TestAnnouncedMessagesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		begin := `{"type":"send_message","text":"` + strings.Repeat("x", command.SmallLimit+1)
		var ends sync.WaitGroup
		for range 8 {
			conn, from := h.announced(t, begin)
			ends.Go(func() { _, _ = io.Copy(io.Discard, from); conn.Close() })
		}
		synctest.Wait()
		say := func(role account.Role) time.Duration {
			began := time.Now()
			tab := h.OpenTab(role)
			a := tab.Do("send_message", map[string]any{"session_id": id, "text": strings.Repeat("y", 2*command.SmallLimit)})
			if a.Result != wire.Applied {
				t.Errorf("%s: %+v, %+v", role, a, a.Error)
			}
			return time.Since(began)
		}
		if took := say(account.Admin); took > time.Second {
			t.Errorf("another person waited for %v", took)
		}
		// Eight, two at a time.
		if took := say(account.Member); took > 4*20*time.Second {
			t.Errorf("their own waited for %v", took)
		}
		ends.Wait()
	})
}

// TestAnnouncedMessageOfASmallKind: what cannot be as large is not waited for.
func TestAnnouncedMessageOfASmallKind(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"a small command":  `{"type":"interrupt","text":"`,
		"no command":       `{"type":"nothing","text":"`,
		"after other keys": `{"command_id":"x","other":{"type":"send_message"},"type":"kill_process","text":"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, h *harness) {
				began := time.Now()
				_, from := h.announced(t, begin+strings.Repeat("x", command.SmallLimit+1))
				said, _ := io.ReadAll(from)
				at := strings.LastIndexByte(string(said), 0x88)
				if at < 0 || len(said) < at+4 || websocket.StatusCode(binary.BigEndian.Uint16(said[at+2:])) != websocket.StatusMessageTooBig || time.Since(began) > 5*time.Second {
					t.Errorf("after %v it ended with %q", time.Since(began), said[max(at, 0):])
				}
			})
		})
	}
}

// TestSlowMessageIsTaken: slow is not stalled.
func TestSlowMessageIsTaken(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		body := `{"text":"` + strings.Repeat("z", 900<<10) + `"}`
		conn := h.begin("POST /api/sessions/"+id+"/messages HTTP/1.1\r\nAuthorization: Bearer "+h.Token(account.Member), len(body), "")
		for part := body; part != ""; {
			n := min(len(part), 50<<10)
			if _, err := io.WriteString(conn, part[:n]); err != nil {
				t.Fatal(err)
			}
			part = part[n:]
			time.Sleep(time.Second) // 50 KB a second
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusAccepted {
			t.Fatalf("got %+v, %v", resp, err)
		}
		resp.Body.Close()
	})
}

// TestLargeBodiesAreTakenInTurn: what is in memory at once is bounded, over REST as
// on the socket; who stalls is refused and makes room.
func TestLargeBodiesAreTakenInTurn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		head := "POST /api/sessions/" + id + "/messages HTTP/1.1\r\nAuthorization: Bearer " + h.Token(account.Member)
		var all sync.WaitGroup
		var mu sync.Mutex
		taken := 0 // connections of which the server has read more than a small body
		for range 8 {
			conn := h.begin(head, 40<<20, `{"text":"`+strings.Repeat("x", command.SmallLimit/2))
			all.Go(func() {
				for range 8 {
					if _, err := io.WriteString(conn, strings.Repeat("x", command.SmallLimit/4)); err != nil {
						return
					}
				}
				mu.Lock()
				taken++
				mu.Unlock()
				_, _ = endOf(conn, time.Hour)
			})
		}
		synctest.Wait()
		mu.Lock()
		if taken > command.MaxLargePerUser {
			t.Errorf("%d large bodies of one person are read at once", taken)
		}
		mu.Unlock()
		began := time.Now()
		if got := h.CallAs(account.Admin, "POST", "/api/sessions/"+id+"/messages", map[string]any{"text": strings.Repeat("y", 2*command.SmallLimit)}); got.Status != http.StatusAccepted || time.Since(began) > time.Second {
			t.Errorf("another person: %d after %v", got.Status, time.Since(began))
		}
		all.Wait()
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("over after %v", took)
		}
	})
}
