package orchestrator

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
)

// maxPreview bounds the files that are shown with a request, in bytes.
const maxPreview = 512 << 10

// Look is a file as it is now, and when the running Claude of a session last read or
// wrote it; zero when it did not.
type Look struct {
	workspace.File
	TouchedAt time.Time
}

// LookAt reads a file for the people of a session: inside its folder and the
// workspace roots alone.
func (o *Orchestrator) LookAt(ctx context.Context, sessionID, path string) (Look, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return Look{}, err
	}
	var look Look
	if p := o.find(sessionID); p != nil {
		p.mu.Lock()
		look.TouchedAt = p.transcript.Touched[path]
		p.mu.Unlock()
	}
	err = o.o.CLI.As(func() (err error) {
		look.File, err = o.rules().Roots.ReadFile(s.CWD, path, maxPreview)
		return err
	})
	return look, err
}
