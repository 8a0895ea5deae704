package wire

import (
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Process is one row of the admin's table.
type Process struct {
	SessionID    string        `json:"session_id"`
	Title        string        `json:"title"`
	PID          int           `json:"pid"`
	State        session.State `json:"state"`
	Memory       uint64        `json:"memory"`
	CPU          float64       `json:"cpu"`
	StartedAt    float64       `json:"started_at"`
	Age          float64       `json:"age"` // seconds since it started
	OpenRequests int           `json:"open_requests"`
	Tabs         int           `json:"tabs"` // that show it
	WaitsFor     *string       `json:"waits_for"`
	NodeID       string        `json:"node_id"`
	// HeardAt is when Claude said something last.
	HeardAt *float64 `json:"heard_at,omitempty"`
	// Trouble says what is wrong with it: stuck, orphan, unreachable or recovered.
	Trouble *ProcessTrouble `json:"trouble,omitempty"`
	// Samples are those of the last five minutes, the oldest first; when asked for.
	Samples []ProcessSample `json:"samples,omitempty"`
}

// ProcessTrouble is what is wrong with a process, with a sentence that says why.
type ProcessTrouble struct {
	Kind    TroubleKind `json:"kind"`
	Reason  string      `json:"reason"`
	Reasons Reasons     `json:"reasons,omitempty"` // of reason
}

// TroubleKind is what may be wrong with a process.
type TroubleKind string

// What may be wrong with a process.
const (
	Stuck       TroubleKind = "stuck"       // it works and gives no sign of life
	Orphan      TroubleKind = "orphan"      // it is gone, and what it asked waits
	Unreachable TroubleKind = "unreachable" // it may run, and this server cannot reach it
	Recovered   TroubleKind = "recovered"   // it runs, and the database had forgotten something of it
)

// ProcessSample is what a process and all it runs took at one moment.
type ProcessSample struct {
	At     float64 `json:"at"`
	Memory uint64  `json:"memory"`
	CPU    float64 `json:"cpu"`
}

// Diagnostics is a report about one session for whoever looks for a fault: no
// inputs, no answers, no secrets.
type Diagnostics struct {
	Text string `json:"text"`
}

// RequestViews is what each part of the server, and Claude itself, know of the open
// requests of a session. While a request comes or an answer is on its way, they may
// differ for a moment.
type RequestViews struct {
	SessionID string        `json:"session_id"`
	State     session.State `json:"state"`
	Rows      []RequestRow  `json:"rows"`    // in the database
	Waiting   []string      `json:"waiting"` // in memory; null when it cannot be told, like the following
	Journal   []string      `json:"journal"`
	Claude    []string      `json:"claude"`
	// Differences says where they differ, one sentence each.
	Differences []string `json:"differences"`
}

// RequestRow is an open request in the database.
type RequestRow struct {
	RequestID string         `json:"request_id"`
	Source    pending.Source `json:"source"`
	Status    pending.Status `json:"status"`
	ToolName  string         `json:"tool_name"`
}

// ProcessList is the admin's table.
type ProcessList struct {
	Processes []Process `json:"processes"`
}

// ClaudeInfo says which CLI sessions run on.
type ClaudeInfo struct {
	Path     string  `json:"path,omitempty"`
	Version  string  `json:"version"`
	SignedIn bool    `json:"signed_in"`
	Problem  *string `json:"problem"`           // why sessions cannot run
	Reasons  Reasons `json:"reasons,omitempty"` // of problem
}

// Environment is what a person must know before starting a session.
type Environment struct {
	Claude         ClaudeInfo `json:"claude"`
	DemoAvailable  bool       `json:"demo_available"`
	WorkspaceRoots []string   `json:"workspace_roots"`
	Home           string     `json:"home"`
}

// Folder is one in which the caller may start a session.
type Folder struct {
	Path   string `json:"path"`
	Recent bool   `json:"recent"` // the caller has worked in it
}

// FolderList holds folders that fit to what was typed, recent ones first.
type FolderList struct {
	Folders []Folder `json:"folders"`
	More    bool     `json:"more"` // than are here
}

// TrustedFolder is one whose settings somebody trusts as they were then.
type TrustedFolder struct {
	Folder    string       `json:"folder"`
	Digest    string       `json:"digest"` // of the items
	By        string       `json:"by"`
	TrustedAt float64      `json:"trusted_at"`
	Items     []FolderItem `json:"items"`
}

// TrustedFolderList holds them, what was trusted last first.
type TrustedFolderList struct {
	Folders []TrustedFolder `json:"folders"`
}

// TrustRevoke takes a trust back that was seen in the list.
type TrustRevoke struct {
	Folder string `json:"folder" validate:"required,max=4096"`
	Digest string `json:"digest" validate:"required,max=128"`
}
