// Package shim keeps one CLI alive while servers come and go. Its parent is a
// program that runs [Main], sayso-shim or `sayso shim`: it writes what the CLI prints to a journal before anybody sees it,
// replays the journal to whichever server attaches, writes each keyed line to
// the CLI once, and kills the whole tree. It knows lines, not messages, so a new
// CLI never needs a new shim.
//
// # Usage
//
// A server calls [Start], then [Attach] with an epoch above all before it; after
// a restart it calls [List] and attaches to what lives. [Conn.Recv] gives lines,
// [Conn.Offset] where the journal goes on after them; what is stored is given
// back with [Conn.Commit]. After io.EOF, [Conn.AckExit] lets the shim go, and
// [Remove] takes the folder away.
//
// # The folder of a shim
//
// Everything lies in one folder (0700) that only this uid can enter: lock (held
// as long as the shim lives), token, meta.json, socket, out.* (the journal), keys
// (of the lines that were written to the CLI, see [Wrote]), exit.json once the CLI
// has exited, shim.log (a crash of the shim itself). The environment of the CLI is
// never written there.
//
// # One fate
//
// On Linux the kernel kills the CLI when its shim dies. On macOS the CLI sees
// the end of its input and is expected to exit; until it does it is an orphan,
// which [Clean] kills by recorded pid and start time. What the CLI left behind
// outside its process group is found by cgroup where there is one, and else by a
// random variable in its environment, [Marker]; a process that dropped the
// variable, its group and its parent, and outlives a shim that was killed where
// there was no cgroup, is not found. While the shim lives nothing escapes it on
// Linux: it adopts all orphans of its tree.
//
// # Without its folder
//
// A folder that was deleted leaves a shim that nobody can reach. It goes on while a
// server is attached, and for [Limits].GoneMS after that, in case the folder is there
// again, as when a disk is mounted; then it ends the tree. The journal goes on in the
// files that are open.
//
// # Versions
//
// A shim outlives upgrades and downgrades of the server. The header of a frame
// never changes; both sides speak the lower of their versions, at most two below
// their own. Unknown fields are ignored, unknown frames answered with an error.
package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Version is what this package speaks; it drives shims of two versions before.
const (
	Version = 1
	oldest  = max(1, Version-2)
)

// Marker is the variable in the environment of a CLI that tells whose it is.
const Marker = "SAYSO_SHIM"

// What can be wrong.
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
	ErrBadLine     = errors.New("a line to the CLI cannot hold a newline")
	ErrInputClosed = errors.New("the input of the CLI is closed")
	ErrInputFull   = errors.New("too much waits for the CLI to read")

	ErrHung     = errors.New("the shim does not answer")
	ErrGone     = errors.New("the shim is gone")
	ErrAlive    = errors.New("the shim is alive")
	ErrDetached = errors.New("the connection was detached")
	ErrDamaged  = errors.New("a part of the journal is unreadable")
	ErrTooLarge = errors.New("a line was larger than the limit")
)

// codes are the errors that cross from the shim to the server, by their names there.
var codes = []struct {
	code string
	err  error
}{
	{"cli_missing", ErrCLIMissing}, {"cli_not_executable", ErrCLINotExecutable}, {"folder_missing", ErrFolderMissing},
	{"version", ErrVersion}, {"refused", ErrRefused}, {"fenced", ErrFenced}, {"offset", ErrOffset}, {"unknown", ErrUnknown},
	{"alive", ErrAlive}, {"bad_line", ErrBadLine}, {"input_closed", ErrInputClosed}, {"input_full", ErrInputFull},
}

// wire is an error as it crosses.
func wire(err error) head {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return head{Code: c.code, Message: err.Error()}
		}
	}
	return head{Code: "failed", Message: err.Error()}
}

// err is an error that has crossed, nil when there was none.
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

// Params is all that a shim is told, in one message on its stdin.
type Params struct {
	Version   int      `json:"version"` // set by Start
	SessionID string   `json:"session_id"`
	ProcessID string   `json:"process_id"`
	Dir       string   `json:"dir"`   // of this shim alone, absolute; Start makes it
	Token     string   `json:"token"` // set by Start
	Path      string   `json:"path"`  // of the CLI, absolute
	Args      []string `json:"args"`  // after the program's name
	Env       []string `json:"env"`   // KEY=value; exactly this and Marker
	Cwd       string   `json:"cwd"`   // where the CLI works, absolute
	NoCgroup  bool     `json:"no_cgroup,omitempty"`
	// Files are put into Dir, by name and readable by this uid alone, before
	// anything is started, and go with it. The shim never sees them.
	Files  map[string][]byte `json:"-"`
	Limits Limits            `json:"limits"`
}

