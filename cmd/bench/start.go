package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// benchStart measures the time from exec to listening: without state, so that the
// tables are created, and with state.
func benchStart(ctx context.Context, s settings) error {
	var first, later []round
	for range s.rounds {
		folder, err := os.MkdirTemp("", "sayso-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		for _, to := range []*[]round{&first, &later} {
			v, err := startServer(ctx, s, folder)
			if err != nil {
				return err
			}
			*to = append(*to, round{Samples: inUnit(time.Millisecond, []time.Duration{v.took})})
			if err := v.stop(); err != nil {
				return err
			}
		}
	}
	measurementHead("Start to listening")
	s.report.add(measurement{Part: "start", Name: "first_start", What: "first start", Unit: "ms", Rounds: first})
	s.report.add(measurement{Part: "start", Name: "later_start", What: "later start", Unit: "ms", Rounds: later})
	return nil
}

// benchMemory measures the memory of the server: just started, with 20 idle sessions
// and 20 tabs, each of which reads a session, and its peak during a long line.
func benchMemory(ctx context.Context, s settings) error {
	const count = 20
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
	idle, err := v.memory()
	if err != nil {
		return err
	}
	for range count {
		session, err := v.session(ctx, "hello")
		if err != nil {
			return err
		}
		t, err := v.tab(ctx)
		if err != nil {
			return err
		}
		defer t.conn.CloseNow()
		if err := t.send(ctx, map[string]any{"type": "subscribe", "command_id": session, "session_id": session}); err != nil {
			return err
		}
		reading, stop := context.WithTimeout(ctx, 20*time.Second)
		defer stop()
		for quiet := false; !quiet; {
			if err := t.nextFrames(reading, func(f frame) error {
				quiet = quiet || f.Type == "process_state" && f.SessionID == session && f.State == "user_turn"
				return nil
			}); err != nil {
				return fmt.Errorf("a session does not come to rest: %w", err)
			}
		}
		go func() { // until the connection is closed
			for t.nextFrames(ctx, func(frame) error { return nil }) == nil {
			}
		}()
	}
	time.Sleep(5 * time.Second)
	full, err := v.memory()
	if err != nil {
		return err
	}
	most, err := peakOfLine(ctx, s)
	if err != nil {
		return err
	}
	measurementHead("Memory of the server")
	one := func(bytes int) []round { return []round{{Samples: []float64{mega(bytes)}}} }
	s.report.add(measurement{Part: "memory", Name: "memory_idle", What: "just started", Unit: "MB", Rounds: one(idle)})
	s.report.add(measurement{Part: "memory", Name: "memory_long_line", What: fmt.Sprintf("the most while a line of %d MB passes from the CLI to the store", longLine/1_000_000), Unit: "MB", Rounds: one(most)})
	full20 := measurement{Part: "memory", Name: "memory_20", What: fmt.Sprintf("%d sessions and %d tabs, at rest", count, count), Unit: "MB", Rounds: one(full)}
	if s.sdk != "" {
		anchor, err := sdkMemory(ctx, s, count)
		if err != nil {
			return err
		}
		full20.Rounds[0].Anchor = []float64{mega(anchor)}
		full20.Anchor, full20.Floor, full20.Target = "Node process with the TypeScript SDK", 0.6, 0.35
	}
	s.report.add(full20)
	return nil
}

// sdkMemory returns the resident memory of a Node process with a number of idle
// sessions of the TypeScript SDK, in bytes.
func sdkMemory(ctx context.Context, s settings, sessions int) (int, error) {
	out, err := exec.CommandContext(ctx, "node", filepath.Join(s.sdk, "memory.mjs"), s.self, strconv.Itoa(sessions)).Output()
	if err != nil {
		return 0, fmt.Errorf("TypeScript SDK: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// longLine is the size of the longest line, in bytes.
const longLine = 20_000_000

// peakOfLine returns the peak resident memory of a server, in bytes, while the CLI prints
// one long line and all of it is stored; 0 if the system does not report it.
func peakOfLine(ctx context.Context, s settings) (int, error) {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return 0, err
	}
	defer v.stop()
	t, err := v.tab(ctx)
	if err != nil {
		return 0, err
	}
	defer t.conn.CloseNow()
	session, err := v.session(ctx, fmt.Sprintf("flood 1 %d", longLine))
	if err != nil {
		return 0, err
	}
	// The state of the end of the turn is stored with the line, or after it.
	reading, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for over := false; !over; {
		if err := t.nextFrames(reading, func(f frame) error {
			over = over || f.Type == "process_state" && f.SessionID == session && f.State == "user_turn"
			return nil
		}); err != nil {
			return 0, fmt.Errorf("a long line does not arrive: %w", err)
		}
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.PID()))
	kib := 0
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &kib)
	}
	return kib << 10, nil
}

func mega(bytes int) float64 { return float64(bytes) / 1e6 }
