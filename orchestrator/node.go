package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/admission"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// node holds what an Orchestrator shares with its processes.
type node struct {
	o           Options
	changed     atomic.Pointer[Rules]           // the current rules; Options has the initial ones
	inForce     atomic.Pointer[[]pending.Grant] // the grants in force; nil before they are read
	lastCatalog atomic.Pointer[Catalog]         // see [Orchestrator.LastCatalog]
	admission   *admission.Control
	runner      launch.Runner
	fenced      chan struct{} // a shim has a newer lease; capacity 1, never closed
}

func (o *node) rules() *Rules { return o.changed.Load() }

// undelivered returns the answers that did not reach the CLI of a session.
func (o *node) undelivered(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UndeliveredRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !isFromCLI(r) }), err
}

// unconsumed returns the answers that the CLI of a session has not acted on.
func (o *node) unconsumed(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UnconsumedRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !isFromCLI(r) }), err
}

// grantsChanged reads the grants in force again, so that their uses are counted.
func (o *node) grantsChanged(ctx context.Context) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the grants; their uses are not counted", "error", err)
		return
	}
	o.inForce.Store(&list)
}

// isOverMCP reports whether a CLI of a session sent a request over MCP: the request waits in a tool
// call of the CLI, and package mcpapi is its asker.
func isOverMCP(r pending.Request) bool { return r.Source == pending.SourceMCP }

// isFromCLI reports whether a CLI sent a request over its control protocol, so that the
// orchestrator is its asker.
func isFromCLI(r pending.Request) bool {
	return r.Source == pending.SourceClaude || r.Source == pending.SourceElicitation
}

// newAgent mints the token with which the CLI of a session asks over MCP. It returns the zero
// Agent if sessions do not ask over MCP.
func (o *node) newAgent(ctx context.Context, sessionID string) (launch.Agent, error) {
	if o.o.MCP == nil {
		return launch.Agent{}, nil
	}
	token, err := o.o.MCP.Tokens.MintAgent(ctx, sessionID, "", 0)
	if err != nil {
		return launch.Agent{}, fmt.Errorf("orchestrator: token to ask with: %w", err)
	}
	return launch.Agent{Token: token, Tools: o.o.MCP.Tools}, nil
}

// revokeTokens revokes the tokens of a session whose process is dead.
func (o *node) revokeTokens(ctx context.Context, sessionID string) error {
	if o.o.MCP == nil {
		return nil
	}
	return o.o.MCP.Tokens.RevokeAgents(ctx, sessionID)
}

// withdrawMCP withdraws the open questions over MCP that match.
func (o *node) withdrawMCP(ctx context.Context, sessionID, reason string, match func(pending.Request) bool) error {
	if o.o.MCP == nil {
		return nil
	}
	open, err := o.o.Registry.Open(ctx, sessionID)
	if err != nil {
		return err
	}
	for _, r := range open {
		if !isOverMCP(r) || !match(r) {
			continue
		}
		if err := o.o.Registry.Withdraw(ctx, r.RequestID, reason); err != nil && !errors.Is(err, pending.ErrNotOpen) {
			return err
		}
	}
	return nil
}

// endMCP withdraws all questions of a session over MCP. Their calls died with the process,
// and the next process cannot receive the answers.
func (o *node) endMCP(ctx context.Context, sessionID, reason string) error {
	return o.withdrawMCP(ctx, sessionID, reason, func(pending.Request) bool { return true })
}

// attachmentBlocks returns the attachments of a message as blocks for Claude. For a file that
// cannot be read, Claude gets a note, because the file must not hold up the message.
func (o *node) attachmentBlocks(ctx context.Context, m session.Message) []claude.ContentBlockParam {
	var out []claude.ContentBlockParam
	for _, a := range m.Attachments {
		if a.AttachmentID != "" && a.Data == nil {
			data, err := o.o.Attachments.Read(ctx, a.AttachmentID)
			if err != nil {
				o.o.Log.Error("cannot read an attachment", "session_id", m.SessionID, "attachment_id", a.AttachmentID, "error", err)
				out = append(out, claude.TextBlock(fmt.Sprintf("(The attached file %q could not be read.)", a.Name)))
				continue
			}
			a.Data = data
		}
		out = append(out, claude.AttachmentBlock(a.Name, a.MediaType, a.Data))
	}
	return out
}

// wake signals a channel of capacity 1 unless it is already signalled.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
