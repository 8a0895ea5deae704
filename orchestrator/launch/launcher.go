// Package launch starts Claude CLIs and holds the connections to them: the command
// line, the sandbox, the files and the token of a process, and the shim that outlives
// the server. It reads the folders, settings and saved conversations of the CLI's user. It
// does not interpret what a CLI prints.
package launch

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/shim"
)

// ID names one process of a session.
type ID struct {
	SessionID string `json:"session_id"`
	ProcessID string `json:"process_id"` // UUID
}

// Launcher starts Claude processes and finds those of earlier servers. [Starter] is the launcher
// of this machine. Calls may cross the network: values must survive encoding/json, and a server can
// distinguish only the errors of [ErrorCodes].
type Launcher interface {
	// Open starts one CLI according to the settings of its runner. The process outlives ctx; Conn
	// ends it. The error is an [Error], or [ErrRefused] if these settings do not allow the process.
	Open(ctx context.Context, p Process) (Conn, error)
	// ConnectAgent gives a running process the current address at which it asks over MCP, and a new
	// token unless token is "". It does nothing to a process that does not ask over MCP.
	ConnectAgent(ctx context.Context, id ID, token string) error
	// CheckMachine returns a [problem.Error] if the machine cannot run another process.
	CheckMachine(ctx context.Context) error
	processes
}

// processes gives access to the processes of a runner, however they were started.
type processes interface {
	// Leftovers lists the processes that an earlier server of this node left, running
	// or ended. It reads a folder.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// Vitals returns the vitals of the running processes to which this server is connected. It
	// reads the whole process table, unless there are no such processes.
	Vitals(ctx context.Context) ([]Vitals, error)
	// Damaged returns the ids of the processes that another server could not adopt, because files
	// are missing. It takes a few system calls for each process.
	Damaged(ctx context.Context) (processIDs []string, err error)
}

// Commands runs commands that outlive the server. [Shims] implements it.
type Commands interface {
	// Folder returns the absolute path of the folder with the files of a process, ""
	// when there is none. It exists until the process is removed.
	Folder(id ID) string
	// Launch starts a command, with files, by name, in the folder of the process. The process
	// outlives ctx; Conn ends it.
	Launch(ctx context.Context, id ID, c claude.Command, files map[string][]byte) (Conn, error)
	processes
}

// JournalFull is the value of Blocked for a process whose journal is full, because no server has
// stored its output for long.
const JournalFull = "journal_full"

// Vitals is what a process and all its descendants use at one moment.
type Vitals struct {
	ProcessID string        `json:"process_id"`
	Memory    uint64        `json:"memory"`    // resident bytes
	CPU       time.Duration `json:"cpu"`       // processor time since they started, with that of children they waited for
	Processes int           `json:"processes"` // 0 when the CLI is gone
	// Blocked is why the process had to wait, at some time since the last call, for its output to be
	// stored: JournalFull, or an error of the operating system; "" if it did not, or if unknown.
	Blocked string `json:"blocked,omitempty"`
}

// Leftover is a process that an earlier server left behind.
type Leftover interface {
	ID() ID
	// Origin returns what the runner knows about the process without the database.
	Origin() Origin
	// Attach connects to the process and reads its output from offset on. If the process has
	// ended, the Conn only reads what it printed.
	Attach(ctx context.Context, offset int64) (Conn, error)
	// End ends what is still alive of the process. Its output can still be read.
	End(ctx context.Context) error
	// Wrote is like Wrote of [JournaledConn].
	Wrote(ctx context.Context, requestID string) (bool, error)
	// Remove ends what is still alive of the process, and deletes its files.
	Remove(ctx context.Context) error
}

// Origin describes a process, as its runner knows it.
type Origin struct {
	Alive     bool      // its CLI runs
	Folder    string    // where the CLI works, absolute; "" when unknown
	StartedAt time.Time // zero when unknown; earlier releases recorded whole seconds
}

// ErrRefused means that the settings of the runner forbid what a server asked for. The cause may
// be a [problem.Error].
var ErrRefused = errors.New("the runner does not run this")

// ErrRepeated is returned by Send of a [JournaledConn] for a line that this server or an
// earlier one has sent before. The CLI has received it once.
var ErrRepeated = claude.ErrRepeated

// Errors of a [JournaledConn] and of [Leftover.Attach].
var (
	ErrHung   = shim.ErrHung   // the shim of the process does not answer in time
	ErrFenced = shim.ErrFenced // a server with a newer lease drives the process
	// ErrUnreachable means that the connection to the runner is lost. The runner may have carried
	// out the call, and the process continues.
	ErrUnreachable = errors.New("the connection to the runner is lost")
)

// Conn is the connection to one CLI.
type Conn interface {
	claude.Transport
	PID() int
	// CloseInput closes the CLI's stdin, which makes it exit.
	CloseInput() error
	// Terminate asks the whole process group to exit.
	Terminate() error
	// Kill kills the whole tree.
	Kill() error
	// Done is closed once the CLI has exited and all its output has been read.
	Done() <-chan struct{}
	// ExitError returns how the CLI exited, nil for status 0. It is valid after Done.
	ExitError() error
	// Stderr returns the end of what the CLI printed on stderr, at most 64 KiB. Secrets of its
	// environment, and whatever looks like a secret, are redacted.
	Stderr(ctx context.Context) (string, error)
}

// JournalReader is a [JournaledConn] whose journal can be read independently of Recv.
type JournalReader interface {
	JournaledConn
	// OpenRequests returns the ids of the requests that the CLI has printed and that have neither a
	// withdrawal nor an answer, in no order; nil if the journal can no longer be read. whole is
	// false if the first lines of the journal are gone.
	OpenRequests(ctx context.Context) (requestIDs []string, whole bool, err error)
}

// JournaledConn is a [Conn] to a process that outlives this server.
type JournaledConn interface {
	Conn
	// Offset is the position in the journal after the line that Recv returned last.
	Offset() int64
	// Commit declares that everything before offset is stored.
	Commit(offset int64)
	// Detach ends the connection and leaves the process running. Recv then returns an
	// error.
	Detach() error
	// Wrote reports whether any server has written an answer to the CLI's request with that
	// id. It can be called until Remove.
	Wrote(ctx context.Context, requestID string) (bool, error)
	// Committed returns the highest offset that any server has committed. A database with a
	// lower offset has forgotten something.
	Committed(ctx context.Context) (int64, error)
	// IsAhead reports whether a server with a newer database has driven the process: its
	// epoch was above all that this database knows.
	IsAhead() bool
	// Remove deletes everything that is left of the process. Call it after Done.
	Remove(ctx context.Context) error
}
