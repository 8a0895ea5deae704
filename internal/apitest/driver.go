package apitest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Driver replaces the orchestrator: it records the calls it receives.
type Driver struct {
	harness   *Harness
	Mu        sync.Mutex
	done      []string // the recorded calls
	Saved     []orchestrator.SavedSession
	Writing   map[string]session.Live
	Files     map[string]orchestrator.FilePreview
	fail      error         // returned by every method while set
	BlockKill chan struct{} // if set, Kill waits until it is closed
	Claude    orchestrator.Environment
	Measured  map[string]orchestrator.Vitals // by session; set before the first call
	Printed   map[string]string              // stderr, by session; set before the first call
	Views     map[string]orchestrator.RequestViews
	Roots     workspace.Roots                  // of WorkingTree; set before the first call
	Chosen    [2]string                        // mode and model of LastChoice; set before the first call
	Offered   map[string]*orchestrator.Catalog // by session, and for "" the last; set before the first call
	Usable    *orchestrator.Tools              // nil while nothing runs
}

func (d *Driver) note(format string, args ...any) error {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.done = append(d.done, fmt.Sprintf(format, args...))
	return nil
}

func (d *Driver) Calls() []string {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return append([]string(nil), d.done...)
}

func (d *Driver) FailWith(err error) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.fail = err
}

func (d *Driver) Start(ctx context.Context, r orchestrator.StartRequest) (string, error) {
	folder := cmp.Or(r.CWD, "/w")
	if r.Permit != nil {
		if err := r.Permit(folder, r.PermissionMode); err != nil {
			return "", err
		}
	}
	if err := d.admit(ctx, "", folder, r.By.UserID); err != nil {
		return "", err
	}
	consent := ""
	if r.Consent != (orchestrator.Consent{}) {
		consent = fmt.Sprintf(" consent=%+v", r.Consent)
	}
	if err := d.note("start %s %q demo=%v%s", r.SessionID, r.Prompt, r.Demo, consent); err != nil {
		return "", err
	}
	now := time.Now()
	err := d.harness.Store.CreateSession(ctx, session.Session{
		SessionID: r.SessionID, Title: "t", CWD: folder, PermissionMode: "default", OwnerID: r.By.UserID, CreatedAt: now, UpdatedAt: now,
	})
	return r.SessionID, err
}

func (d *Driver) Send(ctx context.Context, m session.Message) error {
	s, err := d.harness.Store.Session(ctx, m.SessionID)
	if err != nil {
		return err
	}
	if err := d.admit(ctx, m.SessionID, s.CWD, s.OwnerID); err != nil {
		return err
	}
	if err := d.note("send %s %s %q %d", m.SessionID, m.MessageID, m.Text, len(m.Attachments)); err != nil {
		return err
	}
	_, err = d.harness.Store.QueueMessage(ctx, m)
	d.harness.Notifier.Notify(m.SessionID)
	return err
}

func (d *Driver) Interrupt(_ context.Context, sessionID string, _ pending.Actor) error {
	return d.note("interrupt %s", sessionID)
}

// Running implements [command.Driver]. No process ever runs.
func (d *Driver) Running(string) (session.Session, bool) { return session.Session{}, false }

func (d *Driver) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	if err := d.note("kill %s %v %s", sessionID, force, reason); err != nil {
		return err
	}
	d.Mu.Lock()
	block := d.BlockKill
	d.Mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (d *Driver) Unqueue(ctx context.Context, sessionID, messageID string) (bool, error) {
	if err := d.note("unqueue %s %s", sessionID, messageID); err != nil {
		return false, err
	}
	return d.harness.Store.RemoveQueued(ctx, messageID)
}

func (d *Driver) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	if s, err := d.harness.Store.Session(ctx, sessionID); err == nil {
		if err := d.admit(ctx, sessionID, s.CWD, s.OwnerID); err != nil {
			return err
		}
	}
	return d.note("resume %s by %s", sessionID, by.Name)
}

