package session

import (
	"context"
	"crypto/sha256"
	"time"
)

// ServerTTL is how long the row of a server counts without being renewed, in the time of the
// database.
const ServerTTL = 10 * time.Second

// Server is one of the servers that share a database.
type Server struct {
	ServerID string // made at each start, a UUID
	Name     string // for people
	Release  string // version of its program
	Address  string // at which the others reach it, host:port
	// Key is the SHA-256 of the public key (SubjectPublicKeyInfo) with which it identifies itself to
	// the others, in both directions.
	Key [sha256.Size]byte
}

// ServerStore stores which servers share a database.
type ServerStore interface {
	// PutServer stores or renews the row of a server, for [ServerTTL].
	PutServer(ctx context.Context, s Server) error
	// RemoveServer removes the row of a server that ends.
	RemoveServer(ctx context.Context, serverID string) error
	// Servers returns all whose rows count, by id.
	Servers(ctx context.Context) (map[string]Server, error)
	// Drivers returns which server has the lease of each runner, by the id of the runner. A lease that
	// has expired, and one of a server whose row does not count, is left out.
	Drivers(ctx context.Context) (map[string]string, error)
}
