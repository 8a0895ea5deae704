package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// kind is a kind of finding.
type kind string

// The kinds of findings, worst first.
const (
	unasked   kind = "allowed without an answer"
	wrong     kind = "answer to the wrong request"
	changed   kind = "input changed"
	lost      kind = "answer lost"
	notShown  kind = "not shown"
	doubled   kind = "doubled"
	afterEnd  kind = "answered after the withdrawal"
	stillOpen kind = "shown after the withdrawal"
	hang      kind = "hang"
	crashed   kind = "host failed"
	invalid   kind = "line that the CLI does not accept"
	advice    kind = "advice" // does not fail a scenario
)

// finding is a fault of a host.
type finding struct {
	Kind   kind   `json:"kind"`
	Detail string `json:"detail"`
}

// decision is the decision of the person about a request.
type decision struct {
	allow   bool
	input   any // the input to run instead, or nil
	message string
}

// request is a request of a scenario.
type request struct {
	id, toolUseID string
	mark          string // part of the input that identifies the request
	input         any
	on            *cli
	body          object

	// Protected by run.mu:
	key       string    // assigned by the driver; "" until the request is shown
	shown     int       // how often it was shown
	gone      bool      // the host no longer shows it
	decided   *decision // by the person
	withdrawn bool
	raced     bool // the person answered just before the withdrawal
	dead      bool // its CLI has exited
	answers   []answer
}

// answer is an answer of the host.
type answer struct {
	line      string
	withdrawn bool // arrived after the withdrawal
	undecided bool // arrived before the person decided
}

// defaultPatience bounds how long a host may take for each step. It is long because the machine may be
// busy, and only a host that fails uses all of it.
const defaultPatience = 30 * time.Second

// errScenario ends a scenario that cannot continue. A recorded finding explains why.
var errScenario = errors.New("the scenario cannot go on")

// run is one scenario with one host.
type run struct {
	driver   driver
	dir      string
	trace    trace
	long     bool
	patience time.Duration
	cannot   map[string]bool

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced by every change
	arrived   []*cli        // started by the host, but not yet used by the scenario
	requests  []*request
	byID      map[string]*request
	byKey     map[string]*request
	waiting   []shownRequest // shown with a mark that belongs to no known request yet
	findings  []finding
	inputEOF  map[*cli]bool
	stops     map[*cli]int      // number of interrupts
	finished  bool              // the kit ends the session, so an end is no longer a fault
	ended     int               // how often the host reported that its CLI has exited
	refused   map[string]string // subtypes of the host's answers to requests of unknown subtypes, by request id
	driverErr error
}

type shownRequest struct {
	key   string
	input json.RawMessage
}

// find records a finding.
func (r *run) find(k kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findLocked(k, format, args...)
}

func (r *run) findLocked(k kind, format string, args ...any) {
	f := finding{k, fmt.Sprintf(format, args...)}
	if !slices.Contains(r.findings, f) {
		r.findings = append(r.findings, f)
		r.trace.note("finding: %s: %s", f.Kind, f.Detail)
	}
	r.notifyLocked()
}

