package orchestrator

import (
	"context"
	"fmt"
	"slices"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// RequestViews compares what the parts of the server and the CLI itself know about the open
// requests of a session. They may differ for a moment while a request arrives or an answer is in
// flight.
type RequestViews struct {
	ProcessID string
	State     session.State
	Rows      []pending.Request // in the store, the oldest first; includes orphaned requests
	// The other views are sorted ids of requests as in Rows; nil when unknown. Journal and CLI
	// contain only the CLI's permission requests.
	Waiting []string // requests with an asker that waits in this server
	Journal []string // requests that the CLI printed, without a withdrawal or an answer
	CLI     []string // requests that the CLI reports as open
	// Differences describes where the views differ, one sentence each.
	Differences []string
}

// RequestViews collects the views of a session. It asks a running CLI, which takes up to
// [Limits].Reply.
func (o *Orchestrator) RequestViews(ctx context.Context, sessionID string) (RequestViews, error) {
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil {
		return RequestViews{}, err
	}
	v := RequestViews{ProcessID: state.ProcessID, State: state.State, Rows: state.Requests}
	p := o.find(sessionID)
	if p == nil || p.processID != state.ProcessID {
		if state.Kind == session.Ours && !state.Running() {
			v.compare()
		}
		return v, nil
	}
	v.Waiting = o.o.Registry.Waiting(sessionID)
	whole := true
	if conn, ok := p.connection().(launch.JournalReader); ok {
		if v.Journal, whole, err = p.openInJournal(ctx, conn); err != nil {
			return RequestViews{}, fmt.Errorf("orchestrator: requests in the journal: %w", err)
		}
	}
	if v.CLI, err = p.openInCLI(ctx); err != nil {
		p.log.WarnContext(ctx, "Claude does not report its open requests", "error", err)
	}
	if !whole { // a missing request may be in the part that is gone
		for _, r := range v.Rows {
			if v.inCLI(r) && !slices.Contains(v.Journal, r.RequestID) {
				v.Journal = append(v.Journal, r.RequestID)
			}
		}
		slices.Sort(v.Journal)
	}
	v.compare()
	return v, nil
}

// inCLI reports whether the CLI should be waiting for a request of Rows.
func (v *RequestViews) inCLI(r pending.Request) bool {
	return r.Source == pending.SourceClaude && r.Status == pending.Open && r.ProcessID == v.ProcessID
}

// compare sets Differences.
func (v *RequestViews) compare() {
	running := v.State != session.Dead
	var inCLI []string
	for _, r := range v.Rows {
		switch {
		case v.inCLI(r) && running:
			inCLI = append(inCLI, r.RequestID)
		case r.Status == pending.Open && (r.Source == pending.SourceClaude || r.Source == pending.SourceElicitation) && !(running && r.ProcessID == v.ProcessID):
			v.Differences = append(v.Differences, fmt.Sprintf("%s is open in the database, and its process is gone.", r.RequestID))
		case r.Source == pending.SourceElicitation && r.Status == pending.Open && v.Waiting != nil && !slices.Contains(v.Waiting, r.RequestID):
			v.Differences = append(v.Differences, fmt.Sprintf("%s is open in the database, and nobody waits for it.", r.RequestID))
		}
	}
	slices.Sort(inCLI)
	for _, other := range []struct {
		name string
		ids  []string
		all  bool // it also contains requests that are not the CLI's
	}{{"the registry", v.Waiting, true}, {"the journal", v.Journal, false}, {"Claude", v.CLI, false}} {
		if other.ids == nil {
			continue
		}
		for _, id := range inCLI {
			if !slices.Contains(other.ids, id) {
				v.Differences = append(v.Differences, fmt.Sprintf("%s is open in the database, and not known to %s.", id, other.name))
			}
		}
		for _, id := range other.ids {
			known := slices.Contains(inCLI, id) || other.all && slices.ContainsFunc(v.Rows, func(r pending.Request) bool { return r.RequestID == id })
			if !known {
				v.Differences = append(v.Differences, fmt.Sprintf("%s is known to %s, and not open in the database.", id, other.name))
			}
		}
	}
}

// openInJournal returns the ids of the open requests according to the journal; nil when they are
// unknown. whole is false if the beginning of the journal is gone.
func (p *process) openInJournal(ctx context.Context, conn launch.JournalReader) (ids []string, whole bool, err error) {
	ids, whole, err = conn.OpenRequests(ctx)
	for i, id := range ids {
		ids[i] = pending.NewRequestID(p.session.SessionID, p.processID, id)
	}
	slices.Sort(ids)
	return ids, whole, err
}

// openInCLI asks the CLI for the ids of its open requests; nil when it cannot be asked now.
func (p *process) openInCLI(ctx context.Context) ([]string, error) {
	s, client := p.snapshot(), p.clientNow()
	if client == nil || !s.initialized || s.detached || s.stopReason != "" || s.ended {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	hello, err := client.ListOpen(ctx, initialization())
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, r := range hello.PendingPermissionRequests {
		ids = append(ids, pending.NewRequestID(p.session.SessionID, p.processID, r.RequestID))
	}
	slices.Sort(ids)
	return ids, nil
}

func (p *process) connection() launch.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn
}
