// Package shim keeps one CLI alive while servers come and go. The parent of the CLI
// is the shim: a program that runs [Main], which is sayso-shim or `sayso shim`. It
// writes what the CLI prints to a journal before any server sees it, replays the
// journal to the server that attaches, writes each keyed line to the CLI once, and
// kills the whole process tree. It handles lines, not messages, so a new CLI never
// needs a new shim.
//
// # Usage
//
// A server calls [Start], and then [Attach] with an epoch above all earlier ones.
// After a restart it calls [List] and attaches to the shims that are alive.
// [Conn.Recv] returns lines, and [Conn.Offset] the position in the journal after the
// last of them. [Conn.Commit] declares what is stored, so that the shim can delete
// it. After io.EOF, [Conn.AckExit] ends the shim, and [Remove] deletes its folder.
//
// # The folder of a shim
//
// All files are in one folder (0700) that only this uid can enter: lock (held while
// the shim is alive), token, meta.json, socket, out.* (the journal), keys (of the
// lines written to the CLI, see [Wrote]), exit.json once the CLI has exited, and
// shim.log (a crash of the shim itself). The environment of the CLI is never written
// there.
//
// # When the shim dies
//
// On Linux the kernel kills the CLI when its shim dies. On macOS the CLI sees the
// end of its input and is expected to exit; until it does, it is an orphan, which
// [Clean] kills by the recorded pid and start time. Processes that the CLI left
// outside its process group are found by their cgroup, or without a cgroup by
// [Marker], a random variable in their environment. One kind of process is not
// found: one that dropped the variable, its group and its parent, and outlives a
// shim that was killed, where there was no cgroup. While the shim is alive, no
// process escapes it on Linux, because it adopts all orphans of its tree.
//
// # Without its folder
//
// If its folder is deleted, no server can reach a shim. It continues while a server
// is attached, and for [Limits].GoneMS after that, in case the folder returns, for
// example because a disk is mounted again; then it ends the tree. Meanwhile it writes
// the journal to the files that are open.
//
// # Versions
//
// A shim outlives upgrades and downgrades of the server. The header of a frame
// never changes. Both sides speak the lower of their two versions, which is at most
// two below either. They ignore unknown fields and answer unknown frames with an
// error.
package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Version is the version of the protocol. This package also drives shims of the two versions
// before it.
const (
	Version = 1
	oldest  = max(1, Version-2)
)

// Marker is the environment variable that marks the processes of a CLI. Its value is random.
const Marker = "SAYSO_SHIM"

// Errors of this package.
var (
	ErrCLIMissing       = errors.New("the CLI does not exist")
	ErrCLINotExecutable = errors.New("the CLI cannot be executed")
	ErrFolderMissing    = errors.New("the folder to work in does not exist")
	ErrProgram          = errors.New("the program of the shim cannot be executed")

	ErrVersion     = errors.New("the shim speaks another version")
	ErrRefused     = errors.New("the shim does not know this token")
	ErrFenced      = errors.New("another connection has a higher epoch")
	ErrOffset      = errors.New("the journal does not reach that far")
	ErrUnknown     = errors.New("the shim does not know this frame")
	ErrBadLine     = errors.New("a line to the CLI cannot contain a newline")
	ErrInputClosed = errors.New("the input of the CLI is closed")
	ErrInputFull   = errors.New("too much waits for the CLI to read")

	ErrHung     = errors.New("the shim does not answer")
	ErrGone     = errors.New("the shim is gone")
	ErrAlive    = errors.New("the shim is alive")
	ErrDetached = errors.New("the connection was detached")
	ErrDamaged  = errors.New("a part of the journal is unreadable")
	ErrTooLarge = errors.New("a line was larger than the limit")
)

// codes lists the errors that a shim sends to a server, with their codes on the wire.
var codes = []struct {
	code string
	err  error
}{
	{"cli_missing", ErrCLIMissing}, {"cli_not_executable", ErrCLINotExecutable}, {"folder_missing", ErrFolderMissing},
	{"version", ErrVersion}, {"refused", ErrRefused}, {"fenced", ErrFenced}, {"offset", ErrOffset}, {"unknown", ErrUnknown},
	{"alive", ErrAlive}, {"bad_line", ErrBadLine}, {"input_closed", ErrInputClosed}, {"input_full", ErrInputFull},
}

// wire returns the head that carries an error to the server.
func wire(err error) head {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return head{Code: c.code, Message: err.Error()}
		}
	}
	return head{Code: "failed", Message: err.Error()}
}

// err returns the error that a head carries, nil for none.
func (h head) err() error {
	for _, c := range codes {
		if h.Code == c.code {
			return fmt.Errorf("shim: %s: %w", h.Message, c.err)
		}
	}
	if h.Code != "" {
		return fmt.Errorf("shim: %s", h.Message)
	}
	return nil
}