func (r *run) notifyLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// until waits until holds, which is called with the lock held, returns true, and reports whether it
// has. It gives up after limit, or when the host has failed.
func (r *run) until(limit time.Duration, holds func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		r.mu.Lock()
		ok, changed, failed := holds(), r.changed, r.driverErr
		r.mu.Unlock()
		if ok || failed != nil {
			return ok
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// answered records a control_response of the host.
func (r *run) answered(c *cli, body json.RawMessage) {
	var m struct {
		RequestID string `json:"request_id"`
		Subtype   string `json:"subtype"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		r.find(invalid, "a control_response without an object in response: %.200s", body)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.notifyLocked()
	q := r.byID[m.RequestID]
	if q == nil {
		if _, ok := r.refused[m.RequestID]; ok {
			r.refused[m.RequestID] = m.Subtype
			return
		}
		r.findLocked(wrong, "an answer to %q, which was never asked", m.RequestID)
		return
	}
	if q.on != c {
		r.findLocked(wrong, "an answer to %s, which was asked by a process that has ended", q.mark)
	}
	q.answers = append(q.answers, answer{line: string(body), withdrawn: q.withdrawn, undecided: q.decided == nil})
}

// inputEnded records that the host has closed the input of a CLI.
func (r *run) inputEnded(c *cli, clean bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputEOF[c] = true
	for _, q := range r.requests {
		if q.on == c && !q.dead && !q.withdrawn && len(q.answers) == 0 && clean && !r.finished {
			r.findLocked(lost, "the host has closed the input of the CLI while %s is open, so nobody can answer it", q.mark)
		}
	}
	r.trace.note("the input of the CLI has ended")
	r.notifyLocked()
}

// interrupted withdraws every open request of a CLI, as the real CLI does before it confirms an
// interrupt.
func (r *run) interrupted(c *cli) {
	r.mu.Lock()
	var open []*request
	for _, q := range r.requests {
		if q.on == c && !q.dead && !q.withdrawn && len(q.answers) == 0 {
			open = append(open, q)
		}
	}
	r.stops[c]++
	r.notifyLocked()
	r.mu.Unlock()
	for _, q := range open {
		r.withdraw(q)
	}
}

// openOn lists the open requests of a CLI.
func (r *run) openOn(c *cli) []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []any{}
	for _, q := range r.requests {
		if q.on == c && !q.dead && !q.withdrawn && len(q.answers) == 0 {
			list = append(list, q.body)
		}
	}
	return list
}

// take records an event of the driver.
func (r *run) take(e event) {
	if line, err := json.Marshal(e); err == nil {
		r.trace.line("shown", line)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.notifyLocked()
	switch e.Event {
	case "asked":
		for _, q := range r.requests {
			if q.mark != "" && bytes.Contains(e.Input, []byte(q.mark)) {
				r.showLocked(q, e.Key)
				return
			}
		}
		r.waiting = append(r.waiting, shownRequest{e.Key, e.Input})
	case "withdrawn":
		if q := r.byKey[e.Key]; q != nil {
			q.gone = true
		}
	case "ended":
		r.ended++
	case "failed":
		r.driverErr = fmt.Errorf("driver: %s", e.Text)
		if !r.finished {
			r.findLocked(crashed, "%v", r.driverErr) // even if the host works correctly afterwards
		}
	}
}

func (r *run) showLocked(q *request, key string) {
	q.shown++
	if q.shown > 1 {
		r.findLocked(doubled, "%s is shown %d times", q.mark, q.shown)
	}
	q.key = key
	r.byKey[key] = q
}

// connected waits until the host has started a CLI, and returns it. what describes it for a finding.
func (r *run) connected(what string) (c *cli, err error) {
	if !r.until(r.patience, func() bool { return len(r.arrived) > 0 }) {
		r.failed(hang, "the host has not started %s", what)
		return nil, errScenario
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, r.arrived = r.arrived[0], r.arrived[1:]
	return c, nil
}

// arrive adds a CLI that the host has started.
func (r *run) arrive(c *cli) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived = append(r.arrived, c)
	r.notifyLocked()
}

// start makes the host start a session, and begins the first turn.
func (r *run) start() (*cli, error) {
	if err := r.act(action{Do: "prompt", Dir: r.dir, Text: "go"}); err != nil {
		return nil, err
	}
	c, err := r.connected("the CLI")
	if err != nil {
		return nil, err
	}
	return c, r.turn(c)
}

// turn waits until the host has sent a message of the person, and begins a turn.
func (r *run) turn(c *cli) error {
	if !r.until(r.patience, func() bool { return c.prompts > 0 }) {
		r.failed(hang, "the host has not passed on the message of the person")
		return errScenario
	}
	r.mu.Lock()
	c.prompts--
	r.mu.Unlock()
	c.begin()
	return nil
}

// prompted records that the host has sent a message of the person.
func (r *run) prompted(c *cli) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.prompts++
	r.notifyLocked()
}

// act performs an action of the person.
func (r *run) act(a action) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	r.trace.line("person", line)
	if err := r.driver.do(a); err != nil {
		r.find(crashed, "%s: %v", a.Do, err)
		return errScenario
	}
	return nil
}

// newRequest returns a request without sending it. Its mark is unique and part of its input.
func (r *run) newRequest(c *cli, more object) *request {
	q := &request{id: uuid.NewString(), toolUseID: "toolu_" + uuid.NewString(), mark: "mark-" + uuid.NewString()[:8], on: c}
	input := object{"command": "echo " + q.mark, "description": "for the test"}
	body := object{"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": q.toolUseID, "input": input}
	maps.Copy(input, sub(more, "input"))
	for k, v := range more {
		if k != "input" {
			body[k] = v
		}
	}
	q.input = decodeAgain(input)
	q.body = object{"type": "control_request", "request_id": q.id, "request": body}
	return q
}

func sub(o object, key string) object {
	inner, _ := o[key].(object)
	return inner
}

// decodeAgain encodes a value as JSON and decodes it again.
func decodeAgain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		panic(err)
	}
	return out
}

// expect adds a request to those whose answers are expected.
func (r *run) expect(q *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q)
	r.byID[q.id] = q
	for i, w := range r.waiting {
		if bytes.Contains(w.input, []byte(q.mark)) {
			r.waiting = slices.Delete(r.waiting, i, i+1)
			r.showLocked(q, w.key)
			break
		}
	}
}

// ask sends a tool call of the model, and the request for its approval.
func (r *run) ask(c *cli, more object) *request {
	q := r.newRequest(c, more)
	r.expect(q)
	c.assistant(object{"type": "tool_use", "id": q.toolUseID, "name": "Bash", "input": sub(sub(q.body, "request"), "input")})
	c.send(q.body)
	return q
}

// shown waits until the host shows all requests.
func (r *run) shown(all ...*request) error {
	for _, q := range all {
		if !r.until(r.patience, func() bool { return q.shown > 0 || len(q.answers) > 0 }) {
			r.failed(notShown, "%s was asked and is not shown to the person", q.mark)
			return errScenario
		}
	}
	return nil
}

// failed records a finding, or that the host has failed if it has.
func (r *run) failed(k kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.driverErr != nil {
		r.findLocked(crashed, "%v", r.driverErr)
		return
	}
	r.findLocked(k, format, args...)
}

// decide answers a request as the person, and waits until the CLI has received the answer.
func (r *run) decide(q *request, d decision) error {
	if err := r.answerAsPerson(q, d); err != nil {
		return err
	}
	if !r.until(r.patience, func() bool { return len(q.answers) > 0 || q.withdrawn }) {
		r.failed(lost, "the person has answered %s, and the CLI gets nothing", q.mark)
		return errScenario
	}
	return nil
}

// answerAsPerson answers a request as the person.
func (r *run) answerAsPerson(q *request, d decision) error {
	r.mu.Lock()
	if q.decided == nil {
		q.decided = &d
	}
	key := q.key
	r.mu.Unlock()
	return r.act(action{Do: "answer", Key: key, Allow: d.allow, Input: d.input, Message: d.message})
}

// withdraw withdraws a request as the CLI.
func (r *run) withdraw(q *request) {
	r.mu.Lock()
	q.withdrawn = true
	r.mu.Unlock()
	q.on.send(object{"type": "control_cancel_request", "request_id": q.id})
}

// awaitHidden waits until the host no longer shows a request.
func (r *run) awaitHidden(q *request, why string) {
	if r.cannot["withdrawn"] {
		return
	}
	if !r.until(r.patience, func() bool { return q.gone || q.shown == 0 || q.decided != nil }) {
		r.failed(stillOpen, "%s is still shown after %s", q.mark, why)
	}
}

// finish sends the tool results of all requests of a CLI, and ends its turn.
func (r *run) finish(c *cli) {
	r.mu.Lock()
	requests := slices.Clone(r.requests)
	r.mu.Unlock()
	for _, q := range requests {
		if q.on == c {
			c.toolResult(q.toolUseID, "over", false)
		}
	}
	c.assistant(object{"type": "text", "text": "over"})
	c.result("success")
}

// fence sends one more request and waits for its answer. Everything that the host has sent earlier has
// then arrived, if the host keeps the order.
func (r *run) fence(c *cli) error {
	q := r.ask(c, nil)
	if err := r.shown(q); err != nil {
		return err
	}
	return r.decide(q, decision{allow: true})
}

// judge checks every answer and records the faults.
func (r *run) judge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.requests {
		if len(q.answers) > 1 {
			r.findLocked(doubled, "%s got %d answers", q.mark, len(q.answers))
		}
		for _, a := range q.answers {
			r.judgeLocked(q, a)
		}
	}
}

func (r *run) judgeLocked(q *request, a answer) {
	var m struct {
		Subtype  string `json:"subtype"`
		Error    string `json:"error"`
		Response struct {
			Behavior     string          `json:"behavior"`
			UpdatedInput json.RawMessage `json:"updatedInput"`
			Message      *string         `json:"message"`
			ToolUseID    *string         `json:"toolUseID"`
		} `json:"response"`
	}
	if err := json.Unmarshal([]byte(a.line), &m); err != nil {
		r.findLocked(invalid, "the answer to %s: %v", q.mark, err)
		return
	}
	allowed := m.Subtype == "success" && m.Response.Behavior == "allow"
	switch {
	case a.withdrawn && q.raced: // sent before the host could know of the withdrawal
		return
	case a.withdrawn && allowed && q.decided == nil:
		r.findLocked(unasked, "%s, after its withdrawal", q.mark)
		return
	case a.withdrawn && allowed:
		r.findLocked(afterEnd, "%s is allowed; the CLI ignores it", q.mark)
		return
	case a.withdrawn:
		r.findLocked(advice, "it sends a refusal for requests that were withdrawn, which the CLI ignores")
		return
	}
	if allowed && (q.decided == nil || a.undecided) {
		r.findLocked(unasked, "%s, about which nobody had decided", q.mark)
		return
	}
	if q.decided == nil || a.undecided {
		if !q.dead && !r.finished {
			r.findLocked(lost, "%s was denied before the person decided: %.200s", q.mark, a.line)
		}
		return
	}
	switch d := *q.decided; {
	case m.Subtype == "error":
		if d.allow {
			r.findLocked(lost, "the person allowed %s, and the CLI gets an error: %s", q.mark, m.Error)
		} else {
			r.findLocked(lost, "the person denied %s with a message, and the CLI gets an error: %s", q.mark, m.Error)
		}
	case m.Response.Behavior != "allow" && m.Response.Behavior != "deny":
		r.findLocked(invalid, "the answer to %s has the behavior %q", q.mark, m.Response.Behavior)
	case allowed != d.allow:
		r.findLocked(wrong, "the person decided allow=%v about %s, and the CLI gets %s", d.allow, q.mark, m.Response.Behavior)
	case allowed:
		r.judgeInputLocked(q, d, m.Response.UpdatedInput)
	case m.Response.Message == nil:
		r.findLocked(invalid, "the deny of %s has no message", q.mark)
	case d.message != "" && !r.cannot["message"] && !strings.Contains(*m.Response.Message, d.message):
		k := lost
		if strings.Contains(*m.Response.Message, "reason-") {
			k = wrong
		}
		r.findLocked(k, "the person denied %s with %q, and the CLI gets %q", q.mark, d.message, *m.Response.Message)
	}
	if m.Subtype == "success" && (m.Response.ToolUseID == nil || *m.Response.ToolUseID != q.toolUseID) {
		r.findLocked(advice, "answers have no toolUseID, by which the CLI recognizes repeated ones")
	}
}

func (r *run) judgeInputLocked(q *request, d decision, got json.RawMessage) {
	if got == nil {
		r.findLocked(invalid, "the allow of %s has no updatedInput, without which versions before 2.1.207 fail", q.mark)
		return
	}
	var input any
	dec := json.NewDecoder(bytes.NewReader(got))
	dec.UseNumber()
	if err := dec.Decode(&input); err != nil {
		r.findLocked(invalid, "the allow of %s: %v", q.mark, err)
		return
	}
	want := q.input
	if d.input != nil {
		want = decodeAgain(d.input)
	}
	if reflect.DeepEqual(input, want) {
		return
	}
	for _, other := range r.requests {
		if other != q && bytes.Contains(got, []byte(other.mark)) {
			r.findLocked(wrong, "%s gets the answer to %s", q.mark, other.mark)
			return
		}
	}
	r.findLocked(changed, "%s: the person allowed %.300s, and %.300s would run", q.mark, compact(want), compact(input))
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
