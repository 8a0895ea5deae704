package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sync"
)

// fault is a mistake that a faultyHost makes.
type fault string

const (
	none               fault = "none"
	allowsAtOnce       fault = "allows without asking"
	allowsWhenAlone    fault = "allows what was withdrawn"
	allowsUnknown      fault = "allows requests of unknown subtypes"
	ignoresUnknown     fault = "does not answer requests of unknown subtypes"
	answersNewest      fault = "answers the newest request instead"
	swapsInputs        fault = "runs the input of the newest request"
	oneSlot            fault = "keeps one request only"
	answersTwice       fault = "answers twice"
	loses              fault = "loses answers"
	changesInput       fault = "changes the input"
	dropsInput         fault = "sends no input"
	ignoresEdits       fault = "runs the proposed input"
	dropsMessage       fault = "sends no message"
	ignoresWithdrawals fault = "ignores withdrawals"
	ignoresDeath       fault = "ignores the end of the CLI"
	showsTwice         fault = "shows repeated requests again"
	remembersIDs       fault = "answers reused ids with the old answer"
	closesInput        fault = "closes stdin while it waits"
	panicsOnUnknown    fault = "ends on unknown lines"
	shortLines         fault = "reads lines up to 1 MiB"
	writesTorn         fault = "writes lines that are not JSON"
)

// faultyHost is a small host with one fault.
type faultyHost struct {
	host
	fault fault

	mu       sync.Mutex
	work     sync.WaitGroup
	sessions map[string]*faultySession // by folder
	open     map[string]*faultyRequest // by id, which is also the key
	newest   string
	latest   json.RawMessage // the input of the newest request
	answered map[string]bool
}

type faultySession struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

type faultyRequest struct {
	session *faultySession
	id      string
	input   json.RawMessage
}

func faulty(f fault) starter {
	return func(_ context.Context, h host) (driver, error) {
		d := &faultyHost{host: h, fault: f, sessions: map[string]*faultySession{}, open: map[string]*faultyRequest{}, answered: map[string]bool{}}
		h.events(event{Event: "ready", Host: string(f)})
		return d, nil
	}
}

func (d *faultyHost) do(a action) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[a.Dir]
	switch a.Do {
	case "prompt", "resume":
		if s != nil && a.Do == "prompt" {
			return s.send(object{"type": "user", "message": object{"role": "user", "content": a.Text}})
		}
		return d.begin(a)
	case "interrupt":
		return s.send(object{"type": "control_request", "request_id": "i", "request": object{"subtype": "interrupt"}})
	case "answer":
		d.answer(a)
	case "end":
		if s != nil {
			_ = s.in.Close()
		}
	}
	return nil
}

func (s *faultySession) send(m object) error {
	_, err := s.in.Write(lineOf(m))
	return err
}

// begin starts a CLI. The caller holds the lock.
func (d *faultyHost) begin(a action) error {
	var args []string
	if a.Do == "resume" {
		args = append(args, "--resume=x")
	}
	cmd := exec.Command(d.claude, args...)
	cmd.Dir = a.Dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := &faultySession{cmd, in}
	d.sessions[a.Dir] = s
	d.work.Go(func() {
		d.read(s, out)
		_ = s.in.Close()
		_ = cmd.Wait()
		d.ended(s)
	})
	return s.send(object{"type": "user", "message": object{"role": "user", "content": a.Text}})
}

func (d *faultyHost) read(s *faultySession, out io.Reader) {
	if d.fault == shortLines {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			d.take(s, lines.Bytes())
		}
		_ = s.cmd.Process.Kill()
		return
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		d.take(s, line)
	}
}

func (d *faultyHost) take(s *faultySession, line []byte) {
	var m struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Request   struct {
			Subtype string          `json:"subtype"`
			Input   json.RawMessage `json:"input"`
		} `json:"request"`
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := json.Unmarshal(line, &m)
	if d.fault == panicsOnUnknown && (err != nil || m.Type == "of_tomorrow") {
		d.events(event{Event: "failed", Text: "an unknown line"})
	}
	switch {
	case err != nil:
	case m.Type == "control_cancel_request":
		if d.fault != ignoresWithdrawals {
			d.withdraw(m.RequestID)
		}
	case m.Type == "control_request" && m.Request.Subtype == "can_use_tool":
		d.ask(s, m.RequestID, m.Request.Input)
	case m.Type == "control_request" && d.fault == allowsUnknown:
		_ = s.send(object{"type": "control_response", "response": object{"subtype": "success", "request_id": m.RequestID, "response": object{"behavior": "allow"}}})
	case m.Type == "control_request" && d.fault != ignoresUnknown:
		_ = s.send(object{"type": "control_response", "response": object{"subtype": "error", "request_id": m.RequestID, "error": "unknown"}})
	}
}

func (d *faultyHost) ask(s *faultySession, id string, input json.RawMessage) {
	if d.fault == remembersIDs && d.answered[id] || d.fault == allowsAtOnce {
		_ = s.send(allowed(id, input))
		return
	}
	if _, repeated := d.open[id]; repeated && d.fault != showsTwice {
		return
	}
	if d.fault == oneSlot {
		clear(d.open)
	}
	d.open[id] = &faultyRequest{s, id, input}
	d.newest, d.latest = id, input
	d.events(event{Event: "asked", Key: id, Input: input})
	if d.fault == closesInput {
		_ = s.in.Close()
	}
}

func (d *faultyHost) withdraw(id string) {
	q := d.open[id]
	if q == nil {
		return
	}
	delete(d.open, id)
	d.events(event{Event: "withdrawn", Key: id})
	if d.fault == allowsWhenAlone {
		_ = q.session.send(allowed(id, q.input))
	}
}

func (d *faultyHost) ended(s *faultySession) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == ignoresDeath {
		return
	}
	for id, q := range d.open {
		if q.session == s {
			delete(d.open, id)
			d.events(event{Event: "withdrawn", Key: id})
		}
	}
	d.events(event{Event: "ended"})
}

func allowed(id string, input any) object {
	return object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": object{"behavior": "allow", "updatedInput": input}}}
}

// answer answers a request. The caller holds the lock.
func (d *faultyHost) answer(a action) {
	q := d.open[a.Key]
	if q == nil || d.fault == loses {
		return
	}
	delete(d.open, a.Key)
	d.answered[q.id] = true
	id := q.id
	if d.fault == answersNewest {
		id = d.newest
	}
	var input any = q.input
	if a.Input != nil && d.fault != ignoresEdits {
		input = a.Input
	}
	switch d.fault {
	case changesInput:
		input = object{"command": "rm -rf /"}
	case swapsInputs:
		input = d.latest
	case dropsInput:
		input = nil
	}
	m := allowed(id, input)
	response := sub(sub(m, "response"), "response")
	if input == nil {
		delete(response, "updatedInput")
	}
	if !a.Allow {
		clear(response)
		response["behavior"] = "deny"
		if d.fault != dropsMessage {
			response["message"] = a.Message
		}
	}
	_ = q.session.send(m)
	switch d.fault {
	case answersTwice:
		_ = q.session.send(m)
	case writesTorn:
		_, _ = io.WriteString(q.session.in, "{\"type\":\n")
	}
}

func (d *faultyHost) close() error {
	d.mu.Lock()
	for _, s := range d.sessions {
		_ = s.in.Close()
		if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, io.EOF) {
			continue // it has ended
		}
	}
	d.mu.Unlock()
	d.work.Wait()
	return nil
}
