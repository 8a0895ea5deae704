package orchestrator

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// StartRequest describes a new session.
type StartRequest struct {
	// SessionID is a UUID chosen by the caller, so that a repeated command starts one
	// session; "" for a generated one.
	SessionID      string
	RunnerID       string   // AnyRunner, or "" for the one inside the server if there is one
	Labels         []string // that the runner must have; they imply AnyRunner
	CWD            string   // absolute path of an existing folder inside the workspace roots
	Prompt         string
	Title          string // "" to derive one from the prompt
	Model          string
	PermissionMode string // "" means default
	Attachments    []session.Attachment
	AllowedTools   []string
	Resume         string // Claude session id to continue; "" for a new conversation
	Fork           bool   // with Resume: under a new id
	Consent        Consent
	Demo           bool // run against the scripted model; Prompt may be ""
	By             pending.Actor
	// Permit makes the final check before the session is created; folder is CWD with all
	// symlinks resolved. It also decides who may use bypassPermissions: if Permit is nil, nobody
	// may. It is not sent to other servers; see [StartPlan].
	Permit func(folder, mode string) error `json:"-"`
}

// storedID returns the id of the session that the request starts, "" if newSession generates it.
func (r StartRequest) storedID() string {
	if r.Resume != "" && !r.Fork {
		return r.Resume // Claude keeps its id
	}
	return r.SessionID
}

// permissionModes lists the modes that everybody may choose. It lacks bypass, which needs Permit.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk"}

// bypass is the mode in which Claude never asks.
const bypass = "bypassPermissions"

const (
	maxTitleRunes = 80 // characters of a prompt that become the title
	modelLength   = 100
)

// titleOf returns the title of the request, else the first line of the prompt that is not blank,
// else the name of the folder, truncated to maxTitleRunes.
func titleOf(r StartRequest, cwd string) string {
	title := strings.TrimSpace(r.Title)
	if title == "" {
		for line := range strings.Lines(r.Prompt) {
			if title = strings.TrimSpace(line); title != "" {
				break
			}
		}
	}
	if title == "" {
		title = filepath.Base(cwd)
	}
	title = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, title)
	return ellipsis.Runes(title, maxTitleRunes)
}

func checkPermissionMode(mode string) error {
	if slices.Contains(permissionModes, mode) {
		return nil
	}
	return problem.For("permission_mode", "permission_mode_unknown", "modes", strings.Join(permissionModes, ", "))
}

// checkModel rejects names that the CLI could mistake for a flag, or a shell for more than one
// word. The CLI decides which models exist.
func checkModel(model string) error {
	ok := len(model) <= modelLength && !strings.HasPrefix(model, "-")
	for _, c := range model {
		ok = ok && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-._:/@[]", c))
	}
	if ok {
		return nil
	}
	return problem.For("model", "model_invalid")
}
