package orchestrator

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

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

// permissionModes are those that a person may choose. bypass is not among them:
// nothing runs without a say-so, unless Permit says that this person may.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk"}

// bypass is the mode in which Claude asks nobody.
const bypass = "bypassPermissions"

const (
	titleLength = 80 // characters of a prompt that become the title
	modelLength = 100
)

// titleOf takes the first line of the prompt that says something.
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
	if runes := []rune(title); len(runes) > titleLength {
		title = strings.TrimSpace(string(runes[:titleLength-1])) + "…"
	}
	return title
}

func checkPermissionMode(mode string) error {
	if slices.Contains(permissionModes, mode) {
		return nil
	}
	return problem.For("permission_mode", "permission_mode_unknown", "modes", strings.Join(permissionModes, ", "))
}

// checkModel keeps out what the CLI could take for a flag or a shell for more
// than a word; which models exist is the CLI's to say.
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
