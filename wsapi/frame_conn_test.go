package wsapi_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wsapi"
)

// TestPongsBetweenMessages has the library write pongs while messages of all sizes are
// written past it: the client sees whole frames in order, or its reading fails.
func TestPongsBetweenMessages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab := h.OpenTab(account.Member)
	tab.Do("subscribe", map[string]any{"session_id": id})
	pinged := make(chan error, 1)
	go func() {
		for range 300 {
			if err := tab.Conn.Ping(t.Context()); err != nil {
				pinged <- err
				return
			}
		}
		pinged <- nil
	}()
	total := 0
	for _, size := range []int{1, 100, 1000, 17 << 10, 70 << 10} {
		for range 10 {
			h.AppendText(id, 1, strings.Repeat("x", size))
			h.SetState(id, session.AssistantTurn)
			total++
		}
		tab.Until("the transcript", func(f map[string]any) bool { return f["type"] == "transcript" && f["total"] == float64(total) })
	}
	for pongs := false; !pongs; { // they come while the tab reads
		select {
		case err := <-pinged:
			if err != nil {
				t.Error(err)
			}
			pongs = true
		default:
			tab.Do("ping", nil)
		}
	}
}

func TestNothingFollowsTheCloseFrame(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	c := wsapi.NewFrameConn(ours)
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(theirs)
		got <- all
	}()
	closing := []byte{0x88, 0}
	if err := c.WriteText([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(closing); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteText([]byte("late")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a message after the close frame: got %v", err)
	}
	_ = ours.Close()
	if all := <-got; !bytes.Equal(all, append([]byte("\x81\x02hi"), closing...)) {
		t.Errorf("got %q", all)
	}
}

// TestHeadersOfAllLengths reads messages at the limits of each form of the length.
func TestHeadersOfAllLengths(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 125, 126, 16 << 10, 16<<10 + 1, 65535, 65536} {
		ours, theirs := net.Pipe()
		go func() {
			_ = wsapi.NewFrameConn(ours).WriteText(bytes.Repeat([]byte("x"), length))
			_ = ours.Close()
		}()
		got, err := io.ReadAll(theirs)
		if err != nil {
			t.Fatal(err)
		}
		header := map[int]string{
			0: "\x81\x00", 125: "\x81\x7d", 126: "\x81\x7e\x00\x7e", 16 << 10: "\x81\x7e\x40\x00", 16<<10 + 1: "\x81\x7e\x40\x01",
			65535: "\x81\x7e\xff\xff", 65536: "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
		}[length]
		if want := header + strings.Repeat("x", length); string(got) != want {
			t.Errorf("%d bytes: got %d that begin with %q, want the header %q", length, len(got), got[:min(10, len(got))], header)
		}
	}
}

// writes is a connection that keeps what each Write got.
type writes struct {
	net.Conn
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.all = append(w.all, string(p))
	return len(p), nil
}

// TestHeaderIsNotWrittenAlone: coder/websocket takes a header that nothing follows, because
// the server was killed, for an empty message.
func TestHeaderIsNotWrittenAlone(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 16 << 10, 16<<10 + 1, 1 << 20} {
		w := &writes{}
		body := bytes.Repeat([]byte("x"), length)
		if err := wsapi.NewFrameConn(w).WriteText(body); err != nil {
			t.Fatal(err)
		}
		if len(w.all) > 2 || !strings.Contains(w.all[0], "x") || !strings.HasSuffix(strings.Join(w.all, ""), string(body)) {
			t.Errorf("%d bytes: got %d writes, the first of %d bytes", length, len(w.all), len(w.all[0]))
		}
	}
}
