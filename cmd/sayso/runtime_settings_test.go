package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// settingRows is a store of settings that several servers share.
type settingRows struct {
	account.Trail // nil: nothing here reads the audit log

	mu    sync.Mutex
	rows  []account.Setting
	pause chan struct{} // what was read arrives when it is closed; nil for at once
}

func (s *settingRows) Settings(context.Context) ([]account.Setting, error) {
	s.mu.Lock()
	rows, pause := slices.Clone(s.rows), s.pause
	s.mu.Unlock()
	if pause != nil {
		<-pause
	}
	return rows, nil
}

func (s *settingRows) ChangeSetting(_ context.Context, one account.Setting, _ []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(slices.DeleteFunc(s.rows, func(row account.Setting) bool { return row.Name == one.Name }), one)
	return nil
}

// withSharedSettings runs a test of one of the servers, which follows the others. sessions returns the
// limit that it applied last.
func withSharedSettings(t *testing.T, rows *settingRows, test func(t *testing.T, rs *runtimeSettings, sessions func() int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rs, err := newRuntimeSettings(t.Context(), settings{}, rows, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var applied int
		rs.apply = func(s settings) error {
			mu.Lock()
			defer mu.Unlock()
			applied = s.UserSessions
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { _ = rs.follow(ctx) }) // it returns nil
		test(t, rs, func() int {
			mu.Lock()
			defer mu.Unlock()
			return applied
		})
		cancel()
		following.Wait()
	})
}

// The clock of the server that changed a setting is behind that of the one that changed it before.
func TestSettingOfServerWhoseClockIsBehind(t *testing.T) {
	t.Parallel()
	now := time.Now()
	rows := &settingRows{rows: []account.Setting{{Name: "user_sessions", Value: "2", ChangedAt: now.Add(time.Hour)}}}
	withSharedSettings(t, rows, func(t *testing.T, rs *runtimeSettings, sessions func() int) {
		if err := rows.ChangeSetting(t.Context(), account.Setting{Name: "user_sessions", Value: "3", ChangedAt: now}, nil); err != nil {
			t.Fatal(err)
		}
		rs.changedElsewhere("")
		synctest.Wait()
		if n := sessions(); n != 3 {
			t.Errorf("the limit is %d, want the stored one, 3", n)
		}
	})
}

// A setting is changed here while what another server changed before is on its way from the store.
func TestLastChangeOfSettingStays(t *testing.T) {
	t.Parallel()
	rows := &settingRows{rows: []account.Setting{{Name: "user_sessions", Value: "2", ChangedAt: time.Now()}}}
	withSharedSettings(t, rows, func(t *testing.T, rs *runtimeSettings, sessions func() int) {
		pause := make(chan struct{})
		rows.mu.Lock()
		rows.rows[0].Value, rows.pause = "3", pause
		rows.mu.Unlock()
		rs.changedElsewhere("")
		synctest.Wait()
		var changing sync.WaitGroup
		changing.Go(func() {
			if err := rs.Change(t.Context(), "user_sessions", "4", account.Identity{}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(pause)
		changing.Wait()
		synctest.Wait()
		if n, inList := sessions(), rs.withChanges(settings{}).UserSessions; n != 4 || inList != 4 {
			t.Errorf("the limit is %d, and shown as %d, want the last one, 4", n, inList)
		}
	})
}
