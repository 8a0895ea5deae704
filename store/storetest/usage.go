package storetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func usage(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("CountsWhatIsStored", func(t *testing.T, st store.Store) {
		before, err := st.Usage(ctx)
		must(t, err)
		equal(t, "sessions of an empty database", before.Sessions, map[string]session.Bytes{})
		one, two := newSession(t, st), newSession(t, st)
		body := json.RawMessage(`{"text":"ü"}`)
		must(t, st.PutItems(ctx, one, []session.Item{{Key: "a", Kind: session.ItemText, At: after(1), Body: body}, {Key: "b", Kind: session.ItemText, At: after(1), Body: body}}))
		a := session.StoredAttachment{OwnerID: "u1", CreatedAt: after(1), AttachmentInfo: session.AttachmentInfo{AttachmentID: uuid.NewString(), Name: "a", MediaType: "image/png", Size: 42}}
		must(t, st.SaveAttachment(ctx, a))
		for _, id := range []string{one, two} {
			m := message(id, "look", 0)
			m.Attachments = []session.Attachment{{AttachmentID: a.AttachmentID, Name: a.Name, MediaType: a.MediaType, Size: a.Size}}
			_, err := st.QueueMessage(ctx, m)
			must(t, err)
		}
		got, err := st.Usage(ctx)
		must(t, err)
		// Queueing a message adds no item.
		want := map[string]session.Bytes{one: {Transcript: 2 * int64(len(body)), Attachments: 42}, two: {Attachments: 42}}
		equal(t, "sizes of sessions", got.Sessions, want)
		equal(t, "attachments", [2]int64{got.Attachments, got.AttachmentBytes}, [2]int64{1, 42})
		if got.AuditBytes < before.AuditBytes {
			t.Errorf("the audit log has %d bytes, had %d", got.AuditBytes, before.AuditBytes)
		}
	})
}
