package httpapi

import (
	_ "embed"
	"net/http"
	"strconv"

	"github.com/sayso-dev/sayso/internal/account"
)

//go:generate env SAYSO_OPENAPI=write go test -run ^TestOpenAPI$ .

//go:embed openapi.json
var openAPI []byte

// getOpenAPI serves the OpenAPI description. It is public: it is the same on every
// server of this version.
func (s *Server) getOpenAPI(w http.ResponseWriter, _ *http.Request, _ account.Identity) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Length", strconv.Itoa(len(openAPI)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(openAPI) // the client may be gone
	return nil
}
