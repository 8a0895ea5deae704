package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// Storage reports what the server stores, and what retention with these limits would delete. A nil
// limit stands for the server's.
type Storage func(ctx context.Context, limits wire.RetentionLimits) (wire.Storage, error)

// maxRetention bounds each limit in a query.
const maxRetention = 1e9

// storageHandlers serves the storage usage.
type storageHandlers struct {
	storage Storage
}

func (s *storageHandlers) getStorage(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	if s.storage == nil {
		return account.ErrNotFound
	}
	var limits wire.RetentionLimits
	for name, limit := range map[string]**int{
		"session_days": &limits.SessionDays, "session_size": &limits.SessionSize, "audit_days": &limits.AuditDays, "audit_entries": &limits.AuditEntries,
	} {
		text := r.URL.Query().Get(name)
		n, err := queryNumber(text, name, 0, maxRetention)
		if err != nil {
			return err
		}
		if text != "" {
			given := int(n)
			*limit = &given
		}
	}
	found, err := s.storage(r.Context(), limits)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, found)
	return nil
}
