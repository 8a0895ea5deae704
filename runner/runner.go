// Package runner connects a server to runners on other hosts, over runner/link: [Program] is the
// runner's side, which dials, and [Endpoint] the server's. What the two may ask of each other is
// given to both as functions. docs/contributing/runners.md describes the whole.
package runner

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/session"
)

// Path is where a server serves runners.
const Path = "/runner"

// Hello is what a runner says of itself when it has dialed. Unknown members are ignored, so that
// releases can add some.
type Hello struct {
	InstallationID string    `json:"installation_id"` // made with the state folder, a UUID
	Machine        string    `json:"machine"`         // hash of the host's machine id
	Name           string    `json:"name"`            // "" for that of its token
	Release        string    `json:"release"`         // version of the program
	Fence          uint64    `json:"fence"`           // highest epoch that has attached to one of its shims
	Clock          time.Time `json:"clock"`
	Labels         []string  `json:"labels,omitempty"`
	Roots          []string  `json:"roots,omitempty"` // folders in which Claude may work there, absolute

	Capacity session.Capacity    `json:"capacity"`
	CLIs     []session.RunnerCLI `json:"clis,omitempty"`
}

// Welcome is what a server answers.
type Welcome struct {
	RunnerID string    `json:"runner_id"`
	Epoch    uint64    `json:"epoch"` // of the lease that the server has taken
	Time     time.Time `json:"time"`  // of the database
}

// Why a server refuses a runner, or closes its connection.
var (
	ErrToken        = errors.New("the token is not that of a runner, or was revoked")
	ErrInstallation = errors.New("the token belongs to another installation: it is a copy of another runner, or was moved to another machine")
	ErrRemoved      = errors.New("the runner was removed")
	ErrReplaced     = errors.New("the same runner has dialed again")
	ErrLeaseLost    = errors.New("another server has the runner now")
	ErrGoingAway    = errors.New("the server is shutting down")
)

// Errors returns the codes of errors between server and runner, before those of the calls.
func Errors(calls []link.ErrorCode) []link.ErrorCode {
	return append([]link.ErrorCode{
		{Code: "token", Err: ErrToken},
		{Code: "installation", Err: ErrInstallation},
		{Code: "removed", Err: ErrRemoved},
		{Code: "replaced", Err: ErrReplaced},
		{Code: "lease_lost", Err: ErrLeaseLost},
		{Code: "going_away", Err: ErrGoingAway},
	}, calls...)
}

// tokenPrefix tells a token of a runner from other secrets, to people and to programs that look for
// leaked ones.
const tokenPrefix = "sayso_runner_"

// NewToken returns a token of 256 random bits, and what a server stores of it.
func NewToken() (token string, hash [sha256.Size]byte) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return token, HashToken(token)
}

// HashToken returns what a server stores of a token. Nobody can guess a token, so the hash needs
// neither salt nor time.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// looksLikeToken reports whether a text may be a token.
func looksLikeToken(text string) bool {
	secret, ok := strings.CutPrefix(text, tokenPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	return ok && err == nil && len(raw) == 32
}

// Serve answers calls of the other side; see [link.Options].
type Serve func(ctx context.Context, call *link.Call) (result any, err error)
