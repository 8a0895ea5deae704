// Package blackbox starts the real server as a process of its own and speaks to
// it as a stranger does: over HTTP and the WebSocket, with a token. The programs
// that look at sayso from outside share it.
package blackbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Token is the admin's token on every server of this package.
const Token = "a-token-for-black-box-programs-only"

const (
	startPatience = 20 * time.Second
	stopPatience  = 30 * time.Second
)

// Options says how a server is started.
type Options struct {
	Path     string   // of sayso
	Folder   string   // keeps state, work and log; the same folder again is a restart
	Address  string   // host:port on loopback
	Claude   string   // path of the CLI
	Settings []string // further flags of serve
	Environ  []string // KEY=value, beside what every server gets
}

// Work is the folder in which sessions may work.
func (o Options) Work() string { return filepath.Join(o.Folder, "work") }

// StateDir is the folder that the server keeps its state in.
func (o Options) StateDir() string { return filepath.Join(o.Folder, "state") }

// Server is a running `sayso serve`.
type Server struct {
	Client
	Started   time.Time // just before it was executed
	Listening time.Time // when it first answered
	options   Options
	cmd       *exec.Cmd
	exited    chan struct{} // closed once err is set
	err       error
}

// ports are those that FreeAddress may give away, below those that the kernel
// gives away by itself.
const firstPort, ports = 20000, 12000

// given counts the ports that were tried.
var given atomic.Int64

// FreeAddress finds a port that is free, that no outgoing connection takes while
// the server on it is down, and that no other call has given.
func FreeAddress() (string, error) {
	var err error
	for range ports {
		port := firstPort + (int64(os.Getpid())*37+given.Add(1))%ports
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("no port is free: %w", err)
}

// Start starts a server and returns once it answers. Its environment holds
// nothing of this process's but PATH.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := os.MkdirAll(o.Work(), 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(o.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{"serve", "--listen", o.Address, "--state-dir", o.StateDir(),
		"--workspace-root", o.Work(), "--claude", o.Claude}, o.Settings...)
	cmd := exec.Command(o.Path, args...)
	cmd.Env = o.environ()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is ours to handle
	s := &Server{
		Client:  Client{URL: "http://" + o.Address, Token: Token},
		Started: time.Now(), options: o, cmd: cmd, exited: make(chan struct{}),
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.err = cmd.Wait()
		close(s.exited)
	}()
	if err := s.awaitAnswer(ctx); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

func (s *Server) awaitAnswer(ctx context.Context) error {
	// A connection that is kept would be one to a server that is dead by then.
	probe := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if answer, err := probe.Get(s.URL + "/healthz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				s.Listening = time.Now()
				return nil
			}
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server exited (%v) before it answered; it said:\n%s", s.err, s.LastWords())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
		if time.Since(s.Started) > startPatience {
			return fmt.Errorf("the server does not answer within %s; it said:\n%s", startPatience, s.LastWords())
		}
	}
}

// PID is the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited is closed when the server is gone, whoever ended it.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Kill ends the server with SIGKILL, it and nothing else, and waits until it is
// gone. It is no error that it was.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return nil
}

// Stop asks the server to end and waits for it, in the end with force.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		return s.err
	case <-time.After(stopPatience):
		return errors.Join(fmt.Errorf("the server did not stop within %s", stopPatience), s.Kill())
	}
}

// KillAll ends the sessions that go on without the server, by sayso itself, once
// the server is stopped.
func (o Options) KillAll() error {
	cmd := exec.Command(o.Path, "kill-all", "--state-dir", o.StateDir())
	cmd.Env = o.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kill-all: %w: %s", err, out)
	}
	return nil
}

// KillAll is that of the server's options.
func (s *Server) KillAll() error { return s.options.KillAll() }

func (o Options) environ() []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Folder, "ANTHROPIC_API_KEY=none", "SAYSO_BOOTSTRAP_TOKEN=" + Token}, o.Environ...)
}

func (o Options) log() string { return filepath.Join(o.Folder, "log") }

// LastWords is the end of the server's log.
func (s *Server) LastWords() string {
	const enough = 4 << 10
	text, err := os.ReadFile(s.options.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-enough):])
}
