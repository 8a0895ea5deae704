package transcript

import (
	"bytes"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/session"
)

// What a long text is encoded with is not several times its size. It is not parallel, as it
// counts what the program allocates. On a busy machine encoding/json finds its pools empty, since
// each processor has its own and a collection empties them. So there is one processor and no
// collection, and of several tries the least is what encodeText itself takes.
func TestMemoryOfEncodeText(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	text := strings.Repeat("0123456789 \"quoted\"\n", 1<<20)
	least := math.Inf(1)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := encodeText(text)
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.TotalAlloc-before.TotalAlloc)/float64(len(got)))
	}
	if least > 1.1 {
		t.Errorf("%.2f times the size of the result was allocated", least)
	}
}

// A long text is encoded as any other, in one piece of memory.
func TestEncodeText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":     "",
		"short":     "a \"b\" <c>",
		"plain":     strings.Repeat("x", 300<<10),
		"escapes":   strings.Repeat("The \"fox\" & <dog>\\ \n\r\t\b\f\x00\x1f\x7f \u2028\u2029", 20<<10),
		"runes":     strings.Repeat("aä€😀", 50<<10),
		"more":      "x" + strings.Repeat("😀", 100<<10),
		"separator": strings.Repeat("ab\u2027\u2028", 80<<10),
	} {
		want, got := Encode(session.TextBody{Text: text}), encodeText(text)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes and not the %d of the usual encoding", name, len(got), len(want))
		}
		if len(text) > 1<<10 && cap(got) > len(got)+len(got)/4 {
			t.Errorf("%s: room for %d bytes for %d", name, cap(got), len(got))
		}
	}
	broken := strings.Repeat("\xff\xe2\x80\xe2\xf0\x9f\x98a\x80\x80\x80\x80\x80", 40<<10)
	if got, want := encodeText(broken), Encode(session.TextBody{Text: broken}); !bytes.Equal(got, want) {
		t.Errorf("no UTF-8: %d bytes and not the %d of the usual encoding", len(got), len(want))
	}
}
