package wire

import (
	"github.com/sayso-dev/sayso/pending"
)

// GrantState says whether a grant holds.
type GrantState string

// The states of a grant.
const (
	GrantInForce GrantState = "in_force"
	GrantEnded   GrantState = "ended"   // with the process that it was for
	GrantMissing GrantState = "missing" // somebody took it out of the settings file
	GrantRevoked GrantState = "revoked"
)

// Grant is one "always allow".
type Grant struct {
	GrantID      string            `json:"grant_id"`
	Kind         pending.GrantKind `json:"kind"`
	Rule         string            `json:"rule"` // as settings files hold it; a folder; or a mode
	Scope        pending.Scope     `json:"scope"`
	Folder       string            `json:"folder"`
	SessionID    string            `json:"session_id"`
	SessionTitle string            `json:"session_title"`
	RequestID    string            `json:"request_id"`
	ToolName     string            `json:"tool_name"`
	By           string            `json:"by"`
	Device       string            `json:"device"`
	GrantedAt    float64           `json:"granted_at"`
	Uses         int               `json:"uses"` // inferred: Claude does not name the rule it went by
	LastUsedAt   *float64          `json:"last_used_at"`
	State        GrantState        `json:"state"`
	RevokedAt    *float64          `json:"revoked_at"`
	RevokedBy    *string           `json:"revoked_by"`
}

// FoundGrant is what a settings file allows that was not granted here.
type FoundGrant struct {
	Kind   pending.GrantKind `json:"kind"`
	Rule   string            `json:"rule"`
	Scope  pending.Scope     `json:"scope"`
	Folder string            `json:"folder"`
	File   string            `json:"file"`
}

// GrantList holds the grants that the caller may see, the newest first. Found is
// for admins; Problems are sentences about settings files that cannot be read.
type GrantList struct {
	Grants   []Grant      `json:"grants"`
	Found    []FoundGrant `json:"found"`
	Problems []string     `json:"problems"`
}

// GrantRevoke names what is to be taken back: one grant, all that came with the
// answer to a request, or what was found in a settings file.
type GrantRevoke struct {
	GrantID   string      `json:"grant_id,omitempty" validate:"max=100,required_without_all=RequestID Found"`
	RequestID string      `json:"request_id,omitempty" validate:"max=100,excluded_with=GrantID"`
	Found     *FoundGrant `json:"found,omitempty" validate:"excluded_with=GrantID RequestID"`
}

// Revocation says what was changed.
type Revocation struct {
	Revoked int      `json:"revoked"`           // grants that were in force
	Files   []string `json:"files"`             // from which a rule was taken
	Asking  int      `json:"asking"`            // running sessions that ask again from now on
	Until   []string `json:"until"`             // sentences about where it holds on for a while
	Reasons Reasons  `json:"reasons,omitempty"` // of until: until.0 is that of the first
}
