package orchestrator

import (
	"time"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// An event is something that happened to a process, with its time.
type event any

type (
	// messageReceived is a line of the CLI that has been applied to the transcript.
	messageReceived struct {
		change         transcript.Change
		at             time.Time
		offset         int64 // after the line
		earlyInterrupt bool  // an interrupt must be repeated once the turn has started
	}
	lineSettled    struct{ offset int64 } // the effects of a line are stored
	startWasStored struct{}               // the store has recorded that the session has started
	connected      struct{ pid int }
	attachDelayed  struct{}
	attached       struct{}
	recovered      struct{ reason string } // the database has forgotten part of the process
	initializeDone struct{}
	journalLost    struct{}               // no other server could adopt the process
	inputAwaited   struct{ at time.Time } // the CLI waits for the first message
	turnStarted    struct {
		messageID string
		at        time.Time
		anew      bool // start it even if a turn attributed to this message has ended
	}
	turnEndTaken     struct{}
	messageWithheld  struct{ messageID string }
	messageReleased  struct{ messageID string }
	turnsHeld        struct{ by string } // no message may be sent until turnsReleased
	turnsReleased    struct{ by string }
	throttled        struct{ reason string } // "" clears it
	modelSet         struct{ model string }
	modeSet          struct{ mode string }
	bypassGranted    struct{ userID string }
	memoChanged      struct{}
	earlierQuestions struct{ open bool }
	questionClosed   struct{ at time.Time }
	answerGiven      struct{ answered answered }
	answerSent       struct {
		toolUseID string
		reached   bool
	}
	answerDropped  struct{ toolUseID string }
	resultReceived struct{ toolUseID string }
	endRequested   struct {
		reason   string
		byPerson bool
	}
	serverStopping struct{}
	detachSet      struct{ detached bool }
	cliGone        struct{ ended } // its requests and state are not settled yet
	exited         struct{ ended } // everything it left is settled
	writingEnded   struct{}
	sampled        struct {
		at        time.Time
		usage     launch.Vitals
		limits    Limits
		machine   string // name of the runner
		questions int    // waiting for a person
		// The longest running tool, if any.
		tool      string
		toolSince time.Time
		retrying  bool // the CLI waits to repeat a request to the API
	}
	usageJudged struct {
		memory        uint64
		cpu           float64
		stuck, reason string // why it seems to be stuck; why it must end
	}
	saveStarted struct{}
	saveEnded   struct {
		err    error
		row    bool
		offset int64 // -1 when none was stored
		cost   int64
	}
	costCounted struct{ micros int64 } // a save that seemed to fail has stored this cost
)

// An effect is an action that an event requires. The goroutine that handled the event
// performs it without the lock.
type effect any

type (
	wakeWriter struct{}
	wakeSender struct{}
	notify     struct{}
	notifyLive struct{}
	// settleCalls stores the consequences of calls' results, then settles the line.
	settleCalls struct {
		calls  []transcript.FinishedCall
		offset int64
	}
	storeStart    struct{}
	noteWaiting   struct{} // tells people that the process waited for a server to store its output
	storeDelivery struct {
		requestID string
		delivery  pending.Delivery
	}
	endProcess struct{ reason string }
	// judgeUnlessAsking applies a usageJudged; while a question over MCP waits for a person, it
	// leaves out stuck and reason.
	judgeUnlessAsking struct{ judged usageJudged }
	logIllegalMove    struct{ from, to session.State }
)
