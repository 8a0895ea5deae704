package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/sayso-dev/sayso/shim"
	"github.com/sayso-dev/sayso/shim/embedded"
)

// shimVerb runs a shim. The server starts it for each session if it cannot use the embedded
// program; it is not for people. Its parameters come on stdin.
func shimVerb(_ []string) error { return shim.Main(os.Stdin, os.Stdout) }

// shimProgram returns a function that returns the path of the embedded shim, or "" if it is
// missing or cannot run. The first call installs it in the state folder.
func shimProgram(stateDir string, log *slog.Logger) func() string {
	return sync.OnceValue(func() string {
		path, err := embedded.Install(filepath.Join(stateDir, "program"))
		if err != nil {
			log.Warn("the shim program does not run in the state folder; sayso runs as the shim, which takes 3 MB more memory for each session", "error", err)
		}
		return path
	})
}
