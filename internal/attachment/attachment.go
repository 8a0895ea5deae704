// Package attachment keeps what people attach to their messages: images, PDFs
// and text. The bytes are files in a folder of the server, under names of its
// own; whose they are and which sessions use them is in the store. A file is on
// disk before its row, and goes after it, so that a server may die in between:
// a row has its file, and a file without a row is removed by the next sweep.
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

// Limits of what is attached, in bytes and files.
const (
	MaxSize  = 24 << 20 // of one; the Messages API takes 32 MB of request, which is this in base64
	MaxTotal = 32 << 20 // of one message
	MaxCount = 20       // in one message
)

const (
	keepUnused = 7 * 24 * time.Hour // a draft may be taken up again
	keepFile   = time.Hour          // a file whose row may be on its way
	sweepEvery = time.Hour
)

// Store is what is remembered of attachments; see [session.Store].
type Store interface {
	SaveAttachment(ctx context.Context, a session.StoredAttachment) error
	Attachment(ctx context.Context, attachmentID string) (session.StoredAttachment, error)
	ForgetAttachments(ctx context.Context, before time.Time) (int, error)
}

// Shelf keeps attachments. Its methods may be called from any goroutine.
type Shelf struct {
	folder *folder
	store  Store
	log    *slog.Logger
}

// Open makes the folder where it is missing.
func Open(path string, store Store, log *slog.Logger) (*Shelf, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	return &Shelf{folder: f, store: store, log: log}, nil
}

// Close lets go of the folder.
func (s *Shelf) Close() error { return s.folder.root.Close() }

// Keep stores a file on disk and then its row. The same id again changes nothing;
// "" makes a new one. The error is a [problem.Error] for what Claude does not take.
func (s *Shelf) Keep(ctx context.Context, id, ownerID, name string, data []byte) (session.StoredAttachment, error) {
	name = nameOf(name)
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

// Read returns the bytes; session.ErrNoAttachment when they are gone.
func (s *Shelf) Read(id string) ([]byte, error) {
	data, err := s.folder.read(id)
	if err != nil {
		return nil, fmt.Errorf("attachment: read: %w", err)
	}
	return data, nil
}

// Run removes what nobody uses, at once and then every hour, until ctx ends.
func (s *Shelf) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
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

// Sweep removes what no session uses and nobody will take up again, as of now.
func (s *Shelf) Sweep(ctx context.Context, now time.Time) error {
	if _, err := s.store.ForgetAttachments(ctx, now.Add(-keepUnused)); err != nil {
		return fmt.Errorf("attachment: sweep: %w", err)
	}
	names, err := s.folder.old(now.Add(-keepFile))
	if err != nil {
		return fmt.Errorf("attachment: sweep: %w", err)
	}
	for _, name := range names {
		if !isHalf(name) {
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
