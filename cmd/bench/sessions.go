package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// benchSessions measures how much memory one more idle session takes in the server and in its
// shim.
func benchSessions(ctx context.Context, s settings) error {
	const few, many = 20, 120
	var further, shims []round
	growth := curve{Part: "sessions", Name: "memory_by_sessions", What: "Memory of the server with idle sessions", X: "sessions", Unit: "MB"}
	for _, n := range []int{1, 10, few, 50, many} {
		growth.Points = append(growth.Points, point{X: float64(n)})
	}
	const rounds = 3 // each takes half a minute and varies little
	for range min(rounds, s.rounds) {
		held := map[int]int{}
		private, err := idleSessions(ctx, s, growth.Points, held)
		if err != nil {
			return err
		}
		for i := range growth.Points {
			p := &growth.Points[i]
			p.Samples = append(p.Samples, mega(held[int(p.X)]))
		}
		r := round{Samples: []float64{float64(held[many]-held[few]) / 1000 / (many - few)}}
		if s.sdk != "" {
			low, err := sdkMemory(ctx, s, few)
			if err != nil {
				return err
			}
			high, err := sdkMemory(ctx, s, many)
			if err != nil {
				return err
			}
			r.Anchor = []float64{float64(high-low) / 1000 / (many - few)}
		}
		further, shims = append(further, r), append(shims, round{Samples: private})
	}
	measurementHead("Idle sessions")
	m := measurement{Part: "sessions", Name: "memory_further_session", What: "server, each further session", Unit: "KB", Rounds: further}
	if s.sdk != "" {
		m.Anchor, m.Floor, m.Target = "TypeScript SDK", 0.75, 0.3
	}
	s.report.add(m)
	if runtime.GOOS == "linux" {
		s.report.add(measurement{Part: "sessions", Name: "memory_shim", What: "memory that a shim shares with no other process", Unit: "MB", Rounds: shims, Target: 1.5})
	}
	s.report.draw(growth)
	return nil
}

// idleSessions starts sessions, one after the other, up to the number of each point, and stores in
// held the resident memory of the server at that number, in bytes. It returns the private memory of
// the shims, in MB.
func idleSessions(ctx context.Context, s settings, points []point, held map[int]int) (private []float64, err error) {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return nil, err
	}
	defer v.stop()
	t, err := v.tab(ctx)
	if err != nil {
		return nil, err
	}
	defer t.conn.CloseNow()
	count := 0
	for _, p := range points {
		for ; count < int(p.X); count++ {
			id, err := v.session(ctx, "hello")
			if err != nil {
				return nil, err
			}
			if err := awaitUserTurns(ctx, t, id); err != nil {
				return nil, err
			}
		}
		time.Sleep(5 * time.Second)
		if held[count], err = v.memory(); err != nil {
			return nil, err
		}
	}
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	pids, err := v.shims(ctx)
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		kib, err := procValue(pid, "smaps_rollup", "Private_Clean", "Private_Dirty")
		if err != nil {
			return nil, fmt.Errorf("shim: %w", err)
		}
		private = append(private, mega(kib<<10))
	}
	return private, nil
}
