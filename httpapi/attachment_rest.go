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

// attachmentPolicy disables scripts, requests, forms and frames in an attachment that a
// browser opens.
const attachmentPolicy = "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"

// postAttachment stores a file, so that messages can refer to it.
func (s *attachmentHandlers) postAttachment(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var up wire.Upload
	if err := readBody(r, &up); err != nil {
		return err
	}
	a, err := s.commands.StoreAttachment(r.Context(), "", who, up.Name, up.Data)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, a.AttachmentInfo)
	return nil
}

// getAttachment serves a file to the person who attached it and to people who may see a
// session that uses it. Browsers display only raster images inline.
func (s *attachmentHandlers) getAttachment(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	a, err := s.commands.Attachment(r.Context(), r.PathValue("id"), "", who)
	if err != nil {
		return err
	}
	data, err := s.attachments.Read(r.Context(), a.AttachmentID)
	if err != nil {
		return err
	}
	dispositionType, media := "attachment", a.MediaType
	if attachment.IsDisplayable(a.MediaType) {
		dispositionType = "inline"
	}
	if media == "text/plain" {
		media += "; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", disposition(dispositionType, a.Name))
	h.Set("Content-Security-Policy", attachmentPolicy)
	h.Set("Cache-Control", "private, max-age=3600, immutable") // the bytes of an id never change
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	writeParts(w, data)
	return nil
}

// disposition returns a Content-Disposition header and encodes the file name if
// necessary.
func disposition(dispositionType, name string) string {
	if d := mime.FormatMediaType(dispositionType, map[string]string{"filename": name}); d != "" {
		return d
	}
	return dispositionType
}
