package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// writeRefusal sends a refusal; a nil body stands for the refusal's own.
func writeRefusal(w http.ResponseWriter, r *refusal.Refusal, body any) {
	if r.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((r.Retry+time.Second-1)/time.Second)))
	}
	if r.Allow != "" {
		w.Header().Set("Allow", r.Allow)
	}
	switch r.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close")
	}
	if body == nil {
		body = wire.Refusal{Error: r.Body}
	}
	writeJSON(w, r.Status, body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data := wire.Encode(v)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
}

// responseTimeout bounds the time to compute and send a response. It exceeds the
// slowest command.
const responseTimeout = 2 * time.Minute

// limitResponse sets the deadline for the response. Hijacking the connection, as a
// WebSocket does, removes it.
func limitResponse(w http.ResponseWriter) {
	// Only test transports lack deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(responseTimeout))
}
