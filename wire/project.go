package wire

import (
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
)

// Project is a name over folders, with who may do what there.
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
	// AskTimeout is how long a question over MCP waits, in seconds; absent as the server has it, -1 for ever.
	AskTimeout int               `json:"ask_timeout,omitempty"`
	Version    int64             `json:"version"`
	CreatedAt  float64           `json:"created_at"`
	Names      map[string]string `json:"names"`  // of everybody it names, by user id
	Role       account.Role      `json:"role"`   // of whoever asks
	Rights     []project.Action  `json:"rights"` // of whoever asks
	// Use is what its sessions take now; of one project.
	Use *ProjectUse `json:"use,omitempty"`
	// People are those that can be made members; of one project, for who manages it.
	People []ProjectPerson `json:"people,omitempty"`
}

// ProjectUse is what the sessions of a project take.
type ProjectUse struct {
	Sessions int    `json:"sessions"` // with a process
	Memory   uint64 `json:"memory"`   // bytes
	// Cost is that of the day so far, in US dollars. The day begins at 00:00 UTC.
	Cost *float64 `json:"cost,omitempty"`
}

// ProjectPerson is somebody who can be a member.
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

// Whom names people: those of a role in the project or more; when People is not
// empty, of them only those in it.
type Whom struct {
	Role   account.Role `json:"role" validate:"oneof=member admin"`
	People []string     `json:"people" validate:"omitempty,max=1000"` // user ids
}

// ProjectRule says who may approve a tool. The first rule that fits decides.
type ProjectRule struct {
	Tool    string         `json:"tool" validate:"required,max=1000"`     // * stands for any text
	Pattern string         `json:"pattern" validate:"omitempty,max=1000"` // of command, path or address; "" for all
	Effect  project.Effect `json:"effect" validate:"oneof=allow deny two_people"`
	People  []string       `json:"people" validate:"omitempty,max=1000"` // user ids: nobody else may approve
}

// Limits bound what sessions may take; 0 is no limit.
type Limits struct {
	Sessions int    `json:"sessions" validate:"min=0,max=1000000"`  // with a process, at once
	Memory   uint64 `json:"memory" validate:"max=1125899906842624"` // bytes; none starts above it
	// Cost is in US dollars a day, which begins at 00:00 UTC; no turn begins above it.
	// In a change, one that is absent stays as it is.
	Cost *float64 `json:"cost,omitempty" validate:"omitempty,min=0,max=1000000"`
}

// OwnLimits are limits of one person that are not those of everybody; what is absent
// is as for everybody.
type OwnLimits struct {
	Sessions *int     `json:"sessions,omitempty" validate:"omitempty,min=0,max=1000000"`
	Memory   *uint64  `json:"memory,omitempty" validate:"omitempty,max=1125899906842624"` // bytes
	Cost     *float64 `json:"cost,omitempty" validate:"omitempty,min=0,max=1000000"`      // US dollars a day
}

// LimitUse is a limit and what is taken of it now.
type LimitUse struct {
	Limits Limits     `json:"limits"`
	Use    ProjectUse `json:"use"`
}

// LimitList is what whoever asks may take, and takes.
type LimitList struct {
	Mine     LimitUse       `json:"mine"`     // all their sessions together
	Projects []ProjectLimit `json:"projects"` // that they may see, and that have limits
	NextDay  float64        `json:"next_day"` // when costs are counted anew
	// Everybody holds those for whom nothing is different, and People all people; for
	// an admin.
	Everybody *Limits       `json:"everybody,omitempty"`
	People    []PersonLimit `json:"people,omitempty"`
}

// ProjectLimit is what the sessions of a project may take: all, and those of whoever
// asks.
type ProjectLimit struct {
	ProjectID string   `json:"project_id"`
	Name      string   `json:"name"`
	Folders   []string `json:"folders"`
	All       LimitUse `json:"all"`
	Mine      LimitUse `json:"mine"`
}

// PersonLimit is what the sessions of a person may take.
type PersonLimit struct {
	UserID string     `json:"user_id"`
	Name   string     `json:"name"`
	Limits Limits     `json:"limits"`
	Use    ProjectUse `json:"use"`
	Own    OwnLimits  `json:"own"` // what is different for them
}

// ProjectList holds the projects that whoever asks may see.
type ProjectList struct {
	Projects []Project `json:"projects"`
}

// ProjectCreate makes a project.
type ProjectCreate struct {
	Name    string          `json:"name" validate:"required,max=400"`
	Folders []string        `json:"folders" validate:"required,max=50,dive,max=4096"`
	Members []ProjectMember `json:"members,omitempty" validate:"max=1000,dive"`
}

// ProjectChange changes what is there of it. Version is that of the project that
// was changed; another one is refused.
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
	// AskTimeout is in seconds, 30 to 900; 0 as the server has it, -1 for ever.
	AskTimeout *int `json:"ask_timeout,omitempty" validate:"omitempty,min=-1,max=900"`
}
