package tracing_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/tracing"
)

func TestTracerRecordsSteps(t *testing.T) {
	t.Parallel()
	var got []tracing.Span
	tracer := tracing.New(func(s tracing.Span) { got = append(got, s) })
	start, failed := tracer.Begin(), errors.New("failed")
	tracer.End("r1", tracing.Store, start, failed)
	if len(got) != 1 || got[0].RequestID != "r1" || got[0].Step != tracing.Store || got[0].Start != start || got[0].End.Before(start) || got[0].Err != failed {
		t.Errorf("%+v", got)
	}
}

// Without a collector, measuring costs nothing.
func TestNoTracerCostsNothing(t *testing.T) {
	var none *tracing.Tracer
	begun := time.Time{}
	if n := testing.AllocsPerRun(100, func() {
		begun = none.Begin()
		none.End("r1", tracing.Ask, begun, nil)
	}); n != 0 || !begun.IsZero() {
		t.Errorf("%v allocations, began at %v", n, begun)
	}
}
