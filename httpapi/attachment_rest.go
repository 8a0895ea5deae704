package httpapi

import (
	"mime"
	"net/http"
	"strconv"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/wire"
)

// attachmentHandlers serves uploaded files.
type attachmentHandlers struct {
	commands    *command.Executor
	attachments *attachment.Shelf
}

const uploadLimit = 33 << 20 // attachment.MaxSize in base64

// attachmentPolicy keeps what people attach from doing anything, should a browser
// open it: no script, no request, no form, no frame around it.
const attachmentPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"

// postAttachment keeps a file, so that a message may name it.
func (s *attachmentHandlers) postAttachment(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var up wire.Upload
	if err := readBody(r, &up); err != nil {
		return err
	}
	a, err := s.commands.KeepAttachment(r.Context(), "", who, up.Name, up.Data)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, a.AttachmentInfo)
	return nil
}

// getAttachment serves a file to whoever attached it and to whoever may see a
// session that uses it. Only raster images are shown by the browser itself.
func (s *attachmentHandlers) getAttachment(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	a, err := s.commands.Attachment(r.Context(), r.PathValue("id"), "", who)
	if err != nil {
		return err
	}
	data, err := s.attachments.Read(a.AttachmentID)
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
