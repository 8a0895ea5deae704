package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/wire"
)

// pruneInterval is how often old entries of the audit log are deleted.
const pruneInterval = time.Hour

// runtimeSettings holds the settings of the running server, and can change some. A value that
// was changed here takes precedence over flags, environment and file, even after a restart.
type runtimeSettings struct {
	store interface {
		account.Trail
		account.SettingStore
	}
	claude func(ctx context.Context) string // version of the CLI
	apply  func(settings) error             // applies changed settings
	log    *slog.Logger
	prune  chan struct{} // the retention was changed; capacity 1, never closed
	stale  chan struct{} // another server may have changed some; capacity 1, never closed
	// announce tells other servers that this one has changed a setting; nil if there are none.
	announce func()

	// applying is held from reading or storing settings until they are applied, so that what was
	// stored last is also applied last; capacity 1, never closed. It is acquired before mu.
	applying chan struct{}

	mu      sync.Mutex // protects following
	base    settings   // as read from flags, environment and file
	changed map[string]account.Setting
}

func newRuntimeSettings(ctx context.Context, s settings, store interface {
	account.Trail
	account.SettingStore
}, log *slog.Logger) (*runtimeSettings, error) {
	rs := &runtimeSettings{store: store, log: log, base: s, changed: map[string]account.Setting{}, prune: make(chan struct{}, 1), stale: make(chan struct{}, 1), applying: make(chan struct{}, 1)}
	list, err := store.Settings(ctx)
	for _, one := range list {
		rs.changed[one.Name] = one
	}
	return rs, err
}

// beginApplying waits until nothing else reads, stores or applies settings, or ctx ends. Call end once
// the settings are applied.
func (rs *runtimeSettings) beginApplying(ctx context.Context) (end func(), err error) {
	select {
	case rs.applying <- struct{}{}:
		return func() { <-rs.applying }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withChanges returns s with the values that were changed at run time.
func (rs *runtimeSettings) withChanges(s settings) settings {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.applyChanged(s)
}

// replaceBase replaces the values read from flags, environment and file.
func (rs *runtimeSettings) replaceBase(s settings) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.base = s
}

// current returns the current settings. The caller holds the lock.
func (rs *runtimeSettings) current() settings { return rs.applyChanged(rs.base) }

// applyChanged applies the changed values. The caller holds the lock.
func (rs *runtimeSettings) applyChanged(s settings) settings {
	for _, r := range settingsTable {
		if one, ok := rs.changed[r.screenName()]; ok && r.changeable() {
			next := s
			if err := r.parse(&next, one.Value); err != nil {
				rs.log.Warn("a changed setting is no longer valid; using the value from the start", "setting", one.Name, "error", err)
				continue
			}
			s = next
		}
	}
	return s
}

// List implements [httpapi.Settings].
func (rs *runtimeSettings) List(ctx context.Context) ([]wire.SettingInfo, error) {
	rs.mu.Lock()
	now := rs.current()
	var list []wire.SettingInfo
	for _, changeable := range []bool{true, false} { // changeable ones first
		for _, row := range settingsTable {
			if row.screen == nil || row.screen.changeable != changeable {
				continue
			}
			e := row.screen
			info := wire.SettingInfo{Name: row.screenName(), Kind: e.kind, Title: e.title, Words: e.words, Choices: e.choices, Changeable: changeable}
			if info.Value = row.format(now); e.show != nil {
				info.Value = e.show(now)
			}
			if one, changed := rs.changed[info.Name]; changed && changeable {
				at := float64(one.ChangedAt.UnixMicro()) / 1e6
				info.ChangedBy, info.ChangedAt = &one.ChangedBy, &at
			}
			list = append(list, info)
		}
	}
	rs.mu.Unlock()
	return append(list,
		wire.SettingInfo{Name: "version", Kind: wire.SettingText, Title: "sayso", Words: "The version that runs.", Value: versionText()},
		wire.SettingInfo{Name: "claude_version", Kind: wire.SettingText, Title: "Claude Code", Words: "The CLI that sessions run on.", Value: rs.claude(ctx)}), nil
}

// Change implements [httpapi.Settings].
func (rs *runtimeSettings) Change(ctx context.Context, name, value string, by account.Identity) error {
	for _, row := range settingsTable {
		if row.screenName() != name || !row.changeable() {
			continue
		}
		end, err := rs.beginApplying(ctx)
		if err != nil {
			return err
		}
		defer end()
		rs.mu.Lock()
		trial := rs.base
		rs.mu.Unlock()
		if err := row.parse(&trial, value); err != nil {
			return problem.For(name, "setting_invalid", "setting", row.screen.title, "detail", err.Error())
		}
		at := time.Now().Truncate(time.Microsecond) // what the store keeps, so that follow finds no other time
		one := account.Setting{Name: name, Value: value, ChangedBy: by.User.Name, ChangedAt: at}
		body, err := json.Marshal(map[string]any{
			"what": "settings", "at": one.ChangedAt.UTC(), "setting": name, "value": value,
			"by": map[string]string{"user_id": by.User.UserID, "name": by.User.Name, "device": by.Device(), "address": by.From},
		})
		if err == nil {
			err = rs.store.ChangeSetting(ctx, one, body)
		}
		if err != nil {
			return err
		}
		rs.mu.Lock()
		rs.changed[name] = one
		now := rs.current()
		rs.mu.Unlock()
		rs.pruneSoon()
		if rs.announce != nil {
			rs.announce()
		}
		return rs.apply(now)
	}
	return fmt.Errorf("change setting %s: %w", name, account.ErrNotFound)
}

func (rs *runtimeSettings) pruneSoon() {
	select {
	case rs.prune <- struct{}{}:
	default:
	}
}

// changedElsewhere notes that another server may have changed settings. It never blocks.
func (rs *runtimeSettings) changedElsewhere(string) {
	select {
	case rs.stale <- struct{}{}:
	default:
	}
}

// follow applies the settings that other servers change, until ctx ends.
func (rs *runtimeSettings) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rs.stale:
		}
		if err := rs.applyStored(ctx); err != nil && ctx.Err() == nil {
			rs.log.ErrorContext(ctx, "cannot apply the settings that another server has changed", "error", err)
		}
	}
}

