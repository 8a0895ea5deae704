package shim_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/shim"
)

// echo is a way to a CLI that says every line again.
type echo interface {
	write(line []byte) error
	read() ([]byte, error)
}

// plain is the anchor: the CLI is a child and there are two pipes.
type plain struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func (p plain) write(line []byte) error { _, err := p.in.Write(append(line, '\n')); return err }
func (p plain) read() ([]byte, error)   { return p.out.ReadSlice('\n') }

type shimmed struct {
	b *testing.B
	c *shim.Conn
	n *int
}

func (s shimmed) write(line []byte) error {
	*s.n++
	return s.c.Write(s.b.Context(), fmt.Sprint(*s.n), line)
}
func (s shimmed) read() ([]byte, error) { return s.c.Recv() }

// both runs a measurement over both ways. The CLI runs a shell script.
func both(b *testing.B, text string, measure func(b *testing.B, e echo)) {
	b.Run("pipe", func(b *testing.B) {
		run := exec.Command("/bin/sh", "-c", text)
		in, err := run.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := run.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := run.Start(); err != nil {
			b.Fatal(err)
		}
		measure(b, plain{in, bufio.NewReaderSize(out, 64<<10)})
		in.Close()
		_ = run.Process.Kill() // it may be done
		_ = run.Wait()         // it was killed
	})
	b.Run("shim", func(b *testing.B) {
		p := script(b, text)
		h := start(b, p)
		c := attach(b, h.Dir, 1, 0)
		measure(b, shimmed{b, c, new(int)})
	})
}

// BenchmarkEcho is one line to the CLI and back, one at a time.
func BenchmarkEcho(b *testing.B) {
	both(b, `exec cat`, func(b *testing.B, e echo) {
		line := slices.Repeat([]byte("x"), 1000)
		for b.Loop() {
			if err := e.write(line[:1000:1000]); err != nil {
				b.Fatal(err)
			}
			if _, err := e.read(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLine is how old a line is when it arrives, of lines 5 ms apart, which
// is how Claude prints. The CLI is this binary, which stamps them.
func BenchmarkLine(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	both(b, "exec '"+exe+"' clock", func(b *testing.B, e echo) {
		var ages []time.Duration
		for b.Loop() {
			line, err := e.read()
			if err != nil {
				b.Fatal(err)
			}
			var at int64
			if _, err := fmt.Sscan(string(line), &at); err != nil {
				b.Fatal(err)
			}
			ages = append(ages, time.Duration(time.Now().UnixNano()-at))
		}
		slices.Sort(ages)
		b.ReportMetric(0, "ns/op") // that is the clock's
		b.ReportMetric(float64(ages[len(ages)/2].Nanoseconds())/1000, "p50-µs")
		b.ReportMetric(float64(ages[len(ages)*99/100].Nanoseconds())/1000, "p99-µs")
	})
}

// clock prints the time every 5 ms, until nobody reads.
func clock() {
	for range time.Tick(5 * time.Millisecond) {
		if _, err := fmt.Println(time.Now().UnixNano()); err != nil {
			return
		}
	}
}

// BenchmarkThroughput is 200 bytes a line, as fast as they go.
func BenchmarkThroughput(b *testing.B) {
	both(b, `exec yes "$(head -c 199 /dev/zero | tr '\0' x)"`, func(b *testing.B, e echo) {
		b.SetBytes(200)
		for b.Loop() {
			if _, err := e.read(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStart is from nothing to the first line of the CLI, and to the last
// of the shim.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p := script(b, `echo ready`)
		h := start(b, p)
		c := attach(b, h.Dir, 1, 0)
		recv(b, c)
		all(b, c)
		if err := c.AckExit(b.Context()); err != nil {
			b.Fatal(err)
		}
		<-h.Done
	}
}
