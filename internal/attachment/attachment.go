// Package attachment stores the files that people attach to messages: images, PDFs and text.
// The bytes are in the database, in chunks, so that every server can read them and no write takes
// long.
//
// Chunks are stored before the row of their attachment and deleted after it. So when a server
// dies in between, every row has all its chunks, and a later sweep deletes chunks without a row.
package attachment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
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
	unusedTTL      = 7 * 24 * time.Hour // a person may return to a draft
	orphanChunkTTL = time.Hour          // chunks whose row may not be stored yet
	sweepInterval  = time.Hour
	takeOverRetry  = 10 * time.Second // after the store failed
	// chunkSize bounds a chunk, in bytes, so that in SQLite an answer never waits long for the
	// write of a chunk.
	chunkSize = 1 << 20
)

// ErrDamaged: the stored bytes are not those that were attached.
var ErrDamaged = errors.New("the stored attachment is damaged")

// Store holds attachments; see [session.Store].
type Store interface {
	SaveAttachmentChunk(ctx context.Context, attachmentID string, c session.AttachmentChunk) error
	AttachmentChunks(ctx context.Context, attachmentID string) ([]session.AttachmentChunk, error)
	SaveAttachment(ctx context.Context, a session.StoredAttachment) error
	Attachment(ctx context.Context, attachmentID string) (session.StoredAttachment, error)
	ForgetAttachments(ctx context.Context, before time.Time) (int, error)
	ForgetAttachmentChunks(ctx context.Context, before time.Time) (int, error)
}

// Shelf stores attachments. Its methods may be called from any goroutine.
type Shelf struct {
	folder *folder // where earlier versions stored the bytes; nil if there is none
	store  Store
	log    *slog.Logger
}

// Open returns a shelf over a store. If there is a folder at path, it contains the attachments of
// an earlier version.
func Open(path string, store Store, log *slog.Logger) (*Shelf, error) {
	f, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	return &Shelf{folder: f, store: store, log: log}, nil
}

// Close closes the folder.
func (s *Shelf) Close() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.root.Close()
}

// Store stores a file. A repeated id changes nothing; an empty one creates a new id. It returns
// a [problem.Error] for a file that Claude does not accept.
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
	a := session.StoredAttachment{OwnerID: ownerID, CreatedAt: time.Now(), AttachmentInfo: session.AttachmentInfo{
		AttachmentID: id, Name: name, MediaType: media, Size: len(data),
	}}
	if id == "" {
		a.AttachmentID = uuid.NewString()
	} else if _, err := uuid.Parse(id); err != nil {
		return session.StoredAttachment{}, fmt.Errorf("attachment: store: %w", err)
	} else if _, err := s.store.Attachment(ctx, id); !errors.Is(err, session.ErrNoAttachment) {
		if err != nil {
			return session.StoredAttachment{}, fmt.Errorf("attachment: store: %w", err)
		}
		return a, nil
	}
	if err := s.saveChunks(ctx, a.AttachmentID, data); err != nil {
		return session.StoredAttachment{}, fmt.Errorf("attachment: store: %w", err)
	}
	if err := s.store.SaveAttachment(ctx, a); err != nil {
		return session.StoredAttachment{}, fmt.Errorf("attachment: store: %w", err)
	}
	return a, nil
}

func (s *Shelf) saveChunks(ctx context.Context, id string, data []byte) error {
	number := int64(0)
	for part := range slices.Chunk(data, chunkSize) {
		hash := sha256.Sum256(part)
		if err := s.store.SaveAttachmentChunk(ctx, id, session.AttachmentChunk{Number: number, Hash: hash[:], Data: part, CreatedAt: time.Now()}); err != nil {
			return err
		}
		number++
	}
	return nil
}

// megabytes returns n bytes in MB with one decimal.
func megabytes(n int) float64 { return math.Round(float64(n)/(1<<20)*10) / 10 }

// Read returns the bytes of an attachment, [session.ErrNoAttachment], or [ErrDamaged].
func (s *Shelf) Read(ctx context.Context, id string) ([]byte, error) {
	data, err := s.read(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("attachment: read: %w", err)
	}
	return data, nil
}

func (s *Shelf) read(ctx context.Context, id string) ([]byte, error) {
	a, err := s.store.Attachment(ctx, id)
	if err != nil {
		return nil, err
	}
	if data, err := s.folder.read(id); !errors.Is(err, session.ErrNoAttachment) {
		return data, err
	}
	chunks, err := s.store.AttachmentChunks(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(chunks) == 0 {
		return nil, session.ErrNoAttachment
	}
	data := make([]byte, 0, a.Size)
	for i, c := range chunks {
		if hash := sha256.Sum256(c.Data); c.Number != int64(i) || !bytes.Equal(hash[:], c.Hash) {
			return nil, ErrDamaged
		}
		data = append(data, c.Data...)
	}
	if len(data) != a.Size {
		return nil, ErrDamaged
	}
	return data, nil
}

// Run moves the files of an earlier version into the store. It returns when that is done or ctx
// ends; the next start continues.
func (s *Shelf) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := s.TakeOver(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		s.log.WarnContext(ctx, "cannot move attachments into the database; trying again", "error", err)
		select {
		case <-time.After(takeOverRetry):
		case <-ctx.Done():
		}
	}
	return nil
}

// TakeOver moves the files of an earlier version into the store, one after the other. It deletes
// a file once all of it is stored durably, or if no row has its id. A damaged file stays.
func (s *Shelf) TakeOver(ctx context.Context) error {
	names, err := s.folder.names()
	if err != nil {
		return fmt.Errorf("attachment: take over: %w", err)
	}
	for _, name := range names {
		if err := s.takeOver(ctx, name); err != nil {
			return fmt.Errorf("attachment: take over: %w", err)
		}
	}
	if len(names) > 0 {
		s.log.InfoContext(ctx, "attachments were moved into the database", "files", len(names))
	}
	return nil
}

func (s *Shelf) takeOver(ctx context.Context, name string) error {
	a, err := s.store.Attachment(ctx, name)
	switch {
	case errors.Is(err, session.ErrNoAttachment): // also a file that was only partly written
		return s.folder.remove(name)
	case err != nil:
		return err
	}
	data, err := s.folder.read(name)
	if err != nil {
		return err
	}
	if len(data) != a.Size {
		s.log.ErrorContext(ctx, "the file of an attachment is damaged, so it stays where it is", "attachment_id", name, "size", len(data), "want", a.Size)
		return nil
	}
	if err := s.saveChunks(ctx, name, data); err != nil {
		return err
	}
	return s.folder.remove(name)
}

// RunSweeps deletes unused attachments at once and then every hour, until ctx ends. Only one of
// several servers needs to run it.
func (s *Shelf) RunSweeps(ctx context.Context) error {
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

// Sweep deletes the attachments that no session uses any more, those that no session has used
// within unusedTTL, and chunks without a row. now is the current time.
func (s *Shelf) Sweep(ctx context.Context, now time.Time) error {
	_, err := s.store.ForgetAttachments(ctx, now.Add(-unusedTTL))
	for forgotten := 1; err == nil && forgotten > 0; {
		forgotten, err = s.store.ForgetAttachmentChunks(ctx, now.Add(-orphanChunkTTL))
	}
	if err != nil {
		return fmt.Errorf("attachment: sweep: %w", err)
	}
	return nil
}
