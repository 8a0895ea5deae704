package link_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/runner/link"
)

var errFull = errors.New("the disk is full")

// told is an error with members.
type told struct {
	Reason string
	Count  int
}

func (t *told) Error() string { return fmt.Sprint(t.Reason, t.Count) }

var codes = []link.ErrorCode{
	{Code: "full", Err: errFull},
	{Code: "not_exist", Err: os.ErrNotExist},
	{
		Code: "told",
		Detail: func(err error) (any, bool) {
			var e *told
			return e, errors.As(err, &e)
		},
		Restore: func(detail json.RawMessage) (error, error) {
			var e told
			err := json.Unmarshal(detail, &e)
			return &e, err
		},
	},
}

// serve answers the calls of these tests.
func serve(ctx context.Context, call *link.Call) (any, error) {
	switch call.Name {
	case "echo":
		return call.Args, nil
	case "full":
		return nil, fmt.Errorf("write x: %w", errFull)
	case "told":
		return nil, fmt.Errorf("in between: %w", &told{"quota", 7})
	case "plain":
		return nil, errors.New(strings.Repeat("no ", 10_000))
	case "channel":
		return make(chan int), nil
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "upload": // counts what comes
		n := 0
		for {
			_, p, err := call.Recv(ctx)
			if err == io.EOF {
				return n, nil
			}
			if err != nil {
				return nil, err
			}
			n += len(p)
		}
	}
	return nil, link.ErrUnknown
}

func TestCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runner, server, _ := connect(t, fast(), fast(), link.Options{Serve: serve, Errors: codes}, link.Options{Serve: serve, Errors: codes})
		ctx := t.Context()
		for _, c := range []*link.Conn{runner, server} {
			for _, size := range []int{0, 10, 56<<10 - 3, 56<<10 - 2, 56<<10 - 1, 2 << 20} {
				want := strings.Repeat("x", size)
				var got string
				if err := c.Call(ctx, "echo", want, &got); err != nil || got != want {
					t.Errorf("echo of %d bytes: %d bytes, %v", size, len(got), err)
				}
			}
			if err := c.Call(ctx, "echo", nil, nil); err != nil {
				t.Error(err)
			}
			var remote *link.RemoteError
			if err := c.Call(ctx, "full", nil, nil); !errors.Is(err, errFull) || !errors.As(err, &remote) || remote.Message != "write x: the disk is full" {
				t.Errorf("full: %v", err)
			}
			var e *told
			if err := c.Call(ctx, "told", nil, nil); !errors.As(err, &e) || *e != (told{"quota", 7}) {
				t.Errorf("told: %v", err)
			}
			if err := c.Call(ctx, "plain", nil, nil); !errors.As(err, &remote) || remote.Code != "" || len(remote.Message) != 4<<10 {
				t.Errorf("plain: %v", err)
			}
			if err := c.Call(ctx, "channel", nil, nil); !errors.As(err, &remote) {
				t.Errorf("a result that cannot be encoded: %v", err)
			}
			if err := c.Call(ctx, "channel", make(chan int), nil); err == nil || errors.As(err, &remote) {
				t.Errorf("arguments that cannot be encoded: %v", err)
			}
			if err := c.Call(ctx, "no such", nil, nil); !errors.Is(err, link.ErrUnknown) {
				t.Errorf("an unknown call: %v", err)
			}
			if err := c.Call(ctx, strings.Repeat("x", 300), nil, nil); !errors.Is(err, link.ErrTooLarge) {
				t.Errorf("a long name: %v", err)
			}
		}
	})
}

func TestUpload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, server, _ := connect(t, fast(), fast(), link.Options{Serve: serve}, link.Options{})
		ch, err := server.Open(t.Context(), "upload", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ch.Close()
		if err := ch.Send(t.Context(), 0, make([]byte, 3*link.Window)); err != nil {
			t.Fatal(err)
		}
		ch.CloseSend()
		var n int
		if err := ch.Result(t.Context(), &n); err != nil || n != 3*link.Window {
			t.Errorf("%d bytes arrived, %v", n, err)
		}
		if err := ch.Send(t.Context(), 0, []byte("more")); !errors.Is(err, link.ErrClosed) {
			t.Errorf("Send after the end: %v", err)
		}
	})
}

func TestCancelAndDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		var deadline atomic.Int64
		_, server, _ := connect(t, fast(), fast(), link.Options{Serve: func(ctx context.Context, call *link.Call) (any, error) {
			if end, ok := ctx.Deadline(); ok {
				deadline.Store(int64(time.Until(end)))
			}
			if call.Name == "endless" { // with data that nobody takes
				err := call.Send(ctx, 0, make([]byte, 3*link.Window))
				ended.Add(1)
				return nil, err
			}
			<-ctx.Done()
			ended.Add(1)
			return nil, ctx.Err()
		}}, link.Options{})

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := server.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		synctest.Wait()
		if ended.Load() != 1 || deadline.Load() != 0 {
			t.Errorf("%d calls ended, deadline %d", ended.Load(), deadline.Load())
		}

		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := server.Call(ctx, "wait", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("deadline: %v", err)
		}
		synctest.Wait()
		if ended.Load() != 2 || time.Duration(deadline.Load()) != 10*time.Second {
			t.Errorf("%d calls ended, deadline %s", ended.Load(), time.Duration(deadline.Load()))
		}

		ch, err := server.Open(t.Context(), "endless", nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ch.Close()
		ch.Close()
		synctest.Wait()
		if ended.Load() != 3 {
			t.Error("Close did not end the call")
		}
		if _, _, err := ch.Recv(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("Recv after Close: %v", err)
		}
	})
}

func TestLongArgumentsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, server, _ := connect(t, fast(), fast(), link.Options{Serve: serve, MaxArgs: 100 << 10}, link.Options{})
		if err := server.Call(t.Context(), "echo", strings.Repeat("x", 100<<10-2), nil); err != nil {
			t.Errorf("arguments of 100 KiB: %v", err)
		}
		// Far more than its window: the refusal comes while they are sent.
		if err := server.Call(t.Context(), "echo", strings.Repeat("x", 3<<20), nil); !errors.Is(err, link.ErrTooLarge) {
			t.Errorf("arguments of 3 MiB: %v", err)
		}
	})
}

func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, server, _ := connect(t, fast(), fast(), link.Options{Serve: serve, MaxCalls: 2}, link.Options{})
		var open []*link.Channel
		for range 2 {
			ch, err := server.Open(t.Context(), "wait", nil)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, ch)
		}
		if err := server.Call(t.Context(), "echo", 1, nil); !errors.Is(err, link.ErrBusy) {
			t.Errorf("a third call: %v", err)
		}
		open[0].Close()
		synctest.Wait()
		if err := server.Call(t.Context(), "echo", 1, nil); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
	})
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		dials, accepts [2]int
		agree          bool
	}{
		{[2]int{1, 1}, [2]int{1, 1}, true},
		{[2]int{1, 3}, [2]int{2, 5}, true},
		{[2]int{2, 5}, [2]int{1, 3}, true},
		{[2]int{3, 5}, [2]int{1, 3}, true},
		{[2]int{4, 5}, [2]int{1, 3}, false},
		{[2]int{1, 3}, [2]int{4, 5}, false},
	} {
		t.Run(fmt.Sprint(row.dials, row.accepts), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dials := link.Options{}.Speaking(row.dials[0], row.dials[1])
				accepts := link.Options{Serve: serve}.Speaking(row.accepts[0], row.accepts[1])
				if row.agree {
					runner, _, _ := connect(t, fast(), fast(), dials, accepts)
					if err := runner.Call(t.Context(), "echo", 1, nil); err != nil {
						t.Error(err)
					}
					return
				}
				a, b := ends(fast(), fast())
				_, _, err1, err2 := greet(t.Context(), a, b, dials, accepts)
				if !errors.Is(err1, link.ErrVersion) || !errors.Is(err2, link.ErrVersion) {
					t.Errorf("got %v and %v", err1, err2)
				}
			})
		})
	}
}

func TestHelloIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := ends(fast(), fast())
		done := make(chan error)
		go func() {
			_, err := link.Accept(t.Context(), b, func(context.Context, json.RawMessage) (any, error) { return nil, errFull }, link.Options{Errors: codes})
			done <- err
		}()
		_, err := link.Greet(t.Context(), a, "hello", nil, link.Options{Errors: codes})
		if other := <-done; !errors.Is(err, errFull) || !errors.Is(other, errFull) {
			t.Errorf("got %v and %v", err, other)
		}
	})
	synctest.Test(t, func(t *testing.T) { // nobody answers
		a, _ := ends(fast(), fast())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := link.Greet(ctx, a, "hello", nil, link.Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCloseSaysWhy(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		reason error
	}{{"a reason", errFull}, {"none", nil}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runner, server, ended := connect(t, fast(), fast(), link.Options{Errors: codes}, link.Options{Errors: codes})
				waiting, err := runner.Open(t.Context(), "wait", nil)
				if err != nil {
					t.Fatal(err)
				}
				server.Close(row.reason)
				server.Close(io.EOF) // the first counts
				want := row.reason
				if want == nil {
					want = link.ErrClosed
				}
				if err := <-ended[0]; !errors.Is(err, link.ErrClosed) || !errors.Is(err, want) {
					t.Errorf("the other side got %v", err)
				}
				if err := <-ended[1]; !errors.Is(err, want) {
					t.Errorf("this side got %v", err)
				}
				<-runner.Done()
				if _, _, err := waiting.Recv(t.Context()); err == nil {
					t.Error("a call outlived its connection")
				}
				if err := runner.Call(t.Context(), "echo", 1, nil); !errors.Is(err, link.ErrClosed) {
					t.Errorf("a call after the end: %v", err)
				}
			})
		})
	}
	t.Run("nobody reads", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			down := &wire{size: 1 << 10, pace: time.Hour}
			_, server, ended := connect(t, fast(), down, link.Options{Serve: serve}, link.Options{})
			begin := time.Now()
			_, _ = server.Open(t.Context(), "upload", strings.Repeat("x", 50<<10))
			server.Close(errFull)
			if err := <-ended[1]; !errors.Is(err, errFull) || time.Since(begin) > time.Second {
				t.Errorf("ended after %s with %v", time.Since(begin), err)
			}
		})
	})
}

func TestALostConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up, down := fast(), fast()
		runner, _, ended := connect(t, up, down, link.Options{}, link.Options{Serve: serve})
		time.Sleep(time.Hour) // nothing to say
		if err := runner.Call(t.Context(), "echo", 1, nil); err != nil {
			t.Fatalf("after an hour of silence: %v", err)
		}
		for _, w := range []*wire{up, down} {
			w.mu.Lock()
			w.dead = true
			w.mu.Unlock()
		}
		begin := time.Now()
		if err := runner.Call(t.Context(), "wait", nil, nil); !errors.Is(err, link.ErrLost) {
			t.Errorf("a call got %v", err)
		}
		for _, e := range ended {
			if err := <-e; !errors.Is(err, link.ErrLost) {
				t.Errorf("Run returned %v", err)
			}
		}
		if took := time.Since(begin); took < 2*time.Second || took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// 1 KiB a second in one direction: a frame takes a minute, and pings as long, and nobody is lost.
func TestASlowLineIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up := &wire{size: 16 << 10, pace: time.Second}
		runner, _, _ := connect(t, up, fast(), link.Options{}, link.Options{Serve: serve})
		var got string
		want := strings.Repeat("x", 200<<10)
		if err := runner.Call(t.Context(), "echo", want, &got); err != nil || got != want {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

func TestASlowReceiverHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		_, server, _ := connect(t, fast(), fast(), link.Options{Serve: func(ctx context.Context, call *link.Call) (any, error) {
			if call.Name != "endless" {
				return serve(ctx, call)
			}
			for n := uint64(0); ; n += 1000 {
				if err := call.Send(ctx, n, make([]byte, 1000)); err != nil {
					return nil, err
				}
				sent.Add(1000)
			}
		}}, link.Options{})
		slow, err := server.Open(t.Context(), "endless", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		time.Sleep(time.Hour)
		if n := sent.Load(); n < link.Window || n > link.Window+64<<10+1000 {
			t.Errorf("%d bytes were sent to somebody who takes none", n)
		}
		var got string
		want := strings.Repeat("x", 3*link.Window/2)
		if err := server.Call(t.Context(), "echo", want, &got); err != nil || got != want {
			t.Errorf("beside a slow receiver: %d bytes, %v", len(got), err)
		}
		// Less than half is taken: nothing more comes. Half: as much again.
		taken := 0
		for taken < link.Window/2 {
			before := sent.Load()
			_, p, err := slow.Recv(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if now := sent.Load(); now != before {
				t.Errorf("%d bytes were sent when %d were taken", now-before, taken)
			}
			taken += len(p)
		}
		before := sent.Load()
		if _, _, err := slow.Recv(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if more := sent.Load() - before; more < int64(taken)-1000 || more > int64(taken)+1000 {
			t.Errorf("%d bytes were sent when %d were taken", more, taken)
		}
	})
}

// text is what channels carry: each byte follows from its offset.
var text = bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz!"), 4<<10) // a prime divides it

func at(offset uint64, n int) []byte {
	begin := offset % 37
	return text[begin : begin+uint64(n)]
}

// sendText sends n bytes in parts of at most part bytes.
func sendText(ctx context.Context, ch *link.Channel, from, to uint64, part int) error {
	for from < to {
		n := int(min(uint64(part), to-from))
		if err := ch.Send(ctx, from, at(from, n)); err != nil {
			return err
		}
		from += uint64(n)
	}
	return nil
}

// receiveText receives to the end, resting after each part, and returns the offset it has reached.
func receiveText(ctx context.Context, ch *link.Channel, from uint64, rest time.Duration) (uint64, error) {
	for {
		offset, p, err := ch.Recv(ctx)
		if err != nil {
			return from, err
		}
		if offset != from || !bytes.Equal(p, at(from, len(p))) {
			return from, fmt.Errorf("%d bytes at %d instead of %d", len(p), offset, from)
		}
		from += uint64(len(p))
		if rest > 0 {
			time.Sleep(rest)
		}
	}
}

// A stream is one channel of TestAnyOrder.
type stream struct {
	Up, Down int // bytes that the caller sends, and the other side
	Part     int // bytes of a Send
	Rest     time.Duration
	ByServer bool
}

// Whatever the order of frames: nothing is lost, nothing is doubled, and nobody waits for ever.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		up := &wire{size: rapid.SampledFrom([]int{1 << 10, 30_000, 256 << 10}).Draw(rt, "up")}
		down := &wire{size: rapid.SampledFrom([]int{1 << 10, 30_000, 256 << 10}).Draw(rt, "down")}
		bytes := rapid.SampledFrom([]int{0, 1, 1000, 5000, 64 << 10, 100_000, 300_000, link.Window + 200_000}) // mostly small, for speed
		streams := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) stream {
			return stream{
				Up: bytes.Draw(t, "up"), Down: bytes.Draw(t, "down"), ByServer: rapid.Bool().Draw(t, "by server"),
				Part: rapid.SampledFrom([]int{777, 64 << 10, 100_000}).Draw(t, "part"),
				Rest: rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "rest"),
			}
		}), 1, 5).Draw(rt, "streams")
		failed := make(chan string, 100)
		synctest.Test(t, func(t *testing.T) { carry(t, up, down, streams, failed) })
		select {
		case why := <-failed:
			rt.Fatal(why)
		default:
		}
	})
}

// carry carries all streams at once.
func carry(t *testing.T, up, down *wire, streams []stream, failed chan<- string) {
	ctx := t.Context()
	both := link.Options{Serve: func(ctx context.Context, call *link.Call) (any, error) {
		var s stream
		if err := json.Unmarshal(call.Args, &s); err != nil {
			return nil, err
		}
		var sending sync.WaitGroup
		var sendErr error
		sending.Go(func() { sendErr = sendText(ctx, call.Channel, 0, uint64(s.Down), s.Part) })
		n, err := receiveText(ctx, call.Channel, 0, s.Rest)
		sending.Wait()
		if err != io.EOF {
			return nil, err
		}
		return n, sendErr
	}}
	runner, server, _ := connect(t, up, down, both, both)
	var working sync.WaitGroup
	for i, s := range streams {
		c := runner
		if s.ByServer {
			c = server
		}
		working.Go(func() {
			ch, err := c.Open(ctx, "stream", s)
			if err != nil {
				failed <- err.Error()
				return
			}
			defer ch.Close()
			var sending sync.WaitGroup
			sending.Go(func() {
				if err := sendText(ctx, ch, 0, uint64(s.Up), s.Part); err != nil {
					failed <- fmt.Sprintf("stream %d: send: %v", i, err)
				}
				ch.CloseSend()
			})
			n, err := receiveText(ctx, ch, 0, s.Rest)
			sending.Wait()
			if err != io.EOF || n != uint64(s.Down) {
				failed <- fmt.Sprintf("stream %d: received %d of %d bytes, %v", i, n, s.Down, err)
				return
			}
			var taken int
			if err := ch.Result(ctx, &taken); err != nil || taken != s.Up {
				failed <- fmt.Sprintf("stream %d: the other side received %d of %d bytes, %v", i, taken, s.Up, err)
			}
		})
	}
	working.Wait()
}

