// Package claudetest is a scripted CLI that speaks the protocol of the real one: in memory,
// for tests under testing/synctest, and as the program cmd/claudetest.
//
// [Pipe] returns both ends of a transport, for tests that play the CLI by hand. [CLI] plays a
// [Script]. [Program] creates an executable for code that starts a CLI by its path.
package claudetest