func (d *Driver) Fork(ctx context.Context, sessionID, messageID string, by pending.Actor, forkID string) (string, error) {
	if s, err := d.harness.Store.Session(ctx, sessionID); err == nil {
		if err := d.admit(ctx, "", s.CWD, by.UserID); err != nil {
			return "", err
		}
	}
	return forkID, d.note("%s", strings.TrimSpace("fork "+sessionID+" "+messageID))
}

func (d *Driver) Delete(ctx context.Context, sessionID string) error {
	if err := d.note("delete %s", sessionID); err != nil {
		return err
	}
	return d.harness.Store.DeleteSession(ctx, sessionID)
}

// Bounds returns the limits in the store. [Harness.UserLimits] apply to people without limits of
// their own.
func (d *Driver) Bounds(ctx context.Context) (*project.Bounds, []project.SessionUse, error) {
	b, err := project.ReadBounds(ctx, d.harness.Store, d.harness.UserLimits, time.Now())
	if err != nil {
		return nil, nil, err
	}
	states, err := d.harness.Store.ActiveProcesses(ctx)
	var taken []project.SessionUse
	for _, p := range states {
		if p.Running() {
			taken = append(taken, project.SessionUse{Folder: p.CWD, OwnerID: p.OwnerID, Memory: p.Memory})
		}
	}
	return b, taken, err
}

// admit checks the limits, as the orchestrator does before it starts a process.
func (d *Driver) admit(ctx context.Context, sessionID, folder, ownerID string) error {
	if state, err := d.harness.Store.ProcessState(ctx, sessionID); err == nil && state.Running() {
		return nil
	}
	b, taken, err := d.Bounds(ctx)
	if err != nil {
		return err
	}
	return b.AllowProcess(folder, ownerID, taken)
}

func (d *Driver) LimitsChanged() {}

// DrivenElsewhere implements [httpapi.Driver]. There is only one server.
func (d *Driver) DrivenElsewhere(string) bool { return false }

func (d *Driver) SetModel(_ context.Context, sessionID, model string) error {
	return d.note("model %s %s", sessionID, model)
}

func (d *Driver) SetPermissionMode(_ context.Context, sessionID, mode string, _ pending.Actor) error {
	return d.note("mode %s %s", sessionID, mode)
}

func (d *Driver) RevokeGrant(_ context.Context, grantID string, by pending.Actor) (orchestrator.Revocation, error) {
	return orchestrator.Revocation{Grants: 1, Asking: 2}, d.note("revoke %s by %s", grantID, by.Name)
}

func (d *Driver) RevokeAnswer(_ context.Context, requestID string, by pending.Actor) (orchestrator.Revocation, error) {
	return orchestrator.Revocation{Grants: 1}, d.note("revoke answer %s by %s", requestID, by.Name)
}

func (d *Driver) RevokeFound(_ context.Context, g pending.Grant, by pending.Actor) (orchestrator.Revocation, error) {
	return orchestrator.Revocation{Grants: 1, Files: []string{"/w/.claude/settings.json"}}, d.note("revoke found %s by %s", g.Rule, by.Name)
}

func (d *Driver) FoundGrants(context.Context) (orchestrator.Found, error) {
	g := pending.Grant{Kind: pending.GrantRule, Rule: "Bash(make *)", Scope: pending.ScopeProject, Folder: "/w"}
	return orchestrator.Found{Grants: []orchestrator.FoundGrant{{Grant: g, File: "/w/.claude/settings.json"}}}, nil
}

func (d *Driver) TrustedFolders(context.Context) ([]orchestrator.TrustedFolder, error) {
	return []orchestrator.TrustedFolder{{
		Folder: "/w", Digest: "sha256:1", By: "Ada", At: time.Unix(10, 0),
		Items: []orchestrator.FolderItem{{Kind: "hook", Danger: "runs", File: "/w/.claude/settings.json", Name: "Stop", Text: "touch a"}},
	}}, nil
}

func (d *Driver) Distrust(_ context.Context, folder, digest string, by pending.Actor) (bool, error) {
	if folder != "/w" || digest != "sha256:1" {
		return false, nil
	}
	return true, d.note("distrust %s %s by %s", folder, digest, by.Name)
}

