package claudetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Script says what the CLI does. As JSON it is an object with the keys start
// and turn, or just the array of turn.
type Script struct {
	Start []Step `json:"start"` // before it reads anything
	// Turn is for every user message, unless the message brings steps of its own
	// in a fenced block marked claudetest.
	Turn []Step `json:"turn"`
	// Restored is what it counts already when it begins, as newer CLIs do when they
	// resume, in US dollars.
	Restored float64 `json:"restored,omitempty"`
	// Interrupt is how it takes an interrupt: "" ends the turn, "ignored" says that it
	// did and goes on, "refused" says that it does not, "unanswered" says nothing.
	Interrupt string `json:"interrupt,omitempty"`
}

// Step is one thing the CLI does. Exactly one of the fields above the line is
// set; those below qualify it.
type Step struct {
	// Ask sends can_use_tool with these members and waits for the answer.
	// tool_use_id is made up when it is not there.
	Ask        map[string]any `json:"ask,omitempty"`
	Text       string         `json:"text,omitempty"`         // the model says this
	Raw        string         `json:"raw,omitempty"`          // a line as it is
	Bytes      int            `json:"bytes,omitempty"`        // a tool result of that many bytes
	Flood      *Flood         `json:"flood,omitempty"`        // many messages at once
	SleepMS    int            `json:"sleep_ms,omitempty"`     // nothing
	Silent     bool           `json:"silent,omitempty"`       // nothing until interrupted
	Exit       *int           `json:"exit,omitempty"`         // exits with this status
	Rubbish    bool           `json:"rubbish,omitempty"`      // 50 lines that are no JSON
	DieMidLine bool           `json:"die_mid_line,omitempty"` // half a line, then exits with status 1
	Stderr     string         `json:"stderr,omitempty"`       // a line on stderr
	// StderrFlood prints that many bytes on stderr.
	StderrFlood int `json:"stderr_flood,omitempty"`
	// SpawnChild starts a child that sleeps and holds stdout and stderr: "group"
	// in the CLI's process group, "setsid" in a session of its own.
	SpawnChild string `json:"spawn_child,omitempty"`
	// Stubborn makes it ignore SIGTERM and the end of its input from now on.
	Stubborn bool `json:"stubborn,omitempty"`
	// Deaf makes it stop reading its input.
	Deaf bool `json:"deaf,omitempty"`
	// Cost is added to what results call total_cost_usd, in US dollars; what is
	// below 0 takes from it, down to nothing, as /clear does.
	Cost float64 `json:"cost,omitempty"`

	// ------------------------------------------------------------------------

	// Proposed is what the model calls the tool with, where that is not the input of
	// Ask: a hook has changed it.
	Proposed map[string]any `json:"proposed,omitempty"`

	Count    int  `json:"count,omitempty"`     // of Ask: how often, 1 when 0
	Parallel bool `json:"parallel,omitempty"`  // of Ask: all before the first answer
	EveryMS  int  `json:"every_ms,omitempty"`  // of Ask: the pause after each
	CancelMS int  `json:"cancel_ms,omitempty"` // of Ask: withdraws what is open after that long
}

// Flood is many messages at once.
type Flood struct {
	Lines int `json:"lines"`
	Bytes int `json:"bytes"` // of each line, about
}

// ParseScript reads a script. Unknown keys are an error, so that a typing error
// does not make a test that checks nothing.
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

// Prompt returns a prompt that carries steps for its turn.
func Prompt(steps ...Step) string {
	text, err := json.Marshal(steps)
	if err != nil {
		panic(err) // a Step holds nothing that cannot be marshalled, unless Ask does
	}
	return fence + "\n" + string(text) + "\n```"
}

var errNoFence = errors.New("no steps in the prompt")

// stepsOf finds the steps that a prompt brings.
func stepsOf(prompt string) ([]Step, error) {
	_, rest, found := strings.Cut(prompt, fence)
	if !found {
		return nil, errNoFence
	}
	block, _, _ := strings.Cut(rest, "```")
	s, err := ParseScript(block)
	return s.Turn, err
}
