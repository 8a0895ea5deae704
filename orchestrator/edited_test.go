package orchestrator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlite"
)

// edits approves with another input.
func edits(input string) func(*pending.Submission) {
	return func(s *pending.Submission) { s.UpdatedInput = json.RawMessage(input) }
}

// body is the body of an item, by its key.
func (b *bench) body(sessionID, key string) map[string]any {
	b.t.Helper()
	for _, item := range b.items(sessionID) {
		if item.Key == key {
			var body map[string]any
			if err := json.Unmarshal(item.Body, &body); err != nil {
				b.t.Fatal(err)
			}
			body["kind"] = string(item.Kind)
			return body
		}
	}
	b.t.Fatalf("there is no item %s", key)
	return nil
}

// plain is the text of a JSON value.
func plain(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTranscriptShowsWhatRan: of an approval that was edited, whatever the tool, every
// item shows the input that ran, says who edited it, and keeps the proposed one apart.
func TestTranscriptShowsWhatRan(t *testing.T) {
	for tool, c := range map[string]struct{ proposed, ran, kind string }{
		"Bash":                {`{"command":"touch proposed"}`, `{"command":"touch ran"}`, "tool_call"},
		"Write":               {`{"content":"proposed","file_path":"/w/a"}`, `{"content":"ran","file_path":"/w/b"}`, "tool_call"},
		"mcp__x__anything":    {`{"deep":{"list":["proposed"]}}`, `{"deep":{"list":["ran"]}}`, "tool_call"},
		"Task":                {`{"description":"proposed","prompt":"x","subagent_type":"general-purpose"}`, `{"description":"ran","prompt":"x","subagent_type":"general-purpose"}`, "subagent"},
		"TodoWrite":           {`{"todos":[{"content":"proposed","status":"pending"}]}`, `{"todos":[{"content":"ran","status":"pending"}]}`, "todo"},
		"ExitPlanMode":        {`{"plan":"proposed"}`, `{"plan":"ran"}`, "plan"},
		"Bash, made too long": {`{"command":"touch proposed"}`, `{"command":"echo ` + strings.Repeat("ran ", 20_000) + `"}`, "tool_call"},
		"Task, made too long": {`{"description":"proposed"}`, `{"description":"` + strings.Repeat("ran ", 20_000) + `"}`, "tool_call"},
	} {
		t.Run(tool, func(t *testing.T) {
			name, _, long := strings.Cut(tool, ",")
			var input map[string]any
			if err := json.Unmarshal([]byte(c.proposed), &input); err != nil {
				t.Fatal(err)
			}
			ask := claudetest.Step{Ask: map[string]any{"tool_name": name, "tool_use_id": "toolu_1", "input": input}}
			withBench(t, claudetest.Script{Turn: []claudetest.Step{ask, {Text: "Done."}}}, nil, func(b *bench) {
				id := b.start("go")
				r := b.wait(id, asking(1)).Requests[0]
				if got := b.body(id, "tool:toolu_1"); got["edited"] != nil || !strings.Contains(plain(t, got), "proposed") {
					t.Errorf("before it is answered: %v", got)
				}
				b.answer(r, edits(c.ran))
				b.wait(id, func(session.ProcessState) bool { return b.row(r.RequestID).Delivery == pending.Consumed })
				b.wait(id, in(session.UserTurn))
				time.Sleep(time.Second) // what is written comes a moment later
				for _, key := range []string{"tool:toolu_1", session.RecordKey(r.RequestID)} {
					got := b.body(id, key)
					proposed := plain(t, got["proposed_input"])
					if got["edited"] != true || proposed != c.proposed {
						t.Errorf("%s: %.300v", key, got)
					}
					delete(got, "proposed_input")
					rest := plain(t, got)
					if strings.Contains(rest, "proposed") || !long && !strings.Contains(rest, "ran") {
						t.Errorf("%s shows as what ran: %s", key, rest)
					}
					if by := got["edited_by"]; key == "tool:toolu_1" && (by != "Ada" || got["kind"] != c.kind) {
						t.Errorf("edited by %v, a %v", by, got["kind"])
					}
				}
			})
		})
	}
}

// TestCallOfAHookShowsWhatRan: where a hook made another call of what Claude proposed,
// and a person approved that one, it is shown, and said to be another.
func TestCallOfAHookShowsWhatRan(t *testing.T) {
	step := claudetest.Step{
		Ask:      map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "touch ran"}},
		Proposed: map[string]any{"command": "touch proposed"},
	}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{step}}, nil, func(b *bench) {
		id := b.start("go")
		b.answer(b.wait(id, asking(1)).Requests[0], nil)
		b.wait(id, in(session.UserTurn))
		time.Sleep(time.Second)
		got := b.body(id, "tool:toolu_1")
		if plain(t, got["input"]) != `{"command":"touch ran"}` || got["edited"] != true || got["edited_by"] != nil || plain(t, got["proposed_input"]) != `{"command":"touch proposed"}` {
			t.Errorf("got %v", got)
		}
	})
}

