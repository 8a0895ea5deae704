// Package claudetest is a scripted CLI that speaks the protocol of the real one: in memory,
// for tests under testing/synctest, and as the program cmd/claudetest. It lets programs that use
// package claude be tested without an account, a network or the real CLI.
//
// A [Script] is what the CLI does in a turn, as a list of [Step]: ask for permissions, in parallel or
// one after the other, write texts, print any line, withdraw a request, flood its output, hang, or die
// in the middle of a line. A prompt from [Prompt] contains its own steps.
//
// # As a program
//
// [Program] creates an executable for code that starts a CLI by its path. It is the test binary
// itself, so nothing is built:
//
//	path, record := claudetest.Program(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}})
//	r, err := claude.Ask(ctx, "Hi!", claude.Options{Path: path, Dir: t.TempDir()})
//
// [ReadRecords] returns what the program received: the arguments and the environment, control
// requests, answers, prompts and the end of the input.
//
// # In memory
//
// [CLI] plays a script on one end of a [Pipe]; a client from [claude.NewClient] uses the other end. A
// test may also play the CLI itself, line by line.
package claudetest
