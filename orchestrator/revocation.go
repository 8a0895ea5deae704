package orchestrator

// Revocation is the effect of revoking a grant.
type Revocation struct {
	Grants int      // number of grants that were in force
	Files  []string // settings files from which the grant was removed
	Asking int      // running processes that now ask again
	// Until has a sentence for each place where the grant stays in force, about how long.
	Until []string
}

func (r *Revocation) add(more Revocation) {
	r.Grants += more.Grants
	r.Asking = max(r.Asking, more.Asking)
	r.Files = append(r.Files, more.Files...)
	r.Until = append(r.Until, more.Until...)
}
