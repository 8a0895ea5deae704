package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// action is what the person does in the host. Drivers that are programs receive it as JSON.
type action struct {
	// Do is prompt (start a session in Dir with Text, or send Text to it), answer, interrupt,
	// resume (the CLI has exited: start it again for the session), restart (kill the host but not
	// its CLIs, and start it again) or end (the session).
	Do      string `json:"do"`
	Dir     string `json:"dir"` // identifies the session
	Text    string `json:"text,omitempty"`
	Key     string `json:"key,omitempty"`
	Allow   bool   `json:"allow,omitempty"`
	Input   any    `json:"input,omitempty"` // the input to run instead; absent for the proposed input
	Message string `json:"message,omitempty"`
}

// event is what the host shows to the person.
type event struct {
	// Event is ready (with Host and Cannot), asked (with Key and Input), withdrawn (the request is
	// no longer shown), ended (the CLI has exited) or failed (the host itself has failed).
	Event string          `json:"event"`
	Key   string          `json:"key,omitempty"` // of the request, chosen by the driver
	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	Text  string          `json:"text,omitempty"`
	// Host is the name and version of the host.
	Host string `json:"host,omitempty"`
	// Cannot lists the actions and events that the host does not support, and the unsupported
	// parts of decisions: input (approving a different input), message (a reason for a denial).
	Cannot []string `json:"cannot,omitempty"`
}

// driver plays the person at a host. do does not wait for the effects, which arrive as events.
type driver interface {
	do(a action) error
	// close ends the host.
	close() error
}

// host contains what a driver needs to start its host.
type host struct {
	claude string // the path of the CLI
	work   string // the folder above those of all sessions
	events func(event)
}

// starter starts a driver, which sends the event ready when its host is ready.
type starter func(ctx context.Context, h host) (driver, error)

// starterOf returns the starter for the host that the arguments of the program select.
func starterOf(name string, args []string) (starter, error) {
	switch {
	case name == "client" && len(args) == 0:
		return startClient, nil
	case name == "sayso" && len(args) == 1:
		return func(ctx context.Context, h host) (driver, error) { return startSayso(ctx, args[0], h) }, nil
	case name == "driver" && len(args) > 0:
		return func(_ context.Context, h host) (driver, error) { return startProgram(args, h) }, nil
	}
	return nil, errUsage
}

// startHost starts a driver and waits until it is ready.
func startHost(ctx context.Context, s starter, h host) (d driver, ready event, err error) {
	first := make(chan event, 1)
	var once sync.Once
	given := h.events
	h.events = func(e event) {
		if e.Event == "ready" || e.Event == "failed" {
			once.Do(func() { first <- e })
		}
		given(e)
	}
	if d, err = s(ctx, h); err != nil {
		return nil, event{}, err
	}
	select {
	case ready = <-first:
	case <-time.After(defaultPatience):
		err = errors.New("the driver is not ready")
	}
	if ready.Event == "failed" {
		err = fmt.Errorf("the driver has failed: %s", ready.Text)
	}
	if err != nil {
		return nil, event{}, errors.Join(err, d.close())
	}
	return d, ready, nil
}

// program is a driver in a separate program, which reads actions and writes events, each as a line
// of JSON. The variable APPROVALTEST_CLAUDE contains the path of the CLI.
type program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	mu    sync.Mutex
	done  chan struct{}
	ended error // set before done is closed
}

// maxStderr is how many bytes at the end of a driver's stderr are reported.
const maxStderr = 4 << 10

func startProgram(args []string, h host) (driver, error) {
	log, err := os.Create(filepath.Join(h.work, "driver.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &program{cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "APPROVALTEST_CLAUDE="+h.claude)
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadBytes('\n')
			var e event
			if len(line) > 0 && json.Unmarshal(line, &e) == nil && e.Event != "" {
				h.events(e)
			}
			if err != nil {
				break
			}
		}
		p.ended = p.cmd.Wait()
		h.events(event{Event: "failed", Text: fmt.Sprintf("it ended: %v: %s", p.ended, tail(log.Name()))})
	}()
	return p, nil
}

func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-maxStderr):])
}

func (p *program) do(a action) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.in.Write(append(line, '\n'))
	return err
}

// closeTimeout bounds how long a driver may take to exit before it is killed.
const closeTimeout = 5 * time.Second

func (p *program) close() error {
	p.mu.Lock()
	_ = p.in.Close()
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-time.After(closeTimeout):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
	return nil
}
