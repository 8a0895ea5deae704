package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/grants"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Revocation says what taking a grant back has changed.
type Revocation struct {
	Grants int      // that were in force and are not any more
	Files  []string // from which it was taken
	Asking int      // running processes that ask again from now on
	// Until are sentences about where it holds on for a while, and for how long.
	Until []string
}

func (r *Revocation) add(more Revocation) {
	r.Grants += more.Grants
	r.Asking = max(r.Asking, more.Asking)
	r.Files = append(r.Files, more.Files...)
	r.Until = append(r.Until, more.Until...)
}

// RevokeGrant takes a grant of an answer back: from the settings file that it is
// in, from the processes that run, and from what is in force. Again it changes
// nothing. [pending.ErrNotFound] when there is no such grant.
func (o *Orchestrator) RevokeGrant(ctx context.Context, grantID string, by pending.Actor) (Revocation, error) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{GrantID: grantID, All: true})
	if err == nil && len(list) == 0 {
		err = pending.ErrNotFound
	}
	if err != nil {
		return Revocation{}, fmt.Errorf("orchestrator: revoke grant %s: %w", grantID, err)
	}
	if !list[0].RevokedAt.IsZero() {
		return Revocation{}, nil
	}
	return o.revoke(ctx, list[0], by)
}

// RevokeAnswer takes back all that was granted together with the answer to a
// request.
func (o *Orchestrator) RevokeAnswer(ctx context.Context, requestID string, by pending.Actor) (done Revocation, err error) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{RequestID: requestID})
	if err != nil {
		return Revocation{}, fmt.Errorf("orchestrator: revoke the grants of request %s: %w", requestID, err)
	}
	for _, g := range list {
		one, err := o.revoke(ctx, g, by)
		if err != nil {
			return done, err
		}
		done.add(one)
	}
	return done, nil
}

// RevokeFound takes a rule or a folder back that stands in a settings file and
// was not granted here. Errors are [pending.ErrNotFound] and an [InvalidError].
func (o *Orchestrator) RevokeFound(ctx context.Context, g pending.Grant, by pending.Actor) (Revocation, error) {
	found, err := o.FoundGrants(ctx)
	if err != nil {
		return Revocation{}, err
	}
	for _, f := range found.Grants {
		if f.Kind == g.Kind && f.Rule == g.Rule && f.Scope == g.Scope && f.Folder == g.Folder {
			f.At = time.Now()
			return o.revoke(ctx, f.Grant, by)
		}
	}
	return Revocation{}, fmt.Errorf("orchestrator: revoke what a file grants: %w", pending.ErrNotFound)
}

// revoke goes from the file to the processes to the store: what dies in between
// is done again by whoever asks again.
func (o *Orchestrator) revoke(ctx context.Context, g pending.Grant, by pending.Actor) (done Revocation, err error) {
	if done.Files, err = o.settingsFiles().Remove(ctx, g); err != nil {
		return done, &InvalidError{Field: "grant", Sentence: fmt.Sprintf("The rule could not be taken out of a settings file, so it holds on: %v.", err)}
	}
	now := time.Now()
	for _, p := range o.processesObeying(g) {
		asks, err := p.revoke(ctx, g)
		switch {
		case err != nil && !errors.Is(err, ErrNotRunning):
			p.log.WarnContext(ctx, "cannot make Claude ask again at once", "rule", g.Rule, "error", err)
			done.Until = append(done.Until, "A running session could not be told. It may go by this rule until its process ends.")
		case asks:
			done.Asking++
		case err == nil && g.Kind == pending.GrantDirectory:
			done.Until = append(done.Until, "A running session may work in this folder until you next approve something in it, or its process ends.")
		}
	}
	if g.Scope == pending.ScopeSession && g.ProcessID == "" {
		done.Until = append(done.Until, "It was given to a Claude that sayso does not run, and holds there until that one ends.")
	}
	if done.Grants, err = o.o.Store.RevokeGrant(ctx, g, by, now); err != nil {
		return done, fmt.Errorf("orchestrator: revoke grant %s: %w", g.GrantID, err)
	}
	o.grantsChanged(ctx)
	return done, nil
}

// settingsFiles returns the settings files of the CLI.
func (o *Orchestrator) settingsFiles() grants.Files {
	return grants.Files{Getenv: o.o.CLI.Getenv, As: o.o.CLI.As}
}

// processesObeying returns the running processes in which a grant holds.
func (o *Orchestrator) processesObeying(g pending.Grant) []*process {
	root := grants.Project(g.Folder)
	return slices.DeleteFunc(o.all(), func(p *process) bool { return !p.grantee().Obeys(g, root) })
}

// grantee describes the process for package grants.
func (p *process) grantee() grants.Process {
	return grants.Process{SessionID: p.session.SessionID, ProcessID: p.processID, Folder: p.session.CWD}
}

