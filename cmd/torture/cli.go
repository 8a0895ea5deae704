package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// entry is one line of the record of a CLI. It is written, unbuffered, before the CLI prints
// something and after it has read something, so no kill can lose it.
type entry struct {
	Kind      string          `json:"kind"` // start, child, read, user, said, asked, withdrew, heard, eof or exit
	AtNS      int64           `json:"at_ns"`
	PID       int             `json:"pid,omitempty"`        // of start and child
	Parent    int             `json:"parent,omitempty"`     // of start: the parent process, which is the shim
	SessionID string          `json:"session_id,omitempty"` // of start
	RequestID string          `json:"request_id,omitempty"` // as the CLI names it
	ToolUseID string          `json:"tool_use_id,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"` // of asked
	Known     bool            `json:"known,omitempty"` // of heard: the request was open
	Line      json.RawMessage `json:"line,omitempty"`  // of heard
	Text      string          `json:"text,omitempty"`  // of user and said
}

// printed describes what the CLI asked, withdrew or said.
func (e entry) printed() string { return e.Kind + " " + e.RequestID + e.Text }

// output holds the fields of the CLI's messages that are recorded.
type output struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   struct {
		ToolUseID string          `json:"tool_use_id"`
		ToolName  string          `json:"tool_name"`
		Input     json.RawMessage `json:"input"`
	} `json:"request"`
	Message struct {
		Content blocks `json:"content"`
	} `json:"message"`
}

// blocks is the content of a message, empty if it is a string.
type blocks []struct{ Type, Text string }

func (b *blocks) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		return nil
	}
	return json.Unmarshal(text, (*[]struct{ Type, Text string })(b))
}

// entries returns the entries that record a message.
func (m output) entries() (all []entry) {
	switch m.Type {
	case "control_request":
		all = append(all, entry{Kind: "asked", RequestID: m.RequestID, ToolUseID: m.Request.ToolUseID, ToolName: m.Request.ToolName, Input: m.Request.Input})
	case "control_cancel_request":
		all = append(all, entry{Kind: "withdrew", RequestID: m.RequestID})
	case "assistant":
		for _, b := range m.Message.Content {
			if b.Type == "text" {
				all = append(all, entry{Kind: "said", Text: b.Text})
			}
		}
	}
	return all
}

// recorder appends entries to the file of one CLI.
type recorder struct {
	mu   sync.Mutex
	file *os.File
}

func newRecorder(folder string) (*recorder, error) {
	name := fmt.Sprintf("%d-%d.jsonl", time.Now().UnixNano(), os.Getpid())
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600)
	return &recorder{file: f}, err
}

func (r *recorder) put(e entry) {
	e.AtNS = time.Now().UnixNano()
	line, err := json.Marshal(e)
	if err == nil {
		r.mu.Lock()
		_, err = r.file.Write(append(line, '\n'))
		r.mu.Unlock()
	}
	if err != nil {
		panic(err) // a record with a gap would lead to wrong faults
	}
}

// asCLI is the first argument that makes this program act as the CLI.
const asCLI = "cli"

// wrapCLI writes the script that the server starts as the CLI. With children, each CLI starts
// processes that hold its stdout open and outlive it.
func wrapCLI(self, folder string, children bool) (path, records string, err error) {
	path, records = filepath.Join(folder, "claude"), filepath.Join(folder, "records")
	if err := os.MkdirAll(records, 0o700); err != nil {
		return "", "", err
	}
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' %t \"$@\"\n", self, asCLI, records, children)
	return path, records, os.WriteFile(path, []byte(text), 0o700)
}

// playCLI runs a scripted CLI on the standard streams, which records in a folder what it does.
// It returns the exit status.
func playCLI(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "torture: cli needs the folder of the records")
		return 2
	}
	folder, children, args := args[0], args[1] == "true", args[2:]
	c := &claudetest.CLI{}
	for i, arg := range args {
		flag, value, _ := strings.Cut(arg, "=")
		switch {
		case flag == "--version":
			fmt.Println(claudetest.Version + " (Claude Code)")
			return 0
		case i == 0 && flag == "auth":
			return 0 // signed in
		case flag == "--session-id", flag == "--resume":
			c.SessionID = value
		case flag == "--permission-mode":
			c.PermissionMode = value
		case flag == "--include-partial-messages":
			c.Partial = true
		}
	}
	record, err := newRecorder(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 2
	}
	record.put(entry{Kind: "start", PID: os.Getpid(), Parent: os.Getppid(), SessionID: c.SessionID})
	if children {
		for _, own := range []bool{false, true} {
			child := exec.Command("sleep", "600")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
			if err := child.Start(); err != nil {
				fmt.Fprintln(os.Stderr, "torture:", err)
				return 2
			}
			record.put(entry{Kind: "child", PID: child.Process.Pid})
		}
	}
	c.CWD, _ = os.Getwd() // "" becomes the root
	streams := newStreams(os.Stdin, os.Stdout, record)
	c.Transport = streams
	c.OnRecord = func(r claudetest.Record) {
		switch r.Kind {
		case "control_response":
			record.put(entry{Kind: "heard", RequestID: r.RequestID, Known: r.Known, Line: r.Line})
		case "eof":
			record.put(entry{Kind: "eof"})
		case "exit":
			record.put(entry{Kind: "exit", Text: strconv.Itoa(r.Status)})
		case "user":
			record.put(entry{Kind: "user", Text: promptOf(r.Line)})
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return c.Run(ctx)
}

// promptOf returns the first line of a user message.
func promptOf(line json.RawMessage) string {
	var m struct {
		Message struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(m.Message.Content, &text) != nil {
		var blocks []struct{ Text string }
		if json.Unmarshal(m.Message.Content, &blocks) != nil || len(blocks) == 0 {
			return ""
		}
		text = blocks[0].Text
	}
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// streams is a transport over the standard streams that records what is sent.
type streams struct {
	record *recorder
	out    io.Writer
	lines  chan []byte // closed at the end of the input
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex // one line at a time on out, recorded in the same order
}

func newStreams(in io.Reader, out io.Writer, record *recorder) *streams {
	s := &streams{record: record, out: out, lines: make(chan []byte), closed: make(chan struct{})}
	go func() { // until the process ends, because a read of stdin cannot be cancelled
		defer close(s.lines)
		for r := bufio.NewReaderSize(in, 64<<10); ; {
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				record.put(entry{Kind: "read"})
				select {
				case s.lines <- bytes.TrimSuffix(line, []byte("\n")):
				case <-s.closed:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *streams) Recv() ([]byte, error) {
	select {
	case line, ok := <-s.lines:
		if !ok {
			return nil, io.EOF
		}
		return line, nil
	case <-s.closed:
		return nil, io.EOF
	}
}

func (s *streams) Send(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m output
	// Other messages, such as one whose content is a string, are ignored.
	_ = json.Unmarshal(line, &m)
	for _, e := range m.entries() {
		s.record.put(e)
	}
	_, err := s.out.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

func (s *streams) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
