package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
)

// That there were no projects is not believed once one was made, however many look
// meanwhile.
func TestFirstProject(t *testing.T) {
	t.Parallel()
	st := open(t, filepath.Join(t.TempDir(), "sayso.db"))
	for i := range 3 {
		if list, err := st.Projects(ctx); err != nil || len(list) != 0 {
			t.Fatalf("%v, %v", list, err)
		}
		made := make(chan struct{})
		var looking sync.WaitGroup
		for range 2 {
			looking.Go(func() {
				for over := false; !over; {
					select {
					case <-made:
						over = true // and once more
					default:
					}
					list, err := st.Projects(ctx)
					if err != nil || over && len(list) != 1 {
						t.Errorf("after the first was made: %v, %v", list, err)
					}
				}
			})
		}
		p := project.Project{ProjectID: fmt.Sprint("p", i), Name: "One", Folders: []string{"/one"}, CreatedAt: time.Now()}
		_, err := st.CreateProject(ctx, p, pending.Actor{UserID: "u"})
		close(made)
		looking.Wait()
		if err != nil {
			t.Fatal(err)
		}
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
