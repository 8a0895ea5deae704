package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
)

// reloader reloads the settings that may change while the server runs, at each SIGHUP.
type reloader struct {
	app   *app
	leave func() // ends the server
}

// catchHangups keeps SIGHUP from ending the process until stop is called. attended reports whether
// the process has a terminal and was not started with SIGHUP ignored, as by nohup.
func catchHangups() (hangups <-chan os.Signal, attended bool, stop func()) {
	attended = !signal.Ignored(syscall.SIGHUP) && terminal()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, attended, func() { signal.Stop(c) }
}

// terminal reports whether the process has a controlling terminal.
func terminal() bool {
	tty, err := os.Open("/dev/tty")
	if err == nil {
		tty.Close()
	}
	return err == nil
}

// Run reloads at every SIGHUP until ctx ends. When the terminal that started the server has
// gone, it calls leave.
func (r *reloader) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.app.in.hangups:
		}
		if r.app.in.attended && !terminal() {
			r.app.log.InfoContext(ctx, "the terminal was closed")
			r.leave()
			return nil
		}
		r.reload(ctx)
	}
}

// reload applies all settings, or none when one is invalid.
func (r *reloader) reload(ctx context.Context) {
	a := r.app
	end, err := a.runtime.beginApplying(ctx)
	if err != nil {
		return
	}
	defer end()
	read, _, err := readSettings(a.in.verb(), a.in.args, a.in.getenv)
	next := read
	var rules orchestrator.Rules
	if err == nil {
		next = a.runtime.withChanges(read)
		rules, err = rulesOf(next)
	}
	var level slog.Level
	if err == nil {
		level, err = levelOf(next)
	}
	if err == nil && a.certificate != nil {
		err = a.certificate.read()
	}
	if err != nil {
		a.log.ErrorContext(ctx, "settings not reloaded; the previous ones stay in effect", "error", err)
		return
	}
	a.runtime.replaceBase(a.settings.reloaded(read))
	a.apply(rules, next.Ask)
	a.edge.SetAllowedHosts(next.AllowedHosts)
	a.level.Set(level)
	if names := settingsThatDiffer(a.read, next); len(names) > 0 {
		a.log.WarnContext(ctx, "changed settings that need a restart", "settings", strings.Join(names, ", "))
	}
	a.log.InfoContext(ctx, "settings reloaded")
}

// reloaded returns s with the values from read for the settings that a reload applies. The others
// keep the values that the server uses.
func (s settings) reloaded(read settings) settings {
	now := read
	for _, r := range settingsTable {
		if !r.reload {
			r.copy(&now, s)
		}
	}
	now.proxies, now.file, now.open, now.named = s.proxies, s.file, s.open, s.named
	return now
}

// settingsIn returns the folders whose own settings Claude may load, nil for all.
func settingsIn(s settings) (workspace.Roots, error) {
	if len(s.TrustedFolders) == 0 {
		return nil, nil
	}
	folders := workspace.Roots{}
	if slices.Equal(s.TrustedFolders, []string{"none"}) {
		return folders, nil
	}
	for _, folder := range s.TrustedFolders {
		path, err := filepath.Abs(folder)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-folder: %w", err)
		}
		folders = append(folders, path)
	}
	return folders, nil
}

// rulesOf returns the rules of sessions in the settings.
func rulesOf(s settings) (orchestrator.Rules, error) {
	roots, err := workspace.NewRoots(s.WorkspaceRoots)
	if err != nil {
		return orchestrator.Rules{}, err
	}
	limits := orchestrator.DefaultLimits()
	limits.Idle, limits.Silent = time.Duration(s.IdleLimit), time.Duration(s.SilentLimit)
	each := project.Limits{Sessions: s.UserSessions, Memory: uint64(s.UserMemory) << 20, Cost: s.UserCost}
	limits.Absolute, limits.Start = time.Duration(s.AbsoluteLimit), time.Duration(s.StartLimit)
	return orchestrator.Rules{Roots: roots, Limits: limits, EachPerson: each, ResumeOnAnswer: s.ResumeOnAnswer, AsksIn: s.Ask.enabledIn}, nil
}
