package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an orchestrator whose CLIs are scripts in memory.
type bench struct {
	*orchestrator.Orchestrator
	t        *testing.T
	store    *sqlite.Store
	registry *pending.Registry
	launcher *launcher
	folder   string
	person   pending.Actor
	rules    orchestrator.Rules // to begin with
	stop     func()             // ends Run and waits for it
}

// noAttachments holds no file: messages of these tests carry theirs inside.
type noAttachments struct{}

func (noAttachments) Read(context.Context, string) ([]byte, error) {
	return nil, session.ErrNoAttachment
}

func withBench(t *testing.T, script claudetest.Script, limits func(*orchestrator.Limits), test func(b *bench), change ...func(*orchestrator.Options)) {
	t.Helper()
	t.Parallel()
	withBenchAlone(t, script, limits, test, change...)
}

// withBenchAlone is withBench for a test that measures the whole program: no other test runs.
func withBenchAlone(t *testing.T, script claudetest.Script, limits func(*orchestrator.Limits), test func(b *bench), change ...func(*orchestrator.Options)) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	database := sqlitetest.New(t)
	synctest.Test(t, func(t *testing.T) {
		store, err := sqlite.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		notifier := &session.LocalNotifier{}
		b := &bench{
			t: t, store: store, registry: pending.NewRegistry(store, notifier), folder: folder,
			launcher: &launcher{script: script}, person: pending.Actor{UserID: "u1", Name: "Ada", Device: "Firefox"},
		}
		l := orchestrator.DefaultLimits()
		l.Sample = time.Hour // the process table of this machine is none of a script's
		if limits != nil {
			limits(&l)
		}
		options := orchestrator.Options{
			Store: store, Registry: b.registry, Notifier: notifier, Launcher: b.launcher,
			CLI:   &launch.CLI{Path: "/bin/sh", Environ: os.Environ()},
			Rules: orchestrator.Rules{Roots: workspace.Roots{folder}, Limits: l}, RunnerID: "here", NodeID: "here", Attachments: noAttachments{}, Log: slog.New(slog.DiscardHandler),
		}
		for _, f := range change {
			f(&options)
		}
		b.rules = options.Rules
		b.launcher.starter = launch.Starter{
			CLI: options.CLI, Commands: b.launcher, Roots: func() workspace.Roots { return options.Rules.Roots }, Demo: options.Demo,
			MCP: &launch.MCP{Exe: "/opt/sayso", URL: "http://127.0.0.1:1/mcp"},
		}
		if b.Orchestrator, err = orchestrator.New(options); err != nil {
			t.Fatal(err)
		}
		notifier.Listen(b.SessionChanged)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := b.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		b.stop = func() {
			stop()
			running.Wait()
		}
		test(b)
		b.stop()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (b *bench) start(prompt string) string {
	b.t.Helper()
	id, err := b.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: prompt, By: b.person})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// wait lets the script run until ok. What the store does is no channel, so it is
// looked at again after each 20 milliseconds of the bubble's time.
func (b *bench) wait(id string, ok func(session.ProcessState) bool) session.ProcessState {
	b.t.Helper()
	for range 1_000 {
		s, err := b.store.ProcessState(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if ok(s) {
			return s
		}
		time.Sleep(20 * time.Millisecond)
	}
	s, _ := b.store.ProcessState(b.t.Context(), id)
	b.t.Fatalf("never came to the state that is waited for; it is %+v", s)
	return s
}

func in(state session.State) func(session.ProcessState) bool {
	return func(s session.ProcessState) bool { return s.State == state }
}

func asking(n int) func(session.ProcessState) bool {
	return func(s session.ProcessState) bool { return len(s.Requests) == n }
}

func (b *bench) items(id string) []session.Item {
	b.t.Helper()
	page, err := b.store.Transcript(b.t.Context(), id, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	slices.SortFunc(page.Items, func(x, y session.Item) int { return int(x.Seq - y.Seq) })
	return page.Items
}

// bodies are those of the items of one kind.
func bodies[B any](t *testing.T, items []session.Item, kind session.ItemKind) []B {
	t.Helper()
	var list []B
	for _, it := range items {
		if it.Kind != kind {
			continue
		}
		var b B
		if err := json.Unmarshal(it.Body, &b); err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

func (b *bench) answer(r pending.Request, change func(*pending.Submission)) {
	b.t.Helper()
	s := pending.Submission{
		RequestID: r.RequestID, SessionID: r.SessionID, RequestType: r.RequestType,
		InputHash: r.InputHash, Actor: b.person, Decision: pending.Allow,
	}
	if change != nil {
		change(&s)
	}
	if _, err := b.registry.Answer(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
}

// received returns the payloads of the answers that the CLI got, by tool_use id.
func (b *bench) received() map[string]map[string]any {
	b.t.Helper()
	got := map[string]map[string]any{}
	for _, r := range b.launcher.records("control_response") {
		var line struct {
			Response struct {
				Response map[string]any `json:"response"`
			} `json:"response"`
		}
		if err := json.Unmarshal(r.Line, &line); err != nil {
			b.t.Fatal(err)
		}
		id, _ := line.Response.Response["toolUseID"].(string)
		if got[id] != nil {
			b.t.Errorf("%s was answered twice", id)
		}
		got[id] = line.Response.Response
	}
	return got
}

var bash = claudetest.Step{Ask: map[string]any{
	"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "touch a"},
}}

func TestApprovalGoesOutAndBack(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}, nil, func(b *bench) {
		id := b.start("make a file")
		s := b.wait(id, asking(1))
		r := s.Requests[0]
		if s.State != session.AssistantTurn || r.ToolName != "Bash" || string(r.ToolInput) != `{"command":"touch a"}` {
			t.Errorf("asked in state %s: %+v", s.State, r)
		}
		b.answer(r, nil)
		s = b.wait(id, in(session.UserTurn))
		if len(s.Requests) != 0 {
			t.Errorf("%d requests left", len(s.Requests))
		}
		got := b.received()["toolu_1"]
		if got["behavior"] != "allow" || got["updatedInput"].(map[string]any)["command"] != "touch a" {
			t.Errorf("Claude heard %v", got)
		}
		row, err := b.store.Request(b.t.Context(), r.RequestID)
		if err != nil {
			t.Fatal(err)
		}
		if row.Status != pending.Answered || row.Delivery != pending.Consumed {
			t.Errorf("request is %s, its answer %s; want answered and consumed", row.Status, row.Delivery)
		}
		var kinds []session.ItemKind
		for _, item := range b.items(id) {
			kinds = append(kinds, item.Kind)
		}
		for _, want := range []session.ItemKind{session.ItemUser, session.ItemToolCall, session.ItemResolved, session.ItemText, session.ItemResult} {
			if !slices.Contains(kinds, want) {
				t.Errorf("transcript %v has no %s", kinds, want)
			}
		}
	})
}

func TestDenialIsHeardWithItsReason(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("make a file")
		r := b.wait(id, asking(1)).Requests[0]
		b.answer(r, func(s *pending.Submission) { s.Decision, s.Message = pending.Deny, "not in this folder" })
		b.wait(id, in(session.UserTurn))
		if got := b.received()["toolu_1"]; got["behavior"] != "deny" || got["message"] != "not in this folder" {
			t.Errorf("Claude heard %v", got)
		}
	})
}

func TestTwiccDenialWithoutAReason(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("make a file")
		r := b.wait(id, asking(1)).Requests[0]
		b.answer(r, func(s *pending.Submission) { s.Decision = pending.Deny })
		b.wait(id, in(session.UserTurn))
		if got := b.received()["toolu_1"]; got["behavior"] != "deny" || got["message"] != "User denied this action" {
			t.Errorf("Claude heard %v", got)
		}
	})
}