func (d *Driver) RequestViews(ctx context.Context, sessionID string) (orchestrator.RequestViews, error) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	v, ok := d.Views[sessionID]
	if !ok {
		return v, session.ErrNotFound
	}
	return v, nil
}

func (d *Driver) Vitals(sessionID string) (orchestrator.Vitals, bool) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	v, ok := d.Measured[sessionID]
	return v, ok
}

func (d *Driver) Stderr(_ context.Context, sessionID string) string {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Printed[sessionID]
}

func (d *Driver) Live(sessionID string) (session.Live, bool) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	l, ok := d.Writing[sessionID]
	return l, ok
}

// Write makes a session stream a text.
func (d *Driver) Write(sessionID, text string) {
	d.WriteBlock(sessionID, &session.Live{Kind: session.ItemText, Text: text})
}

// WriteBlock makes a session stream a block, nil for none.
func (d *Driver) WriteBlock(sessionID string, live *session.Live) {
	d.Mu.Lock()
	if live == nil {
		delete(d.Writing, sessionID)
	} else {
		d.Writing[sessionID] = *live
	}
	d.Mu.Unlock()
	d.harness.Notifier.NotifyLive(sessionID)
}

func (d *Driver) Environment(context.Context, string) (orchestrator.Environment, error) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Claude, nil
}

func (d *Driver) Catalog(_ context.Context, sessionID string) (*orchestrator.Catalog, error) {
	return d.Offered[sessionID], nil
}

func (d *Driver) LastCatalog(context.Context, string) (*orchestrator.Catalog, error) {
	return d.Offered[""], nil
}

// PreviewFile returns the preview that a test has put into Files.
func (d *Driver) PreviewFile(_ context.Context, sessionID, path string) (orchestrator.FilePreview, error) {
	if err := d.note("look of %s at %s", sessionID, path); err != nil {
		return orchestrator.FilePreview{}, err
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	look, ok := d.Files[path]
	if !ok {
		look.State = workspace.FileMissing
	}
	return look, nil
}

// RecordExport records the call.
func (d *Driver) RecordExport(_ context.Context, s session.Session, format string, by pending.Actor) error {
	return d.note("export %s as %s by %s", s.SessionID, format, by.Name)
}

// WorkingTree returns the session's folder, which a test must have created below Roots.
func (d *Driver) WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error) {
	if err := d.note("open the folder of %s", sessionID); err != nil {
		return workingtree.Tree{}, err
	}
	s, err := d.harness.Store.Session(ctx, sessionID)
	if err != nil {
		return workingtree.Tree{}, err
	}
	return d.FolderTree(ctx, s.RunnerID, s.CWD, func(string) error { return nil }, view)
}

// FolderTree returns a folder below Roots.
func (d *Driver) FolderTree(ctx context.Context, _, cwd string, permit func(folder string) error, view workingtree.View) (workingtree.Tree, error) {
	real, err := d.Roots.Resolve(cwd)
	if err != nil {
		return workingtree.Tree{}, problem.InField("cwd", err)
	}
	if err := permit(real); err != nil {
		return workingtree.Tree{}, err
	}
	git, err := workingtree.New(workingtree.Options{
		Command: func(ctx context.Context, dir, path string, args ...string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, path, args...)
			cmd.Dir = dir
			return cmd
		},
		As:      func(f func() error) error { return f() },
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"},
	})
	if err != nil {
		return workingtree.Tree{}, err
	}
	return workingtree.Tree{Trees: git, Place: workingtree.Place{Roots: d.Roots, CWD: real, View: view}}, nil
}

// LastChoice returns [Driver.Chosen].
func (d *Driver) LastChoice(context.Context, string, string, string) (mode, model string, err error) {
	return d.Chosen[0], d.Chosen[1], nil
}