// Limits of one shim; 0 stands for the default.
type Limits struct {
	Line     int64 `json:"line"`      // bytes of a line of output; of a larger one the beginning is kept
	Segment  int64 `json:"segment"`   // bytes after which the journal begins another file
	Journal  int64 `json:"journal"`   // bytes not yet committed at which the CLI is made to wait
	Input    int64 `json:"input"`     // bytes that may wait for the CLI to read them, one line included
	LingerMS int64 `json:"linger_ms"` // how long the end of the CLI waits for AckExit
	GoneMS   int64 `json:"gone_ms"`   // how long the CLI lives on without a folder and a server
}

func (l Limits) orDefault() Limits {
	def := func(v, d int64) int64 {
		if v <= 0 {
			return d
		}
		return v
	}
	l.Line = def(l.Line, 256<<20)      // real lines carry PDFs and whole tool results
	l.Segment = def(l.Segment, 16<<20) // what a commit gives back at a time
	// A line can be committed only when it is whole, so more than one must fit.
	l.Journal = max(def(l.Journal, 8<<30), 2*(l.Line+l.Segment))
	l.Input = def(l.Input, 128<<20) // pictures
	l.LingerMS = def(l.LingerMS, (24 * time.Hour).Milliseconds())
	l.GoneMS = def(l.GoneMS, (10 * time.Minute).Milliseconds()) // a disk may be mounted again
	return l
}

// Meta is what a shim writes down about itself.
type Meta struct {
	Version   int    `json:"version"`
	SessionID string `json:"session_id"`
	ProcessID string `json:"process_id"`
	PID       int    `json:"pid"`
	Start     string `json:"start"`             // of PID; with it, unique for ever on this machine
	CLI       int    `json:"cli_pid"`           // 0 until the CLI was started
	CLIStart  string `json:"cli_start"`         // of CLI
	Marker    string `json:"marker"`            // value of the variable
	Cgroup    string `json:"cgroup,omitempty"`  // folder of it; "" for none
	Kill      string `json:"kill"`              // how a tree is found: cgroup, subreaper or scan
	Started   string `json:"started,omitempty"` // RFC 3339
	Cwd       string `json:"cwd,omitempty"`     // where the CLI works, absolute; "" of a shim of an earlier release
	Limits    Limits `json:"limits"`
}

// ExitRecord says how a CLI ended.
type ExitRecord struct {
	Status int       `json:"status"`           // -1 when a signal ended it
	Signal int       `json:"signal,omitempty"` // number of the signal
	At     time.Time `json:"at"`
	Offset int64     `json:"offset"` // end of the journal
	Stderr string    `json:"stderr"` // its end, at most 64 KiB
}

// Stat says how a shim and its tree are.
type Stat struct {
	PID   int    `json:"pid"`
	CLI   int    `json:"cli_pid"`
	Alive bool   `json:"alive"` // the CLI has not exited
	State string `json:"state"` // running, blocked (the journal takes nothing: see Blocked), exited
	// Blocked is why the journal takes nothing; the CLI waits meanwhile.
	Blocked string `json:"blocked,omitempty"`
	Epoch   uint64 `json:"epoch"`
	// Where the journal begins, ends, and is no longer needed below.
	First     int64 `json:"first"`
	End       int64 `json:"end"`
	Committed int64 `json:"committed"`
	// InputBytes wait for the CLI to read them, the first since InputMS.
	InputBytes int64  `json:"input_bytes"`
	InputMS    int64  `json:"input_ms"`
	Kill       string `json:"kill"` // as in Meta
	// Of the CLI and everything below it. CPU includes what has ended, where the
	// system tells.
	Processes int   `json:"processes"`
	RSS       int64 `json:"rss"`    // bytes
	CPUMS     int64 `json:"cpu_ms"` // milliseconds
	ShimRSS   int64 `json:"shim_rss"`
}

// Names in the folder of a shim.
const (
	lockName   = "lock"
	tokenName  = "token"
	metaName   = "meta.json"
	socketName = "socket"
	exitName   = "exit.json"
	logName    = "shim.log"
	keysName   = "keys"
)

// writeJSON puts a file in place whole, also for whoever comes after a power cut.
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
