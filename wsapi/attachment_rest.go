package wsapi

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

const uploadLimit = 33 << 20 // attachment.MaxSize in base64

// attachmentPolicy keeps what people attach from doing anything, should a browser
// open it: no script, no request, no form, no frame around it.
const attachmentPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"

// postAttachment keeps a file, so that a message may name it.
func (s *Server) postAttachment(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var up wire.Upload
	if err := readBody(r, &up); err != nil {
		return err
	}
	a, err := s.keep(r.Context(), "", who, up.Name, up.Data)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, a.AttachmentInfo)
	return nil
}

func (s *Server) keep(ctx context.Context, id string, who account.Identity, name string, data []byte) (session.KeptAttachment, error) {
	if s.o.Attachments == nil {
		return session.KeptAttachment{}, refuse(http.StatusNotFound, "not_found", "This server takes no attachments.")
	}
	// Half a file is none, and the sweep would find what a lost connection leaves.
	return s.o.Attachments.Keep(context.WithoutCancel(ctx), id, who.User.UserID, name, data)
}

// getAttachment serves a file to whoever attached it and to whoever may see a
// session that uses it. Only raster images are shown by the browser itself.
func (s *Server) getAttachment(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	a, err := s.attachmentFor(r.Context(), r.PathValue("id"), "", who)
	if err != nil {
		return err
	}
	data, err := s.o.Attachments.Read(a.AttachmentID)
	if err != nil {
		return err
	}
	how, media := "attachment", a.MediaType
	if attachment.Shown(a.MediaType) {
		how = "inline"
	}
	if media == "text/plain" {
		media += "; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", disposition(how, a.Name))
	h.Set("Content-Security-Policy", attachmentPolicy)
	h.Set("Cache-Control", "private, max-age=3600, immutable") // the bytes of an id never change
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(data) // a client that has gone needs no answer
	return nil
}

// disposition names a file in a header, whatever its name is written in.
func disposition(how, name string) string {
	if d := mime.FormatMediaType(how, map[string]string{"filename": name}); d != "" {
		return d
	}
	return how
}

// attachmentFor is an attachment that a person may use: their own, one that the
// session they write in uses already, or one of a session that they may see.
func (s *Server) attachmentFor(ctx context.Context, id, sessionID string, who account.Identity) (session.KeptAttachment, error) {
	if s.o.Attachments == nil {
		return session.KeptAttachment{}, session.ErrNoAttachment
	}
	a, err := s.o.Store.Attachment(ctx, id)
	if err != nil || a.OwnerID == who.User.UserID {
		return a, err
	}
	for _, used := range a.Sessions {
		if used == sessionID {
			return a, nil
		}
		if _, err := s.may(ctx, who, project.See, used); err == nil {
			return a, nil
		}
	}
	return session.KeptAttachment{}, session.ErrNoAttachment
}

// attached are the attachments of a message. Those that came inside the command
// are kept under ids that follow from it, so that its repetition keeps nothing new.
func (s *Server) attached(ctx context.Context, list []wire.Attachment, sessionID, commandID string, who account.Identity) ([]session.Attachment, error) {
	var out []session.Attachment
	total := 0
	for i, given := range list {
		var a session.KeptAttachment
		var err error
		if given.AttachmentID != "" {
			a, err = s.attachmentFor(ctx, given.AttachmentID, sessionID, who)
		} else {
			a, err = s.keep(ctx, derivedID("attachment "+strconv.Itoa(i), who.User.UserID, commandID), who, given.Name, given.Data)
		}
		if err != nil {
			return nil, err
		}
		if total += a.Size; total > attachment.MaxTotal {
			return nil, &attachment.InvalidError{Sentence: fmt.Sprintf("The attachments of one message may have %d MB together. Send some of them in another message.", attachment.MaxTotal>>20)}
		}
		out = append(out, session.Attachment{AttachmentID: a.AttachmentID, Name: a.Name, MediaType: a.MediaType, Size: a.Size})
	}
	return out, nil
}