func TestAnswersInAnyOrderReachTheirOwnRequest(t *testing.T) {
	ask := claudetest.Step{Ask: map[string]any{"tool_name": "WebFetch", "input": map[string]any{"url": "https://example.org"}}, Count: 5, Parallel: true}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{ask}}, nil, func(b *bench) {
		id := b.start("fetch")
		open := b.wait(id, asking(5)).Requests
		for i := len(open) - 1; i >= 0; i-- {
			b.answer(open[i], func(s *pending.Submission) { s.Decision, s.Message = pending.Deny, open[i].AskerToolUseID })
			b.wait(id, asking(i))
		}
		b.wait(id, in(session.UserTurn))
		for toolUseID, got := range b.received() {
			if got["message"] != toolUseID {
				t.Errorf("%s was told %v", toolUseID, got["message"])
			}
		}
	})
}

func TestQuestionIsEchoedFromTheRowWithItsAnswers(t *testing.T) {
	question := claudetest.Step{Ask: map[string]any{"tool_name": "AskUserQuestion", "tool_use_id": "toolu_q", "input": map[string]any{
		"questions": []any{map[string]any{
			"question": "Which format?", "header": "Format", "multiSelect": true,
			"options": []any{map[string]any{"label": "Summary", "description": "short"}, map[string]any{"label": "Detailed", "description": "long"}},
		}},
		"metadata": map[string]any{"source": "x"},
	}}}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{question}}, nil, func(b *bench) {
		id := b.start("ask me")
		r := b.wait(id, asking(1)).Requests[0]
		if r.RequestType != pending.AskUserQuestion || r.Form == nil || len(r.Form.Questions) != 1 {
			t.Fatalf("request %+v has no form of one question", r)
		}
		b.answer(r, func(s *pending.Submission) {
			s.Decision, s.Answers = "", map[string]string{"Which format?": "Summary, Detailed"}
		})
		b.wait(id, in(session.UserTurn))
		input := b.received()["toolu_q"]["updatedInput"].(map[string]any)
		if input["answers"].(map[string]any)["Which format?"] != "Summary, Detailed" || input["questions"] == nil || input["metadata"] == nil {
			t.Errorf("Claude heard %v", input)
		}
	})
}

