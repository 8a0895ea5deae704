package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Fleet drives the runner inside this server, and those on other hosts while they are connected to
// it. A call about a session goes to the [Orchestrator] of its runner. While that is not connected,
// it goes to the one inside the server, which refuses what needs the runner; so do the calls that
// have no method here.
type Fleet struct {
	*Orchestrator // of the runner inside this server

	onRevoked func() // see OnRevoked; nil for nothing

	mu     sync.Mutex
	others map[string]*Orchestrator // that can be used, by the id of their runner
	// installations are what connected runners said of their CLI last, by the id of the runner.
	installations map[string]launch.Installation
}

// NewFleet returns the fleet of a server. Its Run is that of the runner inside the server.
func NewFleet(local *Orchestrator) *Fleet {
	f := &Fleet{Orchestrator: local, others: map[string]*Orchestrator{}, installations: map[string]launch.Installation{}}
	local.everyone = f.each
	return f
}

// Drive runs the Orchestrator of a connected runner until ctx ends, or until another server has the
// runner. Calls reach it as soon as it has taken over what runs there; changed is called then, and
// when they no longer do.
func (f *Fleet) Drive(ctx context.Context, o *Orchestrator, changed func()) error {
	o.everyone = f.each
	ended := make(chan error, 1)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { ended <- o.Run(ctx) })
	select {
	case <-o.adopted:
	case err := <-ended:
		return err
	}
	f.set(o.o.RunnerID, o)
	changed()
	defer changed()
	defer f.set(o.o.RunnerID, nil)
	select {
	case <-ctx.Done(): // its calls are refused before its connections are gone
		f.set(o.o.RunnerID, nil)
		return <-ended
	case err := <-ended:
		return err
	}
}

func (f *Fleet) set(runnerID string, o *Orchestrator) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o == nil {
		delete(f.others, runnerID)
		delete(f.installations, runnerID)
	} else {
		f.others[runnerID] = o
	}
}

// each returns the Orchestrators of all runners that can be used.
func (f *Fleet) each() []*Orchestrator {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(slices.Collect(maps.Values(f.others)), f.Orchestrator)
}

// byRunner returns the Orchestrator of a runner, or that inside the server.
func (f *Fleet) byRunner(runnerID string) *Orchestrator {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.others[runnerID]; o != nil {
		return o
	}
	return f.Orchestrator
}

// running returns the Orchestrator that runs the process of a session, or that inside the server.
func (f *Fleet) running(sessionID string) *Orchestrator {
	for _, o := range f.each() {
		if o.find(sessionID) != nil {
			return o
		}
	}
	return f.Orchestrator
}

// of returns the Orchestrator of the runner of a session.
func (f *Fleet) of(ctx context.Context, sessionID string) *Orchestrator {
	if len(f.each()) == 1 {
		return f.Orchestrator
	}
	s, err := f.o.Store.Session(ctx, sessionID)
	if err != nil { // it reads it again, and says so
		return f.Orchestrator
	}
	return f.byRunner(s.RunnerID)
}

// connected returns the Orchestrator of a runner, nil if this server does not drive it.
func (f *Fleet) connected(runnerID string) *Orchestrator {
	if o := f.byRunner(runnerID); o.drives(runnerID) {
		return o
	}
	return nil
}

// near returns the Orchestrator of a runner, "" for the one inside the server, or a [problem.Error].
func (f *Fleet) near(ctx context.Context, runnerID string) (*Orchestrator, error) {
	if o := f.connected(runnerID); o != nil {
		return o, nil
	}
	known, err := f.o.Store.Runner(ctx, runnerID)
	if errors.Is(err, session.ErrNoRunner) || err == nil && !known.RemovedAt.IsZero() {
		return nil, problem.For("runner_id", "runner_unknown")
	}
	if err != nil {
		return nil, err
	}
	return nil, problem.For("runner_id", "runner_not_connected", "runner", known.Name)
}

// Disk returns the disk of a runner, which may be read for each frame: one that does not answer is
// left alone for a while.
func (f *Fleet) Disk(runnerID string) launch.Disk {
	o := f.connected(runnerID)
	switch {
	case o == nil:
		return launch.NoDisk{}
	case o == f.Orchestrator:
		return o.runner
	}
	return o.disk
}

