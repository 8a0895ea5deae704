package command

import (
	"context"
	"strconv"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// StoreAttachment stores a file under an id, or under a random one if id is "".
func (e *Executor) StoreAttachment(ctx context.Context, id string, who account.Identity, name string, data []byte) (session.StoredAttachment, error) {
	if e.o.Attachments == nil {
		return session.StoredAttachment{}, problem.New("attachments_off")
	}
	// A closed connection must not leave half a file.
	return e.o.Attachments.Store(context.WithoutCancel(ctx), id, who.User.UserID, name, data)
}

// Attachment returns an attachment that a person may use: their own, one that the session
// already uses, or one of a session that they may see.
func (e *Executor) Attachment(ctx context.Context, id, sessionID string, who account.Identity) (session.StoredAttachment, error) {
	if e.o.Attachments == nil {
		return session.StoredAttachment{}, session.ErrNoAttachment
	}
	a, err := e.o.Store.Attachment(ctx, id)
	if err != nil || a.OwnerID == who.User.UserID {
		return a, err
	}
	for _, used := range a.Sessions {
		if used == sessionID {
			return a, nil
		}
		if _, _, err := e.o.Guard.Session(ctx, who, project.See, used); err == nil {
			return a, nil
		}
	}
	return session.StoredAttachment{}, session.ErrNoAttachment
}

// attachments returns the attachments of a message. Those inside the command get ids derived
// from it, so that repeating the command stores nothing new.
func (e *Executor) attachments(ctx context.Context, list []wire.Attachment, sessionID, commandID string, who account.Identity) ([]session.Attachment, error) {
	var out []session.Attachment
	total := 0
	for i, given := range list {
		var a session.StoredAttachment
		var err error
		if given.AttachmentID != "" {
			a, err = e.Attachment(ctx, given.AttachmentID, sessionID, who)
		} else {
			a, err = e.StoreAttachment(ctx, derivedID("attachment "+strconv.Itoa(i), who.User.UserID, commandID), who, given.Name, given.Data)
		}
		if err != nil {
			return nil, err
		}
		if total += a.Size; total > attachment.MaxTotal {
			return nil, problem.For("attachments", "attachments_too_large", "max", attachment.MaxTotal>>20)
		}
		out = append(out, session.Attachment{AttachmentID: a.AttachmentID, Name: a.Name, MediaType: a.MediaType, Size: a.Size})
	}
	return out, nil
}
