package descriptors

import (
	"errors"
	"os"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
)

func TestCurrentCountsWhatIsOpen(t *testing.T) {
	before, ok := Current()
	if !ok {
		t.Fatal("the open descriptors cannot be counted")
	}
	if before.Limit <= before.Open || before.Open < 3 {
		t.Errorf("%+v at the start", before)
	}
	for range 10 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if now, _ := Current(); now.Open != before.Open+10 {
		t.Errorf("%d after ten more than %d", now.Open, before.Open)
	}
}

// TestReserve: tabs and sessions are refused first, then requests, then connections, and
// each while descriptors are left.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{32, 64, 256, 1024, 1 << 20} {
		var free int
		r := &Reserve{current: func() (Use, bool) { return Use{Open: limit - free, Limit: limit}, true }}
		var lasting, brief, accept int // how many were free when it was refused first
		for free = limit; free >= 0; free-- {
			if lasting == 0 && r.CheckConnection() != nil {
				lasting = free
			}
			if brief == 0 && r.CheckRequest() != nil {
				brief = free
			}
			if accept == 0 && !r.MayAccept() {
				accept = free
			}
		}
		if accept < 1 || brief <= accept || lasting <= brief || lasting > 64 || lasting > limit/2 {
			t.Errorf("of %d: lasting at %d, brief at %d, none at %d", limit, lasting, brief, accept)
		}
	}
	r := &Reserve{current: func() (Use, bool) { return Use{Open: 60, Limit: 64}, true }}
	if err := r.CheckConnection(); !errors.Is(err, problem.NoDescriptors) {
		t.Errorf("got %v", err)
	}
	r.current = func() (Use, bool) { return Use{}, false }
	if err := r.CheckConnection(); err != nil || !r.MayAccept() {
		t.Errorf("refused where it cannot be told: %v", err)
	}
}
