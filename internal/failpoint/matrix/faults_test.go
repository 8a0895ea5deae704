//go:build failpoints

package matrix_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/failpoint"
)

// A fault is a row of the second table: something that goes wrong between
// Claude's stdout and its stdin. It is brought about by a scenario, by what
// happens at points, or by both.
type fault struct {
	number, what string
	in           scenario // zero when the points alone bring it about
	at           []place  // where something else happens while in is played
	points       []string // rows of the first table that are cells of this fault
	// none says why a fault has no cells, and the tests, as folder.Name, that hold it.
	none  string
	tests []string
}

// place is a point and what happens there, as in "open.after_commit@2".
type place struct {
	point   string
	actions []string
	hit     int
}

var passing = []string{"kill", "error", "timeout"}

// at lists places with their first hit.
func at(actions []string, points ...string) (all []place) {
	for _, p := range points {
		all = append(all, place{p, actions, 1})
	}
	return all
}

// third is at with the third hit: of the lines to a CLI the first greets it and
// the second is the message.
func third(actions []string, points ...string) []place {
	all := at(actions, points...)
	for i := range all {
		all[i].hit = 3
	}
	return all
}

var (
	slow     = []string{"hang=300ms"}
	slowKill = append(slices.Clone(slow), "kill")

	// between an answer and the CLI, in order.
	answerWay = []string{"answer.before_commit", "answer.after_commit", "decision.before_send", "decision.after_send"}
)

// faults are F1 to F22: all that can go wrong with one request on the way.
var faults = []fault{
	{number: "F1", what: "the CLI dies in the middle of a line", in: halving,
		at: at(passing, "shim.exit.before_record", "shim.exit.after_record", "orphan.before_commit", "orphan.after_commit", "forget.before")},
	{number: "F2", what: "the server dies between reading a line and storing what it says",
		points: []string{"ingest.before", "ingest.after", "open.before_commit", "flush.before_commit"}},
	{number: "F3", what: "the server dies between storing a request and showing it",
		points: []string{"open.after_commit", "flush.after_commit", "frame.before_send"}},
	{number: "F4", what: "the server dies after it showed a request", points: []string{"frame.after_send"}},
	{number: "F5", what: "the server dies before an answer is stored",
		points: []string{"answer.received", "answer.before_commit"}},
	{number: "F6", what: "the server dies between storing an answer and telling the tab",
		points: []string{"answer.after_commit", "answer.handled", "command.before_commit", "command.after_commit", "ack.before_send", "ack.after_send"}},
	{number: "F7", what: "the server dies between storing an answer and saying it",
		points: []string{"decision.before_send"}},
	{number: "F8", what: "the server dies between saying an answer and noting that",
		points: []string{"shim.write.before_ack", "decision.after_send", "delivered.before_commit", "delivered.after_commit"}},
	{number: "F9", what: "the shim dies with a line that is not in the pipe, or just is",
		points: []string{"shim.write.before_pipe", "shim.write.after_pipe"}},
	{number: "F10", what: "the CLI stops reading in the middle of an answer", in: stalling,
		at: slices.Concat(third(passing, "shim.write.before_pipe", "shim.write.after_pipe", "shim.write.before_ack"), at(passing, "decision.after_send", "delivered.before_commit"))},
	{number: "F11", what: "the CLI ignores an answer", in: ignoring,
		at: at(passing, "decision.after_send", "delivered.before_commit", "delivered.after_commit")},
	{number: "F12", what: "the CLI asks the same twice, under one id", in: doubling,
		at: at(passing, "open.before_commit", "open.after_commit", "answer.after_commit", "decision.after_send")},
	{number: "F13", what: "the CLI asks something else under an id that is open", in: swapping,
		at: at(passing, "open.before_commit", "open.after_commit", "answer.after_commit", "decision.after_send")},
	{number: "F14", what: "five requests at once, answered in any order", in: ordering,
		at: slices.Concat(third(passing, "open.after_commit", "answer.before_commit", "answer.after_commit", "decision.before_send", "decision.after_send"))},
	{number: "F15", what: "two tabs answer at once", in: answering,
		at: append(at(slowKill, answerWay...), at(slow, "answer.received", "answer.handled")...)},
	{number: "F16", what: "one answer is given a hundred times", in: repeating,
		at: at(passing, "answer.received", "answer.before_commit", "answer.after_commit", "answer.handled", "command.before_commit", "command.after_commit", "ack.before_send")},
	{number: "F17", what: "an answer after the deadline",
		none:  "Claude sets no deadline, and none is ours: no row of a request between its stdout and its stdin can expire",
		tests: []string{"pending.TestTheDeadlineOfTheAskerExpiresTheRequest", "pending.TestAnAnswerClosesTheDeadline"}},
	{number: "F18", what: "the deadline passes while an answer is stored",
		none:  "as F17; the race for the row is that of every answer",
		tests: []string{"pending.TestOneResolutionWins"}},
	{number: "F19", what: "the CLI withdraws a request while its answer is under way", in: withdrawing,
		at: append(at(slowKill, answerWay...), at(slowKill, "withdraw.before_commit", "withdraw.after_commit")...)},
	{number: "F20", what: "a person interrupts or kills while an answer is under way", in: stopping, at: at(slowKill, answerWay...)},
	{number: "F21", what: "the CLI dies with requests open", in: dying,
		points: []string{"orphan.before_commit", "orphan.after_commit", "carry.before_commit", "carry.after_commit", "forget.before", "forget.after", "bury.before_commit", "bury.after_commit"}},
	{number: "F22", what: "the server is asked to go", in: going,
		at: append(at(slow, answerWay...), at(passing, "adopt.before_attach", "reconcile.before", "epoch.after_commit")...)},
}

