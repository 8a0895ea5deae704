// Package attachment stores the files that people attach to messages: images, PDFs and text.
// The bytes are files in a folder of the server, under generated names; the store holds their
// owners and the sessions that use them.
//
// A file is written before its row and deleted after it. So when a server dies in between,
// every row still has its file, and the next sweep deletes a file without a row.
package attachment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/session"
)

// Limits of attachments, in bytes and files.
const (
	MaxSize  = 24 << 20 // of one file; in base64 this is the 32 MB that the Messages API accepts
	MaxTotal = 32 << 20 // of all files of one message
	MaxCount = 20       // in one message
)

const (
	unusedTTL     = 7 * 24 * time.Hour // a person may return to a draft
	orphanFileTTL = time.Hour          // a file whose row may not be stored yet
	sweepInterval = time.Hour
)

// Store holds the rows of attachments; see [session.Store].
type Store interface {
	SaveAttachment(ctx context.Context, a session.StoredAttachment) error
	Attachment(ctx context.Context, attachmentID string) (session.StoredAttachment, error)
	ForgetAttachments(ctx context.Context, before time.Time) (int, error)
}

// Shelf stores attachments. Its methods may be called from any goroutine.
type Shelf struct {
	folder *folder
	store  Store
	log    *slog.Logger
}

// Open opens the folder at path, and creates it if it is missing.
func Open(path string, store Store, log *slog.Logger) (*Shelf, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	return &Shelf{folder: f, store: store, log: log}, nil
}

// Close closes the folder.
func (s *Shelf) Close() error { return s.folder.root.Close() }

// Store stores a file and then its row. A repeated id changes nothing; an empty one creates a
// new id. It returns a [problem.Error] for a file that Claude does not accept.
func (s *Shelf) Store(ctx context.Context, id, ownerID, name string, data []byte) (session.StoredAttachment, error) {
	name = displayName(name)
	if len(data) == 0 {
		return session.StoredAttachment{}, problem.For("attachments", "attachment_empty", "name", name)
	}
	if len(data) > MaxSize {
		return session.StoredAttachment{}, problem.For("attachments", "attachment_too_large", "name", name, "size", megabytes(len(data)), "max", megabytes(MaxSize))
	}
	media, err := MediaTypeOf(data)
	if err != nil {
		return session.StoredAttachment{}, problem.For("attachments", "attachment_type", "name", name).WithCause(err)
	}
	if id == "" {
		id = uuid.NewString()
	} else if _, err := uuid.Parse(id); err != nil {
		return session.StoredAttachment{}, fmt.Errorf("attachment: keep: %w", err)
	}
	a := session.StoredAttachment{OwnerID: ownerID, CreatedAt: time.Now(), AttachmentInfo: session.AttachmentInfo{
		AttachmentID: id, Name: name, MediaType: media, Size: len(data),
	}}
	if err := s.folder.put(id, data); err != nil {
		return session.StoredAttachment{}, fmt.Errorf("attachment: keep: %w", err)
	}
	if err := s.store.SaveAttachment(ctx, a); err != nil {
		return session.StoredAttachment{}, fmt.Errorf("attachment: keep: %w", err)
	}
	return a, nil
}

// megabytes returns n bytes in MB with one decimal.
func megabytes(n int) float64 { return math.Round(float64(n)/(1<<20)*10) / 10 }

// Read returns the bytes of a file, or session.ErrNoAttachment.
func (s *Shelf) Read(id string) ([]byte, error) {
	data, err := s.folder.read(id)
	if err != nil {
		return nil, fmt.Errorf("attachment: read: %w", err)
	}
	return data, nil
}

// Run deletes unused files at once and then every hour, until ctx ends.
func (s *Shelf) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		if err := s.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot remove attachments that nobody uses; trying again in an hour", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Sweep deletes the files that no session uses and that are too old for a draft, as of now.
func (s *Shelf) Sweep(ctx context.Context, now time.Time) error {
	if _, err := s.store.ForgetAttachments(ctx, now.Add(-unusedTTL)); err != nil {
		return fmt.Errorf("attachment: sweep: %w", err)
	}
	names, err := s.folder.olderThan(now.Add(-orphanFileTTL))
	if err != nil {
		return fmt.Errorf("attachment: sweep: %w", err)
	}
	for _, name := range names {
		if !isPartial(name) {
			_, err := s.store.Attachment(ctx, name)
			if err == nil {
				continue
			}
			if !errors.Is(err, session.ErrNoAttachment) {
				return fmt.Errorf("attachment: sweep: %w", err)
			}
		}
		if err := s.folder.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("attachment: sweep: %w", err)
		}
	}
	return nil
}
