package main

import (
	"os"

	"github.com/sayso-dev/sayso/shim"
)

// shimVerb is the verb that the server starts for itself, once for each session:
// people have no use for it. Its parameters come on stdin.
func shimVerb(_ []string) error { return shim.Main(os.Stdin, os.Stdout) }
