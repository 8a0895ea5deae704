package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Ending is the reason why a dialog no longer needs an answer.
type Ending string

const (
	InDialog Ending = "terminal" // a person answered it in the terminal
	Exited   Ending = "ended"    // the CLI has exited
)

const (
	pollInterval = 250 * time.Millisecond
	// idlePolls is how many consecutive polls must find that the CLI is no longer waiting:
	// between two dialogs it briefly appears so.
	idlePolls = 4
	// tailBytes is how many bytes at the end of a transcript are read first. The tool call of
	// the dialog is near the end.
	tailBytes = 8 << 20
)

// Await blocks until the dialog of a PermissionRequest has been answered in the terminal, or
// the CLI has exited; it returns "" if ctx ends first. dir is the CLI's configuration folder.
//
// It polls two files of the CLI: the transcript, for the result of the tool call, and the
// status file under sessions, for whether the CLI is waiting. The status is faster, because
// the result of an allowed call appears only after the tool has run. Missing or unexpected
// data is ignored.
func Await(ctx context.Context, in Input, dir string, getenv func(string) string) Ending {
	calls := &transcript{path: in.TranscriptPath, tool: in.ToolName, since: in.At, open: map[string]bool{}}
	if in.AgentID != "" {
		calls.path = filepath.Join(strings.TrimSuffix(in.TranscriptPath, ".jsonl"), "subagents", "agent-"+in.AgentID+".jsonl")
	}
	_ = json.Unmarshal(in.ToolInput, &calls.input)
	cli := &process{dir: filepath.Join(dir, "sessions"), sessionID: in.SessionID, pid: getenv("CLAUDE_PID")}
	every := time.NewTicker(pollInterval)
	defer every.Stop()
	for {
		if calls.isAnswered() {
			return InDialog
		}
		if ending := cli.poll(); ending != "" {
			return ending
		}
		select {
		case <-ctx.Done():
			return ""
		case <-every.C:
		}
	}
}

// process is the CLI's own status in sessions/PID.json.
type process struct {
	dir, sessionID, pid string

	wasWaiting bool // a poll found the CLI waiting for the person
	idleCount  int  // consecutive polls since then that found it no longer waiting
}

func (p *process) poll() Ending {
	s, found := p.read()
	if !found {
		return ""
	}
	if !alive(s.PID) {
		return Exited
	}
	switch {
	case s.Status == "waiting":
		p.wasWaiting, p.idleCount = true, 0
	case s.Status != "" && p.wasWaiting:
		if p.idleCount++; p.idleCount >= idlePolls {
			return InDialog
		}
	}
	return ""
}

type status struct {
	PID       int    `json:"pid"`
	SessionID string `json:"sessionId"`
	Status    string `json:"status"`
}

// read finds the file by the process id. Older CLIs do not pass their process id to hooks; for
// those, read searches for the session.
func (p *process) read() (status, bool) {
	if _, err := strconv.Atoi(p.pid); err == nil {
		return p.readFile(p.pid + ".json")
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return status{}, false
	}
	for _, e := range entries {
		if s, found := p.readFile(e.Name()); found && s.SessionID == p.sessionID {
			p.pid = strconv.Itoa(s.PID)
			return s, true
		}
	}
	return status{}, false
}

func (p *process) readFile(name string) (s status, found bool) {
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		// The CLI deletes the file when it ends, but not when it is killed.
		if pid, err := strconv.Atoi(p.pid); err == nil {
			return status{PID: pid}, true
		}
		return status{}, false
	}
	if err != nil || json.Unmarshal(data, &s) != nil || s.PID <= 0 {
		return status{}, false // incomplete
	}
	return s, true
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// transcript searches for the result of a tool call. The CLI does not identify the call of a
// dialog, so calls are matched by tool and input. If two calls are equal, both must have
// ended.
type transcript struct {
	path, tool string
	input      any
	since      time.Time // when the dialog opened

	offset int64
	rest   []byte          // an incomplete line
	open   map[string]bool // equal calls without a result, by id
	found  bool            // an equal call was open after the dialog opened
}

// isAnswered reads the new lines and reports whether all equal calls have a result.
func (t *transcript) isAnswered() bool {
	f, err := os.Open(t.path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == t.offset {
		return false
	}
	whole := true
	if t.offset == 0 && info.Size() > tailBytes {
		t.offset, whole = info.Size()-tailBytes, false
	}
	data, err := io.ReadAll(io.NewSectionReader(f, t.offset, info.Size()-t.offset))
	if err != nil {
		return false
	}
	t.offset += int64(len(data))
	data = append(t.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	t.rest = bytes.Clone(data[end:])
	for line := range bytes.Lines(data[:end]) {
		if whole {
			t.readLine(line)
		}
		whole = true
	}
	if len(t.open) > 0 {
		t.found = true
	}
	return t.found && len(t.open) == 0
}

func (t *transcript) readLine(line []byte) {
	if !bytes.Contains(line, []byte(`"tool_`)) {
		return
	}
	var entry struct {
		At      time.Time `json:"timestamp"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	var blocks []struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		Name      string `json:"name"`
		Input     any    `json:"input"`
		ToolUseID string `json:"tool_use_id"`
	}
	if json.Unmarshal(line, &entry) != nil || json.Unmarshal(entry.Message.Content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use" && b.Name == t.tool && reflect.DeepEqual(b.Input, t.input):
			t.open[b.ID] = true
		case b.Type == "tool_result" && t.open[b.ToolUseID]:
			delete(t.open, b.ToolUseID)
			t.found = t.found || entry.At.After(t.since)
		}
	}
}
