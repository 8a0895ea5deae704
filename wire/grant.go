package wire

import (
	"github.com/sayso-dev/sayso/pending"
)

// GrantState reports whether a grant applies.
type GrantState string

// The states of a grant.
const (
	GrantInForce GrantState = "in_force"
	GrantEnded   GrantState = "ended"   // with its process
	GrantMissing GrantState = "missing" // it was removed from the settings file
	GrantRevoked GrantState = "revoked"
)

// Grant is a permission that lets Claude act without asking again.
type Grant struct {
	GrantID      string            `json:"grant_id"`
	Kind         pending.GrantKind `json:"kind"`
	Rule         string            `json:"rule"` // as in settings files; or a folder or mode
	Scope        pending.Scope     `json:"scope"`
	Folder       string            `json:"folder"`
	SessionID    string            `json:"session_id"`
	SessionTitle string            `json:"session_title"`
	RequestID    string            `json:"request_id"`
	ToolName     string            `json:"tool_name"`
	By           string            `json:"by"`
	Device       string            `json:"device"`
	GrantedAt    float64           `json:"granted_at"`
	Uses         int               `json:"uses"` // an estimate: Claude does not report which rule it applied
	LastUsedAt   *float64          `json:"last_used_at"`
	State        GrantState        `json:"state"`
	RevokedAt    *float64          `json:"revoked_at"`
	RevokedBy    *string           `json:"revoked_by"`
}

// FoundGrant is a permission in a settings file that was not granted in sayso.
type FoundGrant struct {
	Kind   pending.GrantKind `json:"kind"`
	Rule   string            `json:"rule"`
	Scope  pending.Scope     `json:"scope"`
	Folder string            `json:"folder"`
	File   string            `json:"file"`
}

// GrantList lists the grants that the caller may see, newest first. Found is for admins;
// Problems are sentences about settings files that cannot be read.
type GrantList struct {
	Grants   []Grant      `json:"grants"`
	Found    []FoundGrant `json:"found"`
	Problems []string     `json:"problems"`
}

// GrantRevoke names what to revoke: one grant, all those given with the answer to a
// request, or a rule found in a settings file.
type GrantRevoke struct {
	GrantID   string      `json:"grant_id,omitempty" validate:"max=100,required_without_all=RequestID Found"`
	RequestID string      `json:"request_id,omitempty" validate:"max=100,excluded_with=GrantID"`
	Found     *FoundGrant `json:"found,omitempty" validate:"excluded_with=GrantID RequestID"`
}

// Revocation describes the effect of a [GrantRevoke].
type Revocation struct {
	Revoked int      `json:"revoked"`           // number of grants that applied until now
	Files   []string `json:"files"`             // from which a rule was removed
	Asking  int      `json:"asking"`            // number of running sessions that ask again from now on
	Until   []string `json:"until"`             // sentences about where the rule still applies for a while
	Reasons Reasons  `json:"reasons,omitempty"` // of until: until.0 is the reason of the first
}
