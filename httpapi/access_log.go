package httpapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/ellipsis"
)

// accessEntry collects what the access log records about a request while it is served.
type accessEntry struct{ who account.Identity }

type accessKey struct{}

// maxLoggedPath bounds a path in the access log, in bytes.
const maxLoggedPath = 300

// logAccess assigns each request an id, which it also sends in X-Request-Id, and writes an entry
// to the access log after the response. It logs no query, header or body, because they may
// contain secrets.
func (s *Server) logAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, entry, status := time.Now(), &accessEntry{}, 0
		id := rand.Text()[:16]
		w.Header().Set("X-Request-Id", id)
		defer func() {
			attributes := []any{
				"request_id", id, "method", ellipsis.Bytes(r.Method, 20), "path", ellipsis.Bytes(r.URL.Path, maxLoggedPath), "status", status,
				"seconds", time.Since(start).Seconds(), "address", s.remoteAddress(r),
			}
			if name := entry.who.User.Name; name != "" {
				attributes = append(attributes, "user", name, "device", entry.who.Device())
			}
			s.o.AccessLog.InfoContext(r.Context(), "request served", attributes...)
		}()
		observed := &statusObserver{ResponseWriter: w, onStatus: func(code int) { status = code }}
		next.ServeHTTP(observed, r.WithContext(context.WithValue(r.Context(), accessKey{}, entry)))
	})
}

// noteAccess records who sent a request.
func noteAccess(ctx context.Context, who account.Identity) {
	if entry, ok := ctx.Value(accessKey{}).(*accessEntry); ok {
		entry.who = who
	}
}
