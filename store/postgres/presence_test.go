package postgres_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// What people see on one server is read on another until it expires in the time of the database.
func TestPresenceIsSharedByServers(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	one, two := openPatient(t, dsn), openPatient(t, dsn)
	ada := alert.Seen{UserID: "ada", Active: true, Sessions: []string{"s1", "s2"}, Noticed: []string{"q1"}}
	bob := alert.Seen{UserID: "bob", Everything: true, LastActive: time.Now().Add(-time.Hour)}
	must(t, one.PutPresence(ctx, "one", []alert.Seen{ada, bob}, time.Hour))
	must(t, two.PutPresence(ctx, "two", []alert.Seen{{UserID: "ada"}}, time.Hour))
	elsewhere := func(serverID string) map[string]alert.Seen {
		t.Helper()
		list, err := two.PresenceElsewhere(ctx, serverID)
		must(t, err)
		byUser := map[string]alert.Seen{}
		for _, s := range list {
			byUser[s.UserID] = s
		}
		return byUser
	}
	got := elsewhere("two")
	if age := time.Since(got["bob"].LastActive); age < time.Hour || age > 2*time.Hour {
		t.Errorf("Bob was active %v ago", age)
	}
	bob.LastActive = got["bob"].LastActive
	if want := map[string]alert.Seen{"ada": ada, "bob": bob}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := elsewhere("one"); len(got) != 1 || got["ada"].Active {
		t.Errorf("the other server has %+v", got)
	}
	// Its time is over; it stores another state, and goes.
	exec(t, outside(t, dsn), "UPDATE presence SET expires_at = expires_at - 3600000001 WHERE user_id = 'bob'")
	if got := elsewhere("two"); len(got) != 1 {
		t.Errorf("after its time: %+v", got)
	}
	must(t, one.PutPresence(ctx, "one", []alert.Seen{bob}, time.Hour))
	if got := elsewhere("two"); len(got) != 1 || got["bob"].UserID != "bob" {
		t.Errorf("the next state: %+v", got)
	}
	must(t, one.PutPresence(ctx, "one", nil, time.Hour))
	if got := elsewhere("two"); len(got) != 0 {
		t.Errorf("after its end: %+v", got)
	}
}
