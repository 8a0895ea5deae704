package claudetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Script is what the CLI does. As JSON it is an object with these fields, or only the array of turn.
type Script struct {
	Start []Step `json:"start"` // before the CLI reads anything
	// Initialized are lines that the CLI prints right after its answer to initialize.
	Initialized []string `json:"initialized,omitempty"`
	// Turn is played for every user message, unless the message contains its own steps in a
	// fenced block marked claudetest. If nil, the CLI repeats the message.
	Turn []Step `json:"turn"`
	// Restored is the cost from which the CLI starts to count, in US dollars, like a newer CLI
	// that resumes a session.
	Restored float64 `json:"restored,omitempty"`
	// Interrupt is the reaction to an interrupt: "" ends the turn, "ignored" confirms and
	// continues, "refused" refuses, "unanswered" sends nothing.
	Interrupt string `json:"interrupt,omitempty"`
}

// Step is one action of the CLI. Exactly one of the fields above the line is set; the fields below
// the line qualify it.
type Step struct {
	// Ask sends can_use_tool with these members and waits for the answer. A missing
	// tool_use_id is generated. An allowed tool has the result "ran <tool> with <input>", unless
	// Run is set.
	Ask map[string]any `json:"ask,omitempty"`
	// Request sends another control request with these members, such as a hook_callback, and waits
	// for the answer. Its line then becomes {{last_tool_result}}.
	Request map[string]any `json:"request,omitempty"`
	// Text is a text of the model, in which {{last_tool_result}} is replaced with the last tool
	// result.
	Text       string `json:"text,omitempty"`
	Raw        string `json:"raw,omitempty"`          // a line, unchanged
	Bytes      int    `json:"bytes,omitempty"`        // a tool result of that many bytes
	Flood      *Flood `json:"flood,omitempty"`        // many messages at once
	SleepMS    int    `json:"sleep_ms,omitempty"`     // pauses
	Silent     bool   `json:"silent,omitempty"`       // pauses until interrupted
	Exit       *int   `json:"exit,omitempty"`         // exits with this status
	Rubbish    bool   `json:"rubbish,omitempty"`      // 50 lines that are not JSON
	DieMidLine bool   `json:"die_mid_line,omitempty"` // half a line, then exits with status 1
	Stderr     string `json:"stderr,omitempty"`       // a line on stderr
	// StderrFlood prints about that many bytes on stderr.
	StderrFlood int `json:"stderr_flood,omitempty"`
	// SpawnChild starts a child that sleeps and keeps stdout and stderr open: "group" in the
	// CLI's process group, "setsid" in its own session.
	SpawnChild string `json:"spawn_child,omitempty"`
	// Stubborn makes the CLI ignore SIGTERM and the end of its input from now on.
	Stubborn bool `json:"stubborn,omitempty"`
	// Deaf makes the CLI stop reading its input.
	Deaf bool `json:"deaf,omitempty"`
	// Cost is added to total_cost_usd of later results, in US dollars. A negative cost lowers
	// the total, but not below 0, as /clear does.
	Cost float64 `json:"cost,omitempty"`
	// Reply sets how the CLI answers control requests of a subtype from now on.
	Reply *Reply `json:"reply,omitempty"`

	// ------------------------------------------------------------------------

	// Proposed is the input of the model's tool call, if it differs from the input of Ask
	// because a hook changed it.
	Proposed map[string]any `json:"proposed,omitempty"`

	// Run executes an allowed Ask: it runs the command of Bash, whose output becomes the result,
	// or writes the file of Write. It works only in a program, not in memory.
	Run bool `json:"run,omitempty"`

	Count    int  `json:"count,omitempty"`     // how many requests Ask sends; 0 means 1
	Parallel bool `json:"parallel,omitempty"`  // sends all requests before it waits for answers
	EveryMS  int  `json:"every_ms,omitempty"`  // pause after each request
	CancelMS int  `json:"cancel_ms,omitempty"` // withdraws the open requests after this time
}

// Reply is the answer to control requests of a subtype: a response, an error, or none. mcp_toggle
// changes the status of the server in the response to mcp_status.
type Reply struct {
	Subtype  string         `json:"subtype"`
	Response map[string]any `json:"response,omitempty"`
	Error    string         `json:"error,omitempty"`
	Never    bool           `json:"never,omitempty"`
	// Next replaces this reply after one request.
	Next *Reply `json:"next,omitempty"`
}

// Flood is a number of messages that are sent at once.
type Flood struct {
	Lines int `json:"lines"`
	Bytes int `json:"bytes"` // of each line, approximately
}

// ParseScript parses a script. Unknown keys are errors, so that a test does not pass because of a
// typo.
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
		panic(err) // only Ask, Request and the like can contain values that cannot be marshaled
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
