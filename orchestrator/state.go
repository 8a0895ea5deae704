package orchestrator

import (
	"time"

	"github.com/sayso-dev/sayso/session"
)

// state is what is known of a process besides its transcript. It is a value: only transition
// replaces it, and never changes a map or a slice in it.
type state struct {
	row     session.ProcessState // what tabs see; its version is the store's
	unsaved bool                 // row or memo differ from what is stored
	memo    memo
	// live is the block that people see, nil for none. Once it has become an item, it stays
	// until that item is stored, so that its text is always visible.
	live       *session.Live
	nextLive   *session.Live // the block that Claude streams meanwhile, or nil
	savingLive bool          // the item that live has become is being stored

	initialized   bool   // the CLI has answered initialize and has an account
	journalLost   bool   // the files of its journal were deleted
	blocked       string // see [launch.Vitals]
	recovered     string // a sentence about what the database has forgotten, else ""
	stopReason    string // why the process is being ended, else ""
	endedByPerson bool   // stopReason came from a person, not from a limit
	detached      bool   // this server has disconnected from the process, which continues
	end           *ended // how the CLI ended; nil until it is gone
	ended         bool   // nothing more will be written
	diedInTurn    bool
	turnEnded     bool     // since the sender last checked
	withheldIDs   []string // ids of messages that a person is removing from the queue
	heldBy        string   // id of the rewind that keeps turns from starting, or ""
	// earlierQuestions is set while Claude may ask questions of an earlier process again.
	earlierQuestions bool
	startStored      bool            // the store has recorded that the session has started
	inFlight         map[string]bool // tool_use ids whose answer is being sent; true once the result has arrived

	turnSince    time.Time // when row.State last changed, by the clock of the server that changed it
	drivenSince  time.Time // when this server started to drive the process
	lastMessage  time.Time // of the CLI
	lastActivity time.Time // time of the last activity of any kind

	offset int64 // in the journal: everything before is processed
	stored int64 // the offset that is stored

	cost    int64     // not stored yet, in millionths of a dollar
	costAt  time.Time // time of the latest part
	storing int64     // cost that is being stored

	toldWaiting bool // people were told that the process waited for a server to store its output

	tree    treeState
	samples []Sample // see addSample
}

// treeState holds the findings of the samples of the process tree.
type treeState struct {
	cpu       time.Duration // at the last sample
	sampledAt time.Time
	processes int
	grewAt    time.Time // when a sample found more processes than the previous one
	// memoryBefore is the memory at memorySince: the first sample after the last message.
	memorySince          time.Time
	memoryBefore, memory uint64
}

// working reports whether a turn is running.
func (s state) working() bool { return s.row.State == session.AssistantTurn }

// cutOff reports whether Claude waits for a person although a turn was cut off before.
func (s state) cutOff() bool { return s.memo.CutOff && s.row.State == session.UserTurn }

// takesMessages reports whether a message that is queued now will be sent: by this process or, if
// it dies first, by its replacement.
func (s state) takesMessages() bool { return s.stopReason == "" && !s.ended }

// interruptDue reports whether an interrupt that arrived before the turn started must be
// repeated now.
func (s state) interruptDue() bool { return s.memo.TurnStarted && s.working() }

func (s state) isDetached() bool { return s.detached }

// bypassesApprovals reports whether Claude runs without asking.
func (s state) bypassesApprovals() bool {
	return s.row.PermissionMode == bypass && s.row.Running() && s.stopReason == ""
}