// Params configures a shim. It receives them as one message on its stdin.
type Params struct {
	Version   int      `json:"version"` // set by Start
	SessionID string   `json:"session_id"`
	ProcessID string   `json:"process_id"`
	Dir       string   `json:"dir"`   // folder of this shim, absolute; Start creates it
	Token     string   `json:"token"` // set by Start
	Path      string   `json:"path"`  // of the CLI, absolute
	Args      []string `json:"args"`  // without the program's name
	Env       []string `json:"env"`   // KEY=value; the CLI gets these and Marker, and nothing else
	Cwd       string   `json:"cwd"`   // where the CLI works, absolute
	NoCgroup  bool     `json:"no_cgroup,omitempty"`
	// Files has the content of files, by name. Start writes them to Dir, readable by this uid
	// alone, before it starts the shim; they are deleted with Dir. The shim does not receive them.
	Files  map[string][]byte `json:"-"`
	Limits Limits            `json:"limits"`
}

// Limits are the limits of one shim; 0 means the default.
type Limits struct {
	Line     int64 `json:"line"`      // bytes of a line of output; a longer line is truncated
	Segment  int64 `json:"segment"`   // bytes of a file of the journal
	Journal  int64 `json:"journal"`   // bytes of uncommitted output from which on the CLI has to wait
	Input    int64 `json:"input"`     // bytes that may wait for the CLI to read them, in one line or several
	LingerMS int64 `json:"linger_ms"` // how long the shim waits for AckExit after the CLI has exited
	GoneMS   int64 `json:"gone_ms"`   // how long the CLI may run with neither a folder nor a server
}

func (l Limits) orDefault() Limits {
	def := func(v, d int64) int64 {
		if v <= 0 {
			return d
		}
		return v
	}
	l.Line = def(l.Line, 256<<20)      // lines may contain PDFs and whole tool results
	l.Segment = def(l.Segment, 16<<20) // commits free whole segments
	// Only a complete line can be committed, so more than one must fit.
	l.Journal = max(def(l.Journal, 8<<30), 2*(l.Line+l.Segment))
	l.Input = def(l.Input, 128<<20) // lines may contain pictures
	l.LingerMS = def(l.LingerMS, (24 * time.Hour).Milliseconds())
	l.GoneMS = def(l.GoneMS, (10 * time.Minute).Milliseconds()) // a disk may be mounted again
	return l
}

// Meta is what a shim records about itself in meta.json.
type Meta struct {
	Version   int    `json:"version"`
	SessionID string `json:"session_id"`
	ProcessID string `json:"process_id"`
	PID       int    `json:"pid"`
	Start     string `json:"start"`             // start time of PID; the two together are unique on this machine
	CLI       int    `json:"cli_pid"`           // 0 until the CLI is started
	CLIStart  string `json:"cli_start"`         // start time of CLI, in the format of Start
	Marker    string `json:"marker"`            // value of the environment variable Marker
	Cgroup    string `json:"cgroup,omitempty"`  // path of the cgroup; "" for none
	Kill      string `json:"kill"`              // how the tree is found: cgroup, subreaper or scan
	Started   string `json:"started,omitempty"` // RFC 3339
	Cwd       string `json:"cwd,omitempty"`     // where the CLI works, absolute; shims of earlier releases lack it
	Limits    Limits `json:"limits"`
}

// ExitRecord describes how a CLI ended.
type ExitRecord struct {
	Status int       `json:"status"`           // -1 when a signal ended it
	Signal int       `json:"signal,omitempty"` // number of the signal
	At     time.Time `json:"at"`
	Offset int64     `json:"offset"` // end of the journal
	Stderr string    `json:"stderr"` // end of stderr, at most 64 KiB
}

// Stat describes the state of a shim and its process tree.
type Stat struct {
	PID   int    `json:"pid"`
	CLI   int    `json:"cli_pid"`
	Alive bool   `json:"alive"` // the CLI has not exited
	State string `json:"state"` // running, blocked (see Blocked) or exited
	// Blocked is why the journal cannot be written, which makes the CLI wait; else "".
	Blocked string `json:"blocked,omitempty"`
	Epoch   uint64 `json:"epoch"`
	// Offsets where the journal begins, where it ends, and before which it is committed.
	First     int64 `json:"first"`
	End       int64 `json:"end"`
	Committed int64 `json:"committed"`
	// InputBytes is the size of the lines that the CLI has not read, and InputMS how long the
	// first of them has waited, in milliseconds.
	InputBytes int64  `json:"input_bytes"`
	InputMS    int64  `json:"input_ms"`
	Kill       string `json:"kill"` // as in Meta
	// The following are sums for the CLI and its descendants. CPUMS includes processes that have
	// ended, if the system reports them.
	Processes int   `json:"processes"`
	RSS       int64 `json:"rss"`    // bytes
	CPUMS     int64 `json:"cpu_ms"` // milliseconds
	ShimRSS   int64 `json:"shim_rss"`
}

// Names of the files in the folder of a shim.
const (
	lockName   = "lock"
	tokenName  = "token"
	metaName   = "meta.json"
	socketName = "socket"
	exitName   = "exit.json"
	logName    = "shim.log"
	keysName   = "keys"
)

// writeJSON writes a file atomically, and syncs it to disk for the case of a power cut.
func writeJSON(name string, v any) error {
	text, _ := json.Marshal(v) // our own types can be encoded
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