// Present is that of the runner of a process.
func (f *Fleet) Present(stored session.ProcessState) session.ProcessState {
	return f.byRunner(stored.RunnerID).Present(stored)
}

// SessionChanged tells those who may have to act: one that runs the session's process needs no
// telling.
func (f *Fleet) SessionChanged(sessionID string) {
	all := f.each()
	for _, o := range all {
		if o.find(sessionID) != nil {
			return
		}
	}
	for _, o := range all {
		o.SessionChanged(sessionID)
	}
}

// SetRules changes the rules of all runners. Each keeps its own roots.
func (f *Fleet) SetRules(r Rules) {
	for _, o := range f.each() {
		if o != f.Orchestrator {
			theirs := r
			theirs.Roots = o.rules().Roots
			o.SetRules(theirs)
		}
	}
	f.Orchestrator.SetRules(r)
}

// LimitsChanged tells all runners.
func (f *Fleet) LimitsChanged() {
	for _, o := range f.each() {
		o.LimitsChanged()
	}
}

// OnRevoked adds a function to call after grants were revoked, so that other servers hear of it. It
// must not block. Call OnRevoked before the first call.
func (f *Fleet) OnRevoked(call func()) { f.onRevoked = call }

// GrantsRevoked tells all runners that another server has revoked grants.
func (f *Fleet) GrantsRevoked() {
	for _, o := range f.each() {
		o.GrantsRevoked()
	}
}

func (f *Fleet) RevokeGrant(ctx context.Context, grantID string, by pending.Actor) (Revocation, error) {
	defer f.revoked()
	return f.Orchestrator.RevokeGrant(ctx, grantID, by)
}

func (f *Fleet) RevokeAnswer(ctx context.Context, requestID string, by pending.Actor) (Revocation, error) {
	defer f.revoked()
	return f.Orchestrator.RevokeAnswer(ctx, requestID, by)
}

func (f *Fleet) RevokeFound(ctx context.Context, g pending.Grant, by pending.Actor) (Revocation, error) {
	defer f.revoked()
	return f.Orchestrator.RevokeFound(ctx, g, by)
}

// revoked tells the other runners, and other servers, what was revoked through the one inside this.
func (f *Fleet) revoked() {
	for _, o := range f.each() {
		if o != f.Orchestrator {
			o.GrantsRevoked()
		}
	}
	if f.onRevoked != nil {
		f.onRevoked()
	}
}

// Recover makes all runners catch up after the store has failed.
func (f *Fleet) Recover(ctx context.Context) {
	var recovering sync.WaitGroup
	defer recovering.Wait()
	for _, o := range f.each() {
		recovering.Go(func() { o.Recover(ctx) })
	}
}

// The rest are the methods of an Orchestrator that are about one session.

func (f *Fleet) Live(sessionID string) (session.Live, bool) {
	return f.running(sessionID).Live(sessionID)
}

func (f *Fleet) Vitals(sessionID string) (Vitals, bool) {
	return f.running(sessionID).Vitals(sessionID)
}

func (f *Fleet) Running(sessionID string) (session.Session, bool) {
	return f.running(sessionID).Running(sessionID)
}

func (f *Fleet) RequestViews(ctx context.Context, sessionID string) (RequestViews, error) {
	return f.of(ctx, sessionID).RequestViews(ctx, sessionID)
}

func (f *Fleet) Send(ctx context.Context, m session.Message) error {
	return f.of(ctx, m.SessionID).Send(ctx, m)
}

func (f *Fleet) Unqueue(ctx context.Context, sessionID, messageID string) (bool, error) {
	return f.of(ctx, sessionID).Unqueue(ctx, sessionID, messageID)
}

func (f *Fleet) Interrupt(ctx context.Context, sessionID string, by pending.Actor) error {
	return f.of(ctx, sessionID).Interrupt(ctx, sessionID, by)
}

func (f *Fleet) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	return f.of(ctx, sessionID).Kill(ctx, sessionID, force, reason)
}

