//go:build failpoints

package matrix_test

import (
	"bytes"
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

	"github.com/sayso-dev/sayso/internal/failpoint"
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
	"hold":         {in: undoing},
	"unhold":       {in: undoing},
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

// A cell is one thing that happens at one hit of one point, on a scenario.
type cell struct {
	fault  string // number of the fault whose row it is in; "" for the row of the point
	point  string // "" when nothing happens but the scenario
	action string
	hit    int
	in     scenario
}

// orders is what SAYSO_FAILPOINTS says.
func (c cell) orders() string {
	if c.point == "" {
		return ""
	}
	return fmt.Sprintf("%s:%s@%d", c.point, c.action, c.hit)
}

func (c cell) String() string {
	what := c.orders()
	if what == "" {
		what = "alone"
	}
	if c.fault != "" {
		return c.fault + "/" + what
	}
	return what
}

// stepOf is the name of a point without its place before or behind the step.
func stepOf(point string) string { return point[:strings.LastIndex(point, ".")] }

// cells lists the rows of the points: each with every action, at its hits.
func cells(actions []string) (all []cell) {
	for _, p := range failpoint.Points() {
		in, hits := answering, []int{1, 2}
		if l, ok := lies[stepOf(p.Name)]; ok {
			in = l.in
			if l.hits != nil {
				hits = l.hits
			}
		}
		for _, action := range actions {
			for _, hit := range hits {
				all = append(all, cell{point: p.Name, action: action, hit: hit, in: in})
			}
		}
	}
	return all
}

// result is what became of a cell.
type result struct {
	cell
	happened bool // what was to happen at the point
	took     time.Duration
	byHand   int
	wrong    []string
	log      string
}

// cellPatience is long: the machine may be busy with other tests.
const cellPatience = 2 * time.Minute

// run plays a cell. How often a line or a frame passes a late hit is a matter of
// how they are bundled, and some steps are taken only when one thing is before
// another: a point that was not reached is tried again, and earlier.
func (c cell) run(ctx context.Context, root string) (r result) {
	for n := range 3 {
		var reached int
		if r, reached = c.try(ctx, filepath.Join(root, strconv.Itoa(n))); r.happened {
			break
		}
		c.hit = min(c.hit, max(reached, 1))
	}
	return r
}

// try plays a cell once and returns how often its point was passed when nothing
// happened there.
func (c cell) try(ctx context.Context, folder string) (r result, reached int) {
	r.cell = c
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	blame := func(err error) bool {
		if err != nil {
			r.wrong = append(r.wrong, err.Error())
		}
		return err != nil
	}
	if blame(os.MkdirAll(folder, 0o700)) {
		return r, 0
	}
	defer func() { blame(os.RemoveAll(folder)) }()
	cli, err := installCLI(folder)
	if blame(err) {
		return r, 0
	}
	patience := cellPatience
	if c.in.patience != 0 {
		patience = c.in.patience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h, err := open(ctx, folder, c.orders(), cli)
	if blame(err) {
		return r, 0
	}
	done := !blame(c.in.play(ctx, h)) && !blame(h.finish(ctx))
	if blame(h.close()); done {
		r.wrong = append(r.wrong, h.verify(ctx, allowed{technical: technicalDenial[c.point+" "+c.action]})...)
	}
	n := len(h.fired())
	if r.happened = n > 0 || c.point == ""; c.point != "" && n != 1 {
		reached = int(h.hits(c.point))
		blame(fmt.Errorf("it happened %d times; the point was passed %d times", n, reached))
	}
	r.byHand = h.byHand
	if len(r.wrong) > 0 {
		r.log = h.log()
		for _, s := range h.sessions {
			r.log += "\n" + h.describe(s)
		}
		rows, _ := h.rows(ctx) // what can be read of them
		for _, row := range rows {
			r.log += "\n" + row.String()
		}
	}
	return r, reached
}

// chosen lists the cells to run: with SAYSO_MATRIX=full all, and a step that
// takes 5 s longer besides; else a kill at the first hit of every point, and
// every fault alone. SAYSO_MATRIX_ONLY has texts, separated by commas: then only
// the cells run that have one of them in their names.
func chosen() []cell {
	full, only := os.Getenv("SAYSO_MATRIX") == "full", strings.Split(os.Getenv("SAYSO_MATRIX_ONLY"), ",")
	all := append(cells([]string{"kill", "error", "timeout", "hang=5s"}), faultCells()...)
	switch {
	case only[0] != "":
		all = slices.DeleteFunc(all, func(c cell) bool {
			return !slices.ContainsFunc(only, func(text string) bool { return strings.Contains(c.String(), text) })
		})
	case !full:
		all = slices.DeleteFunc(all, func(c cell) bool { return c.point != "" && (c.fault != "" || c.action != "kill" || c.hit > 1) })
	}
	return all
}

// TestPointsAreInTheProgram: what the test beside it does not find without the
// tag can be found.
func TestPointsAreInTheProgram(t *testing.T) {
	text, err := os.ReadFile(sayso)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range failpoint.Points() {
		if !bytes.Contains(text, []byte(p.Name)) {
			t.Errorf("the program with the tag does not hold %s", p.Name)
		}
	}
}

// TestMatrix runs the cells and prints what became of each. Most of the time of a
// cell is waiting, so that several run at once.
func TestMatrix(t *testing.T) {
	all := chosen()
	if len(all) == 0 {
		t.Fatal("no cell is named so")
	}
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
				t.Run(all[i].String(), func(t *testing.T) {
					r := all[i].run(t.Context(), filepath.Join(root, strconv.Itoa(i)))
					results[i] = r
					if len(r.wrong) > 0 {
						t.Errorf("in %s (%s):\n  %s\n%s", r.in.name, r.took.Round(time.Millisecond), strings.Join(r.wrong, "\n  "), r.log)
					}
				})
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	working.Wait()
	if slices.ContainsFunc(results, func(r result) bool { return r.took == 0 }) {
		return // -run chose some cells
	}
	text := table(results)
	t.Log("\n" + text)
	if path := os.Getenv("SAYSO_MATRIX_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// table prints the matrix: a row for each point, a column for each action, and
// in a cell what became of each hit. Then, in the same way, the points within the
// scenarios of the faults, and the faults.
func table(results []result) string {
	var b strings.Builder
	for _, part := range []struct {
		head string
		mine func(result) bool
	}{
		{"point", func(r result) bool { return r.fault == "" }},
		{"fault and point", func(r result) bool { return r.fault != "" }},
	} {
		grid(&b, part.head, slices.DeleteFunc(slices.Clone(results), func(r result) bool { return !part.mine(r) }))
	}
	b.WriteString(faultTable(results))
	failed, byHand := 0, 0
	for _, r := range results {
		switch {
		case len(r.wrong) > 0:
			failed++
		case r.byHand > 0:
			byHand++
		}
	}
	fmt.Fprintf(&b, "\n%d cells: %d ok, %d with a fault; in %d of those that are ok a person had to resume a session (hand).",
		len(results), len(results)-failed, failed, byHand)
	return b.String()
}

func grid(b *strings.Builder, head string, results []result) {
	columns := []string{"alone", "kill", "error", "timeout", "hang"}
	var rows []string
	at := map[[2]string][]string{}
	for _, r := range results {
		row := r.point
		if r.fault != "" {
			row = strings.TrimSpace(r.fault + " " + r.point)
		}
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		column, _, _ := strings.Cut(r.action, "=")
		sign := "ok"
		switch {
		case len(r.wrong) > 0:
			sign = "FAULT"
		case r.byHand > 0:
			sign = "hand"
		}
		if r.point == "" {
			column = "alone"
		} else {
			sign += fmt.Sprintf("@%d", r.hit)
		}
		at[[2]string{row, column}] = append(at[[2]string{row, column}], sign)
	}
	columns = slices.DeleteFunc(columns, func(column string) bool {
		return !slices.ContainsFunc(rows, func(row string) bool { return at[[2]string{row, column}] != nil })
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "| %s | %s |\n|---%s|\n", head, strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", row)
		for _, column := range columns {
			fmt.Fprintf(b, " %s |", strings.Join(at[[2]string{row, column}], " "))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}
