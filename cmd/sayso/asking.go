package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/session"
)

// askSettings are the settings of questions over MCP: the table [ask].
type askSettings struct {
	Enabled bool
	Timeout duration // 0 for no timeout
	// QuestionAnswer is answerText or answerJSON: what ask_question returns.
	QuestionAnswer string
	Folders        []folderAskSettings // [[ask.folder]] of the settings file
}

// folderAskSettings are the differing settings of a folder and its subfolders.
type folderAskSettings struct {
	Path    string    `toml:"path"`
	Enabled *bool     `toml:"enabled"` // nil: unchanged
	Timeout *duration `toml:"timeout"` // nil: unchanged
}

const (
	answerText = "text"
	answerJSON = "json"

	shortestTimeout = 30 * time.Second
	longestTimeout  = 15 * time.Minute
)

// complete validates the table and resolves its folders.
func (a *askSettings) complete() error {
	a.Folders = slices.Clone(a.Folders)
	for i := range a.Folders {
		f := &a.Folders[i]
		if !filepath.IsAbs(f.Path) {
			return fmt.Errorf("ask.folder: path %q is not absolute", f.Path)
		}
		f.Path = filepath.Clean(f.Path)
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			f.Path = real // a missing folder is used as written
		}
		if f.Timeout == nil {
			continue
		}
		if err := checkTimeout(*f.Timeout); err != nil {
			return fmt.Errorf("ask.folder %s: timeout: %w", f.Path, err)
		}
	}
	// The settings of the deepest folder apply.
	slices.SortStableFunc(a.Folders, func(x, y folderAskSettings) int { return len(x.Path) - len(y.Path) })
	return nil
}

func checkTimeout(d duration) error {
	if t := time.Duration(d); t != 0 && (t < shortestTimeout || t > longestTimeout) {
		return errors.New("use 0 for no limit, or 30s to 15m")
	}
	return nil
}

// in returns whether sessions in a folder ask over MCP, and how long a question may wait, 0
// for no limit. A timeout of the project takes precedence, unless the settings file has one
// for the folder.
func (a askSettings) in(folder string, inProject int) (enabled bool, timeout time.Duration) {
	enabled, timeout = a.Enabled, time.Duration(a.Timeout)
	switch {
	case inProject == project.AskNoTimeout:
		timeout = 0
	case inProject > 0:
		timeout = time.Duration(inProject) * time.Second
	}
	for _, f := range a.Folders {
		if folder != f.Path && !strings.HasPrefix(folder, strings.TrimSuffix(f.Path, "/")+"/") {
			continue
		}
		if f.Enabled != nil {
			enabled = *f.Enabled
		}
		if f.Timeout != nil {
			timeout = time.Duration(*f.Timeout)
		}
	}
	return enabled, timeout
}

// askPolicy decides how agents may ask, by the settings and the projects.
type askPolicy struct {
	projects func(context.Context) ([]project.Project, error)
	now      atomic.Pointer[askSettings]
}

func (p *askPolicy) set(a askSettings) { p.now.Store(&a) }

func (p *askPolicy) of(ctx context.Context, s session.Session) mcpapi.Policy {
	a := p.now.Load()
	enabled, timeout := a.in(s.CWD, p.inProject(ctx, s.InProject))
	return mcpapi.Policy{Disabled: !enabled, Timeout: timeout, BareAnswer: a.QuestionAnswer == answerText}
}

// inProject returns the timeout of a project in seconds, 0 if it has none. It also returns 0 if the
// store is unavailable, which must not prevent questions.
func (p *askPolicy) inProject(ctx context.Context, id string) int {
	if id == "" {
		return 0
	}
	all, err := p.projects(ctx)
	if err != nil {
		return 0
	}
	for _, one := range all {
		if one.ProjectID == id {
			return one.AskTimeout
		}
	}
	return 0
}

func (a askSettings) enabledIn(folder string) bool {
	enabled, _ := a.in(folder, 0)
	return enabled
}
