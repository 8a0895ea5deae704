package wsapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// notStoredMessages are the sentences of the refusal of what could not be stored.
var notStoredMessages = map[wire.NoticeCode]string{
	wire.ReadOnly:    "The disk of the server is full or takes no writes, so this could not be stored. Nothing was changed; try again once there is space.",
	wire.Unavailable: "The server cannot store anything now. Nothing was changed; try again in a moment.",
	wire.Broken:      "The disk failed under the database of the server, and it is unknown whether this was stored. Look again once the server was restarted.",
}

const (
	checkEvery    = time.Second
	checkDeadline = 2 * time.Second
)

// trouble names what an error of the store means for everything else that must
// be stored; "" for an error that says nothing about it.
func (s *Server) trouble(err error) wire.NoticeCode {
	if err == nil || s.o.Trouble == nil {
		return ""
	}
	return s.o.Trouble(err)
}

// notStored is the refusal of what the store could not take.
func notStored(code wire.NoticeCode) *refusal {
	r := refuse(http.StatusServiceUnavailable, string(code), notStoredMessages[code])
	r.retry = time.Second
	return r
}

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
	err := h.s.o.Store.Ping(asking)
	code := wire.NoNotice
	if err != nil {
		if code = h.s.trouble(err); code == "" {
			return // it took too long, or the server ends: nothing is known
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
		h.s.o.Log.ErrorContext(ctx, "nothing can be stored", "code", code, "error", err)
	default:
		h.s.o.Log.InfoContext(ctx, "everything can be stored again")
	}
}

// stores reports whether things can be stored, as far as is known.
func (h *Hub) stores() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notice == wire.NoNotice
}

// putNotice has the tab told what stands in the way.
func (t *tab) putNotice(frame []byte) {
	t.mu.Lock()
	t.notice = frame
	t.mu.Unlock()
	poke(t.wake)
}
