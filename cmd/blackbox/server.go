// Package blackbox starts the built server as a process and uses it only over HTTP and the
// WebSocket, with a token. cmd/torture, cmd/bench and the tests of cmd/sayso use it.
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
	startTimeout = 20 * time.Second
	stopTimeout  = 30 * time.Second
)

// Options configures a server.
type Options struct {
	Path     string   // of the program sayso
	Folder   string   // contains the state, the work folder and the log; another Start with it is a restart
	Address  string   // host:port on loopback
	Claude   string   // path of the CLI
	Settings []string // additional flags of serve
	Environ  []string // KEY=value, added to the environment of every server
}

// Work returns the workspace root.
func (o Options) Work() string { return filepath.Join(o.Folder, "work") }

// StateDir returns the state folder.
func (o Options) StateDir() string { return filepath.Join(o.Folder, "state") }

// Server is a running `sayso serve`.
type Server struct {
	Client
	Started   time.Time // just before exec
	Listening time.Time // when it first responded
	options   Options
	cmd       *exec.Cmd
	exited    chan struct{} // closed once err is set
	err       error
}

// Ports from which FreeAddress chooses, which are below the kernel's ephemeral ports.
const firstPort, ports = 20000, 12000

// portsTried counts the ports that were tried.
var portsTried atomic.Int64

// FreeAddress returns an address with a free port. No outgoing connection uses the port while the
// server is down, and no other call in this process has returned it.
func FreeAddress() (string, error) {
	var err error
	for range ports {
		port := firstPort + (int64(os.Getpid())*37+portsTried.Add(1))%ports
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("no port is free: %w", err)
}

// Start starts a server and returns when it responds. Of this process's environment, it
// inherits only PATH.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // this process handles an interrupt at the terminal
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
	// A kept-alive connection could belong to a server that has been killed since.
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
			return fmt.Errorf("the server exited (%v) before it responded; its log ends with:\n%s", s.err, s.LogTail())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
		if time.Since(s.Started) > startTimeout {
			return fmt.Errorf("the server does not respond within %s; its log ends with:\n%s", startTimeout, s.LogTail())
		}
	}
}

// PID returns the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has exited.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Kill kills the server, but none of its children, and waits until it has exited. It
// returns no error if the server has already exited.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return nil
}

// Stop sends SIGTERM and waits for the server to exit. It kills it after stopTimeout.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
		return s.err
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("the server did not stop within %s", stopTimeout), s.Kill())
	}
}

// KillAll runs `sayso kill-all`, which ends the sessions of a stopped server.
func (o Options) KillAll() error {
	cmd := exec.Command(o.Path, "kill-all", "--state-dir", o.StateDir())
	cmd.Env = o.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kill-all: %w: %s", err, out)
	}
	return nil
}

// KillAll calls [Options.KillAll].
func (s *Server) KillAll() error { return s.options.KillAll() }

func (o Options) environ() []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Folder, "ANTHROPIC_API_KEY=none", "SAYSO_BOOTSTRAP_TOKEN=" + Token}, o.Environ...)
}

func (o Options) log() string { return filepath.Join(o.Folder, "log") }

// LogTail returns the last 4 KiB of the server's log.
func (s *Server) LogTail() string {
	const size = 4 << 10
	text, err := os.ReadFile(s.options.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-size):])
}