// applyStored applies the stored settings that differ from those of this server.
func (rs *runtimeSettings) applyStored(ctx context.Context) error {
	end, err := rs.beginApplying(ctx)
	if err != nil {
		return err
	}
	defer end()
	list, err := rs.store.Settings(ctx)
	if err != nil {
		if ctx.Err() == nil {
			rs.log.WarnContext(ctx, "cannot read which settings another server has changed", "error", err)
		}
		return nil // the next poll, or the next connection, finds it
	}
	rs.mu.Lock()
	news := false
	for _, one := range list { // settings are never deleted
		// The row counts even if it seems to be older: the clock of the server that changed it may be behind.
		if known := rs.changed[one.Name]; known.Value != one.Value || !known.ChangedAt.Equal(one.ChangedAt) {
			rs.changed[one.Name], news = one, true
		}
	}
	now := rs.current()
	rs.mu.Unlock()
	if !news {
		return nil
	}
	rs.pruneSoon()
	return rs.apply(now)
}

// retention returns the current retention.
func (rs *runtimeSettings) retention() retention {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.current().retention()
}

// Run deletes old entries of the audit log until ctx ends.
func (rs *runtimeSettings) Run(ctx context.Context) error {
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		keep := rs.retention().Audit
		removed, err := account.PruneAudit(ctx, rs.store, keep, time.Now())
		if err != nil && ctx.Err() == nil {
			rs.log.ErrorContext(ctx, "cannot remove old entries of the audit log", "error", err)
		} else if removed > 0 {
			rs.log.InfoContext(ctx, "old entries of the audit log were removed", "entries", removed, "days", keep.Days, "kept_entries", keep.Entries)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-rs.prune:
		}
	}
}
