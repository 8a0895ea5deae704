package wsapi

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

const (
	checkEvery = time.Second
	// A store that says nothing for so long counts as one that does not answer, so that
	// tabs hear of it within 5 seconds.
	checkDeadline = 4 * time.Second
)

// watchStore keeps the tabs told whether anything can be stored: looking again
// and again, and at once after something could not.
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
			return // the server ends: nothing is known
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

// checkStoreSoon looks at once whether anything can be stored.
func (h *Hub) checkStoreSoon() { wake(h.suspect) }

// CanStore reports whether answers can be stored, as far as is known.
func (h *Hub) CanStore() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notice == wire.NoNotice
}

// putNotice has the tab told what stands in the way.
func (t *tab) putNotice(frame []byte) {
	t.queue(func() { t.notice = frame })
}
