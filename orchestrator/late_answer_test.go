package orchestrator_test

import (
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/pending"
)

// An answer that crosses the cancel of its request is ignored by Claude, so it is not told as one that
// reached it.
func TestAnswerThatCrossesACancelIsDropped(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		askAs("one", "ls"), {SleepMS: 5_000}, raw(`{"type":"control_cancel_request","request_id":"one"}`),
		raw(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"decided elsewhere","is_error":true}]}}`),
		{SleepMS: 3_600_000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		r := b.wait(id, asking(1)).Requests[0]
		b.answer(r, nil)
		delivery := func() pending.Delivery {
			got, err := b.store.Request(t.Context(), r.RequestID)
			if err != nil {
				t.Fatal(err)
			}
			return got.Delivery
		}
		b.until("it is no longer on its way", func() bool { d := delivery(); return d != pending.Queued && d != pending.Delivered })
		if got := delivery(); got != pending.Dropped {
			t.Errorf("the answer is %s, want %s", got, pending.Dropped)
		}
	})
}