// faultCells lists the cells of the faults that are not rows of points.
func faultCells() (all []cell) {
	for _, f := range faults {
		if f.in.play == nil {
			continue
		}
		all = append(all, cell{fault: f.number, in: f.in})
		for _, p := range f.at {
			for _, action := range p.actions {
				all = append(all, cell{fault: f.number, point: p.point, action: action, hit: p.hit, in: f.in})
			}
		}
	}
	return all
}

// cellsOf are the results that prove a fault.
func (f fault) cellsOf(results []result) (mine []result) {
	for _, r := range results {
		if r.fault == f.number || r.fault == "" && slices.Contains(f.points, r.point) {
			mine = append(mine, r)
		}
	}
	return mine
}

// faultTable prints what became of each fault.
func faultTable(results []result) string {
	var b strings.Builder
	b.WriteString("| fault | | cells | ok | failed |\n|---|---|---:|---:|---:|\n")
	for _, f := range faults {
		if f.none != "" {
			fmt.Fprintf(&b, "| %s | %s | none: %s (%s) | | |\n", f.number, f.what, f.none, strings.Join(f.tests, ", "))
			continue
		}
		mine := f.cellsOf(results)
		ok := 0
		for _, r := range mine {
			if len(r.wrong) == 0 {
				ok++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d |\n", f.number, f.what, len(mine), ok, len(mine)-ok)
	}
	return b.String()
}

// TestEveryFaultHasItsCells: the rows that the faults name are there, and what
// holds a fault without cells, too.
func TestEveryFaultHasItsCells(t *testing.T) {
	known := map[string]bool{}
	for _, p := range failpoint.Points() {
		known[p.Name] = true
	}
	for i, f := range faults {
		if want := fmt.Sprintf("F%d", i+1); f.number != want {
			t.Errorf("%s stands where %s belongs", f.number, want)
		}
		if (f.none == "") == (f.in.play == nil && len(f.points) == 0) {
			t.Errorf("%s has no cells and does not say why, or has both", f.number)
		}
		for _, p := range f.at {
			if !known[p.point] {
				t.Errorf("%s: there is no point %s", f.number, p.point)
			}
		}
		for _, p := range f.points {
			if !known[p] {
				t.Errorf("%s: there is no point %s", f.number, p)
			}
		}
		for _, name := range f.tests {
			folder, function, _ := strings.Cut(name, ".")
			if !hasTest(t, folder, function) {
				t.Errorf("%s: there is no test %s", f.number, name)
			}
		}
	}
	for step := range lies {
		if !slices.ContainsFunc(failpoint.Points(), func(p failpoint.Point) bool { return stepOf(p.Name) == step }) {
			t.Errorf("no point lies on %s, of which it is said on which scenario it lies", step)
		}
	}
}

func hasTest(t *testing.T, folder, function string) bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == function {
				return true
			}
		}
	}
	return false
}

