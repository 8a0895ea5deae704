// Package project groups folders into projects and decides who may do what in the sessions
// that work there. A session belongs to the project with the longest folder that contains its
// own. A session outside all folders belongs to the default project, which everybody on the
// server shares, with their role on the server.
//
// Rights are decided only by [Book.May] and [Book.Approval].
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
	// ErrNotFound: the project does not exist.
	ErrNotFound = errors.New("no such project")
	// ErrExists: another project has that name.
	ErrExists = errors.New("another project has this name")
	// ErrFolderTaken: the folder belongs to another project.
	ErrFolderTaken = errors.New("another project has this folder")
	// ErrChanged: the project has another version than the change is based on.
	ErrChanged = errors.New("project was changed meanwhile")
)

// Project is a name for one or more folders. The JSON names are those of the stored column.
type Project struct {
	ProjectID string   `json:"-"` // UUID
	Name      string   `json:"-"` // regardless of case
	Folders   []string `json:"folders"`
	Members   []Member `json:"members"`
	Start     Whom     `json:"start"`  // who may start sessions
	Answer    Whom     `json:"answer"` // who may answer questions and approve
	Rules     []Rule   `json:"rules"`  // about approvals; the first match decides
	// Bypass lists the people who may run sessions that bypass approvals. No role includes
	// this right.
	Bypass    []string `json:"bypass"`
	Limits    Limits   `json:"limits"`      // of all sessions together
	EachLimit Limits   `json:"each_limits"` // of the sessions of one person
	// AskTimeout is how long a question over MCP waits for a person, in seconds. 0 is the
	// server's default, [AskNoTimeout] no limit.
	AskTimeout int       `json:"ask_timeout,omitempty"`
	Version    int64     `json:"-"` // from 1; increases with every change
	CreatedAt  time.Time `json:"-"`
}

// Limits of [Project.AskTimeout], in seconds.
const (
	AskNoTimeout = -1
	AskShortest  = 30
	AskLongest   = 15 * 60
)

// Member is a person in a project. A viewer on the server is only a viewer here.
type Member struct {
	UserID string       `json:"user_id"`
	Role   account.Role `json:"role"`
}

// Whom selects people: those with at least a role in the project. If People is not empty,
// only those listed in it.
type Whom struct {
	Role   account.Role `json:"role"`
	People []string     `json:"people"` // user ids
}

// Effect is what a rule requires for the approval of a tool.
type Effect string

const (
	Allow     Effect = "allow"      // one person may approve
	Deny      Effect = "deny"       // nobody may approve
	TwoPeople Effect = "two_people" // two must approve
)

// Rule says who may approve a tool. It approves nothing itself.
type Rule struct {
	Tool    string   `json:"tool"`    // its name; * matches any text
	Pattern string   `json:"pattern"` // of the command, path or address; "" matches all
	Effect  Effect   `json:"effect"`
	People  []string `json:"people"` // user ids of those who may approve; empty: everybody who may answer
}

// Store stores projects. Both engines pass the contract of store/storetest.
//
// A change to a project also increases, in the same transaction, the version of every session
// that it affects, and returns their ids.
type Store interface {
	Ledger
	// Projects returns all projects, by name.
	Projects(ctx context.Context) ([]Project, error)
	// CreateProject stores a new project with version 1. It returns [ErrExists] or
	// [ErrFolderTaken].
	CreateProject(ctx context.Context, p Project, by pending.Actor) (touched []string, err error)
	// ChangeProject replaces everything in a project except its id and creation time, if its
	// version is still p.Version, and returns the stored project. It returns [ErrNotFound],
	// [ErrChanged], [ErrExists] or [ErrFolderTaken]. The change and its audit record are on
	// disk when it returns.
	ChangeProject(ctx context.Context, p Project, by pending.Actor) (now Project, touched []string, err error)
	// DeleteProject deletes a project; its sessions stay. It returns [ErrNotFound] for an
	// unknown one.
	DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error)
}
