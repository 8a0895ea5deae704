package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// RevokeGrant revokes a grant that came with an answer: in its settings file, in running processes,
// and in the store. Revoking it again changes nothing. It returns [pending.ErrNotFound] for an
// unknown grant.
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

// RevokeAnswer revokes all grants that came with the answer to a request.
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

// RevokeFound revokes a rule or a folder in a settings file that was not granted through sayso. It
// returns [pending.ErrNotFound] or a [problem.Error].
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

// revoke changes the settings files, then the processes, on all runners, and then the store. If it is
// interrupted, revoking again completes it. It returns a [problem.Error] if the runner of the session
// that asked cannot be reached, because Claude would continue to use the grant there.
func (o *Orchestrator) revoke(ctx context.Context, g pending.Grant, by pending.Actor) (done Revocation, err error) {
	elsewhere, unreached := o.orchestratorsElsewhere(ctx)
	all := append(o.serverOrchestrators(), elsewhere...)
	owner, err := o.grantedOn(ctx, g, all)
	if err != nil {
		return done, err
	}
	now := time.Now()
	if g.Scope != pending.ScopeSession {
		for _, r := range unreached {
			done.Until = append(done.Until, statement.New("grant_machine_unreachable", "runner", r.Name))
		}
	}
	for _, each := range all {
		if each != owner && g.Scope == pending.ScopeSession {
			continue
		}
		there, err := each.revokeHere(ctx, g)
		switch {
		case err == nil:
			done.add(there)
		case each == owner:
			return done, problem.For("grant", "grant_not_removed", "detail", err.Error())
		case !errors.Is(err, problem.Invalid): // not for a folder that only another runner has
			each.o.Log.WarnContext(ctx, "a runner may still have a grant in its settings files", "runner_id", each.o.RunnerID, "rule", g.Rule, "error", err)
			done.Until = append(done.Until, statement.New("grant_machine_unreachable", "runner", each.machineName(ctx)))
		}
	}
	if g.Scope == pending.ScopeSession && g.ProcessID == "" {
		done.Until = append(done.Until, statement.New("grant_external"))
	}
	if done.Grants, err = o.o.Store.RevokeGrant(ctx, g, by, now); err != nil {
		return done, fmt.Errorf("orchestrator: revoke grant %s: %w", g.GrantID, err)
	}
	for _, each := range o.serverOrchestrators() {
		each.grantsChanged(ctx)
	}
	return done, nil
}

// grantedOn returns the element of all that drives the runner of the session that asked for a grant. It
// returns o if the session is unknown or the runner was removed.
func (o *Orchestrator) grantedOn(ctx context.Context, g pending.Grant, all []*Orchestrator) (*Orchestrator, error) {
	if g.SessionID == "" {
		return o, nil
	}
	s, err := o.o.Store.Session(ctx, g.SessionID)
	if errors.Is(err, session.ErrNotFound) {
		return o, nil
	}
	if err != nil {
		return nil, fmt.Errorf("orchestrator: the session of a grant: %w", err)
	}
	for _, each := range all {
		if each.drives(s.RunnerID) {
			return each, nil
		}
	}
	known, err := o.o.Store.Runner(ctx, s.RunnerID)
	switch {
	case errors.Is(err, session.ErrNoRunner), err == nil && !known.RemovedAt.IsZero():
		return o, nil
	case err == nil && known.Leased: // what drives it cannot be reached now, but obeys the revocation later
		return o, nil
	case err != nil:
		return nil, fmt.Errorf("orchestrator: the runner of a grant: %w", err)
	}
	return nil, problem.For("grant", "grant_runner_unreachable", "runner", known.Name)
}

// revokeHere revokes a grant in the files and the processes of this runner.
func (o *Orchestrator) revokeHere(ctx context.Context, g pending.Grant) (done Revocation, err error) {
	if o.revokeThere != nil {
		return o.revokeThere(ctx, g)
	}
	if done.Files, err = o.runner.RemoveGrant(ctx, g); err != nil {
		return done, err
	}
	o.noteRevoked(g.GrantID)
	obeying, err := o.processesObeying(ctx, g)
	if err != nil {
		return done, err
	}
	for _, p := range obeying {
		asks, err := p.revoke(ctx, g)
		switch {
		case err != nil && !errors.Is(err, ErrNotRunning):
			p.log.WarnContext(ctx, "cannot apply a revoked grant to a running session", "rule", g.Rule, "error", err)
			done.Until = append(done.Until, statement.New("grant_session_unreachable"))
		case asks:
			done.Asking++
		case err == nil && g.Kind == pending.GrantDirectory:
			done.Until = append(done.Until, statement.New("grant_folder_running"))
		}
	}
	return done, nil
}

// RevokeOn implements [Sessions].
func (o *Orchestrator) RevokeOn(ctx context.Context, runnerID string, g pending.Grant) (Revocation, error) {
	if err := o.checkRunner(ctx, session.Session{RunnerID: runnerID}); err != nil {
		return Revocation{}, err
	}
	return o.revokeHere(ctx, g)
}

// GrantsRevoked makes the processes ask again for what another server or another runner has revoked.
// It never blocks.
func (o *Orchestrator) GrantsRevoked() { wake(o.revoked) }

