package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The CLI is idle between requests, and so is every hop: each pays for being
// woken. Back to back would measure something that does not happen.
const gap = 5 * time.Millisecond

// samples of a round; five rounds make enough for a p99.
const samples = 220

// benchPath measures the way of an approval: the stub writes a request, one tab
// gets the frame and answers at once, the stub reads the answer. The answer is
// synced to disk on the way. The anchor is a round trip over a pipe, one over a
// WebSocket, and a write of 4 KiB with fdatasync, in turn with it.
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

	var pipe, socket, disk, there, trip []time.Duration
	for round := range s.rounds {
		for _, anchor := range []struct {
			to   *[]time.Duration
			take func(context.Context, settings) ([]time.Duration, error)
		}{{&pipe, pipeRoundTrips}, {&socket, webSocketRoundTrips}, {&disk, syncedWrites}} {
			took, err := anchor.take(ctx, s)
			if err != nil {
				return err
			}
			*anchor.to = append(*anchor.to, took...)
		}
		file := filepath.Join(folder, fmt.Sprintf("round-%d", round))
		if _, err := v.post(ctx, "/api/sessions/"+session+"/messages", map[string]any{"text": fmt.Sprintf("ask %d %s %s", samples, gap, file)}); err != nil {
			return err
		}
		arrived, err := answerTurn(ctx, t, session, samples)
		if err != nil {
			return err
		}
		there = append(there, arrived...)
		took, err := readDurations(file)
		if err != nil {
			return err
		}
		trip = append(trip, took...)
	}

	fmt.Printf("\n## The way of an approval, one tab, %s apart, %d samples\n\n", gap, len(trip))
	header("what", "p10 µs", "p50 µs", "p99 µs")
	for _, row := range []struct {
		name string
		took []time.Duration
	}{
		{"pipe round trip", pipe}, {"WebSocket echo", socket}, {"4 KiB write + fdatasync", disk},
		{"request → frame in the tab", there}, {"request → tab → answer at stdin, answer synced", trip},
	} {
		fmt.Printf("| %s | %d | %d | %d |\n", row.name, percentile(row.took, 10).Microseconds(), percentile(row.took, 50).Microseconds(), percentile(row.took, 99).Microseconds())
	}
	limit := percentile(pipe, 50) + percentile(socket, 50)
	withDisk := limit + percentile(disk, 50)
	fmt.Printf("\np50 is %.2f × (pipe + WebSocket + disk) and %.2f × (pipe + WebSocket); floor 2, target 1.3\n",
		ratio(percentile(trip, 50), withDisk), ratio(percentile(trip, 50), limit))
	fmt.Printf("p99 is %.2f × (pipe + WebSocket + disk)\n",
		ratio(percentile(trip, 99), percentile(pipe, 99)+percentile(socket, 99)+percentile(disk, 99)))
	return nil
}

// answerTurn allows every request of a turn of count requests as soon as its
// frame is there, and returns how long each took from the stub to here. It ends
// with the turn.
func answerTurn(ctx context.Context, t *tab, session string, count int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var took []time.Duration
	seen := map[string]bool{}
	for over := false; !over; {
		err := t.next(ctx, func(f frame) error {
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
