package wire

// LatelyList is what happened in the sessions that a person may see since they
// looked; only those in which something did.
type LatelyList struct {
	Sessions []Lately `json:"sessions"`
}

// Lately counts what happened in one session.
type Lately struct {
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

// WaitList is how long Claude waited for people since a moment.
type WaitList struct {
	Waits []Waited `json:"waits"`
}

// Waited is how long it did in one session, in seconds.
type Waited struct {
	SessionID string  `json:"session_id"`
	Waited    float64 `json:"waited"`
}
