//go:build failpoints

package matrix_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/failpoint"
)

// lies says on which scenario a step lies that is not on answering, and at which
// hits something is to happen there when these are not the first and the second.
// What every line or frame passes is tried at more hits: the first lines are
// those of the start.
var lies = map[string]struct {
	in   scenario
	hits []int
}{
	"shim.exit":    {in: dying},
	"shim.release": {in: dying},
	"forget":       {in: dying},
	"orphan":       {in: dying},
	"carry":        {in: dying},
	"dropped":      {in: dropping},
	"requeue":      {in: forgetting},
	"bury":         {in: losing},
	"adopt":        {in: restarting},
	"epoch":        {in: restarting},
	"reconcile":    {in: restarting},
	"withdraw":     {in: restarting},
	"shim.journal": {in: answering, hits: []int{1, 2, 6, 9}},
	"shim.publish": {in: answering, hits: []int{1, 2, 8, 13}},
	"shim.write":   {in: answering, hits: []int{1, 2, 5, 6}},
	"ingest":       {in: answering, hits: []int{1, 2, 8, 13}},
	"flush":        {in: answering, hits: []int{1, 2, 7, 12}},
	"frame":        {in: answering, hits: []int{1, 2, 12, 20}},
}

// technicalDenial lists what makes the server refuse a request because it could
// put it before nobody: its row cannot be stored.
var technicalDenial = map[string]bool{"open.before_commit error": true}

// A cell is one thing that happens at one hit of one point.
type cell struct {
	point  string
	action string
	hit    int
	in     scenario
	may    allowed
}

func (c cell) String() string { return fmt.Sprintf("%s:%s@%d", c.point, c.action, c.hit) }

// cells lists the matrix: every point with every action, at its hits.
func cells(actions []string) (all []cell) {
	for _, p := range failpoint.Points() {
		in, hits := answering, []int{1, 2}
		if l, ok := lies[p.Name[:strings.LastIndex(p.Name, ".")]]; ok {
			in = l.in
			if l.hits != nil {
				hits = l.hits
			}
		}
		for _, action := range actions {
			for _, hit := range hits {
				all = append(all, cell{p.Name, action, hit, in, allowed{technical: technicalDenial[p.Name+" "+action]}})
			}
		}
	}
	return all
}

// result is what became of a cell.
type result struct {
	cell
	took   time.Duration
	byHand int
	wrong  []string
	log    string
}

// cellPatience is long: the machine may be busy with other tests.
const cellPatience = 60 * time.Second

func (c cell) run(ctx context.Context, folder string, cli string) (r result) {
	r.cell = c
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, cellPatience)
	defer cancel()
	h, err := open(ctx, folder, c.String(), cli)
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
		return r
	}
	err = c.in.play(ctx, h)
	if err == nil {
		err = h.finish(ctx)
	}
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
	} else {
		r.wrong = append(r.wrong, h.verify(c.may)...)
	}
	if err := h.close(); err != nil {
		r.wrong = append(r.wrong, err.Error())
	}
	if n := len(h.fired()); n != 1 {
		r.wrong = append(r.wrong, fmt.Sprintf("it happened %d times; the point was hit %d times", n, h.hits(c.point)))
	}
	r.byHand = h.byHand
	if len(r.wrong) > 0 {
		r.log = h.log()
		for _, s := range h.sessions {
			r.log += "\n" + h.describe(s)
		}
	}
	return r
}

// TestMatrix runs every cell. With SAYSO_MATRIX=full that is all of them, and a
// step that takes 5 s longer besides; else a third, two actions or hits of every
// point. SAYSO_MATRIX_ONLY names the cells whose names have that text in them.
func TestMatrix(t *testing.T) {
	full, only := os.Getenv("SAYSO_MATRIX") == "full", os.Getenv("SAYSO_MATRIX_ONLY")
	actions := []string{"kill", "error", "timeout"}
	if full {
		actions = append(actions, "hang=5s")
	}
	all := cells(actions)
	if !full && only == "" {
		third := all[:0:0]
		for i, c := range all {
			if i%3 == (i/6)%3 {
				third = append(third, c)
			}
		}
		all = third
	}
	if only != "" {
		all = slices.DeleteFunc(all, func(c cell) bool { return !strings.Contains(c.String(), only) })
	}

	// Most of the time of a cell is waiting.
	workers := 3 * runtime.GOMAXPROCS(0)
	if n, err := strconv.Atoi(os.Getenv("SAYSO_MATRIX_WORKERS")); err == nil {
		workers = n
	}
	results := make([]result, len(all))
	next := make(chan int)
	root := t.TempDir()
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := range next {
				folder := filepath.Join(root, strconv.Itoa(i))
				if err := os.Mkdir(folder, 0o700); err != nil {
					results[i] = result{cell: all[i], wrong: []string{err.Error()}}
					continue
				}
				results[i] = all[i].run(t.Context(), folder, installCLI(t, folder))
				if err := os.RemoveAll(folder); err != nil {
					results[i].wrong = append(results[i].wrong, err.Error())
				}
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	working.Wait()
	for _, r := range results {
		if len(r.wrong) > 0 {
			t.Errorf("%s in %s (%s):\n  %s\n%s", r.cell, r.in.name, r.took.Round(time.Millisecond), strings.Join(r.wrong, "\n  "), r.log)
		}
	}
	t.Log("\n" + table(results))
}

// table prints the matrix.
func table(results []result) string {
	var rows, columns []string
	at := map[string]string{}
	failed, byHand := 0, 0
	for _, r := range results {
		column := r.action
		if !slices.Contains(rows, r.point) {
			rows = append(rows, r.point)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		sign := "ok"
		switch {
		case len(r.wrong) > 0:
			sign = "FAULT"
			failed++
		case r.byHand > 0:
			sign = "hand"
			byHand++
		}
		at[r.point+" "+column] += fmt.Sprintf(" %s@%d", sign, r.hit)
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-28s", row)
		for _, column := range columns {
			fmt.Fprintf(&b, " | %s:%-26s", column, at[row+" "+column])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d points, %d cells executed, %d with a fault, %d in which a person had to resume a session", len(rows), len(results), failed, byHand)
	return b.String()
}
