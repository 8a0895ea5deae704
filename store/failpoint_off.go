//go:build !failpoints

package store

// failing is the store itself: nothing is made to fail.
func failing(s Store) Store { return s }
