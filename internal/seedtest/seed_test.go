package seedtest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/seedtest"
)

// failing is a test that fails.
type failing struct {
	*testing.T
	said string
	end  []func()
}

func (f *failing) Cleanup(end func()) { f.end = append(f.end, end) }
func (f *failing) Failed() bool       { return true }
func (f *failing) Log(args ...any)    { f.said += fmt.Sprint(args...) }
func (f *failing) Helper()            {}

// TestFailureSaysHowToRepeatIt runs a test that fails twice, as make sim does the second time.
func TestFailureSaysHowToRepeatIt(t *testing.T) {
	t.Setenv(seedtest.Variable, "")
	os.Unsetenv(seedtest.Variable)
	f := &failing{T: t}
	seed := seedtest.New(f)
	for _, end := range f.end {
		end()
	}
	if want := fmt.Sprintf("make sim SEED=%d PACKAGE=./internal/seedtest RUN=TestFailureSaysHowToRepeatIt", seed); !strings.Contains(f.said, want) {
		t.Errorf("it said %q, want %q", f.said, want)
	}
	t.Setenv(seedtest.Variable, fmt.Sprint(seed))
	if again := seedtest.New(t); again != seed {
		t.Errorf("the seed is %d again, want %d", again, seed)
	}
}
