package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/store"
)

func desk(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("Drafts", func(t *testing.T, st store.Store) {
		r := opened(t, st, bash(newSession(t, st), "ls"))
		draft := func(user, request, value string, second int) account.Draft {
			return account.Draft{UserID: user, SessionID: r.SessionID, RequestID: request, Value: json.RawMessage(value), ChangedAt: after(second)}
		}
		of := func(user string) []account.Draft {
			t.Helper()
			list, err := st.Drafts(ctx, user)
			must(t, err)
			return list
		}
		answer, message := draft("u1", r.RequestID, ` {"reason": "half"} `, 1), draft("u1", "", `"wri"`, 2)
		other := draft("u2", r.RequestID, `{}`, 3)
		for _, d := range []account.Draft{message, answer, other} {
			must(t, st.PutDraft(ctx, d))
		}
		equal(t, "drafts of the first", of("u1"), []account.Draft{answer, message})
		equal(t, "drafts of the second", of("u2"), []account.Draft{other})

		answer.Value, answer.ChangedAt = json.RawMessage(`{"reason":"whole"}`), after(4)
		must(t, st.PutDraft(ctx, answer))
		equal(t, "the last one wins", of("u1"), []account.Draft{message, answer})
		message.Value = nil
		must(t, st.PutDraft(ctx, message))
		equal(t, "taken away", of("u1"), []account.Draft{answer})
		must(t, st.PutDraft(ctx, message))

		lost := answer
		lost.SessionID = uuid.NewString()
		is(t, "unknown session", st.PutDraft(ctx, lost), account.ErrNotFound)

		resolved(t, st, r.RequestID, allowed("c1"))
		equal(t, "of an answered request", of("u1"), []account.Draft(nil))
		must(t, st.PutDraft(ctx, answer))
		equal(t, "put too late", of("u1"), []account.Draft(nil))
	})

	s.run("DraftsAreBounded", func(t *testing.T, st store.Store) {
		for i := range account.MaxDrafts + 5 {
			must(t, st.PutDraft(ctx, account.Draft{UserID: "u1", SessionID: newSession(t, st), Value: json.RawMessage(`1`), ChangedAt: after(i)}))
		}
		list, err := st.Drafts(ctx, "u1")
		must(t, err)
		equal(t, "number of drafts", len(list), account.MaxDrafts)
		equal(t, "the oldest that is left", list[0].ChangedAt, after(5))
		must(t, st.DeleteSession(ctx, list[0].SessionID))
		list, err = st.Drafts(ctx, "u1")
		must(t, err)
		equal(t, "without its session", len(list), account.MaxDrafts-1)
	})

	s.run("Templates", func(t *testing.T, st store.Store) {
		of := func(user string) []account.Template {
			t.Helper()
			list, err := st.Templates(ctx, user)
			must(t, err)
			return list
		}
		pnpm := account.Template{UserID: "u1", TemplateID: uuid.NewString(), Text: "Use pnpm, not npm", UsedAt: after(1)}
		tests := account.Template{UserID: "u1", TemplateID: uuid.NewString(), Text: "Tests first", UsedAt: after(2)}
		for _, tpl := range []account.Template{pnpm, tests} {
			must(t, st.LearnTemplate(ctx, tpl))
		}
		pnpm.UsedAt = after(3)
		must(t, st.LearnTemplate(ctx, pnpm))
		pnpm.Uses, tests.Uses = 2, 1
		equal(t, "templates", of("u1"), []account.Template{pnpm, tests})
		equal(t, "templates of another", of("u2"), []account.Template(nil))

		is(t, "changed by another", st.ChangeTemplate(ctx, "u2", pnpm.TemplateID, "x"), account.ErrNotFound)
		must(t, st.ChangeTemplate(ctx, "u1", pnpm.TemplateID, "Use pnpm"))
		must(t, st.ChangeTemplate(ctx, "u1", tests.TemplateID, ""))
		is(t, "removed twice", st.ChangeTemplate(ctx, "u1", tests.TemplateID, ""), account.ErrNotFound)
		pnpm.Text = "Use pnpm"
		equal(t, "changed", of("u1"), []account.Template{pnpm})

		for i := range account.MaxTemplates + 3 {
			must(t, st.LearnTemplate(ctx, account.Template{UserID: "u1", TemplateID: fmt.Sprint(i), Text: "x", UsedAt: after(10 + i)}))
		}
		equal(t, "number of templates", len(of("u1")), account.MaxTemplates)
	})
}
