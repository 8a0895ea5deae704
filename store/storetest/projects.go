package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

var ada = pending.Actor{UserID: "u-ada", Name: "Ada", Device: "Chrome on Linux", Address: "192.0.2.1"}

// newProject returns a project with folders and a value in every field.
func newProject(name string, folders ...string) project.Project {
	return project.Project{
		ProjectID: uuid.NewString(), Name: name, Folders: folders, Version: 1, CreatedAt: begin,
		Members:   []project.Member{{UserID: "u-ada", Role: account.Admin}},
		Start:     project.Whom{Role: account.Member, People: []string{"u-ada"}},
		Answer:    project.Whom{Role: account.Member, People: []string{}},
		Rules:     []project.Rule{{Tool: "Bash", Pattern: "git push*", Effect: project.TwoPeople, People: []string{}}},
		Bypass:    []string{},
		Limits:    project.Limits{Sessions: 3, Memory: 1 << 30},
		EachLimit: project.Limits{Sessions: 1}, AskTimeout: 300,
	}
}

func sessionIn(t *testing.T, st store.Store, folder string) string {
	t.Helper()
	id := uuid.NewString()
	must(t, st.CreateSession(context.Background(), session.Session{SessionID: id, ProjectID: "folder", Title: folder, CWD: folder,
		PermissionMode: "default", OwnerID: "u-ada", CreatedAt: begin, UpdatedAt: begin}))
	return id
}

