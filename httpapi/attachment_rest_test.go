package httpapi_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func (h *harness) upload(role account.Role, name string, data []byte) session.AttachmentInfo {
	h.T.Helper()
	a := h.CallAs(role, "POST", "/api/attachments", wire.Upload{Name: name, Data: data})
	if a.Status != 201 {
		h.T.Fatalf("upload: got %d %s", a.Status, a.Body)
	}
	var info session.AttachmentInfo
	a.Decode(h.T, &info)
	return info
}

var (
	picture  = []byte("\x89PNG\r\n\x1a\n and more")
	document = []byte("%PDF-1.7 and more")
)

// TestAttachmentsAreServedInert: attack 65. The type is that of the content, only
// raster images are shown, and nothing in them can run or ask.
func TestAttachmentsAreServedInert(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for name, want := range map[string]struct {
		data       []byte
		media, how string
	}{
		"shot.png":                {picture, "image/png", "inline"},
		"page.html":               {picture, "image/png", "inline"},
		"paper.png":               {document, "application/pdf", "attachment"},
		"drawing.svg":             {[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), "text/plain; charset=utf-8", "attachment"},
		"page.htm":                {[]byte(`<script>alert(1)</script>`), "text/plain; charset=utf-8", "attachment"},
		"../../x\r\nSet-Cookie:a": {[]byte("text"), "text/plain; charset=utf-8", "attachment"},
		"ünï \u202egpj.exe":       {[]byte("text"), "text/plain; charset=utf-8", "attachment"},
	} {
		info := h.upload(account.Member, name, want.data)
		a := h.CallAs(account.Member, "GET", "/api/attachments/"+info.AttachmentID, nil)
		if a.Status != 200 || !bytes.Equal(a.Body, want.data) {
			t.Errorf("%q: got %d", name, a.Status)
		}
		if got := a.Header.Get("Content-Type"); got != want.media {
			t.Errorf("%q: type %q, want %q", name, got, want.media)
		}
		how := a.Header.Get("Content-Disposition")
		if !strings.HasPrefix(how, want.how) || strings.ContainsAny(how, "\r\n/\\") || a.Header.Get("Set-Cookie") != "" || strings.Contains(how, "%E2%80%AE") {
			t.Errorf("%q: disposition %q", name, how)
		}
		if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'; sandbox;") {
			t.Errorf("%q: policy %q", name, csp)
		}
		for header, value := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"} {
			if a.Header.Get(header) != value {
				t.Errorf("%q: %s is %q", name, header, a.Header.Get(header))
			}
		}
	}
}

func TestAttachmentsThatAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/attachments", wire.Upload{Name: "a.png", Data: []byte{0, 1, 2}}), 422, "invalid_attachment")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/attachments", wire.Upload{Name: "a.png"}), 400, "invalid")
	for _, where := range []string{uuid.NewString(), "..%2Fsayso.db", "x"} {
		apitest.CheckRefusal(t, h.CallAs(account.Admin, "GET", "/api/attachments/"+where, nil), 404, "no_attachment")
	}
	say := func(role account.Role, list ...wire.Attachment) apitest.Response {
		return h.CallAs(role, "POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "Look", "attachments": list})
	}
	apitest.CheckRefusal(t, say(account.Member, wire.Attachment{AttachmentID: uuid.NewString()}), 404, "no_attachment")
	apitest.CheckRefusal(t, say(account.Member, wire.Attachment{AttachmentID: "x"}), 400, "invalid")
	apitest.CheckRefusal(t, say(account.Member, wire.Attachment{AttachmentID: uuid.NewString(), Data: picture}), 400, "invalid")
	apitest.CheckRefusal(t, say(account.Member, wire.Attachment{Name: "a.png", Data: []byte{0}}), 422, "invalid_attachment")

	// Somebody else's file is there for nobody until it is said somewhere.
	mine := h.upload(account.Member, "mine.png", picture)
	apitest.CheckRefusal(t, h.CallAs(account.Admin, "GET", "/api/attachments/"+mine.AttachmentID, nil), 404, "no_attachment")
	apitest.CheckRefusal(t, say(account.Admin, wire.Attachment{AttachmentID: mine.AttachmentID}), 404, "no_attachment")
	if a := say(account.Member, wire.Attachment{AttachmentID: mine.AttachmentID}); a.Status != 202 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	if a := h.CallAs(account.Viewer, "GET", "/api/attachments/"+mine.AttachmentID, nil); a.Status != 200 {
		t.Errorf("who sees the session: got %d %s", a.Status, a.Body)
	}

	large := h.upload(account.Member, "large.txt", bytes.Repeat([]byte("text "), 4<<20))
	apitest.CheckRefusal(t, say(account.Member, wire.Attachment{AttachmentID: large.AttachmentID}, wire.Attachment{AttachmentID: large.AttachmentID}), 422, "invalid_attachment")
}

// TestInlineAttachmentIsKeptOnce: the same command again keeps no second file, and
// the queue tells where the bytes are.
func TestInlineAttachmentIsKeptOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	body := map[string]any{"command_id": uuid.NewString(), "text": "Look", "attachments": []wire.Attachment{{Name: "a.pdf", MediaType: "image/png", Data: document}}}
	for range 2 {
		if a := h.CallAs(account.Member, "POST", "/api/sessions/"+id+"/messages", body); a.Status != 202 {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	var list wire.MessageList
	h.CallAs(account.Viewer, "GET", "/api/sessions/"+id+"/messages", nil).Decode(t, &list)
	if len(list.Messages) != 1 || len(list.Messages[0].Attachments) != 1 {
		t.Fatalf("got %+v", list)
	}
	info := list.Messages[0].Attachments[0]
	if info.MediaType != "application/pdf" || info.Size != len(document) || info.Name != "a.pdf" {
		t.Errorf("got %+v", info)
	}
	if a := h.CallAs(account.Viewer, "GET", "/api/attachments/"+info.AttachmentID, nil); a.Status != 200 || !bytes.Equal(a.Body, document) {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}
