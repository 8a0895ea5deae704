package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// cliLedger is the record of one CLI process.
type cliLedger struct {
	SessionID string
	PID       int
	Parent    int
	Children  []int
	Asked     []*asked // in order
	Received  []received
	Users     []string // first lines of the messages it received
	Said      []string
	Printed   []string // what it asked, withdrew and said, in order, as in a journal
	Lines     int      // that it read
	EOF, Exit bool
}

// asked is a request of a CLI.
type asked struct {
	SessionID string
	RequestID string // of the CLI
	ToolUseID string // identifies the request on both sides of the server
	ToolName  string
	Input     json.RawMessage
	Withdrawn bool
	// WithdrawnAt is when the CLI was about to withdraw it.
	WithdrawnAt time.Time
}

// received is an answer that a CLI received.
type received struct {
	RequestID string
	ToolUseID string // "" in an error
	Answer    string // see canonicalAnswer
	Known     bool   // the request was open
	At        time.Time
}

// readRecords reads the records of all CLIs so far, in the order of their start.
func readRecords(folder string) ([]*cliLedger, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var all []*cliLedger
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		c, err := readRecord(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func readRecord(text []byte) (*cliLedger, error) {
	c := &cliLedger{}
	byID := map[string]*asked{}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return c, nil // the rest is being written
		}
		text = rest
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		switch e.Kind {
		case "asked", "withdrew", "said":
			c.Printed = append(c.Printed, e.printed())
		}
		switch e.Kind {
		case "start":
			c.SessionID, c.PID, c.Parent = e.SessionID, e.PID, e.Parent
		case "read":
			c.Lines++
		case "child":
			c.Children = append(c.Children, e.PID)
		case "asked":
			a := &asked{SessionID: c.SessionID, RequestID: e.RequestID, ToolUseID: e.ToolUseID, ToolName: e.ToolName, Input: e.Input}
			c.Asked = append(c.Asked, a)
			byID[e.RequestID] = a
		case "withdrew":
			if a := byID[e.RequestID]; a != nil {
				a.Withdrawn, a.WithdrawnAt = true, time.Unix(0, e.AtNS)
			}
		case "heard":
			h, err := heardOf(e)
			if err != nil {
				return nil, err
			}
			c.Received = append(c.Received, h)
		case "user":
			c.Users = append(c.Users, e.Text)
		case "said":
			c.Said = append(c.Said, e.Text)
		case "eof":
			c.EOF = true
		case "exit":
			c.Exit = true
		}
	}
}

func heardOf(e entry) (received, error) {
	var m struct {
		Response struct {
			Subtype  string          `json:"subtype"`
			Error    string          `json:"error"`
			Response json.RawMessage `json:"response"`
		} `json:"response"`
	}
	if err := json.Unmarshal(e.Line, &m); err != nil {
		return received{}, err
	}
	h := received{RequestID: e.RequestID, Known: e.Known, At: time.Unix(0, e.AtNS)}
	if m.Response.Subtype != "success" {
		h.Answer = "error " + m.Response.Error
		return h, nil
	}
	var p struct {
		Behavior     string          `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Message      string          `json:"message"`
		Interrupt    bool            `json:"interrupt"`
		ToolUseID    string          `json:"toolUseID"`
	}
	if err := json.Unmarshal(m.Response.Response, &p); err != nil {
		return received{}, err
	}
	h.ToolUseID = p.ToolUseID
	h.Answer = canonicalAnswer(p.Behavior, p.UpdatedInput, p.Message)
	if p.Interrupt {
		h.Answer += " and interrupt"
	}
	return h, nil
}

// canonicalAnswer returns an answer as one canonical line, to compare what a tab sent with what
// a CLI received.
func canonicalAnswer(behavior string, input json.RawMessage, message string) string {
	if behavior == "allow" {
		return "allow " + canonical(input)
	}
	return behavior + " " + message
}

// canonical returns JSON with sorted keys and without spaces.
func canonical(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
