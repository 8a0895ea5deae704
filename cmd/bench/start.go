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

// benchStart measures from exec to listening: with no state, so that the tables
// are made, and with some.
func benchStart(ctx context.Context, s settings) error {
	var first, again []time.Duration
	for range s.rounds {
		folder, err := os.MkdirTemp("", "sayso-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		for _, to := range []*[]time.Duration{&first, &again} {
			v, err := startServer(ctx, s, folder)
			if err != nil {
				return err
			}
			*to = append(*to, v.took)
			if err := v.stop(); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\n## Start to listening, median of %d\n\n", s.rounds)
	header("what", "ms")
	fmt.Printf("| first start | %d |\n| later start | %d |\n", percentile(first, 50).Milliseconds(), percentile(again, 50).Milliseconds())
	return nil
}

// benchMemory measures what the server holds with 20 idle sessions and 20 tabs,
// each of which looks at a session.
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
			if err := t.next(reading, func(f frame) error {
				quiet = quiet || f.Type == "process_state" && f.SessionID == session && f.State == "user_turn"
				return nil
			}); err != nil {
				return fmt.Errorf("a session does not come to rest: %w", err)
			}
		}
		go func() { // until the connection is closed
			for t.next(ctx, func(frame) error { return nil }) == nil {
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
	fmt.Printf("\n## Memory of the server\n\n")
	header("what", "MB")
	fmt.Printf("| just started | %.1f |\n| %d sessions and %d tabs, at rest | %.1f |\n", mega(idle), count, count, mega(full))
	fmt.Printf("| the most while a line of %d MB passes from the CLI to the store | %.1f |\n", longLine/1_000_000, mega(most))
	if s.sdk != "" {
		out, err := exec.CommandContext(ctx, "node", filepath.Join(s.sdk, "memory.mjs"), s.self, strconv.Itoa(count)).Output()
		if err != nil {
			return fmt.Errorf("TypeScript SDK: %w", err)
		}
		anchor, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			return err
		}
		fmt.Printf("| a node process with the TypeScript SDK and %d sessions, no tabs | %.1f |\n", count, mega(anchor))
		fmt.Printf("\nratio %.2f; floor 0.6, target 0.35\n", float64(full)/float64(anchor))
	}
	return nil
}

// longLine is the size of the longest line, in bytes.
const longLine = 20_000_000

// peakOfLine is the most that a server held resident while the CLI printed one long
// line and all of it was stored; 0 where the system does not say.
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
		if err := t.next(reading, func(f frame) error {
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
