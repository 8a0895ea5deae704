package claudetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Script is what the CLI does. As JSON it is an object with the keys start and turn, or just
// the array of turn.
type Script struct {
	Start []Step `json:"start"` // before it reads anything
	// Initialized are lines that it prints right after an answer to initialize.
	Initialized []string `json:"initialized,omitempty"`
	// Turn is played for every user message, unless the message has steps of its own in a
	// fenced block marked claudetest.
	Turn []Step `json:"turn"`
	// Restored is the cost that it reports at the start, in US dollars, as newer CLIs do when
	// they resume.
	Restored float64 `json:"restored,omitempty"`
	// Interrupt is its reaction to an interrupt: "" ends the turn, "ignored" confirms and
	// continues, "refused" refuses, "unanswered" sends nothing.
	Interrupt string `json:"interrupt,omitempty"`
}

// Step is one action of the CLI. Exactly one of the fields above the line is set; those below
// qualify it.
type Step struct {
	// Ask sends can_use_tool with these members and waits for the answer. A missing
	// tool_use_id is generated.
	Ask map[string]any `json:"ask,omitempty"`
	// Request sends another control request with these members, such as a hook_callback, and waits
	// for the answer. The line of the answer is then {{last_tool_result}}.
	Request map[string]any `json:"request,omitempty"`
	// Text is text of the model; {{last_tool_result}} in it is replaced by the last tool result.
	Text       string `json:"text,omitempty"`
	Raw        string `json:"raw,omitempty"`          // a line, unchanged
	Bytes      int    `json:"bytes,omitempty"`        // a tool result of that many bytes
	Flood      *Flood `json:"flood,omitempty"`        // many messages at once
	SleepMS    int    `json:"sleep_ms,omitempty"`     // does nothing
	Silent     bool   `json:"silent,omitempty"`       // does nothing until interrupted
	Exit       *int   `json:"exit,omitempty"`         // exits with this status
	Rubbish    bool   `json:"rubbish,omitempty"`      // 50 lines that are no JSON
	DieMidLine bool   `json:"die_mid_line,omitempty"` // half a line, then exits with status 1
	Stderr     string `json:"stderr,omitempty"`       // a line on stderr
	// StderrFlood prints that many bytes on stderr.
	StderrFlood int `json:"stderr_flood,omitempty"`
	// SpawnChild starts a child that sleeps and keeps stdout and stderr open: "group" in the
	// CLI's process group, "setsid" in its own session.
	SpawnChild string `json:"spawn_child,omitempty"`
	// Stubborn makes it ignore SIGTERM and the end of its input from now on.
	Stubborn bool `json:"stubborn,omitempty"`
	// Deaf makes it stop reading its input.
	Deaf bool `json:"deaf,omitempty"`
	// Cost is added to total_cost_usd of results, in US dollars. A negative cost lowers it,
	// at most to 0, as /clear does.
	Cost float64 `json:"cost,omitempty"`
	// Reply sets how it answers control requests of a subtype from now on.
	Reply *Reply `json:"reply,omitempty"`

	// ------------------------------------------------------------------------

	// Proposed is the input of the model's tool call, if it differs from the input of Ask
	// because a hook changed it.
	Proposed map[string]any `json:"proposed,omitempty"`

	// Run, of Ask, does what was allowed: the command of a Bash, whose output is the
	// result, or the file of a Write.
	Run bool `json:"run,omitempty"`

	Count    int  `json:"count,omitempty"`     // of Ask: how often, 1 when 0
	Parallel bool `json:"parallel,omitempty"`  // all requests are sent before the first answer
	EveryMS  int  `json:"every_ms,omitempty"`  // pause after each request
	CancelMS int  `json:"cancel_ms,omitempty"` // withdraws the open requests after this time
}

// Reply answers the control requests of a subtype: with a response, with an error, or never. A
// response to mcp_status follows each mcp_toggle.
type Reply struct {
	Subtype  string         `json:"subtype"`
	Response map[string]any `json:"response,omitempty"`
	Error    string         `json:"error,omitempty"`
	Never    bool           `json:"never,omitempty"`
	// Next replaces this reply after one request.
	Next *Reply `json:"next,omitempty"`
}

// Flood sends many messages at once.
type Flood struct {
	Lines int `json:"lines"`
	Bytes int `json:"bytes"` // of each line, approximately
}

// ParseScript parses a script. Unknown keys are errors, so that a typo does not make a test
// pass.
func ParseScript(text string) (Script, error) {
	var s Script
	into := any(&s)
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		into = &s.Turn
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return Script{}, fmt.Errorf("claudetest: script: %w", err)
	}
	return s, nil
}

const fence = "```claudetest"

// Prompt returns a prompt that contains the steps of its turn.
func Prompt(steps ...Step) string {
	text, err := json.Marshal(steps)
	if err != nil {
		panic(err) // only Ask can hold values that cannot be marshalled
	}
	return fence + "\n" + string(text) + "\n```"
}

var errNoFence = errors.New("no steps in the prompt")

// stepsOf returns the steps in a prompt.
func stepsOf(prompt string) ([]Step, error) {
	_, rest, found := strings.Cut(prompt, fence)
	if !found {
		return nil, errNoFence
	}
	block, _, _ := strings.Cut(rest, "```")
	s, err := ParseScript(block)
	return s.Turn, err
}
