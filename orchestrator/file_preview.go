package orchestrator

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
)

// maxPreview bounds the files that are shown with a request, in bytes.
const maxPreview = 512 << 10

// FilePreview is the current state of a file.
type FilePreview struct {
	workspace.File
	TouchedAt time.Time // when the session's running process last read or wrote it; zero if it has not
}

// PreviewFile reads a file for the people of a session. The file must be inside the session's folder
// or the workspace roots.
func (o *Orchestrator) PreviewFile(ctx context.Context, sessionID, path string) (FilePreview, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return FilePreview{}, err
	}
	var look FilePreview
	if p := o.find(sessionID); p != nil {
		p.mu.Lock()
		look.TouchedAt = p.transcript.Touched[path]
		p.mu.Unlock()
	}
	look.File, err = o.runner.ReadFile(ctx, o.rules().Roots, s.CWD, path, maxPreview)
	return look, err
}
