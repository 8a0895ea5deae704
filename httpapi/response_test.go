package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
)

// TestLongResponsesGetMoreTime: the time to send a response begins when there is something to send, and
// anew with each MB, so that a large file arrives over a slow connection.
func TestLongResponsesGetMoreTime(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	large := append(bytes.Clone(picture), bytes.Repeat([]byte{0}, 3<<20)...) // four parts
	id, folder := h.repository()
	h.file(folder, "large.bin", string(large))
	for _, row := range []struct {
		method, path string
		body         []byte // nil for any
		deadlines    int    // the first is for reading the request and computing the response
	}{
		{"GET", "/api/attachments/" + h.upload(account.Admin, "large.png", large).AttachmentID, large, 1 + 4},
		{"GET", "/api/sessions/" + id + "/files/raw?path=large.bin", large, 1 + 4},
		{"GET", "/api/me", nil, 1 + 1},
		{"POST", "/api/sessions/" + id + "/interrupt", nil, 1 + 1},
	} {
		r := httptest.NewRequest(row.method, row.path, strings.NewReader("{}"))
		r.Host = "127.0.0.1:8787"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+h.Token(account.Admin))
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		h.Server.ServeHTTP(w, r)
		if w.Code >= http.StatusBadRequest || w.written != row.deadlines {
			t.Errorf("%s %s: got %d with %d deadlines, want %d", row.method, row.path, w.Code, w.written, row.deadlines)
		}
		if row.body != nil && !bytes.Equal(w.Body.Bytes(), row.body) {
			t.Errorf("%s %s: got %d bytes, want %d", row.method, row.path, w.Body.Len(), len(row.body))
		}
	}
}
