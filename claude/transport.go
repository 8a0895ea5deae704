package claude

// Transport carries whole lines to and from one CLI.
type Transport interface {
	// Recv returns the next line of the CLI's output without its newline. The slice is valid
	// until the next Recv. At the end it returns io.EOF, or the reason why the transport
	// broke. Only one goroutine may receive. [ErrTooLarge] means that one line was dropped;
	// the next Recv continues after it.
	Recv() ([]byte, error)
	// Send writes one line, which contains no newline, and adds the newline. Lines are never
	// interleaved, and after a partial write the transport is broken. Send is safe for
	// concurrent use.
	Send(line []byte) error
	// Close ends the transport and unblocks Recv and Send.
	Close() error
}
