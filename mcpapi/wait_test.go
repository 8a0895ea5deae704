package mcpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
	"github.com/sayso-dev/sayso/session"
)

// R21: a client that cuts at 60 s what stays silent, and one that cuts at 350 s
// whatever comes. The answer, given after 20 minutes, reaches each exactly once.
func TestAnswerAfterTwentyMinutesReachesAClientThatCuts(t *testing.T) {
	for name, c := range map[string]struct {
		cutsAt time.Duration
		ways   []how
	}{
		"at 60 s":  {60 * time.Second, nil},
		"at 350 s": {350 * time.Second, []how{wantsProgress}},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Agent, "builder")
				began := time.Now()
				a.answerAfter(20*time.Minute, written("q1", "forty-two"))
				var got []string
				call := a.call("ask_user", lone("What is the answer?"), c.ways...)
				for {
					sent := time.Now()
					text := call.text()
					if took := time.Since(sent); took >= c.cutsAt {
						t.Fatalf("a call took %s, and the client cuts at %s", took, c.cutsAt)
					}
					var ticket struct{ Ticket string }
					if json.Unmarshal([]byte(text), &ticket) != nil {
						got = append(got, text)
						break
					}
					call = a.call("ask_user_wait", fmt.Sprintf(`{"ticket":%q}`, ticket.Ticket), c.ways...)
				}
				same(t, "answers", got, []string{"User selected: forty-two"})
				is(t, "after", time.Since(began), 20*time.Minute)
				is(t, "still open", len(a.open()), 0)
			})
		})
	}
}

func (a *agent) waitsFor(ticket string, ways ...how) *calling {
	return a.call("ask_user_wait", fmt.Sprintf(`{"ticket":%q}`, ticket), ways...)
}

func TestTicketOutlivesItsConnection(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Agent, "builder")
		ticket := a.call("ask_question", lone("Which?")).ticket()
		r := a.one()
		is(t, "ticket", ticket, r.RequestID)
		is(t, "deadline", r.ExpiresAt.IsZero(), true) // none that the asker did not set
		for range 2000 {                              // an asker that comes back is there, for more than a day
			is(t, "ticket again", a.waitsFor(ticket).ticket(), ticket)
		}
		time.Sleep(mcpapi.TicketGone - time.Second)
		h.restart()
		time.Sleep(mcpapi.ServerGone - time.Second)
		is(t, "ticket after a restart", a.waitsFor(ticket).ticket(), ticket)
		a.answer(a.one(), written("q1", "this"))
		h.restart()
		time.Sleep(10 * time.Hour)
		is(t, "delivery", h.stored(ticket).Delivery, pending.Queued)
		a.waitsFor(ticket).says(`{"answer":"this"}`)
		synctest.Wait()
		is(t, "delivery", h.stored(ticket).Delivery, pending.Delivered)
	})
}

// An HTTP client that ends after its ticket leaves no question behind for a day.
func TestAskerThatNeverComesBackWithItsTicketIsGone(t *testing.T) {
	gone := func(h *harness, id string) {
		h.t.Helper()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		now := h.stored(id)
		is(h.t, "after", now.Status, pending.Withdrawn)
		is(h.t, "reason", now.Resolution.Reason, "The asker is gone.")
	}
	for name, leave := range map[string]func(h *harness, a *agent, ticket string) time.Duration{
		"after the ticket": func(*harness, *agent, string) time.Duration { return mcpapi.TicketGone },
		"after a wait": func(_ *harness, a *agent, ticket string) time.Duration {
			a.waitsFor(ticket).ticket()
			return mcpapi.TicketGone
		},
		"in the middle of a wait": func(_ *harness, a *agent, ticket string) time.Duration {
			c := a.waitsFor(ticket)
			time.Sleep(10 * time.Second)
			c.cut()
			return mcpapi.TicketGone
		},
		"and the server started again": func(h *harness, _ *agent, _ string) time.Duration {
			time.Sleep(mcpapi.TicketGone / 2)
			h.restart()
			return mcpapi.ServerGone
		},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Agent, "builder")
				ticket := a.call("ask_question", lone("Which?")).ticket()
				time.Sleep(leave(h, a, ticket) - time.Millisecond)
				is(t, "just before", h.stored(ticket).Status, pending.Open)
				gone(h, ticket)

				// It was only slow: people are asked again, and it has its answer.
				call := a.waitsFor(ticket)
				r := a.one()
				is(t, "question", r.Form.Questions[0].Question, "Which?")
				time.Sleep(time.Second)
				a.answer(r, written("q1", "this"))
				call.says(`{"answer":"this"}`)
				a.waitsFor(ticket).says(`{"answer":"this"}`) // told again
				is(t, "open", len(a.open()), 0)

				// And once more, from one loss to the next.
				ticket = a.call("ask_question", lone("Which?"), header(mcpapi.KeyHeader, "another")).ticket()
				for range 3 {
					time.Sleep(mcpapi.TicketGone + time.Second)
					is(t, "open", len(a.open()), 0)
					a.waitsFor(ticket).ticket()
					is(t, "open again", len(a.open()), 1)
				}
			})
		})
	}
}

