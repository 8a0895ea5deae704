package claude_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

func warm(t *testing.T, o claude.Options) *claude.WarmQuery {
	t.Helper()
	w, err := claude.Warm(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// kinds returns the kinds of what a scripted CLI has recorded.
func kinds(t *testing.T, record string) (all []string) {
	t.Helper()
	for _, r := range claudetest.ReadRecords(t, record) {
		all = append(all, r.Kind)
	}
	return all
}

// textOf returns the texts and the error of a query.
func textOf(messages iter.Seq2[claude.Message, error]) (said string, err error) {
	for m, e := range messages {
		if a, ok := m.(*claude.Assistant); ok {
			said += a.Text()
		}
		err = e
	}
	return said, err
}

func hasEnded(w *claude.WarmQuery) bool {
	select {
	case <-w.Client().Process().Done():
		return true
	default:
		return false
	}
}

func TestWarmWaitsForItsPrompt(t *testing.T) {
	t.Parallel()
	type key struct{}
	o, record := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{asks("touch made"), says("done")}})
	var value any
	o.CanUseTool = func(ctx context.Context, _ claude.ToolRequest) (claude.ToolDecision, error) {
		value = ctx.Value(key{})
		return claude.Allow(), nil
	}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "of Warm"))
	w, err := claude.Warm(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // it bounds the start alone
	if hello, err := w.Client().Ready(t.Context()); err != nil || len(hello.Models) == 0 {
		t.Errorf("Ready: got %v %v", hello, err)
	}
	if got := kinds(t, record); !slices.Equal(got, []string{"start", "initialize"}) {
		t.Errorf("before the prompt the CLI saw %q", got)
	}
	if said, err := textOf(w.Query(t.Context(), "hello")); said != "done" || err != nil || value != "of Warm" {
		t.Errorf("got %q %v, the callback got the value %v", said, err, value)
	}
	if !hasEnded(w) {
		t.Error("after the query the CLI still runs")
	}
	if _, err := textOf(w.Query(t.Context(), "again")); err == nil || !strings.Contains(err.Error(), "one query") {
		t.Errorf("a second query: got %v", err)
	}
}

func TestWarmEndsWithoutAQuery(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{})
	w := warm(t, o)
	w.Close()
	if got := kinds(t, record); !slices.Equal(got, []string{"start", "initialize", "eof", "exit"}) || !hasEnded(w) {
		t.Errorf("the CLI saw %q, want a gentle end", got)
	}
	if _, err := textOf(w.Query(t.Context(), "late")); !errors.Is(err, claude.ErrClosed) {
		t.Errorf("a query afterwards: got %v, want ErrClosed", err)
	}
}

func TestWarmCLIThatDiesSaysWhy(t *testing.T) {
	t.Parallel()
	o, _ := scriptedOptions(t, claudetest.Script{})
	w := warm(t, o)
	if err := w.Client().Process().Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.Client().Process().Done()
	var exited *claude.ExitError
	if _, err := textOf(w.Query(t.Context(), "hello")); !errors.As(err, &exited) {
		t.Errorf("got %v, want an ExitError", err)
	}
}

func TestWarmQueryEndsEarly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(w *claude.WarmQuery, cancel context.CancelCauseFunc)
		want error
	}{
		"with its context": {func(_ *claude.WarmQuery, cancel context.CancelCauseFunc) { cancel(errBoom) }, errBoom},
		"by Close":         {func(w *claude.WarmQuery, _ context.CancelCauseFunc) { w.Close() }, claude.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := scriptedOptions(t, claudetest.Script{Turn: []claudetest.Step{says("one"), {Silent: true}}})
			w := warm(t, o)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var failure error
			for m, err := range w.Query(ctx, "hello") {
				if _, ok := m.(*claude.Assistant); ok {
					test.end(w, cancel)
				}
				failure = err
			}
			if !errors.Is(failure, test.want) || !hasEnded(w) {
				t.Errorf("got %v, want %v and the end of the CLI", failure, test.want)
			}
		})
	}
}

func TestWarmFails(t *testing.T) {
	t.Parallel()
	exit := 3
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	for name, test := range map[string]struct {
		ctx    context.Context
		script claudetest.Script
		text   string
	}{
		"exit":    {t.Context(), claudetest.Script{Start: []claudetest.Step{{Stderr: "unknown flag"}, {Exit: &exit}}}, "status 3: unknown flag"},
		"refusal": {t.Context(), claudetest.Script{Start: []claudetest.Step{{Reply: &claudetest.Reply{Subtype: "initialize", Error: "no"}}}}, "refused initialize"},
		"context": {canceled, claudetest.Script{}, errBoom.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := scriptedOptions(t, test.script)
			if _, err := claude.Warm(test.ctx, o); err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %q", err, test.text)
			}
		})
	}
}

// The end of the context while the CLI initializes ends the CLI.
func TestWarmEndsWithItsContextDuringTheStart(t *testing.T) {
	t.Parallel()
	o, record := scriptedOptions(t, claudetest.Script{Start: []claudetest.Step{
		{Reply: &claudetest.Reply{Subtype: "initialize", Never: true}}, prints(`{"type":"keep_alive"}`),
	}})
	ctx, cancel := context.WithCancelCause(t.Context())
	o.OnMessage = func(claude.Message) { cancel(errBoom) }
	if _, err := claude.Warm(ctx, o); !errors.Is(err, errBoom) {
		t.Errorf("got %v, want the cause", err)
	}
	if got := kinds(t, record); !slices.Contains(got, "exit") {
		t.Errorf("the CLI still runs: %q", got)
	}
}

// A real CLI that is initialized serves the query that comes later.
func TestRealCLIIsWarm(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // TestWarmWaitsForItsPrompt shows the same with the scripted CLI
	}
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o, _ := realOptions(t, realCLI(t, variable, version))
			w := warm(t, o)
			hello, err := w.Client().Ready(t.Context())
			if err != nil || len(hello.Commands) == 0 {
				t.Errorf("Ready: %v, or no commands", err)
			}
			said, err := textOf(w.Query(t.Context(), script(`[[{"text":"warm"}]]`)))
			if said != "warm" || err != nil || !hasEnded(w) {
				t.Errorf("got %q %v", said, err)
			}
		})
	}
}