func TestInterruptWithdrawsWhatIsOpenAndKeepsTheSession(t *testing.T) {
	ask := claudetest.Step{Ask: map[string]any{"tool_name": "WebFetch", "input": map[string]any{}}, Count: 2, Parallel: true}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{ask}}, nil, func(b *bench) {
		id := b.start("fetch")
		open := b.wait(id, asking(2)).Requests
		if err := b.Interrupt(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && len(s.Requests) == 0 })
		row, err := b.store.Request(b.t.Context(), open[0].RequestID)
		if err != nil {
			t.Fatal(err)
		}
		if row.Status != pending.Withdrawn || row.Resolution.Reason != "Ada interrupted Claude." {
			t.Errorf("request is %s because %q", row.Status, row.Resolution.Reason)
		}
		if n := len(b.received()); n != 0 {
			t.Errorf("Claude heard %d answers to requests it withdrew", n)
		}
		for _, blank := range []string{"", " ", " \n\t"} {
			var invalid *problem.Error
			if err := b.Send(b.t.Context(), session.Message{MessageID: "blank", SessionID: id, Text: blank, By: b.person, CreatedAt: time.Now()}); !errors.As(err, &invalid) || invalid.Field != "text" {
				t.Errorf("%q: got %v", blank, err)
			}
		}
		if err := b.Send(b.t.Context(), session.Message{MessageID: "m2", SessionID: id, Text: "go on", By: b.person, CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		b.wait(id, asking(2))
	})
}

