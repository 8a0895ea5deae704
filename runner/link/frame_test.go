package link

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestFramesSurviveTheStream(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sent []frame
		var stream []byte
		for range rapid.IntRange(1, 5).Draw(t, "frames") {
			f := frame{
				version: rapid.Byte().Draw(t, "version"), kind: rapid.Byte().Draw(t, "kind"),
				channel: rapid.Uint16().Draw(t, "channel"), number: rapid.Uint64().Draw(t, "number"),
				head: head{Name: strings.ToValidUTF8(rapid.String().Draw(t, "name"), ""), Long: rapid.Bool().Draw(t, "long")},
				body: rapid.SliceOfN(rapid.Byte(), 0, 1000).Draw(t, "body"),
			}
			sent, stream = append(sent, f), appendFrame(stream, f)
		}
		r, buf := bytes.NewReader(stream), make([]byte, maxFrame)
		for i, want := range sent {
			got, err := readFrame(r, buf)
			if err != nil || got.head != want.head || !bytes.Equal(got.body, want.body) {
				t.Fatalf("frame %d: %+v, %v; want %+v", i, got, err, want)
			}
			got.body, want.body = nil, nil
			if got.version != want.version || got.kind != want.kind || got.channel != want.channel || got.number != want.number {
				t.Fatalf("frame %d: %+v; want %+v", i, got, want)
			}
		}
		if _, err := readFrame(r, buf); err != io.EOF {
			t.Fatalf("after the last frame: %v", err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(nil, frame{version: 1, kind: kindHello, head: head{Versions: [2]int{1, 1}}, body: []byte(`{}`)}))
	f.Add(appendFrame(nil, frame{version: 1, kind: kindData, channel: 7, number: 1 << 40, body: []byte("line\n")}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, buf := bytes.NewReader(stream), make([]byte, maxFrame)
		for {
			f, err := readFrame(r, buf)
			if err != nil {
				return
			}
			if len(f.body) > maxFrame {
				t.Fatalf("a body of %d bytes", len(f.body))
			}
			again, err := readFrame(bytes.NewReader(appendFrame(nil, frame{f.version, f.kind, f.channel, f.number, f.head, bytes.Clone(f.body)})), make([]byte, 2*maxFrame))
			if errors.Is(err, ErrProtocol) { // a head whose encoding is longer
				continue
			}
			if err != nil || again.head != f.head || !bytes.Equal(again.body, f.body) {
				t.Fatalf("%+v became %+v, %v", f, again, err)
			}
		}
	})
}

// A peer of which we know nothing can make a connection end, and do nothing else.
func FuzzPeer(f *testing.F) {
	call := appendFrame(nil, frame{version: 1, kind: kindCall, channel: 1, number: 1, head: head{Name: "echo"}, body: []byte(`"a"`)})
	long := appendFrame(nil, frame{version: 1, kind: kindCall, channel: 3, number: 2, head: head{Name: "echo", Long: true}})
	long = appendFrame(long, frame{version: 1, kind: kindData, channel: 3, body: []byte(`"b"`)})
	long = appendFrame(long, frame{version: 1, kind: kindEnd, channel: 3})
	f.Add(call)
	f.Add(long)
	f.Add(appendFrame(call, frame{version: 1, kind: kindCancel, channel: 1}))
	f.Add(appendFrame(call, frame{version: 1, kind: kindCredit, channel: 1, number: 1 << 63}))
	f.Add(appendFrame(long, frame{version: 1, kind: 99, number: 4}))
	f.Fuzz(func(t *testing.T, stream []byte) {
		hello := appendFrame(nil, frame{version: 1, kind: kindHello, head: head{Versions: [2]int{1, 1}}})
		s := &recorded{Reader: io.MultiReader(bytes.NewReader(hello), bytes.NewReader(stream))}
		c, err := Accept(t.Context(), s, func(context.Context, json.RawMessage) (any, error) { return nil, nil }, Options{
			Serve: func(_ context.Context, call *Call) (any, error) { return call.Args, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context()); !errors.Is(err, ErrLost) && !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrClosed) {
			t.Fatalf("the connection ended with %v", err)
		}
	})
}

// recorded is a stream of which only the reading matters.
type recorded struct{ io.Reader }

func (*recorded) Write(p []byte) (int, error) { return len(p), nil }
func (*recorded) Close() error                { return nil }

// A rawPeer speaks frames with a connection that runs.
type rawPeer struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	done chan error // what Run returned
	c    *Conn
}

// accepted returns the peer of a connection that accepted it, inside of a bubble.
func accepted(t *testing.T, o Options) *rawPeer {
	t.Helper()
	here, there := net.Pipe()
	p := &rawPeer{t: t, conn: here, r: bufio.NewReader(here), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		var err error
		p.c, err = Accept(ctx, there, func(context.Context, json.RawMessage) (any, error) { return "welcome", nil }, o)
		close(ready)
		if err == nil {
			err = p.c.Run(ctx)
		}
		p.done <- err
	})
	t.Cleanup(func() {
		cancel()
		here.Close()
		running.Wait()
	})
	p.send(frame{kind: kindHello, head: head{Versions: [2]int{1, 1}}})
	if f := p.receive(); f.kind != kindReply || f.head.Version != 1 {
		t.Fatalf("the reply to hello is %+v", f)
	}
	<-ready
	return p
}