func TestTicketEndsWithItsDeadline(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Agent, "builder")
		began := time.Now()
		own := a.call("ask_user", `{"questions":[{"question":"Which?"}],"timeout":600000}`).ticket()
		endless := a.call("ask_user", lone("Which?")).ticket()
		h.restart() // the deadlines are those of the rows
		waits := a.waitsFor(own, patient)
		goes := a.waitsFor(endless, patient)
		waits.says(`{"answered":false,"cancelled":false,"timedOut":true,"answers":[]}`)
		is(t, "after", time.Since(began), 10*time.Minute)
		is(t, "own deadline", h.stored(own).Status, pending.Expired)
		time.Sleep(25 * time.Hour)
		goes.waits()

		// One that passes while the asker is away passes all the same.
		late := a.call("ask_user", `{"questions":[{"question":"Late?"}],"timeout":600000}`).ticket()
		time.Sleep(time.Hour)
		a.waitsFor(late).says(`{"answered":false,"cancelled":false,"timedOut":true,"answers":[]}`)
	})
}

func TestExtendedDeadlineReachesTheCall(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"questions":[{"id":"a","question":"Which?"}],"timeout":30000}`, patient)
		if _, err := h.registry.Extend(t.Context(), a.one().RequestID, 5*time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		c.waits()
		a.answer(a.one(), written("a", "late"))
		c.says(`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"a","values":["late"]}]}`)
	})
}

func TestTicketsOfOtherAgentsAreUnknown(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a, b := h.agent(session.Agent, "a"), h.agent(session.Agent, "b")
		ticket := a.call("ask_user", lone("Mine?")).ticket()
		none := "There is no question with this ticket. Ask again if you still need the answer."
		b.call("ask_user_wait", fmt.Sprintf(`{"ticket":%q}`, ticket)).fails(none)
		a.call("ask_user_wait", `{"ticket":"7"}`).fails(none)
		a.call("ask_user_wait", `{}`).fails("Validation error: ticket is required")
		// A request of the session's own Claude has an id too, and no answer for agents.
		row, opened, err := h.memory.OpenRequest(t.Context(), pending.Request{RequestID: "r1", SessionID: a.sessionID,
			RequestType: pending.ToolApproval, Source: pending.SourceClaude, ToolName: "Bash"})
		if err != nil || !opened {
			t.Fatal(err)
		}
		a.call("ask_user_wait", fmt.Sprintf(`{"ticket":%q}`, row.RequestID)).fails(none)
	})
}

func TestProgressWhileWaiting(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", lone("Which?"), wantsProgress, patient)
		time.Sleep(time.Hour + time.Second)
		a.answer(a.one(), written("q1", "x"))
		c.says("User selected: x")
		is(t, "notifications", len(c.progress), 363)
		same(t, "early progress", c.progress[:3], []float64{0, 2, 5})
		for i, p := range c.progress[3:] {
			is(t, "progress", p, float64(10*(i+1)))
		}
	})
}

func TestPatientClientsWaitWithoutLimit(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", lone("Which?"), patient)
		time.Sleep(250 * time.Hour) // which looks at its token a million times
		c.waits()
		a.answer(a.one(), written("q1", "x"))
		c.says("User selected: x")
	})
}

func cancelled(id any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}}
}

func TestCancelTakesTheQuestionAway(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a, b := h.agent(session.Ours, ""), h.agent(session.Ours, "")
		c := a.call("ask_user", lone("Which?"), patient)
		r := a.one()
		for name, wrong := range map[string]*calling{"another's": b.send(cancelled(c.id)), "unknown": a.send(cancelled(99)), "a text": a.send(cancelled("1"))} {
			<-wrong.done
			is(t, name+", status", wrong.status, 202)
			c.waits()
		}
		<-a.send(cancelled(c.id)).done
		if !c.over() {
			t.Fatal("the call goes on")
		}
		now := h.stored(r.RequestID)
		is(t, "status", now.Status, pending.Withdrawn)
		is(t, "reason", now.Resolution.Reason, "The agent canceled its question.")
	})
}

func TestCallIssuedAgainFindsItsQuestion(t *testing.T) {
	for name, way := range map[string][]how{
		"by the tool use of Claude": {meta("claudecode/toolUseId", "toolu_1"), withID(7)},
		"by its key":                {header(mcpapi.KeyHeader, "k1"), withID("x")},
		"by its key in _meta":       {meta("sayso/idempotencyKey", "k1"), withID(8)},
		"by id and arguments":       {withID(9)},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Ours, "")
				first := a.call("ask_user", lone("Which?"), append(way, patient)...)
				r := a.one()
				first.cut()
				time.Sleep(mcpapi.AskerGone - time.Second)
				second := a.call("ask_user", lone("Which?"), append(way, patient)...)
				time.Sleep(time.Hour)
				is(t, "the same question", a.one().RequestID, r.RequestID)

				h.restart()
				<-second.done
				if !errors.Is(second.err, io.ErrUnexpectedEOF) {
					t.Fatalf("the connection broke with %v, status %d %s", second.err, second.status, second.body)
				}
				time.Sleep(mcpapi.ServerGone - time.Second)
				third := a.call("ask_user", lone("Which?"), append(way, patient)...)
				time.Sleep(time.Hour)
				third.waits()

				// Answered while nobody listens.
				third.cut()
				synctest.Wait()
				a.answer(a.one(), written("q1", "this"))
				a.call("ask_user", lone("Which?"), append(way, patient)...).says("User selected: this")
				is(t, "questions", len(a.open()), 0)
				synctest.Wait()
				is(t, "delivery", h.stored(r.RequestID).Delivery, pending.Delivered)
			})
		})
	}
}

func TestQuestionGoesWithItsAsker(t *testing.T) {
	for name, c := range map[string]struct {
		lose     func(h *harness, c *calling)
		patience time.Duration
	}{
		"connection lost": {func(_ *harness, c *calling) { c.cut() }, mcpapi.AskerGone},
		"server gone":     {func(h *harness, _ *calling) { h.restart() }, mcpapi.ServerGone},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Ours, "")
				use := meta("claudecode/toolUseId", "toolu_1")
				call := a.call("ask_user", lone("Which?"), use)
				r := a.one()
				is(t, "tool use", r.AskerToolUseID, "toolu_1")
				c.lose(h, call)
				time.Sleep(c.patience - time.Millisecond)
				is(t, "just before", h.stored(r.RequestID).Status, pending.Open)
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				now := h.stored(r.RequestID)
				is(t, "after", now.Status, pending.Withdrawn)
				is(t, "reason", now.Resolution.Reason, "The asker is gone.")

				// It was still there after all, and asks on.
				again := a.call("ask_user", lone("Which?"), use)
				if a.one().RequestID == r.RequestID {
					t.Fatal("a question that has ended is open")
				}
				a.answer(a.one(), written("q1", "x"))
				again.says("User selected: x")
			})
		})
	}
}

// Two waiters of one question: the first that goes takes nothing away.
func TestQuestionStaysWhileAnotherCallWaits(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		key := header(mcpapi.KeyHeader, "k")
		first := a.call("ask_user", lone("Which?"), key, patient)
		second := a.call("ask_user", lone("Which?"), key, patient)
		first.cut()
		time.Sleep(time.Hour)
		<-a.send(cancelled(first.id)).done
		second.waits()
		a.answer(a.one(), written("q1", "x"))
		second.says("User selected: x")
	})
}

// A client that counts from the beginning again is not given the answer of the day
// before.
func TestAnswerIsGivenToOneQuestionOnly(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Agent, "script")
		for i := range 3 {
			c := a.call("ask_user", lone("Continue?"), withID(2))
			c.waits()
			a.answer(a.one(), written("q1", number(i)))
			c.says("User selected: " + number(i))
			synctest.Wait()
		}
	})
}

func TestQuestionsWithTheSameKeyAreOne(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Agent, "script")
		key := header(mcpapi.KeyHeader, "k")
		c := a.call("ask_user", lone("This?"), key)
		a.call("ask_user", lone("That?"), key).fails("The key of this call was used for another question. Use a new key for each question.")
		a.answer(a.one(), written("q1", "x"))
		c.says("User selected: x")
		a.call("ask_user", lone("This?"), key).says("User selected: x")
	})
}

func TestWithdrawnQuestionSaysWhy(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for _, c := range []*calling{a.call("ask_user", lone("Which?")), a.call("ask_user", `{"questions":[{"question":"Which?"}]}`), a.call("AskUser", lone("Which?"))} {
			if err := h.registry.Withdraw(t.Context(), a.open()[0].RequestID, "The session was killed."); err != nil {
				t.Fatal(err)
			}
			c.fails("The question was withdrawn: The session was killed.")
		}
	})
}

func TestFlood(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a, other := h.agent(session.Ours, ""), h.agent(session.Ours, "")
		var open []*calling
		for i := range mcpapi.MaxOpen {
			open = append(open, a.call("ask_user", lone("Question "+number(i)), patient))
		}
		a.call("ask_user", lone("One more?")).fails("Too many questions are open: 10 of yours wait for an answer already. Wait for one of them before you ask another.")
		a.call("approval_prompt", `{"tool_name":"Bash","input":{}}`).fails("Too many questions are open: 10 of yours wait for an answer already. Wait for one of them before you ask another.")
		is(t, "open", len(a.open()), 10)
		a.call("get_phase_status", `{}`).says(`{"pendingQuestions":10,"lastLifecycleEvent":null}`)
		for i := range 3 {
			c := other.call("ask_user", lone("Others?"))
			other.answer(other.one(), written("q1", number(i)))
			c.says("User selected: " + number(i))
		}
		// Issued again, a question is none more.
		open[0].cut()
		synctest.Wait()
		again := a.call("ask_user", lone("Question 0"), withID(1), patient)
		is(t, "open", len(a.open()), 10)
		rows := a.open()
		for i, c := range append([]*calling{again}, open[1:]...) {
			a.answer(rows[i], written("q1", "ok"))
			c.says("User selected: ok")
		}
		time.Sleep(time.Minute)
		for range mcpapi.MaxPerMinute {
			c := a.call("ask_user", lone("Quick?"))
			a.answer(a.one(), written("q1", "ok"))
			c.says("User selected: ok")
		}
		a.call("ask_user", lone("Quick?")).fails("Too many questions: you have asked 30 within a minute. Ask again later, and several things in one question.")
		c := other.call("ask_user", lone("Others?"))
		other.answer(other.one(), written("q1", "ok"))
		c.says("User selected: ok")
		time.Sleep(time.Minute)
		a.call("ask_user", lone("Quick?")).waits()
	})
}

// What was open before the server started counts as well.
func TestFloodOutlivesTheServer(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for i := range mcpapi.MaxOpen {
			a.call("ask_user", lone("Question "+number(i)), patient)
		}
		h.restart()
		if text := a.call("ask_user", lone("One more?")).text(); !strings.HasPrefix(text, "Too many questions are open") {
			t.Fatalf("got %s", text)
		}
	})
}

func TestAskerIsNamed(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		for want, a := range map[string]*agent{
			"":                        h.agent(session.Ours, ""),
			"agent builder over MCP":  h.agent(session.Agent, "builder"),
			"agent helper over MCP":   h.agent(session.Ours, "helper"),
			"terminal on workstation": h.agent(session.Terminal, "workstation"),
		} {
			c := a.call("ask_user", lone("Which?"))
			is(t, "asker", a.one().Asker, want)
			is(t, "source", a.one().Source, pending.SourceMCP)
			c.cut()
		}
	})
}

func TestQuestionsDuringAnOutage(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		h.memory.Inject(failOpen)
		a.call("ask_user", lone("Which?")).fails("The question could not be shown to a person because of a technical problem. Nothing was decided. Try again later.")
		h.memory.Inject(nil)
		a.call("ask_user", lone("Which?")).waits()
	})
}

// An answer that comes while its client disconnects was not delivered, although progress was. The call
// may notice either first.
func TestAnswerThatWasNotSentIsNotDelivered(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		delay := func(d time.Duration) {
			h.memory.mu.Lock()
			defer h.memory.mu.Unlock()
			h.memory.tokenDelay = d
		}
		for i := range 20 {
			c := a.call("ask_user", lone("Which? "+number(i)), wantsProgress, patient)
			r := a.one()
			delay(time.Second) // the call looks at its token after 0.9 s
			time.Sleep(time.Second)
			delay(0)
			c.cut()
			a.answer(r, written("q1", "x"))
			time.Sleep(3 * time.Second)
			is(t, "delivery", h.stored(r.RequestID).Delivery, pending.Queued)
		}
	})
}

// A server that stops disconnects its calls, however long that takes, and reports no problem.
func TestServerThatStopsGivesNoResults(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		var log bytes.Buffer
		h.log, h.busy = slog.New(slog.NewTextHandler(&log, nil)), time.Second
		h.restart()
		a := h.agent(session.Ours, "")
		calls := map[string]*calling{"waits": a.call("ask_user", lone("Which?"), patient)}
		r := a.one()
		h.memory.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
			if op == pendingtest.OpAnswerable {
				time.Sleep(time.Second / 2)
			}
			return pendingtest.None
		})
		calls["is about to wait"] = a.call("ask_user", lone("And then?"), patient)
		h.memory.Inject(nil)
		h.close()
		for name, c := range calls {
			<-c.done
			if c.err == nil || c.result != nil {
				t.Errorf("%s: got %v, status %d, result %+v", name, c.err, c.status, c.result)
			}
		}
		if log.Len() > 0 {
			t.Errorf("logged: %s", &log)
		}
		is(t, "status", h.stored(r.RequestID).Status, pending.Open)
		h.open()
	})
}

// A client that keeps its connection and reads nothing holds neither a question
// nor the server.
func TestClientThatDoesNotRead(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		conn := h.dial()
		defer conn.Close()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Which?"},"_meta":{"progressToken":1}}}`
		_, err := fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", a.secret, len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		r := a.one()
		time.Sleep(time.Minute)
		synctest.Wait()
		is(t, "status", h.stored(r.RequestID).Status, pending.Withdrawn)
	})
}