func (f *Fleet) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	return f.of(ctx, sessionID).Resume(ctx, sessionID, by)
}

func (f *Fleet) Fork(ctx context.Context, sessionID, messageID string, by pending.Actor) (string, error) {
	return f.of(ctx, sessionID).Fork(ctx, sessionID, messageID, by)
}

func (f *Fleet) Delete(ctx context.Context, sessionID string) error {
	return f.of(ctx, sessionID).Delete(ctx, sessionID)
}

func (f *Fleet) SetModel(ctx context.Context, sessionID, model string) error {
	return f.of(ctx, sessionID).SetModel(ctx, sessionID, model)
}

func (f *Fleet) SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error {
	return f.of(ctx, sessionID).SetPermissionMode(ctx, sessionID, mode, by)
}

func (f *Fleet) Consent(ctx context.Context, sessionID string, c Consent, by pending.Actor) error {
	return f.of(ctx, sessionID).Consent(ctx, sessionID, c, by)
}

func (f *Fleet) Catalog(ctx context.Context, sessionID string) (*Catalog, error) {
	return f.of(ctx, sessionID).Catalog(ctx, sessionID)
}

func (f *Fleet) PreviewFile(ctx context.Context, sessionID, path string) (FilePreview, error) {
	return f.of(ctx, sessionID).PreviewFile(ctx, sessionID, path)
}

func (f *Fleet) PermissionRules(ctx context.Context, sessionID string) ([]SettingsRules, error) {
	return f.of(ctx, sessionID).PermissionRules(ctx, sessionID)
}

func (f *Fleet) Tools(ctx context.Context, sessionID string) (Tools, error) {
	return f.of(ctx, sessionID).Tools(ctx, sessionID)
}

func (f *Fleet) EnableServer(ctx context.Context, sessionID, server string, enabled bool, by pending.Actor) error {
	return f.of(ctx, sessionID).EnableServer(ctx, sessionID, server, enabled, by)
}

func (f *Fleet) ReconnectServer(ctx context.Context, sessionID, server string, by pending.Actor) error {
	return f.of(ctx, sessionID).ReconnectServer(ctx, sessionID, server, by)
}

func (f *Fleet) SignInToServer(ctx context.Context, sessionID, server string, by pending.Actor) (string, error) {
	return f.of(ctx, sessionID).SignInToServer(ctx, sessionID, server, by)
}

func (f *Fleet) FinishServerSignIn(ctx context.Context, sessionID, server, callback string, by pending.Actor) error {
	return f.of(ctx, sessionID).FinishServerSignIn(ctx, sessionID, server, callback, by)
}

func (f *Fleet) ContextUsage(ctx context.Context, sessionID string) (ContextUsage, error) {
	return f.of(ctx, sessionID).ContextUsage(ctx, sessionID)
}

func (f *Fleet) WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error) {
	return f.of(ctx, sessionID).WorkingTree(ctx, sessionID, view)
}

// FolderTree is that of a runner, "" for the one inside the server.
func (f *Fleet) FolderTree(ctx context.Context, runnerID, cwd string, permit func(folder string) error, view workingtree.View) (workingtree.Tree, error) {
	o, err := f.near(ctx, runnerID)
	if err != nil {
		return workingtree.Tree{}, err
	}
	return o.FolderTree(ctx, cwd, permit, view)
}

// LastChoice is that of a runner, "" for the one inside the server.
func (f *Fleet) LastChoice(ctx context.Context, runnerID, userID, folder string) (mode, model string, err error) {
	o, err := f.near(ctx, runnerID)
	if err != nil {
		return "", "", err
	}
	return o.LastChoice(ctx, userID, folder)
}

func (f *Fleet) Discard(ctx context.Context, s session.Session, t workingtree.Tree, path, seen string, by pending.Actor) error {
	return f.byRunner(s.RunnerID).Discard(ctx, s, t, path, seen, by)
}

func (f *Fleet) Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error) {
	return f.byRunner(s.RunnerID).Commit(ctx, s, t, message, paths, by)
}

