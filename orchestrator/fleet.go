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

// describeTimeout bounds how long another server may take to describe a runner.
const describeTimeout = 3 * time.Second

// Fleet drives the runner inside this server, if there is one, and the runners on other hosts that are
// connected to this server. A call about a session goes to the [Orchestrator] of its runner, or to the
// server that drives the runner. If no server drives it, the call goes to the embedded Orchestrator,
// which refuses what needs the runner. Calls without a method here always go there. Folders and files
// can be reached on every runner.
type Fleet struct {
	*Orchestrator // of the runner inside this server; without one, it only refuses

	onRevoked func()    // see OnRevoked; may be nil
	elsewhere Elsewhere // see SetElsewhere; nil if the database has one server

	mu     sync.Mutex
	others map[string]*Orchestrator // of connected runners, by runner id
	// installations has what each runner last reported about its CLI, by runner id.
	installations map[string]launch.Installation

	// changingRules is held while the rules of all runners change, and while a runner is added and gets
	// the current rules, so that no runner misses a change. It is locked before mu.
	changingRules sync.Mutex
}

// NewFleet returns the fleet of a server. local drives the runner inside the server, if there is one;
// see [Options].RunnerID.
func NewFleet(local *Orchestrator) *Fleet {
	f := &Fleet{Orchestrator: local, others: map[string]*Orchestrator{}, installations: map[string]launch.Installation{}}
	local.serverOrchestrators, local.orchestratorsElsewhere = f.each, f.orchestratorsElsewhere
	return f
}

// Drive runs the Orchestrator of a connected runner until ctx ends, or until another server drives the
// runner. Calls reach o once it has adopted the processes of the runner. Drive calls changed then, and
// again when calls no longer reach o.
func (f *Fleet) Drive(ctx context.Context, o *Orchestrator, changed func()) error {
	o.serverOrchestrators = f.each
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
	f.add(o)
	o.GrantsRevoked() // for what was revoked before calls reached o
	changed()
	defer changed()
	defer f.set(o.o.RunnerID, nil)
	select {
	case <-ctx.Done(): // calls must be refused before the connections of o are gone
		f.set(o.o.RunnerID, nil)
		return <-ended
	case err := <-ended:
		return err
	}
}

// add makes calls reach o. The rules that o was created with may have changed since.
func (f *Fleet) add(o *Orchestrator) {
	f.changingRules.Lock()
	defer f.changingRules.Unlock()
	f.set(o.o.RunnerID, o)
	setRulesExceptRoots(o, *f.rules())
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

// each returns the Orchestrators of all runners that this server drives, the one inside it last.
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

// Run runs the Orchestrator of the runner inside the server; without one, it waits for ctx to end.
func (f *Fleet) Run(ctx context.Context) error {
	if !f.hasLocal() {
		<-ctx.Done()
		return nil
	}
	return f.Orchestrator.Run(ctx)
}

// SetElsewhere sets the access to runners of other servers. Call it before any other method.
func (f *Fleet) SetElsewhere(e Elsewhere) { f.elsewhere = e }

// forwarded marks the context of a call that another server has forwarded.
type forwarded struct{}

// WithForwarded returns a context for a call that another server has forwarded, so that it is not
// forwarded again.
func WithForwarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, forwarded{}, true)
}

// here returns the Orchestrator of a connected runner, else the embedded one.
func (f *Fleet) here(runnerID string) *Orchestrator {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.others[runnerID]; o != nil {
		return o
	}
	return f.Orchestrator
}

// otherServer returns the sessions of a runner that another server drives, nil if no other does or
// the call was forwarded.
func (f *Fleet) otherServer(ctx context.Context, runnerID string) Sessions {
	if f.elsewhere == nil || f.connected(runnerID) != nil || ctx.Value(forwarded{}) != nil {
		return nil
	}
	return f.elsewhere.Sessions(runnerID)
}

// byRunner returns the sessions of a runner, or the embedded Orchestrator, which refuses, if no server
// drives the runner.
func (f *Fleet) byRunner(ctx context.Context, runnerID string) Sessions {
	if there := f.otherServer(ctx, runnerID); there != nil {
		return there
	}
	return f.here(runnerID)
}

// running returns the Orchestrator that runs the process of a session, else the embedded one.
func (f *Fleet) running(sessionID string) *Orchestrator {
	for _, o := range f.each() {
		if o.find(sessionID) != nil {
			return o
		}
	}
	return f.Orchestrator
}

