package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// server is a running `sayso serve` whose CLI is the stub.
type server struct {
	*blackbox.Server
	folder string
	took   time.Duration // from exec to listening
}

// startServer starts a server with its state in a folder. Starting in the same folder again is a
// restart.
func startServer(ctx context.Context, s settings, folder string) (*server, error) {
	address, err := blackbox.FreeAddress()
	if err != nil {
		return nil, err
	}
	started, err := blackbox.Start(ctx, blackbox.Options{
		Path: s.sayso, Folder: folder, Address: address, Claude: cmp.Or(s.claude, s.self), Settings: s.flags, Environ: s.environ,
	})
	if err != nil {
		return nil, err
	}
	v := &server{Server: started, folder: folder, took: started.Listening.Sub(started.Started)}
	// It responds a moment before it accepts connections of tabs.
	ready, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		_, err := v.get(ready, "/readyz")
		if err == nil {
			return v, nil
		}
		select {
		case <-ready.Done():
			return nil, errors.Join(fmt.Errorf("the server does not become ready: %w", err), v.stop())
		case <-time.After(time.Millisecond):
		}
	}
}

// stop ends the server and its sessions.
func (v *server) stop() error { return errors.Join(v.Stop(), v.KillAll()) }

func (v *server) post(ctx context.Context, path string, body any) (map[string]any, error) {
	out := map[string]any{}
	return out, v.Do(ctx, http.MethodPost, path, body, &out)
}

// session starts a session with a prompt and returns its id.
func (v *server) session(ctx context.Context, prompt string) (string, error) {
	made, err := v.post(ctx, "/api/sessions", map[string]any{"cwd": filepath.Join(v.folder, "work"), "prompt": prompt})
	if err != nil {
		return "", err
	}
	id, _ := made["session_id"].(string)
	return id, nil
}

// awaitUserTurns reads frames until all these sessions wait for a person.
func awaitUserTurns(ctx context.Context, t *tab, sessions ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	busy := map[string]bool{}
	for _, id := range sessions {
		busy[id] = true
	}
	for len(busy) > 0 {
		if err := t.nextFrames(ctx, func(f frame) error {
			if f.Type == "process_state" && f.State == "user_turn" {
				delete(busy, f.SessionID)
			}
			return nil
		}); err != nil {
			return fmt.Errorf("%d sessions do not come to rest: %w", len(busy), err)
		}
	}
	return nil
}

// get requests a path and returns the duration.
func (v *server) get(ctx context.Context, path string) (time.Duration, error) {
	started := time.Now()
	var body json.RawMessage
	err := v.Do(ctx, http.MethodGet, path, nil, &body)
	return time.Since(started), err
}

// gets requests a path repeatedly and returns the durations in ms.
func (v *server) gets(ctx context.Context, path string, count int) ([]float64, error) {
	var took []time.Duration
	for range count {
		d, err := v.get(ctx, path)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return inUnit(time.Millisecond, took), nil
}

// send sends commands to the stub of a session.
func (v *server) send(ctx context.Context, session, orders string) error {
	_, err := v.post(ctx, "/api/sessions/"+session+"/messages", map[string]any{"text": orders})
	return err
}

// shims returns the process ids of the shims: they are the parents of the CLIs.
func (v *server) shims(ctx context.Context) (pids []int, err error) {
	var all struct {
		Processes []struct {
			PID int `json:"pid"`
		} `json:"processes"`
	}
	if err := v.Do(ctx, http.MethodGet, "/api/processes", nil, &all); err != nil {
		return nil, err
	}
	for _, p := range all.Processes {
		if p.PID == 0 {
			continue
		}
		out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(p.PID)).Output()
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// procValue sums the values of some names in a file of /proc of a process, in the unit of
// that file.
func procValue(pid int, file string, names ...string) (sum int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		value, _, _ := strings.Cut(after(string(text), name), " ")
		n, err := strconv.Atoi(value)
		if err != nil {
			return 0, fmt.Errorf("%s of process %d: %w", name, pid, err)
		}
		sum += n
	}
	return sum, nil
}

// memory returns the resident memory of the server alone, in bytes.
func (v *server) memory() (int, error) { return residentMemory(v.PID()) }

func residentMemory(pid int) (int, error) {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, err
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(out)))
	return kib << 10, err
}

// tab is one WebSocket.
type tab struct{ conn *websocket.Conn }

func (v *server) tab(ctx context.Context) (*tab, error) {
	conn, err := v.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tab{conn}, nil
}

// frame holds the fields that the measurements read.
type frame struct {
	Type            string  `json:"type"`
	SessionID       string  `json:"session_id"`
	State           string  `json:"state"`
	Frames          []frame `json:"frames"`
	Processes       []frame `json:"processes"`
	PendingRequests []struct {
		RequestID string `json:"request_id"`
		InputHash string `json:"input_hash"`
		ToolInput struct {
			WrittenAt int64 `json:"written_at"`
		} `json:"tool_input"`
	} `json:"pending_requests"`
	Result string          `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// nextFrames calls look for each frame of the next message.
func (t *tab) nextFrames(ctx context.Context, look func(frame) error) error {
	_, message, err := t.conn.Read(ctx)
	if err != nil {
		return err
	}
	return forEachFrame(message, look)
}

// forEachFrame calls look for each frame of a message.
func forEachFrame(message []byte, look func(frame) error) error {
	var f frame
	if err := json.Unmarshal(message, &f); err != nil {
		return err
	}
	for _, inner := range append(f.Frames, f.Processes...) {
		if err := look(inner); err != nil {
			return err
		}
	}
	return look(f)
}

// subscribe subscribes the tab to the transcript of a session.
func (t *tab) subscribe(ctx context.Context, session string) error {
	return t.send(ctx, map[string]any{"type": "subscribe", "command_id": uuid.NewString(), "session_id": session, "live_append": true})
}

// discard reads and ignores frames until the connection ends.
func (t *tab) discard(ctx context.Context) {
	for {
		if _, _, err := t.conn.Read(ctx); err != nil {
			return
		}
	}
}

func (t *tab) send(ctx context.Context, v any) error {
	message, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.conn.Write(ctx, websocket.MessageText, message)
}
