package pending_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

func TestWaitedCountsEachMomentOnce(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return day.Add(time.Duration(minutes) * time.Minute) }
	got := pending.WaitedBySession([]pending.Wait{
		{SessionID: "a", From: at(20), To: at(30)},
		{SessionID: "a", From: at(-10), To: at(5)},  // from yesterday on
		{SessionID: "a", From: at(22), To: at(24)},  // inside of another
		{SessionID: "a", From: at(28), To: at(33)},  // over the end of another
		{SessionID: "a", From: at(-30), To: at(-5)}, // yesterday
		{SessionID: "b", From: at(50)},              // still waits
	}, day, at(60))
	if got["a"] != 18*time.Minute || got["b"] != 10*time.Minute || len(got) != 2 {
		t.Errorf("waited %v, want 18 and 10 minutes", got)
	}
}
