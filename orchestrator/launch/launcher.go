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
// of this machine. What travels is what encoding/json restores, and errors by their [ErrorCodes].
type Launcher interface {
	// Open starts one CLI as the settings of its runner say. The process outlives ctx; Conn
	// ends it. The error is an [Error], or [ErrRefused] for what those settings do not allow.
	Open(ctx context.Context, p Process) (Conn, error)
	// ConnectAgent tells a running process where it asks over MCP now, and its new token
	// unless that is "". It does nothing to a process that does not ask.
	ConnectAgent(ctx context.Context, id ID, token string) error
	// CheckMachine returns why the machine cannot run another process, as a [problem.Error].
	CheckMachine(ctx context.Context) error
	processes
}

// processes are those of a runner, however they were started.
type processes interface {
	// Leftovers lists the processes that an earlier server of this node left, running
	// or ended. It takes as long as reading a folder.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// Vitals returns those of the running processes to which this server is connected. It
	// reads the whole process table, unless there are none.
	Vitals(ctx context.Context) ([]Vitals, error)
	// Damaged returns the ids of those processes of which files are gone that another server
	// needs to go on with them. It takes a few system calls for each process.
	Damaged(ctx context.Context) (processIDs []string, err error)
}

// Commands runs commands that outlive the server. [Shims] implements it.
type Commands interface {
	// Folder returns the absolute path of the folder with the files of a process, ""
	// when there is none. It exists until the process is removed.
	Folder(id ID) string
	// Launch starts a command, with files, by name, in its folder. The process outlives
	// ctx; Conn ends it.
	Launch(ctx context.Context, id ID, c claude.Command, files map[string][]byte) (Conn, error)
	processes
}

// JournalFull is the Blocked of a process of which no server has stored the output for so long that
// the runner holds as much as it may.
const JournalFull = "journal_full"

// Vitals are what a process and all its descendants use at one moment.
type Vitals struct {
	ProcessID string        `json:"process_id"`
	Memory    uint64        `json:"memory"`    // resident bytes
	CPU       time.Duration `json:"cpu"`       // since they started, with the children that they have waited for
	Processes int           `json:"processes"` // 0 when the CLI is gone
	// Blocked is why its output could not be stored at some time since the last call, so that it
	// waited: JournalFull, or an error of the system; "" for neither, or when it is not known.
	Blocked string `json:"blocked,omitempty"`
}

// Leftover is a process that an earlier server left behind.
type Leftover interface {
	ID() ID
	// Origin returns what is known of the process without the database.
	Origin() Origin
	// Attach connects to the process and reads its output from offset on. A process
	// that has ended is attached for what it printed. The error says why it cannot be
	// reached.
	Attach(ctx context.Context, offset int64) (Conn, error)
	// End ends whatever of it is alive. Its output can still be read.
	End(ctx context.Context) error
	// Wrote is that of [JournaledConn].
	Wrote(ctx context.Context, requestID string) (bool, error)
	// Remove ends whatever is left of it and deletes its files.
	Remove(ctx context.Context) error
}

// Origin is what a process tells of itself.
type Origin struct {
	Alive     bool      // its CLI runs
	Folder    string    // where the CLI works, absolute; "" when that is not known
	StartedAt time.Time // zero when that is not known; an earlier release noted whole seconds
}

// ErrRefused: the runner does not run this, whatever a server says. The cause may be a
// [problem.Error].
var ErrRefused = errors.New("the runner does not run this")

// ErrRepeated is returned by Send of a [JournaledConn] for a line that was sent
// before, by this server or an earlier one. The CLI got it once.
var ErrRepeated = claude.ErrRepeated

// Errors of a [JournaledConn] and of [Leftover.Attach].
var (
	ErrHung   = shim.ErrHung   // what supervises the process does not answer in time
	ErrFenced = shim.ErrFenced // a server with a newer lease has the process
	// ErrUnreachable: the connection to the runner is lost. What was called may have been carried
	// out, and the process continues.
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
	// Done is closed once the CLI has exited and its output is read.
	Done() <-chan struct{}
	// ExitError returns how it exited, nil for status 0. It is valid after Done.
	ExitError() error
	// Stderr returns the end of what it printed there, at most 64 KiB, without secrets of its
	// environment and what looks like one.
	Stderr(ctx context.Context) (string, error)
}

// JournalReader is a [JournaledConn] whose journal can be read beside Recv.
type JournalReader interface {
	JournaledConn
	// OpenRequests returns the ids of the requests that the CLI printed, without a withdrawal or
	// an answer, in no order; nil if the journal cannot be read any more. whole is false when
	// the first lines of the journal are gone.
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
	// Wrote reports whether an answer to the CLI's request of that id was written to
	// the CLI, by whichever server. It can be called until Remove.
	Wrote(ctx context.Context, requestID string) (bool, error)
	// Committed returns the highest offset given to Commit, by whichever server: a
	// database that knows less has forgotten something.
	Committed(ctx context.Context) (int64, error)
	// IsAhead reports whether a server whose database was newer has driven the process: its
	// epoch was above all that this database knows.
	IsAhead() bool
	// Remove, after Done, deletes everything that is left of the process.
	Remove(ctx context.Context) error
}
