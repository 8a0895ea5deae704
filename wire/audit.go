package wire

// AuditState reports how much of the audit log has been verified.
type AuditState struct {
	Verified int64   `json:"verified"` // the last verified entry; 0 for none
	First    int64   `json:"first"`    // the first entry that exists; earlier ones were removed after their retention
	At       float64 `json:"at"`
	Problem  string  `json:"problem"`           // "" if the log is intact
	Reasons  Reasons `json:"reasons,omitempty"` // of problem
}
