package problem

import "slices"

// Class is a group of errors that clients handle alike: a code and an HTTP status. Use it as a
// target of [errors.Is].
type Class struct {
	Code   string // on the wire
	Status int
}

func (c *Class) Error() string { return c.Code }

// Classes that several reasons share.
var (
	Invalid           = &Class{"invalid", 400}
	BadRequest        = &Class{"bad_request", 400}
	NotSignedIn       = &Class{"not_signed_in", 401}
	Forbidden         = &Class{"forbidden", 403}
	NotFound          = &Class{"not_found", 404}
	Exists            = &Class{"exists", 409}
	Changed           = &Class{"changed", 409}
	Held              = &Class{"held", 409}
	Stale             = &Class{"stale", 409}
	FolderUntrusted   = &Class{"folder_untrusted", 409}
	NotIndependent    = &Class{"not_independent", 409}
	NotOurs           = &Class{"not_ours", 409}
	RunnerUnreachable = &Class{"runner_unreachable", 409}
	NoPasskeysHere    = &Class{"no_passkeys_here", 409}
	TooLarge          = &Class{"too_large", 413}
	CannotExtend      = &Class{"cannot_extend", 422}
	InvalidAnswer     = &Class{"invalid_answer", 422}
	InvalidAttachment = &Class{"invalid_attachment", 422}
	LimitReached      = &Class{"limit_reached", 429}
	NoDescriptors     = &Class{"no_descriptors", 503}
	Unavailable       = &Class{"unavailable", 503}
)

// Entry is one reason. Names in braces in Text are parameters; see [Render].
type Entry struct {
	Reason string
	Class  *Class
	Text   string
}

// Entries returns the table, in order.
func Entries() []Entry { return slices.Clone(table) }

var byReason = func() map[string]Entry {
	m := make(map[string]Entry, len(table))
	for _, e := range table {
		m[e.Reason] = e
	}
	return m
}()
