package claudetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/leak"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// played is a scripted CLI whose host the test plays by hand.
type played struct {
	t       *testing.T
	host    claude.Transport
	status  chan int
	mu      sync.Mutex // protects following; the clock of a bubble synchronises nothing
	records []claudetest.Record
	heard   []string // what the CLI said, in short, and not yet looked at
	raw     []string
}

// play runs body in a bubble beside a CLI that plays script.
func play(t *testing.T, script claudetest.Script, body func(p *played)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host, cli := claudetest.Pipe()
		p := &played{t: t, host: host, status: make(chan int, 1)}
		c := &claudetest.CLI{Transport: cli, Script: script, OnRecord: func(r claudetest.Record) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.records = append(p.records, r)
		}}
		go func() { p.status <- c.Run(t.Context()) }()
		over := make(chan struct{})
		go func() {
			defer close(over)
			for {
				line, err := host.Recv()
				if err != nil {
					return
				}
				p.mu.Lock()
				p.raw = append(p.raw, string(line))
				p.heard = append(p.heard, short(line))
				p.mu.Unlock()
			}
		}()
		body(p)
		host.Close()
		<-over
	})
}

// short says what a line is.
func short(line []byte) string {
	var m struct {
		Type, Subtype string
		RequestID     string `json:"request_id"`
		Message       struct {
			Content []struct {
				Type, Text, Content string
			}
		}
		Response struct{ Subtype string }
	}
	if json.Unmarshal(line, &m) != nil {
		return "rubbish"
	}
	words := []string{m.Type, m.Subtype, m.Response.Subtype}
	for _, b := range m.Message.Content {
		words = append(words, b.Type, b.Text, b.Content)
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func (p *played) sends(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if err := p.host.Send([]byte(l)); err != nil {
			p.t.Fatalf("send %s: %v", l, err)
		}
	}
	synctest.Wait()
}

// hears checks what the CLI has said since the last look.
func (p *played) hears(want ...string) {
	p.t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.heard, want) {
		p.t.Errorf("heard %q\nwant  %q", p.heard, want)
	}
	p.heard = nil
}

func (p *played) exits(want int) {
	p.t.Helper()
	if got := <-p.status; got != want {
		p.t.Errorf("exit status %d, want %d", got, want)
	}
}

// open returns the ids of the requests that the CLI has sent.
func (p *played) open() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.raw {
		var m struct {
			Type      string
			RequestID string `json:"request_id"`
		}
		if json.Unmarshal([]byte(l), &m) == nil && m.Type == "control_request" {
			ids = append(ids, m.RequestID)
		}
	}
	return ids
}

func prompt(steps ...claudetest.Step) string {
	text, err := json.Marshal(claudetest.Prompt(steps...))
	if err != nil {
		panic(err)
	}
	return `{"type":"user","message":{"role":"user","content":` + string(text) + `}}`
}

