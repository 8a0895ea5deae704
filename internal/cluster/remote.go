package cluster

import (
	"context"
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/session"
)

// remote implements [orchestrator.Sessions] for a runner that another server drives. Each method is
// one call of the same name.
type remote struct {
	p        *peer
	runnerID string
}

// do calls a method.
func (r remote) do(ctx context.Context, method string, args []any, results ...any) error {
	conn, err := r.p.connection()
	if err != nil {
		return err
	}
	return unreachable(conn, runner.Invoke(ctx, conn, method, args, results...))
}

// get calls a method that returns a value and an error.
func get[T any](ctx context.Context, r remote, method string, args ...any) (result T, err error) {
	err = r.do(ctx, method, args, &result)
	return result, err
}

func (r remote) RequestViews(ctx context.Context, sessionID string) (orchestrator.RequestViews, error) {
	return get[orchestrator.RequestViews](ctx, r, "RequestViews", sessionID)
}

func (r remote) Send(ctx context.Context, m session.Message) error {
	return r.do(ctx, "Send", []any{m})
}

func (r remote) Unqueue(ctx context.Context, sessionID, messageID string) (bool, error) {
	return get[bool](ctx, r, "Unqueue", sessionID, messageID)
}

func (r remote) Interrupt(ctx context.Context, sessionID string, by pending.Actor) error {
	return r.do(ctx, "Interrupt", []any{sessionID, by})
}

func (r remote) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	return r.do(ctx, "Kill", []any{sessionID, force, reason})
}

func (r remote) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	return r.do(ctx, "Resume", []any{sessionID, by})
}

func (r remote) Fork(ctx context.Context, sessionID, messageID string, by pending.Actor, forkID string) (string, error) {
	return get[string](ctx, r, "Fork", sessionID, messageID, by, forkID)
}

func (r remote) Delete(ctx context.Context, sessionID string) error {
	return r.do(ctx, "Delete", []any{sessionID})
}

func (r remote) SetModel(ctx context.Context, sessionID, model string) error {
	return r.do(ctx, "SetModel", []any{sessionID, model})
}

func (r remote) SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error {
	return r.do(ctx, "SetPermissionMode", []any{sessionID, mode, by})
}

func (r remote) Consent(ctx context.Context, sessionID string, c orchestrator.Consent, by pending.Actor) error {
	return r.do(ctx, "Consent", []any{sessionID, c, by})
}

func (r remote) Catalog(ctx context.Context, sessionID string) (*orchestrator.Catalog, error) {
	return get[*orchestrator.Catalog](ctx, r, "Catalog", sessionID)
}

func (r remote) PreviewFile(ctx context.Context, sessionID, path string) (orchestrator.FilePreview, error) {
	return get[orchestrator.FilePreview](ctx, r, "PreviewFile", sessionID, path)
}

func (r remote) PermissionRules(ctx context.Context, sessionID string) ([]orchestrator.SettingsRules, error) {
	return get[[]orchestrator.SettingsRules](ctx, r, "PermissionRules", sessionID)
}

func (r remote) Tools(ctx context.Context, sessionID string) (orchestrator.Tools, error) {
	return get[orchestrator.Tools](ctx, r, "Tools", sessionID)
}

func (r remote) EnableServer(ctx context.Context, sessionID, server string, enabled bool, by pending.Actor) error {
	return r.do(ctx, "EnableServer", []any{sessionID, server, enabled, by})
}

func (r remote) ReconnectServer(ctx context.Context, sessionID, server string, by pending.Actor) error {
	return r.do(ctx, "ReconnectServer", []any{sessionID, server, by})
}

func (r remote) SignInToServer(ctx context.Context, sessionID, server string, by pending.Actor) (string, error) {
	return get[string](ctx, r, "SignInToServer", sessionID, server, by)
}

func (r remote) FinishServerSignIn(ctx context.Context, sessionID, server, callback string, by pending.Actor) error {
	return r.do(ctx, "FinishServerSignIn", []any{sessionID, server, callback, by})
}

func (r remote) ContextUsage(ctx context.Context, sessionID string) (orchestrator.ContextUsage, error) {
	return get[orchestrator.ContextUsage](ctx, r, "ContextUsage", sessionID)
}

// WorkingTree returns a working tree whose calls reach the runner through the server that drives it.
func (r remote) WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error) {
	conn, err := r.p.connection()
	if err != nil {
		return workingtree.Tree{}, err
	}
	t, err := get[workingtree.Tree](ctx, r, "WorkingTree", sessionID, view)
	t.Trees = relayedRunner(conn, r.runnerID)
	return t, err
}

func (r remote) Discard(ctx context.Context, s session.Session, t workingtree.Tree, path, seen string, by pending.Actor) error {
	return r.do(ctx, "Discard", []any{s, t, path, seen, by})
}

func (r remote) Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error) {
	return get[string](ctx, r, "Commit", s, t, message, paths, by)
}

func (r remote) MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (string, error) {
	return get[string](ctx, r, "MergeWorktree", s, t, digest, by)
}

func (r remote) RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error) {
	return get[workingtree.RemovedWorktree](ctx, r, "RemoveWorktree", s, t, digest, by)
}

func (r remote) TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (orchestrator.TurnChanges, error) {
	return get[orchestrator.TurnChanges](ctx, r, "TurnChanges", s, t, messageID)
}

func (r remote) CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, oldPath string) (workingtree.Comparison, error) {
	return get[workingtree.Comparison](ctx, r, "CompareTurn", s, t, messageID, path, oldPath)
}

func (r remote) PreviewRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (orchestrator.Rewind, error) {
	return get[orchestrator.Rewind](ctx, r, "PreviewRewind", s, t, messageID)
}

func (r remote) Rewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID, digest string, by pending.Actor) error {
	return r.do(ctx, "Rewind", []any{s, t, messageID, digest, by})
}

func (r remote) StartHere(ctx context.Context, request json.RawMessage, permitted *orchestrator.StartPlan) (plan orchestrator.StartPlan, sessionID string, err error) {
	err = r.do(ctx, "StartHere", []any{request, permitted}, &plan, &sessionID)
	return plan, sessionID, err
}

func (r remote) DescribeRunner(ctx context.Context, runnerID string) (orchestrator.RunnerDescription, error) {
	return get[orchestrator.RunnerDescription](ctx, r, "DescribeRunner", runnerID)
}

func (r remote) RevokeOn(ctx context.Context, runnerID string, g pending.Grant) (orchestrator.Revocation, error) {
	return get[orchestrator.Revocation](ctx, r, "RevokeOn", runnerID, g)
}
