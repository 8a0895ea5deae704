package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// host stands for another host: a runner that dials each server over a separate line.
type host struct {
	name, id string
	options  blackbox.Options
	lines    []*line // to each server
	token    string  // file
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
		h.hosts = append(h.hosts, r)
		for _, c := range h.clients() {
			l, err := newLine(strings.TrimPrefix(c.URL, "http://"))
			if err != nil {
				return err
			}
			r.lines = append(r.lines, l)
		}
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

// connected returns how many runners a server can use.
func (h *harness) connected(ctx context.Context) (int, error) {
	usable := map[string]bool{}
	for _, c := range h.clients() {
		var list struct {
			Runners []struct {
				RunnerID string    `json:"runner_id"`
				Load     *struct{} `json:"load"`
			} `json:"runners"`
		}
		if err := c.Do(ctx, http.MethodGet, "/api/runners", nil, &list); err != nil {
			return 0, err
		}
		for _, r := range list.Runners {
			for _, host := range h.hosts {
				if r.RunnerID == host.id && r.Load != nil {
					usable[host.id] = true
				}
			}
		}
	}
	return len(usable), nil
}

// twin is a server beside the first one, with which it shares the database.
type twin struct {
	name    string
	options blackbox.Options
	client  blackbox.Client
	server  *blackbox.Server
}

// openLines opens the lines from the servers of the run to PostgreSQL, and those over which servers reach
// each other. It returns the addresses at which servers are reached, by those at which they listen.
func (h *harness) openLines() (reached map[string]string, err error) {
	if h.quiet, err = newQuietProxy(h.postgres.DSN()); err != nil {
		return nil, err
	}
	reached = map[string]string{}
	for range h.servers {
		toDatabase, err := newLine(h.quiet.address())
		if err != nil {
			return nil, err
		}
		h.toDatabase = append(h.toDatabase, toDatabase)
		listens, err := blackbox.FreeAddress()
		if err != nil {
			return nil, err
		}
		toServer, err := newLine(listens)
		if err != nil {
			return nil, err
		}
		h.toServers = append(h.toServers, toServer)
		reached[listens] = toServer.address()
	}
	return reached, nil
}

// settingsOf returns the settings of server n, counted from 0, in a run with runners and PostgreSQL.
func (h *harness) settingsOf(n int) []string {
	name := fmt.Sprintf("server-%d", n+1)
	return []string{"--node-id", name, "--cluster-listen", h.toServers[n].to, "--database", h.quiet.through(h.toDatabase[n], name)}
}

// openTwins starts the other servers of the run.
func (h *harness) openTwins(ctx context.Context) error {
	for n := 2; n <= h.servers; n++ {
		w := &twin{name: fmt.Sprintf("server-%d", n), options: h.options}
		w.options.Folder = filepath.Join(h.folder, w.name)
		w.options.Settings = h.settingsOf(n - 1)
		var err error
		if w.options.Address, err = blackbox.FreeAddress(); err != nil {
			return err
		}
		w.client = blackbox.Client{URL: "http://" + w.options.Address, Token: blackbox.Token}
		if err := w.start(ctx); err != nil {
			return err
		}
		h.twins = append(h.twins, w)
	}
	return nil
}

// start starts the server.
func (w *twin) start(ctx context.Context) (err error) {
	w.server, err = blackbox.Start(ctx, w.options)
	return err
}

// start starts the program of the runner.
func (r *host) start() error {
	log, err := os.OpenFile(filepath.Join(r.options.Folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"runner", "--token-file", r.token,
		"--state-dir", r.options.StateDir(), "--workspace-root", r.options.Work(), "--claude", r.options.Claude}
	for _, l := range r.lines {
		args = append(args, "--connect", l.url())
	}
	cmd := exec.Command(r.options.Path, args...)
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

// pid returns the process of the program.
func (r *host) pid() int { return r.cmd.Process.Pid }

// kill kills the program, but none of its shims.
func (r *host) kill() error {
	if err := r.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-r.exited
	return nil
}

// close ends the program, its lines, and everything that is left of its sessions.
func (r *host) close() error {
	err := r.kill()
	for _, l := range r.lines {
		err = errors.Join(err, l.close())
	}
	return errors.Join(err, r.options.KillAll())
}
