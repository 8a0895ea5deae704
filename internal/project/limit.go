package project

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// Limits bounds what sessions may use. Zero means no limit.
type Limits struct {
	Sessions int     `json:"sessions"` // with a running process, at the same time
	Memory   uint64  `json:"memory"`   // of their process trees, in bytes; above it, no process starts
	Cost     float64 `json:"cost"`     // in US dollars a day, which starts at 00:00 UTC; above it, no turn starts
}

// The highest limits that may be set.
const (
	maxLimitSessions = 1_000_000
	maxLimitMemory   = 1 << 50
	maxLimitCost     = 1_000_000
)

// check returns a [problem.Error] for invalid limits in a field.
func (l Limits) check(field string) error {
	if l.Sessions < 0 || l.Sessions > maxLimitSessions || l.Memory > maxLimitMemory || !(l.Cost >= 0 && l.Cost <= maxLimitCost) {
		return problem.For(field, "limit_range")
	}
	return nil
}

// Override replaces limits for one person; nil keeps the general one.
type Override struct {
	Sessions *int     `json:"sessions,omitempty"`
	Memory   *uint64  `json:"memory,omitempty"` // bytes
	Cost     *float64 `json:"cost,omitempty"`   // US dollars a day
}

// ApplyTo returns the limits with the override applied.
func (o Override) ApplyTo(l Limits) Limits {
	if o.Sessions != nil {
		l.Sessions = *o.Sessions
	}
	if o.Memory != nil {
		l.Memory = *o.Memory
	}
	if o.Cost != nil {
		l.Cost = *o.Cost
	}
	return l
}

// Check returns a [problem.Error] for invalid limits.
func (o Override) Check() error { return o.ApplyTo(Limits{}).check("limits") }

// Spending is the cost on one day of the sessions that a person started in a project.
type Spending struct {
	ProjectID string // "" for the default project
	UserID    string
	Micros    int64 // millionths of a US dollar
}

// DayCost is the cost of sessions on one day, in millionths of a US dollar.
type DayCost struct {
	Day     time.Time // 00:00 UTC
	Person  int64     // of the sessions that a person started, in all projects
	Project int64     // of the sessions in a project
}

// Ledger stores the cost of sessions, which [session.Progress] writes, and the limits of
// people. Both engines pass the contract of store/storetest.
type Ledger interface {
	// Spending returns the costs of the UTC day of a time.
	Spending(ctx context.Context, day time.Time) ([]Spending, error)
	// CostDays returns the costs of a person and of a project on each UTC day, from the day that
	// contains since, oldest first. It omits days without costs of either.
	CostDays(ctx context.Context, since time.Time, userID, projectID string) ([]DayCost, error)
	// UserLimits returns the overrides by user id.
	UserLimits(ctx context.Context) (map[string]Override, error)
	// SetUserLimits replaces the override of a person, whose name is name, and records by in the
	// audit log. Both are on disk when it returns.
	SetUserLimits(ctx context.Context, userID, name string, o Override, by pending.Actor) error
}

// SessionUse is what a session with a running process uses.
type SessionUse struct {
	Folder  string // of the session, absolute
	OwnerID string
	Memory  uint64 // of its process tree, bytes
}

// Use is the resources that sessions use now, and their cost today.
type Use struct {
	Sessions int    // with a process
	Memory   uint64 // of their process trees, bytes
	Micros   int64  // millionths of a US dollar
}

// Cost returns the cost in US dollars.
func (u Use) Cost() float64 { return float64(u.Micros) / 1e6 }

// Bounds is an immutable snapshot of all limits and of the costs of the day.
type Bounds struct {
	*Book
	everybody Limits
	different map[string]Override
	spent     []Spending
	day       time.Time // start of the day
}

// BoundsStore reads limits and costs.
type BoundsStore interface {
	Projects(ctx context.Context) ([]Project, error)
	Users(ctx context.Context) ([]account.User, error)
	Ledger
}