func (p *rawPeer) send(f frame) {
	p.t.Helper()
	if f.version == 0 {
		f.version = 1
	}
	if _, err := p.conn.Write(appendFrame(nil, f)); err != nil {
		p.t.Fatal(err)
	}
}

// receive returns the next frame that is no ping.
func (p *rawPeer) receive() frame {
	p.t.Helper()
	for {
		f, err := readFrame(p.r, make([]byte, maxFrame))
		if err != nil {
			p.t.Fatal(err)
		}
		if f.kind != kindPing {
			return f
		}
	}
}

func (p *rawPeer) wantEnd(want error) {
	p.t.Helper()
	go io.Copy(io.Discard, p.conn) //nolint:errcheck // it ends with the connection
	if err := <-p.done; !errors.Is(err, want) {
		p.t.Errorf("the connection ended with %v, want %v", err, want)
	}
}

func TestUnknownFramesGetAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := accepted(t, Options{})
		p.send(frame{kind: 42, channel: 9, number: 77, head: head{Name: "new"}})
		if f := p.receive(); f.kind != kindError || f.channel != 9 || f.number != 77 || f.head.Code != "unknown" {
			t.Errorf("got %+v", f)
		}
		p.send(frame{kind: kindPing, number: 5})
		if f := p.receive(); f.kind != kindPong || f.number != 5 {
			t.Errorf("got %+v after a ping", f)
		}
		// A call that nobody serves.
		p.send(frame{kind: kindCall, channel: 1, number: 8, head: head{Name: "x"}})
		if f := p.receive(); f.kind != kindError || f.channel != 1 || f.number != 8 || f.head.Code != "unknown" {
			t.Errorf("got %+v", f)
		}
	})
}

func TestUnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := accepted(t, Options{Serve: func(_ context.Context, call *Call) (any, error) { return call.Name, nil }})
		text := `{"name":"known","of_tomorrow":{"x":[1]}}`
		raw := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
		raw = binary.BigEndian.AppendUint32(raw, uint32(len(text)))
		raw = binary.BigEndian.AppendUint64(raw, 3)
		raw = append(raw, 1, kindCall, 0, 1)
		if _, err := p.conn.Write(append(raw, text...)); err != nil {
			t.Fatal(err)
		}
		if f := p.receive(); f.kind != kindReply || string(f.body) != `"known"` {
			t.Errorf("got %+v", f)
		}
	})
}

func TestControlGoesBeforeDataAndChannelsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := accepted(t, Options{Serve: func(ctx context.Context, call *Call) (any, error) {
			if call.Name == "quick" {
				return "at once", nil
			}
			return nil, call.Send(ctx, 0, make([]byte, 10*maxFrame))
		}})
		// Nobody reads until three channels have all they may hold.
		for _, id := range []uint16{1, 3, 5} {
			p.send(frame{kind: kindCall, channel: id, number: uint64(id), head: head{Name: "bulk"}})
		}
		synctest.Wait()
		p.send(frame{kind: kindPing, number: 1})
		synctest.Wait()
		seen := map[uint16]int{}
		pongAfter := -1
		for data := 0; data < 30; {
			f := p.receive()
			switch {
			case f.kind == kindPong:
				pongAfter = data
				continue
			case f.kind == kindReply:
				continue
			case f.kind != kindData || len(f.body) > maxFrame:
				t.Fatalf("after %d frames of data: %+v", data, f)
			}
			data++
			seen[f.channel]++
			// One that is scheduled late is behind, but not by nearly all of the ten.
			for _, id := range []uint16{1, 3, 5} {
				if d := seen[f.channel] - seen[id]; d > 8 {
					t.Fatalf("channel %d is %d frames ahead of %d", f.channel, d, id)
				}
			}
		}
		// One write may have been under way, with a batch of data.
		if pongAfter < 0 || pongAfter > 3 {
			t.Errorf("the pong came after %d frames of data", pongAfter)
		}
	})
}

