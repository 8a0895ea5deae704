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

// Ending says why a dialog needs no answer any longer.
type Ending string

const (
	InDialog Ending = "terminal" // it was answered in the terminal
	Exited   Ending = "ended"    // the CLI is gone
)

const (
	lookEvery = 250 * time.Millisecond
	// settled is how many looks in a row must find that the CLI waits no longer:
	// between two dialogs it may seem so for a moment.
	settled = 4
	// tailBytes is how much of a transcript is read at first: the call that is asked
	// about is at its end.
	tailBytes = 8 << 20
)

// Await returns once the dialog of a PermissionRequest was answered in the
// terminal, or the CLI has ended; "" when ctx ends first. dir is the CLI's
// configuration folder.
//
// It looks at what the CLI writes down: the result of the call, in the
// transcript, and what the CLI waits for, in its file under sessions. The second
// is quicker, because the result of an allowed call comes when the tool has run.
// What is not there, or not as expected, says nothing.
func Await(ctx context.Context, in Input, dir string, getenv func(string) string) Ending {
	calls := &transcript{path: in.TranscriptPath, tool: in.ToolName, since: in.At, open: map[string]bool{}}
	if in.AgentID != "" {
		calls.path = filepath.Join(strings.TrimSuffix(in.TranscriptPath, ".jsonl"), "subagents", "agent-"+in.AgentID+".jsonl")
	}
	_ = json.Unmarshal(in.ToolInput, &calls.input)
	cli := &process{dir: filepath.Join(dir, "sessions"), sessionID: in.SessionID, pid: getenv("CLAUDE_PID")}
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		if calls.answered() {
			return InDialog
		}
		if ending := cli.look(); ending != "" {
			return ending
		}
		select {
		case <-ctx.Done():
			return ""
		case <-every.C:
		}
	}
}

// process is what the CLI says of itself in sessions/PID.json.
type process struct {
	dir, sessionID, pid string

	waited bool // it was seen waiting for the person
	idle   int  // looks since that found it waiting no longer
}

func (p *process) look() Ending {
	s, found := p.read()
	if !found {
		return ""
	}
	if !alive(s.PID) {
		return Exited
	}
	switch {
	case s.Status == "waiting":
		p.waited, p.idle = true, 0
	case s.Status != "" && p.waited:
		if p.idle++; p.idle >= settled {
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

// read finds the file by the process id, which older CLIs do not tell their hooks,
// else by the session.
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
		// It takes its file away when it ends; killed, it leaves it.
		if pid, err := strconv.Atoi(p.pid); err == nil {
			return status{PID: pid}, true
		}
		return status{}, false
	}
	if err != nil || json.Unmarshal(data, &s) != nil || s.PID <= 0 {
		return status{}, false // half written
	}
	return s, true
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// transcript looks for the result of a call. The CLI does not say which call a
// dialog is about, so it is known by tool and input; where two calls are alike,
// both must have ended.
type transcript struct {
	path, tool string
	input      any
	since      time.Time // when the dialog opened

	offset int64
	rest   []byte // the line that is not whole yet
	open   map[string]bool
	seen   bool // a call like this was open since the dialog is
}

// answered reads on and reports whether no call like this is open any longer.
func (t *transcript) answered() bool {
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
			t.read(line)
		}
		whole = true
	}
	if len(t.open) > 0 {
		t.seen = true
	}
	return t.seen && len(t.open) == 0
}

func (t *transcript) read(line []byte) {
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
			t.seen = t.seen || entry.At.After(t.since)
		}
	}
}