// F55: a session that dies while it asks leaves no form behind, whichever of the
// two was first.
func TestTokenThatEndsTakesItsQuestionAlong(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		for _, after := range []time.Duration{0, time.Hour} {
			a := h.agent(session.Ours, "")
			c := a.call("ask_user", lone("Which?"), patient)
			r := a.one()
			time.Sleep(after)
			if err := h.directory.RevokeAgents(t.Context(), a.sessionID); err != nil {
				t.Fatal(err)
			}
			c.fails("The session of the agent has ended, and its token with it.")
			synctest.Wait()
			now := h.stored(r.RequestID)
			is(t, "status", now.Status, pending.Withdrawn)
			is(t, "reason", now.Resolution.Reason, "The session of the agent has ended, and its token with it.")
		}
	})
}

// A call that waits ends within a second of its token, through whichever edge it
// came, and hears no answer that is given after that.
func TestTokenThatEndsIsNoticedWithinASecond(t *testing.T) {
	for name, ask := range map[string]func(h *harness) (sessionID string, done <-chan struct{}, ended func()){
		"ask_user": func(h *harness) (string, <-chan struct{}, func()) {
			a := h.agent(session.Ours, "")
			c := a.call("ask_user", lone("Which?"), patient)
			return a.sessionID, c.done, func() { c.fails("The session of the agent has ended, and its token with it.") }
		},
		"ask_user_wait": func(h *harness) (string, <-chan struct{}, func()) {
			a := h.agent(session.Agent, "builder")
			ticket := a.call("ask_question", lone("Which?")).ticket()
			c := a.call("ask_user_wait", fmt.Sprintf(`{"ticket":%q}`, ticket), patient)
			return a.sessionID, c.done, func() { c.fails("The session of the agent has ended, and its token with it.") }
		},
		"the hook of a terminal": func(h *harness) (string, <-chan struct{}, func()) {
			term := h.terminal()
			question := bash("k1")
			question.Wait = 3600
			e := term.asks(question)
			return term.sessionID, e.done, func() { e.gets(401, nil) }
		},
		"the poll of a relay": func(h *harness) (string, <-chan struct{}, func()) {
			s := h.stream()
			s.relays(map[string]any{"question": "Which?"})
			e := s.polls("&wait=50")
			return s.sessionID, e.done, func() { e.gets(403, nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				sessionID, done, ended := ask(h)
				time.Sleep(10300 * time.Millisecond)
				select {
				case <-done:
					t.Fatal("it did not wait")
				default:
				}
				if err := h.directory.RevokeAgents(t.Context(), sessionID); err != nil {
					t.Fatal(err)
				}
				at := time.Now() // of the bubble
				<-done
				if took := time.Since(at); took > time.Second {
					t.Errorf("it waited for another %s", took)
				}
				ended()
			})
		})
	}
}

// An answer that nobody heard is for the run that asked, not for that of tomorrow.
func TestUnheardAnswerIsNotKeptForEver(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Agent, "script")
		for _, age := range []time.Duration{mcpapi.AnswerKept - time.Minute, mcpapi.AnswerKept + time.Minute} {
			c := a.call("ask_user", lone("Continue?"), withID(2))
			r := a.one()
			c.cut()
			synctest.Wait()
			a.answer(r, written("q1", "yes"))
			time.Sleep(age)
			again := a.call("ask_user", lone("Continue?"), withID(2))
			if age < mcpapi.AnswerKept {
				again.says("User selected: yes")
				synctest.Wait()
				continue
			}
			again.waits()
		}
	})
}