// AddWorktree creates a worktree without an audit record, and records the call and the person. So do
// MergeWorktree and RemoveWorktree.
func (d *Driver) AddWorktree(ctx context.Context, t workingtree.Tree, branch, base string, by pending.Actor) (string, error) {
	w, err := t.PlanWorktree(ctx, t.Place, branch, base)
	if err == nil {
		err = d.note("add worktree %s from %s by %s", branch, base, by.Name)
	}
	if err != nil {
		return "", err
	}
	return t.AddWorktree(ctx, t.Place, w)
}

func (d *Driver) MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (string, error) {
	m, err := t.PlanMerge(ctx, t.Place, digest)
	if err == nil {
		err = d.note("merge worktree of %s by %s", s.SessionID, by.Name)
	}
	if err != nil {
		return "", err
	}
	return t.MergeWorktree(ctx, t.Place, m)
}

func (d *Driver) RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error) {
	w, err := t.PlanRemoval(ctx, t.Place, digest)
	if err == nil {
		err = d.note("remove worktree of %s by %s", s.SessionID, by.Name)
	}
	if err != nil {
		return w, err
	}
	return t.RemoveWorktree(ctx, t.Place, w)
}

// Discard discards changes without an audit record, and records the call and the person.
func (d *Driver) Discard(ctx context.Context, s session.Session, t workingtree.Tree, path, seen string, by pending.Actor) error {
	plan, err := t.PlanDiscard(ctx, t.Place, path, seen)
	if err == nil {
		err = d.note("discard %s in %s by %s", path, s.SessionID, by.Name)
	}
	if err != nil {
		return err
	}
	return t.Discard(ctx, t.Place, plan)
}

// Commit commits without an audit record, and records the call and the person.
func (d *Driver) Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error) {
	if err := d.note("commit %v in %s by %s", paths, s.SessionID, by.Name); err != nil {
		return "", err
	}
	return t.Commit(ctx, t.Place, message, paths)
}

// Tools returns [Driver.Usable], or [orchestrator.ErrNotRunning].
func (d *Driver) Tools(context.Context, string) (orchestrator.Tools, error) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.fail != nil || d.Usable == nil {
		return orchestrator.Tools{}, cmp.Or(d.fail, orchestrator.ErrNotRunning)
	}
	return *d.Usable, nil
}

func (d *Driver) EnableServer(_ context.Context, sessionID, server string, enabled bool, by pending.Actor) error {
	return d.note("enable %s of %s: %v by %s", server, sessionID, enabled, by.Name)
}

func (d *Driver) ReconnectServer(_ context.Context, sessionID, server string, by pending.Actor) error {
	return d.note("reconnect %s of %s by %s", server, sessionID, by.Name)
}

func (d *Driver) SignInToServer(_ context.Context, sessionID, server string, by pending.Actor) (string, error) {
	return "https://sign-in.example.org/a", d.note("sign in to %s of %s by %s", server, sessionID, by.Name)
}

func (d *Driver) FinishServerSignIn(_ context.Context, sessionID, server, callback string, by pending.Actor) error {
	return d.note("finish sign in to %s of %s with %s by %s", server, sessionID, callback, by.Name)
}

// ContextUsage returns a context if [Driver.Usable] is set, or [orchestrator.ErrNotRunning].
func (d *Driver) ContextUsage(context.Context, string) (orchestrator.ContextUsage, error) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.fail != nil || d.Usable == nil {
		return orchestrator.ContextUsage{}, cmp.Or(d.fail, orchestrator.ErrNotRunning)
	}
	return orchestrator.ContextUsage{
		Tokens: 30, Window: 200, CompactsAt: 167, Categories: []orchestrator.ContextCategory{{ID: "messages", Name: "Messages", Kind: "used", Tokens: 30}},
		Limits: []orchestrator.AccountLimit{{Name: "five_hour", Percent: 12, Known: true, ResetsAt: time.Unix(10, 0)}, {Name: "overage"}},
	}, nil
}

// TurnChanges returns one changed file, from a checkpoint.
func (d *Driver) TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (orchestrator.TurnChanges, error) {
	status, err := t.TreeStatus(ctx, t.Place, workingtree.BaseHead)
	status.Changes = []workingtree.Change{{Path: "a.txt", Status: workingtree.Modified, Added: -1, Removed: -1, Version: "v"}}
	return orchestrator.TurnChanges{Status: status, Source: orchestrator.FromCheckpoints, Commands: 2},
		errors.Join(err, d.note("changes of %s since %s", s.SessionID, messageID))
}

