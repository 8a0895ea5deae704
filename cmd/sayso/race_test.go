//go:build race

package main_test

// The server under a test that looks for races looks for them, too.
func init() { buildFlags = []string{"-race"} }