// watchRevocations revokes on this runner what other servers and runners revoke, until ctx ends. It
// begins with what was revoked recently, because nobody could tell this Orchestrator before it had
// adopted the processes of the runner.
func (o *Orchestrator) watchRevocations(ctx context.Context) {
	var known map[string]bool // ids of grants that were revoked recently
	for {
		var recent []pending.Grant
		err := retryStore(ctx, o.o.Log, "which grants were revoked", func() (err error) {
			recent, err = o.recentlyRevoked(ctx)
			return err
		})
		if err == nil {
			now := map[string]bool{}
			for _, g := range recent {
				now[g.GrantID] = true
				if !known[g.GrantID] && !o.hasRevoked(g.GrantID) && !o.isOldMode(g) {
					o.obeyRevocation(ctx, g)
				}
			}
			known = now
		} else if ctx.Err() == nil {
			o.o.Log.WarnContext(ctx, "cannot read which grants were revoked", "error", err)
		}
		o.grantsChanged(ctx)
		select {
		case <-ctx.Done():
			return
		case <-o.revoked:
		}
	}
}

// isOldMode reports whether a grant of a permission mode was revoked before this Orchestrator existed.
// A person may have chosen that mode since, without a grant.
func (o *Orchestrator) isOldMode(g pending.Grant) bool {
	return g.Kind == pending.GrantMode && g.RevokedAt.Before(o.createdAt)
}

// recentlyRevoked returns the grants that were revoked within revokedWithin and not given again.
func (o *Orchestrator) recentlyRevoked(ctx context.Context) ([]pending.Grant, error) {
	recent, err := o.o.Store.Grants(ctx, pending.GrantQuery{RevokedSince: time.Now().Add(-revokedWithin)})
	if err != nil || len(recent) == 0 {
		return nil, err
	}
	// A revocation revokes all equal grants, so one that is in force after it was given again.
	inForce, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(recent, func(g pending.Grant) bool {
		return slices.ContainsFunc(inForce, func(given pending.Grant) bool { return isEqualGrant(given, g) })
	}), nil
}

// isEqualGrant reports whether two grants allow the same in the same place. The store compares grants
// in the same way when it revokes them.
func isEqualGrant(a, b pending.Grant) bool {
	if a.Kind != b.Kind || a.Rule != b.Rule || a.Scope != b.Scope {
		return false
	}
	switch a.Scope {
	case pending.ScopeSession:
		return a.SessionID == b.SessionID
	case pending.ScopeLocal, pending.ScopeProject:
		return a.Folder == b.Folder
	}
	return true
}

// obeyRevocation revokes on this runner what another server or runner has revoked.
func (o *Orchestrator) obeyRevocation(ctx context.Context, g pending.Grant) {
	if _, err := o.revokeHere(ctx, g); err != nil && !errors.Is(err, problem.Invalid) { // not for a folder that only another runner has
		o.o.Log.WarnContext(ctx, "a runner may still have a grant in its settings files", "runner_id", o.o.RunnerID, "rule", g.Rule, "error", err)
	}
}

// noteRevoked records that this Orchestrator has revoked a grant; hasRevoked reports whether it has.
func (o *Orchestrator) noteRevoked(grantID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.revokedHere[grantID] = true
}

func (o *Orchestrator) hasRevoked(grantID string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.revokedHere[grantID]
}

// processesObeying returns the running processes in which a grant applies.
func (o *Orchestrator) processesObeying(ctx context.Context, g pending.Grant) (list []*process, err error) {
	for _, p := range o.all() {
		obeys, err := p.grantProcess().Obeys(ctx, g)
		if err != nil {
			return nil, fmt.Errorf("orchestrator: where a grant applies: %w", err)
		}
		if obeys {
			list = append(list, p)
		}
	}
	return list, nil
}

// Found and FoundGrant are what settings files allow.
type (
	Found      = launch.FoundGrants
	FoundGrant = launch.FoundGrant
)

// maxFoldersRead bounds the folders of sessions whose settings are read, the latest first.
const maxFoldersRead = 200

// FoundGrants returns what the settings files of Claude's user and of sessions' folders allow, on all
// runners that can be reached.
func (o *Orchestrator) FoundGrants(ctx context.Context) (Found, error) {
	page, _, err := o.o.Store.Sessions(ctx, session.Query{Archived: true, Limit: maxFoldersRead})
	if err != nil {
		return Found{}, fmt.Errorf("orchestrator: list sessions: %w", err)
	}
	var all Found
	elsewhere, unreached := o.orchestratorsElsewhere(ctx)
	for _, r := range unreached {
		all.Problems = append(all.Problems, statement.New("grants_machine_unread", "runner", r.Name))
	}
	for _, each := range append(o.serverOrchestrators(), elsewhere...) {
		var folders []string
		for _, s := range page {
			if s.Kind != session.Agent && s.CWD != "" && each.drives(s.RunnerID) && each.rules().Roots.Contains(s.CWD) && !slices.Contains(folders, s.CWD) {
				folders = append(folders, s.CWD)
			}
		}
		found, err := each.runner.FindGrants(ctx, folders)
		switch {
		case err == nil:
			all.Problems = append(all.Problems, found.Problems...)
			for _, g := range found.Grants {
				if !slices.ContainsFunc(all.Grants, func(has FoundGrant) bool {
					return has.Kind == g.Kind && has.Rule == g.Rule && has.Scope == g.Scope && has.Folder == g.Folder
				}) {
					all.Grants = append(all.Grants, g)
				}
			}
		case each == o:
			return Found{}, err
		default:
			all.Problems = append(all.Problems, statement.New("grants_machine_unread", "runner", each.machineName(ctx)))
		}
	}
	return all, nil
}
