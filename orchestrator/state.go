package orchestrator

import (
	"time"

	"github.com/sayso-dev/sayso/session"
)

// state is what is known of a process besides its transcript. It is a value: only
// transition changes it, and never what a map or a slice in it holds.
type state struct {
	row     session.ProcessState // what tabs see; its version is the store's
	unsaved bool                 // row or memo differ from what is stored
	memo    memo
	// live is the block that people see, nil for none. One that has become an item stays
	// until that is stored, or its text would be nowhere for a moment.
	live       *session.Live
	nextLive   *session.Live // the block that is streamed meanwhile, nil for none
	savingLive bool          // the item that live has become is being stored

	initialized   bool   // the CLI has answered initialize and has an account
	journalLost   bool   // its files were deleted
	recovered     string // what the database has forgotten, a sentence; "" for nothing
	stopReason    string // why we end the process, "" while we do not
	endedByPerson bool   // stopReason came from a person, not from a limit
	detached      bool   // this server let go of the process, which runs on
	end           *ended // the CLI is gone; nil before
	ended         bool   // nothing more will be written
	diedInTurn    bool
	turnEnded     bool     // since the sender last looked
	withheld      []string // ids of messages that somebody takes back
	// earlierQuestions is set while questions of an earlier process may be asked again.
	earlierQuestions bool
	startStored      bool            // the store knows that the session has begun
	inFlight         map[string]bool // tool_use ids whose answer is being sent: whether the result has come

	turnSince    time.Time // when row.State last changed
	lastMessage  time.Time // of the CLI
	lastActivity time.Time // last sign of life of any kind

	offset int64 // in the journal: everything before is in items, state and transcript
	stored int64 // the offset that is stored

	cost    int64     // not stored yet, in millionths of a dollar
	costAt  time.Time // of the last of it
	storing int64     // cost that is being stored

	tree    treeState
	samples []Sample // of the last minutes
}

// treeState is what the samples of the process tree have shown.
type treeState struct {
	cpu       time.Duration // at the last sample
	sampledAt time.Time
	processes int
	grewAt    time.Time // when a sample found more processes than the one before
	// memoryBefore was in use at memorySince: the first sample after the last message.
	memorySince          time.Time
	memoryBefore, memory uint64
}

// working reports whether a turn goes on.
func (s state) working() bool { return s.row.State == session.AssistantTurn }

// cutOff reports whether Claude waits for a person, though a turn was cut off before.
func (s state) cutOff() bool { return s.memo.CutOff && s.row.State == session.UserTurn }

// takesMessages reports whether a message that is queued now will be sent by this
// process, or by the one that is started after it.
func (s state) takesMessages() bool { return s.stopReason == "" && !s.ended }

// interruptDue reports whether an interrupt that came before the turn had begun must be
// repeated now.
func (s state) interruptDue() bool { return s.memo.TurnStarted && s.working() }

// asksNobody reports whether Claude runs without asking anybody.
func (s state) asksNobody() bool {
	return s.row.PermissionMode == bypass && s.row.Running() && s.stopReason == ""
}
