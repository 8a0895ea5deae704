// Package project says which folders belong together and who may do what in the
// sessions that work there. A session belongs to the project whose folder holds
// its own, of several to the one with the longest; one outside of all is in the
// default project, which everybody on the server shares by their role.
//
// What somebody may is decided by [Book.May] and [Book.Approval] and nowhere else.
package project

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
)

// Errors of this package.
var (
	// ErrNotFound: there is no such project.
	ErrNotFound = errors.New("no such project")
	// ErrExists: another project has that name.
	ErrExists = errors.New("another project has this name")
	// ErrFolderTaken: a folder is that of another project.
	ErrFolderTaken = errors.New("another project has this folder")
	// ErrChanged: the project is not what the change takes it for.
	ErrChanged = errors.New("project was changed meanwhile")
)

// Project is a name over one or more folders. The JSON names are those of the
// stored column.
type Project struct {
	ProjectID string   `json:"-"` // UUID
	Name      string   `json:"-"` // unique whatever its case
	Folders   []string `json:"folders"`
	Members   []Member `json:"members"`
	Start     Whom     `json:"start"`  // who may start sessions
	Answer    Whom     `json:"answer"` // who may answer questions and approve
	Rules     []Rule   `json:"rules"`  // about approvals; the first that fits decides
	// Bypass names who may run sessions in which Claude asks nobody; nobody else
	// may, whatever their role.
	Bypass    []string `json:"bypass"`
	Limits    Limits   `json:"limits"`      // of all sessions together
	EachLimit Limits   `json:"each_limits"` // of the sessions of one person
	// AskTimeout is how long a question over MCP waits for a person, in seconds;
	// 0 as the server has it, [AskForEver] without end.
	AskTimeout int       `json:"ask_timeout,omitempty"`
	Version    int64     `json:"-"` // grows with every change, from 1
	CreatedAt  time.Time `json:"-"`
}

// Bounds of [Project.AskTimeout], in seconds.
const (
	AskForEver  = -1
	AskShortest = 30
	AskLongest  = 15 * 60
)

// Member is a person in a project. Whoever is a viewer on the server is no more
// than that here.
type Member struct {
	UserID string       `json:"user_id"`
	Role   account.Role `json:"role"`
}

// Whom names people: those of a role in the project or more; when People is not
// empty, of them only those in it.
type Whom struct {
	Role   account.Role `json:"role"`
	People []string     `json:"people"` // user ids
}

// Effect is what a rule says about the approval of a tool.
type Effect string

const (
	Allow     Effect = "allow"      // one person may approve
	Deny      Effect = "deny"       // nobody may approve
	TwoPeople Effect = "two_people" // two must approve
)

// Rule says who may approve a tool. It never approves anything itself.
type Rule struct {
	Tool    string   `json:"tool"`    // its name, in which * stands for any text
	Pattern string   `json:"pattern"` // of the command, path or address; "" for all
	Effect  Effect   `json:"effect"`
	People  []string `json:"people"` // user ids: nobody else may approve; empty: whoever may answer
}

// Store remembers projects. Both engines pass the contract of store/storetest.
//
// A change of a project bumps, in its transaction, the version of every session
// that was in it before or is after, and returns their ids.
type Store interface {
	Ledger
	// Projects returns all, in the order of their names.
	Projects(ctx context.Context) ([]Project, error)
	// CreateProject stores a new project with version 1. [ErrExists],
	// [ErrFolderTaken].
	CreateProject(ctx context.Context, p Project, by pending.Actor) (touched []string, err error)
	// ChangeProject replaces all of a project but its id and creation, if its
	// version is still p.Version, and returns it as it is stored. [ErrNotFound],
	// [ErrChanged], [ErrExists], [ErrFolderTaken]. It is on disk, and on record, when
	// the call returns.
	ChangeProject(ctx context.Context, p Project, by pending.Actor) (now Project, touched []string, err error)
	// DeleteProject forgets a project; its sessions stay. [ErrNotFound].
	DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error)
}