func TestPeersThatBreakTheProtocolLoseTheirConnection(t *testing.T) {
	t.Parallel()
	serve := func(ctx context.Context, call *Call) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, row := range []struct {
		name string
		do   func(p *rawPeer)
	}{
		{"data beyond the credit", func(p *rawPeer) {
			p.send(frame{kind: kindCall, channel: 1, number: 1})
			for sent := 0; sent < window; sent += maxFrame {
				p.send(frame{kind: kindData, channel: 1, number: uint64(sent), body: make([]byte, maxFrame)})
			}
			p.send(frame{kind: kindData, channel: 1, number: window, body: []byte{1}})
		}},
		{"too many gaps", func(p *rawPeer) {
			p.send(frame{kind: kindCall, channel: 1, number: 1})
			for i := range maxChunks + 1 {
				p.send(frame{kind: kindData, channel: 1, number: uint64(2 * i), body: []byte{1}})
			}
		}},
		{"a large frame", func(p *rawPeer) {
			var h [headerSize]byte
			binary.BigEndian.PutUint32(h[:], maxFrame+1)
			_, _ = p.conn.Write(h[:]) // it may have ended already
		}},
		{"a head longer than its frame", func(p *rawPeer) {
			var h [headerSize]byte
			binary.BigEndian.PutUint32(h[4:], 1)
			_, _ = p.conn.Write(h[:]) // it may have ended already
		}},
		{"a head that is no JSON", func(p *rawPeer) {
			var h [headerSize + 1]byte
			binary.BigEndian.PutUint32(h[:], 1)
			binary.BigEndian.PutUint32(h[4:], 1)
			_, _ = p.conn.Write(h[:]) // it may have ended already
		}},
		{"another version", func(p *rawPeer) { p.send(frame{version: 2, kind: kindPing}) }},
		{"a call on our channel", func(p *rawPeer) { p.send(frame{kind: kindCall, channel: 2, number: 1}) }},
		{"a call on the connection", func(p *rawPeer) { p.send(frame{kind: kindCall, channel: 0, number: 1}) }},
		{"a channel twice", func(p *rawPeer) {
			p.send(frame{kind: kindCall, channel: 1, number: 1})
			p.send(frame{kind: kindCall, channel: 1, number: 2})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := accepted(t, Options{Serve: serve})
				row.do(p)
				p.wantEnd(ErrProtocol)
			})
		})
	}
}

// A peer that sends and never reads gets no memory for its replies.
func TestFloodsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := accepted(t, Options{})
		for i := range 10_000 {
			p.send(frame{kind: kindPing, number: uint64(i)})
		}
		synctest.Wait()
		p.c.mu.Lock()
		if n := len(p.c.control); n > 0 {
			t.Errorf("%d bytes of pongs wait", n)
		}
		p.c.mu.Unlock()
		var err error
		for i := 0; err == nil; i++ {
			if i > 1_000_000 {
				t.Fatal("unknown frames without end are answered, and nobody reads")
			}
			_, err = p.conn.Write(appendFrame(nil, frame{version: 1, kind: 99, number: uint64(i)}))
		}
		p.wantEnd(ErrProtocol)
	})
}

// An idle channel keeps next to nothing: a server has thousands.
func TestIdleChannelsKeepNoBuffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := accepted(t, Options{Serve: func(ctx context.Context, call *Call) (any, error) {
			_, _, err := call.Recv(ctx)
			if err == nil {
				err = call.Send(ctx, 0, make([]byte, maxFrame))
			}
			if err == nil {
				_, _, err = call.Recv(ctx)
			}
			return nil, err
		}})
		p.send(frame{kind: kindCall, channel: 1, number: 1})
		p.send(frame{kind: kindData, channel: 1, body: make([]byte, maxFrame)})
		if f := p.receive(); f.kind != kindData {
			t.Fatalf("got %+v", f)
		}
		synctest.Wait()
		p.c.mu.Lock()
		defer p.c.mu.Unlock()
		ch := p.c.channels[1]
		if ch.out != nil || ch.lastReceived != nil || len(ch.in) > 0 {
			t.Errorf("%d bytes to send, %d in hand, %d parts received", cap(ch.out), cap(ch.lastReceived), len(ch.in))
		}
	})
}

func TestPingsThatStayUnansweredEndTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := accepted(t, Options{})
		begin := time.Now()
		for want := uint64(1); want <= maxMissed; want++ {
			f, err := readFrame(p.r, make([]byte, maxFrame))
			if err != nil || f.kind != kindPing {
				t.Fatalf("got %+v, %v", f, err)
			}
		}
		p.wantEnd(ErrLost)
		if took := time.Since(begin); took != (maxMissed+1)*pingInterval {
			t.Errorf("it took %s", took)
		}
	})
}
