package engine

import (
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
)

// TrustColumns is the select list of [ReadTrust].
const TrustColumns = "folder, digest, items, user_id, name, trusted_at"

// ReadTrust reads a row of [TrustColumns].
func ReadTrust(row Row) (t workspace.Trust, err error) {
	var folder, items []byte
	var at int64
	err = row.Scan(&folder, &t.Digest, &items, &t.By.UserID, &t.By.Name, &at)
	t.Folder, t.Items, t.At = string(folder), items, Time(at)
	return t, err
}

// TrustValues are the arguments of an insertion of [TrustColumns].
func TrustValues(t workspace.Trust, bind Bind) []any {
	return []any{bind(exact(t.Folder)), Shown(t.Digest), bind(t.Items), Shown(t.By.UserID), Shown(t.By.Name), Micros(t.At)}
}

// trustBody is an entry of the audit trail; docs/operations.md describes it.
type trustBody struct {
	What   string       `json:"what"` // folder_trusted
	At     time.Time    `json:"at"`
	By     auditPerson  `json:"by"`
	Folder string       `json:"folder"`
	Digest string       `json:"digest"`
	Items  auditContent `json:"items"`
}

// distrustBody is an entry about a trust that was taken back.
type distrustBody struct {
	What      string      `json:"what"` // folder_distrusted
	At        time.Time   `json:"at"`
	By        auditPerson `json:"by"`
	Folder    string      `json:"folder"`
	Digest    string      `json:"digest"`
	TrustedBy string      `json:"trusted_by"`
	TrustedAt time.Time   `json:"trusted_at"`
}

// DistrustBody is what goes on record of a trust that a person took back.
func DistrustBody(t workspace.Trust, by pending.Actor, at time.Time) ([]byte, error) {
	return json.Marshal(distrustBody{
		What: "folder_distrusted", At: Time(Micros(at)), Folder: Shown(t.Folder), Digest: Shown(t.Digest), By: personOf(by),
		TrustedBy: Shown(t.By.Name), TrustedAt: Time(Micros(t.At)),
	})
}

// TrustBody is what goes on record of a folder that a person trusted.
func TrustBody(t workspace.Trust) ([]byte, error) {
	return json.Marshal(trustBody{
		What: "folder_trusted", At: Time(Micros(t.At)), Folder: Shown(t.Folder), Digest: Shown(t.Digest), Items: content(t.Items),
		By: personOf(t.By),
	})
}
