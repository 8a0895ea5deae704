package storetest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

func limits(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}
	spend := func(t *testing.T, st store.Store, id string, micros int64, at time.Time) {
		t.Helper()
		_, err := st.SaveProgress(ctx, id, session.Progress{Spent: micros, SpentAt: at})
		must(t, err)
	}
	spent := func(t *testing.T, st store.Store, day time.Time) []project.Spending {
		t.Helper()
		list, err := st.Spending(ctx, day)
		must(t, err)
		return list
	}

	s.run("SpendingPerDayProjectAndUser", func(t *testing.T, st store.Store) {
		api := newProject("api", "/src/api")
		_, err := st.CreateProject(ctx, api, ada)
		must(t, err)
		in, out := sessionIn(t, st, "/src/api"), sessionIn(t, st, "/src/web")
		noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		spend(t, st, in, 300_000, noon)
		spend(t, st, in, 200_000, noon.Add(11*time.Hour+59*time.Minute))
		spend(t, st, out, 1, noon)
		// Days are in UTC, whatever the time zone of the server.
		spend(t, st, out, 5, time.Date(2026, 11, 22, 1, 0, 0, 0, time.FixedZone("east", 2*3600)))
		spend(t, st, out, 7, noon.Add(12*time.Hour))
		equal(t, "spent", spent(t, st, noon), []project.Spending{{UserID: "u-ada", Micros: 6}, {ProjectID: api.ProjectID, UserID: "u-ada", Micros: 500_000}})
		equal(t, "spent the next day", spent(t, st, noon.Add(20*time.Hour)), []project.Spending{{UserID: "u-ada", Micros: 7}})
		equal(t, "spent the day before", len(spent(t, st, noon.Add(-24*time.Hour))), 0)

		// Costs keep their project, even if it is deleted.
		_, err = st.DeleteProject(ctx, api.ProjectID, ada)
		must(t, err)
		must(t, st.DeleteSession(ctx, in))
		equal(t, "spent", len(spent(t, st, noon)), 2)
		_, err = st.SaveProgress(ctx, uuid.NewString(), session.Progress{Spent: 1, SpentAt: noon})
		wantError(t, "an unknown session", err, session.ErrNotFound)
	})

	s.run("ConcurrentSpendingAddsUp", func(t *testing.T, st store.Store) {
		var wg sync.WaitGroup
		for range 4 {
			id := sessionIn(t, st, "/src/web")
			wg.Go(func() {
				for range 5 {
					if _, err := st.SaveProgress(ctx, id, session.Progress{Spent: 10, SpentAt: begin}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		equal(t, "spent", spent(t, st, begin), []project.Spending{{UserID: "u-ada", Micros: 200}})
	})

	s.run("CostsOfDays", func(t *testing.T, st store.Store) {
		api := newProject("api", "/src/api")
		_, err := st.CreateProject(ctx, api, ada)
		must(t, err)
		in, out := sessionIn(t, st, "/src/api"), sessionIn(t, st, "/src/web")
		noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		today, later := noon.Truncate(24*time.Hour), noon.Add(3*24*time.Hour)
		spend(t, st, in, 300, noon)
		spend(t, st, out, 20, noon.Add(time.Hour))
		spend(t, st, in, 5, later)
		days := func(since time.Time, userID, projectID string) []project.DayCost {
			t.Helper()
			list, err := st.CostDays(ctx, since, userID, projectID)
			must(t, err)
			return list
		}
		third := project.DayCost{Day: later.Truncate(24 * time.Hour), Person: 5, Project: 5}
		equal(t, "since", days(noon.Add(11*time.Hour), "u-ada", api.ProjectID), []project.DayCost{{Day: today, Person: 320, Project: 300}, third})
		equal(t, "since the next day", days(noon.Add(13*time.Hour), "u-ada", api.ProjectID), []project.DayCost{third})
		equal(t, "of another person", days(noon, "u-ben", ""), []project.DayCost{{Day: today, Project: 20}})
		equal(t, "of nobody", len(days(noon, "u-ben", "another")), 0)
	})

	s.run("LimitsOfAUser", func(t *testing.T, st store.Store) {
		two, none, memory := 2, 0.0, uint64(1<<40)
		first := project.Override{Sessions: &two, Memory: &memory}
		must(t, st.SetUserLimits(ctx, "u-ben", "Ben", first, ada))
		must(t, st.SetUserLimits(ctx, "u-cleo", "Cleo", project.Override{Cost: &none}, ada))
		all, err := st.UserLimits(ctx)
		must(t, err)
		equal(t, "limits", all, map[string]project.Override{"u-ben": first, "u-cleo": {Cost: &none}})
		equal(t, "of Ben", all["u-ben"].ApplyTo(project.Limits{Sessions: 9, Cost: 5}), project.Limits{Sessions: 2, Memory: memory, Cost: 5})

		must(t, st.SetUserLimits(ctx, "u-ben", "Ben", project.Override{}, ada))
		all, err = st.UserLimits(ctx)
		must(t, err)
		equal(t, "limits", all, map[string]project.Override{"u-cleo": {Cost: &none}})

		var record []string
		must(t, account.WalkAudit(ctx, st, func(e account.AuditEntry) error {
			var entry struct {
				What, Name string
				By         struct{ Name string }
				After      json.RawMessage
			}
			err := json.Unmarshal(e.Body, &entry)
			record = append(record, entry.What+" "+entry.Name+" by "+entry.By.Name+" "+string(entry.After))
			return err
		}))
		equal(t, "record", record, []string{
			`limits_changed Ben by Ada {"sessions":2,"memory":1099511627776}`, `limits_changed Cleo by Ada {"cost":0}`, `limits_changed Ben by Ada {}`,
		})
	})
}