func TestSecondMessageWaitsForTheEndOfTheTurn(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("one")
		r := b.wait(id, asking(1)).Requests[0]
		for range 2 { // the same message twice is one message
			if err := b.Send(b.t.Context(), session.Message{MessageID: "m2", SessionID: id, Text: "two", By: b.person, CreatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		s := b.wait(id, func(s session.ProcessState) bool { return s.QueuedMessages == 1 })
		if got := len(b.launcher.records("user")); got != 1 {
			t.Errorf("%d messages were sent during the turn, want the first alone", got)
		}
		b.answer(r, nil)
		s = b.wait(id, func(s session.ProcessState) bool {
			return len(s.Requests) == 1 && s.Requests[0].RequestID != r.RequestID
		})
		if s.QueuedMessages != 0 {
			t.Errorf("%d messages still queued", s.QueuedMessages)
		}
		if got := b.launcher.records("user"); len(got) != 2 || !strings.Contains(string(got[1].Line), `"two"`) {
			t.Errorf("Claude heard %d messages", len(got))
		}
	})
}

func TestQueuedMessageIsTakenBack(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("one")
		r := b.wait(id, asking(1)).Requests[0]
		for _, m := range []string{"two", "three"} {
			if err := b.Send(b.t.Context(), session.Message{MessageID: m, SessionID: id, Text: m, By: b.person, CreatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		b.wait(id, func(s session.ProcessState) bool { return s.QueuedMessages == 2 })
		for _, row := range []struct {
			session, message string
			want             bool
		}{
			{id, "two", true}, {id, "two", false}, {id, "no such message", false}, {"another session", "three", false},
			{id, strings.TrimPrefix(b.items(id)[0].Key, "message:"), false}, // said already
		} {
			if removed, err := b.Unqueue(b.t.Context(), row.session, row.message); err != nil || removed != row.want {
				t.Errorf("%q of %q: got %v and %v, want %v", row.message, row.session, removed, err, row.want)
			}
		}
		b.answer(r, nil)
		b.wait(id, func(s session.ProcessState) bool {
			return s.QueuedMessages == 0 && len(s.Requests) == 1 && s.Requests[0].RequestID != r.RequestID
		})
		said := b.launcher.records("user")
		if len(said) != 2 || !strings.Contains(string(said[1].Line), `"three"`) {
			t.Errorf("Claude heard %d messages, want the first and the third", len(said))
		}
	})
}

func TestKillRefusesOpenRequestsFirst(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("make a file")
		b.wait(id, asking(1))
		if err := b.Kill(b.t.Context(), id, false, "Ada ended it."); err != nil {
			t.Fatal(err)
		}
		s := b.wait(id, in(session.Dead))
		if s.KillReason != "Ada ended it." || s.Error != "" || len(s.Requests) != 0 || s.PID != 0 {
			t.Errorf("dead state %+v", s)
		}
		if got := b.received()["toolu_1"]; got["behavior"] != "deny" {
			t.Errorf("before its end Claude heard %v, want a denial", got)
		}
		if err := b.Kill(b.t.Context(), id, true, "again"); err != nil {
			t.Errorf("killing the dead: %v", err)
		}
	})
}

func TestDeathWithAnOpenRequestSaysWhy(t *testing.T) {
	three := 3
	script := claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}, {Exit: &three}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("die")
		s := b.wait(id, in(session.Dead))
		if !strings.Contains(s.Error, "ended by itself") || s.KillReason != "" {
			t.Errorf("it says %q, %q", s.Error, s.KillReason)
		}
		// The next message resumes it.
		if err := b.Send(b.t.Context(), session.Message{MessageID: "m2", SessionID: id, Text: "again", By: b.person, CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		b.wait(id, func(s session.ProcessState) bool { return s.State == session.Dead && len(b.launcher.commands()) == 2 })
		if args := strings.Join(b.launcher.commands()[1].Args, " "); !strings.Contains(args, "--resume="+id) {
			t.Errorf("second launch: %s", args)
		}
	})
}