// ReadBounds reads the current limits. everybody is the limit for all sessions of a person
// without an override.
func ReadBounds(ctx context.Context, store BoundsStore, everybody Limits, now time.Time) (*Bounds, error) {
	b := &Bounds{everybody: everybody, day: now.UTC().Truncate(24 * time.Hour)}
	projects, err := store.Projects(ctx)
	if err == nil {
		b.different, err = store.UserLimits(ctx)
	}
	if err == nil {
		b.spent, err = store.Spending(ctx, b.day)
	}
	var people []account.User
	if err == nil {
		people, err = store.Users(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("project: read limits: %w", err)
	}
	b.Book = NewBook(projects, people)
	return b, nil
}

// PersonLimits returns the limits for all sessions of a person.
func (b *Bounds) PersonLimits(userID string) Limits { return b.different[userID].ApplyTo(b.everybody) }

// OverrideOf returns the override of a person.
func (b *Bounds) OverrideOf(userID string) Override { return b.different[userID] }

// Everybody returns the limits of people without an override.
func (b *Bounds) Everybody() Limits { return b.everybody }

// NextDay returns the start of the next day, when costs count from zero.
func (b *Bounds) NextDay() time.Time { return b.day.Add(24 * time.Hour) }

// UseOf returns what a person's sessions use, in all projects.
func (b *Bounds) UseOf(userID string, taken []SessionUse) Use {
	return b.use(taken, func(_, owner string) bool { return owner == userID })
}

// UseIn returns what the sessions in a project use. An empty userID counts those of all
// people.
func (b *Bounds) UseIn(projectID, userID string, taken []SessionUse) Use {
	return b.use(taken, func(in, owner string) bool { return in == projectID && (userID == "" || owner == userID) })
}

func (b *Bounds) use(taken []SessionUse, counts func(projectID, owner string) bool) (u Use) {
	for _, t := range taken {
		if counts(b.Book.ProjectIDOf(t.Folder), t.OwnerID) {
			u.Sessions++
			u.Memory += t.Memory
		}
	}
	for _, s := range b.spent {
		if counts(s.ProjectID, s.UserID) {
			u.Micros += s.Micros
		}
	}
	return u
}

// bound is one limit and its current use.
type bound struct {
	limits                 Limits
	use                    Use
	sessions, memory, cost string // reasons of errors
}

// boundsOf returns the bounds that apply to a session in a folder.
func (b *Bounds) boundsOf(folder, ownerID string, taken []SessionUse) []bound {
	list := []bound{{b.PersonLimits(ownerID), b.UseOf(ownerID, taken), "limit_person_sessions", "limit_person_memory", "limit_person_cost"}}
	if p, ok := b.Book.Project(b.Book.ProjectIDOf(folder)); ok {
		list = append(list,
			bound{p.Limits, b.UseIn(p.ProjectID, "", taken), "limit_project_sessions", "limit_project_memory", "limit_project_cost"},
			bound{p.EachLimit, b.UseIn(p.ProjectID, ownerID, taken), "limit_each_sessions", "limit_each_memory", "limit_each_cost"})
	}
	return list
}

// AllowProcess returns nil if another process may start for a session in a folder, else a
// [problem.Error] that is [problem.LimitReached]. taken lists the other sessions with a
// process.
func (b *Bounds) AllowProcess(folder, ownerID string, taken []SessionUse) error {
	for _, l := range b.boundsOf(folder, ownerID, taken) {
		switch {
		case l.limits.Sessions > 0 && l.use.Sessions >= l.limits.Sessions:
			return b.reachedError(l.sessions, folder, ownerID, "max", l.limits.Sessions)
		case l.limits.Memory > 0 && l.use.Memory >= l.limits.Memory:
			return b.reachedError(l.memory, folder, ownerID, "max", l.limits.Memory>>20, "used", l.use.Memory>>20)
		}
	}
	return b.AllowTurn(folder, ownerID)
}

// BoundsProcesses reports whether any limit for a session in a folder depends on the running
// processes: a limit of sessions or memory.
func (b *Bounds) BoundsProcesses(folder, ownerID string) bool {
	return slices.ContainsFunc(b.boundsOf(folder, ownerID, nil), func(l bound) bool { return l.limits.Sessions > 0 || l.limits.Memory > 0 })
}

// AllowTurn returns nil if another turn may start in a session in a folder, else a
// [problem.Error] that is [problem.LimitReached].
func (b *Bounds) AllowTurn(folder, ownerID string) error {
	for _, l := range b.boundsOf(folder, ownerID, nil) {
		if l.limits.Cost > 0 && l.use.Micros >= int64(math.Round(l.limits.Cost*1e6)) {
			return b.reachedError(l.cost, folder, ownerID, "max", l.limits.Cost, "used", l.use.Cost())
		}
	}
	return nil
}

// reachedError returns the error of a limit, with its person and project.
func (b *Bounds) reachedError(reason, folder, ownerID string, params ...any) error {
	params = append(params, "person", b.Book.Names([]string{ownerID}))
	if p, ok := b.Book.Project(b.Book.ProjectIDOf(folder)); ok {
		params = append(params, "project", p.Name)
	}
	return problem.New(reason, params...)
}