// TestUneditedCallIsNotMarked: also not when the answer repeats the input in another
// order of its keys.
func TestUneditedCallIsNotMarked(t *testing.T) {
	ask := claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_1", "input": map[string]any{"command": "ls", "description": "List"}}}
	withBench(t, claudetest.Script{Turn: []claudetest.Step{ask}}, nil, func(b *bench) {
		id := b.start("go")
		b.answer(b.wait(id, asking(1)).Requests[0], edits(`{"description":"List","command":"ls"}`))
		b.wait(id, in(session.UserTurn))
		time.Sleep(time.Second)
		if got := b.body(id, "tool:toolu_1"); got["edited"] != nil || got["proposed_input"] != nil {
			t.Errorf("got %v", got)
		}
	})
}

// TestCarriedEditShowsWhatRan: an edited answer to a process that died, given to the
// next one.
func TestCarriedEditShowsWhatRan(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{bashWith("toolu_1", "touch proposed")}}
	withBench(t, script, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{bashWith("toolu_2", "touch proposed"), {Text: "Done."}}}}
		id := b.start("go")
		b.answer(b.die(id, 1)[0], edits(`{"command":"touch ran"}`))
		b.say(id, "go on")
		b.wait(id, func(s session.ProcessState) bool { return len(b.received()) > 0 && s.State == session.UserTurn })
		time.Sleep(time.Second)
		got := b.body(id, "tool:toolu_2")
		if plain(t, got["input"]) != `{"command":"touch ran"}` || got["edited_by"] != "Ada" || plain(t, got["proposed_input"]) != `{"command":"touch proposed"}` {
			t.Errorf("got %v", got)
		}
		if got := b.body(id, "tool:toolu_1"); plain(t, got["input"]) != `{"command":"touch proposed"}` || got["edited"] != nil {
			t.Errorf("what never ran is shown as if it had: %v", got)
		}
	})
}

// TestAdoptedProcessShowsWhatRan: what the former server had read of a call, and not
// yet written, is read again; who let it run with what is known from the request.
func TestAdoptedProcessShowsWhatRan(t *testing.T) {
	for name, noted := range map[string]pending.Delivery{"given": pending.Delivered, "acted on": pending.Consumed, "given, and not noted": pending.Queued} {
		t.Run(name, func(t *testing.T) {
			inherit := inherits(t, &left{heard: true})
			answer := func(o *orchestrator.Options) {
				input := json.RawMessage(`{"command":"touch proposed"}`)
				st, ctx := o.Store.(*sqlite.Store), context.Background()
				r := pending.Request{
					RequestID: pending.NewRequestID("s0", "p0", "q"), SessionID: "s0", ProcessID: "p0", RequestType: pending.ToolApproval, Source: pending.SourceClaude,
					AskerRequestID: "q", AskerToolUseID: "toolu_1", ToolName: "Bash", ToolInput: input, InputHash: pending.HashInput(input), CreatedAt: time.Now(),
				}
				_, _, err := st.OpenRequest(ctx, r)
				if err == nil {
					_, err = o.Registry.Answer(ctx, pending.Submission{
						RequestID: r.RequestID, SessionID: "s0", RequestType: r.RequestType, Actor: pending.Actor{UserID: "u1", Name: "Ada"},
						Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"touch ran"}`),
					})
				}
				if err == nil {
					err = st.SetDelivery(ctx, r.RequestID, noted)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			again := []claudetest.Step{
				{Raw: `{"type":"assistant","uuid":"5f2a","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"touch proposed"}}]}}`},
				{Raw: `{"type":"user","uuid":"5f2b","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}}`},
			}
			withBench(t, claudetest.Script{Turn: again}, nil, func(b *bench) {
				b.wait("s0", func(s session.ProcessState) bool { return s.PID != 0 })
				b.say("s0", "go on")
				b.wait("s0", func(s session.ProcessState) bool { return s.Items > 2 && s.State == session.UserTurn })
				time.Sleep(time.Second)
				got := b.body("s0", "tool:toolu_1")
				if plain(t, got["input"]) != `{"command":"touch ran"}` || got["edited_by"] != "Ada" || plain(t, got["proposed_input"]) != `{"command":"touch proposed"}` || got["status"] != "done" {
					t.Errorf("got %v", got)
				}
			}, inherit, answer)
		})
	}
}
