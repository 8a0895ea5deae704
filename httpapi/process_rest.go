package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// processStore holds what processHandlers reads and writes.
type processStore interface {
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
}

// processDriver is what processHandlers needs from the orchestrator.
type processDriver interface {
	Environment(ctx context.Context, runnerID string) (orchestrator.Environment, error)
	Vitals(sessionID string) (orchestrator.Vitals, bool)
	// DrivenElsewhere reports whether another server drives a runner.
	DrivenElsewhere(runnerID string) bool
	Stderr(ctx context.Context, sessionID string) string
	RequestViews(ctx context.Context, sessionID string) (orchestrator.RequestViews, error)
}

// processHandlers serves processes to admins.
type processHandlers struct {
	store   processStore
	driver  processDriver
	live    Live
	nodeID  string
	version string
	started time.Time
}

// getProcesses lists running processes and dead ones with open requests. ?samples=true
// adds memory and CPU of the last five minutes.
func (s *processHandlers) getProcesses(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	states, err := s.store.ActiveProcesses(r.Context())
	if err != nil {
		return err
	}
	samples := r.URL.Query().Get("samples") == "true"
	list := wire.ProcessList{Processes: make([]wire.Process, 0, len(states))}
	for _, p := range states {
		row := wire.Process{
			SessionID: p.SessionID, Title: p.Title, PID: p.PID, State: p.State, Memory: p.Memory, CPU: p.CPU,
			StartedAt: wire.Seconds(p.StartedAt), OpenRequests: len(p.Requests), Tabs: s.live.Readers(p.SessionID),
			WaitsFor: wire.OrNull(waitsFor(p)), NodeID: p.NodeID,
		}
		if !p.StartedAt.IsZero() {
			row.Age = time.Since(p.StartedAt).Seconds()
		}
		v, isLocal := s.driver.Vitals(p.SessionID)
		row.HeardAt, row.Trouble = wire.SecondsOrNull(v.HeardAt), s.troubleOf(p, isLocal, v)
		row.CostUSD, row.ContextTokens, row.ContextWindow = v.CostUSD, v.ContextTokens, v.ContextWindow
		if samples {
			for _, m := range v.Samples {
				row.Samples = append(row.Samples, wire.ProcessSample{At: wire.Seconds(m.At), Memory: m.Memory, CPU: m.CPU})
			}
		}
		list.Processes = append(list.Processes, row)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// troubleOf returns what is wrong with a process, or nil. isLocal means that this
// server drives the process.
func (s *processHandlers) troubleOf(p session.ProcessState, isLocal bool, v orchestrator.Vitals) *wire.ProcessTrouble {
	switch {
	case p.Kind != session.Ours:
		return nil
	case p.Running() && p.Unreachable:
		return trouble(wire.Unreachable, statement.New("other_node", "node", p.NodeID))
	case p.Running() && !isLocal && !s.driver.DrivenElsewhere(p.RunnerID):
		return trouble(wire.Unreachable, statement.New("process_unknown"))
	case p.Running() && isLocal && !v.Reached:
		return trouble(wire.Unreachable, cmp.Or(p.Stuck, statement.New("shim_silent_admin")))
	case p.Running() && p.Stuck != "":
		return trouble(wire.Stuck, p.Stuck)
	case p.Running() && v.Recovered != "":
		return trouble(wire.Recovered, v.Recovered)
	case !p.Running() && len(p.Requests) > 0:
		return trouble(wire.Orphan, statement.New("orphaned_requests"))
	}
	return nil
}

func trouble(kind wire.TroubleKind, reason string) *wire.ProcessTrouble {
	return &wire.ProcessTrouble{Kind: kind, Reason: reason, Reasons: statement.Reasons("reason", reason)}
}

// waitsFor describes why a process does nothing.
func waitsFor(p session.ProcessState) string {
	switch {
	case len(p.Requests) == 1:
		return "A person's answer to " + p.Requests[0].ToolName + "."
	case len(p.Requests) > 1:
		return "A person's answers to " + strconv.Itoa(len(p.Requests)) + " requests."
	case p.Stuck != "":
		return p.Stuck
	case p.State == session.UserTurn:
		return "A message from a person."
	}
	return ""
}

// getDiagnostics returns a text for troubleshooting: versions, state, counters and the
// end of stderr. It contains no inputs, answers or secrets.
func (s *processHandlers) getDiagnostics(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	id := r.PathValue("id")
	p, err := s.store.ProcessState(r.Context(), id)
	if err != nil {
		return err
	}
	v, isLocal := s.driver.Vitals(id)
	claude, err := s.driver.Environment(r.Context(), p.RunnerID)
	if err != nil && !errors.Is(err, problem.RunnerUnreachable) {
		return err
	}
	var b strings.Builder
	line := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	formatTime := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339) + fmt.Sprintf(" (%s ago)", time.Since(t).Round(time.Second))
	}
	b.WriteString("# sayso diagnostics\n\n")
	line("time", time.Now().UTC().Format(time.RFC3339))
	line("sayso", s.version)
	line("claude", claude.ClaudeVersion)
	line("platform", runtime.GOOS+"/"+runtime.GOARCH+" "+runtime.Version())
	line("node", s.nodeID)
	line("server up", time.Since(s.started).Round(time.Second))
	b.WriteString("\n## session\n\n")
	line("session", p.SessionID)
	line("process", fmt.Sprintf("%s pid %d on %s", orNone(p.ProcessID), p.PID, orNone(p.NodeID)))
	line("driven here", isLocal)
	line("state", fmt.Sprintf("%s, version %d, since %s", p.State, p.Version, formatTime(p.StateChangedAt)))
	line("started", formatTime(p.StartedAt))
	line("last heard", formatTime(v.HeardAt))
	line("mode", p.PermissionMode)
	line("model", p.Model)
	if t := s.troubleOf(p, isLocal, v); t != nil {
		line(string(t.Kind), t.Reason)
	}
	line("error", p.Error)
	line("killed", p.KillReason)
	line("memory", fmt.Sprintf("%d MB", p.Memory>>20))
	line("cpu", fmt.Sprintf("%.2f cores", p.CPU))
	line("tabs", s.live.Readers(id))
	line("queued messages", p.QueuedMessages)
	for _, q := range p.Requests {
		line("request", fmt.Sprintf("%s %s %s %s of %s, since %s", q.RequestID, q.Status, q.RequestType, q.ToolName, q.Source, formatTime(q.CreatedAt)))
	}
	if isLocal {
		b.WriteString("\n## process\n\n")
		line("adopted", v.Adopted)
		line("recovered", v.Recovered != "")
		line("resumed", v.Resumed)
		line("questions that wait", v.Questions)
		slices.Sort(v.Calls)
		line("tools that run or wait", strings.Join(v.Calls, ", "))
		line("lines that were no message", v.Unreadable)
		line("journal taken in", fmt.Sprintf("%d bytes", v.Offset))
		line("transcript that waits for the store", fmt.Sprintf("%d bytes", v.Unwritten))
		line("rules taken back that it may know", v.RulesRevoked)
		if n := len(v.Samples); n > 0 {
			first, last := v.Samples[0], v.Samples[n-1]
			line("memory over the last minutes", fmt.Sprintf("%d MB to %d MB in %s", first.Memory>>20, last.Memory>>20, last.At.Sub(first.At).Round(time.Second)))
		}
		if text := s.driver.Stderr(r.Context(), id); text != "" {
			fmt.Fprintf(&b, "\n## stderr, the last lines\n\n%s\n", text)
		}
	}
	writeJSON(w, http.StatusOK, wire.Diagnostics{Text: strings.ToValidUTF8(b.String(), "\uFFFD")})
	return nil
}

// getRequestViews compares the open requests of a session as known to the database, the
// server, the journal and Claude.
func (s *processHandlers) getRequestViews(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	id := r.PathValue("id")
	v, err := s.driver.RequestViews(r.Context(), id)
	if err != nil {
		return err
	}
	out := wire.RequestViews{SessionID: id, State: v.State, Rows: []wire.RequestRow{}, Waiting: v.Waiting, Journal: v.Journal, Claude: v.CLI, Differences: v.Differences}
	if out.Differences == nil {
		out.Differences = []string{}
	}
	for _, row := range v.Rows {
		out.Rows = append(out.Rows, wire.RequestRow{RequestID: row.RequestID, Source: row.Source, Status: row.Status, ToolName: row.ToolName})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
