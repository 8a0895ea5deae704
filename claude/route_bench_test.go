package claude_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// line is an assistant message of about size bytes, with escapes as in code.
func line(size int) []byte {
	const unit = `\tif err != nil {\n\t\treturn fmt.Errorf(\"open %s: %w\", path, err)\n\t}\n`
	head := `{"type":"assistant","message":{"id":"msg_01","role":"assistant","content":[{"type":"text","text":"`
	tail := `"}]},"parent_tool_use_id":null,"session_id":"7f0e8b4e-7f5b-4c52-8a4e-1c8f6f3d2a10","uuid":"0b0c6d7e-1f2a-4b3c-8d4e-5f6a7b8c9d0e"}`
	n := max(0, size-len(head)-len(tail))
	text := bytes.Repeat([]byte(unit), n/len(unit)+1)[:n-n%len(unit)]
	return append(append([]byte(head), text...), tail...)
}

var sizes = []struct {
	name string
	size int
}{{"200B", 200}, {"2KB", 2 << 10}, {"100KB", 100 << 10}, {"20MB", 20 << 20}}

// Routing alone: what every line costs, whoever wants it.
func BenchmarkRoute(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			l := line(s.size)
			b.SetBytes(int64(len(l)))
			b.ReportAllocs()
			for b.Loop() {
				if e, err := claude.ReadEnvelope(l); err != nil || e.Type != "assistant" {
					b.Fatal(e.Type, err)
				}
			}
		})
	}
}

// replay is a transport that returns one line n times.
type replay struct {
	line []byte
	n    int
}

func (r *replay) Recv() ([]byte, error) {
	if r.n == 0 {
		return nil, io.EOF
	}
	r.n--
	return r.line, nil
}
func (r *replay) Send([]byte) error { return nil }
func (r *replay) Close() error      { return nil }

// The whole client: routing, decoding and delivery.
func BenchmarkClient(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			l := line(s.size)
			b.SetBytes(int64(len(l)))
			b.ReportAllocs()
			heard := 0
			client := claude.NewClient(&replay{l, b.N}, claude.Options{OnMessage: func(m claude.Message) {
				heard += len(m.(*claude.Assistant).Content)
			}})
			b.ResetTimer()
			if err := client.Run(b.Context()); err != nil || heard != b.N {
				b.Fatal(fmt.Sprint(heard, " of ", b.N), err)
			}
		})
	}
}

// From the CLI's pipe to OnMessage: a program that floods its stdout.
func BenchmarkProcess(b *testing.B) {
	for _, s := range sizes {
		b.Run(s.name, func(b *testing.B) {
			path, _ := claudetest.Program(b, claudetest.Script{Start: []claudetest.Step{{Flood: &claudetest.Flood{Lines: b.N, Bytes: s.size}}}})
			b.ResetTimer()
			p, err := claude.StartProcess(claude.Command{Path: path, Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			heard, bytes := 0, 0
			client := claude.NewClient(p, claude.Options{OnMessage: func(m claude.Message) {
				heard++
				bytes += len(m.Base().Raw)
				if heard == b.N {
					_ = p.CloseInput()
				}
			}})
			if err := client.Run(b.Context()); err != nil || heard != b.N {
				b.Fatal(fmt.Sprint(heard, " of ", b.N), err)
			}
			_ = p.Wait()
			b.SetBytes(int64(bytes / heard))
		})
	}
}
