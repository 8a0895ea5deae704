package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
)

// Project groups folders and defines who may do what in them.
type Project struct {
	ProjectID  string          `json:"project_id"`
	Name       string          `json:"name"`
	Folders    []string        `json:"folders"`
	Members    []ProjectMember `json:"members"`
	Start      Whom            `json:"start"`
	Answer     Whom            `json:"answer"`
	Rules      []ProjectRule   `json:"rules"`
	Bypass     []string        `json:"bypass"` // user ids
	Limits     Limits          `json:"limits"`
	EachLimits Limits          `json:"each_limits"`
	// AskTimeout is how long a question over MCP waits, in seconds; absent for the server's
	// default, -1 for no limit.
	AskTimeout int               `json:"ask_timeout,omitempty"`
	Version    int64             `json:"version"`
	CreatedAt  float64           `json:"created_at"`
	Names      map[string]string `json:"names"`  // of all users that the project names, by user id
	Role       account.Role      `json:"role"`   // of the caller
	Rights     []project.Action  `json:"rights"` // of the caller
	// Use is the current resource use of its sessions; only in the response about one project.
	Use *ProjectUse `json:"use,omitempty"`
	// People are the candidates for membership; only in the response about one project, for
	// those who manage it.
	People []ProjectPerson `json:"people,omitempty"`
}

// ProjectUse is the resource use of the sessions of a project.
type ProjectUse struct {
	Sessions int    `json:"sessions"` // with a process
	Memory   uint64 `json:"memory"`   // bytes
	// Cost is the cost of the current day, in US dollars. Days start at 00:00 UTC.
	Cost *float64 `json:"cost,omitempty"`
}

// ProjectPerson is a candidate for membership.
type ProjectPerson struct {
	UserID     string       `json:"user_id"`
	Name       string       `json:"name"`
	ServerRole account.Role `json:"server_role"`
}

// ProjectMember is a person in a project.
type ProjectMember struct {
	UserID string       `json:"user_id" validate:"required,max=64"`
	Role   account.Role `json:"role" validate:"oneof=viewer member admin"`
}

// Whom selects the people with at least a role in the project; if People is not empty, only
// those that it lists.
type Whom struct {
	Role   account.Role `json:"role" validate:"oneof=member admin"`
	People []string     `json:"people" validate:"omitempty,max=1000"` // user ids
}

// ProjectRule sets who may approve a tool. The first matching rule applies.
type ProjectRule struct {
	Tool    string         `json:"tool" validate:"required,max=1000"`     // * matches any text
	Pattern string         `json:"pattern" validate:"omitempty,max=1000"` // compared with the command, path or address; "" for all
	Effect  project.Effect `json:"effect" validate:"oneof=allow deny two_people"`
	People  []string       `json:"people" validate:"omitempty,max=1000"` // user ids: nobody else may approve
}

// Limits bounds what sessions may use; 0 means no limit.
type Limits struct {
	Sessions int    `json:"sessions" validate:"min=0,max=1000000"`  // concurrent processes
	Memory   uint64 `json:"memory" validate:"max=1125899906842624"` // bytes; no session starts above it
	// Cost is in US dollars per day, from 00:00 UTC; no turn starts above it. If absent in
	// a change, it stays unchanged.
	Cost *float64 `json:"cost,omitempty" validate:"omitempty,min=0,max=1000000"`
}

// OwnLimits are one person's exceptions from the general limits; absent fields are not
// excepted.
type OwnLimits struct {
	Sessions *int     `json:"sessions,omitempty" validate:"omitempty,min=0,max=1000000"`
	Memory   *uint64  `json:"memory,omitempty" validate:"omitempty,max=1125899906842624"` // bytes
	Cost     *float64 `json:"cost,omitempty" validate:"omitempty,min=0,max=1000000"`      // US dollars a day
}

// LimitUse is a limit and its current use.
type LimitUse struct {
	Limits Limits     `json:"limits"`
	Use    ProjectUse `json:"use"`
}

// LimitList contains the limits that apply to the caller, and their use.
type LimitList struct {
	Mine     LimitUse       `json:"mine"`     // all sessions of the caller
	Projects []ProjectLimit `json:"projects"` // visible to the caller and limited
	NextDay  float64        `json:"next_day"` // when the daily costs restart
	// Everybody contains the general limits, and People all users; only for admins.
	Everybody *Limits       `json:"everybody,omitempty"`
	People    []PersonLimit `json:"people,omitempty"`
}

// ProjectLimit is the limits of a project: for all its sessions, and for those of the
// caller.
type ProjectLimit struct {
	ProjectID string   `json:"project_id"`
	Name      string   `json:"name"`
	Folders   []string `json:"folders"`
	All       LimitUse `json:"all"`
	Mine      LimitUse `json:"mine"`
}

// PersonLimit is the limits of one person.
type PersonLimit struct {
	UserID string     `json:"user_id"`
	Name   string     `json:"name"`
	Limits Limits     `json:"limits"`
	Use    ProjectUse `json:"use"`
	Own    OwnLimits  `json:"own"` // exceptions of this person
}

// ProjectList lists the projects that the caller may see.
type ProjectList struct {
	Projects []Project `json:"projects"`
}

// ProjectCreate creates a project.
type ProjectCreate struct {
	Name    string          `json:"name" validate:"required,max=400"`
	Folders []string        `json:"folders" validate:"required,max=50,dive,max=4096"`
	Members []ProjectMember `json:"members,omitempty" validate:"max=1000,dive"`
}

// ProjectChange changes the fields that are present. Version must be that of the project
// that was shown; otherwise the change is refused.
type ProjectChange struct {
	Version    int64            `json:"version" validate:"required"`
	Name       *string          `json:"name,omitempty" validate:"omitempty,max=400"`
	Folders    *[]string        `json:"folders,omitempty" validate:"omitempty,max=50,dive,max=4096"`
	Members    *[]ProjectMember `json:"members,omitempty" validate:"omitempty,max=1000,dive"`
	Start      *Whom            `json:"start,omitempty"`
	Answer     *Whom            `json:"answer,omitempty"`
	Rules      *[]ProjectRule   `json:"rules,omitempty" validate:"omitempty,max=200,dive"`
	Bypass     *[]string        `json:"bypass,omitempty" validate:"omitempty,max=1000"`
	Limits     *Limits          `json:"limits,omitempty"`
	EachLimits *Limits          `json:"each_limits,omitempty"`
	// AskTimeout is in seconds, 30 to 900; 0 means the server's default, -1 no limit.
	AskTimeout *int `json:"ask_timeout,omitempty" validate:"omitempty,min=-1,max=900"`
}
