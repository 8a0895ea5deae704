// Command claudetest behaves like the Claude CLI, but follows a script; see
// package claudetest.
package main

import "github.com/sayso-dev/sayso/claude/claudetest"

func main() { claudetest.Main() }
