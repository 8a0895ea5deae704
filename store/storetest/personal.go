package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func personal(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("Drafts", func(t *testing.T, st store.Store) {
		r := openRequest(t, st, bashRequest(newSession(t, st), "ls"))
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
		wantError(t, "unknown session", st.PutDraft(ctx, lost), account.ErrNotFound)

		resolveRequest(t, st, r.RequestID, approval("c1"))
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
		pnpm := account.Template{UserID: "u1", TemplateID: uuid.NewString(), Place: account.ReasonPlace, Text: "Use pnpm, not npm", UsedAt: after(1)}
		tests := account.Template{UserID: "u1", TemplateID: uuid.NewString(), Place: account.AnswerPlace, Text: "Tests first", UsedAt: after(2)}
		for _, tpl := range []account.Template{pnpm, tests} {
			must(t, st.LearnTemplate(ctx, tpl))
		}
		pnpm.UsedAt = after(3)
		must(t, st.LearnTemplate(ctx, pnpm))
		pnpm.Uses, tests.Uses = 2, 1
		equal(t, "templates", of("u1"), []account.Template{pnpm, tests})
		equal(t, "templates of another", of("u2"), []account.Template(nil))

		wantError(t, "changed by another", st.ChangeTemplate(ctx, "u2", pnpm.TemplateID, "", "x"), account.ErrNotFound)
		must(t, st.ChangeTemplate(ctx, "u1", pnpm.TemplateID, "", "Use pnpm"))
		must(t, st.ChangeTemplate(ctx, "u1", tests.TemplateID, "", ""))
		wantError(t, "removed twice", st.ChangeTemplate(ctx, "u1", tests.TemplateID, "", ""), account.ErrNotFound)
		pnpm.Text = "Use pnpm"
		equal(t, "changed", of("u1"), []account.Template{pnpm})

		own := account.Template{UserID: "u1", TemplateID: uuid.NewString(), Name: "Tests", Place: account.MessagePlace, Text: "Run the tests", UsedAt: after(0)}
		must(t, st.KeepTemplate(ctx, own))
		equal(t, "with one of their own", of("u1"), []account.Template{pnpm, own})
		must(t, st.ChangeTemplate(ctx, "u1", own.TemplateID, "All tests", "Run all tests"))
		own.Name, own.Text = "All tests", "Run all tests"
		equal(t, "their own, changed", of("u1"), []account.Template{pnpm, own})
		for i := range account.MaxOwnTemplates - 1 {
			must(t, st.KeepTemplate(ctx, account.Template{UserID: "u3", TemplateID: fmt.Sprint("own", i), Name: "n", Place: account.MessagePlace, Text: "x", UsedAt: after(i)}))
		}
		must(t, st.KeepTemplate(ctx, account.Template{UserID: "u3", TemplateID: "last", Name: "n", Place: account.MessagePlace, Text: "x", UsedAt: after(0)}))
		wantError(t, "one more than there may be", st.KeepTemplate(ctx, account.Template{UserID: "u3", TemplateID: "more", Name: "n", Place: account.MessagePlace, Text: "x", UsedAt: after(0)}), account.ErrTooMany)

		for i := range account.MaxTemplates + 3 {
			must(t, st.LearnTemplate(ctx, account.Template{UserID: "u1", TemplateID: fmt.Sprint(i), Place: account.ReasonPlace, Text: "x", UsedAt: after(10 + i)}))
		}
		equal(t, "number of templates", len(of("u1")), account.MaxTemplates+1)
		last := of("u1")
		equal(t, "what was made by hand stays", last[len(last)-1], own)
	})

	s.run("Preferences", func(t *testing.T, st store.Store) {
		of := func(user string) account.Preferences {
			t.Helper()
			p, err := st.Preferences(ctx, user)
			must(t, err)
			return p
		}
		equal(t, "of who chose nothing", of("u1"), account.DefaultPreferences())
		off, german := false, "de"
		must(t, st.ChangePreferences(ctx, "u1", account.PreferencesChange{Language: &german}))
		equal(t, "one of three", of("u1"), account.Preferences{Keys: map[string]string{}, SingleKeys: true, Language: "de"})
		must(t, st.ChangePreferences(ctx, "u1", account.PreferencesChange{SingleKeys: &off, Keys: map[string]string{"approve": "j", "deny": "x"}}))
		must(t, st.ChangePreferences(ctx, "u1", account.PreferencesChange{Keys: map[string]string{"approve": "Ü"}}))
		equal(t, "all of them", of("u1"), account.Preferences{Keys: map[string]string{"approve": "Ü"}, Language: "de"})
		must(t, st.ChangePreferences(ctx, "u1", account.PreferencesChange{Keys: map[string]string{}}))
		equal(t, "as they come again", of("u1").Keys, map[string]string{})
		equal(t, "of another", of("u2"), account.DefaultPreferences())
	})

	s.run("CatchUp", func(t *testing.T, st store.Store) {
		quiet := newSession(t, st)
		p := newProject("one", "/src/one")
		_, err := st.CreateProject(ctx, p, ada)
		must(t, err)
		id := sessionIn(t, st, "/src/one")
		now := time.Now().UTC().Truncate(time.Microsecond)
		old, fresh := now.Add(-time.Hour), now.Add(time.Minute)
		item := func(key string, at time.Time, kind session.ItemKind) session.Item {
			return session.Item{Key: key, At: at, Kind: kind, Body: json.RawMessage(`{"tool_name":"Bash"}`)}
		}
		var earlier, late []session.Item
		for n := range 100 {
			earlier = append(earlier, item(fmt.Sprint("earlier", n), old, session.ItemText))
		}
		for n := range 30 {
			late = append(late, item(fmt.Sprint("earlier", n), old, session.ItemToolCall)) // they ran until now
		}
		must(t, st.PutItems(ctx, id, earlier))
		must(t, st.PutItems(ctx, id, []session.Item{
			item("before", old, session.ItemToolCall), item("call", fresh, session.ItemToolCall),
			item("said", fresh, session.ItemText), item("end", fresh, session.ItemResult),
		}))
		must(t, st.PutItems(ctx, id, late))
		must(t, st.PutItems(ctx, quiet, []session.Item{item("before", old, session.ItemToolCall)}))
		var got []string
		must(t, st.ItemsSince(ctx, now.Add(-time.Minute), func(sessionID, inProject string, it session.Item) {
			equal(t, "session", sessionID, id)
			equal(t, "project", inProject, p.ProjectID)
			equal(t, "body", string(it.Body), `{"tool_name":"Bash"}`)
			got = append(got, it.Key)
		}))
		slices.Sort(got)
		equal(t, "what is fresh", got, []string{"call", "end"})

		open := openRequest(t, st, bashRequest(id, "ls"))
		gone := openRequest(t, st, bashRequest(quiet, "ls"))
		resolveRequest(t, st, gone.RequestID, approval("c1"))
		waits, err := st.Waits(ctx, old.AddDate(-20, 0, 0))
		must(t, err)
		equal(t, "number of waits", len(waits), 2)
		for _, w := range waits {
			equal(t, "still waits", w.To.IsZero(), w.SessionID == id)
			equal(t, "project", w.InProject == p.ProjectID, w.SessionID == id)
			equal(t, "since", w.From.Equal(open.CreatedAt) || w.From.Equal(gone.CreatedAt), true)
		}
		waits, err = st.Waits(ctx, now.AddDate(20, 0, 0))
		must(t, err)
		equal(t, "what still waits is always there", len(waits), 1)
	})
}