// sessionsOf returns the sessions of the runner to which a session belongs.
func (f *Fleet) sessionsOf(ctx context.Context, sessionID string) Sessions {
	if f.elsewhere == nil && f.hasLocal() && len(f.each()) == 1 {
		return f.Orchestrator
	}
	if o := f.running(sessionID); o.find(sessionID) != nil {
		return o
	}
	s, err := f.o.Store.Session(ctx, sessionID)
	if err != nil { // the embedded Orchestrator reads it again, and returns the error
		return f.Orchestrator
	}
	return f.byRunner(ctx, s.RunnerID)
}

// Drives reports whether this server drives a runner.
func (f *Fleet) Drives(runnerID string) bool { return f.connected(runnerID) != nil }

// connected returns the Orchestrator of a runner, nil if this server does not drive it.
func (f *Fleet) connected(runnerID string) *Orchestrator {
	if o := f.here(runnerID); o.drives(runnerID) {
		return o
	}
	return nil
}

// orchestratorFor returns an Orchestrator for the folders and files of a runner, or a
// [problem.Error]. runnerID "" names the runner inside the server. Another server may drive the
// runner.
func (f *Fleet) orchestratorFor(ctx context.Context, runnerID string) (*Orchestrator, error) {
	if o := f.connected(runnerID); o != nil {
		return o, nil
	}
	if runnerID == "" {
		return nil, problem.For("runner_id", "runner_required")
	}
	if there := f.otherServer(ctx, runnerID); there != nil {
		return f.orchestratorElsewhere(ctx, runnerID, there)
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

// DescribeRunner calls DescribeRunner of the server that drives the runner.
func (f *Fleet) DescribeRunner(ctx context.Context, runnerID string) (RunnerDescription, error) {
	return f.byRunner(ctx, runnerID).DescribeRunner(ctx, runnerID)
}

// RevokeOn calls RevokeOn of the server that drives the runner.
func (f *Fleet) RevokeOn(ctx context.Context, runnerID string, g pending.Grant) (Revocation, error) {
	return f.byRunner(ctx, runnerID).RevokeOn(ctx, runnerID, g)
}

// orchestratorElsewhere returns an Orchestrator for the folders and files of a runner that another
// server drives; there are the runner's sessions on that server. The Orchestrator has no processes,
// and is not run.
func (f *Fleet) orchestratorElsewhere(ctx context.Context, runnerID string, there Sessions) (*Orchestrator, error) {
	asking, cancel := context.WithTimeout(ctx, describeTimeout)
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

// orchestratorsElsewhere returns what orchestratorElsewhere returns for each runner that another
// server drives, and the runners that cannot be reached.
func (f *Fleet) orchestratorsElsewhere(ctx context.Context) (all []*Orchestrator, unreached []session.Runner) {
	if f.elsewhere == nil || ctx.Value(forwarded{}) != nil {
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
			o, err := f.orchestratorElsewhere(ctx, runnerID, there)
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

// Disk returns the disk of a runner, fit for being read for each frame: a disk on another host that does
// not answer is not asked again for a while.
func (f *Fleet) Disk(runnerID string) launch.Disk {
	o := f.connected(runnerID)
	switch {
	case runnerID == "": // of an external agent, or of no session
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

// StartHere calls StartHere of the runner that the request names.
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

// Present calls Present of the process's runner. A process is not unreachable if another server drives
// its runner.
func (f *Fleet) Present(stored session.ProcessState) session.ProcessState {
	now := f.here(stored.RunnerID).Present(stored)
	if now.Unreachable && f.elsewhere != nil && f.elsewhere.Sessions(stored.RunnerID) != nil {
		now.Unreachable = false
	}
	return now
}

// SessionChanged passes a change of a session to all runners of this server. It does nothing if one of
// them runs the session's process.
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

// SetRules changes the rules of all runners. Runners on other hosts keep their own roots.
func (f *Fleet) SetRules(r Rules) {
	f.changingRules.Lock()
	defer f.changingRules.Unlock()
	for _, o := range f.each() {
		if o != f.Orchestrator {
			setRulesExceptRoots(o, r)
		}
	}
	f.Orchestrator.SetRules(r)
}

// setRulesExceptRoots changes the rules of a runner on another host, which has its own roots.
func setRulesExceptRoots(o *Orchestrator, r Rules) {
	r.Roots = o.rules().Roots
	o.SetRules(r)
}

// LimitsChanged calls LimitsChanged of all runners.
func (f *Fleet) LimitsChanged() {
	for _, o := range f.each() {
		o.LimitsChanged()
	}
}

// OnRevoked sets a function that is called after this server has revoked grants, so that it can inform
// other servers. The function must not block. Call OnRevoked before any other method.
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

// revoked informs the other runners and other servers that the embedded Orchestrator has revoked grants.
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

// RunnerIDs returns the ids of the runners that this server drives.
func (f *Fleet) RunnerIDs() (ids []string) {
	for _, o := range f.each() {
		ids = append(ids, o.o.RunnerID)
	}
	return ids
}

// RunnerHere returns access to the machine of a runner that this server drives, nil for any other.
func (f *Fleet) RunnerHere(runnerID string) launch.Runner {
	if o := f.connected(runnerID); o != nil {
		return o.runner
	}
	return nil
}

// treeHere returns t with access to the runner of a session, if t came from another server, which sends
// only its place.
func (f *Fleet) treeHere(s session.Session, t workingtree.Tree) workingtree.Tree {
	if trees := f.RunnerHere(s.RunnerID); t.Trees == nil && trees != nil {
		t.Trees = trees
	}
	return t
}

// Most of the following methods pass calls about one session to its Orchestrator or server.

func (f *Fleet) Live(sessionID string) (session.Live, bool) {
	if o := f.running(sessionID); f.elsewhere == nil || o.find(sessionID) != nil {
		return o.Live(sessionID)
	}
	return f.elsewhere.Live(sessionID)
}

// LiveHere is like Live, for the sessions that this server drives.
func (f *Fleet) LiveHere(sessionID string) (session.Live, bool) {
	return f.running(sessionID).Live(sessionID)
}

func (f *Fleet) Vitals(sessionID string) (Vitals, bool) {
	return f.running(sessionID).Vitals(sessionID)
}

func (f *Fleet) Stderr(ctx context.Context, sessionID string) string {
	return f.running(sessionID).Stderr(ctx, sessionID)
}

func (f *Fleet) Running(sessionID string) (session.Session, bool) {
	return f.running(sessionID).Running(sessionID)
}

func (f *Fleet) RequestViews(ctx context.Context, sessionID string) (RequestViews, error) {
	return f.sessionsOf(ctx, sessionID).RequestViews(ctx, sessionID)
}

func (f *Fleet) Send(ctx context.Context, m session.Message) error {
	return f.sessionsOf(ctx, m.SessionID).Send(ctx, m)
}

func (f *Fleet) Unqueue(ctx context.Context, sessionID, messageID string) (bool, error) {
	return f.sessionsOf(ctx, sessionID).Unqueue(ctx, sessionID, messageID)
}

func (f *Fleet) Interrupt(ctx context.Context, sessionID string, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).Interrupt(ctx, sessionID, by)
}

func (f *Fleet) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	return f.sessionsOf(ctx, sessionID).Kill(ctx, sessionID, force, reason)
}

func (f *Fleet) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).Resume(ctx, sessionID, by)
}

func (f *Fleet) Fork(ctx context.Context, sessionID, messageID string, by pending.Actor, forkID string) (string, error) {
	return f.sessionsOf(ctx, sessionID).Fork(ctx, sessionID, messageID, by, forkID)
}

func (f *Fleet) Delete(ctx context.Context, sessionID string) error {
	return f.sessionsOf(ctx, sessionID).Delete(ctx, sessionID)
}

func (f *Fleet) SetModel(ctx context.Context, sessionID, model string) error {
	return f.sessionsOf(ctx, sessionID).SetModel(ctx, sessionID, model)
}

func (f *Fleet) SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).SetPermissionMode(ctx, sessionID, mode, by)
}

func (f *Fleet) Consent(ctx context.Context, sessionID string, c Consent, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).Consent(ctx, sessionID, c, by)
}

