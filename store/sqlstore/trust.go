package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// trustColumns is the select list that [readTrust] scans.
const trustColumns = "folder, digest, items, user_id, name, trusted_at"

// readTrust reads a row of [trustColumns].
func readTrust(row Row) (t workspace.Trust, err error) {
	var folder, items []byte
	var at int64
	err = row.Scan(&folder, &t.Digest, &items, &t.By.UserID, &t.By.Name, &at)
	t.Folder, t.Items, t.At = string(folder), items, Time(at)
	return t, err
}

// trustValues returns the arguments for an insertion of [trustColumns].
func trustValues(t workspace.Trust, bind Bind) []any {
	return []any{bind(exactBytes(t.Folder)), SanitizeText(t.Digest), bind(t.Items), SanitizeText(t.By.UserID), SanitizeText(t.By.Name), Micros(t.At)}
}

// trustEntry is the audit entry for a trusted folder; docs/operating/audit.md describes it.
type trustEntry struct {
	What   string       `json:"what"` // folder_trusted
	At     time.Time    `json:"at"`
	By     auditPerson  `json:"by"`
	Folder string       `json:"folder"`
	Digest string       `json:"digest"`
	Items  auditContent `json:"items"`
}

// distrustEntry is the audit entry for a folder that is no longer trusted.
type distrustEntry struct {
	What      string      `json:"what"` // folder_distrusted
	At        time.Time   `json:"at"`
	By        auditPerson `json:"by"`
	Folder    string      `json:"folder"`
	Digest    string      `json:"digest"`
	TrustedBy string      `json:"trusted_by"`
	TrustedAt time.Time   `json:"trusted_at"`
}

// distrustAudit returns the audit entry for a trust that a person revoked.
func distrustAudit(t workspace.Trust, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(distrustEntry{
		What: "folder_distrusted", At: Time(Micros(at)), Folder: SanitizeText(t.Folder), Digest: SanitizeText(t.Digest), By: auditPersonOf(by),
		TrustedBy: SanitizeText(t.By.Name), TrustedAt: Time(Micros(t.At)),
	})
}

// trustAudit returns the audit entry for a folder that a person trusted.
func trustAudit(t workspace.Trust) ([]byte, error) {
	return json.Marshal(trustEntry{
		What: "folder_trusted", At: Time(Micros(t.At)), Folder: SanitizeText(t.Folder), Digest: SanitizeText(t.Digest), Items: auditContentOf(t.Items),
		By: auditPersonOf(t.By),
	})
}

var (
	selectTrust = query("SELECT " + trustColumns + " FROM folder_trusts WHERE folder = $1")
	putTrust    = define(insertInto("folder_trusts", trustColumns) + ` ON CONFLICT (folder) DO UPDATE SET digest = excluded.digest, items = excluded.items,
		user_id = excluded.user_id, name = excluded.name, trusted_at = excluded.trusted_at WHERE folder_trusts.digest <> excluded.digest`).Require(errUnchanged)
	selectTrusts      = query("SELECT " + trustColumns + " FROM folder_trusts ORDER BY trusted_at DESC, folder")
	dropTrust         = define("DELETE FROM folder_trusts WHERE folder = $1 AND digest = $2").Require(errUnchanged)
	leaveOutSettings  = define("INSERT INTO settings_left_out (session_id) SELECT session_id FROM sessions WHERE session_id = $1 ON CONFLICT DO NOTHING")
	bringBackSettings = define("DELETE FROM settings_left_out WHERE session_id = $1")
	selectLeftOut     = query("SELECT 1 FROM settings_left_out WHERE session_id = $1")
	// lockProcess fails if the session does not exist.
	lockProcess = define("UPDATE processes SET version = version WHERE session_id = $1").Require(session.ErrNotFound)
)

// Trust implements [workspace.Trusts].
func (s Shared) Trust(ctx context.Context, folder string) (t workspace.Trust, known bool, err error) {
	list, err := queryAll(ctx, s, "trust", selectTrust, readTrust, s.e.Bind(exactBytes(folder)))
	if err != nil || len(list) == 0 {
		return workspace.Trust{}, false, err
	}
	return list[0], true, nil
}

// PutTrust implements [workspace.Trusts].
func (s Shared) PutTrust(ctx context.Context, t workspace.Trust) error {
	body, err := trustAudit(t)
	if err != nil {
		return err
	}
	_, err = s.applyIfNeeded(ctx, Change{What: "trust a folder", Durability: Durable, Audit: body, Steps: []Step{step(putTrust, trustValues(t, s.e.Bind)...)}})
	return err
}

// AllTrusts implements [workspace.Trusts].
func (s Shared) AllTrusts(ctx context.Context) ([]workspace.Trust, error) {
	return queryAll(ctx, s, "trusts", selectTrusts, readTrust)
}

// Distrust implements [workspace.Trusts].
func (s Shared) Distrust(ctx context.Context, t workspace.Trust, by pending.Actor, at time.Time) (known bool, err error) {
	body, err := distrustAudit(t, by, at)
	if err != nil {
		return false, err
	}
	return s.applyIfNeeded(ctx, Change{What: "distrust a folder", Durability: Durable, Audit: body,
		Steps: []Step{step(dropTrust, s.e.Bind(exactBytes(t.Folder)), SanitizeText(t.Digest))}})
}

// LeaveOut implements [workspace.Trusts].
func (s Shared) LeaveOut(ctx context.Context, sessionID string, out bool) error {
	change := bringBackSettings
	if out {
		change = leaveOutSettings
	}
	return s.e.Apply(ctx, Change{What: "leave out settings", Steps: []Step{step(lockProcess, sessionID), step(change, sessionID)}})
}

// LeftOut implements [workspace.Trusts].
func (s Shared) LeftOut(ctx context.Context, sessionID string) (bool, error) {
	list, err := queryAll(ctx, s, "left out settings", selectLeftOut, scanValue[int], sessionID)
	return len(list) > 0, err
}
