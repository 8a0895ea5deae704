// Package claudetest is a CLI that follows a script and speaks the protocol of
// the real one: in memory, for tests under testing/synctest, and as the program
// cmd/claudetest.
//
// [Pipe] gives a test both ends of a transport, to play the CLI by hand. [CLI]
// plays it from a [Script]. [Program] makes an executable for whatever starts a
// CLI by its path.
package claudetest
