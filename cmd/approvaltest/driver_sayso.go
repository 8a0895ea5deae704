package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// saysoHost is a built sayso server; its driver uses REST.
type saysoHost struct {
	host
	ctx    context.Context // ends with the host
	stop   context.CancelFunc
	polled chan struct{} // closed when poll has returned
	start  blackbox.Options

	mu       sync.Mutex
	server   *blackbox.Server
	down     bool              // the server is being restarted
	sessions map[string]string // ids by folder
	newest   string            // id of the watched session; "" when its CLI has exited
	open     map[string]saysoRequest
}

type saysoRequest struct {
	RequestID   string          `json:"request_id"`
	RequestType string          `json:"request_type"`
	InputHash   string          `json:"input_hash"`
	Status      string          `json:"status"`
	ToolName    string          `json:"tool_name"`
	ToolInput   json.RawMessage `json:"tool_input"`
}

// pollPeriod is the interval at which the list of requests is read.
const pollPeriod = 15 * time.Millisecond

func startSayso(ctx context.Context, path string, h host) (driver, error) {
	version, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s version: %w", path, err)
	}
	name, _, _ := strings.Cut(string(version), "\n")
	address, err := blackbox.FreeAddress()
	if err != nil {
		return nil, err
	}
	options := blackbox.Options{Path: path, Folder: h.work, Address: address, Claude: h.claude}
	server, err := blackbox.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	s := &saysoHost{host: h, start: options, server: server, polled: make(chan struct{}), sessions: map[string]string{}, open: map[string]saysoRequest{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	h.events(event{Event: "ready", Host: name})
	go s.poll()
	return s, nil
}

// poll reads the list of requests until the host ends.
func (s *saysoHost) poll() {
	defer close(s.polled)
	for {
		s.mu.Lock()
		server, down := s.server, s.down
		s.mu.Unlock()
		if !down {
			s.readState(server)
		}
		exited := server.Exited()
		if down {
			exited = nil
		}
		select {
		case <-s.ctx.Done():
			return
		case <-exited:
			if s.reportFailure(server) {
				return
			}
		case <-time.After(pollPeriod):
		}
	}
}

// reportFailure sends the event that a server has ended, unless it is being or has been restarted.
// It reports whether it has sent the event.
func (s *saysoHost) reportFailure(server *blackbox.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.server != server {
		return false
	}
	s.events(event{Event: "failed", Text: "the server has ended: " + server.LogTail()})
	return true
}

// readState reads the open requests of a server and the state of its newest session.
func (s *saysoHost) readState(server *blackbox.Server) {
	var list struct {
		PendingRequests []saysoRequest `json:"pending_requests"`
	}
	if err := server.Do(s.ctx, http.MethodGet, "/api/pending", nil, &list); err != nil {
		return
	}
	s.show(server, list.PendingRequests)
	s.reportExit(server)
}

// restart kills the server and starts it again.
func (s *saysoHost) restart() error {
	s.mu.Lock()
	server := s.server
	s.down = true
	clear(s.open)
	s.mu.Unlock()
	if err := server.Kill(); err != nil {
		return err
	}
	again, err := blackbox.Start(s.ctx, s.start)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server, s.down = again, false
	return nil
}

// reportExit sends an event if the CLI of the newest session has exited.
func (s *saysoHost) reportExit(server *blackbox.Server) {
	s.mu.Lock()
	id := s.newest
	s.mu.Unlock()
	if id == "" {
		return
	}
	var session struct {
		ProcessState struct {
			State string `json:"state"`
		} `json:"process_state"`
	}
	if err := server.Do(s.ctx, http.MethodGet, "/api/sessions/"+id, nil, &session); err != nil || session.ProcessState.State != "dead" {
		return
	}
	s.mu.Lock()
	s.newest = ""
	s.mu.Unlock()
	s.events(event{Event: "ended"})
}

func (s *saysoHost) show(server *blackbox.Server, all []saysoRequest) {
	now := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.server != server {
		return // the list is from the previous server
	}
	for _, r := range all {
		if r.Status != "open" {
			continue // its process has ended
		}
		now[r.RequestID] = true
		if _, known := s.open[r.RequestID]; !known {
			s.open[r.RequestID] = r
			s.events(event{Event: "asked", Key: r.RequestID, Tool: r.ToolName, Input: r.ToolInput})
		}
	}
	for id := range s.open {
		if !now[id] {
			delete(s.open, id)
			s.events(event{Event: "withdrawn", Key: id})
		}
	}
}

func (s *saysoHost) do(a action) error {
	s.mu.Lock()
	server, id, request := s.server, s.sessions[a.Dir], s.open[a.Key]
	s.mu.Unlock()
	body := map[string]any{"command_id": uuid.NewString()}
	path := "/api/sessions/" + id
	switch a.Do {
	case "prompt":
		if id == "" {
			body["cwd"], body["prompt"] = a.Dir, a.Text
			var made struct {
				SessionID string `json:"session_id"`
			}
			err := server.Do(s.ctx, http.MethodPost, "/api/sessions", body, &made)
			s.mu.Lock()
			s.sessions[a.Dir], s.newest = made.SessionID, made.SessionID
			s.mu.Unlock()
			return err
		}
		body["text"] = a.Text
		return server.Do(s.ctx, http.MethodPost, path+"/messages", body, nil)
	case "resume":
		return server.Do(s.ctx, http.MethodPost, path+"/resume", body, nil) // the turn continues by itself
	case "answer":
		body["request_type"], body["input_hash"], body["decision"] = request.RequestType, request.InputHash, "deny"
		if a.Allow {
			body["decision"] = "allow"
		} else {
			body["message"] = a.Message
		}
		if a.Input != nil {
			body["updated_input"] = a.Input
		}
		if request.RequestType == "" {
			body["request_type"] = "tool_approval" // the request is gone, which the server reports
		}
		err := server.Do(s.ctx, http.MethodPost, "/api/pending/"+a.Key+"/response", body, nil)
		var refused *blackbox.StatusError
		if errors.As(err, &refused) {
			return nil // too late, which the server reports to the person
		}
		return err
	case "restart":
		return s.restart()
	case "interrupt":
		return server.Do(s.ctx, http.MethodPost, path+"/interrupt", body, nil)
	case "end":
		body["force"] = true
		err := server.Do(s.ctx, http.MethodPost, path+"/kill", body, nil)
		var refused *blackbox.StatusError
		if errors.As(err, &refused) {
			return nil // it has already ended
		}
		return err
	}
	return fmt.Errorf("cannot %s", a.Do)
}

func (s *saysoHost) close() error {
	s.stop()
	<-s.polled
	return errors.Join(s.server.Stop(), s.server.KillAll())
}
