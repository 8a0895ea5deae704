package orchestrator

import (
	"fmt"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

// Attachments holds the files that messages name by their id.
type Attachments interface {
	Read(attachmentID string) ([]byte, error)
}

// blocks are the attachments of a message as Claude takes them. A file that is
// gone must not keep the message from ever being said: Claude is told instead.
func (p *process) blocks(m session.Message) []claude.ContentBlockParam {
	var out []claude.ContentBlockParam
	for _, a := range m.Attachments {
		if a.AttachmentID != "" && a.Data == nil {
			data, err := p.o.o.Attachments.Read(a.AttachmentID)
			if err != nil {
				p.log.Error("cannot read an attachment", "attachment_id", a.AttachmentID, "error", err)
				out = append(out, claude.TextBlock(fmt.Sprintf("(The attached file %q could not be read.)", a.Name)))
				continue
			}
			a.Data = data
		}
		out = append(out, attachmentBlock(a))
	}
	return out
}

// attachmentBlock is an attachment as Claude takes it. Which media types there
// are was checked when the attachment came in.
func attachmentBlock(a session.Attachment) claude.ContentBlockParam {
	switch a.MediaType {
	case "application/pdf":
		return claude.PDFBlock(a.Name, a.Data)
	case "text/plain":
		return claude.TextDocumentBlock(a.Name, string(a.Data))
	}
	return claude.ImageBlock(a.MediaType, a.Data)
}
