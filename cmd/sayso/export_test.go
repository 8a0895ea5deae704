package main

import (
	"context"
	"io"
	"os"
)

// Serve is the verb serve in the process of a test. It returns the exit code of the
// program. exe is a built sayso, which keeps sessions alive.
func Serve(ctx context.Context, args, environ []string, exe string, output io.Writer, hangups <-chan os.Signal) int {
	return exitCode(serveUntilDone(ctx, invocation{
		args: args, environ: environ, stdout: output, stderr: output, exe: exe, hangups: hangups,
	}), output)
}