func TestProgramThatIsNotClaude(t *testing.T) {
	script := claudetest.Script{Start: []claudetest.Step{{Rubbish: true}, {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("hello")
		s := b.wait(id, in(session.Dead))
		if !strings.Contains(s.Error, "does not speak Claude's protocol") {
			t.Errorf("it says %q; the state is %+v", s.Error, s)
		}
	})
}

func TestSilentStartIsEnded(t *testing.T) {
	script := claudetest.Script{Start: []claudetest.Step{{SleepMS: 3_600_000}}}
	withBench(t, script, func(l *orchestrator.Limits) { l.Start = 5 * time.Second }, func(b *bench) {
		id := b.start("hello")
		s := b.wait(id, in(session.Dead))
		if !strings.Contains(s.Error, "did not answer within 5 seconds") {
			t.Errorf("it says %q; the state is %+v", s.Error, s)
		}
	})
}

func TestStartRefusesWhatCannotWork(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		outside := b.t.TempDir()
		for _, c := range []struct {
			name   string
			change func(*orchestrator.StartRequest)
			field  string
		}{
			{"no folder", func(r *orchestrator.StartRequest) { r.CWD = "" }, "cwd"},
			{"relative folder", func(r *orchestrator.StartRequest) { r.CWD = "src" }, "cwd"},
			{"missing folder", func(r *orchestrator.StartRequest) { r.CWD = b.folder + "/none" }, "cwd"},
			{"outside the roots", func(r *orchestrator.StartRequest) { r.CWD = outside }, "cwd"},
			{"climbing out", func(r *orchestrator.StartRequest) { r.CWD = b.folder + "/../.." }, "cwd"},
			{"NUL in the folder", func(r *orchestrator.StartRequest) { r.CWD = b.folder + "\x00" }, "cwd"},
			{"another way to everywhere", func(r *orchestrator.StartRequest) { r.CWD = "/proc/self/root" + outside }, "cwd"},
			{"not UTF-8", func(r *orchestrator.StartRequest) { r.CWD = b.folder + "/\xff" }, "cwd"},
			{"no prompt", func(r *orchestrator.StartRequest) { r.Prompt = " \n" }, "prompt"},
			{"bypass", func(r *orchestrator.StartRequest) { r.PermissionMode = "bypassPermissions" }, "permission_mode"},
			{"flag as model", func(r *orchestrator.StartRequest) { r.Model = "--dangerously-skip-permissions" }, "model"},
			{"shell as model", func(r *orchestrator.StartRequest) { r.Model = "$(touch a)" }, "model"},
			{"flag as resume", func(r *orchestrator.StartRequest) { r.Resume = "-p" }, "resume"},
			{"no demo here", func(r *orchestrator.StartRequest) { r.Demo = true }, "demo"},
		} {
			r := orchestrator.StartRequest{CWD: b.folder, Prompt: "hello", By: b.person}
			c.change(&r)
			_, err := b.Start(b.t.Context(), r)
			var invalid *problem.Error
			if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.HasSuffix(invalid.Message, ".") && !strings.HasSuffix(invalid.Message, "]") {
				t.Errorf("%s: %v, want a sentence about %s", c.name, err, c.field)
			}
		}
		if n := len(b.launcher.commands()); n != 0 {
			t.Errorf("%d processes were started", n)
		}
	})
}

func TestServerStopEndsEverySession(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("make a file")
		b.wait(id, asking(1))
		b.stop()
		s, err := b.store.ProcessState(b.t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if s.State != session.Dead || s.KillReason != "The server was stopped." || len(s.Requests) != 0 {
			t.Errorf("after the stop: %+v", s)
		}
		if _, err := b.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: "more", By: b.person}); !errors.Is(err, orchestrator.ErrClosing) {
			t.Errorf("start after the stop: %v, want ErrClosing", err)
		}
	})
}

// launcher starts scripts in memory instead of programs.
type launcher struct {
	script claudetest.Script
	later  []claudetest.Script // of the second launch and those after it
	// deaf has answers to requests vanish: the CLI takes them and does nothing.
	deaf bool
	mute bool          // it takes messages and does nothing
	hung bool          // its shim does not answer, from the first answer to a request on
	slow time.Duration // until it hears in which permission mode it is to go on
	late time.Duration // until a message reaches it
	// folder is that of the processes' folders, "" for none; nothing is put there.
	folder  string
	earlier bool // it does not compare the settings of folders, as those of earlier releases
	// starter has the settings by which processes are started.
	starter launch.Starter

	mu       sync.Mutex
	launched []claude.Command
	files    []map[string][]byte // of each launch
	last     *conn
	heard    []claudetest.Record
	vitals   launch.Vitals // of every CLI
	ids      []string      // of processes
}

