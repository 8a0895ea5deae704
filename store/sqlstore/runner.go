package sqlstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// queryRunners registers a query whose rows have the columns of prefix, followed by those that
// [readRunner] reads.
func queryRunners(prefix, rest string) Query {
	const columns = `runner_id, name, installation_id, machine, release, paused, removed_at, lease_epoch, lease_server, lease_expires_at, seen_at,
	remote, token_hash IS NOT NULL, draining, given_labels, labels, roots, capacity, clis, clock_skew, lease_expires_at > `
	const sqliteMicros = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
	return queryBoth("SELECT "+prefix+columns+sqliteMicros+" FROM runners"+rest, "SELECT "+prefix+columns+nowMicros+" FROM runners"+rest)
}

// readRunner reads a row of [queryRunners].
func readRunner(row Row) (r session.Runner, err error) {
	var removedAt, epoch, expiresAt, seenAt, skew int64
	var given, labels, roots, capacity, clis string
	err = row.Scan(&r.RunnerID, &r.Name, &r.InstallationID, &r.Machine, &r.Release, &r.Paused, &removedAt, &epoch, &r.Server, &expiresAt, &seenAt,
		&r.Remote, &r.HasToken, &r.Draining, &given, &labels, &roots, &capacity, &clis, &skew, &r.Leased)
	if err != nil {
		return r, err
	}
	r.Epoch, r.RemovedAt, r.ExpiresAt, r.SeenAt = uint64(epoch), Time(removedAt), Time(expiresAt), Time(seenAt)
	r.ClockSkew = time.Duration(skew) * time.Microsecond
	if r.GivenLabels = given != ""; r.GivenLabels {
		labels = given
	}
	return r, errors.Join(json.Unmarshal([]byte(labels), &r.Labels), json.Unmarshal([]byte(roots), &r.Roots),
		json.Unmarshal([]byte(capacity), &r.Capacity), json.Unmarshal([]byte(clis), &r.CLIs))
}

const (
	mayTake  = " WHERE runner_id = $1 AND (installation_id = $2 OR installation_id = '' AND remote) AND (machine IN ('', $3) OR $3 = '') AND removed_at = 0"
	setHello = "installation_id = $2, machine = CASE WHEN $3 = '' THEN machine ELSE $3 END, name = CASE WHEN $4 = '' THEN name ELSE $4 END, release = $5, lease_server = $6, " +
		"labels = $9, roots = $10, capacity = $11, clis = $12"
	ofRemote   = " WHERE runner_id = $2 AND remote AND removed_at = 0"
	nameIsFree = "NOT EXISTS (SELECT 1 FROM runners WHERE name = $2 AND removed_at = 0)"
	nowMicros  = "(extract(epoch FROM now()) * 1000000)::bigint" // in PostgreSQL
)