func (f *Fleet) Catalog(ctx context.Context, sessionID string) (*Catalog, error) {
	return f.sessionsOf(ctx, sessionID).Catalog(ctx, sessionID)
}

func (f *Fleet) PreviewFile(ctx context.Context, sessionID, path string) (FilePreview, error) {
	return f.sessionsOf(ctx, sessionID).PreviewFile(ctx, sessionID, path)
}

func (f *Fleet) PermissionRules(ctx context.Context, sessionID string) ([]SettingsRules, error) {
	return f.sessionsOf(ctx, sessionID).PermissionRules(ctx, sessionID)
}

func (f *Fleet) Tools(ctx context.Context, sessionID string) (Tools, error) {
	return f.sessionsOf(ctx, sessionID).Tools(ctx, sessionID)
}

func (f *Fleet) EnableServer(ctx context.Context, sessionID, server string, enabled bool, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).EnableServer(ctx, sessionID, server, enabled, by)
}

func (f *Fleet) ReconnectServer(ctx context.Context, sessionID, server string, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).ReconnectServer(ctx, sessionID, server, by)
}

func (f *Fleet) SignInToServer(ctx context.Context, sessionID, server string, by pending.Actor) (string, error) {
	return f.sessionsOf(ctx, sessionID).SignInToServer(ctx, sessionID, server, by)
}

