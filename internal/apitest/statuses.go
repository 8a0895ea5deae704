package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// RouteText is the description of a route in docs/integrating/routes.json.
type RouteText struct {
	Group   string   `json:"group"`
	Summary string   `json:"summary"`
	Notes   string   `json:"notes"`
	Query   []string `json:"query"`
	Body    *string  `json:"body"` // a type of the JSON Schema, "" for an empty object, "*" for one that it does not know
	Status  int      `json:"status"`
	Also    []int    `json:"also"` // other statuses that a client must expect
	Result  string   `json:"result"`
	Media   string   `json:"media"` // of a result that is not JSON
}

// RouteTexts returns the texts of all routes, by method and pattern.
var RouteTexts = sync.OnceValues(func() (map[string]RouteText, error) {
	data, err := os.ReadFile(filepath.FromSlash("../docs/integrating/routes.json"))
	if err != nil {
		return nil, err
	}
	texts := map[string]RouteText{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return texts, decoder.Decode(&texts)
})

// CheckStatuses returns a handler that fails the test when a route responds with a status
// that its description does not name. Descriptions omit the refusals that any route may send.
func CheckStatuses(t testing.TB, next http.Handler) http.Handler {
	texts, err := RouteTexts()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for name := range texts {
		mux.Handle(name, http.NotFoundHandler())
	}
	general := []int{400, 401, 403, 404, 405, 408, 413, 415, 421, 429, 500, 503}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux gets a copy of the request, because it would set the pattern of this one.
		_, name := mux.Handler(r.Clone(r.Context()))
		text, ok := texts[name]
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(&statusWatch{ResponseWriter: w, report: func(status int) {
			if status != text.Status && !slices.Contains(text.Also, status) && !slices.Contains(general, status) {
				t.Errorf("%s answers %d, which docs/integrating/routes.json does not name", name, status)
			}
		}}, r)
	})
}

// statusWatch reports the status of a response.
type statusWatch struct {
	http.ResponseWriter
	report func(status int)
}

func (w *statusWatch) WriteHeader(status int) {
	w.report(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWatch) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *statusWatch) Unwrap() http.ResponseWriter { return w.ResponseWriter }
