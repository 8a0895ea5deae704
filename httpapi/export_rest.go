package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/export"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// exportDriver is what exportHandlers needs from the orchestrator.
type exportDriver interface {
	RecordExport(ctx context.Context, s session.Session, format string, by pending.Actor) error
}

// exportHandlers serves transcripts as files.
type exportHandlers struct {
	store       export.Reader
	driver      exportDriver
	guard       *access.Guard
	commands    *command.Executor
	attachments *attachment.Shelf
}

// postExport sends the transcript of a session as a download to a person who may see it. It records
// the export in the audit log first.
func (s *exportHandlers) postExport(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	var body wire.Export
	if err := readBody(r, &body); err != nil {
		return err
	}
	format := export.Format(body.Format)
	if err := s.driver.RecordExport(context.WithoutCancel(r.Context()), ses, body.Format, access.Actor(who)); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", disposition("attachment", fileName(ses.Title)+format.Extension()))
	h.Set("Content-Security-Policy", attachmentPolicy)
	h.Set("Cache-Control", "no-store")
	sent := &writeTracker{ResponseWriter: w}
	err = export.Write(r.Context(), sent, format, s.store, export.Options{
		Session: ses, Project: wire.ProjectName(book, access.PlaceOf(ses)), Language: body.Language, By: who.User.Name, At: time.Now(),
		Image: func(ctx context.Context, id string) ([]byte, error) {
			a, err := s.commands.Attachment(ctx, id, ses.SessionID, who)
			if err != nil {
				return nil, err
			}
			return s.attachments.Read(ctx, a.AttachmentID)
		},
		Page: func() { limitResponse(w) }, // each page gets a new deadline
	})
	if err != nil && sent.any {
		// The client must notice that the file is incomplete.
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		h.Del("Content-Disposition")
	}
	return err
}

// writeTracker is a ResponseWriter that records whether anything was written.
type writeTracker struct {
	http.ResponseWriter
	any bool
}

func (c *writeTracker) Write(p []byte) (int, error) {
	c.any = true
	return c.ResponseWriter.Write(p)
}

// fileName converts a title to a file name without an extension.
func fileName(title string) string {
	const maxRunes = 80
	name := strings.Join(strings.FieldsFunc(title, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}), "-")
	if runes := []rune(name); len(runes) > maxRunes {
		name = string(runes[:maxRunes])
	}
	if name == "" {
		name = "session"
	}
	return name
}
