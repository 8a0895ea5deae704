package httpapi

import (
	"net/http"
	"slices"
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
	writeParts(w, data)
}

// partSize is how much of a response is sent before it gets a new deadline, in bytes: a connection
// with 70 kbit/s is fast enough.
const partSize = 1 << 20

// writeParts sends the body of a response. Each part has its own deadline, so that neither a command
// that took long nor a large file over a slow connection fails.
func writeParts(w http.ResponseWriter, data []byte) {
	for part := range slices.Chunk(data, partSize) {
		limitResponse(w)
		if _, err := w.Write(part); err != nil {
			return // the client is gone
		}
	}
}

// responseTimeout bounds the time to compute a response, and to send each part of it. It
// exceeds the slowest command.
const responseTimeout = 2 * time.Minute

// limitResponse sets the deadline for the response, or for its next part. Hijacking the connection, as a
// WebSocket does, removes it.
func limitResponse(w http.ResponseWriter) {
	// Only test transports lack deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(responseTimeout))
}
