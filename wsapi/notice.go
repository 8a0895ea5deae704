package wsapi

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

const (
	checkEvery = time.Second
	// A ping that takes longer counts as failed, so that tabs get the notice within 5
	// seconds.
	checkDeadline = 4 * time.Second
)

// watchStore notifies the tabs when the store stops or resumes accepting writes. It checks
// regularly, and at once after a failed write.
func (h *Hub) watchStore(ctx context.Context) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		h.checkStore(ctx)
		select {
		case <-ctx.Done():
			return
		case <-h.suspect:
		case <-ticker.C:
		}
	}
}

func (h *Hub) checkStore(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, checkDeadline)
	defer cancel()
	err := h.o.Store.Ping(asking)
	code := wire.NoNotice
	if err != nil {
		if code = h.o.Refusals.StoreProblem(err); code == "" && asking.Err() != nil {
			code = wire.Unavailable
		}
		if code == "" || ctx.Err() != nil {
			return // no error that affects all writes, or the server is stopping
		}
	}
	h.mu.Lock()
	before := h.notice
	h.notice = code
	if code != before {
		for t := range h.tabs {
			t.putNotice(wire.Encode(wire.NewNotice(code)))
		}
	}
	h.mu.Unlock()
	switch {
	case code == before:
	case err != nil:
		h.o.Log.ErrorContext(ctx, "nothing can be stored", "code", code, "error", err)
	default:
		h.o.Log.InfoContext(ctx, "everything can be stored again")
	}
}

// checkStoreSoon makes watchStore check at once. It never blocks.
func (h *Hub) checkStoreSoon() { wake(h.suspect) }