// CompareTurn compares a file that did not exist before the turn.
func (d *Driver) CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, _ string) (workingtree.Comparison, error) {
	file, err := t.ReadTreeFile(ctx, t.Place, path, workingtree.MaxText)
	return workingtree.Comparison{Before: workingtree.Content{State: workingtree.ContentMissing}, After: file.Content, Digest: "d"}, errors.Join(err, d.note("compare %s of %s since %s", path, s.SessionID, messageID))
}

// PreviewRewind returns one file.
func (d *Driver) PreviewRewind(_ context.Context, s session.Session, _ workingtree.Tree, messageID string) (orchestrator.Rewind, error) {
	return orchestrator.Rewind{Files: []orchestrator.RewoundFile{{Path: "a.txt", Changed: true}}, Insertions: 1, Deletions: 2, Commands: 3, Digest: "d"},
		d.note("preview rewind of %s to %s", s.SessionID, messageID)
}

// Rewind restores nothing, and records the call and the person.
func (d *Driver) Rewind(_ context.Context, s session.Session, _ workingtree.Tree, messageID, digest string, by pending.Actor) error {
	return d.note("rewind %s to %s as in %s by %s", s.SessionID, messageID, digest, by.Name)
}

func (d *Driver) PermissionRules(context.Context, string) ([]orchestrator.SettingsRules, error) {
	return []orchestrator.SettingsRules{
		{Source: "user", Allow: []string{"Bash(ls:*)", "Read"}, Deny: []string{"Bash(sudo:*)"}},
		{Source: "project", Ask: []string{"Bash(git push:*)"}},
	}, nil
}

func (d *Driver) Consent(_ context.Context, sessionID string, c orchestrator.Consent, by pending.Actor) error {
	return d.note("consent %s %+v by %s", sessionID, c, by.Name)
}

func (d *Driver) SavedSessions(context.Context) ([]orchestrator.SavedSession, error) {
	return d.Saved, nil
}

func (d *Driver) SavedSession(_ context.Context, sessionID string) (orchestrator.SavedSession, error) {
	for _, s := range d.Saved {
		if s.SessionID == sessionID {
			return s, nil
		}
	}
	return orchestrator.SavedSession{}, session.ErrNotFound
}

func (d *Driver) SavedTranscript(_ context.Context, _ string, before int64) (orchestrator.SavedPage, error) {
	return orchestrator.SavedPage{Items: []session.Item{{Key: "k", Seq: 1, Rev: 1, Kind: session.ItemText, Body: []byte(`{"text":"said"}`)}}, Before: max(before-1, 0)}, nil
}

// Machines lists the runners in the store. The server's own is runner-1.
func (d *Driver) Machines(ctx context.Context, _ bool) (list []orchestrator.Machine, err error) {
	all, err := d.harness.Store.Runners(ctx)
	for _, r := range all {
		if r.RemovedAt.IsZero() {
			here := r.RunnerID == "runner-1"
			list = append(list, orchestrator.Machine{Runner: r, Here: here, Ready: here})
		}
	}
	return list, err
}

// Folders lists the folders of a server whose only root is /w.
func (d *Driver) Folders(_ context.Context, _, userID string, s workspace.Search) (workspace.Listing, error) {
	if err := d.note("folders of %s: %q hidden=%v limit=%d", userID, s.Prefix, s.Hidden, s.Limit); err != nil {
		return workspace.Listing{}, err
	}
	if s.Prefix != "" && !strings.HasPrefix(s.Prefix, "/w") {
		return workspace.Listing{}, problem.For("prefix", "folder_outside", "folder", "/etc", "roots", "/srv")
	}
	return workspace.Listing{Folders: []workspace.Folder{{Path: "/w/two", Recent: true}, {Path: "/w/one"}}, More: true}, nil
}
