package wsapi

import (
	"context"
	"strings"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// welcome queues a snapshot for new tabs: all running and waiting sessions that they may
// see, encoded once for all people who see the same.
func (h *Hub) welcome(ctx context.Context) {
	snapshots := map[project.Person]snapshot{}
	h.mu.Lock()
	for t, welcomed := range h.tabs {
		if !welcomed {
			snapshots[access.Person(t.who)] = snapshot{}
		}
	}
	h.mu.Unlock()
	if len(snapshots) == 0 {
		return
	}
	states, err := h.o.Store.ActiveProcesses(ctx)
	if err != nil {
		h.snapshotFailed(ctx, "read active sessions for tabs", err)
		return
	}
	book, err := h.o.Guard.Book(ctx) // after the states, as in refresh
	if err != nil {
		h.snapshotFailed(ctx, "read projects for tabs", err)
		return
	}
	// Without the lock: thousands of open requests take a while to encode.
	for who := range snapshots {
		snapshots[who] = newSnapshot(ctx, states, book, who, h.o.Rules.Levels)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for t, welcomed := range h.tabs {
		first, ready := snapshots[access.Person(t.who)]
		if welcomed || !ready { // a tab that joined meanwhile has woken Run
			continue
		}
		h.tabs[t], t.hidden = true, first.hidden
		for sessionID, r := range first.reports {
			t.putProgress(sessionID, r)
		}
		t.putSnapshot(first.frame)
	}
}

// snapshot is the first state that a person receives.
type snapshot struct {
	frame   []byte
	reports map[string]progress
	hidden  string
}

func newSnapshot(ctx context.Context, states []session.ProcessState, book *project.Book, who project.Person, read wire.Levels) snapshot {
	s := snapshot{reports: map[string]progress{}, hidden: hiddenKey(book, who)}
	all := wire.ActiveProcesses{Type: "active_processes", Processes: make([]wire.ProcessState, 0, len(states))}
	for _, p := range states {
		if book.May(who, project.See, access.PlaceOfProcess(p)) != nil {
			continue
		}
		all.Processes = append(all.Processes, wire.NewProcessState(ctx, p, access.PlaceOfProcess(p), book, who, read))
		if p.Lifecycle != nil {
			s.reports[p.SessionID] = newProgress(p.SessionID, p.Lifecycle)
		}
	}
	s.frame = wire.Encode(all)
	return s
}

// hiddenKey identifies what a person may not see: projects and, because they decide which
// sessions belong to them, their folders.
func hiddenKey(book *project.Book, who project.Person) string {
	var key []string
	for _, id := range book.Hidden(who) {
		p, _ := book.Project(id)
		key = append(append(key, id), p.Folders...)
	}
	return strings.Join(key, "\n")
}

// snapshotFailed makes the new tabs send the notice while they wait.
func (h *Hub) snapshotFailed(ctx context.Context, doing string, err error) {
	h.mu.Lock()
	for t, welcomed := range h.tabs {
		if !welcomed {
			t.queue(func() { t.snapshotFailed = true })
		}
	}
	h.mu.Unlock()
	h.failed(ctx, doing, err)
}