// uses sets what every CLI uses from now on.
func (l *launcher) uses(v launch.Vitals) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vitals = v
}

func (l *launcher) Vitals(context.Context) (list []launch.Vitals, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.ids {
		v := l.vitals
		v.ProcessID = id
		list = append(list, v)
	}
	return list, nil
}

func (l *launcher) Damaged(context.Context) ([]string, error) { return nil, nil }

func (l *launcher) commands() []claude.Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.launched)
}

func (l *launcher) records(kind string) []claudetest.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var some []claudetest.Record
	for _, r := range l.heard {
		if r.Kind == kind {
			some = append(some, r)
		}
	}
	return some
}

// killLast kills the CLI that was launched last.
func (l *launcher) killLast() {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	last.kill()
}

func (l *launcher) Leftovers(context.Context) ([]launch.Leftover, error) { return nil, nil }

func (l *launcher) Open(ctx context.Context, p launch.Process) (launch.Conn, error) {
	if l.earlier {
		p.Trusted = nil
	}
	return l.starter.Open(ctx, p)
}

func (l *launcher) ConnectAgent(ctx context.Context, id launch.ID, token string) error {
	return l.starter.ConnectAgent(ctx, id, token)
}

func (l *launcher) CheckMachine(context.Context) error { return nil }

func (l *launcher) Folder(id launch.ID) string {
	if l.folder == "" {
		return ""
	}
	return filepath.Join(l.folder, id.ProcessID)
}

func (l *launcher) Launch(_ context.Context, id launch.ID, c claude.Command, files map[string][]byte) (launch.Conn, error) {
	host, cli := claudetest.Pipe()
	ctx, kill := context.WithCancel(context.Background())
	conn := &conn{Transport: host, kill: kill, done: make(chan struct{}), deaf: l.deaf, mute: l.mute, slow: l.slow, late: l.late, hung: l.hung}
	l.mu.Lock()
	l.launched = append(l.launched, c)
	l.files = append(l.files, files)
	l.ids = append(l.ids, id.ProcessID)
	l.last = conn
	script := l.script
	if n := len(l.launched); n > 1 && n-2 < len(l.later) {
		script = l.later[n-2]
	}
	l.mu.Unlock()
	player := &claudetest.CLI{Transport: cli, Script: script, OnRecord: func(r claudetest.Record) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = append(l.heard, r)
	}}
	for _, arg := range c.Args {
		if mode, is := strings.CutPrefix(arg, "--permission-mode="); is {
			player.PermissionMode = mode
		}
	}
	go func() {
		conn.status = player.Run(ctx)
		kill()
		close(conn.done)
	}()
	return conn, nil
}

// conn is a script that runs.
type conn struct {
	claude.Transport
	kill   context.CancelFunc
	done   chan struct{}
	status int
	deaf   bool
	mute   bool
	slow   time.Duration
	late   time.Duration
	hung   bool
}

// hang returns when the process is gone.
func (c *conn) hang() error {
	<-c.done
	return errors.New("the shim does not answer")
}

func (c *conn) Send(line []byte) error {
	if c.mute && bytes.Contains(line, []byte(`"type":"user"`)) {
		return nil
	}
	if c.deaf && bytes.Contains(line, []byte(`"behavior"`)) {
		return nil
	}
	if c.slow > 0 && bytes.Contains(line, []byte(`"set_permission_mode"`)) {
		time.Sleep(c.slow)
	}
	if c.hung && (bytes.Contains(line, []byte(`"behavior"`)) || bytes.Contains(line, []byte(`"interrupt"`))) {
		return c.hang()
	}
	if c.late > 0 && bytes.Contains(line, []byte(`"type":"user"`)) {
		time.Sleep(c.late)
	}
	return c.Transport.Send(line)
}

