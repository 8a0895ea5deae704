package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// samplesPerTurn is the number of approvals measured of one program before the other has its turn. It
// is small, so that other load on the machine affects both equally.
const samplesPerTurn = 20

// contender is one of the two programs of a comparison.
type contender struct {
	name        string
	v           *server
	t           *tab
	session     string
	there, trip []time.Duration
	processor   time.Duration
}

// benchAgainst measures the latency of approvals of two programs in turn. On a busy machine,
// compare the low percentiles and the CPU time.
func benchAgainst(ctx context.Context, s settings, other string) error {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var ways []*contender
	for i, path := range []string{other, s.sayso} {
		of := s
		of.sayso = path
		w := &contender{name: []string{"the other", "this"}[i]}
		own := filepath.Join(folder, fmt.Sprint(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return err
		}
		if w.v, err = startServer(ctx, of, own); err != nil {
			return err
		}
		defer w.v.stop()
		if w.t, err = w.v.tab(ctx); err != nil {
			return err
		}
		defer w.t.conn.CloseNow()
		if w.session, err = w.v.session(ctx, fmt.Sprintf("ask 20 1ms %s", filepath.Join(own, "warm-up"))); err != nil {
			return err
		}
		if _, err := answerTurn(ctx, w.t, w.session, 20); err != nil {
			return err
		}
		ways = append(ways, w)
	}
	for round := range s.rounds * samples / samplesPerTurn {
		order := slices.Clone(ways)
		if round%2 == 1 {
			slices.Reverse(order) // so that neither always runs after the other
		}
		for _, w := range order {
			before := w.v.processor()
			if err := w.turn(ctx, fmt.Sprintf("turn-%d", round)); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.processor += w.v.processor() - before
		}
	}
	fmt.Printf("\n## The way of an approval, two programs in turn, %s apart, %d samples each\n\n", gap, len(ways[0].trip))
	header("what, µs", "the other", "this", "ratio")
	for _, p := range []int{2, 10, 25, 50} {
		row(fmt.Sprintf("request → frame in the tab, p%d", p), percentile(ways[0].there, p), percentile(ways[1].there, p))
	}
	for _, p := range []int{2, 10, 25, 50, 99} {
		row(fmt.Sprintf("request → tab → answer at stdin, p%d", p), percentile(ways[0].trip, p), percentile(ways[1].trip, p))
	}
	row("time of the server on the processor", ways[0].processor/time.Duration(len(ways[0].trip)), ways[1].processor/time.Duration(len(ways[1].trip)))
	return nil
}

func row(what string, other, this time.Duration) {
	fmt.Printf("| %s | %d | %d | %.2f |\n", what, other.Microseconds(), this.Microseconds(), ratio(this, other))
}

func (w *contender) turn(ctx context.Context, name string) error {
	file := filepath.Join(w.v.folder, name)
	if _, err := w.v.post(ctx, "/api/sessions/"+w.session+"/messages", map[string]any{"text": fmt.Sprintf("ask %d %s %s", samplesPerTurn, gap, file)}); err != nil {
		return err
	}
	arrived, err := answerTurn(ctx, w.t, w.session, samplesPerTurn)
	if err != nil {
		return err
	}
	took, err := readDurations(file)
	w.there, w.trip = append(w.there, arrived...), append(w.trip, took...)
	return err
}

func (v *server) processor() time.Duration { return processor(v.PID()) }

// processor returns the CPU time of a process so far; 0 if the system does not report it.
func processor(pid int) (ran time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // a thread may have ended
		var ns int64
		_, _ = fmt.Sscan(strings.TrimSpace(string(text)), &ns)
		ran += time.Duration(ns)
	}
	return ran
}