// revoke makes the process ask again for what a grant allowed. asks reports whether it
// does so from now on.
func (p *process) revoke(ctx context.Context, g pending.Grant) (asks bool, err error) {
	if g.Kind == pending.GrantMode {
		if p.snapshot().row.PermissionMode != g.Rule {
			return false, nil
		}
		return true, p.setPermissionMode(ctx, "default")
	}
	p.mu.Lock()
	p.revoked.Add(g)
	p.mu.Unlock()
	if g.Kind != pending.GrantRule {
		return false, nil
	}
	return true, p.askAgain(ctx)
}

// askAgain makes the CLI ask for what the revoked rules allowed.
func (p *process) askAgain(ctx context.Context) error {
	client := p.clientNow()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	select { // one at a time, or an older list might come last
	case p.telling <- struct{}{}:
		defer func() { <-p.telling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	settings := p.revoked.Settings()
	p.mu.Unlock()
	if err := client.ApplySettings(ctx, settings); err != nil {
		return fmt.Errorf("orchestrator: make Claude ask again: %w", err)
	}
	return nil
}

// settleRevoked notes that the CLI got an approval that makes it forget grants.
func (p *process) settleRevoked(ctx context.Context, settled []pending.Grant) {
	if len(settled) == 0 {
		return
	}
	p.mu.Lock()
	p.revoked.Settle(settled)
	p.mu.Unlock()
	if err := p.askAgain(ctx); err != nil && !errors.Is(err, claude.ErrClosed) && !errors.Is(err, ErrNotRunning) {
		p.log.WarnContext(ctx, "Claude may ask for what was granted again", "error", err)
	}
}

// restoreRevoked makes an adopted process ask again for what was revoked since it
// started, which only the earlier server knew.
func (p *process) restoreRevoked(ctx context.Context) {
	since := p.snapshot().row.StartedAt
	if since.IsZero() {
		return
	}
	list, err := p.o.o.Store.Grants(ctx, pending.GrantQuery{RevokedSince: since})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot read which grants were taken back", "error", err)
		return
	}
	for _, g := range list {
		if g.Kind == pending.GrantMode || !p.grantee().Obeys(g, grants.Project(g.Folder)) {
			continue
		}
		p.mu.Lock()
		p.revoked.Add(g)
		p.mu.Unlock()
	}
	p.mu.Lock()
	none := p.revoked.Len() == 0
	p.mu.Unlock()
	if none {
		return
	}
	if err := p.askAgain(ctx); err != nil {
		p.log.WarnContext(ctx, "Claude may go by rules that were taken back", "error", err)
	}
}

// grantsChanged reads anew which grants are in force, for counting their uses.
func (o *Orchestrator) grantsChanged(ctx context.Context) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the grants; their uses are not counted", "error", err)
		return
	}
	o.inForce.Store(&list)
}

// countGrantUse counts a call that ran without asking for the grants that cover it.
func (p *process) countGrantUse(call transcript.FinishedCall, m *claude.User) {
	list := p.o.inForce.Load()
	if list == nil || call.ToolName == "" || call.Failed {
		return
	}
	s := p.snapshot()
	_, asked := s.memo.Answered.find(call.ToolUseID)
	_, asking := s.inFlight[call.ToolUseID]
	if asked || asking || s.row.PermissionMode == bypass {
		return
	}
	used := p.grantee().Used(*list, grants.Call{
		ToolUseID: call.ToolUseID, Tool: call.ToolName, Input: call.Input, Mode: s.row.PermissionMode, Home: p.o.o.CLI.Getenv("HOME"),
	}, m)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range used {
		if p.uses == nil {
			p.uses = map[string]int{}
		}
		p.uses[id]++
	}
}

// flushUses stores the uses that were counted.
func (p *process) flushUses(ctx context.Context) {
	p.mu.Lock()
	counted := p.uses
	p.uses = nil
	p.mu.Unlock()
	if len(counted) == 0 {
		return
	}
	now := time.Now()
	var uses []pending.GrantUse
	for id, n := range counted {
		uses = append(uses, pending.GrantUse{GrantID: id, Uses: n, LastAt: now})
	}
	if err := p.o.o.Store.UseGrants(ctx, uses); err != nil {
		p.log.WarnContext(ctx, "cannot count the uses of grants", "error", err)
	}
}

// Found and FoundGrant are what settings files allow.
type (
	Found      = grants.Found
	FoundGrant = grants.FoundGrant
)

// foldersLooked bounds for how many sessions the settings of their folder are
// looked at, those of the latest first.
const foldersLooked = 200

// FoundGrants reads what the person's own settings file and those of the folders
// of sessions allow.
func (o *Orchestrator) FoundGrants(ctx context.Context) (Found, error) {
	var found Found
	files := o.settingsFiles()
	files.Find(&found, pending.ScopeUser, "")
	page, _, err := o.o.Store.Sessions(ctx, session.Query{Archived: true, Limit: foldersLooked})
	if err != nil {
		return Found{}, fmt.Errorf("orchestrator: list sessions: %w", err)
	}
	for _, s := range page {
		if s.Kind == session.Agent || s.CWD == "" {
			continue
		}
		files.Find(&found, pending.ScopeLocal, s.CWD)
		files.Find(&found, pending.ScopeProject, s.CWD)
	}
	return found, nil
}
