package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// calls are the calls that one server makes to another, by method name.
type calls interface {
	orchestrator.Sessions
	// LivePart waits until the block that Claude is writing differs from what the caller has, but no
	// longer than liveWait, and returns what the caller lacks.
	LivePart(ctx context.Context, sessionID string, have LiveMark) (LivePart, error)
	// RunnerLoad returns the resource use of a runner that the server drives, or
	// [launch.ErrUnreachable] if it drives no such runner.
	RunnerLoad(ctx context.Context, runnerID string) (wire.RunnerLoad, error)
	// Looking reports who views sessions on the calling server.
	Looking(ctx context.Context, all []Viewers) error
	// GracePeriods returns, by request, how long the questions of agents must at least stay open for
	// askers that wait on the server, or have left it shortly before. It omits all others.
	GracePeriods(ctx context.Context, requestIDs []string) (map[string]time.Duration, error)
}

// Viewers lists the people who view a session on one server.
type Viewers = wire.Presence

// callerKey is the context key for the id of the calling server.
type callerKey struct{}

func withCaller(ctx context.Context, serverID string) context.Context {
	return context.WithValue(ctx, callerKey{}, serverID)
}

func callerOf(ctx context.Context) string {
	serverID, _ := ctx.Value(callerKey{}).(string)
	return serverID
}

// served answers the calls of other servers.
type served struct {
	Sessions
	c *Cluster
}

// runnerCallPrefix begins the name of a call to a [launch.Runner]. The id of the runner, a slash
// and the name of the method follow.
const runnerCallPrefix = "runner/"

// answer answers a call of another server.
func (c *Cluster) answer(ctx context.Context, call *link.Call) (any, error) {
	ctx = orchestrator.WithForwarded(ctx)
	rest, isRunnerCall := strings.CutPrefix(call.Name, runnerCallPrefix)
	if !isRunnerCall {
		return c.methods.Serve(ctx, call)
	}
	runnerID, method, _ := strings.Cut(rest, "/")
	there := c.o.Sessions.RunnerHere(runnerID)
	if there == nil {
		return nil, launch.ErrUnreachable
	}
	methods, err := runner.MethodsOf(there)
	if err != nil {
		return nil, err
	}
	call.Name = method
	return methods.Serve(ctx, call)
}

// RunnerLoad implements calls.
func (s served) RunnerLoad(ctx context.Context, runnerID string) (wire.RunnerLoad, error) {
	load, drives := s.c.o.Load(ctx, runnerID)
	if !drives {
		return load, launch.ErrUnreachable
	}
	return load, nil
}

// Looking implements calls.
func (s served) Looking(ctx context.Context, all []Viewers) error {
	s.c.o.Tabs.SetViewers(callerOf(ctx), all)
	return nil
}

// errorCodes returns the codes of the errors that callers compare. All other errors become refusals,
// which keep what people see of them.
func (c *Cluster) errorCodes() []link.ErrorCode {
	return append(append([]link.ErrorCode{
		{Code: "session_not_found", Err: session.ErrNotFound},
		{Code: "request_not_found", Err: pending.ErrNotFound},
		{Code: "not_running", Err: orchestrator.ErrNotRunning},
		{Code: "running", Err: orchestrator.ErrRunning},
		{Code: "closing", Err: orchestrator.ErrClosing},
	}, launch.ErrorCodes...), link.ErrorCode{Code: "refusal", Detail: c.refusalDetail, Restore: restoreRefusal})
}

// wireRefusal is the wire format of a [refusal.Refusal]. It lacks the cause, which is in the log of
// the server that refused.
type wireRefusal struct {
	Status   int            `json:"status"`
	Result   wire.AckResult `json:"result"`
	Body     wire.ErrorBody `json:"body"`
	Resolved *wire.Resolved `json:"resolved,omitempty"`
	Retry    time.Duration  `json:"retry,omitempty"`
}

func (c *Cluster) refusalDetail(err error) (any, bool) {
	for _, own := range []error{context.Canceled, context.DeadlineExceeded, link.ErrUnknown, link.ErrTooLarge, link.ErrProtocol} {
		if errors.Is(err, own) {
			return nil, false
		}
	}
	r := c.o.Refusals.Of(err)
	refusal.Report(context.Background(), c.o.Log, "refused what another server passed on", r)
	return wireRefusal{r.Status, r.Result, r.Body, r.Resolved, r.Retry}, true
}

func restoreRefusal(detail json.RawMessage) (error, error) {
	var t wireRefusal
	err := json.Unmarshal(detail, &t)
	return &refusal.Refusal{Status: t.Status, Result: t.Result, Body: t.Body, Resolved: t.Resolved, Retry: t.Retry}, err
}
