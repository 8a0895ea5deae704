package project

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// Limits bound what sessions may take. Zero is no limit.
type Limits struct {
	Sessions int     `json:"sessions"` // with a process, at once
	Memory   uint64  `json:"memory"`   // of their process trees, bytes; none starts above it
	Cost     float64 `json:"cost"`     // US dollars a day, which begins at 00:00 UTC; no turn begins above it
}

// Largest limits.
const (
	maxLimitSessions = 1_000_000
	maxLimitMemory   = 1 << 50
	maxLimitCost     = 1_000_000
)

// check says what is wrong with limits in a field: nil, or a [problem.Error].
func (l Limits) check(field string) error {
	if l.Sessions < 0 || l.Sessions > maxLimitSessions || l.Memory > maxLimitMemory || !(l.Cost >= 0 && l.Cost <= maxLimitCost) {
		return problem.For(field, "limit_range")
	}
	return nil
}

// Override is what is different for one person; nil is as for everybody.
type Override struct {
	Sessions *int     `json:"sessions,omitempty"`
	Memory   *uint64  `json:"memory,omitempty"` // bytes
	Cost     *float64 `json:"cost,omitempty"`   // US dollars a day
}

// ApplyTo is the limits of a person for whom some are different.
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

// Check says what is wrong: nil, or a [problem.Error].
func (o Override) Check() error { return o.ApplyTo(Limits{}).check("limits") }

// Spending is what the sessions that one person started in a project have cost on
// a day.
type Spending struct {
	ProjectID string // "" for the default project
	UserID    string
	Micros    int64 // millionths of a US dollar
}

// Ledger remembers what sessions have cost, which [session.Progress] writes, and
// the limits of people. Both engines pass the contract of store/storetest.
type Ledger interface {
	// Spending is that of the day in UTC in which a time lies.
	Spending(ctx context.Context, day time.Time) ([]Spending, error)
	// UserLimits are those that differ, by user id.
	UserLimits(ctx context.Context) (map[string]Override, error)
	// SetUserLimits replaces those of a person, who is on record with their name. It
	// is on disk, and on record, when the call returns.
	SetUserLimits(ctx context.Context, userID, name string, o Override, by pending.Actor) error
}

// Taken is a session with a process.
type Taken struct {
	Folder  string // of the session, absolute
	OwnerID string
	Memory  uint64 // of its process tree, bytes
}

// Use is what sessions take at one moment, and have cost today.
type Use struct {
	Sessions int    // with a process
	Memory   uint64 // of their process trees, bytes
	Micros   int64  // millionths of a US dollar
}

// Cost is in US dollars.
func (u Use) Cost() float64 { return float64(u.Micros) / 1e6 }

// Bounds are all limits at one moment, and what was spent of them. They do not
// change.
type Bounds struct {
	*Book
	everybody Limits
	different map[string]Override
	spent     []Spending
	day       time.Time // its beginning
}

// BoundsStore is what bounds are read from.
type BoundsStore interface {
	Projects(ctx context.Context) ([]Project, error)
	Users(ctx context.Context) ([]account.User, error)
	Ledger
}

// ReadBounds reads the limits that hold now. everybody's are those of a person for
// whom no other is set, in all their sessions together.
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

// PersonLimits is the limits of a person in all their sessions together.
func (b *Bounds) PersonLimits(userID string) Limits { return b.different[userID].ApplyTo(b.everybody) }

// Different is what is different for a person.
func (b *Bounds) Different(userID string) Override { return b.different[userID] }

// Everybody is the limits of those for whom nothing is different.
func (b *Bounds) Everybody() Limits { return b.everybody }

// NextDay is when a new day begins, and with it the count of costs.
func (b *Bounds) NextDay() time.Time { return b.day.Add(24 * time.Hour) }

// UseOf is what the sessions of a person take, in all projects.
func (b *Bounds) UseOf(userID string, taken []Taken) Use {
	return b.use(taken, func(_, owner string) bool { return owner == userID })
}

// UseIn is what the sessions in a project take; userID "" is for all people.
func (b *Bounds) UseIn(projectID, userID string, taken []Taken) Use {
	return b.use(taken, func(in, owner string) bool { return in == projectID && (userID == "" || owner == userID) })
}

func (b *Bounds) use(taken []Taken, counts func(projectID, owner string) bool) (u Use) {
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

// bound is one limit with what is taken of it.
type bound struct {
	limits                 Limits
	use                    Use
	sessions, memory, cost string // reasons of errors
}

// over are the bounds that a session in a folder is in.
func (b *Bounds) over(folder, ownerID string, taken []Taken) []bound {
	list := []bound{{b.PersonLimits(ownerID), b.UseOf(ownerID, taken), "limit_person_sessions", "limit_person_memory", "limit_person_cost"}}
	if p, ok := b.Book.Project(b.Book.ProjectIDOf(folder)); ok {
		list = append(list,
			bound{p.Limits, b.UseIn(p.ProjectID, "", taken), "limit_project_sessions", "limit_project_memory", "limit_project_cost"},
			bound{p.EachLimit, b.UseIn(p.ProjectID, ownerID, taken), "limit_each_sessions", "limit_each_memory", "limit_each_cost"})
	}
	return list
}

// AllowProcess says whether another process may start for a session in a folder: nil, or a
// [problem.Error] that is [problem.LimitReached]. taken are the other sessions that have one.
func (b *Bounds) AllowProcess(folder, ownerID string, taken []Taken) error {
	for _, l := range b.over(folder, ownerID, taken) {
		switch {
		case l.limits.Sessions > 0 && l.use.Sessions >= l.limits.Sessions:
			return b.reached(l.sessions, folder, ownerID, "max", l.limits.Sessions)
		case l.limits.Memory > 0 && l.use.Memory >= l.limits.Memory:
			return b.reached(l.memory, folder, ownerID, "max", l.limits.Memory>>20, "used", l.use.Memory>>20)
		}
	}
	return b.AllowTurn(folder, ownerID)
}

// AllowTurn says whether another turn may begin in a session in a folder: nil, or a
// [problem.Error] that is [problem.LimitReached].
func (b *Bounds) AllowTurn(folder, ownerID string) error {
	for _, l := range b.over(folder, ownerID, nil) {
		if l.limits.Cost > 0 && l.use.Micros >= int64(math.Round(l.limits.Cost*1e6)) {
			return b.reached(l.cost, folder, ownerID, "max", l.limits.Cost, "used", l.use.Cost())
		}
	}
	return nil
}

// reached returns the error of a limit with the person and the project that it is about.
func (b *Bounds) reached(reason, folder, ownerID string, params ...any) error {
	params = append(params, "person", b.Book.Names([]string{ownerID}))
	if p, ok := b.Book.Project(b.Book.ProjectIDOf(folder)); ok {
		params = append(params, "project", p.Name)
	}
	return problem.New(reason, params...)
}
