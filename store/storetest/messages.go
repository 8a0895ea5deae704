package storetest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func message(sessionID, text string, second int) session.Message {
	return session.Message{MessageID: uuid.NewString(), SessionID: sessionID, Text: text, CreatedAt: after(second)}
}

func messages(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	queue := func(t *testing.T, st store.Store, m session.Message) {
		t.Helper()
		queued, err := st.QueueMessage(ctx, m)
		must(t, err)
		equal(t, "queued", queued, true)
	}
	waiting := func(t *testing.T, st store.Store, id string) []string {
		t.Helper()
		list, err := st.QueuedMessages(ctx, id)
		must(t, err)
		p, err := st.ProcessState(ctx, id)
		must(t, err)
		equal(t, "count in the state", p.QueuedMessages, len(list))
		return ids(list, func(m session.Message) string { return m.Text })
	}

	s.run("KeepEveryField", func(t *testing.T, st store.Store) {
		m := message(newSession(t, st), "hello", 0)
		m.Attachments = []session.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte{0, 255, 10}}, {Name: "", Data: []byte{}}}
		m.By = pending.Actor{UserID: "u1", Name: "Ada", Device: "phone"}
		queue(t, st, m)
		list, err := st.QueuedMessages(ctx, m.SessionID)
		must(t, err)
		equal(t, "messages", list, []session.Message{m})
	})

	s.run("Queue", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		late, early := message(id, "late", 2), message(id, "early", 1)
		twinA, twinB := message(id, "twin a", 3), message(id, "twin b", 3)
		for _, m := range []session.Message{late, early, twinA, twinB} {
			expectVersionBump(t, st, id, func() { queue(t, st, m) })
		}
		queue(t, st, message(other, "elsewhere", 0))
		// Servers' clocks may differ, so messages stay in the order in which they were queued.
		equal(t, "as queued", waiting(t, st, id), []string{"late", "early", "twin a", "twin b"})

		expectNoVersionBump(t, st, id, func() {
			again := early
			again.Text = "another text"
			queued, err := st.QueueMessage(ctx, again)
			must(t, err)
			equal(t, "queued again", queued, false)
		})
		expectVersionBump(t, st, id, func() {
			sent, err := st.MarkSent(ctx, early.MessageID, after(9))
			must(t, err)
			equal(t, "sent", sent, true)
		})
		expectVersionBump(t, st, id, func() {
			removed, err := st.RemoveQueued(ctx, late.MessageID)
			must(t, err)
			equal(t, "removed", removed, true)
		})
		equal(t, "left", waiting(t, st, id), []string{"twin a", "twin b"})

		expectNoVersionBump(t, st, id, func() {
			for what, take := range map[string]func() (bool, error){
				"sent twice":    func() (bool, error) { return st.MarkSent(ctx, early.MessageID, after(10)) },
				"removed sent":  func() (bool, error) { return st.RemoveQueued(ctx, early.MessageID) },
				"sent removed":  func() (bool, error) { return st.MarkSent(ctx, late.MessageID, after(10)) },
				"removed twice": func() (bool, error) { return st.RemoveQueued(ctx, late.MessageID) },
				"sent unknown":  func() (bool, error) { return st.MarkSent(ctx, uuid.NewString(), after(10)) },
			} {
				taken, err := take()
				must(t, err)
				equal(t, what, taken, false)
			}
			queued, err := st.QueueMessage(ctx, early)
			must(t, err)
			equal(t, "a sent message queued again", queued, false)
		})
	})

	s.run("Requeue", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		requeue := func(want int) {
			t.Helper()
			n, err := st.Requeue(ctx, id)
			must(t, err)
			equal(t, "put back", n, want)
		}
		send := func(m session.Message, second int) {
			t.Helper()
			sent, err := st.MarkSent(ctx, m.MessageID, after(second))
			must(t, err)
			equal(t, "sent "+m.Text, sent, true)
		}
		texts := func(want ...string) {
			t.Helper()
			equal(t, "queue", waiting(t, st, id), append([]string{}, want...))
		}
		a, b, c, d, e := message(id, "a", 1), message(id, "b", 2), message(id, "c", 2), message(id, "d", 9), message(id, "e", 0)
		elsewhere := message(other, "elsewhere", 0)
		for _, m := range []session.Message{a, b, c, d, elsewhere} {
			queue(t, st, m)
		}
		expectNoVersionBump(t, st, id, func() { requeue(0) })
		must(t, func() error { _, err := st.MarkSent(ctx, elsewhere.MessageID, after(1)); return err }())

		// c and a are sent at the same time, in the order of the queue; b is sent last.
		send(a, 20)
		send(c, 20)
		send(b, 21)
		queue(t, st, e)
		texts("d", "e")
		expectVersionBump(t, st, id, func() { requeue(3) })
		texts("a", "c", "b", "d", "e")
		list, err := st.QueuedMessages(ctx, id)
		must(t, err)
		equal(t, "as it was queued", list[0], a)
		expectNoVersionBump(t, st, id, func() { requeue(0) })

		// A requeued message is sent and requeued again, before the others.
		send(a, 30)
		send(c, 31)
		texts("b", "d", "e")
		requeue(2)
		texts("a", "c", "b", "d", "e")
		send(d, 40)
		send(a, 41)
		f := message(id, "f", -5)
		queue(t, st, f)
		requeue(2)
		texts("d", "a", "c", "b", "e", "f")
		removed, err := st.RemoveQueued(ctx, c.MessageID)
		must(t, err)
		equal(t, "removed", removed, true)
		for _, m := range []session.Message{d, a, b, e, f} {
			send(m, 50)
		}
		texts()
		requeue(5)
		texts("d", "a", "b", "e", "f")

		equal(t, "queue of another", waiting(t, st, other), []string{})
		n, err := st.Requeue(ctx, uuid.NewString())
		must(t, err)
		equal(t, "of an unknown session", n, 0)
	})

	s.run("Unsend", func(t *testing.T, st store.Store) {
		id, other := newSession(t, st), newSession(t, st)
		a, b, c := message(id, "a", 1), message(id, "b", 2), message(id, "c", 3)
		for _, m := range []session.Message{a, b, c, message(other, "elsewhere", 0)} {
			queue(t, st, m)
		}
		unsend := func(messageID string, want bool) {
			t.Helper()
			back, err := st.Unsend(ctx, messageID)
			must(t, err)
			equal(t, "put back", back, want)
		}
		expectNoVersionBump(t, st, id, func() {
			unsend(a.MessageID, false)
			unsend(uuid.NewString(), false)
		})
		for _, m := range []session.Message{a, b} {
			if sent, err := st.MarkSent(ctx, m.MessageID, after(9)); err != nil || !sent {
				t.Fatal(sent, err)
			}
		}
		expectVersionBump(t, st, id, func() { unsend(b.MessageID, true) })
		equal(t, "queue", waiting(t, st, id), []string{"b", "c"})
		list, err := st.QueuedMessages(ctx, id)
		must(t, err)
		equal(t, "as it was queued", list[0], b)
		unsend(a.MessageID, true)
		equal(t, "queue", waiting(t, st, id), []string{"a", "b", "c"})
		expectNoVersionBump(t, st, id, func() { unsend(a.MessageID, false) })
		equal(t, "queue of another", waiting(t, st, other), []string{"elsewhere"})
		must(t, func() error { _, err := st.MarkSent(ctx, a.MessageID, after(10)); return err }())
		must(t, func() error { _, err := st.MarkSent(ctx, b.MessageID, after(10)); return err }())
		must(t, func() error { _, err := st.MarkSent(ctx, c.MessageID, after(10)); return err }())
		unsend(c.MessageID, true)
		equal(t, "alone", waiting(t, st, id), []string{"c"})
	})

	s.run("NeedTheirSession", func(t *testing.T, st store.Store) {
		queued, err := st.QueueMessage(ctx, message(uuid.NewString(), "x", 0))
		wantError(t, "queue", err, session.ErrNotFound)
		equal(t, "queued", queued, false)
		list, err := st.QueuedMessages(ctx, uuid.NewString())
		must(t, err)
		equal(t, "messages", len(list), 0)
	})
}