func (f *Fleet) MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (string, error) {
	return f.byRunner(s.RunnerID).MergeWorktree(ctx, s, t, digest, by)
}

func (f *Fleet) RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error) {
	return f.byRunner(s.RunnerID).RemoveWorktree(ctx, s, t, digest, by)
}

func (f *Fleet) TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (TurnChanges, error) {
	return f.byRunner(s.RunnerID).TurnChanges(ctx, s, t, messageID)
}

func (f *Fleet) CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, oldPath string) (workingtree.Comparison, error) {
	return f.byRunner(s.RunnerID).CompareTurn(ctx, s, t, messageID, path, oldPath)
}

func (f *Fleet) PreviewRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (Rewind, error) {
	return f.byRunner(s.RunnerID).PreviewRewind(ctx, s, t, messageID)
}

func (f *Fleet) Rewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID, digest string, by pending.Actor) error {
	return f.byRunner(s.RunnerID).Rewind(ctx, s, t, messageID, digest, by)
}

// Folders is that of a runner, "" for the one inside the server.
func (f *Fleet) Folders(ctx context.Context, runnerID, userID string, s workspace.Search) (workspace.Listing, error) {
	o, err := f.near(ctx, runnerID)
	if err != nil {
		return workspace.Listing{}, err
	}
	return o.Folders(ctx, userID, s)
}

// Environment is that of a runner, "" for the one inside the server.
func (f *Fleet) Environment(ctx context.Context, runnerID string) (Environment, error) {
	o, err := f.near(ctx, runnerID)
	if err != nil {
		return Environment{}, err
	}
	return o.Environment(ctx), nil
}

// LastCatalog returns what the last CLI of a runner, "" for the one inside the server, offered that
// was not of a demo; nil before there was one.
func (f *Fleet) LastCatalog(ctx context.Context, runnerID string) (*Catalog, error) {
	o, err := f.near(ctx, runnerID)
	if err != nil {
		return nil, err
	}
	return o.LastCatalog(), nil
}

// SavedSessions lists those of all runners that are connected, the latest change first.
func (f *Fleet) SavedSessions(ctx context.Context) ([]SavedSession, error) {
	all := f.each()
	lists, errs := make([][]SavedSession, len(all)), make([]error, len(all))
	var reading sync.WaitGroup
	for i, o := range all {
		reading.Go(func() { lists[i], errs[i] = o.SavedSessions(ctx) })
	}
	reading.Wait()
	for i, o := range all {
		switch {
		case errs[i] != nil && o == f.Orchestrator:
			return nil, errs[i]
		case errs[i] != nil:
			o.o.Log.WarnContext(ctx, "the terminal sessions of a runner cannot be listed", "runner_id", o.o.RunnerID, "error", errs[i])
		}
	}
	list := slices.Concat(lists...)
	slices.SortStableFunc(list, func(a, b SavedSession) int { return b.ChangedAt.Compare(a.ChangedAt) })
	return list[:min(len(list), maxSaved)], nil
}

// SavedSession returns one of any connected runner, or [session.ErrNotFound].
func (f *Fleet) SavedSession(ctx context.Context, sessionID string) (SavedSession, error) {
	_, s, err := f.findSaved(ctx, sessionID)
	return s, err
}

// SavedTranscript is that of the runner of the conversation.
func (f *Fleet) SavedTranscript(ctx context.Context, sessionID string, before int64) (SavedPage, error) {
	o, _, err := f.findSaved(ctx, sessionID)
	if err != nil {
		return SavedPage{}, err
	}
	return o.SavedTranscript(ctx, sessionID, before)
}

// findSaved also returns the Orchestrator of the runner, the server's if several have it.
func (f *Fleet) findSaved(ctx context.Context, sessionID string) (*Orchestrator, SavedSession, error) {
	all := f.each()
	slices.Reverse(all) // this server's is the last one
	for _, o := range all {
		s, err := o.SavedSession(ctx, sessionID)
		if err == nil {
			return o, s, nil
		}
		if !errors.Is(err, session.ErrNotFound) && o == f.Orchestrator {
			return nil, s, err
		}
	}
	return nil, SavedSession{}, session.ErrNotFound
}
