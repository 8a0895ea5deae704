package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// gap is the time between two requests. The CLI is idle between requests, so every hop includes
// waking up a process, which requests without gaps would not show.
const gap = 5 * time.Millisecond

// samples is the number of samples in a round; five rounds are enough for a p99.
const samples = 220

// benchPath measures the latency of an approval: the stub writes a request, one tab receives the
// frame and answers at once, and the stub reads the answer, which was synced to disk before. The
// anchor is the sum of a round trip over a pipe, one over a WebSocket, and a write of 4 KiB with
// fdatasync, measured in turn with it.
func benchPath(ctx context.Context, s settings) error {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return err
	}
	defer v.stop()
	t, err := v.tab(ctx)
	if err != nil {
		return err
	}
	defer t.conn.CloseNow()
	const warmUp = 20
	session, err := v.session(ctx, fmt.Sprintf("ask %d 1ms %s", warmUp, filepath.Join(folder, "warm-up")))
	if err != nil {
		return err
	}
	if _, err := answerTurn(ctx, t, session, warmUp); err != nil {
		return err
	}

	var unsynced, trip, toFrame []round
	for n := range s.rounds {
		hops := make(map[string][]float64)
		for _, hop := range []struct {
			name string
			take func(context.Context, settings) ([]time.Duration, error)
		}{{"pipe", pipeRoundTrips}, {"socket", webSocketRoundTrips}, {"disk", syncedWrites}} {
			took, err := hop.take(ctx, s)
			if err != nil {
				return err
			}
			hops[hop.name] = inUnit(time.Microsecond, took)
		}
		file := filepath.Join(folder, fmt.Sprintf("round-%d", n))
		if _, err := v.post(ctx, "/api/sessions/"+session+"/messages", map[string]any{"text": fmt.Sprintf("ask %d %s %s", samples, gap, file)}); err != nil {
			return err
		}
		arrived, err := answerTurn(ctx, t, session, samples)
		if err != nil {
			return err
		}
		took, err := readDurations(file)
		if err != nil {
			return err
		}
		wakeUps := addDistributions(hops["pipe"], hops["socket"])
		toFrame = append(toFrame, round{Samples: inUnit(time.Microsecond, arrived)})
		unsynced = append(unsynced, round{inUnit(time.Microsecond, took), wakeUps})
		trip = append(trip, round{inUnit(time.Microsecond, took), addDistributions(wakeUps, hops["disk"])})
	}

	measurementHead(fmt.Sprintf("The way of an approval, one tab, %s apart", gap))
	const synced = "pipe + WebSocket + write with fdatasync"
	s.report.add(measurement{Part: "path", Name: "request_to_frame", What: "request → frame in the tab", Unit: "µs", Rounds: toFrame})
	s.report.add(measurement{Part: "path", Name: "approval_p50", What: "request → tab → answer at stdin, answer synced", Unit: "µs", Anchor: synced, Rounds: trip, Floor: 2, Target: 1.3})
	s.report.add(measurement{Part: "path", Name: "approval_p99", What: "the same", Unit: "µs", Anchor: synced, Rounds: trip, Percentile: 99})
	s.report.add(measurement{Part: "path", Name: "approval_unsynced", What: "the same", Unit: "µs", Anchor: "pipe + WebSocket", Rounds: unsynced})
	return nil
}

// addDistributions adds two distributions rank by rank, so that each percentile of the sum is the
// sum of the percentiles.
func addDistributions(a, b []float64) []float64 {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	sum := make([]float64, min(len(a), len(b)))
	for i := range sum {
		sum[i] = a[i] + b[i]
	}
	return sum
}

// answerTurn allows each of the count requests of a turn when its frame arrives, and returns the
// time of each from the stub to here. It returns at the end of the turn.
func answerTurn(ctx context.Context, t *tab, session string, count int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var took []time.Duration
	seen := map[string]bool{}
	for over := false; !over; {
		err := t.nextFrames(ctx, func(f frame) error {
			if f.Type == "ack" && f.Result != "applied" {
				return fmt.Errorf("an answer was not applied: %s %s", f.Result, f.Error)
			}
			if f.Type != "process_state" || f.SessionID != session {
				return nil
			}
			if f.State == "dead" {
				return fmt.Errorf("the session died: %s", f.Error)
			}
			over = f.State == "user_turn" && len(seen) == count
			for _, r := range f.PendingRequests {
				if seen[r.RequestID] {
					continue
				}
				seen[r.RequestID] = true
				took = append(took, time.Duration(time.Now().UnixNano()-r.ToolInput.WrittenAt))
				if err := t.send(ctx, map[string]any{
					"type": "pending_request_response", "command_id": uuid.NewString(), "session_id": session,
					"request_id": r.RequestID, "request_type": "tool_approval", "input_hash": r.InputHash, "decision": "allow",
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

func readDurations(file string) ([]time.Duration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []time.Duration
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, time.Duration(n))
	}
	return out, nil
}
