package storetest

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func attachments(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	save := func(t *testing.T, st store.Store, name string, second int) session.StoredAttachment {
		t.Helper()
		a := session.StoredAttachment{OwnerID: "u1", CreatedAt: after(second), AttachmentInfo: session.AttachmentInfo{
			AttachmentID: uuid.NewString(), Name: name, MediaType: "image/png", Size: 42,
		}}
		must(t, st.SaveAttachment(ctx, a))
		return a
	}
	say := func(t *testing.T, st store.Store, sessionID string, list ...session.StoredAttachment) error {
		t.Helper()
		m := message(sessionID, "look", 0)
		for _, a := range list {
			m.Attachments = append(m.Attachments, session.Attachment{AttachmentID: a.AttachmentID, Name: a.Name, MediaType: a.MediaType, Size: a.Size})
		}
		_, err := st.QueueMessage(ctx, m)
		return err
	}
	there := func(t *testing.T, st store.Store, want session.StoredAttachment) {
		t.Helper()
		got, err := st.Attachment(ctx, want.AttachmentID)
		must(t, err)
		equal(t, "attachment", got, want)
	}
	gone := func(t *testing.T, st store.Store, a session.StoredAttachment) {
		t.Helper()
		_, err := st.Attachment(ctx, a.AttachmentID)
		wantError(t, "attachment", err, session.ErrNoAttachment)
	}

	s.run("KeepEveryField", func(t *testing.T, st store.Store) {
		a := save(t, st, "Bild ü.png", 3)
		there(t, st, a)
		again := a
		again.Name = "another"
		must(t, st.SaveAttachment(ctx, again))
		there(t, st, a)
		gone(t, st, session.StoredAttachment{AttachmentInfo: session.AttachmentInfo{AttachmentID: uuid.NewString()}})
	})

	s.run("Chunks", func(t *testing.T, st store.Store) {
		a := save(t, st, "a", 0)
		first := session.AttachmentChunk{Number: 0, Hash: []byte{0, 255}, Data: []byte{0, 1, 255, '\n'}, CreatedAt: after(1)}
		second := session.AttachmentChunk{Number: 1, Hash: []byte("h"), Data: bytes.Repeat([]byte{0}, 1<<20), CreatedAt: after(1)}
		none := session.AttachmentChunk{Number: 0, Hash: []byte("h"), Data: []byte("d"), CreatedAt: after(1)}
		stray := uuid.NewString()
		must(t, st.SaveAttachmentChunk(ctx, a.AttachmentID, second))
		must(t, st.SaveAttachmentChunk(ctx, a.AttachmentID, none))
		must(t, st.SaveAttachmentChunk(ctx, a.AttachmentID, first))
		must(t, st.SaveAttachmentChunk(ctx, stray, none))
		chunks := func(id string, want ...session.AttachmentChunk) {
			t.Helper()
			got, err := st.AttachmentChunks(ctx, id)
			must(t, err)
			equal(t, "chunks", got, want)
		}
		forget := func(before, want int) {
			t.Helper()
			n, err := st.ForgetAttachmentChunks(ctx, after(before))
			must(t, err)
			equal(t, "forgotten", n, want)
		}
		chunks(a.AttachmentID, first, second)
		forget(1, 0)
		forget(2, 1)
		chunks(stray)
		chunks(a.AttachmentID, first, second)
		_, err := st.ForgetAttachments(ctx, after(5))
		must(t, err)
		forget(2, 2)
		chunks(a.AttachmentID)
	})

	s.run("UsedByItsSessions", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		a, b := save(t, st, "a", 0), save(t, st, "b", 0)
		must(t, say(t, st, id, a, b))
		must(t, say(t, st, id, a))
		list, err := st.QueuedMessages(ctx, id)
		must(t, err)
		equal(t, "attachments of the message", list[0].Attachments[0], session.Attachment{AttachmentID: a.AttachmentID, Name: "a", MediaType: "image/png", Size: 42})
		a.Sessions, b.Sessions = []string{id}, []string{id}
		there(t, st, a)
		must(t, st.ShareAttachments(ctx, id, other))
		must(t, st.ShareAttachments(ctx, id, other))
		both, err := st.Attachment(ctx, b.AttachmentID)
		must(t, err)
		equal(t, "sessions", len(both.Sessions), 2)
		wantError(t, "share with nobody", st.ShareAttachments(ctx, id, uuid.NewString()), session.ErrNotFound)

		must(t, st.DeleteSession(ctx, id))
		b.Sessions = []string{other}
		there(t, st, b)
	})

	s.run("Unknown", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		none := session.StoredAttachment{AttachmentInfo: session.AttachmentInfo{AttachmentID: uuid.NewString()}}
		wantError(t, "say what is not there", say(t, st, id, none), session.ErrNoAttachment)
		list, err := st.QueuedMessages(ctx, id)
		must(t, err)
		equal(t, "queued", len(list), 0)
		wantError(t, "say it nowhere", say(t, st, uuid.NewString(), save(t, st, "a", 0)), session.ErrNotFound)
	})

	s.run("Forget", func(t *testing.T, st store.Store) {
		id := newSession(t, st)
		old, young, used, kept := save(t, st, "old", 0), save(t, st, "young", 10), save(t, st, "used", 10), save(t, st, "kept", 0)
		forget := func(want int) {
			t.Helper()
			n, err := st.ForgetAttachments(ctx, after(5))
			must(t, err)
			equal(t, "forgotten", n, want)
		}
		must(t, say(t, st, id, used))
		other := newSession(t, st)
		must(t, say(t, st, other, kept))
		forget(1)
		gone(t, st, old)
		there(t, st, young)
		must(t, st.DeleteSession(ctx, id))
		forget(1)
		gone(t, st, used)
		kept.Sessions = []string{other}
		there(t, st, kept)
		there(t, st, young)
		forget(0)
	})
}
