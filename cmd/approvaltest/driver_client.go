package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
)

// clientHost is the smallest possible host: it consists only of package claude.
type clientHost struct {
	host
	ctx  context.Context // ends with the host
	stop context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*clientSession // by folder
	answers  map[string]chan<- action  // by key
}

type clientSession struct {
	id     string
	client *claude.Client
}

func startClient(ctx context.Context, h host) (driver, error) {
	c := &clientHost{host: h, sessions: map[string]*clientSession{}, answers: map[string]chan<- action{}}
	c.ctx, c.stop = context.WithCancel(ctx)
	h.events(event{Event: "ready", Host: "claude.Client of this repository", Cannot: []string{"restart"}})
	return c, nil
}

func (c *clientHost) do(a action) error {
	c.mu.Lock()
	s, answer := c.sessions[a.Dir], c.answers[a.Key]
	c.mu.Unlock()
	switch a.Do {
	case "prompt":
		if s == nil {
			return c.begin(a, uuid.NewString(), false)
		}
		return s.client.SendUser(c.ctx, claude.UserMessage{Text: a.Text})
	case "resume":
		return c.begin(a, s.id, true)
	case "answer":
		if answer != nil {
			select {
			case answer <- a:
			default: // the person has already answered
			}
		}
		return nil
	case "interrupt":
		c.work.Go(func() { _ = s.client.Interrupt(c.ctx) }) // if the CLI has exited, there is an event
		return nil
	case "end":
		if s != nil {
			s.client.Close()
		}
		return nil
	}
	return fmt.Errorf("cannot %s", a.Do)
}

// begin starts a CLI and sends its first message.
func (c *clientHost) begin(a action, id string, resume bool) error {
	o := claude.Options{Path: c.claude, Dir: a.Dir, PermissionMode: "default", CanUseTool: c.ask}
	if resume {
		o.Resume = id
	} else {
		o.SessionID = id
	}
	command, err := o.Command(claude.Environ(os.Environ(), a.Dir, nil))
	if err != nil {
		return err
	}
	p, err := claude.StartProcess(command)
	if err != nil {
		return err
	}
	s := &clientSession{id: id, client: claude.NewClient(p, o)}
	c.mu.Lock()
	c.sessions[a.Dir] = s
	c.mu.Unlock()
	c.work.Go(func() {
		_ = s.client.Run(c.ctx) // the person does not see how it ended
		_ = p.Kill()
		_ = p.Wait()
		c.events(event{Event: "ended"})
	})
	c.work.Go(func() {
		if _, err := s.client.Initialize(c.ctx, claude.InitializeRequest{}); err == nil {
			_ = s.client.SendUser(c.ctx, claude.UserMessage{Text: a.Text})
		}
	})
	return nil
}

func (c *clientHost) ask(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
	key, answer := uuid.NewString(), make(chan action, 1)
	c.mu.Lock()
	c.answers[key] = answer
	c.mu.Unlock()
	c.events(event{Event: "asked", Key: key, Tool: r.ToolName, Input: r.Input})
	select {
	case a := <-answer:
		d := claude.ToolDecision{Allow: a.Allow, Message: a.Message}
		if a.Input != nil {
			input, err := json.Marshal(a.Input)
			if err != nil {
				return claude.ToolDecision{}, err
			}
			d.UpdatedInput = input
		}
		return d, nil
	case <-ctx.Done():
		c.events(event{Event: "withdrawn", Key: key})
		return claude.ToolDecision{}, errors.Join(claude.ErrNoAnswer, context.Cause(ctx))
	}
}

func (c *clientHost) close() error {
	c.stop()
	c.work.Wait()
	return nil
}
