package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// tokens mints secrets that can be recognised.
type tokens struct {
	mu      sync.Mutex
	minted  []string // session ids
	revoked []string
	fail    error
}

func (t *tokens) MintAgent(_ context.Context, sessionID, name string, ttl time.Duration) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name != "" || ttl != 0 {
		return "", errors.New("a session's own Claude has no name, and its token no end of its own")
	}
	t.minted = append(t.minted, sessionID)
	return "secret of " + sessionID, t.fail
}

func (t *tokens) RevokeAgents(_ context.Context, sessionID string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revoked = append(t.revoked, sessionID)
	return nil
}

func (t *tokens) counts() (minted, revoked int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.minted), len(t.revoked)
}

func overMCP(t *tokens) func(*orchestrator.Options) {
	return func(o *orchestrator.Options) {
		o.Launcher.(*launcher).folder = "/run/shims"
		o.MCP = &orchestrator.MCP{Tools: []string{"ask_user", "AskUser"}, Tokens: t}
	}
}

// asksOverMCP asks in a tool call of the session's Claude, as mcpapi does.
func (b *bench) asksOverMCP(id, toolUseID string) (requestID string, ended <-chan pending.Request) {
	b.t.Helper()
	settled := make(chan pending.Request, 1)
	requestID = pending.NewRequestID(id, "", toolUseID)
	ctx := b.t.Context()
	go func() {
		r, err := b.registry.Ask(ctx, pending.Request{
			RequestID: requestID, SessionID: id, RequestType: pending.AskUserQuestion, Source: pending.SourceMCP,
			AskerToolUseID: toolUseID, ToolName: "ask_user", ToolInput: json.RawMessage(`{"question":"Which?"}`),
			Form: &pending.Form{Questions: []pending.Question{{ID: "q1", Question: "Which?", Kind: pending.Text, Required: true, FreeText: true}}},
		})
		if err != nil && ctx.Err() == nil {
			b.t.Errorf("ask over MCP: %v", err)
		}
		settled <- r
	}()
	// Nobody asks over MCP before there is a CLI, which is started in its own time.
	b.wait(id, func(s session.ProcessState) bool {
		return s.State != session.Starting && slices.ContainsFunc(s.Requests, func(r pending.Request) bool { return r.RequestID == requestID })
	})
	return requestID, settled
}

func TestSessionIsWiredToAskOverMCP(t *testing.T) {
	minted := &tokens{}
	script := claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}
	withBench(t, script, nil, func(b *bench) {
		id, err := b.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: "hi", By: b.person, AllowedTools: []string{"Bash(git *)"}})
		if err != nil {
			t.Fatal(err)
		}
		s := b.wait(id, in(session.UserTurn))
		c, folder := b.launcher.commands()[0], filepath.Join("/run/shims", s.ProcessID)
		for _, want := range []string{"--mcp-config=" + folder + "/mcp.json", "--allowedTools=Bash(git *),mcp__sayso__ask_user,mcp__sayso__AskUser"} {
			if !contains(c.Args, want) {
				t.Errorf("%s is not among %q", want, c.Args)
			}
		}
		if !slices.ContainsFunc(c.Args, func(a string) bool {
			return strings.HasPrefix(a, "--append-system-prompt=") && strings.Contains(a, "mcp__sayso__ask_user") && strings.Contains(a, "only when a wrong guess would be costly or irreversible") && strings.Contains(a, "otherwise proceed") && !strings.Contains(a, "\n")
		}) {
			t.Error("Claude is not told when to ask")
		}
		files := b.launcher.files[0]
		var config struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
				Timeout int
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal(files["mcp.json"], &config); err != nil {
			t.Fatal(err)
		}
		if server := config.MCPServers["sayso"]; server.Command != "/opt/sayso" || server.Timeout != 2_000_000_000 || !slices.Equal(server.Args, []string{"mcp", "--connect", folder + "/connect.json"}) {
			t.Errorf("configured: %s", files["mcp.json"])
		}
		if want := `{"url":"http://127.0.0.1:1/mcp","token":"secret of ` + id + `"}`; string(files["connect.json"]) != want {
			t.Errorf("got %s, want %s", files["connect.json"], want)
		}
		// A secret in an argument or a variable is seen by others.
		for _, text := range append(append([]string{string(files["mcp.json"])}, c.Args...), c.Env...) {
			if strings.Contains(text, "secret of") {
				t.Errorf("the token is in %q", text)
			}
		}
		if _, revoked := minted.counts(); revoked != 0 {
			t.Error("the token was ended while the process lives")
		}
		if err := b.Kill(b.t.Context(), id, true, "over"); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
		if minted, revoked := minted.counts(); minted != 1 || revoked != 1 {
			t.Errorf("%d minted, %d ended", minted, revoked)
		}
	}, overMCP(minted))
}

