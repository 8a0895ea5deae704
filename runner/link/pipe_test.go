package link_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/runner/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is one direction of a connection in memory.
type wire struct {
	size int           // bytes that it holds until they are read
	cut  int           // bytes after which it breaks; 0 for never
	pace time.Duration // that each read takes, of at most 1 KiB then
	dead bool          // swallows everything

	mu      sync.Mutex
	changed *sync.Cond
	held    []byte
	carried int
	closed  bool
}

func (w *wire) write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n < len(p) {
		for len(w.held) >= w.size && !w.closed {
			w.changed.Wait()
		}
		if w.closed {
			return n, io.ErrClosedPipe
		}
		if w.dead {
			return len(p), nil
		}
		part := min(len(p)-n, w.size-len(w.held))
		if w.cut > 0 {
			part = min(part, w.cut-w.carried)
		}
		w.held = append(w.held, p[n:n+part]...)
		w.carried += part
		n += part
		w.closed = w.closed || w.cut > 0 && w.carried == w.cut
		w.changed.Broadcast()
	}
	return n, nil
}

func (w *wire) read(p []byte) (int, error) {
	if w.pace > 0 {
		time.Sleep(w.pace)
		p = p[:min(len(p), 1<<10)]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.held) == 0 && !w.closed {
		w.changed.Wait()
	}
	n := copy(p, w.held)
	w.held = w.held[:copy(w.held, w.held[n:])]
	w.changed.Broadcast()
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.changed.Broadcast()
}

// end is one end of a connection in memory.
type end struct{ in, out *wire }

func (e end) Read(p []byte) (int, error)  { return e.in.read(p) }
func (e end) Write(p []byte) (int, error) { return e.out.write(p) }
func (e end) Close() error {
	e.in.close()
	e.out.close()
	return nil
}

// ends returns both ends of a connection in memory.
func ends(up, down *wire) (dialer, server end) {
	up.changed, down.changed = sync.NewCond(&up.mu), sync.NewCond(&down.mu)
	return end{down, up}, end{up, down}
}

// greet makes connections of two streams.
func greet(ctx context.Context, a, b io.ReadWriteCloser, dials, accepts link.Options) (dialed, accepted *link.Conn, dialErr, acceptErr error) {
	var accepting sync.WaitGroup
	accepting.Go(func() {
		accepted, acceptErr = link.Accept(ctx, b, func(context.Context, json.RawMessage) (any, error) { return "welcome", nil }, accepts)
	})
	dialed, dialErr = link.Greet(ctx, a, "hello", nil, dials)
	accepting.Wait()
	return dialed, accepted, dialErr, acceptErr
}

// connect connects two sides in memory and runs them until the end of the test, or until one ends.
func connect(t testing.TB, up, down *wire, dials, accepts link.Options) (dialed, accepted *link.Conn, ended [2]chan error) {
	t.Helper()
	slow := [2]time.Duration{up.pace, down.pace}
	up.pace, down.pace = 0, 0 // during the greeting
	a, b := ends(up, down)
	dialed, accepted, ended = run(t, a, b, dials, accepts, func() { up.pace, down.pace = slow[0], slow[1] })
	return dialed, accepted, ended
}

// run connects two sides over any streams. It calls greeted before they run.
func run(t testing.TB, a, b io.ReadWriteCloser, dials, accepts link.Options, greeted func()) (dialed, accepted *link.Conn, ended [2]chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dialed, accepted, err1, err2 := greet(ctx, a, b, dials, accepts)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	greeted()
	var running sync.WaitGroup
	for i, c := range []*link.Conn{dialed, accepted} {
		ended[i] = make(chan error, 1)
		running.Go(func() { ended[i] <- c.Run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return dialed, accepted, ended
}

// fast returns a direction that holds as much as a socket.
func fast() *wire { return &wire{size: 256 << 10} }
