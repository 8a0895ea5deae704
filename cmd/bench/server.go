package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// server is a running `sayso serve` whose CLI is the stub.
type server struct {
	*blackbox.Server
	folder string
	took   time.Duration // from exec to listening
}

// startServer starts in a folder that holds its state; the same folder again is
// a restart.
func startServer(ctx context.Context, s settings, folder string) (*server, error) {
	address, err := blackbox.FreeAddress()
	if err != nil {
		return nil, err
	}
	started, err := blackbox.Start(ctx, blackbox.Options{Path: s.sayso, Folder: folder, Address: address, Claude: s.self})
	if err != nil {
		return nil, err
	}
	return &server{Server: started, folder: folder, took: started.Listening.Sub(started.Started)}, nil
}

// stop ends the server, and the sessions that would go on without it.
func (v *server) stop() error { return errors.Join(v.Stop(), v.KillAll()) }

func (v *server) post(ctx context.Context, path string, body any) (map[string]any, error) {
	out := map[string]any{}
	return out, v.Do(ctx, http.MethodPost, path, body, &out)
}

// session starts one with a prompt and returns its id.
func (v *server) session(ctx context.Context, prompt string) (string, error) {
	made, err := v.post(ctx, "/api/sessions", map[string]any{"cwd": filepath.Join(v.folder, "work"), "prompt": prompt})
	if err != nil {
		return "", err
	}
	id, _ := made["session_id"].(string)
	return id, nil
}

// memory is what the server alone holds resident, in bytes.
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

// frame is what the measurements read of any frame.
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

// next calls see for each frame of the next message.
func (t *tab) next(ctx context.Context, see func(frame) error) error {
	_, message, err := t.conn.Read(ctx)
	if err != nil {
		return err
	}
	var f frame
	if err := json.Unmarshal(message, &f); err != nil {
		return err
	}
	for _, inner := range append(f.Frames, f.Processes...) {
		if err := see(inner); err != nil {
			return err
		}
	}
	return see(f)
}

func (t *tab) send(ctx context.Context, v any) error {
	message, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.conn.Write(ctx, websocket.MessageText, message)
}