func (f *Fleet) FinishServerSignIn(ctx context.Context, sessionID, server, callback string, by pending.Actor) error {
	return f.sessionsOf(ctx, sessionID).FinishServerSignIn(ctx, sessionID, server, callback, by)
}

func (f *Fleet) ContextUsage(ctx context.Context, sessionID string) (ContextUsage, error) {
	return f.sessionsOf(ctx, sessionID).ContextUsage(ctx, sessionID)
}

func (f *Fleet) WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error) {
	return f.sessionsOf(ctx, sessionID).WorkingTree(ctx, sessionID, view)
}

// FolderTree calls [Orchestrator.FolderTree] of a runner, "" for the one inside the server.
func (f *Fleet) FolderTree(ctx context.Context, runnerID, cwd string, permit func(folder string) error, view workingtree.View) (workingtree.Tree, error) {
	o, err := f.orchestratorFor(ctx, runnerID)
	if err != nil {
		return workingtree.Tree{}, err
	}
	return o.FolderTree(ctx, cwd, permit, view)
}

// LastChoice calls [Orchestrator.LastChoice] of a runner, "" for the one inside the server.
func (f *Fleet) LastChoice(ctx context.Context, runnerID, userID, folder string) (mode, model string, err error) {
	o, err := f.orchestratorFor(ctx, runnerID)
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

// Folders calls [Orchestrator.Folders] of a runner, "" for the one inside the server.
func (f *Fleet) Folders(ctx context.Context, runnerID, userID string, s workspace.Search) (workspace.Listing, error) {
	o, err := f.orchestratorFor(ctx, runnerID)
	if err != nil {
		return workspace.Listing{}, err
	}
	return o.Folders(ctx, userID, s)
}

// LastCatalog calls [Orchestrator.LastCatalog] of a runner, "" for the one inside the server.
func (f *Fleet) LastCatalog(ctx context.Context, runnerID string) (*Catalog, error) {
	o, err := f.orchestratorFor(ctx, runnerID)
	if err != nil {
		return nil, err
	}
	return o.LastCatalog(), nil
}

// reachable returns an Orchestrator for the folders and files of each runner that can be reached, the one
// inside this server last.
func (f *Fleet) reachable(ctx context.Context) []*Orchestrator {
	all, _ := f.orchestratorsElsewhere(ctx)
	return append(all, f.each()...)
}

// SavedSessions lists the saved sessions of all runners that can be reached, the latest change first.
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

// SavedSession returns a saved session of any runner that can be reached, or [session.ErrNotFound].
func (f *Fleet) SavedSession(ctx context.Context, sessionID string) (SavedSession, error) {
	_, s, err := f.findSaved(ctx, sessionID)
	return s, err
}

// SavedTranscript calls [Orchestrator.SavedTranscript] of the runner that has the conversation.
func (f *Fleet) SavedTranscript(ctx context.Context, sessionID string, before int64) (SavedPage, error) {
	o, _, err := f.findSaved(ctx, sessionID)
	if err != nil {
		return SavedPage{}, err
	}
	return o.SavedTranscript(ctx, sessionID, before)
}

// findSaved returns a saved session and the Orchestrator of its runner. If several runners have the
// session, the one inside this server wins.
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

// Stalled returns the sum of [Orchestrator.Stalled] over all runners of this server.
func (f *Fleet) Stalled() (n int) {
	for _, o := range f.each() {
		n += o.Stalled()
	}
	return n
}