// Both sides send all they can through sockets that hold 100 bytes. The bubble ends the test when
// everybody waits for somebody.
func TestTwoFullSockets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan string, 100)
		var streams []stream
		for i := range 4 {
			streams = append(streams, stream{Up: 100_000, Down: 100_000, Part: 64 << 10, ByServer: i%2 == 0})
		}
		carry(t, &wire{size: 100}, &wire{size: 100}, streams, failed)
		select {
		case why := <-failed:
			t.Error(why)
		default:
		}
	})
}

// A journal is read, and lines are written to it by key, as with a shim, over a connection that
// breaks after any number of bytes (every seventh of the first and last). After the next hello everything goes on.
func TestConnectionsLostAtEveryByte(t *testing.T) {
	t.Parallel()
	const size, lines = 150_000, 8
	cuts := func(whole int) (at []int) {
		for n := 1; n < whole; n++ {
			if n < 900 && n%7 == 0 || n%9973 == 0 || n > whole-60 && n%7 == 0 {
				at = append(at, n)
			}
		}
		return at
	}
	try := func(t *testing.T, upCut, downCut int) (up, down int) {
		var mu sync.Mutex
		written, keys := []string{}, map[string]bool{}
		serve := func(ctx context.Context, call *link.Call) (any, error) {
			switch call.Name {
			case "read":
				var from uint64
				if err := json.Unmarshal(call.Args, &from); err != nil {
					return nil, err
				}
				return "exited", sendText(ctx, call.Channel, from, size, 10_000)
			case "write":
				var line string
				if err := json.Unmarshal(call.Args, &line); err != nil {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				if !keys[line] {
					keys[line], written = true, append(written, line)
				}
				return nil, nil
			}
			return nil, link.ErrUnknown
		}
		var reached uint64
		next, exited := 0, false
		for attempt := 0; !exited || next < lines; attempt++ {
			if attempt > 1 {
				t.Fatal("two connections were lost, of which one was cut")
			}
			upward, downward := fast(), fast()
			if attempt == 0 {
				upward.cut, downward.cut = upCut, downCut
			}
			ctx, cancel := context.WithCancel(t.Context())
			a, b := ends(upward, downward)
			runner, server, err1, err2 := greet(ctx, a, b, link.Options{Serve: serve}, link.Options{})
			var running sync.WaitGroup
			for _, c := range []*link.Conn{runner, server} {
				if c != nil {
					running.Go(func() {
						if err := c.Run(ctx); !errors.Is(err, link.ErrLost) && !errors.Is(err, context.Canceled) {
							t.Errorf("Run returned %v", err)
						}
					})
				}
			}
			if err1 == nil && err2 == nil {
				var reading sync.WaitGroup
				reading.Go(func() {
					if ch, err := server.Open(ctx, "read", reached); err == nil {
						defer ch.Close()
						reached, err = receiveText(ctx, ch, reached, 0)
						var result string
						exited = err == io.EOF && ch.Result(ctx, &result) == nil && result == "exited"
						if err != io.EOF && !errors.Is(err, link.ErrLost) {
							t.Errorf("reading ended with %v", err)
						}
					}
				})
				for next < lines {
					if err := server.Call(ctx, "write", fmt.Sprint("line ", next), nil); err != nil {
						if !errors.Is(err, link.ErrLost) {
							t.Errorf("a write failed with %v", err)
						}
						break // and is repeated with its key
					}
					next++
				}
				reading.Wait()
			}
			cancel()
			running.Wait()
			up, down = upward.carried, downward.carried
		}
		if reached != size {
			t.Errorf("%d of %d bytes were read", reached, size)
		}
		for i, line := range written {
			if line != fmt.Sprint("line ", i) || len(written) != lines {
				t.Fatalf("written: %q", written)
			}
		}
		return up, down
	}
	synctest.Test(t, func(t *testing.T) {
		up, down := try(t, 0, 0)
		if up < size || down < lines*40 {
			t.Fatalf("%d and %d bytes were carried", up, down)
		}
		for _, n := range cuts(up) {
			try(t, n, 0)
		}
		for _, n := range cuts(down) {
			try(t, 0, n)
		}
	})
}
