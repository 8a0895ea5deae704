package wire

// Runner is what has the shims, folders and files of its sessions.
type Runner struct {
	RunnerID string      `json:"runner_id"`
	Name     string      `json:"name"`
	State    RunnerState `json:"state"`
	Paused   bool        `json:"paused"` // it takes no new sessions
	Release  string      `json:"release"`
	// Epoch is that of the lease of the server that drives it.
	Epoch  uint64   `json:"epoch"`
	SeenAt *float64 `json:"seen_at"` // null before it was first there
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

// RunnerChange decides whether a runner takes new sessions.
type RunnerChange struct {
	Paused bool `json:"paused"`
}
