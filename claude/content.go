package claude

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// ContentBlock is one block of a message as the CLI sends it.
type ContentBlock struct {
	Type      string          // text, thinking, redacted_thinking, tool_use, tool_result, image, …
	Text      string          // of text and thinking
	ID        string          // of tool_use
	Name      string          // of tool_use
	Input     json.RawMessage // of tool_use, borrowed
	ToolUseID string          // of tool_result
	Content   json.RawMessage // of tool_result: a string or an array of blocks, borrowed
	IsError   bool            // of tool_result
	Raw       json.RawMessage // borrowed
}

// ResultText returns up to limit bytes of the text of a tool_result, without splitting a
// character, and the size of the whole text in bytes. It skips blocks other than text.
func (b *ContentBlock) ResultText(limit int) (text string, size int) {
	if len(b.Content) > 0 && b.Content[0] == '"' {
		return unquotePrefix(b.Content[1:len(b.Content)-1], limit)
	}
	elements, err := appendElements(nil, b.Content)
	if err != nil {
		return "", 0
	}
	var out strings.Builder
	for _, v := range elements {
		if !isObject(v) {
			continue
		}
		block, err := appendFields(nil, v)
		if err != nil || internedText(lookup(block, "type")) != "text" {
			continue
		}
		s := lookup(block, "text")
		if len(s) == 0 || s[0] != '"' {
			continue
		}
		if size > 0 {
			size++
			if out.Len() < limit {
				out.WriteByte('\n')
			}
		}
		part, n := unquotePrefix(s[1:len(s)-1], limit-out.Len())
		out.WriteString(part)
		size += n
	}
	return out.String(), size
}

// ContentBlockParam is one block of a message to the CLI. Create it with [TextBlock],
// [ImageBlock], [PDFBlock] or [TextDocumentBlock].
type ContentBlockParam struct {
	Type   string       `json:"type"`
	Text   string       `json:"text,omitempty"`
	Title  string       `json:"title,omitempty"`
	Source *SourceParam `json:"source,omitempty"`
}

// SourceParam holds the bytes of an image or a document.
type SourceParam struct {
	Type      string `json:"type"` // base64 or text
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// TextBlock returns a block of plain text.
func TextBlock(text string) ContentBlockParam {
	return ContentBlockParam{Type: "text", Text: text}
}

// ImageBlock returns an image; mediaType is image/png, image/jpeg, image/gif or image/webp.
func ImageBlock(mediaType string, data []byte) ContentBlockParam {
	return ContentBlockParam{Type: "image", Source: &SourceParam{
		Type: "base64", MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(data),
	}}
}

// PDFBlock returns a PDF document.
func PDFBlock(title string, data []byte) ContentBlockParam {
	return ContentBlockParam{Type: "document", Title: title, Source: &SourceParam{
		Type: "base64", MediaType: "application/pdf", Data: base64.StdEncoding.EncodeToString(data),
	}}
}

// TextDocumentBlock returns a document of plain text.
func TextDocumentBlock(title, text string) ContentBlockParam {
	return ContentBlockParam{Type: "document", Title: title, Source: &SourceParam{
		Type: "text", MediaType: "text/plain", Data: text,
	}}
}

// AttachmentBlock returns the block for a file of the given media type: an image, a PDF, or
// else a document of plain text.
func AttachmentBlock(name, mediaType string, data []byte) ContentBlockParam {
	switch {
	case strings.HasPrefix(mediaType, "image/"):
		return ImageBlock(mediaType, data)
	case mediaType == "application/pdf":
		return PDFBlock(name, data)
	}
	return TextDocumentBlock(name, strings.ToValidUTF8(string(data), "\uFFFD"))
}
