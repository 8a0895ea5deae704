package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// The load: sessions that all write, and tabs that each read some of them.
const (
	busySessions = 50
	busyTabs     = 10
	deltaGap     = 50 * time.Millisecond
	deltaBytes   = 40
	busyDeltas   = 120 // of each session in a round: 6 seconds
)

// benchLoad measures the latency of approvals while many sessions write, in turn with that while they
// rest, and how much is written to disk for the output of the CLIs.
func benchLoad(ctx context.Context, s settings) error {
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
	asker, err := v.session(ctx, fmt.Sprintf("ask %d 1ms %s", warmUp, filepath.Join(folder, "warm-up")))
	if err != nil {
		return err
	}
	if _, err := answerTurn(ctx, t, asker, warmUp); err != nil {
		return err
	}
	writers, err := startIdle(ctx, v, t, busySessions)
	if err != nil {
		return err
	}
	for i := range busyTabs {
		reader, err := v.tab(ctx)
		if err != nil {
			return err
		}
		defer reader.conn.CloseNow()
		for n := i; n < len(writers); n += busyTabs {
			if err := reader.subscribe(ctx, writers[n]); err != nil {
				return err
			}
		}
		go reader.discard(ctx) // until the connection is closed
	}
	// The tab that answers gets the states of all sessions, but must not wait for them.
	approvals := func(name string) ([]float64, error) {
		if err := v.send(ctx, asker, fmt.Sprintf("ask %d %s %s", samples, gap, filepath.Join(folder, name))); err != nil {
			return nil, err
		}
		took, err := answerTurn(ctx, t, asker, samples)
		return inUnit(time.Microsecond, took), err
	}
	pids, err := v.shims(ctx)
	if err != nil {
		return err
	}
	pids = append(pids, v.PID())
	write := func() error {
		for _, id := range writers {
			if err := v.send(ctx, id, fmt.Sprintf("deltas %d %s %d", busyDeltas, deltaGap, deltaBytes)); err != nil {
				return err
			}
		}
		return nil
	}
	const lasting = busyDeltas*deltaGap + 2*time.Second
	var frames, disk []round
	for n := range s.rounds {
		idle, err := approvals(fmt.Sprintf("idle-%d", n))
		if err != nil {
			return err
		}
		if err := write(); err != nil {
			return err
		}
		busy, err := approvals(fmt.Sprintf("busy-%d", n))
		if err != nil {
			return err
		}
		frames = append(frames, round{busy, idle})
		time.Sleep(lasting) // until all have written
	}
	// Answers are written to disk, too, so this part has no requests.
	for range min(3, s.rounds) {
		before, err := written(pids)
		if err != nil {
			return err
		}
		if err := write(); err != nil {
			return err
		}
		time.Sleep(lasting)
		now, err := written(pids)
		if err != nil {
			return err
		}
		printed := float64(busySessions * deltasSize(busyDeltas, deltaBytes))
		disk = append(disk, round{[]float64{(now - before) / 1e6}, []float64{printed / 1e6}})
	}
	measurementHead(fmt.Sprintf("%d sessions that write %d times a second", busySessions, time.Second/deltaGap))
	s.report.add(measurement{Part: "load", Name: "load_request_to_frame_p99", What: "request → frame in the tab", Unit: "µs", Anchor: "while they rest", Rounds: frames, Percentile: 99, Floor: 2})
	if runtime.GOOS == "linux" {
		s.report.add(measurement{Part: "load", Name: "load_disk", What: "written to disk by server and shims", Unit: "MB", Anchor: "what the CLIs print", Rounds: disk, Floor: 5})
	}
	return nil
}

// written returns how many bytes processes have caused to be written to disk so far; 0 if the system
// does not report it.
func written(pids []int) (sum float64, err error) {
	if runtime.GOOS != "linux" {
		return 0, nil
	}
	for _, pid := range pids {
		n, err := procValue(pid, "io", "write_bytes")
		if err != nil {
			return 0, err
		}
		sum += float64(n)
	}
	return sum, nil
}

// startIdle starts sessions that wait for a person.
func startIdle(ctx context.Context, v *server, t *tab, count int) (ids []string, err error) {
	for range count {
		id, err := v.session(ctx, "hello")
		if err != nil {
			return nil, err
		}
		if err := awaitUserTurns(ctx, t, id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// benchGrowingMessage measures how much is sent to a tab for a message that grows to 58 KB.
func benchGrowingMessage(ctx context.Context, s settings) error {
	const count, size = 2900, 20
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
	ids, err := startIdle(ctx, v, t, 1)
	if err != nil {
		return err
	}
	if err := t.subscribe(ctx, ids[0]); err != nil {
		return err
	}
	var rounds []round
	growth := curve{Part: "growing", Name: "bytes_by_deltas", What: "Sent to a tab for a message that grows by 20 bytes at a time", X: "deltas", Unit: "KB"}
	for _, n := range []int{1, 10, 100, 1000, 10_000} {
		sent, err := t.bytesOf(ctx, v, ids[0], n, size)
		if err != nil {
			return err
		}
		growth.Points = append(growth.Points, point{X: float64(n), Samples: []float64{float64(sent) / 1000}})
	}
	for range min(3, s.rounds) {
		sent, err := t.bytesOf(ctx, v, ids[0], count, size)
		if err != nil {
			return err
		}
		rounds = append(rounds, round{[]float64{float64(sent) / 1000}, []float64{count * size / 1000.0}})
	}
	measurementHead("A growing message")
	s.report.add(measurement{Part: "growing", Name: "growing_bytes", What: "sent to a tab that reads along", Unit: "KB", Anchor: "its length", Rounds: rounds, Floor: 2})
	s.report.draw(growth)
	return nil
}

// bytesOf makes a session write one message, and returns how many bytes the tab receives for it.
func (t *tab) bytesOf(ctx context.Context, v *server, session string, count, size int) (sent int, err error) {
	if err := v.send(ctx, session, fmt.Sprintf("deltas %d 2ms %d", count, size)); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	begun := false
	for over := false; !over; {
		_, message, err := t.conn.Read(ctx)
		if err != nil {
			return 0, err
		}
		sent += len(message)
		if err := forEachFrame(message, func(f frame) error {
			if f.Type == "process_state" && f.SessionID == session {
				begun = begun || f.State == "assistant_turn"
				over = begun && f.State == "user_turn"
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	return sent, nil
}
