package orchestrator

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
)

// permissionModes are those that a person may choose. bypass is not among them:
// nothing runs without a say-so, unless the door says that this person may.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk"}

// bypass is the mode in which Claude asks nobody.
const bypass = "bypassPermissions"

const (
	titleLength = 80 // characters of a prompt that become the title
	modelLength = 100
)

// newSession checks a request and makes the session it asks for.
func (o *Orchestrator) newSession(r StartRequest) (session.Session, error) {
	if r.Demo {
		if o.o.Demo == nil {
			return session.Session{}, &InvalidError{Field: "demo", Sentence: "This server has no demo."}
		}
		if r.CWD == "" {
			if err := o.asUser(func() error { return os.MkdirAll(o.o.Demo.Folder, 0o700) }); err != nil {
				return session.Session{}, fmt.Errorf("orchestrator: make the demo's folder: %w", err)
			}
			r.CWD = o.o.Demo.Folder
		}
		if r.Title == "" {
			r.Title = "Demo"
		}
	} else if strings.TrimSpace(r.Prompt) == "" && len(r.Attachments) == 0 && r.Resume == "" {
		return session.Session{}, &InvalidError{Field: "prompt", Sentence: "Say what Claude should do."}
	}
	roots := o.rules().Roots
	if r.Demo {
		roots = append(slices.Clone(roots), o.o.Demo.Folder)
	}
	cwd, err := o.resolve(roots, r.CWD)
	if err != nil {
		return session.Session{}, inField("cwd", err)
	}
	if r.PermissionMode == "" {
		r.PermissionMode = "default"
	}
	if r.PermissionMode != bypass || r.Permit == nil {
		if err := checkPermissionMode(r.PermissionMode); err != nil {
			return session.Session{}, err
		}
	}
	if r.Permit != nil {
		if err := r.Permit(cwd, r.PermissionMode); err != nil {
			return session.Session{}, err
		}
	}
	if err := checkModel(r.Model); err != nil {
		return session.Session{}, err
	}
	id := r.SessionID
	if r.Resume != "" {
		if _, err := uuid.Parse(r.Resume); err != nil {
			return session.Session{}, &InvalidError{Field: "resume", Sentence: "The conversation to resume is named by its id, a UUID."}
		}
		if !r.Fork {
			id = r.Resume // Claude goes on under the id it has
		}
	}
	if id == "" {
		id = uuid.NewString()
	}
	now := time.Now()
	return session.Session{
		SessionID: id, ProjectID: session.ProjectOf(cwd), Title: titleOf(r, cwd), CWD: cwd,
		Model: r.Model, PermissionMode: r.PermissionMode, AllowedTools: r.AllowedTools,
		OwnerID: r.By.UserID, Demo: r.Demo, Begun: r.Resume != "" && !r.Fork,
		CreatedAt: now, UpdatedAt: now,
	}, nil
}

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
	return &InvalidError{Field: "permission_mode", Sentence: fmt.Sprintf(
		"The permission mode is one of %s.", strings.Join(permissionModes, ", "))}
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
	return &InvalidError{Field: "model", Sentence: "A model's name consists of letters, digits and - . _ : / @ [ ]."}
}
