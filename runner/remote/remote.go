// Package remote lets a server use the processes of a runner on another host like its own. [Host]
// serves the processes of a launcher on the runner; [Launcher] represents that launcher on the
// server. Both belong to one connection. When it is lost, the processes continue, and the next
// connection attaches to them at the stored offset.
package remote

import (
	"encoding/binary"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner/link"
)

// Codes returns the codes of the errors that these calls return and callers compare. A code never
// changes.
func Codes() []link.ErrorCode {
	return append([]link.ErrorCode{
		{Code: "no_process", Err: ErrNoProcess},
	}, launch.ErrorCodes...)
}

// Names of the calls. They never change.
const (
	callOpen      = "open"          // launch.Process → opened
	callLeftovers = "leftovers"     // → []leftover
	callAttach    = "attach"        // target → opened
	callEnd       = "end"           // target of a leftover
	callRead      = "read"          // target → records of lines, then readResult
	callRequests  = "open_requests" // target → openRequests
	callSend      = "send"          // target; data: a line
	callInput     = "close_input"
	callTerminate = "terminate"
	callKill      = "kill"
	callStderr    = "stderr"    // target → text
	callWrote     = "wrote"     // target → whether
	callCommit    = "commit"    // target
	callCommitted = "committed" // target → offset
	callDetach    = "detach"
	callRemove    = "remove"
	callAgent     = "connect_agent" // target
	callMachine   = "check_machine"
	callVitals    = "vitals"  // → []launch.Vitals
	callDamaged   = "damaged" // → ids of processes
)

// target identifies a process, and holds the other arguments of a call.
type target struct {
	SessionID string `json:"session_id"`
	ProcessID string `json:"process_id"`
	Offset    int64  `json:"offset,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Token     string `json:"token,omitempty"`
}

func targetOf(id launch.ID) target { return target{SessionID: id.SessionID, ProcessID: id.ProcessID} }

func (t target) id() launch.ID { return launch.ID{SessionID: t.SessionID, ProcessID: t.ProcessID} }

// opened describes a process to which the runner is connected.
type opened struct {
	PID   int  `json:"pid"`
	Ahead bool `json:"ahead"`
}

type leftover struct {
	Target    target    `json:"target"`
	Alive     bool      `json:"alive"`
	Folder    string    `json:"folder"`
	StartedAt time.Time `json:"started_at"`
}

// openRequests lists the open requests in a journal. IDs is null if the journal can no longer be
// read.
type openRequests struct {
	IDs   []string `json:"ids"`
	Whole bool     `json:"whole"`
}

// readResult is the result of callRead.
type readResult struct {
	Exited bool   `json:"exited"`
	Exit   string `json:"exit,omitempty"` // the exit error, "" for status 0
	Stderr string `json:"stderr,omitempty"`
}

// A record is one line: its kind (1 byte), the offset after it (8), its length (4) and its bytes.
const (
	recordHeader = 13
	recordLine   = 0
	recordLost   = 1 // a line that was too large; the bytes are the error message

	// maxLine bounds a line in both directions, in bytes. A shim has the same limit.
	maxLine = 256 << 20
)

// appendRecord encodes the header of a record.
func appendRecord(b []byte, kind byte, offset int64, size int) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	return binary.BigEndian.AppendUint32(b, uint32(size))
}
