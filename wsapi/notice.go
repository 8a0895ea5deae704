package wsapi

import (
	"context"
	"net/http"
	"time"
)

// NoticeCode says what stands in the way of everything that must be stored.
type NoticeCode string

// What can stand in the way.
const (
	NoNotice    NoticeCode = "none"
	ReadOnly    NoticeCode = "read_only"   // the disk takes no writes
	Unavailable NoticeCode = "unavailable" // the database does not answer
	Broken      NoticeCode = "broken"      // the disk failed; only a restart helps
)

// words are the sentences for each code: the notice, and the refusal of what
// could not be stored.
var words = map[NoticeCode]struct{ notice, refusal string }{
	ReadOnly: {
		"The disk of the server is full or takes no writes. Until there is space nothing can be answered, sent or started; sessions wait, nothing is lost, and a session can still be ended.",
		"The disk of the server is full or takes no writes, so this could not be stored. Nothing was changed; try again once there is space.",
	},
	Unavailable: {
		"The database of the server does not answer. Until it does nothing can be answered, sent or started; sessions wait, and a session can still be ended.",
		"The server cannot store anything now. Nothing was changed; try again in a moment.",
	},
	Broken: {
		"The disk failed under the database of the server, so nothing more is stored until the server is restarted on a sound disk. Sessions wait, and a session can still be ended.",
		"The disk failed under the database of the server, and it is unknown whether this was stored. Look again once the server was restarted.",
	},
}

const (
	checkEvery    = time.Second
	checkDeadline = 2 * time.Second
)

// trouble names what an error of the store means for everything else that must
// be stored; "" for an error that says nothing about it.
func (s *Server) trouble(err error) NoticeCode {
	if err == nil || s.o.Trouble == nil {
		return ""
	}
	return s.o.Trouble(err)
}

// notStored is the refusal of what the store could not take.
func notStored(code NoticeCode) *refusal {
	r := refuse(http.StatusServiceUnavailable, string(code), words[code].refusal)
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
	code := NoNotice
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
			t.putNotice(noticeFrame(code))
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

func noticeFrame(code NoticeCode) []byte {
	return encode(Notice{Type: "notice", Code: code, Message: words[code].notice})
}

// stores reports whether things can be stored, as far as is known.
func (h *Hub) stores() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notice == NoNotice
}

// putNotice has the tab told what stands in the way.
func (t *tab) putNotice(frame []byte) {
	t.mu.Lock()
	t.notice = frame
	t.mu.Unlock()
	poke(t.wake)
}
