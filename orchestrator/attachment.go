package orchestrator

import (
	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

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
