package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// scenario is a situation into which a CLI brings a host.
type scenario struct {
	name string
	// does describes what happens and what the host must do.
	does string
	// needs lists the actions and events that the host must support; otherwise the scenario is skipped.
	needs []string
	long  bool // takes a minute or much memory, and runs only with -long
	play  func(r *run, c *cli) error
}

// Sizes and times.
const (
	longLine     = 20 << 20 // bytes; about the size of a PDF of 15 MB in base64
	shortWait    = 500 * time.Millisecond
	longWait     = 90 * time.Second // longer than the common time limit of 60 s
	manyRequests = 10
)

// scenarios run in this order, each in its own session. Before a scenario is played, the host has
// started the session, and the CLI has begun its first turn.
var scenarios = []scenario{
	{"one", "One request is allowed, another denied with a reason.", nil, false, func(r *run, c *cli) error {
		return r.each(c, 2)
	}},
	{"edit", "The person allows another input: that one runs.", []string{"input"}, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		return r.decide(q, decision{allow: true, input: object{"command": "echo edited " + q.mark, "description": "for the test"}})
	}},
	{"odd-input", "The input has empty and nested values, names that JavaScript treats specially, separators and control characters. It runs unchanged.", nil, false, func(r *run, c *cli) error {
		q := r.ask(c, object{"input": object{
			"": "", "null": nil, "list": []any{[]any{}, object{}, nil, false, 0, -1.5, "x"}, "constructor": object{"prototype": "x"}, "toString": 1,
			"text": "\u2028\u2029\u0000\u001b[31m\r\n\t\"\\/ÿ\U0001F600 </script>", "deep": nested(50),
		}})
		if err := r.shown(q); err != nil {
			return err
		}
		return r.decide(q, decision{allow: true})
	}},
	{"parallel", "Ten requests are open at once. They are answered in the opposite order, every other one with a deny: each gets its own answer.", nil, false, func(r *run, c *cli) error {
		var all []*request
		for range manyRequests {
			all = append(all, r.ask(c, nil))
		}
		if err := r.shown(all...); err != nil {
			return err
		}
		slices.Reverse(all)
		return r.answerAll(all)
	}},
	{"together", "Ten requests are open at once, and the person answers all before any answer has arrived.", nil, false, func(r *run, c *cli) error {
		var all []*request
		for range manyRequests {
			all = append(all, r.ask(c, nil))
		}
		if err := r.shown(all...); err != nil {
			return err
		}
		for i, q := range all {
			if err := r.answerAsPerson(q, decisionOf(i, q)); err != nil {
				return err
			}
		}
		return r.answeredAll(all)
	}},
	{"subagents", "Two subagents and the main thread ask at once.", nil, false, func(r *run, c *cli) error {
		all := []*request{r.ask(c, object{"agent_id": "a1"}), r.ask(c, object{"agent_id": "a2"}), r.ask(c, nil)}
		if err := r.shown(all...); err != nil {
			return err
		}
		return r.answerAll(all)
	}},
	{"no-answer", "Nobody answers for half a second (with -long, for 90 s). The host waits: it sends nothing and keeps stdin open. Then the answer counts.", nil, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		wait := shortWait
		if r.long {
			wait = longWait
		}
		if r.until(wait, func() bool { return len(q.answers) > 0 || r.inputEOF[c] }) {
			return nil // judged below
		}
		return r.decide(q, decision{allow: true})
	}},
	{"withdraw", "A request is withdrawn while it is shown: it disappears, and the CLI gets nothing for it, even if the person answers. The next request is asked as usual.", nil, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		r.withdraw(q)
		r.awaitHidden(q, "its withdrawal")
		if err := r.answerAsPerson(q, decision{allow: true}); err != nil {
			return err
		}
		return r.fence(c)
	}},
	{"withdraw-one", "Of three open requests the second is withdrawn: the others stay.", nil, false, func(r *run, c *cli) error {
		all := []*request{r.ask(c, nil), r.ask(c, nil), r.ask(c, nil)}
		if err := r.shown(all...); err != nil {
			return err
		}
		r.withdraw(all[1])
		r.awaitHidden(all[1], "its withdrawal")
		return r.answerAll([]*request{all[2], all[0]})
	}},
	{"withdraw-at-once", "A request is withdrawn in the same write that asks. The host does not answer it.", nil, false, func(r *run, c *cli) error {
		q := r.newRequest(c, nil)
		q.withdrawn = true
		r.expect(q)
		ask, cancel := lineOf(q.body), lineOf(object{"type": "control_cancel_request", "request_id": q.id})
		c.write(append(ask, cancel...))
		if err := r.fence(c); err != nil {
			return err
		}
		r.awaitHidden(q, "its withdrawal")
		return nil
	}},
	{"withdraw-race", "Requests are withdrawn just when the person answers. Whichever wins, there is one outcome each.", nil, false, func(r *run, c *cli) error {
		for range 3 {
			q := r.ask(c, nil)
			if err := r.shown(q); err != nil {
				return err
			}
			if err := r.answerAsPerson(q, decision{allow: true}); err != nil {
				return err
			}
			r.mu.Lock()
			q.raced = true
			r.mu.Unlock()
			r.withdraw(q)
			r.awaitHidden(q, "its withdrawal")
		}
		return r.fence(c)
	}},
	{"withdraw-unknown", "The CLI withdraws what it never asked, and what was answered. Nothing happens.", nil, false, func(r *run, c *cli) error {
		c.send(object{"type": "control_cancel_request", "request_id": "never-asked"})
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		if err := r.decide(q, decision{allow: true}); err != nil {
			return err
		}
		c.send(object{"type": "control_cancel_request", "request_id": q.id})
		return r.fence(c)
	}},
	{"repeat", "A request is sent twice with the same id while it is open. It is shown once and answered once.", nil, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		c.send(q.body)
		if err := r.fence(c); err != nil {
			return err
		}
		if err := r.decide(q, decision{allow: true}); err != nil {
			return err
		}
		return r.fence(c)
	}},
	{"reused-id", "After an answer, the CLI asks something else under the same id. The old answer does not allow it.", nil, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		if err := r.decide(q, decision{allow: true}); err != nil {
			return err
		}
		next := r.newRequest(c, nil)
		next.id = q.id
		next.body["request_id"] = q.id
		r.expect(next)
		c.send(next.body)
		return r.fence(c)
	}},
	{"unknown-fields", "Requests and messages have fields, types and subtypes that nobody knows, and stdout has lines that are not JSON. The host goes on.", nil, false, func(r *run, c *cli) error {
		c.write([]byte("[SandboxDebug] not JSON\n\n"))
		c.send(object{"type": "of_tomorrow", "data": object{"x": 1}})
		c.send(object{"type": "system", "subtype": "of_tomorrow", "data": []any{1}})
		c.send(object{"type": "assistant", "parent_tool_use_id": nil, "of_tomorrow": true, "message": object{
			"id": "msg_x", "type": "message", "role": "assistant", "model": "m", "content": []any{object{"type": "of_tomorrow", "x": 1}}, "stop_reason": nil, "usage": object{},
		}})
		q := r.ask(c, object{"of_tomorrow": object{"x": []any{1}}, "decision_reason": "\u001b[31mred", "decision_reason_type": "of_tomorrow", "permission_suggestions": []any{object{"type": "of_tomorrow", "destination": "moon"}}})
		if err := r.shown(q); err != nil {
			return err
		}
		return r.decide(q, decision{allow: true})
	}},
	{"unknown-request", "The CLI asks with a subtype that nobody knows. The host refuses: silence would make the CLI wait for ever, and success could allow something.", nil, false, func(r *run, c *cli) error {
		id := uuid.NewString()
		r.mu.Lock()
		r.refused[id] = ""
		r.mu.Unlock()
		c.send(object{"type": "control_request", "request_id": id, "request": object{"subtype": "of_tomorrow", "tool_name": "Bash", "input": object{}}})
		if err := r.fence(c); err != nil {
			return err
		}
		if !r.until(r.patience, func() bool { return r.refused[id] != "" }) {
			r.failed(hang, "a request of an unknown subtype gets no answer, and the CLI waits for ever")
		} else if r.refused[id] != "error" {
			r.find(unasked, "a request of an unknown subtype gets %s", r.refused[id])
		}
		return nil
	}},
	{"pieces", "Lines arrive byte by byte, cut within characters, and several in one write.", nil, false, func(r *run, c *cli) error {
		q := r.newRequest(c, object{"input": object{"text": strings.Repeat("ü€\U0001F600", 20)}})
		r.expect(q)
		for _, b := range lineOf(q.body) {
			c.conn.Write([]byte{b}) // traced below, as one line
		}
		r.trace.line("cli", bytes.TrimSpace(lineOf(q.body)))
		a, b := r.newRequest(c, nil), r.newRequest(c, nil)
		r.expect(a)
		r.expect(b)
		c.write(append(lineOf(a.body), lineOf(b.body)...))
		all := []*request{q, a, b}
		if err := r.shown(all...); err != nil {
			return err
		}
		return r.answerAll(all)
	}},
	{"interrupt", "The person interrupts while two requests are open: the CLI gets the interrupt and withdraws both, and the session goes on.", []string{"interrupt"}, false, func(r *run, c *cli) error {
		all := []*request{r.ask(c, nil), r.ask(c, nil)}
		if err := r.shown(all...); err != nil {
			return err
		}
		if err := r.act(action{Do: "interrupt", Dir: r.dir}); err != nil {
			return err
		}
		if !r.until(r.patience, func() bool { return r.stops[c] > 0 }) {
			r.failed(hang, "the interrupt of the person does not reach the CLI")
			return errScenario
		}
		for _, q := range all {
			r.awaitHidden(q, "an interrupt")
			c.toolResult(q.toolUseID, "interrupted", true)
		}
		c.send(object{"type": "user", "parent_tool_use_id": nil, "message": object{"role": "user", "content": []any{object{"type": "text", "text": "[Request interrupted by user for tool use]"}}}})
		c.result("error_during_execution")
		if err := r.act(action{Do: "prompt", Dir: r.dir, Text: "again"}); err != nil {
			return err
		}
		if err := r.turn(c); err != nil {
			return err
		}
		return r.fence(c)
	}},
	{"dies", "The CLI is killed while two requests are open: they are no longer shown as open, and another session works.", nil, false, func(r *run, c *cli) error {
		all := []*request{r.ask(c, nil), r.ask(c, nil)}
		if err := r.shown(all...); err != nil {
			return err
		}
		if err := r.killed(c); err != nil {
			return err
		}
		for _, q := range all {
			r.awaitHidden(q, "the end of its CLI")
		}
		return r.checkStillWorks(c)
	}},
	{"dies-in-a-line", "The CLI is killed while it writes a line: its request is no longer shown, and another session works.", nil, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		c.write([]byte(`{"type":"control_request","request_id":"half","request":{"subtype":"can_use_to`))
		if err := r.killed(c); err != nil {
			return err
		}
		r.awaitHidden(q, "the end of its CLI")
		return r.checkStillWorks(c)
	}},
	{"comes-back", "The CLI is killed while a request is open; the person resumes the session. The new CLI asks something else, which nobody has answered.", []string{"resume"}, false, func(r *run, c *cli) error {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		if err := r.killed(c); err != nil {
			return err
		}
		r.awaitHidden(q, "the end of its CLI")
		if !r.until(r.patience, func() bool { return r.ended > 0 || r.cannot["ended"] }) {
			r.failed(hang, "the host does not notice that its CLI has ended")
		}
		if err := r.act(action{Do: "resume", Dir: r.dir, Text: "go on"}); err != nil {
			return err
		}
		again, err := r.connected("the CLI again")
		if err != nil {
			return err
		}
		if !again.resumed() {
			r.find(lost, "the session is not continued: the CLI was started with %q", again.hello.Args)
		}
		if again.hello.GoesOn {
			again.begin()
		} else if err := r.turn(again); err != nil {
			return err
		}
		return r.fence(again)
	}},
	{"host-restarts", "The host is killed while two requests are open and its CLI lives on. When it has started again, both are shown again, and each gets its own answer once.", []string{"restart"}, false, func(r *run, c *cli) error {
		all := []*request{r.ask(c, nil), r.ask(c, nil)}
		if err := r.shown(all...); err != nil {
			return err
		}
		r.mu.Lock()
		for _, q := range all {
			q.shown = 0
		}
		r.mu.Unlock()
		if err := r.act(action{Do: "restart"}); err != nil {
			return err
		}
		if err := r.shown(all...); err != nil {
			return err
		}
		if err := r.answerAll(all); err != nil {
			return err
		}
		return r.fence(c)
	}},
	{"long-line", "The CLI says a line of 20 MB, then asks.", nil, true, func(r *run, c *cli) error {
		c.toolResult("toolu_long", strings.Repeat("0123456789abcdef", longLine/16), false)
		return r.fence(c)
	}},
	{"long-input", "The input of a request has 20 MB. It comes back unchanged.", nil, true, func(r *run, c *cli) error {
		q := r.ask(c, object{"input": object{"content": strings.Repeat("0123456789abcdef", longLine/16)}})
		if err := r.shown(q); err != nil {
			return err
		}
		return r.decide(q, decision{allow: true})
	}},
	{"flood", "A hundred requests are open at once.", nil, true, func(r *run, c *cli) error {
		var all []*request
		for range 10 * manyRequests {
			all = append(all, r.ask(c, nil))
		}
		if err := r.shown(all...); err != nil {
			return err
		}
		slices.Reverse(all)
		return r.answerAll(all)
	}},
}