func (c *conn) PID() int { return 1 << 30 }
func (c *conn) CloseInput() error {
	if c.hung {
		return c.hang()
	}
	return c.Transport.Close()
}
func (c *conn) Terminate() error {
	if c.hung {
		return c.hang()
	}
	c.kill()
	return nil
}
func (c *conn) Kill() error                            { c.kill(); return nil }
func (c *conn) Done() <-chan struct{}                  { return c.done }
func (c *conn) Stderr(context.Context) (string, error) { return "", nil }
func (c *conn) ExitError() error {
	if c.status != 0 {
		return errors.New("exit status")
	}
	return nil
}

func TestMessageToAProcessThatEndsReachesTheNext(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		id := b.start("one")
		b.wait(id, asking(1))
		if err := b.Kill(b.t.Context(), id, false, "Ada ended it."); err != nil {
			t.Fatal(err)
		}
		if err := b.Send(b.t.Context(), session.Message{MessageID: "m2", SessionID: id, Text: "two", By: b.person, CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		s := b.wait(id, asking(1))
		if s.QueuedMessages != 0 || len(b.launcher.commands()) != 2 {
			t.Errorf("%d messages wait, %d processes were started", s.QueuedMessages, len(b.launcher.commands()))
		}
	})
}

// lingering takes a moment to return from the write after which people read that a
// process is dead.
type lingering struct{ orchestrator.Store }

func (s lingering) SaveProgress(ctx context.Context, id string, p session.Progress) (uint64, error) {
	version, err := s.Store.SaveProgress(ctx, id, p)
	if p.Process != nil && p.Process.State == session.Dead {
		time.Sleep(time.Second)
	}
	return version, err
}

func TestWhatIsSeenDeadIsResumedAtOnce(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		id := b.start("Work.")
		b.wait(id, in(session.UserTurn))
		b.launcher.killLast()
		b.wait(id, in(session.Dead))
		if err := b.Resume(b.t.Context(), id, b.person); err != nil {
			t.Errorf("Resume: %v", err)
		}
		b.wait(id, in(session.UserTurn))
	}, func(o *orchestrator.Options) { o.Store = lingering{o.Store} })
}

func TestIdleProcessEndsButNotOneThatAsks(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample, l.Idle, l.Absolute = time.Minute, 10*time.Minute, time.Hour }
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, limits, func(b *bench) {
		id := b.start("one")
		r := b.wait(id, asking(1)).Requests[0]
		time.Sleep(2 * time.Hour) // longer than every limit
		if s := b.wait(id, asking(1)); s.State != session.AssistantTurn {
			t.Fatalf("a process that waits for a person became %s: %s", s.State, s.KillReason)
		}
		b.answer(r, nil)
		b.wait(id, in(session.UserTurn))
		time.Sleep(time.Hour)
		if s := b.wait(id, in(session.Dead)); s.KillReason == "" {
			t.Errorf("it does not say why it was ended: %+v", s)
		}
	})
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// jsonHas reports whether an object has a member.
func jsonHas(object json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(object, &members) == nil && members[name] != nil
}

func TestAnswerThatIsNotPickedUpIsShown(t *testing.T) {
	limits := func(l *orchestrator.Limits) { l.Sample = time.Second }
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, limits, func(b *bench) {
		b.launcher.deaf = true
		id := b.start("one")
		b.answer(b.wait(id, asking(1)).Requests[0], nil)
		time.Sleep(20 * time.Second)
		if s := b.wait(id, asking(0)); s.Stuck != "" {
			t.Errorf("after 20 seconds: %s", s.Stuck)
		}
		s := b.wait(id, func(s session.ProcessState) bool { return s.Stuck != "" })
		if !strings.Contains(s.Stuck, "has not picked up the answer to Bash") {
			t.Errorf("it is stuck because: %s", s.Stuck)
		}
	})
}
