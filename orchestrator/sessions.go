package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Sessions is what people can do with the sessions of a runner, through its [Orchestrator] or
// through the server that drives it. Arguments and results must survive JSON.
type Sessions interface {
	// StartHere starts a session on the runner; see [StartPlan].
	StartHere(ctx context.Context, request json.RawMessage, permitted *StartPlan) (plan StartPlan, sessionID string, err error)
	RequestViews(ctx context.Context, sessionID string) (RequestViews, error)
	Send(ctx context.Context, m session.Message) error
	Unqueue(ctx context.Context, sessionID, messageID string) (bool, error)
	Interrupt(ctx context.Context, sessionID string, by pending.Actor) error
	Kill(ctx context.Context, sessionID string, force bool, reason string) error
	Resume(ctx context.Context, sessionID string, by pending.Actor) error
	Fork(ctx context.Context, sessionID, messageID string, by pending.Actor, forkID string) (string, error)
	Delete(ctx context.Context, sessionID string) error
	SetModel(ctx context.Context, sessionID, model string) error
	SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error
	Consent(ctx context.Context, sessionID string, c Consent, by pending.Actor) error
	Catalog(ctx context.Context, sessionID string) (*Catalog, error)
	PreviewFile(ctx context.Context, sessionID, path string) (FilePreview, error)
	PermissionRules(ctx context.Context, sessionID string) ([]SettingsRules, error)
	Tools(ctx context.Context, sessionID string) (Tools, error)
	EnableServer(ctx context.Context, sessionID, server string, enabled bool, by pending.Actor) error
	ReconnectServer(ctx context.Context, sessionID, server string, by pending.Actor) error
	SignInToServer(ctx context.Context, sessionID, server string, by pending.Actor) (string, error)
	FinishServerSignIn(ctx context.Context, sessionID, server, callback string, by pending.Actor) error
	ContextUsage(ctx context.Context, sessionID string) (ContextUsage, error)
	WorkingTree(ctx context.Context, sessionID string, view workingtree.View) (workingtree.Tree, error)
	Discard(ctx context.Context, s session.Session, t workingtree.Tree, path, seen string, by pending.Actor) error
	Commit(ctx context.Context, s session.Session, t workingtree.Tree, message string, paths []string, by pending.Actor) (string, error)
	MergeWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (string, error)
	RemoveWorktree(ctx context.Context, s session.Session, t workingtree.Tree, digest string, by pending.Actor) (workingtree.RemovedWorktree, error)
	TurnChanges(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (TurnChanges, error)
	CompareTurn(ctx context.Context, s session.Session, t workingtree.Tree, messageID, path, oldPath string) (workingtree.Comparison, error)
	PreviewRewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID string) (Rewind, error)
	Rewind(ctx context.Context, s session.Session, t workingtree.Tree, messageID, digest string, by pending.Actor) error
	DescribeRunner(ctx context.Context, runnerID string) (RunnerDescription, error)
	// RevokeOn revokes a grant in the settings files and the processes of a runner, not in the store.
	RevokeOn(ctx context.Context, runnerID string, g pending.Grant) (Revocation, error)
}

var _ Sessions = (*Orchestrator)(nil)

// Elsewhere gives access to the runners that other servers of the database drive.
type Elsewhere interface {
	// Sessions returns the sessions of a runner that another server drives, nil if no other does.
	Sessions(runnerID string) Sessions
	// Runners returns the ids of the runners that other servers drive.
	Runners() []string
	// Runner returns access to the machine of a runner that another server drives, nil if no other
	// does or that server cannot be reached.
	Runner(runnerID string) launch.Runner
	// Disk returns the disk of a runner that another server drives, nil if no other does.
	Disk(runnerID string) launch.Disk
	// Live returns the block that Claude is writing in a session of another server, as far as this
	// server knows it.
	Live(sessionID string) (session.Live, bool)
}

// StartPlan is what a new session needs permission for. The server that the person is connected to
// grants the permission, but only the runner can resolve the folder, so StartHere is called twice.
// The first call has no permission, and only returns the plan. The second has the permitted plan, and
// starts the session if the plan is still the same.
type StartPlan struct {
	Folder string `json:"folder"` // with all symlinks resolved
	Mode   string `json:"mode"`   // permission mode
}

// errPlanned ends a start that only plans.
var errPlanned = errors.New("planned")

// StartHere implements [Sessions].
func (o *Orchestrator) StartHere(ctx context.Context, request json.RawMessage, permitted *StartPlan) (plan StartPlan, sessionID string, err error) {
	var r StartRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return plan, "", fmt.Errorf("orchestrator: start: %w", err)
	}
	r.Permit = func(folder, mode string) error {
		plan = StartPlan{folder, mode}
		switch {
		case permitted == nil:
			return errPlanned
		case *permitted != plan:
			return fmt.Errorf("orchestrator: start: the folder was replaced: %w", pending.ErrUnavailable)
		}
		return nil
	}
	if permitted == nil {
		if _, err = o.newSession(ctx, r); errors.Is(err, errPlanned) {
			err = nil
		}
		return plan, "", err
	}
	sessionID, err = o.Start(ctx, r)
	return plan, sessionID, err
}

// startElsewhere starts a session on a runner of another server.
func startElsewhere(ctx context.Context, there Sessions, r StartRequest) (string, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("orchestrator: start on another server: %w", err)
	}
	plan, _, err := there.StartHere(ctx, request, nil)
	if err == nil && r.Permit != nil {
		err = r.Permit(plan.Folder, plan.Mode)
	}
	if err != nil {
		return "", err
	}
	_, sessionID, err := there.StartHere(ctx, request, &plan)
	return sessionID, err
}
