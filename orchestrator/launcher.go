package orchestrator

import (
	"context"

	"github.com/sayso-dev/sayso/claude"
)

// Incarnation names one process of a session.
type Incarnation struct {
	SessionID string
	ProcessID string // UUID
}

// Launcher starts Claude processes. It is the seam between driving a process
// and holding it.
type Launcher interface {
	// Folder is where a process keeps what is its own, absolute and for us alone; ""
	// when this launcher gives it none. It goes when the process is forgotten.
	Folder(id Incarnation) string
	// Launch starts one CLI, with files, by name, in its folder. The process
	// outlives ctx; Conn ends it.
	Launch(ctx context.Context, id Incarnation, c claude.Command, files map[string][]byte) (Conn, error)
	// Left lists the processes that a former server of this node left behind,
	// running or ended. It takes as long as reading a folder.
	Left(ctx context.Context) ([]Left, error)
}

// Left is a process that a former server left behind.
type Left interface {
	Incarnation() Incarnation
	// Attach takes the process over: its output from offset on, as if this server
	// had started it. A process that ended meanwhile is attached all the same, for
	// what it said. The error says why it cannot be reached.
	Attach(ctx context.Context, offset int64) (Conn, error)
	// End ends whatever lives of it. What it left can still be read.
	End(ctx context.Context) error
	// Heard is that of [Kept].
	Heard(requestID string) (bool, error)
	// Remove ends whatever is left of it and forgets it.
	Remove(ctx context.Context) error
}

// ErrRepeated is returned by Send of a [Kept] for a line that was sent before,
// by this server or by one before it. The CLI got it once.
var ErrRepeated = claude.ErrRepeated

// Conn is one CLI: its lines, and what may be done to it.
type Conn interface {
	claude.Transport
	PID() int
	// CloseInput says that nothing more will be sent; the CLI then ends by itself.
	CloseInput() error
	// Terminate asks the whole process group to end.
	Terminate() error
	// Kill ends the whole tree.
	Kill() error
	// Done is closed once the CLI has exited and its output is read.
	Done() <-chan struct{}
	// ExitError says how it exited, nil for status 0; only after Done.
	ExitError() error
	// Stderr is the end of what it printed there, at most 64 KiB.
	Stderr() string
}

// Kept is a [Conn] to a process that outlives this server.
type Kept interface {
	Conn
	// Offset is the place in the journal after the line that Recv returned last.
	Offset() int64
	// Commit says that all before offset is taken in for good.
	Commit(offset int64)
	// Detach ends the connection and leaves the process running. Recv then
	// returns an error.
	Detach() error
	// Heard reports whether an answer to the CLI's request of that id was written
	// to the CLI, by whichever server. It can be asked until Forget.
	Heard(requestID string) (bool, error)
	// Forget says, after Done, that the end was taken in: nothing of the process
	// need be kept.
	Forget(ctx context.Context) error
}
