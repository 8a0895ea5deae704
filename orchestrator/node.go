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

// node is what the processes of this server share.
type node struct {
	o         Options
	changed   atomic.Pointer[Rules]           // that hold now; Options has those of the start
	inForce   atomic.Pointer[[]pending.Grant] // grants; nil before they were read
	admission *admission.Control
	starter   *launch.Starter
}

func (o *node) rules() *Rules { return o.changed.Load() }

// undelivered are the answers to the CLI of a session that it never heard.
func (o *node) undelivered(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UndeliveredRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !ofTheCLI(r) }), err
}

// unconsumed are the answers to the CLI of a session on which it was not seen to
// act.
func (o *node) unconsumed(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UnconsumedRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !ofTheCLI(r) }), err
}

// grantsChanged reads anew which grants are in force, for counting their uses.
func (o *node) grantsChanged(ctx context.Context) {
	list, err := o.o.Store.Grants(ctx, pending.GrantQuery{})
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the grants; their uses are not counted", "error", err)
		return
	}
	o.inForce.Store(&list)
}

// overMCP reports whether a request came from a CLI of ours by MCP: it waits in a
// tool call of the CLI, and its asker is package mcpapi.
func overMCP(r pending.Request) bool { return r.Source == pending.SourceMCP }

// ofTheCLI reports whether a request came from a CLI's control protocol, so that
// the orchestrator is its asker.
func ofTheCLI(r pending.Request) bool {
	return r.Source == pending.SourceClaude || r.Source == pending.SourceElicitation
}

// withdrawMCP withdraws those open questions over MCP for which match returns true.
func (o *node) withdrawMCP(ctx context.Context, sessionID, reason string, match func(pending.Request) bool) error {
	if o.o.MCP == nil {
		return nil
	}
	open, err := o.o.Registry.Open(ctx, sessionID)
	if err != nil {
		return err
	}
	for _, r := range open {
		if !overMCP(r) || !match(r) {
			continue
		}
		if err := o.o.Registry.Withdraw(ctx, r.RequestID, reason); err != nil && !errors.Is(err, pending.ErrNotOpen) {
			return err
		}
	}
	return nil
}

// endMCP withdraws all that a session asked over MCP: with its process died who
// waited, and nobody can give the answer to the next.
func (o *node) endMCP(ctx context.Context, sessionID, reason string) error {
	return o.withdrawMCP(ctx, sessionID, reason, func(pending.Request) bool { return true })
}

// blocks are the attachments of a message as Claude takes them. A file that is
// gone must not keep the message from ever being said: Claude is told instead.
func (o *node) blocks(m session.Message) []claude.ContentBlockParam {
	var out []claude.ContentBlockParam
	for _, a := range m.Attachments {
		if a.AttachmentID != "" && a.Data == nil {
			data, err := o.o.Attachments.Read(a.AttachmentID)
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

// wake signals a channel of capacity 1 unless it is signalled already.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
