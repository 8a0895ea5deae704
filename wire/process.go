package wire

import (
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Process is one row of the admins' process table.
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
	Tabs         int           `json:"tabs"` // tabs that show the session
	WaitsFor     *string       `json:"waits_for"`
	NodeID       string        `json:"node_id"`
	// HeardAt is when Claude last sent something.
	HeardAt *float64 `json:"heard_at,omitempty"`
	// At the end of the last turn: the cost of the process so far, and how much of the model's context was
	// used. Absent if unknown.
	CostUSD       *float64 `json:"cost_usd,omitempty"`
	ContextTokens int      `json:"context_tokens,omitempty"`
	ContextWindow int      `json:"context_window,omitempty"`
	// Trouble is a problem of the process: stuck, orphan, unreachable or recovered.
	Trouble *ProcessTrouble `json:"trouble,omitempty"`
	// Samples are the samples of the last five minutes, oldest first; only on request.
	Samples []ProcessSample `json:"samples,omitempty"`
}

// ProcessTrouble is a problem of a process, with a sentence that explains it.
type ProcessTrouble struct {
	Kind    TroubleKind `json:"kind"`
	Reason  string      `json:"reason"`
	Reasons Reasons     `json:"reasons,omitempty"` // of reason
}

// TroubleKind is the kind of a [ProcessTrouble].
type TroubleKind string

// The kinds of trouble.
const (
	Stuck       TroubleKind = "stuck"       // it works without visible activity
	Orphan      TroubleKind = "orphan"      // it has ended, but has open requests
	Unreachable TroubleKind = "unreachable" // it may be running, but this server cannot reach it
	Recovered   TroubleKind = "recovered"   // it is running, but the database had lost part of its state
)

// ProcessSample is the resource usage of a process tree at one time.
type ProcessSample struct {
	At     float64 `json:"at"`
	Memory uint64  `json:"memory"`
	CPU    float64 `json:"cpu"`
}

// Diagnostics is a report about one session for troubleshooting, without inputs, answers or
// secrets.
type Diagnostics struct {
	Text string `json:"text"`
}

// RequestViews compares the open requests of a session as known to the parts of the server and
// to Claude. While a request arrives or an answer is in flight, they may differ briefly.
type RequestViews struct {
	SessionID string        `json:"session_id"`
	State     session.State `json:"state"`
	Rows      []RequestRow  `json:"rows"`    // in the database
	Waiting   []string      `json:"waiting"` // in memory; null if unknown, as in the following fields
	Journal   []string      `json:"journal"`
	Claude    []string      `json:"claude"`
	// Differences are sentences, one for each difference.
	Differences []string `json:"differences"`
}

// RequestRow is an open request in the database.
type RequestRow struct {
	RequestID string         `json:"request_id"`
	Source    pending.Source `json:"source"`
	Status    pending.Status `json:"status"`
	ToolName  string         `json:"tool_name"`
}

// ProcessList is the admins' process table.
type ProcessList struct {
	Processes []Process `json:"processes"`
}

// ClaudeInfo describes the CLI that sessions use.
type ClaudeInfo struct {
	Path     string  `json:"path,omitempty"`
	Version  string  `json:"version"`
	SignedIn bool    `json:"signed_in"`
	Problem  *string `json:"problem"`           // why sessions cannot run
	Reasons  Reasons `json:"reasons,omitempty"` // of problem
}

// Environment is what a person needs to know before they start a session.
type Environment struct {
	Claude         ClaudeInfo `json:"claude"`
	DemoAvailable  bool       `json:"demo_available"`
	WorkspaceRoots []string   `json:"workspace_roots"`
	Home           string     `json:"home"`
}

// Folder is a folder in which the caller may start a session.
type Folder struct {
	Path   string `json:"path"`
	Recent bool   `json:"recent"` // the caller has worked in it
}

// FolderList lists the folders that match the typed text, recent ones first.
type FolderList struct {
	Folders []Folder `json:"folders"`
	More    bool     `json:"more"` // further folders were left out
}

// TrustedFolder is a folder whose settings a person trusts, as they were at TrustedAt.
type TrustedFolder struct {
	Folder    string       `json:"folder"`
	Digest    string       `json:"digest"` // of the items
	By        string       `json:"by"`
	TrustedAt float64      `json:"trusted_at"`
	Items     []FolderItem `json:"items"`
}

// TrustedFolderList lists trusted folders, most recently trusted first.
type TrustedFolderList struct {
	Folders []TrustedFolder `json:"folders"`
}

// TrustRevoke revokes the trust in a folder, as it was shown in the list.
type TrustRevoke struct {
	Folder string `json:"folder" validate:"required,max=4096"`
	Digest string `json:"digest" validate:"required,max=128"`
}
