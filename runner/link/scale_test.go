package link_test

import (
	"runtime"
	"testing"

	"github.com/sayso-dev/sayso/runner/link"
)

// BenchmarkIdleChannel measures the memory of a call that lasts, on both sides.
func BenchmarkIdleChannel(b *testing.B) {
	runner, server := ends(fast(), fast())
	_, c, _ := run(b, runner, server, link.Options{Serve: serve, MaxCalls: 32 << 10}, link.Options{}, func() {})
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := memory()
	n := min(b.N, 30_000)
	for range n {
		if _, err := c.Open(b.Context(), "wait", nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Call(b.Context(), "echo", 1, nil); err != nil { // all have begun
		b.Fatal(err)
	}
	b.ReportMetric(float64(memory()-before)/float64(n), "B/channel")
}