var (
	// halving: as dying, but half a line is the last that is heard.
	halving = scenario{name: "halving", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("half one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, question("half two"))
		return nil
	}}

	// stalling: the CLI asks and then does not read for a while; the answers are
	// larger than the pipe.
	stalling = scenario{name: "stalling", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("stall one"))
		if err != nil {
			return err
		}
		h.tell(ctx, c, approve("stall two"))
		return nil
	}}

	// ignoring: the CLI reads an answer and does nothing; a person kills it.
	ignoring = scenario{name: "ignoring", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("ignore one"))
		if err != nil {
			return err
		}
		if err := h.await(ctx, "the answer is read", func() bool { return h.standing(c).done["ignore one"] > 0 }); err != nil {
			return err
		}
		// A server may die before it has done what it was told: who sees the process
		// live on kills it again.
		for {
			greeted := h.tabs[0].greetings()
			if err := h.order(ctx, "kill_process", c); err != nil {
				return err
			}
			dead := func() bool { return h.tabs[0].stateOf(c.id).State == "dead" }
			if err := h.await(ctx, "the process is dead", func() bool { return dead() || h.tabs[0].greetings() > greeted }); err != nil || dead() {
				return err
			}
		}
	}}

	// doubling: every line that asks comes twice.
	doubling = scenario{name: "doubling", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("twice one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, approve("twice two"))
		return nil
	}}

	// swapping: behind every line that asks comes another with its id.
	swapping = scenario{name: "swapping", play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, approve("swap one"), say("Done."))
		if err != nil {
			return err
		}
		h.tell(ctx, c, approve("swap two"))
		return nil
	}}

	// ordering: five at once, in all orders or, for the part, in a few.
	ordering = scenario{name: "ordering", patience: 20 * time.Minute, play: func(ctx context.Context, h *harness) error {
		c, err := h.begin(ctx, say("Ready."))
		if err != nil {
			return err
		}
		for turn, order := range h.permutations(5) {
			ask := approve(fmt.Sprintf("many t%d", turn))
			ask.Count, ask.Parallel = 5, true
			names := namesOf([]claudetest.Step{ask})
			h.hold(names...)
			h.tell(ctx, c, ask)
			for _, name := range names {
				if err := h.visible(ctx, c, name); err != nil {
					return err
				}
			}
			for _, i := range order {
				h.release(names[i])
				if err := h.await(ctx, names[i]+" is answered", func() bool {
					s := h.standing(c)
					return s.done[names[i]]+s.void[names[i]] > 0
				}); err != nil {
					return err
				}
			}
		}
		return nil
	}}

	// repeating: as answering, and each answer is given a hundred times.
	repeating = scenario{name: "repeating", play: func(ctx context.Context, h *harness) error {
		h.mu.Lock()
		h.repeats = 99
		h.mu.Unlock()
		return answering.play(ctx, h)
	}}

	// withdrawing: the CLI withdraws what is being answered.
	withdrawing = scenario{name: "withdrawing", play: func(ctx context.Context, h *harness) error {
		var steps []claudetest.Step
		for i, after := range []int{1, 20, 60, 150, 3000} {
			s := approve(fmt.Sprintf("race %d", i))
			s.CancelMS = after
			steps = append(steps, s)
		}
		_, err := h.begin(ctx, steps...)
		return err
	}}

	// stopping: a person interrupts, and another time kills, as soon as an answer is
	// given.
	stopping = scenario{name: "stopping", play: func(ctx context.Context, h *harness) error {
		for _, order := range []string{"interrupt", "kill_process"} {
			name := "race " + order
			h.hold(name)
			c, err := h.begin(ctx, approve(name))
			if err != nil {
				return err
			}
			if err := h.visible(ctx, c, name); err != nil {
				return err
			}
			h.release(name)
			if err := h.await(ctx, name+" is being answered", func() bool { return h.gave(name) }); err != nil {
				return err
			}
			if err := h.order(ctx, order, c); err != nil {
				return err
			}
		}
		return nil
	}}

	// going: the server is asked to end while requests are open and answered.
	going = scenario{name: "going", play: func(ctx context.Context, h *harness) error {
		h.hold("held")
		c, err := h.begin(ctx, approve("one"), approve("held"))
		if err != nil {
			return err
		}
		for _, name := range []string{"one", "held"} {
			if err := h.await(ctx, name+" is under way", func() bool { return h.gave(name) || shows(h.tabs[0], c.id, name) }); err != nil {
				return err
			}
			if err := h.bow(ctx); err != nil {
				return err
			}
		}
		if err := h.visible(ctx, c, "held"); err != nil {
			return err
		}
		h.release("held")
		return nil
	}}
)
