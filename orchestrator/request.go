// Package orchestrator drives Claude processes: it starts, feeds, interrupts,
// ends and resumes them, and turns what they say into the state and transcript
// of their session. A process is a claude.Client over a transport; its
// permission callback is pending.Registry.Ask.
package orchestrator

import (
	"errors"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Errors of this package. Sentences for a person are in [InvalidError].
var (
	ErrNotRunning = errors.New("no process runs for this session")
	ErrRunning    = errors.New("a process runs for this session already")
	ErrInvalid    = errors.New("request cannot be carried out as given")
	ErrClosing    = errors.New("the server is going away")
)

// InvalidError says in one sentence why a request was refused and what to do.
// It is an [ErrInvalid].
type InvalidError struct {
	Field    string // as the wire names it: cwd, prompt, model, …
	Sentence string
}

func (e *InvalidError) Error() string        { return e.Sentence }
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// StartRequest asks for a new session.
type StartRequest struct {
	// SessionID is a UUID chosen by the caller, so that the same command given
	// twice starts one session; "" for a new one.
	SessionID      string
	CWD            string // absolute path of an existing folder inside the workspace roots
	Prompt         string
	Title          string // "" to derive one from the prompt
	Model          string
	PermissionMode string // "" means default
	Attachments    []session.Attachment
	AllowedTools   []string
	Resume         string // continue this Claude session id; "" to begin afresh
	Fork           bool   // with Resume: under a new id
	Consent        Consent
	Demo           bool // run against the scripted model; Prompt may be ""
	By             pending.Actor
	// Permit has the last word before the session is made: folder is CWD with all
	// symlinks resolved. Who may have Claude ask nobody (bypassPermissions) is for it
	// to say; without it nobody may. It may be nil.
	Permit func(folder, mode string) error
}

// Environment is what a person must know before starting a session.
type Environment struct {
	ClaudePath     string // "" when no CLI was found
	ClaudeVersion  string
	SignedIn       bool   // the CLI has an account or an API key
	Problem        string // a sentence when sessions cannot run, "" when they can
	DemoAvailable  bool
	WorkspaceRoots []string
	Home           string
}
