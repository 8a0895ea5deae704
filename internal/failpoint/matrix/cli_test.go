//go:build failpoints

package matrix_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// The CLI is claudetest's with a memory: what it asked, heard and finished is
// in one file for each session, so that a CLI that is resumed goes on with the
// turn that was cut off, as the real one does. It counts what it hears.
//
// A request is named by the command it asks for. The first word of the name says
// what else is to happen:
//
//	die     the CLI exits while it asks, the first time
//	forget  as die, and it forgets the conversation
//	drop    as die, and it does not ask again
//	half    as die, and half a line is the last that it prints
//	stall   it does not read for a while after it asked
//	ignore  it reads the answer and does nothing
//	twice   it asks with the same line twice
//	swap    it asks for something else under the same id at once
//	many    each of those that are asked at once gets a number behind its name
const asCLI = "SAYSO_MATRIX_CLI" // folder of the memories

// dieAfter is how long a CLI that is to die asks.
const dieAfter = 150 * time.Millisecond

// stallFor is how long a CLI that stalls reads nothing.
const stallFor = 500 * time.Millisecond

// memory is one line of it.
type memory struct {
	Kind      string          `json:"kind"` // start, read, user, asked, cancelled, heard, eof, result or forgot
	PID       int             `json:"pid"`
	RequestID string          `json:"request_id,omitempty"`
	Name      string          `json:"name,omitempty"` // of asked
	Line      json.RawMessage `json:"line,omitempty"`
	Known     bool            `json:"known,omitempty"` // of heard: it was open
	Args      []string        `json:"args,omitempty"`
}