func answer(id, payload string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` + payload + `}}`
}

const (
	interrupt  = `{"type":"control_request","request_id":"i1","request":{"subtype":"interrupt"}}`
	initialize = `{"type":"control_request","request_id":"n1","request":{"subtype":"initialize"}}`
	toolUse    = "assistant tool_use"
	asking     = "control_request"
)

func bash(command string) map[string]any {
	return map[string]any{"tool_name": "Bash", "input": map[string]any{"command": command}}
}

func TestAnswersBecomeToolResults(t *testing.T) {
	play(t, claudetest.Script{}, func(p *played) {
		p.sends(prompt(claudetest.Step{Ask: bash("x"), Count: 3, Parallel: true}))
		p.hears("system init", toolUse, asking, toolUse, asking, toolUse, asking)
		ids := p.open()
		p.sends(answer(ids[2], `{"behavior":"deny","message":"no"}`))
		p.hears("user tool_result no")
		p.sends(answer("unknown", `{}`), answer(ids[2], `{"behavior":"allow","updatedInput":{}}`)) // ignored
		p.hears()
		p.sends(answer(ids[0], `{"behavior":"allow","updatedInput":{"command":"y"}}`))
		p.hears(`user tool_result ran Bash with {"command":"y"}`)
		p.sends(answer(ids[1], `{"behavior":"allow"}`)) // as 2.1.197 takes it
		p.hears("user tool_result Tool permission request failed: ZodError: invalid_union", "result success")
		var known []string
		for _, r := range p.records {
			if r.Kind == "control_response" {
				known = append(known, fmt.Sprint(r.RequestID == "unknown", r.Known))
			}
		}
		if got := strings.Join(known, ","); got != "false true,true false,false false,false true,false true" {
			t.Errorf("recorded %s", got)
		}
	})
}

// As with the real CLI, the text of a result is the last one of its turn.
func TestResultHasTheLastText(t *testing.T) {
	play(t, claudetest.Script{}, func(p *played) {
		p.sends(prompt(claudetest.Step{Text: "first"}, claudetest.Step{Text: "last"}), prompt(claudetest.Step{Bytes: 1}))
		p.mu.Lock()
		defer p.mu.Unlock()
		var results []string
		for _, line := range p.raw {
			var m struct{ Type, Result string }
			if json.Unmarshal([]byte(line), &m) == nil && m.Type == "result" {
				results = append(results, m.Result)
			}
		}
		if want := []string{"last", "done"}; !slices.Equal(results, want) {
			t.Errorf("got %q, want %q", results, want)
		}
	})
}

func TestOtherRequestsWaitForTheirAnswer(t *testing.T) {
	hook := map[string]any{"subtype": "hook_callback", "callback_id": "h"}
	play(t, claudetest.Script{}, func(p *played) {
		p.sends(prompt(claudetest.Step{Request: hook}, claudetest.Step{Text: "{{last_tool_result}}"}))
		p.hears("system init", asking)
		p.mu.Lock()
		if sent := p.raw[1]; !strings.Contains(sent, `"request":{"callback_id":"h","subtype":"hook_callback"}`) {
			t.Errorf("it sent %s", sent)
		}
		p.mu.Unlock()
		p.sends(initialize) // lists approvals alone
		p.hears("control_response success")
		reply := answer(p.open()[0], `{"continue":false}`)
		p.sends(reply)
		p.hears("assistant text "+reply, "result success")

		p.sends(prompt(claudetest.Step{Request: hook}))
		p.hears("system init", asking)
		p.sends(interrupt)
		p.hears("control_cancel_request", "control_response success", "user text [Request interrupted by user for tool use]", "result error_during_execution")
	})
}

func TestInterruptGoesAsWithTheRealOne(t *testing.T) {
	play(t, claudetest.Script{}, func(p *played) {
		p.sends(prompt(claudetest.Step{Ask: bash("x"), Count: 2, Parallel: true}))
		p.hears("system init", toolUse, asking, toolUse, asking)
		p.sends(interrupt)
		p.hears("control_cancel_request", "control_cancel_request", "control_response success",
			"user tool_result The user doesn't want to proceed with this tool use.", "user tool_result The user doesn't want to proceed with this tool use.",
			"user text [Request interrupted by user for tool use]", "result error_during_execution")
		p.sends(answer(p.open()[0], `{"behavior":"allow","updatedInput":{}}`), prompt(claudetest.Step{Text: "on"}))
		p.hears("system init", "assistant text on", "result success")
	})
}

func TestSecondInitializeListsWhatIsOpen(t *testing.T) {
	play(t, claudetest.Script{}, func(p *played) {
		p.sends(initialize)
		p.hears("control_response success")
		p.sends(prompt(claudetest.Step{Ask: bash("x"), Count: 2, Parallel: true}))
		p.sends(initialize)
		var m struct {
			Response struct {
				Pending []struct {
					RequestID string `json:"request_id"`
				} `json:"pending_permission_requests"`
			}
		}
		if err := json.Unmarshal([]byte(p.raw[len(p.raw)-1]), &m); err != nil || len(m.Response.Pending) != 2 {
			t.Errorf("got %s", p.raw[len(p.raw)-1])
		}
	})
}

func TestInputThatMakesNoSenseEndsIt(t *testing.T) {
	for _, l := range []string{`{"type":`, `x`, `{"type":"user","message":{"role":"assistant"}}`, `{"type":"control_request","request_id":"r"}`} {
		t.Run(l, func(t *testing.T) {
			play(t, claudetest.Script{}, func(p *played) {
				p.sends("", `{"type":"novel"}`, l)
				p.exits(1)
			})
		})
	}
}

func TestEndOfInputFailsWhatIsOpenAndFinishesTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The input ends and the output goes on, which one pipe in memory cannot do.
		host, cli := claudetest.Pipe()
		half := &endOfInput{Transport: cli, eof: make(chan struct{}), lines: make(chan []byte)}
		go half.pump()
		c := &claudetest.CLI{Transport: half}
		status := make(chan int, 1)
		go func() { status <- c.Run(t.Context()) }()
		var heard []string
		over := make(chan struct{})
		go func() {
			defer close(over)
			for line, err := host.Recv(); err == nil; line, err = host.Recv() {
				heard = append(heard, short(line))
			}
		}()
		if err := host.Send([]byte(prompt(claudetest.Step{Ask: bash("x")}))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(half.eof)
		if got := <-status; got != 0 {
			t.Errorf("exit status %d, want 0", got)
		}
		<-over
		if got := strings.Join(heard, "; "); !strings.Contains(got, "stream closed before response received; result success") {
			t.Errorf("heard %s", got)
		}
	})
}

// endOfInput is a CLI's transport whose input can end alone.
type endOfInput struct {
	claude.Transport
	eof   chan struct{}
	lines chan []byte
}

func (e *endOfInput) pump() {
	for line, err := e.Transport.Recv(); err == nil; line, err = e.Transport.Recv() {
		select {
		case e.lines <- line:
		case <-e.eof:
			return
		}
	}
}

func (e *endOfInput) Recv() ([]byte, error) {
	select {
	case line := <-e.lines:
		return line, nil
	case <-e.eof:
		return nil, io.EOF
	}
}

func TestStepsThatWait(t *testing.T) {
	play(t, claudetest.Script{Start: []claudetest.Step{{SleepMS: 5000}}}, func(p *played) {
		p.sends(initialize)
		p.hears() // it reads nothing before its start is over
		time.Sleep(5 * time.Second)
		p.hears("control_response success")
		p.sends(prompt(claudetest.Step{Ask: bash("x"), CancelMS: 1000}))
		p.hears("system init", toolUse, asking)
		time.Sleep(time.Second)
		p.hears("control_cancel_request", "user tool_result decided elsewhere", "result success")
		p.sends(prompt(claudetest.Step{Ask: bash("x"), Count: 2, EveryMS: 10}))
		p.hears("system init", toolUse, asking)
		p.sends(answer(p.open()[1], `{"behavior":"allow","updatedInput":{}}`))
		p.hears("user tool_result ran Bash with {}")
		time.Sleep(10 * time.Millisecond)
		p.hears(toolUse, asking)
	})
}

func TestFailureModes(t *testing.T) {
	status := 7
	play(t, claudetest.Script{Turn: []claudetest.Step{{Rubbish: true}, {Raw: `{"type":"novel"}`}, {Bytes: 100}, {Flood: &claudetest.Flood{Lines: 2, Bytes: 300}}, {Exit: &status}}}, func(p *played) {
		p.sends(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]}}`)
		p.exits(7)
		synctest.Wait()
		counts := map[string]int{}
		for _, h := range p.heard {
			kind, _, _ := strings.Cut(h, " ")
			counts[kind]++
		}
		if got := fmt.Sprint(counts); got != "map[assistant:3 novel:1 rubbish:50 system:1 user:1]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestContextEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, cli := claudetest.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		status := make(chan int, 1)
		go func() { status <- (&claudetest.CLI{Transport: cli}).Run(ctx) }()
		synctest.Wait()
		cancel()
		if got := <-status; got != 143 {
			t.Errorf("exit status %d, want 143", got)
		}
	})
}

func TestScriptWithATypingErrorIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"trun":[]}`, `[{"txt":"a"}]`, `[`} {
		if s, err := claudetest.ParseScript(text); err == nil {
			t.Errorf("%s: got %v, want an error", text, s)
		}
	}
}

func TestProgramSaysItsVersion(t *testing.T) {
	t.Parallel()
	path, record := claudetest.Program(t, claudetest.Script{})
	out, err := exec.Command(path, "--version").Output()
	if err != nil || string(out) != "2.1.329 (Claude Code)\n" {
		t.Errorf("got %q %v", out, err)
	}
	if got := claudetest.ReadRecords(t, record); got != nil {
		t.Errorf("recorded %v, want nothing", got)
	}
}

// What runs is what was allowed, not what was asked.
func TestAllowedToolsRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "written")
	path, _ := claudetest.Program(t, claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "false"}}, Run: true},
		{Text: "Heard: {{last_tool_result}}"},
		{Ask: map[string]any{"tool_name": "Write", "input": map[string]any{"file_path": file, "content": "words"}}, Run: true},
	}})
	cmd := exec.CommandContext(t.Context(), path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"type":"user","message":{"role":"user","content":"Go"}}`)
	allowed := []string{`{"command":"echo $((40+2))"}`, `{"file_path":"` + file + `","content":"others"}`}
	dec := json.NewDecoder(out)
	said := false
	for {
		var m struct {
			Type      string          `json:"type"`
			RequestID string          `json:"request_id"`
			Message   json.RawMessage `json:"message"`
		}
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		said = said || strings.Contains(string(m.Message), "Heard: 42")
		if m.Type == "result" {
			break
		}
		if m.Type == "control_request" {
			fmt.Fprintf(in, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"behavior":"allow","updatedInput":%s}}}`+"\n", m.RequestID, allowed[0])
			allowed = allowed[1:]
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !said {
		t.Error("the output of the command was not the last tool result")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "others" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}
