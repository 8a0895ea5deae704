package wire

// AuditState says how far the audit trail was found to be what was written.
type AuditState struct {
	Verified int64   `json:"verified"` // the last entry that follows the one before; 0 for none
	First    int64   `json:"first"`    // the first that is there; those before were removed as the retention says
	At       float64 `json:"at"`
	Problem  string  `json:"problem"`           // "" when the trail is whole
	Reasons  Reasons `json:"reasons,omitempty"` // of problem
}
