package httpapi_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness adds to the one that both edges share what the tests of this package need.
type harness struct{ *apitest.Harness }

// newHarness returns a harness whose hub runs until the test ends.
func newHarness(t testing.TB, change ...func(*apitest.Options)) *harness {
	t.Helper()
	return &harness{apitest.New(t, change...)}
}

// openHarness returns a harness on a database without running anything.
func openHarness(t testing.TB, path string, change ...func(*apitest.Options)) *harness {
	t.Helper()
	return &harness{apitest.Open(t, path, change...)}
}

// quietHarness returns a harness on a new database without running anything.
func quietHarness(t testing.TB, change ...func(*apitest.Options)) *harness {
	t.Helper()
	return openHarness(t, sqlitetest.New(t), change...)
}

// inBubble runs a test with a harness where time moves only when everybody waits.
func inBubble(t *testing.T, test func(t *testing.T, h *harness), change ...func(*apitest.Options)) {
	t.Helper()
	apitest.InBubble(t, func(t *testing.T, h *apitest.Harness) { test(t, &harness{h}) }, change...)
}
