package orchestrator

// Revocation is the effect of revoking a grant.
type Revocation struct {
	Grants int      // that were in force
	Files  []string // from which it was removed
	Asking int      // running processes that now ask again
	// Until are sentences about where the grant stays in force for a while, and how long.
	Until []string
}

func (r *Revocation) add(more Revocation) {
	r.Grants += more.Grants
	r.Asking = max(r.Asking, more.Asking)
	r.Files = append(r.Files, more.Files...)
	r.Until = append(r.Until, more.Until...)
}
