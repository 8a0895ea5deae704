package orchestrator

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// A line at which this server panics must not end all other sessions, nor would it end once: the
// journal repeats the line after the restart.
func TestPanicOverALineCostsThatLine(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	o := &node{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	p := newProcess(o, session.Session{SessionID: "s"}, launchPlan{}, nil)
	p.transcript = &transcript.Builder{} // without its maps, it panics at the first tool call
	host, cli := claudetest.Pipe()
	done := make(chan error)
	go func() {
		done <- claude.NewClient(host, claude.Options{OnMessage: p.handleMessage, OnUnreadable: p.handleUnreadable}).Run(t.Context())
	}()
	for _, line := range []string{
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`,
		`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"On it goes."}]}}`,
	} {
		if err := cli.Send([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	cli.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, item := range p.items {
		var body struct{ Text string }
		if err := json.Unmarshal(item.Body, &body); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, body.Text)
	}
	if len(texts) != 2 || texts[0] != statement.New("line_failed") || texts[1] != "On it goes." {
		t.Errorf("the transcript is %q", texts)
	}
	if got := log.String(); !strings.Contains(got, "nil map") || !strings.Contains(got, "applyAssistant") {
		t.Errorf("the log does not say where it panicked: %s", got)
	}
}
