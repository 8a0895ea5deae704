package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// host stands for another host: a runner that dials the server over a line of its own.
type host struct {
	name, id string
	options  blackbox.Options
	line     *line
	token    string // file
	cmd      *exec.Cmd
	exited   chan struct{}
}

// openHosts starts the runners of the run, and waits until the server can use them.
func (h *harness) openHosts(ctx context.Context) error {
	for n := range h.runners {
		r := &host{name: fmt.Sprintf("runner-%d", n+1), options: h.options}
		r.options.Folder = filepath.Join(h.folder, r.name)
		if err := os.MkdirAll(r.options.Work(), 0o700); err != nil {
			return err
		}
		var made struct {
			RunnerID string `json:"runner_id"`
			Token    string `json:"token"`
		}
		if err := h.admin.Do(ctx, http.MethodPost, "/api/runners", map[string]any{"name": r.name}, &made); err != nil {
			return err
		}
		r.id, r.token = made.RunnerID, filepath.Join(r.options.Folder, "token")
		if err := os.WriteFile(r.token, []byte(made.Token+"\n"), 0o600); err != nil {
			return err
		}
		var err error
		if r.line, err = newLine(h.options.Address); err != nil {
			return err
		}
		h.hosts = append(h.hosts, r)
		if err := r.start(); err != nil {
			return err
		}
	}
	for began := time.Now(); ; {
		ready, err := h.connected(ctx)
		if err != nil || ready == len(h.hosts) {
			return err
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("the server can use %d of %d runners after a minute", ready, len(h.hosts))
		}
		if err := pause(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// connected returns how many runners the server can use.
func (h *harness) connected(ctx context.Context) (n int, err error) {
	var list struct {
		Runners []struct {
			RunnerID string    `json:"runner_id"`
			Load     *struct{} `json:"load"`
		} `json:"runners"`
	}
	if err := h.admin.Do(ctx, http.MethodGet, "/api/runners", nil, &list); err != nil {
		return 0, err
	}
	for _, r := range list.Runners {
		for _, host := range h.hosts {
			if r.RunnerID == host.id && r.Load != nil {
				n++
			}
		}
	}
	return n, nil
}

// start starts the program of the runner.
func (r *host) start() error {
	log, err := os.OpenFile(filepath.Join(r.options.Folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(r.options.Path, "runner", "--connect", r.line.url(), "--token-file", r.token,
		"--state-dir", r.options.StateDir(), "--workspace-root", r.options.Work(), "--claude", r.options.Claude)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.options.Folder, "ANTHROPIC_API_KEY=none"}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as for the server
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(exited)
	}()
	r.cmd, r.exited = cmd, exited
	return nil
}

// kill kills the program, but none of its shims.
func (r *host) kill() error {
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-r.exited
	return nil
}

// close ends the program and its line. Nothing of its sessions may be left.
func (r *host) close() error {
	err := errors.Join(r.kill(), r.line.close())
	return errors.Join(err, r.options.KillAll())
}
