package wire

// Runner is the part of sayso that runs next to Claude on one host, with the shims, folders and files
// of its sessions.
type Runner struct {
	RunnerID string      `json:"runner_id"`
	Name     string      `json:"name"`
	State    RunnerState `json:"state"`
	Paused   bool        `json:"paused"`   // it accepts no new sessions
	Draining bool        `json:"draining"` // it starts no processes
	// Processes is the number of processes that it runs, of all people.
	Processes int `json:"processes"`
	// Problem is a sentence that explains why its CLI cannot run sessions; null if it can, or if unknown.
	Problem *string `json:"problem"`
	Reasons Reasons `json:"reasons,omitempty"` // of problem
	Release string  `json:"release"`
	// Epoch is the epoch of the last lease.
	Epoch  uint64   `json:"epoch"`
	SeenAt *float64 `json:"seen_at"` // when it was last reachable; null if it never was
	// Remote means that it runs on another host and dials the server with its token, while it has one.
	Remote   bool `json:"remote"`
	HasToken bool `json:"has_token"`
	// LabelsGiven means that an admin chose the labels, in place of those in its hello.
	LabelsGiven bool `json:"labels_given"`
	// Reported in its last hello, except Load.
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

// RunnerCapacity is how much a runner can run.
type RunnerCapacity struct {
	Processes int    `json:"processes"` // maximum at a time; 0 for no limit
	Memory    uint64 `json:"memory"`    // of the host, in bytes; 0 if unknown
	Cores     int    `json:"cores"`
}

// RunnerLoad is the current load of a runner.
type RunnerLoad struct {
	Processes  int     `json:"processes"`   // running processes
	Load       float64 `json:"load"`        // of the host, averaged over one minute
	FreeMemory uint64  `json:"free_memory"` // in bytes; 0 if unknown
	FreeDisk   uint64  `json:"free_disk"`   // for its state folder, in bytes; 0 if unknown
	// Waiting is how many of the processes wait because the runner cannot store their output.
	Waiting int `json:"waiting"`
}

// RunnerCreate creates a runner on another host.
type RunnerCreate struct {
	Name string `json:"name"`
}

// RunnerToken is a new token, which is shown only once.
type RunnerToken struct {
	RunnerID string `json:"runner_id"`
	Token    string `json:"token"`
}

// RunnerState is whether a runner can be used.
type RunnerState string

// States of a runner.
const (
	RunnerReady       RunnerState = "ready"
	RunnerUnreachable RunnerState = "unreachable" // no server drives it; its processes may still run
	RunnerRemoved     RunnerState = "removed"
)

// RunnerList lists the runners for admins, by name.
type RunnerList struct {
	Runners []Runner `json:"runners"`
}

// RunnerChange changes the use, the name or the labels of a runner, only one of them at a time.
type RunnerChange struct {
	Paused   *bool   `json:"paused,omitempty"`   // true: it accepts no new sessions; false: it is used again
	Draining *bool   `json:"draining,omitempty"` // true: it starts no processes; false: it is used again
	Name     *string `json:"name,omitempty"`
	// Labels replace those in the runner's hello; UseOwnLabels restores the latter.
	Labels       []string `json:"labels,omitempty"`
	UseOwnLabels bool     `json:"use_own_labels,omitempty"`
}

// Machine is a runner for people who start sessions.
type Machine struct {
	RunnerID string      `json:"runner_id"`
	Name     string      `json:"name"`
	Here     bool        `json:"here,omitempty"` // it runs inside this server
	State    RunnerState `json:"state"`
	// SeenAt is when an unreachable machine was last reachable; null if it is ready or never was reachable.
	SeenAt       *float64 `json:"seen_at"`
	Paused       bool     `json:"paused,omitempty"`   // it accepts no new sessions
	Draining     bool     `json:"draining,omitempty"` // it starts no processes
	Labels       []string `json:"labels"`
	Processes    int      `json:"processes"`     // running processes
	MaxProcesses int      `json:"max_processes"` // maximum at a time; 0 for no limit
	// Problem is a sentence that explains why its CLI cannot run sessions; null if it can, or if unknown.
	Problem *string `json:"problem"`
	Reasons Reasons `json:"reasons,omitempty"` // of problem
}

// MachineList lists machines: the one inside this server first, the others by name.
type MachineList struct {
	Machines []Machine `json:"machines"`
}

// Machines contains the list of machines. It is sent on a new connection and at every change.
type Machines struct {
	Type     string    `json:"type" ts:"'machines'"`
	Machines []Machine `json:"machines"`
}
