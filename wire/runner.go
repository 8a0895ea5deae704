package wire

// Runner is what has the shims, folders and files of its sessions.
type Runner struct {
	RunnerID string      `json:"runner_id"`
	Name     string      `json:"name"`
	State    RunnerState `json:"state"`
	Paused   bool        `json:"paused"`   // it takes no new sessions
	Draining bool        `json:"draining"` // it starts no processes
	// Processes is how many run there, for all people.
	Processes int `json:"processes"`
	// Problem is why its CLI cannot run sessions, a sentence; null if it can, or if it is not known.
	Problem *string `json:"problem"`
	Reasons Reasons `json:"reasons,omitempty"` // of problem
	Release string  `json:"release"`
	// Epoch is that of the lease of the server that drives it.
	Epoch  uint64   `json:"epoch"`
	SeenAt *float64 `json:"seen_at"` // null before it was first there
	// Remote: it is on another host and dials with its token, as long as it has one.
	Remote   bool `json:"remote"`
	HasToken bool `json:"has_token"`
	// LabelsGiven: an admin gave the labels, in place of those that it says.
	LabelsGiven bool `json:"labels_given"`
	// The rest is what it said when it dialed last.
	Labels    []string       `json:"labels"`
	Roots     []string       `json:"roots"` // folders in which Claude may work there
	CLIs      []RunnerCLI    `json:"clis"`
	Capacity  RunnerCapacity `json:"capacity"`
	ClockSkew float64        `json:"clock_skew"` // seconds by which its clock was ahead of the database's
	Load      *RunnerLoad    `json:"load"`       // null if it is not connected to this server
}

// RunnerCLI is a Claude Code CLI on a runner.
type RunnerCLI struct {
	Path     string `json:"path"`
	Version  string `json:"version"` // "" if it cannot be run
	SignedIn bool   `json:"signed_in"`
}

// RunnerCapacity is what a runner has.
type RunnerCapacity struct {
	Processes int    `json:"processes"` // that may run at once; 0 for no limit
	Memory    uint64 `json:"memory"`    // of the host, in bytes; 0 if it is not known
	Cores     int    `json:"cores"`
}

// RunnerLoad is what a runner uses now.
type RunnerLoad struct {
	Processes  int     `json:"processes"`   // that run
	Load       float64 `json:"load"`        // of the host, the average of a minute
	FreeMemory uint64  `json:"free_memory"` // in bytes; 0 if it is not known
	FreeDisk   uint64  `json:"free_disk"`   // for its state folder, in bytes; 0 if it is not known
	// Waiting is how many of the processes wait because their output cannot be stored there.
	Waiting int `json:"waiting"`
}

// RunnerCreate names a new runner on another host.
type RunnerCreate struct {
	Name string `json:"name"`
}

// RunnerToken is a new token, which is shown once.
type RunnerToken struct {
	RunnerID string `json:"runner_id"`
	Token    string `json:"token"`
}

// RunnerState says whether a runner can be used.
type RunnerState string

// States of a runner.
const (
	RunnerReady       RunnerState = "ready"
	RunnerUnreachable RunnerState = "unreachable" // no server drives it; its processes may run
	RunnerRemoved     RunnerState = "removed"
)

// RunnerList is the admin's list, by name.
type RunnerList struct {
	Runners []Runner `json:"runners"`
}

// RunnerChange changes one of the use, the name and the labels of a runner.
type RunnerChange struct {
	Paused   *bool   `json:"paused,omitempty"`   // true: it takes no new sessions; false: it is used again
	Draining *bool   `json:"draining,omitempty"` // true: it starts no processes; false: it is used again
	Name     *string `json:"name,omitempty"`
	// Labels replace those that the runner says; with UseOwnLabels these apply again.
	Labels       []string `json:"labels,omitempty"`
	UseOwnLabels bool     `json:"use_own_labels,omitempty"`
}

// Machine is a runner for people who start sessions.
type Machine struct {
	RunnerID string      `json:"runner_id"`
	Name     string      `json:"name"`
	Here     bool        `json:"here,omitempty"` // it is inside this server
	State    RunnerState `json:"state"`
	// SeenAt is when an unreachable one was last there, null if it is ready or was never there.
	SeenAt       *float64 `json:"seen_at"`
	Paused       bool     `json:"paused,omitempty"`   // it takes no new sessions
	Draining     bool     `json:"draining,omitempty"` // it starts no processes
	Labels       []string `json:"labels"`
	Processes    int      `json:"processes"`     // that run
	MaxProcesses int      `json:"max_processes"` // that may run at once; 0 for no limit
	// Problem is why its CLI cannot run sessions, a sentence; null if it can, or if it is not known.
	Problem *string `json:"problem"`
	Reasons Reasons `json:"reasons,omitempty"` // of problem
}

// MachineList lists machines: this server's first, the others by name.
type MachineList struct {
	Machines []Machine `json:"machines"`
}

// Machines is the list of machines. It is sent on a new connection and at every change.
type Machines struct {
	Type     string    `json:"type" ts:"'machines'"`
	Machines []Machine `json:"machines"`
}
