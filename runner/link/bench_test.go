package link_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/sayso-dev/sayso/runner/link"
)

// lines is what a server receives lines from; the local runner is called.
type lines interface {
	recv() ([]byte, error)
}

type direct struct {
	line []byte
	left int
}

func (d *direct) recv() ([]byte, error) {
	if d.left == 0 {
		return nil, io.EOF
	}
	d.left--
	return d.line, nil
}

// linked splits what comes over a channel.
type linked struct {
	ctx  context.Context //nolint:containedctx // of one benchmark
	ch   *link.Channel
	data []byte
	rest []byte
}

func (l *linked) recv() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.data, '\n'); i >= 0 {
			line := l.data[:i]
			if len(l.rest) > 0 {
				l.rest = append(l.rest, line...)
				line = l.rest
				l.rest = l.rest[:0]
			}
			l.data = l.data[i+1:]
			return line, nil
		}
		l.rest = append(l.rest, l.data...)
		var err error
		if _, l.data, err = l.ch.Recv(l.ctx); err != nil {
			return nil, err
		}
	}
}

// sendLines serves a channel of lines.
func sendLines(line []byte) link.Options {
	return link.Options{Serve: func(ctx context.Context, call *link.Call) (any, error) {
		var n int
		if err := json.Unmarshal(call.Args, &n); err != nil {
			return nil, err
		}
		source := direct{line, n}
		var offset uint64
		for {
			text, err := source.recv()
			if err != nil {
				return nil, nil
			}
			if err := call.Send(ctx, offset, text); err != nil {
				return nil, err
			}
			offset += uint64(len(text))
		}
	}}
}

func BenchmarkLines(b *testing.B) {
	for _, size := range []int{200, 4 << 10} {
		line := append(bytes.Repeat([]byte("x"), size-1), '\n')
		receive := func(b *testing.B, from lines) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for n := 0; ; n++ {
				text, err := from.recv()
				if err != nil {
					if n != b.N {
						b.Fatalf("%d of %d lines, %v", n, b.N, err)
					}
					return
				}
				if len(text) < size-1 {
					b.Fatalf("a line of %d bytes", len(text))
				}
			}
		}
		over := func(b *testing.B, runner, server io.ReadWriteCloser) {
			_, c, _ := run(b, runner, server, sendLines(line), link.Options{}, func() {})
			ch, err := c.Open(b.Context(), "lines", b.N)
			if err != nil {
				b.Fatal(err)
			}
			defer ch.Close()
			receive(b, &linked{ctx: b.Context(), ch: ch})
		}
		b.Run("direct/"+strconv.Itoa(size), func(b *testing.B) { receive(b, &direct{line, b.N}) })
		b.Run("memory/"+strconv.Itoa(size), func(b *testing.B) {
			runner, server := ends(fast(), fast())
			over(b, runner, server)
		})
		b.Run("tcp/"+strconv.Itoa(size), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			dialed, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			accepted, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			over(b, dialed, accepted)
		})
	}
}

// BenchmarkCall measures one call after another.
func BenchmarkCall(b *testing.B) {
	runner, server := ends(fast(), fast())
	_, c, _ := run(b, runner, server, link.Options{Serve: serve}, link.Options{}, func() {})
	b.ReportAllocs()
	for b.Loop() {
		var got int
		if err := c.Call(b.Context(), "echo", 7, &got); err != nil || got != 7 {
			b.Fatal(got, err)
		}
	}
}
