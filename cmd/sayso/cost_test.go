package main_test

import (
	"math"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// spent is what the sessions of whoever asks have cost today, in US dollars.
func (s *server) spent() float64 {
	s.h.t.Helper()
	var limits struct {
		Mine struct {
			Use struct {
				Cost float64 `json:"cost"`
			} `json:"use"`
		} `json:"mine"`
	}
	s.do("GET", "/api/limits", nil, &limits)
	return limits.Mine.Use.Cost
}

// What Claude costs is counted once, also when the server dies in the middle of a turn
// that costs, or in the instant in which it hears of the cost.
func TestCostIsCountedOnceOverKill(t *testing.T) {
	t.Parallel()
	turn := []claudetest.Step{{Cost: 0.25}, bash, {Cost: 0.5}, {Text: "It is there."}}
	h := newHarness(t, claudetest.Script{Turn: turn}).asProcesses()
	s := h.start()
	again := func() {
		s.signal(syscall.SIGKILL)
		s.gone(waitLimit)
		s = h.start()
	}
	id := s.session("one")
	const rounds = 3
	for n := range rounds {
		r := s.asks(id)
		pid := s.pid(id)
		again()
		if got := s.asks(id); got != r {
			t.Fatalf("the request is %s now, was %s", got, r)
		}
		s.allow(r)
		if n%2 == 0 {
			again() // wherever it is with what Claude says
		}
		s.reaches(id, "user_turn")
		if now := s.pid(id); now != pid {
			t.Fatalf("Claude is process %d now, was %d", now, pid)
		}
		want := 0.75 * float64(n+1)
		eventually(t, "the turn is counted", func() bool { return s.spent() > want-1e-6 })
		if got := s.spent(); math.Abs(got-want) > 1e-6 {
			t.Errorf("after %d turns: counted %v, want %v", n+1, got, want)
		}
		again()
		if got := s.spent(); math.Abs(got-want) > 1e-6 {
			t.Errorf("after %d turns and another server: counted %v, want %v", n+1, got, want)
		}
		if n < rounds-1 {
			s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "again"}, nil)
		}
	}
}
