package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// TestFirstProject creates a project while many goroutines read. After that, no read may find none.
func TestFirstProject(t *testing.T) {
	t.Parallel()
	st := open(t, sqlitetest.In(t, t.TempDir()))
	for i := range 3 {
		if list, err := st.Projects(ctx); err != nil || len(list) != 0 {
			t.Fatalf("%v, %v", list, err)
		}
		p := project.Project{ProjectID: fmt.Sprint("p", i), Name: "One", Folders: []string{"/one"}, CreatedAt: time.Now()}
		whileRead(t, func(after bool) {
			list, err := st.Projects(ctx)
			if err != nil || after && len(list) != 1 {
				t.Errorf("after the first was made: %v, %v", list, err)
			}
		}, func() error {
			_, err := st.CreateProject(ctx, p, pending.Actor{UserID: "u"})
			return err
		})
		if _, err := st.DeleteProject(ctx, p.ProjectID, pending.Actor{UserID: "u"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if list, err := st.Projects(ctx); err != nil || len(list) != 0 {
				t.Fatalf("after it was deleted: %v, %v", list, err)
			}
		}
	}
}
