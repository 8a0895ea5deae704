package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
	"github.com/sayso-dev/sayso/session"
)

func failOpen(op pendingtest.Op, _ string) pendingtest.Fault {
	if op == pendingtest.OpOpen {
		return pendingtest.Fail
	}
	return pendingtest.None
}

// TestSessionsNeverSeeEachOther runs random sequences of two agents that use the
// same words, the same JSON-RPC ids, keys, tool uses and each other's tickets.
// Whatever a call of one returns was answered to a question of that one, and a
// question of one never appears in the other's session.
func TestSessionsNeverSeeEachOther(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
			agents := []*agent{h.agent(session.Ours, ""), h.agent(session.Agent, "other")}
			names := []string{"alpha", "beta"}
			var tickets []string
			calls := [2][]*calling{}
			defer func() {
				for i, list := range calls {
					for _, c := range list {
						c.cut()
						<-c.done
					}
					_, _ = h.registry.WithdrawAll(t.Context(), agents[i].sessionID, "over")
				}
				synctest.Wait()
			}()
			look := func() {
				synctest.Wait()
				for i := range agents {
					var left []*calling
					for _, c := range calls[i] {
						if !c.over() {
							left = append(left, c)
							continue
						}
						if c.result == nil {
							continue
						}
						text := c.result.Content[0].Text
						if strings.Contains(text, names[1-i]) {
							rt.Fatalf("%s was told %q", names[i], text)
						}
						var ticket struct{ Ticket string }
						if json.Unmarshal([]byte(text), &ticket) == nil && ticket.Ticket != "" {
							tickets = append(tickets, ticket.Ticket)
						}
					}
					calls[i] = left
					for _, r := range agents[i].open() {
						if r.SessionID != agents[i].sessionID || !strings.Contains(string(r.ToolInput), names[i]) && r.AskerToolUseID == "" && !strings.Contains(string(r.ToolInput), "the same words") {
							rt.Fatalf("%s is shown %s", names[i], r.ToolInput)
						}
					}
				}
			}
			rt.Repeat(map[string]func(*rapid.T){
				"ask": func(rt *rapid.T) {
					i := rapid.IntRange(0, 1).Draw(rt, "who")
					if len(calls[i]) >= 8 {
						rt.Skip("enough")
					}
					id := rapid.IntRange(1, 3).Draw(rt, "id")
					ways := []how{withID(id)}
					switch rapid.IntRange(0, 2).Draw(rt, "key") {
					case 1:
						ways = append(ways, header("Idempotency-Key", "k"+number(id)))
					case 2:
						ways = append(ways, meta("claudecode/toolUseId", "toolu_"+number(id)))
					}
					tool := rapid.SampledFrom([]string{"ask_user", "AskUser", "ask_question"}).Draw(rt, "tool")
					calls[i] = append(calls[i], agents[i].call(tool, lone("the same words"), ways...))
				},
				"wait": func(rt *rapid.T) {
					if len(tickets) == 0 {
						rt.Skip("no ticket")
					}
					i := rapid.IntRange(0, 1).Draw(rt, "who")
					calls[i] = append(calls[i], agents[i].call("ask_user_wait", fmt.Sprintf(`{"ticket":%q}`, rapid.SampledFrom(tickets).Draw(rt, "ticket"))))
				},
				"answer": func(rt *rapid.T) {
					i := rapid.IntRange(0, 1).Draw(rt, "who")
					rows := agents[i].open()
					if len(rows) == 0 {
						rt.Skip("nothing open")
					}
					agents[i].answer(rapid.SampledFrom(rows).Draw(rt, "question"), written("q1", names[i]))
				},
				"answer in the other's name": func(rt *rapid.T) {
					i := rapid.IntRange(0, 1).Draw(rt, "who")
					for _, r := range agents[i].open() {
						_, err := h.registry.Answer(t.Context(), pending.Submission{RequestID: r.RequestID, SessionID: agents[1-i].sessionID,
							RequestType: r.RequestType, Actor: ada, Responses: []pending.Response{written("q1", names[1-i])}})
						if err == nil {
							rt.Fatalf("answered across sessions")
						}
					}
				},
				"cancel": func(rt *rapid.T) {
					i := rapid.IntRange(0, 1).Draw(rt, "who")
					before := len(agents[1-i].open())
					<-agents[i].send(cancelled(rapid.IntRange(1, 3).Draw(rt, "id"))).done
					if after := len(agents[1-i].open()); after != before {
						rt.Fatalf("a cancellation of %s took %d questions of %s away", names[i], before-after, names[1-i])
					}
				},
				"cut": func(rt *rapid.T) {
					i := rapid.IntRange(0, 1).Draw(rt, "who")
					if len(calls[i]) == 0 {
						rt.Skip("no call")
					}
					rapid.SampledFrom(calls[i]).Draw(rt, "call").cut()
				},
				"sleep": func(rt *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second)
				},
				"": func(*rapid.T) { look() },
			})
		})
	})
}
