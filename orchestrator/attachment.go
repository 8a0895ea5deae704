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
		out = append(out, claude.AttachmentBlock(a.Name, a.MediaType, a.Data))
	}
	return out
}
