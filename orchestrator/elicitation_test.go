package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// raw is a step that prints one line.
func raw(format string, args ...any) claudetest.Step {
	return claudetest.Step{Raw: fmt.Sprintf(format, args...)}
}

func callOf(tool, toolUseID string) claudetest.Step {
	return raw(`{"type":"assistant","uuid":"u-%s","parent_tool_use_id":null,"message":{"id":"m-%s","role":"assistant","content":[{"type":"tool_use","id":"%s","name":"%s","input":{}}]}}`, toolUseID, toolUseID, toolUseID, tool)
}

// callBy is a call of the subagent that the tool call parent runs.
func callBy(parent, tool, toolUseID string) claudetest.Step {
	call := callOf(tool, toolUseID)
	call.Raw = strings.Replace(call.Raw, `"parent_tool_use_id":null`, `"parent_tool_use_id":"`+parent+`"`, 1)
	return call
}

func resultOf(toolUseID string) claudetest.Step {
	return raw(`{"type":"user","uuid":"r-%s","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"cut","is_error":true}]}}`, toolUseID, toolUseID)
}

func elicitation(requestID, server, schema string) claudetest.Step {
	return raw(`{"type":"control_request","request_id":"%s","request":{"subtype":"elicitation","mcp_server_name":"%s","message":"Who?","mode":"form","requested_schema":%s}}`, requestID, server, schema)
}

const schema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":18}},"required":["name"]}`

// told are the payloads of the answers that the CLI got, by request id.
func (b *bench) told() map[string]string {
	b.t.Helper()
	got := map[string]string{}
	for _, r := range b.launcher.records("control_response") {
		var line struct {
			Response struct {
				Response json.RawMessage `json:"response"`
				Error    string          `json:"error"`
			} `json:"response"`
		}
		if err := json.Unmarshal(r.Line, &line); err != nil {
			b.t.Fatal(err)
		}
		if _, twice := got[r.RequestID]; twice {
			b.t.Errorf("%s was answered twice", r.RequestID)
		}
		got[r.RequestID] = string(line.Response.Response) + line.Response.Error
	}
	return got
}

// tells waits until the CLI has an answer to a request.
func (b *bench) tells(id, requestID, want string) {
	b.t.Helper()
	b.wait(id, func(session.ProcessState) bool { return b.told()[requestID] != "" })
	if got := b.told()[requestID]; got != want {
		b.t.Errorf("%s was told %s, want %s", requestID, got, want)
	}
}

func TestElicitationGoesOutAndBackWithTheTypesOfItsSchema(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{elicitation("e1", "people", schema), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		r := b.wait(id, asking(1)).Requests[0]
		if r.Source != pending.SourceElicitation || r.RequestType != pending.AskUserQuestion || r.ToolName != "people" ||
			r.Form == nil || r.Form.Title != "Who?" || len(r.Form.Questions) != 2 {
			t.Fatalf("asked %+v", r)
		}
		_, err := b.registry.Answer(b.t.Context(), pending.Submission{
			RequestID: r.RequestID, SessionID: id, RequestType: r.RequestType, Actor: b.person,
			Responses: []pending.Response{{ID: "name", Text: "Bo"}, {ID: "age", Text: "17"}},
		})
		if err == nil || !strings.Contains(err.Error(), "must be a whole number, at least 18") {
			t.Errorf("an answer that does not fit: %v", err)
		}
		b.answer(r, func(s *pending.Submission) {
			s.Responses = []pending.Response{{ID: "name", Text: "Bo"}, {ID: "age", Text: "18"}}
		})
		b.tells(id, "e1", `{"action":"accept","content":{"age":18,"name":"Bo"}}`)
		b.wait(id, func(session.ProcessState) bool { return b.row(r.RequestID).Delivery == pending.Consumed })
		records := func() (resolved int) {
			for _, item := range b.items(id) {
				if item.Kind == session.ItemResolved {
					resolved++
				}
			}
			return resolved
		}
		b.wait(id, func(session.ProcessState) bool { return records() > 0 })
		if resolved := records(); resolved != 1 {
			t.Errorf("%d records of the answer", resolved)
		}
	})
}

func TestElicitationThatCannotBeShownCanBeDeclined(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{elicitation("e1", "people", `{"type":"object","properties":{"p":{"type":"object"}}}`), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		r := b.wait(id, asking(1)).Requests[0]
		if r.Form != nil {
			t.Fatalf("form %+v", r.Form)
		}
		b.answer(r, func(s *pending.Submission) { s.Decision = pending.Deny })
		b.tells(id, "e1", `{"action":"decline"}`)
	})
}