func readMemory(path string) ([]memory, error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var all []memory
	for line := range bytes.Lines(text) {
		var m memory
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// installCLI makes an executable that plays the CLI and remembers in folder.
func installCLI(folder string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "claude")
	text := "#!/bin/sh\n" + asCLI + "='" + folder + "' exec '" + self + "' \"$@\"\n"
	return path, os.WriteFile(path, []byte(text), 0o700)
}

// playCLI is the program; it returns its exit status.
func playCLI(folder string, args []string) int {
	c := &claudetest.CLI{}
	resumed := false
	for _, arg := range args {
		flag, value, _ := strings.Cut(arg, "=")
		switch flag {
		case "--version":
			fmt.Println(claudetest.Version + " (Claude Code)")
			return 0
		case "auth":
			return 0 // signed in
		case "--session-id", "--resume":
			c.SessionID, resumed = value, flag == "--resume"
		}
	}
	file := filepath.Join(folder, c.SessionID+".jsonl")
	known, err := readMemory(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s := &streams{in: bufio.NewReaderSize(os.Stdin, 64<<10), memory: out, names: map[string]string{}}
	for _, m := range known {
		switch m.Kind {
		case "user":
			s.turn, s.over = m.Line, false
		case "result":
			s.over = true
		case "forgot":
			s.turn = nil
		case "asked":
			s.asked = append(s.asked, m.Name)
			s.names[m.RequestID] = m.Name
		case "heard", "cancelled":
			if m.Kind == "cancelled" || m.Known {
				s.done = append(s.done, s.names[m.RequestID])
			}
		}
	}
	s.note(memory{Kind: "start", Args: args})
	if resumed && s.turn == nil {
		const why = "No conversation found with session ID: "
		fmt.Printf(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["%s%s"],"num_turns":0,"session_id":"%[2]s"}`+"\n", why, c.SessionID)
		fmt.Fprintln(os.Stderr, why+c.SessionID)
		return 1
	}
	if !resumed && s.turn != nil {
		s.note(memory{Kind: "forgot"})
	}
	if s.goesOn = resumed && !s.over && os.Getenv("CLAUDE_CODE_RESUME_INTERRUPTED_TURN") == "1"; !s.goesOn {
		s.over = true
	}
	c.Transport = s
	c.OnRecord = func(r claudetest.Record) {
		switch r.Kind {
		case "control_response":
			s.note(memory{Kind: "heard", RequestID: r.RequestID, Known: r.Known, Line: r.Line})
		case "user":
			if !s.wasInjected(r.Line) {
				s.note(memory{Kind: "user", Line: r.Line})
			}
		case "eof":
			s.note(memory{Kind: "eof"})
		}
	}
	return c.Run(context.Background())
}

// streams are the standard ones, with the memory beside them.
type streams struct {
	in     *bufio.Reader
	memory *os.File
	turn   json.RawMessage // the message of the last turn
	over   bool            // that turn
	asked  []string        // names, by any process of the session
	done   []string        // names that were heard or cancelled
	goesOn bool            // with the turn, once it was greeted

	mu       sync.Mutex
	next     []byte // a line that is read before those of in
	injected []byte
	mine     []string // numbered names
	stalls   time.Time
	names    map[string]string // by request id
}

// note remembers, before anybody else can know.
func (s *streams) note(m memory) {
	m.PID = os.Getpid()
	line, err := json.Marshal(m)
	if err == nil {
		_, err = s.memory.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

func (s *streams) wasInjected(line []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.injected != nil && bytes.Equal(bytes.TrimSpace(line), s.injected)
}

func (s *streams) Recv() ([]byte, error) {
	s.mu.Lock()
	next := s.next
	s.next = nil
	s.mu.Unlock()
	if next != nil {
		return next, nil
	}
	s.mu.Lock()
	pause := time.Until(s.stalls)
	s.mu.Unlock()
	time.Sleep(pause)
	line, err := s.in.ReadBytes('\n')
	if len(bytes.TrimSpace(line)) == 0 {
		if err == nil {
			return s.Recv()
		}
		return nil, io.EOF
	}
	s.note(memory{Kind: "read"})
	if s.ignores(line) {
		return s.Recv()
	}
	if s.goesOn && bytes.Contains(line, []byte(`"initialize"`)) {
		s.goesOn = false
		rest, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{
			"role": "user", "content": claudetest.Prompt(s.rest()...),
		}})
		if err != nil {
			panic(err)
		}
		s.mu.Lock()
		s.next, s.injected = rest, rest
		s.mu.Unlock()
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// ignores reports whether a line is an answer that is to be ignored, and remembers
// that it was read.
func (s *streams) ignores(line []byte) bool {
	var m struct {
		Type     string `json:"type"`
		Response struct {
			RequestID string `json:"request_id"`
		} `json:"response"`
	}
	_ = json.Unmarshal(line, &m) // what does not fit is of no interest
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Type != "control_response" || first(s.names[m.Response.RequestID]) != "ignore" {
		return false
	}
	s.note(memory{Kind: "heard", RequestID: m.Response.RequestID, Known: true, Line: bytes.TrimSpace(line)})
	return true
}

// stepsOf reads the script in a message.
func stepsOf(line []byte) ([]claudetest.Step, error) {
	var m struct {
		Message struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, err
	}
	var prompt string
	if json.Unmarshal(m.Message.Content, &prompt) != nil {
		var blocks []struct{ Text string }
		if err := json.Unmarshal(m.Message.Content, &blocks); err != nil {
			return nil, err
		}
		prompt = blocks[0].Text
	}
	_, prompt, _ = strings.Cut(prompt, "```claudetest\n")
	prompt, _, _ = strings.Cut(prompt, "```")
	script, err := claudetest.ParseScript(prompt)
	return script.Turn, err
}

// rest is what is left to do of the turn that was cut off.
func (s *streams) rest() []claudetest.Step {
	turn, err := stepsOf(s.turn)
	if err != nil {
		panic(err)
	}
	rest := []claudetest.Step{{Text: "I go on."}}
	for _, step := range turn {
		if step.Ask == nil {
			rest = append(rest, step)
			continue
		}
		name := nameOf(step.Ask)
		left := 0
		for _, one := range namesOf([]claudetest.Step{step}) {
			if !slices.Contains(s.done, one) {
				left++
			}
		}
		if left <= 0 || first(name) == "drop" && count(s.asked, name) > 0 {
			continue
		}
		step.Count = left
		rest = append(rest, step)
	}
	return rest
}

func count(all []string, name string) int {
	n := 0
	for _, one := range all {
		if one == name {
			n++
		}
	}
	return n
}

func first(name string) string {
	word, _, _ := strings.Cut(name, " ")
	return word
}

// nameOf is the name of a request, from its members or from a form.
func nameOf(request map[string]any) string {
	input, _ := request["input"].(map[string]any)
	return nameIn(input)
}

func nameIn(input map[string]any) string {
	if command, ok := input["command"].(string); ok {
		return command
	}
	questions, _ := input["questions"].([]any)
	if len(questions) == 0 {
		return ""
	}
	question, _ := questions[0].(map[string]any)
	text, _ := question["question"].(string)
	return text
}

// number gives a request the lowest number that is not done and that this process
// has not asked for. It is called with the lock held.
func (s *streams) number(name string, line []byte) (string, []byte) {
	for n := 1; ; n++ {
		numbered := fmt.Sprintf("%s %d", name, n)
		if slices.Contains(s.done, numbered) || slices.Contains(s.mine, numbered) {
			continue
		}
		s.mine = append(s.mine, numbered)
		return numbered, bytes.Replace(line, []byte(`"command":"`+name+`"`), []byte(`"command":"`+numbered+`"`), 1)
	}
}

// relist gives the requests that the CLI lists as open the numbers that they were
// asked with. It is called with the lock held.
func (s *streams) relist(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"pending_permission_requests":[{`)) {
		return line
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	response, _ := m["response"].(map[string]any)
	list, _ := response["pending_permission_requests"].([]any)
	for _, one := range list {
		envelope, _ := one.(map[string]any)
		id, _ := envelope["request_id"].(string)
		request, _ := envelope["request"].(map[string]any)
		if input, _ := request["input"].(map[string]any); input["command"] != nil {
			input["command"] = s.names[id]
		}
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return line
}

func (s *streams) Send(line []byte) error {
	var m struct {
		Type      string         `json:"type"`
		RequestID string         `json:"request_id"`
		Request   map[string]any `json:"request"`
	}
	_ = json.Unmarshal(line, &m) // what does not fit is of no interest
	var dies bool
	s.mu.Lock()
	switch m.Type {
	case "control_request":
		name := nameOf(m.Request)
		if first(name) == "many" {
			name, line = s.number(name, line)
		}
		known := count(s.asked, name) > 0
		s.asked = append(s.asked, name)
		s.names[m.RequestID] = name
		s.note(memory{Kind: "asked", RequestID: m.RequestID, Name: name})
		switch first(name) {
		case "die", "half", "forget", "drop":
			dies = !known
		case "stall":
			s.stalls = time.Now().Add(stallFor)
		case "twice":
			line = slices.Concat(line, []byte("\n"), line)
		case "swap":
			other := bytes.ReplaceAll(line, []byte(`"`+name+`"`), []byte(`"something else"`))
			line = slices.Concat(line, []byte("\n"), other)
		}
	case "control_response":
		line = s.relist(line)
	case "control_cancel_request":
		s.note(memory{Kind: "cancelled", RequestID: m.RequestID})
	case "result":
		s.note(memory{Kind: "result"})
	}
	_, err := os.Stdout.Write(append(line[:len(line):len(line)], '\n'))
	s.mu.Unlock()
	if dies {
		time.AfterFunc(dieAfter, func() {
			switch first(nameOf(m.Request)) {
			case "forget":
				s.note(memory{Kind: "forgot"})
			case "half":
				_, _ = os.Stdout.WriteString(`{"type":"assistant","message":{"role":"assis`) // it dies
			}
			os.Exit(1)
		})
	}
	return err
}

func (s *streams) Close() error {
	os.Exit(0) // a read of stdin cannot be called off
	return nil
}
