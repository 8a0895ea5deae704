package orchestrator

import (
	"context"
	"net/url"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/ssrf"
	"github.com/sayso-dev/sayso/pending"
)

// EnableServer enables or disables an MCP server of a session. The CLI stores the choice for
// all sessions in the folder.
func (o *Orchestrator) EnableServer(ctx context.Context, sessionID, server string, enabled bool, by pending.Actor) error {
	what := "mcp_server_disabled"
	if enabled {
		what = "mcp_server_enabled"
	}
	return o.changeServer(ctx, sessionID, server, what, by, func(ctx context.Context, c *claude.Client) error {
		return c.ToggleMCP(ctx, server, enabled)
	})
}

// ReconnectServer connects an MCP server of a session again.
func (o *Orchestrator) ReconnectServer(ctx context.Context, sessionID, server string, by pending.Actor) error {
	return o.changeServer(ctx, sessionID, server, "mcp_server_reconnected", by, func(ctx context.Context, c *claude.Client) error {
		return c.ReconnectMCP(ctx, server)
	})
}

// SignInToServer starts a sign-in to an MCP server and returns the address at which the person
// continues in a browser, "" if none is needed. The CLI stores the sign-in for all sessions of its
// user.
func (o *Orchestrator) SignInToServer(ctx context.Context, sessionID, server string, by pending.Actor) (address string, err error) {
	err = o.changeServer(ctx, sessionID, server, "mcp_sign_in_started", by, func(ctx context.Context, c *claude.Client) (err error) {
		address, err = c.AuthenticateMCP(ctx, server)
		return err
	})
	if err == nil && address != "" && !isSignInAddress(address) {
		return "", problem.New("mcp_sign_in_address")
	}
	return address, err
}

// FinishServerSignIn passes the CLI the address to which the sign-in redirected the browser: a page
// on the CLI's machine, which a browser on another machine cannot open. Then the CLI reconnects.
func (o *Orchestrator) FinishServerSignIn(ctx context.Context, sessionID, server, callback string, by pending.Actor) error {
	u, err := url.Parse(callback)
	if err != nil || u.Scheme != "http" || !ssrf.IsLoopback(u.Hostname()) || u.User != nil || !u.Query().Has("state") {
		return problem.For("callback", "mcp_sign_in_callback")
	}
	return o.changeServer(ctx, sessionID, server, "mcp_sign_in_finished", by, func(ctx context.Context, c *claude.Client) error {
		if err := c.FinishMCPSignIn(ctx, server, callback); err != nil {
			return err
		}
		return c.ReconnectMCP(ctx, server)
	})
}

// isSignInAddress reports whether a browser may be sent to an address: only over HTTPS, or to a
// loopback address.
func isSignInAddress(address string) bool {
	const maxAddress = 8 << 10
	u, err := url.Parse(address)
	return err == nil && len(address) <= maxAddress && u.User == nil && u.Hostname() != "" &&
		(u.Scheme == "https" || u.Scheme == "http" && ssrf.IsLoopback(u.Hostname()))
}

// serverIncident is the entry of the audit log for a change of an MCP server.
type serverIncident struct {
	incident
	Server string `json:"server"`
}

// changeServer records a change of an MCP server in the audit log, then makes it.
func (o *Orchestrator) changeServer(ctx context.Context, sessionID, server, what string, by pending.Actor, change func(context.Context, *claude.Client) error) error {
	if err := ownServer(server); err != nil {
		return err
	}
	p, client, err := o.reachable(ctx, sessionID)
	if err != nil {
		return err
	}
	if err := o.record(ctx, serverIncident{newIncident(what, p.session, by), server}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.rules().Limits.Reply, errUnanswered)
	defer cancel()
	return refusedByCLI(change(ctx, client))
}