func TestAnswerToAnElicitationIsConsumedWithItsCall(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		callOf("mcp__people__ask", "toolu_1"), elicitation("e1", "people", schema), {SleepMS: 60_000}, resultOf("toolu_1"), {SleepMS: 3_600_000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		r := b.wait(id, asking(1)).Requests[0]
		b.answer(r, func(s *pending.Submission) { s.Answers = map[string]string{"name": "Bo"} })
		b.tells(id, "e1", `{"action":"accept","content":{"name":"Bo"}}`)
		b.wait(id, func(session.ProcessState) bool { return b.row(r.RequestID).Delivery == pending.Delivered })
		time.Sleep(30 * time.Second)
		if got := b.row(r.RequestID).Delivery; got != pending.Delivered {
			t.Errorf("before the call has its result the answer is %s", got)
		}
		time.Sleep(30 * time.Second)
		b.wait(id, func(session.ProcessState) bool { return b.row(r.RequestID).Delivery == pending.Consumed })
		if n := len(b.told()); n != 1 {
			t.Errorf("Claude heard %d answers", n)
		}
	})
}

func TestElicitationThatIsWithdrawnGoes(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		elicitation("e1", "people", schema), {SleepMS: 5000},
		raw(`{"type":"control_cancel_request","request_id":"e1"}`), {SleepMS: 3_600_000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		r := b.wait(id, asking(1)).Requests[0]
		b.wait(id, asking(0))
		if now := b.row(r.RequestID); now.Status != pending.Withdrawn || now.Resolution.Reason != "Claude withdrew this request." {
			t.Errorf("it is %s: %+v", now.Status, now.Resolution)
		}
		if told := b.told(); len(told) != 0 {
			t.Errorf("Claude heard %v about what it withdrew", told)
		}
	})
}

// 2.1.197 withdraws no elicitation: that nobody waits is seen by the result of the
// call that it came from.
func TestElicitationOfACallThatIsOverGoes(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		callOf("mcp__my_people__ask", "toolu_1"), callOf("mcp__my_people__ask", "toolu_2"), callOf("mcp__other__ask", "toolu_3"),
		elicitation("e1", "my people", schema), elicitation("e3", "other", schema),
		{SleepMS: 1000}, resultOf("toolu_1"), {SleepMS: 10_000}, resultOf("toolu_2"), {SleepMS: 3_600_000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		open := b.wait(id, asking(2)).Requests
		first := open[slices.IndexFunc(open, func(r pending.Request) bool { return r.ToolName == "my people" })]
		b.wait(id, func(session.ProcessState) bool {
			for _, item := range b.items(id) {
				if item.Key == "tool:toolu_1" && strings.Contains(string(item.Body), `"failed"`) {
					return true
				}
			}
			return false
		})
		b.wait(id, asking(2)) // another call of the server may be the one that asks
		left := b.wait(id, asking(1)).Requests[0]
		if left.ToolName != "other" {
			t.Errorf("%s is left, want the one of the call that goes on", left.ToolName)
		}
		if now := b.row(first.RequestID); now.Status != pending.Withdrawn || now.Resolution.Reason != "Claude stopped waiting for the answer." {
			t.Errorf("it is %s: %+v", now.Status, now.Resolution)
		}
		b.tells(id, "e1", `{"action":"cancel"}`)
	})
}

func TestAnswerToAnElicitationOfADeadProcessIsCarriedOver(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{elicitation("e1", "people", schema), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{Turn: []claudetest.Step{elicitation("e2", "people", schema), {SleepMS: 3_600_000}}}}
		id := b.start("ask")
		old := b.die(id, 1)[0]
		b.answer(old, func(s *pending.Submission) { s.Answers = map[string]string{"name": "Bo"} })
		b.say(id, "go on")
		b.tells(id, "e2", `{"action":"accept","content":{"name":"Bo"}}`)
		if r := b.row(old.RequestID); r.Delivery != pending.Carried {
			t.Errorf("the old answer is %s, want carried", r.Delivery)
		}
	})
}

func TestKillCancelsAnElicitation(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{elicitation("e1", "people", schema), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		r := b.wait(id, asking(1)).Requests[0]
		if err := b.Kill(b.t.Context(), id, false, "Ada ended it."); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
		if got := b.told()["e1"]; got != `{"action":"cancel"}` {
			t.Errorf("before its end Claude heard %q", got)
		}
		if now := b.row(r.RequestID); now.Status != pending.Withdrawn || now.Resolution.Reason != "Ada ended it." {
			t.Errorf("it is %s: %+v", now.Status, now.Resolution)
		}
	})
}

func TestUnknownDialogsAndRequestsAreDeclinedAtOnce(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		raw(`{"type":"control_request","request_id":"d1","request":{"subtype":"request_user_dialog","dialog_kind":"brand_new","payload":{}}}`),
		raw(`{"type":"control_request","request_id":"u1","request":{"subtype":"brand_new"}}`),
		{SleepMS: 1000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("ask")
		b.wait(id, in(session.UserTurn))
		if s := b.wait(id, asking(0)); len(s.Requests) != 0 {
			t.Errorf("people were asked %+v", s.Requests)
		}
		b.tells(id, "d1", `{"behavior":"cancelled"}`)
		b.tells(id, "u1", `unsupported control request "brand_new"`)
	})
}
