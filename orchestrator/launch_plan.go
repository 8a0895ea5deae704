package orchestrator

import (
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// launchPlan says how the CLI of a process is to be started.
type launchPlan struct {
	Resume string // Claude session id to go on from; "" to begin afresh
	Fork   bool   // with Resume: under the id of our session
	// SessionID is given to the CLI as --session-id; "" when Resume keeps its own.
	SessionID string
	// ContinueTurn has a turn that was cut off go on by itself.
	ContinueTurn bool
	// Earlier is set when a process of the session died with questions, which this one may
	// ask again.
	Earlier bool
	// CutOff: a process of the session died in the middle of a turn, which did not go on
	// since.
	CutOff bool
	// Before is the id of the process before this one, "" when that is not known.
	Before string
	// By is whoever wants the process; zero when the session goes on by itself.
	By pending.Actor
	// Retell is set when Claude does not know the conversation: messages that former
	// processes received are sent again.
	Retell bool

	settings folderSettings
}

func launchOf(s session.Session) launchPlan {
	if s.Begun {
		return launchPlan{Resume: s.SessionID}
	}
	return launchPlan{SessionID: s.SessionID, Retell: true}
}