// A database of an earlier release has a runner with an empty id until the first runner is
// registered, which replaces it.
var (
	selectRunners = queryRunners("", " WHERE runner_id <> '' ORDER BY name, runner_id")
	selectRunner  = queryRunners("", " WHERE runner_id = $1")
	claimSessions = define(`UPDATE sessions SET runner_id = $1 WHERE runner_id = '' AND kind = ''
		AND EXISTS (SELECT 1 FROM runners WHERE runner_id = '')`)
	claimRunner  = define("UPDATE runners SET runner_id = $1, name = $2, installation_id = $3 WHERE runner_id = ''")
	insertRunner = define("INSERT INTO runners (runner_id, name, installation_id) VALUES ($1, $2, $3) ON CONFLICT (runner_id) DO NOTHING")
	// Fails if a runner that was not removed has the name.
	createRunner = defineBoth(
		"INSERT INTO runners (runner_id, name, token_hash, remote) SELECT $1, $2, $3, 1 WHERE "+nameIsFree,
		"INSERT INTO runners (runner_id, name, token_hash, remote) SELECT $1, $2, $3, true WHERE "+nameIsFree).Require(session.ErrRunnerExists)
	renameRunner   = define("UPDATE runners SET name = $2 WHERE runner_id = $1 AND NOT EXISTS (SELECT 1 FROM runners WHERE name = $2 AND removed_at = 0 AND runner_id <> $1)").Require(session.ErrRunnerExists)
	setRunnerToken = define("UPDATE runners SET token_hash = $1" + ofRemote).Require(session.ErrNoRunner)
	// The higher epoch refuses later writes of a driver that was only cut off from the database.
	removeRunner = defineBoth(
		"UPDATE runners SET token_hash = NULL, removed_at = $1, lease_epoch = lease_epoch + (NOT remote) WHERE runner_id = $2 AND removed_at = 0 AND (remote OR lease_expires_at <= $1)",
		"UPDATE runners SET token_hash = NULL, removed_at = $1, lease_epoch = lease_epoch + (NOT remote)::int "+
			"WHERE runner_id = $2 AND removed_at = 0 AND (remote OR lease_expires_at <= "+nowMicros+")").Require(session.ErrNoRunner)
	forgetRunners = define("DELETE FROM runners WHERE NOT remote AND runner_id <> '' AND seen_at > 0 AND seen_at < $1 " +
		"AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.runner_id = runners.runner_id)")
	archiveOfRunner = define("UPDATE sessions SET archived = $1 WHERE runner_id = $2 AND NOT archived")
	bumpOfRunner    = define(`UPDATE processes SET version = version + 1, updated_at = $1
		WHERE session_id IN (SELECT session_id FROM sessions WHERE runner_id = $2 AND NOT archived)`)
	bumpNamed   = define("UPDATE processes SET version = version + 1 WHERE session_id IN (SELECT session_id FROM sessions WHERE runner_id = $1 AND NOT archived)")
	bumpRunning = define(`UPDATE processes SET version = version + 1
		WHERE state <> 'dead' AND session_id IN (SELECT session_id FROM sessions WHERE runner_id = $1 AND NOT archived)`)
	// Starts with the few running processes instead of all sessions.
	runningOfRunner = query(`SELECT p.session_id FROM processes AS p WHERE p.state <> 'dead'
		AND EXISTS (SELECT 1 FROM sessions AS s WHERE s.session_id = p.session_id AND s.runner_id = $1 AND NOT s.archived)`)
	sessionsOfRunner = query("SELECT session_id FROM sessions WHERE runner_id = $1 AND NOT archived").long()
	selectByToken    = queryRunners("token_hash, ", " WHERE token_hash = $1 AND removed_at = 0")
	setUse           = define("UPDATE runners SET paused = $1, draining = $2 WHERE runner_id = $3").Require(session.ErrNoRunner)
	setGivenLabels   = define("UPDATE runners SET given_labels = $1 WHERE runner_id = $2").Require(session.ErrNoRunner)
	findRemote       = define("UPDATE runners SET name = name WHERE runner_id = $1 AND remote AND removed_at = 0").Require(session.ErrNoRunner)
	// SQLite keeps the order of a CROSS JOIN, so the query starts with the few running processes.
	runningByRunner = query(`SELECT s.runner_id, count(*) FROM processes AS p CROSS JOIN sessions AS s
		WHERE s.session_id = p.session_id AND p.state <> 'dead' AND s.kind = '' GROUP BY s.runner_id`)
	// TakeLease returns the new epoch. It changes no row if the runner may not have the lease.
	TakeLease = defineBoth(
		"UPDATE runners SET lease_epoch = max(lease_epoch + 1, $7 + 1, $14), lease_expires_at = $14 + $8, seen_at = $14, "+
			"clock_skew = CASE WHEN $13 = 0 THEN 0 ELSE $13 - $14 END, "+setHello+mayTake+" RETURNING lease_epoch",
		"UPDATE runners SET lease_epoch = greatest(lease_epoch + 1, $7::bigint + 1, "+nowMicros+"), lease_expires_at = "+nowMicros+
			" + $8, seen_at = "+nowMicros+", clock_skew = CASE WHEN $13::bigint = 0 THEN 0 ELSE $13 - "+nowMicros+" END, "+setHello+mayTake+" RETURNING lease_epoch")
	// SQLite compares with its own clock, which counts milliseconds.
	releaseLease = defineBoth(
		"UPDATE runners SET lease_server = '', lease_expires_at = seen_at - 1000 WHERE runner_id = $1 AND lease_epoch = $2",
		"UPDATE runners SET lease_server = '', lease_expires_at = "+nowMicros+" WHERE runner_id = $1 AND lease_epoch = $2").Require(session.ErrLeaseLost)
	// RenewLease exists only in PostgreSQL. It changes no column of a unique index, so it does not
	// wait for writes that compare the epoch.
	RenewLease = Define(Postgres, "UPDATE runners SET lease_expires_at = "+nowMicros+" + $3, seen_at = "+nowMicros+
		" WHERE runner_id = $1 AND lease_epoch = $2")
)

// maxFence is the highest epoch for which a column can still store a higher one.
const maxFence = 1<<63 - 2

