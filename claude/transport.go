// Package claude speaks the stream-json control protocol of the Claude Code CLI
// and is usable alone, as an agent SDK. It is the only package that knows the
// CLI's JSON.
package claude

// Transport carries whole lines to and from one CLI.
type Transport interface {
	// Recv returns the next line of the CLI's output without its newline. The
	// slice is valid until the next Recv. At the end it returns io.EOF, or the
	// reason why the transport broke. One goroutine receives at a time. An error
	// that is [ErrTooLarge] stands for one line that was dropped: the next Recv
	// goes on behind it.
	Recv() ([]byte, error)
	// Send writes one whole line (no newline in it; Send adds one). Lines never
	// interleave and are never torn: after a write that failed half way the
	// transport is broken. Safe for concurrent use.
	Send(line []byte) error
	// Close ends the transport and unblocks Recv and Send.
	Close() error
}
