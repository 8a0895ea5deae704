//go:build !failpoints

package store

// failing returns the store unchanged.
func failing(s Store) Store { return s }

// engineOf returns the engine of a store that failing returned.
func engineOf(s Store) Store { return s }