func TestFolderInWhichNobodyAsksOverMCP(t *testing.T) {
	minted := &tokens{}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
		id := b.start("hi")
		b.wait(id, in(session.UserTurn))
		c := b.launcher.commands()[0]
		for _, flag := range []string{"--mcp-config", "--append-system-prompt", "--allowedTools"} {
			if slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, flag) }) {
				t.Errorf("%s is among %q", flag, c.Args)
			}
		}
		if n, _ := minted.counts(); n != 0 {
			t.Errorf("%d tokens were minted", n)
		}
	}, overMCP(minted), func(o *orchestrator.Options) {
		o.Rules.AsksIn = func(folder string) bool { return folder != o.Rules.Roots[0] }
	})
}

func TestSessionStartsAlsoWithoutAToken(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
		b.wait(b.start("hi"), in(session.UserTurn))
	}, overMCP(&tokens{fail: errors.New("no tokens today")}))
}

func TestQuestionOfACallThatWasCutGoes(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		callOf("mcp__sayso__ask_user", "toolu_1"), callOf("mcp__sayso__ask_user", "toolu_2"), callOf("mcp__other__ask", "toolu_3"),
		{SleepMS: 60_000}, resultOf("toolu_3"), resultOf("toolu_1"), {SleepMS: 3_600_000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		cut, ended := b.asksOverMCP(id, "toolu_1")
		other, _ := b.asksOverMCP(id, "toolu_2")
		b.wait(id, asking(2))
		time.Sleep(time.Minute)
		if s := b.wait(id, asking(1)); s.Requests[0].RequestID != other {
			t.Errorf("left is %+v", s.Requests[0])
		}
		if r := <-ended; r.Status != pending.Withdrawn || r.Resolution.Reason != "Claude stopped waiting for the answer." {
			t.Errorf("mcpapi is told %s: %+v", r.Status, r.Resolution)
		}
		b.wait(id, func(session.ProcessState) bool {
			return slices.ContainsFunc(b.items(id), func(i session.Item) bool { return i.Key == session.RecordKey(cut) })
		})
		if err := b.Kill(b.t.Context(), id, true, "over"); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
	}, overMCP(&tokens{}))
}

func TestAnsweredQuestionOverMCPIsRecorded(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{callBy("toolu_task", "mcp__sayso__ask_user", "toolu_1"), {SleepMS: 10_000}, resultOf("toolu_1"), {Text: "Thanks."}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		requestID, ended := b.asksOverMCP(id, "toolu_1")
		b.answer(b.row(requestID), func(s *pending.Submission) { s.Answers = map[string]string{"Which?": "this"} })
		if r := <-ended; r.Status != pending.Answered {
			t.Errorf("mcpapi is told %s", r.Status)
		}
		b.wait(id, in(session.UserTurn))
		b.wait(id, func(session.ProcessState) bool {
			return slices.ContainsFunc(b.items(id), func(i session.Item) bool {
				return i.Key == session.RecordKey(requestID) && i.AgentID == "toolu_task"
			})
		})
		b.wait(id, func(session.ProcessState) bool { return b.row(requestID).Delivery == pending.Consumed })
		// What mcpapi delivers is not the orchestrator's to carry over.
		if err := b.Kill(b.t.Context(), id, true, "over"); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
		time.Sleep(time.Minute)
		if n := len(b.launcher.commands()); n != 1 {
			t.Errorf("%d processes were started for an answer that was heard", n)
		}
	}, overMCP(&tokens{}), func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
}

