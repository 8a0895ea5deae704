package session

import (
	"context"
	"crypto/sha256"
	"time"
)

// ServerTTL is how long the row of a server is valid without being renewed, by the database's
// clock.
const ServerTTL = 10 * time.Second

// Server is one of the servers that share a database.
type Server struct {
	ServerID string // UUID, new at each start
	Name     string // shown to people
	Release  string // version of its program
	Address  string // host:port at which other servers reach it
	// Key is the SHA-256 of the public key (SubjectPublicKeyInfo) with which it identifies itself
	// to other servers, whichever side dials.
	Key [sha256.Size]byte
}

// ServerStore stores which servers share a database.
type ServerStore interface {
	// PutServer stores or renews the row of a server, for [ServerTTL].
	PutServer(ctx context.Context, s Server) error
	// RemoveServer removes the row of a server that shuts down.
	RemoveServer(ctx context.Context, serverID string) error
	// Servers returns the servers with a valid row, by id.
	Servers(ctx context.Context) (map[string]Server, error)
	// Drivers returns which server holds the lease of each runner, by the id of the runner. It
	// omits expired leases, and those of servers without a valid row.
	Drivers(ctx context.Context) (map[string]string, error)
}
