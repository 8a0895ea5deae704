// Package runner connects a server to runners on other hosts, over runner/link. [Program] is the
// runner's side, which dials; [Endpoint] is the server's side. Both take functions that answer the
// other side's calls. docs/contributing/runners.md describes the protocol.
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

// Path is the URL path at which a server accepts runners.
const Path = "/runner"

// Hello describes a runner. It is the first message after it has dialed. Receivers ignore unknown
// members, so that releases can add some.
type Hello struct {
	InstallationID string    `json:"installation_id"` // a UUID, created with the state folder
	Machine        string    `json:"machine"`         // hash of the host's machine id
	Name           string    `json:"name"`            // "" keeps the name given with its token
	Release        string    `json:"release"`         // version of the program
	Fence          uint64    `json:"fence"`           // highest epoch that has attached to one of its shims
	Clock          time.Time `json:"clock"`
	Labels         []string  `json:"labels,omitempty"`
	Roots          []string  `json:"roots,omitempty"` // absolute paths of the folders in which Claude may work

	Capacity session.Capacity    `json:"capacity"`
	CLIs     []session.RunnerCLI `json:"clis,omitempty"`
}

// Welcome is a server's reply to a [Hello].
type Welcome struct {
	RunnerID string    `json:"runner_id"`
	Epoch    uint64    `json:"epoch"` // of the lease that the server took
	Time     time.Time `json:"time"`  // by the database's clock
}

// Reasons for which a server refuses a runner or closes its connection.
var (
	ErrToken        = errors.New("the token is not that of a runner, or was revoked")
	ErrInstallation = errors.New("the token belongs to another installation: it is a copy of another runner, or was moved to another machine")
	ErrRemoved      = errors.New("the runner was removed")
	ErrReplaced     = errors.New("the same runner has dialed again")
	ErrLeaseLost    = errors.New("another server has the runner now")
	ErrGoingAway    = errors.New("the server is shutting down")
)

// Errors returns the codes of this package's errors, followed by calls.
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

// tokenPrefix marks a secret as a runner token, for people and for secret scanners.
const tokenPrefix = "sayso_runner_"

// NewToken returns a token of 256 random bits, and the hash that a server stores.
func NewToken() (token string, hash [sha256.Size]byte) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return token, HashToken(token)
}

// HashToken returns the hash of a token, which is all that a server stores of it. Tokens cannot be
// guessed, so the hash needs no salt and need not be slow.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// looksLikeToken reports whether text has the form of a token.
func looksLikeToken(text string) bool {
	secret, ok := strings.CutPrefix(text, tokenPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(secret)
	return ok && err == nil && len(raw) == 32
}

// Serve answers a call of the other side; see [link.Options].
type Serve func(ctx context.Context, call *link.Call) (result any, err error)
