package orchestrator

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
)

// ContextUsage describes what fills the context of a session, in tokens as its CLI counts them,
// and the limits of the account.
type ContextUsage struct {
	Tokens, Window int
	CompactsAt     int // the CLI summarizes the conversation at this size; 0 when it does not
	Categories     []ContextCategory
	Files          []ContextFile // instructions
	MoreFiles      bool
	Limits         []AccountLimit
}

// ContextCategory is a part of the context.
type ContextCategory struct {
	ID     string // such as messages; "" from an older CLI
	Name   string // in English
	Kind   string // used, free, buffer or deferred
	Tokens int
}

// ContextFile is a file in the context.
type ContextFile struct {
	Path   string
	Tokens int
}

// AccountLimit is a limit of the Claude account.
type AccountLimit struct {
	Name     string // five_hour, seven_day, seven_day_opus, …, as the CLI names it
	Status   string // allowed, allowed_warning or rejected; "" when unknown
	Percent  float64
	Known    bool      // Percent is known
	ResetsAt time.Time // zero when unknown
}

// Bounds of what the CLI reports.
const (
	maxCategories = 40
	maxFiles      = 100
	maxLimits     = 20
	maxTokens     = 1e12
)

// ContextUsage asks the CLI of a session what fills its context. It blocks for up to
// [Limits].Reply. It returns [ErrNotRunning], or a [problem.Error] if the CLI does not answer or
// cannot report its context.
func (o *Orchestrator) ContextUsage(ctx context.Context, sessionID string) (ContextUsage, error) {
	p, client, err := o.reachable(ctx, sessionID)
	if err != nil {
		return ContextUsage{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.rules().Limits.Reply, errUnanswered)
	defer cancel()
	var (
		asking sync.WaitGroup
		plan   map[string]claude.PlanLimit
	)
	// The limits come from the API, which may be slow. They are left out if they are late.
	hurried, hurry := context.WithTimeout(ctx, p.o.rules().Limits.Reply/2)
	defer hurry()
	asking.Go(func() { plan, _ = client.PlanLimits(hurried) })
	usage, err := client.ContextUsage(ctx)
	asking.Wait()
	switch {
	case isRefused(err):
		return ContextUsage{}, problem.New("context_unreported")
	case errors.Is(err, errUnanswered):
		return ContextUsage{}, problem.New("claude_unanswered")
	case errors.Is(err, claude.ErrClosed):
		return ContextUsage{}, ErrNotRunning
	case err != nil:
		return ContextUsage{}, err
	}
	u := ContextUsage{Tokens: tokens(usage.TotalTokens), Window: tokens(usage.MaxTokens), MoreFiles: len(usage.MemoryFiles) > maxFiles}
	if usage.AutoCompacts {
		u.CompactsAt = tokens(usage.AutoCompactThreshold)
	}
	for _, c := range usage.Categories[:min(len(usage.Categories), maxCategories)] {
		u.Categories = append(u.Categories, ContextCategory{
			ID: ellipsis.Bytes(c.ID, maxReportedName), Name: ellipsis.Bytes(c.Name, maxReportedName), Kind: ellipsis.Bytes(c.Kind, maxReportedName), Tokens: tokens(c.Tokens),
		})
	}
	for _, f := range usage.MemoryFiles[:min(len(usage.MemoryFiles), maxFiles)] {
		u.Files = append(u.Files, ContextFile{Path: ellipsis.Bytes(f.Path, maxReportedText), Tokens: tokens(f.Tokens)})
	}
	p.mu.Lock()
	u.Limits = accountLimits(p.transcript.Limits, plan)
	p.mu.Unlock()
	return u, nil
}

// accountLimits returns the limits that the CLI has printed during the session, replaced by those
// that it reports now for the plan.
func accountLimits(printed map[string]transcript.RateLimit, plan map[string]claude.PlanLimit) []AccountLimit {
	limits := map[string]AccountLimit{}
	for name, l := range printed {
		a := AccountLimit{Name: name, Status: l.Status, Percent: percent(l.Used * 100), Known: l.Used > 0}
		if l.ResetsAt > 0 {
			a.ResetsAt = time.Unix(l.ResetsAt, 0)
		}
		limits[name] = a
	}
	for name, l := range plan {
		a := AccountLimit{Name: name, Status: limits[name].Status}
		if l.Utilization != nil {
			a.Percent, a.Known = percent(*l.Utilization), true
		}
		a.ResetsAt, _ = time.Parse(time.RFC3339, l.ResetsAt) // zero if it is no time
		limits[name] = a
	}
	names := slices.Sorted(maps.Keys(limits))
	list := make([]AccountLimit, 0, len(names))
	for _, name := range names[:min(len(names), maxLimits)] {
		l := limits[name]
		l.Name, l.Status = ellipsis.Bytes(l.Name, maxReportedName), ellipsis.Bytes(l.Status, maxReportedName)
		list = append(list, l)
	}
	return list
}

func percent(p float64) float64 { return math.Round(max(0, min(p, 1000))) }

// tokens converts a number from the CLI, which may be out of range.
func tokens(n float64) int { return int(max(0, min(n, maxTokens))) }
