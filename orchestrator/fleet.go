package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// beyondTimeout bounds how long another server takes to describe a runner.
const beyondTimeout = 3 * time.Second

// Fleet drives the runner inside this server, if there is one, and those on other hosts while they
// are connected to it. A call about a session goes to the [Orchestrator] of its runner, or to the
// server that drives it. While nobody does, it goes to the one inside this server, which refuses what
// needs the runner; so do the calls that have no method here. Folders and files are reached on every
// runner.
type Fleet struct {
	*Orchestrator // of the runner inside this server; without one, it only refuses

	onRevoked func()    // see OnRevoked; nil for nothing
	elsewhere Elsewhere // see SetElsewhere; nil if the database has one server

	mu     sync.Mutex
	others map[string]*Orchestrator // that can be used, by the id of their runner
	// installations are what connected runners said of their CLI last, by the id of the runner.
	installations map[string]launch.Installation
}

// NewFleet returns the fleet of a server. Its Run is that of the runner inside the server, if local
// has one.
func NewFleet(local *Orchestrator) *Fleet {
	f := &Fleet{Orchestrator: local, others: map[string]*Orchestrator{}, installations: map[string]launch.Installation{}}
	local.everyone, local.beyond = f.each, f.allBeyond
	return f
}

// Drive runs the Orchestrator of a connected runner until ctx ends, or until another server has the
// runner. Calls reach it as soon as it has taken over what runs there; changed is called then, and
// when they no longer do.
func (f *Fleet) Drive(ctx context.Context, o *Orchestrator, changed func()) error {
	o.everyone = f.each
	o.admission.Share(f.admission)
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

// each returns the Orchestrators of all runners that can be used, the one inside this server last.
func (f *Fleet) each() []*Orchestrator {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Collect(maps.Values(f.others))
	if f.hasLocal() {
		all = append(all, f.Orchestrator)
	}
	return all
}

// hasLocal reports whether there is a runner inside this server.
func (f *Fleet) hasLocal() bool { return f.o.RunnerID != "" }

// Run is that of the runner inside the server; without one, it waits for ctx.
func (f *Fleet) Run(ctx context.Context) error {
	if !f.hasLocal() {
		<-ctx.Done()
		return nil
	}
	return f.Orchestrator.Run(ctx)
}

// SetElsewhere sets what other servers drive. Call it before the first call.
func (f *Fleet) SetElsewhere(e Elsewhere) { f.elsewhere = e }

// passedOn marks the context of a call that another server has passed on.
type passedOn struct{}

// Here returns a context for a call that another server has passed on: it is not passed on again.
func Here(ctx context.Context) context.Context { return context.WithValue(ctx, passedOn{}, true) }

// here returns the Orchestrator of a runner, or that inside the server.
func (f *Fleet) here(runnerID string) *Orchestrator {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.others[runnerID]; o != nil {
		return o
	}
	return f.Orchestrator
}

// otherServer returns the sessions of a runner that another server drives, nil if none does.
func (f *Fleet) otherServer(ctx context.Context, runnerID string) Sessions {
	if f.elsewhere == nil || f.connected(runnerID) != nil || ctx.Value(passedOn{}) != nil {
		return nil
	}
	return f.elsewhere.Sessions(runnerID)
}

// byRunner returns the sessions of a runner, or of that inside the server, which refuses.
func (f *Fleet) byRunner(ctx context.Context, runnerID string) Sessions {
	if there := f.otherServer(ctx, runnerID); there != nil {
		return there
	}
	return f.here(runnerID)
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

// of returns the sessions of the runner of a session.
func (f *Fleet) of(ctx context.Context, sessionID string) Sessions {
	if f.elsewhere == nil && f.hasLocal() && len(f.each()) == 1 {
		return f.Orchestrator
	}
	if o := f.running(sessionID); o.find(sessionID) != nil {
		return o
	}
	s, err := f.o.Store.Session(ctx, sessionID)
	if err != nil { // it reads it again, and says so
		return f.Orchestrator
	}
	return f.byRunner(ctx, s.RunnerID)
}

// Drives reports whether calls about sessions of a runner reach it through this server.
func (f *Fleet) Drives(runnerID string) bool { return f.connected(runnerID) != nil }

// connected returns the Orchestrator of a runner, nil if this server does not drive it.
func (f *Fleet) connected(runnerID string) *Orchestrator {
	if o := f.here(runnerID); o.drives(runnerID) {
		return o
	}
	return nil
}

// near returns an Orchestrator for the folders and files of a runner, "" for the one inside the server,
// or a [problem.Error]. Another server may drive the runner.
func (f *Fleet) near(ctx context.Context, runnerID string) (*Orchestrator, error) {
	if o := f.connected(runnerID); o != nil {
		return o, nil
	}
	if runnerID == "" {
		return nil, problem.For("runner_id", "runner_required")
	}
	if there := f.otherServer(ctx, runnerID); there != nil {
		return f.beyond(ctx, runnerID, there)
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

// DescribeRunner is that of the server that drives a runner.
func (f *Fleet) DescribeRunner(ctx context.Context, runnerID string) (RunnerDescription, error) {
	return f.byRunner(ctx, runnerID).DescribeRunner(ctx, runnerID)
}

// RevokeOn is that of the server that drives a runner.
func (f *Fleet) RevokeOn(ctx context.Context, runnerID string, g pending.Grant) (Revocation, error) {
	return f.byRunner(ctx, runnerID).RevokeOn(ctx, runnerID, g)
}

// beyond returns an Orchestrator for the folders and files of a runner that another server drives, whose
// sessions are there. It has no processes, and Run is not called.
func (f *Fleet) beyond(ctx context.Context, runnerID string, there Sessions) (*Orchestrator, error) {
	asking, cancel := context.WithTimeout(ctx, beyondTimeout)
	defer cancel()
	d, err := there.DescribeRunner(asking, runnerID)
	if err != nil {
		return nil, err
	}
	as := f.o
	as.RunnerID, as.NodeID, as.Demo = runnerID, d.Name, nil
	as.Rules = *f.rules()
	as.Rules.Roots = d.Roots
	if as.Runner = f.elsewhere.Runner(runnerID); as.Runner == nil {
		return nil, problem.New("server_unreachable")
	}
	o, err := New(as)
	if err != nil {
		return nil, err
	}
	o.revokeThere = func(ctx context.Context, g pending.Grant) (Revocation, error) {
		return there.RevokeOn(ctx, runnerID, g)
	}
	o.lastCatalog.Store(d.Catalog)
	return o, nil
}

// allBeyond returns those of all runners that other servers drive, and the runners that cannot be reached.
func (f *Fleet) allBeyond(ctx context.Context) (all []*Orchestrator, unreached []session.Runner) {
	if f.elsewhere == nil || ctx.Value(passedOn{}) != nil {
		return nil, nil
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, runnerID := range f.elsewhere.Runners() {
		there := f.otherServer(ctx, runnerID)
		if there == nil {
			continue
		}
		asking.Go(func() {
			o, err := f.beyond(ctx, runnerID, there)
			known := session.Runner{RunnerID: runnerID, Name: runnerID}
			if err != nil {
				f.o.Log.WarnContext(ctx, "a runner of another server cannot be reached", "runner_id", runnerID, "error", err)
				if stored, err := f.o.Store.Runner(ctx, runnerID); err == nil {
					known = stored
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unreached = append(unreached, known)
			} else {
				all = append(all, o)
			}
		})
	}
	asking.Wait()
	return all, unreached
}

// Disk returns the disk of a runner, which may be read for each frame: one that does not answer is
// left alone for a while.
func (f *Fleet) Disk(runnerID string) launch.Disk {
	o := f.connected(runnerID)
	switch {
	case runnerID == "": // of an agent outside, or of no session
		return f.Orchestrator.runner
	case o == nil && f.elsewhere != nil:
		if there := f.elsewhere.Disk(runnerID); there != nil {
			return there
		}
		return launch.NoDisk{}
	case o == nil:
		return launch.NoDisk{}
	case o == f.Orchestrator:
		return o.runner
	}
	return o.disk
}

// StartHere is that of the runner that the request names.
func (f *Fleet) StartHere(ctx context.Context, request json.RawMessage, permitted *StartPlan) (StartPlan, string, error) {
	var named struct{ RunnerID string }
	if err := json.Unmarshal(request, &named); err != nil {
		return StartPlan{}, "", fmt.Errorf("orchestrator: start: %w", err)
	}
	o := f.here(named.RunnerID)
	if !o.drives(named.RunnerID) {
		return StartPlan{}, "", o.checkRunner(ctx, session.Session{RunnerID: named.RunnerID})
	}
	return o.StartHere(ctx, request, permitted)
}

// Present is that of the runner of a process.
func (f *Fleet) Present(stored session.ProcessState) session.ProcessState {
	now := f.here(stored.RunnerID).Present(stored)
	if now.Unreachable && f.elsewhere != nil && f.elsewhere.Sessions(stored.RunnerID) != nil {
		now.Unreachable = false
	}
	return now
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

// DrivenElsewhere reports whether another server drives a runner.
func (f *Fleet) DrivenElsewhere(runnerID string) bool {
	return f.otherServer(context.Background(), runnerID) != nil
}

// RunnerIDs returns the runners that this server drives.
func (f *Fleet) RunnerIDs() (ids []string) {
	for _, o := range f.each() {
		ids = append(ids, o.o.RunnerID)
	}
	return ids
}

// RunnerHere returns what is near Claude on a runner that this server drives, nil for any other.
func (f *Fleet) RunnerHere(runnerID string) launch.Runner {
	if o := f.connected(runnerID); o != nil {
		return o.runner
	}
	return nil
}

// treeHere returns the working tree of a session that came from another server as its place.
func (f *Fleet) treeHere(s session.Session, t workingtree.Tree) workingtree.Tree {
	if near := f.RunnerHere(s.RunnerID); t.Trees == nil && near != nil {
		t.Trees = near
	}
	return t
}

// The rest are the methods of an Orchestrator that are about one session.

func (f *Fleet) Live(sessionID string) (session.Live, bool) {
	if o := f.running(sessionID); f.elsewhere == nil || o.find(sessionID) != nil {
		return o.Live(sessionID)
	}
	return f.elsewhere.Live(sessionID)
}

// LiveHere is Live for the sessions that this server drives.
func (f *Fleet) LiveHere(sessionID string) (session.Live, bool) {
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
	return f.byRunner(ctx, s.RunnerID).Discard(ctx, s, f.treeHere(s, t), path, seen, by)
}

func (f *Fleet) Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error) {
	return f.byRunner(ctx, s.RunnerID).Commit(ctx, s, f.treeHere(s, t), message, paths, by)
}

func (f *Fleet) MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (string, error) {
	return f.byRunner(ctx, s.RunnerID).MergeWorktree(ctx, s, f.treeHere(s, t), digest, by)
}

func (f *Fleet) RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error) {
	return f.byRunner(ctx, s.RunnerID).RemoveWorktree(ctx, s, f.treeHere(s, t), digest, by)
}

func (f *Fleet) TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (TurnChanges, error) {
	return f.byRunner(ctx, s.RunnerID).TurnChanges(ctx, s, f.treeHere(s, t), messageID)
}

func (f *Fleet) CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, oldPath string) (workingtree.Comparison, error) {
	return f.byRunner(ctx, s.RunnerID).CompareTurn(ctx, s, f.treeHere(s, t), messageID, path, oldPath)
}

func (f *Fleet) PreviewRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (Rewind, error) {
	return f.byRunner(ctx, s.RunnerID).PreviewRewind(ctx, s, f.treeHere(s, t), messageID)
}

func (f *Fleet) Rewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID, digest string, by pending.Actor) error {
	return f.byRunner(ctx, s.RunnerID).Rewind(ctx, s, f.treeHere(s, t), messageID, digest, by)
}

// Folders is that of a runner, "" for the one inside the server.
func (f *Fleet) Folders(ctx context.Context, runnerID, userID string, s workspace.Search) (workspace.Listing, error) {
	o, err := f.near(ctx, runnerID)
	if err != nil {
		return workspace.Listing{}, err
	}
	return o.Folders(ctx, userID, s)
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

// reachable returns an Orchestrator for the folders and files of each runner, this server's last.
func (f *Fleet) reachable(ctx context.Context) []*Orchestrator {
	all, _ := f.allBeyond(ctx)
	return append(all, f.each()...)
}

// SavedSessions lists those of all runners that can be reached, the latest change first.
func (f *Fleet) SavedSessions(ctx context.Context) ([]SavedSession, error) {
	all := f.reachable(ctx)
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

// SavedSession returns one of any runner that can be reached, or [session.ErrNotFound].
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
	all := f.reachable(ctx)
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

// Stalled is [Orchestrator.Stalled] of all runners of this server.
func (f *Fleet) Stalled() (n int) {
	for _, o := range f.each() {
		n += o.Stalled()
	}
	return n
}
