package wire

// CatchUpList counts what happened in sessions since the person last looked. Sessions
// without activity are left out.
type CatchUpList struct {
	Sessions []CatchUp `json:"sessions"`
}

// CatchUp counts what happened in one session.
type CatchUp struct {
	SessionID string `json:"session_id"`
	Edits     int    `json:"edits"`
	Files     int    `json:"files"`
	Commands  int    `json:"commands"`
	Tests     int    `json:"tests"`
	Failed    int    `json:"failed"`
	Answered  int    `json:"answered"`
	Turns     int    `json:"turns"`
	First     string `json:"first"` // key of the first block
}

// WaitList reports how long Claude has waited for people since a given time.
type WaitList struct {
	Waits []Waited `json:"waits"`
}

// Waited is the waiting time in one session, in seconds.
type Waited struct {
	SessionID string  `json:"session_id"`
	Waited    float64 `json:"waited"`
}