// nested returns depth objects, one within the other.
func nested(depth int) any {
	var v any = "bottom"
	for range depth {
		v = object{"x": v}
	}
	return v
}

func lineOf(m object) []byte {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // scenarios use only values that JSON can represent
	}
	return append(line, '\n')
}

// decisionOf allows every other request, and denies the others, each with its own reason.
func decisionOf(i int, q *request) decision {
	if i%2 == 0 {
		return decision{allow: true}
	}
	return decision{message: "reason-of-" + q.mark}
}

// each sends n requests, each after the answer to the previous one.
func (r *run) each(c *cli, n int) error {
	for i := range n {
		q := r.ask(c, nil)
		if err := r.shown(q); err != nil {
			return err
		}
		if err := r.decide(q, decisionOf(i, q)); err != nil {
			return err
		}
	}
	return nil
}

// answerAll answers requests one after the other, and waits for each answer.
func (r *run) answerAll(all []*request) error {
	for i, q := range all {
		if err := r.decide(q, decisionOf(i, q)); err != nil {
			return err
		}
	}
	return nil
}

// answeredAll waits for the answers to requests.
func (r *run) answeredAll(all []*request) error {
	for _, q := range all {
		if !r.until(r.patience, func() bool { return len(q.answers) > 0 }) {
			r.failed(lost, "the person has answered %s, and the CLI gets nothing", q.mark)
			return errScenario
		}
	}
	return nil
}

// killed kills a CLI. Its requests can no longer be answered.
func (r *run) killed(c *cli) error {
	r.mu.Lock()
	for _, q := range r.requests {
		q.dead = q.dead || q.on == c
	}
	r.mu.Unlock()
	if err := c.die(); err != nil {
		return fmt.Errorf("the kit: %w", err)
	}
	return nil
}

// checkStillWorks checks that the host still works after the end of a CLI, in another session.
func (r *run) checkStillWorks(dead *cli) error {
	if !r.until(r.patience, func() bool { return r.inputEOF[dead] }) {
		return errors.New("the CLI was killed and has not ended")
	}
	dir := r.dir + "-again"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := r.act(action{Do: "prompt", Dir: dir, Text: "go"}); err != nil {
		return err
	}
	c, err := r.connected("the CLI of another session")
	if err != nil {
		return err
	}
	if err := r.turn(c); err != nil {
		return err
	}
	if err := r.fence(c); err != nil {
		return err
	}
	r.finish(c)
	r.mu.Lock()
	r.finished = true
	r.mu.Unlock()
	return r.act(action{Do: "end", Dir: dir})
}