func projects(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}
	placed := func(t *testing.T, st store.Store, sessionID, want string) {
		t.Helper()
		ses, err := st.Session(ctx, sessionID)
		must(t, err)
		state, err := st.ProcessState(ctx, sessionID)
		must(t, err)
		equal(t, "project of "+ses.CWD, []string{ses.InProject, state.InProject}, []string{want, want})
		equal(t, "owner", state.OwnerID, ses.OwnerID)
	}

	s.run("KeepsEveryField", func(t *testing.T, st store.Store) {
		b, a := newProject("beta", "/src/b", "/src/c"), newProject("Alpha", "/src/a")
		for _, p := range []project.Project{b, a} {
			_, err := st.CreateProject(ctx, p, ada)
			must(t, err)
		}
		list, err := st.Projects(ctx)
		must(t, err)
		equal(t, "projects", list, []project.Project{a, b})

		b.Name, b.Folders, b.Members = "Gamma", []string{"/src/b"}, []project.Member{}
		now, _, err := st.ChangeProject(ctx, b, ada)
		must(t, err)
		equal(t, "version", now.Version, int64(2))
		_, _, err = st.ChangeProject(ctx, b, ada)
		wantError(t, "an old version", err, project.ErrChanged)
		list, err = st.Projects(ctx)
		must(t, err)
		equal(t, "changed", list, []project.Project{a, now})

		_, err = st.DeleteProject(ctx, a.ProjectID, ada)
		must(t, err)
		_, err = st.DeleteProject(ctx, a.ProjectID, ada)
		wantError(t, "deleted twice", err, project.ErrNotFound)
		_, _, err = st.ChangeProject(ctx, a, ada)
		wantError(t, "deleted", err, project.ErrNotFound)
	})

	s.run("NamesAndFoldersAreUnique", func(t *testing.T, st store.Store) {
		first := newProject("One", "/src/a")
		_, err := st.CreateProject(ctx, first, ada)
		must(t, err)
		_, err = st.CreateProject(ctx, newProject("ONE", "/src/b"), ada)
		wantError(t, "the same name", err, project.ErrExists)
		_, err = st.CreateProject(ctx, newProject("Two", "/src/b", "/src/a"), ada)
		wantError(t, "the same folder", err, project.ErrFolderTaken)
		two := newProject("Two", "/src/b")
		_, err = st.CreateProject(ctx, two, ada)
		must(t, err)
		two.Folders = []string{"/src/a"}
		_, _, err = st.ChangeProject(ctx, two, ada)
		wantError(t, "a folder of another", err, project.ErrFolderTaken)
		list, err := st.Projects(ctx)
		must(t, err)
		equal(t, "folders", list[1].Folders, []string{"/src/b"})
		if n := len(readAudit(t, st)); n != 2 {
			t.Errorf("%d entries on record, want the two that were made", n)
		}
	})

	s.run("LongestFolderOwnsASession", func(t *testing.T, st store.Store) {
		deep, beside := sessionIn(t, st, "/src/api/v2"), sessionIn(t, st, "/src/apiary")
		exact, outside := sessionIn(t, st, "/src/api"), sessionIn(t, st, "")
		api := newProject("api", "/src/api")
		touched, err := st.CreateProject(ctx, api, ada)
		must(t, err)
		slices.Sort(touched)
		want := []string{deep, exact}
		slices.Sort(want)
		equal(t, "touched", touched, want)
		placed(t, st, deep, api.ProjectID)
		placed(t, st, exact, api.ProjectID)
		placed(t, st, beside, "")
		placed(t, st, outside, "")

		v2 := newProject("v2", "/src/api/v2")
		touched, err = st.CreateProject(ctx, v2, ada)
		must(t, err)
		equal(t, "touched", touched, []string{deep})
		placed(t, st, deep, v2.ProjectID)
		placed(t, st, sessionIn(t, st, "/src/api/v2/x"), v2.ProjectID)
		placed(t, st, sessionIn(t, st, "/src/api/v3"), api.ProjectID)
		placed(t, st, sessionIn(t, st, "/src/ap%/x"), "")

		state, err := st.ProcessState(ctx, deep)
		must(t, err)
		equal(t, "version", state.Version, uint64(3))
		_, err = st.DeleteProject(ctx, v2.ProjectID, ada)
		must(t, err)
		placed(t, st, deep, api.ProjectID)

		// The Book must find the same project as the store.
		book := project.NewBook([]project.Project{api}, nil)
		for _, cwd := range []string{"/src/api", "/src/api/v2", "/src/apiary", "/src", ""} {
			ses, err := st.Session(ctx, sessionIn(t, st, cwd))
			must(t, err)
			equal(t, "project of "+cwd, book.ProjectIDOf(cwd), ses.InProject)
		}
	})

	s.run("ListsOmitHidden", func(t *testing.T, st store.Store) {
		api := newProject("api", "/src/api")
		_, err := st.CreateProject(ctx, api, ada)
		must(t, err)
		open := []string{}
		for i := range 5 {
			sessionIn(t, st, fmt.Sprint("/src/api/", i))
			open = append(open, sessionIn(t, st, fmt.Sprint("/src/web/", i)))
		}
		got := []string{}
		for cursor := ""; ; {
			page, next, err := st.Sessions(ctx, session.Query{Hidden: []string{"other", api.ProjectID}, Limit: 2, Cursor: cursor})
			must(t, err)
			got = append(got, sessionIDs(page)...)
			if cursor = next; cursor == "" {
				break
			}
		}
		slices.Sort(open)
		slices.Sort(got)
		equal(t, "sessions", got, open)
	})

	s.run("ChangesAreRecorded", func(t *testing.T, st store.Store) {
		p := newProject("api", "/src/api")
		_, err := st.CreateProject(ctx, p, ada)
		must(t, err)
		p.Rules = []project.Rule{}
		_, _, err = st.ChangeProject(ctx, p, ada)
		must(t, err)
		_, err = st.DeleteProject(ctx, p.ProjectID, ada)
		must(t, err)
		type entry struct {
			What   string
			Name   string
			By     struct{ Name, Address string }
			Before struct{ Rules []project.Rule }
			After  struct{ Rules []project.Rule }
		}
		var list []entry
		must(t, account.WalkAudit(ctx, st, func(e account.AuditEntry) error {
			list = append(list, entry{})
			return json.Unmarshal(e.Body, &list[len(list)-1])
		}))
		if len(list) != 3 || list[0].What != "project_created" || list[1].What != "project_changed" || list[2].What != "project_deleted" {
			t.Fatalf("got %+v", list)
		}
		if e := list[1]; e.Name != "api" || e.By.Name != "Ada" || e.By.Address != "192.0.2.1" || len(e.Before.Rules) != 1 || len(e.After.Rules) != 0 {
			t.Errorf("got %+v", e)
		}
	})

	s.run("ConcurrentChanges", func(t *testing.T, st store.Store) {
		p := newProject("api", "/src/api")
		_, err := st.CreateProject(ctx, p, ada)
		must(t, err)
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 8 {
			wg.Go(func() {
				mine := p
				mine.Folders = []string{fmt.Sprint("/src/", i)}
				if _, _, err := st.ChangeProject(ctx, mine, ada); err == nil {
					mu.Lock()
					won++
					mu.Unlock()
				} else {
					wantError(t, "a change that lost", err, project.ErrChanged)
				}
			})
			wg.Go(func() { sessionIn(t, st, fmt.Sprint("/src/", i, "/x")) })
		}
		wg.Wait()
		equal(t, "changes", won, 1)
		list, err := st.Projects(ctx)
		must(t, err)
		book := project.NewBook(list, nil)
		page, _, err := st.Sessions(ctx, session.Query{})
		must(t, err)
		for _, ses := range page {
			equal(t, "project of "+ses.CWD, ses.InProject, book.ProjectIDOf(ses.CWD))
		}
	})
}
