//go:build !failpoints

package store

// failing returns the store unchanged.
func failing(s Store) Store { return s }
