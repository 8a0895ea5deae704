package orchestrator

import (
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// launchPlan describes how to start the CLI of a process.
type launchPlan struct {
	Resume string // Claude session id to continue; "" for a new conversation
	Fork   bool   // with Resume: under the id of our session
	// ResumeAt is the last entry of the conversation to continue from; "" for the end.
	ResumeAt string
	// SessionID is passed to the CLI as --session-id; "" when Resume keeps its own id.
	SessionID string
	// ContinueTurn makes a turn that was cut off continue by itself.
	ContinueTurn bool
	// Earlier is set when a process of the session died with open questions, which this one
	// may ask again.
	Earlier bool
	// CutOff is set when a process of the session died during a turn that has not continued since.
	CutOff bool
	// Before is the id of the previous process, "" when unknown.
	Before string
	// By is the person who started the process; zero when the session continues by itself.
	By pending.Actor
	// Retell is set when Claude does not know the conversation, so that the messages to earlier
	// processes are sent again.
	Retell bool

	settings folderSettings
}

func launchOf(s session.Session) launchPlan {
	if s.Begun {
		return launchPlan{Resume: s.SessionID}
	}
	if s.Origin.SessionID != "" {
		return launchPlan{SessionID: s.SessionID, Resume: s.Origin.SessionID, Fork: true, ResumeAt: s.Origin.EntryID}
	}
	return launchPlan{SessionID: s.SessionID, Retell: true}
}