// TakeLeaseValues returns the arguments $1 to $13 of [TakeLease]; in SQLite, $14 is the time.
func TakeLeaseValues(h session.Hello) []any {
	return []any{h.RunnerID, SanitizeText(h.InstallationID), SanitizeText(h.Machine), SanitizeText(h.Name), SanitizeText(h.Release), SanitizeText(h.Server),
		int64(min(h.Fence, maxFence)), session.LeaseTTL.Microseconds(),
		listText(h.Labels), listText(h.Roots), jsonText(h.Capacity), listText(h.CLIs), Micros(h.Clock)}
}

// listText returns the column value of a list; a nil list is [].
func listText[T any](list []T) string { return jsonText(append([]T{}, list...)) }

// jsonText returns the column value of v. It panics if encoding/json cannot encode v.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlstore: encode %T: %v", v, err))
	}
	return string(text)
}

// LeaseRefusal returns why a runner did not get a lease.
func (s Shared) LeaseRefusal(ctx context.Context, runnerID string) error {
	r, err := s.Runner(ctx, runnerID)
	switch {
	case err != nil:
		return err
	case !r.RemovedAt.IsZero():
		return session.ErrRunnerRemoved
	}
	return session.ErrOtherInstallation
}

// RegisterRunner implements [session.RunnerStore].
func (s Shared) RegisterRunner(ctx context.Context, r session.Runner) error {
	values := []any{r.RunnerID, SanitizeText(r.Name), SanitizeText(r.InstallationID)}
	return s.e.Apply(ctx, Change{What: "register runner " + r.RunnerID, Durability: Durable, Steps: []Step{
		step(claimSessions, r.RunnerID), step(claimRunner, values...), step(insertRunner, values...),
	}})
}

// Runners implements [session.RunnerStore].
func (s Shared) Runners(ctx context.Context) ([]session.Runner, error) {
	return queryAll(ctx, s, "runners", selectRunners, readRunner)
}

// Runner implements [session.RunnerStore].
func (s Shared) Runner(ctx context.Context, runnerID string) (session.Runner, error) {
	return queryOne(ctx, s, "runner "+runnerID, selectRunner, session.ErrNoRunner, readRunner, runnerID)
}

// CreateRunner implements [session.RunnerStore].
func (s Shared) CreateRunner(ctx context.Context, r session.Runner, tokenHash [sha256.Size]byte, by pending.Actor) error {
	return s.changeRunner(ctx, "runner_created", r.RunnerID, by, step(createRunner, r.RunnerID, SanitizeText(r.Name), s.tokenColumn(&tokenHash)))
}

// SetRunnerToken implements [session.RunnerStore].
func (s Shared) SetRunnerToken(ctx context.Context, runnerID string, tokenHash *[sha256.Size]byte, by pending.Actor) error {
	what := "runner_token_created"
	if tokenHash == nil {
		what = "runner_token_revoked"
	}
	return s.changeRunner(ctx, what, runnerID, by, step(setRunnerToken, s.tokenColumn(tokenHash), runnerID))
}

// RemoveRunner implements [session.RunnerStore].
func (s Shared) RemoveRunner(ctx context.Context, runnerID string, by pending.Actor) (sessionIDs []string, err error) {
	if sessionIDs, err = queryAll(ctx, s, "sessions of runner "+runnerID, sessionsOfRunner, scanValue[string], runnerID); err != nil {
		return nil, err
	}
	now := time.Now().UnixMicro()
	return sessionIDs, s.changeRunner(ctx, "runner_removed", runnerID, by, step(removeRunner, now, runnerID),
		step(bumpOfRunner, now, runnerID), step(archiveOfRunner, true, runnerID))
}

// ForgetRunners implements [session.RunnerStore].
func (s Shared) ForgetRunners(ctx context.Context, before time.Time) error {
	return s.e.Apply(ctx, Change{What: "forget runners", LeavesRequests: true, Steps: []Step{step(forgetRunners, before.UnixMicro())}})
}

// TouchRunner implements [session.RunnerStore].
func (s Shared) TouchRunner(ctx context.Context, runnerID string) ([]string, error) {
	what := "touch the sessions of runner " + runnerID
	if err := s.e.Apply(ctx, Change{What: what, LeavesRequests: true, Steps: []Step{step(bumpRunning, runnerID)}}); err != nil {
		return nil, err
	}
	return queryAll(ctx, s, what, runningOfRunner, scanValue[string], runnerID)
}