func TestQuestionOverMCPOfADeadProcessIsWithdrawn(t *testing.T) {
	minted := &tokens{}
	script := claudetest.Script{Turn: []claudetest.Step{bash, {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		b.wait(id, asking(1))
		requestID, ended := b.asksOverMCP(id, "toolu_9")
		b.launcher.killLast()
		s := b.wait(id, in(session.Dead))
		if len(s.Requests) != 1 || s.Requests[0].ToolName != "Bash" || s.Requests[0].Status != pending.Orphaned {
			t.Errorf("left to answer: %+v", s.Requests)
		}
		if r := <-ended; r.Status != pending.Withdrawn || !strings.Contains(r.Resolution.Reason, "ended by itself") {
			t.Errorf("mcpapi is told %s: %+v", r.Status, r.Resolution)
		}
		if r := b.row(requestID); r.Status != pending.Withdrawn {
			t.Errorf("it is %s", r.Status)
		}
		if _, revoked := minted.counts(); revoked != 1 {
			t.Errorf("the token was ended %d times", revoked)
		}
	}, overMCP(minted))
}

func TestInterruptWithdrawsWhatIsAskedOverMCP(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{callOf("mcp__sayso__ask_user", "toolu_1"), {Silent: true}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		_, ended := b.asksOverMCP(id, "toolu_1")
		if err := b.Interrupt(b.t.Context(), id, b.person); err != nil {
			t.Fatal(err)
		}
		if r := <-ended; r.Status != pending.Withdrawn || r.Resolution.Reason != "Ada interrupted Claude." {
			t.Errorf("mcpapi is told %s: %+v", r.Status, r.Resolution)
		}
		b.wait(id, in(session.UserTurn))
	}, overMCP(&tokens{}))
}

func TestProcessThatAsksOverMCPHasNoLimits(t *testing.T) {
	limits := func(l *orchestrator.Limits) {
		l.Sample, l.Stuck, l.Silent, l.Absolute = time.Minute, 2*time.Minute, 10*time.Minute, time.Hour
	}
	script := claudetest.Script{Turn: []claudetest.Step{callOf("mcp__sayso__ask_user", "toolu_1"), {SleepMS: 10 * 3_600_000}}}
	withBench(t, script, limits, func(b *bench) {
		id := b.start("ask")
		requestID, ended := b.asksOverMCP(id, "toolu_1")
		time.Sleep(2 * time.Hour)
		if s := b.wait(id, asking(1)); s.State != session.AssistantTurn || s.Stuck != "" {
			t.Fatalf("a process that waits for a person became %s: %s%s", s.State, s.KillReason, s.Stuck)
		}
		b.answer(b.row(requestID), func(s *pending.Submission) { s.Answers = map[string]string{"Which?": "this"} })
		<-ended
		time.Sleep(2 * time.Minute) // and then they hold again
		b.wait(id, in(session.Dead))
	}, overMCP(&tokens{}))
}

func TestNoProcessRunsForWhatOthersAsk(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		s := session.Session{SessionID: "5f0a8a2e-0f0b-4c0d-9a55-1de0a9f0c0aa", Title: "builder", CWD: b.folder, PermissionMode: "default", Kind: session.Agent, CreatedAt: time.Now()}
		if err := b.store.CreateSession(b.t.Context(), s); err != nil {
			t.Fatal(err)
		}
		_, forked := b.Fork(b.t.Context(), s.SessionID, "", b.person, "")
		for what, err := range map[string]error{
			"resume": b.Resume(b.t.Context(), s.SessionID, b.person),
			"send":   b.Send(b.t.Context(), session.Message{MessageID: "m", SessionID: s.SessionID, Text: "hi", CreatedAt: time.Now()}),
			"fork":   forked,
		} {
			var invalid *problem.Error
			if !errors.As(err, &invalid) {
				t.Errorf("%s: %v, want a sentence", what, err)
			}
		}
		requestID, ended := b.asksOverMCP(s.SessionID, "")
		b.answer(b.row(requestID), func(s *pending.Submission) { s.Answers = map[string]string{"Which?": "this"} })
		<-ended
		time.Sleep(time.Minute)
		if n := len(b.launcher.commands()); n != 0 {
			t.Errorf("%d processes were started", n)
		}
	}, overMCP(&tokens{}), func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
}