// tokenColumn returns the column value of the hash of a token.
func (s Shared) tokenColumn(hash *[sha256.Size]byte) any {
	if hash == nil {
		return nil
	}
	return s.e.Bind(hex.AppendEncode(nil, hash[:]))
}

// RunnerByToken implements [session.RunnerStore]. The timing of the index lookup reveals at most the
// hash of a token, from which nobody can make one. The found hash is still compared in constant time.
func (s Shared) RunnerByToken(ctx context.Context, tokenHash [sha256.Size]byte) (session.Runner, error) {
	want := hex.AppendEncode(nil, tokenHash[:])
	return queryOne(ctx, s, "runner of a token", selectByToken, session.ErrNoRunner, func(row Row) (session.Runner, error) {
		var stored []byte
		r, err := readRunner(prefixedRow{row, &stored})
		if err == nil && subtle.ConstantTimeCompare(stored, want) != 1 {
			err = session.ErrNoRunner
		}
		return r, err
	}, s.e.Bind(want))
}

// prefixedRow is a row whose first column is scanned into first.
type prefixedRow struct {
	Row
	first any
}

// Scan implements [Row].
func (r prefixedRow) Scan(dest ...any) error { return r.Row.Scan(append([]any{r.first}, dest...)...) }

// changeRunner changes a runner and appends an audit entry, in one transaction.
func (s Shared) changeRunner(ctx context.Context, what, runnerID string, by pending.Actor, steps ...Step) error {
	body, err := json.Marshal(auditRunner{what, Time(Micros(time.Now())), auditPersonOf(by), runnerID})
	if err != nil {
		return fmt.Errorf("store: %s %s: %w", what, runnerID, err)
	}
	return s.e.Apply(ctx, Change{What: what + " " + runnerID, Durability: Durable, Audit: body, Steps: steps})
}

// auditRunner is the audit entry for a decision about a runner; docs/operating/audit.md describes it.
type auditRunner struct {
	What     string      `json:"what"` // runner_created, runner_renamed, runner_labeled, runner_paused, runner_draining, runner_resumed, runner_token_created, runner_token_revoked, runner_removed
	At       time.Time   `json:"at"`
	By       auditPerson `json:"by"`
	RunnerID string      `json:"runner_id"`
}

// RunningByRunner implements [session.RunnerStore].
func (s Shared) RunningByRunner(ctx context.Context) (map[string]int, error) {
	type counted struct {
		runnerID string
		n        int
	}
	all, err := queryAll(ctx, s, "processes of runners", runningByRunner, func(row Row) (c counted, err error) {
		err = row.Scan(&c.runnerID, &c.n)
		return c, err
	})
	running := map[string]int{}
	for _, c := range all {
		running[c.runnerID] = c.n
	}
	return running, err
}

// SetRunnerUse implements [session.RunnerStore].
func (s Shared) SetRunnerUse(ctx context.Context, runnerID string, use session.RunnerUse, by pending.Actor) error {
	what := map[session.RunnerUse]string{session.RunnerPaused: "runner_paused", session.RunnerDraining: "runner_draining"}[use]
	return s.changeRunner(ctx, cmp.Or(what, "runner_resumed"), runnerID, by,
		step(setUse, use == session.RunnerPaused, use == session.RunnerDraining, runnerID))
}

// RenameRunner implements [session.RunnerStore].
func (s Shared) RenameRunner(ctx context.Context, runnerID, name string, by pending.Actor) (sessionIDs []string, err error) {
	if err := s.changeRunner(ctx, "runner_renamed", runnerID, by, step(findRemote, runnerID), step(renameRunner, runnerID, SanitizeText(name)),
		step(bumpNamed, runnerID)); err != nil {
		return nil, err
	}
	return queryAll(ctx, s, "sessions of runner "+runnerID, sessionsOfRunner, scanValue[string], runnerID)
}

// SetRunnerLabels implements [session.RunnerStore].
func (s Shared) SetRunnerLabels(ctx context.Context, runnerID string, labels []string, by pending.Actor) error {
	text := ""
	if labels != nil {
		text = listText(labels)
	}
	return s.changeRunner(ctx, "runner_labeled", runnerID, by, step(setGivenLabels, SanitizeText(text), runnerID))
}

// ReleaseLease implements [session.RunnerStore].
func (s Shared) ReleaseLease(ctx context.Context, l session.Lease) error {
	return s.e.Apply(ctx, Change{What: "release the lease of runner " + l.RunnerID, Durability: Durable,
		Steps: []Step{step(releaseLease, l.RunnerID, int64(l.Epoch))}})
}
