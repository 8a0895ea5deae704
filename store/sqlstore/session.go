package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// sessionColumns is the select list that [SessionRow.Dest] scans, over sessions s and processes p.
const sessionColumns = `s.session_id, s.project_id, s.title, s.cwd, s.model, s.permission_mode, s.allowed_tools, s.owner_id,
	s.archived, s.demo, s.begun, s.origin_session_id, s.origin_entry_id, s.runner_id, s.created_at, s.kind, s.lifecycle, s.in_project, p.updated_at, p.items`

// SessionRow scans one row of [sessionColumns].
type SessionRow struct {
	s                    session.Session
	cwd, tools           []byte
	lifecycle            []byte
	createdAt, updatedAt int64
}

// Dest returns the destinations for Scan.
func (x *SessionRow) Dest() []any {
	return []any{
		&x.s.SessionID, &x.s.ProjectID, &x.s.Title, &x.cwd, &x.s.Model, &x.s.PermissionMode, &x.tools, &x.s.OwnerID,
		&x.s.Archived, &x.s.Demo, &x.s.Begun, &x.s.Origin.SessionID, &x.s.Origin.EntryID, &x.s.RunnerID, &x.createdAt, (*string)(&x.s.Kind), &x.lifecycle, &x.s.InProject, &x.updatedAt, &x.s.Items,
	}
}

// Session returns the scanned row.
func (x *SessionRow) Session() (session.Session, error) {
	s := x.s
	s.CWD = string(x.cwd)
	s.CreatedAt, s.UpdatedAt = Time(x.createdAt), Time(x.updatedAt)
	if err := decodeJSON("lifecycle", x.lifecycle, &s.Lifecycle); err != nil {
		return session.Session{}, err
	}
	return s, decodeJSON("allowed_tools", x.tools, &s.AllowedTools)
}

// readSession reads a row of [sessionColumns].
func readSession(row Row) (session.Session, error) {
	var x SessionRow
	if err := row.Scan(x.Dest()...); err != nil {
		return session.Session{}, err
	}
	return x.Session()
}

// Cursor returns the cursor of the page after this row.
func (x *SessionRow) Cursor() string { return Cursor(x.updatedAt, x.s.SessionID) }

// insertSessionColumns lists the columns of [newSessionValues].
const insertSessionColumns = `session_id, project_id, title, title_folded, cwd, cwd_folded, model, permission_mode,
	allowed_tools, owner_id, archived, demo, begun, origin_session_id, origin_entry_id, runner_id, created_at, kind, lifecycle`

// newSessionValues returns the arguments for an insertion of [insertSessionColumns].
func newSessionValues(s session.Session, bind Bind) ([]any, error) {
	tools, err := encodeJSON(s.AllowedTools, s.AllowedTools == nil)
	if err != nil {
		return nil, fmt.Errorf("allowed_tools: %w", err)
	}
	lifecycle, err := lifecycleColumn(s.Lifecycle)
	if err != nil {
		return nil, err
	}
	return []any{
		s.SessionID, SanitizeText(s.ProjectID), SanitizeText(s.Title), Fold(s.Title), bind(exactBytes(s.CWD)), Fold(s.CWD), SanitizeText(s.Model),
		SanitizeText(s.PermissionMode), bind(tools), SanitizeText(s.OwnerID), s.Archived, s.Demo, s.Begun, SanitizeText(s.Origin.SessionID), SanitizeText(s.Origin.EntryID), SanitizeText(s.RunnerID), Micros(s.CreatedAt),
		SanitizeText(string(s.Kind)), bind(lifecycle),
	}, nil
}

// lifecycleColumn returns the column lifecycle; nil is NULL.
func lifecycleColumn(l *session.Lifecycle) ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	mended := *l
	mended.EventType, mended.PhaseName, mended.PhaseNumber = SanitizeText(l.EventType), SanitizeText(l.PhaseName), SanitizeText(l.PhaseNumber)
	mended.At = Time(Micros(l.At))
	text, err := json.Marshal(mended)
	if err != nil {
		return nil, fmt.Errorf("lifecycle: %w", err)
	}
	return text, nil
}

// PatchValues returns the arguments of an update in which NULL leaves a column unchanged: title,
// title_folded, archived, model, permission_mode, begun.
func PatchValues(p session.Patch) []any {
	values := make([]any, 6)
	if p.Title != nil {
		values[0], values[1] = SanitizeText(*p.Title), Fold(*p.Title)
	}
	if p.Archived != nil {
		values[2] = *p.Archived
	}
	if p.Model != nil {
		values[3] = SanitizeText(*p.Model)
	}
	if p.PermissionMode != nil {
		values[4] = SanitizeText(*p.PermissionMode)
	}
	if p.Begun != nil {
		values[5] = *p.Begun
	}
	return values
}

// ChangesProcess reports whether a patch changes what tabs see of the process.
func ChangesProcess(p session.Patch) bool {
	return p.Title != nil || p.Archived != nil || p.Model != nil || p.PermissionMode != nil
}

// processColumns is the select list that [processRow.dest] scans, over processes p, sessions s and
// runners u.
const processColumns = `p.session_id, s.project_id, s.title, s.cwd, s.demo, s.archived, s.kind, s.lifecycle, s.in_project, s.owner_id, p.version, p.state, p.started_at, p.state_changed_at,
	p.model, p.permission_mode, p.memory, p.cpu, p.pid, p.process_id, s.runner_id, COALESCE(u.name, ''), p.error, p.kill_reason, p.stuck, p.held,
	(SELECT count(*) FROM messages m WHERE m.session_id = p.session_id AND m.sent_at = 0), p.items`

// selectProcesses reads process states with their answerable requests in one statement, and so from
// one snapshot. Each process has one row per request, and at least one. A condition may be
// appended.
var selectProcesses = "SELECT " + processColumns + ", " + joinedRequestColumns + `
	FROM processes p JOIN sessions s ON s.session_id = p.session_id LEFT JOIN runners u ON u.runner_id = s.runner_id
	LEFT JOIN requests r ON r.session_id = p.session_id AND r.status IN ('open', 'orphaned')`

// processOrder groups the rows of a process, oldest request first.
const processOrder = " ORDER BY p.started_at, p.session_id, r.created_at, r.seq"

// processRow scans one row of [selectProcesses].
type processRow struct {
	p                         session.ProcessState
	cwd, lifecycle            []byte
	version, memory           int64
	startedAt, stateChangedAt int64
	request                   RequestRow
}

// dest returns the destinations for Scan.
func (x *processRow) dest() []any {
	return append([]any{
		&x.p.SessionID, &x.p.ProjectID, &x.p.Title, &x.cwd, &x.p.Demo, &x.p.Archived, (*string)(&x.p.Kind), &x.lifecycle, &x.p.InProject, &x.p.OwnerID, &x.version, (*string)(&x.p.State), &x.startedAt,
		&x.stateChangedAt, &x.p.Model, &x.p.PermissionMode, &x.memory, &x.p.CPU, &x.p.PID, &x.p.ProcessID, &x.p.RunnerID, &x.p.NodeID,
		&x.p.Error, &x.p.KillReason, &x.p.Stuck, &x.p.Throttled, &x.p.QueuedMessages, &x.p.Items,
	}, x.request.Dest()...)
}

// addTo adds the scanned row to the states read so far: as a new state, or as another request of
// the last one.
func (x *processRow) addTo(states []session.ProcessState) ([]session.ProcessState, error) {
	last := len(states) - 1
	if last < 0 || states[last].SessionID != x.p.SessionID {
		p := x.p
		p.CWD = string(x.cwd)
		p.Version, p.Memory = uint64(x.version), uint64(x.memory)
		p.StartedAt, p.StateChangedAt = Time(x.startedAt), Time(x.stateChangedAt)
		if err := decodeJSON("lifecycle", x.lifecycle, &p.Lifecycle); err != nil {
			return nil, err
		}
		states = append(states, p)
		last++
	}
	if !x.request.Found() {
		return states, nil
	}
	r, err := x.request.Request()
	if err != nil {
		return nil, err
	}
	states[last].Requests = append(states[last].Requests, r)
	return states, nil
}

// ProcessAssignments sets the columns of [ProcessValues], $1 to $13.
var ProcessAssignments = assignments("state", "started_at", "state_changed_at", "model", "permission_mode", "memory", "cpu", "pid",
	"process_id", "error", "kill_reason", "stuck", "held")

// ProcessValues returns the arguments of [ProcessAssignments].
func ProcessValues(p session.ProcessState) []any {
	return []any{
		string(p.State), Micros(p.StartedAt), Micros(p.StateChangedAt), SanitizeText(p.Model), SanitizeText(p.PermissionMode),
		clampToInt64(p.Memory), finiteOrZero(p.CPU), int64(p.PID), SanitizeText(p.ProcessID), SanitizeText(p.Error),
		SanitizeText(p.KillReason), SanitizeText(p.Stuck), SanitizeText(p.Throttled),
	}
}

// itemColumns is the select list that [itemRow.dest] scans, over an outer-joined item t.
const itemColumns = `COALESCE(t.seq, 0), COALESCE(t.rev, 0), COALESCE(t.key, ''), COALESCE(t.at, 0), COALESCE(t.kind, ''),
	COALESCE(t.agent_id, ''), t.body`

// itemRow scans one row of [itemColumns].
type itemRow struct {
	item session.Item
	key  []byte
	at   int64
	body []byte
}

// dest returns the destinations for Scan.
func (x *itemRow) dest() []any {
	return []any{&x.item.Seq, &x.item.Rev, &x.key, &x.at, (*string)(&x.item.Kind), &x.item.AgentID, &x.body}
}

// Item returns the scanned row. found is false if the join found no item.
func (x *itemRow) Item() (item session.Item, found bool) {
	item = x.item
	item.Key, item.At, item.Body = string(x.key), Time(x.at), x.body
	return item, item.Seq > 0
}

// readItem reads a row of [itemColumns].
func readItem(row Row) (session.Item, error) {
	var x itemRow
	err := row.Scan(x.dest()...)
	item, _ := x.Item()
	return item, err
}

// markColumns is the select list that [readMark] scans, over an outer-joined mark m.
const markColumns = `m.process_id, COALESCE(m.journal_offset, 0), m.memo`

// readMark reads a row of [markColumns]; the Mark is zero if the join found none.
func readMark(row Row) (m session.Mark, err error) {
	var processID []byte
	err = row.Scan(&processID, &m.Offset, &m.Memo)
	m.ProcessID = string(processID)
	return m, err
}

// MarkValues returns the arguments for an insertion into marks: session_id, process_id,
// journal_offset, memo.
func MarkValues(sessionID string, m session.Mark, bind Bind) []any {
	return []any{sessionID, bind(exactBytes(m.ProcessID)), m.Offset, bind(m.Memo)}
}

// SelectFirstPlace selects the place before all queued messages of the same session, in an update of
// messages.
const SelectFirstPlace = "SELECT coalesce(min(waiting.place), 1) - 1 FROM messages AS waiting WHERE waiting.sent_at = 0 AND waiting.session_id = messages.session_id"

// SelectRequeued selects the sent messages of session $1, as seq and their new place in the queue: in the
// order in which they were sent, before the messages that are queued.
const SelectRequeued = `SELECT seq, coalesce((SELECT min(place) FROM messages WHERE sent_at = 0 AND session_id = $1), 0)
	- count(*) OVER () + row_number() OVER (ORDER BY sent_at, place, seq) - 1 AS place
	FROM messages WHERE sent_at <> 0 AND session_id = $1`

// defaultItems is the page size of a transcript if no limit is given.
const defaultItems = 500

// maxPageBytes is the size in bytes at which a page of a transcript ends before it reaches its
// limit.
const maxPageBytes = 2 << 20

// defaultSessions is the page size of the list of sessions if no limit is given.
const defaultSessions = 50

// MessageColumns is the select list that [readMessage] scans.
const MessageColumns = `message_id, session_id, text, attachments, by_user_id, by_name, by_device, created_at, sent_at`

// readMessage reads a row of [MessageColumns].
func readMessage(row Row) (m session.Message, err error) {
	var text, attachments []byte
	var createdAt, sentAt int64
	if err = row.Scan(&m.MessageID, &m.SessionID, &text, &attachments, &m.By.UserID, &m.By.Name, &m.By.Device,
		&createdAt, &sentAt); err != nil {
		return m, err
	}
	m.Text = string(text)
	m.CreatedAt, m.SentAt = Time(createdAt), Time(sentAt)
	return m, decodeJSON("attachments", attachments, &m.Attachments)
}

// NewMessageValues returns the arguments for an insertion of [MessageColumns], for a message that was
// not sent yet.
func NewMessageValues(m session.Message, bind Bind) ([]any, error) {
	attachments, err := encodeJSON(m.Attachments, m.Attachments == nil)
	if err != nil {
		return nil, fmt.Errorf("attachments: %w", err)
	}
	return []any{m.MessageID, m.SessionID, bind(exactBytes(m.Text)), bind(attachments), SanitizeText(m.By.UserID), SanitizeText(m.By.Name),
		SanitizeText(m.By.Device), Micros(m.CreatedAt), int64(0)}, nil
}

// Conditions that exclude the sessions of hidden projects.
const (
	hiddenSQLite   = "NOT IN (SELECT value FROM json_each($4))"
	hiddenPostgres = "<> ALL($4::text[])"
)

const fromSessions = " FROM sessions s JOIN processes p ON p.session_id = s.session_id"

var (
	SelectSession  = query("SELECT " + sessionColumns + fromSessions + " WHERE s.session_id = $1").onAnswerPath()
	selectSessions = queryBoth(pageOfSessions(hiddenSQLite), pageOfSessions(hiddenPostgres))
	searchSessions = queryBoth(searchOfSessions(hiddenSQLite, "instr"), searchOfSessions(hiddenPostgres, "strpos"))
	selectProcess  = query(selectProcesses + " WHERE p.session_id = $1" + processOrder).onAnswerPath()
	selectActive   = query(selectProcesses + ` WHERE p.session_id IN (
		SELECT session_id FROM processes WHERE state <> 'dead' UNION SELECT session_id FROM requests WHERE ` + Answerable + ")" + processOrder)
	selectThrottledSessions = query("SELECT session_id FROM processes WHERE state = 'dead' AND held <> ''")
	// SQLite keeps the order of a CROSS JOIN, so the query starts with the dead processes that changed
	// lately, which are in an index.
	selectAnsweredSessions = query(`SELECT p.session_id FROM processes AS p CROSS JOIN sessions AS s
		WHERE s.session_id = p.session_id AND p.state = 'dead' AND p.updated_at > $1 AND s.runner_id = $2 AND s.kind = '' AND NOT s.archived
		AND EXISTS (SELECT 1 FROM requests AS r WHERE r.session_id = p.session_id AND r.delivery = 'queued')`)
	// A session without a mark has a row too, which distinguishes it from an unknown session.
	selectMark = query("SELECT " + markColumns + " FROM processes p LEFT JOIN marks m ON m.session_id = p.session_id WHERE p.session_id = $1")
	// Every row has the count, so items and total come from one snapshot. If there are no new
	// items, the result is one row without an item.
	selectItems = query("SELECT p.items, " + itemColumns + ` FROM processes p
		LEFT JOIN transcript t ON t.session_id = p.session_id AND t.rev > $1 WHERE p.session_id = $2 ORDER BY t.rev LIMIT $3`)
	selectItem   = query("SELECT " + itemColumns + " FROM transcript t WHERE t.session_id = $1 AND t.key = $2")
	selectQueued = query("SELECT " + MessageColumns + " FROM messages WHERE session_id = $1 AND sent_at = 0 ORDER BY place, seq")

	insertSession = define(insertInto("sessions", insertSessionColumns))
	insertProcess = define(`INSERT INTO processes (session_id, version, updated_at, items, rev, state, started_at, state_changed_at,
		model, permission_mode, memory, cpu, pid, process_id, error, kill_reason, stuck)
		VALUES ($1, 1, $2, 0, 0, 'dead', 0, $3, $4, $5, 0, 0, 0, '', '', '', '')`)
	// Every transaction locks the process before the session.
	incrementVersion = define("UPDATE processes SET version = version + 1, updated_at = $1 WHERE session_id = $2").Require(session.ErrNotFound)
	setLifecycle     = define("UPDATE sessions SET lifecycle = $1 WHERE session_id = $2")
	lockRequests     = Define(Postgres, "SELECT 1 FROM requests WHERE session_id = $1 ORDER BY request_id FOR UPDATE")
	LockMessages     = Define(Postgres, "SELECT 1 FROM messages WHERE session_id = $1 ORDER BY message_id FOR UPDATE")
	deleteSession    = define("DELETE FROM sessions WHERE session_id = $1").Require(session.ErrNotFound)
)

// pageConditions returns the conditions of a page of the list of sessions; hidden is the one on
// their project.
func pageConditions(hidden string) string {
	return "(p.updated_at, p.session_id) < ($1, $2) AND ($3 OR NOT s.archived) AND s.in_project " + hidden
}

// pageOfSessions returns the query for a page of the list of sessions. Dead sessions are read in
// the order of an index. Running ones are few, and in no index, because each change would move
// them. CROSS JOIN keeps SQLite from starting with the other table.
func pageOfSessions(hidden string) string {
	of := func(state string) string {
		return "SELECT * FROM (SELECT " + sessionColumns + ` FROM processes p CROSS JOIN sessions s
		WHERE p.session_id = s.session_id AND p.` + state + " AND " + pageConditions(hidden) + `
		ORDER BY p.updated_at DESC, p.session_id DESC LIMIT $5) AS part`
	}
	return of("state = 'dead'") + " UNION ALL " + of("state <> 'dead'") + " ORDER BY updated_at DESC, session_id DESC LIMIT $5"
}

// searchOfSessions returns the query for a page of the sessions whose title or folder contains a
// text; find is the SQL function for substrings. Because few sessions may match, the query reads all
// of them in the order of the table, which is much faster than in the order of an index.
func searchOfSessions(hidden, find string) string {
	return "SELECT " + sessionColumns + fromSessions + " WHERE " + pageConditions(hidden) + `
		AND (` + find + `(s.title_folded, $6) > 0 OR ` + find + `(s.cwd_folded, $6) > 0)
		ORDER BY p.updated_at DESC, p.session_id DESC LIMIT $5`
}

// CreateSession implements [session.Store].
func (s Shared) CreateSession(ctx context.Context, n session.Session) error {
	values, err := newSessionValues(n, s.e.Bind)
	if err != nil {
		return fmt.Errorf("store: create session %s: %w", n.SessionID, err)
	}
	updatedAt := n.UpdatedAt
	if updatedAt.IsZero() {
		updatedAt = n.CreatedAt
	}
	return s.e.Apply(ctx, Change{What: "create session " + n.SessionID, Duplicate: session.ErrExists, Steps: []Step{
		step(awaitFolderChanges),
		step(insertSession, values...),
		step(placeSession, n.SessionID),
		step(insertProcess, n.SessionID, Micros(updatedAt), Micros(n.CreatedAt), SanitizeText(n.Model), SanitizeText(n.PermissionMode)),
	}})
}

// Session implements [session.Store].
func (s Shared) Session(ctx context.Context, sessionID string) (session.Session, error) {
	return queryOne(ctx, s, "session "+sessionID, SelectSession, session.ErrNotFound, readSession, sessionID)
}

// Sessions implements [session.Store].
func (s Shared) Sessions(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	before, id, err := ParseCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("store: sessions: %w", err)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultSessions
	}
	var hidden any = append([]string{}, q.Hidden...)
	if s.e.Dialect == SQLite {
		list, err := json.Marshal(hidden)
		if err != nil {
			return nil, "", fmt.Errorf("store: sessions: %w", err)
		}
		hidden = string(list)
	}
	statement, args := selectSessions, []any{before, id, q.Archived, hidden, limit + 1}
	if text := Fold(q.Text); text != "" {
		statement, args = searchSessions, append(args, text)
	}
	more := false
	err = s.e.Query(ctx, "sessions", statement, func(row Row) error {
		if len(page) == limit {
			more = true
			return nil
		}
		var x SessionRow
		if err := row.Scan(x.Dest()...); err != nil {
			return err
		}
		found, err := x.Session()
		page, next = append(page, found), x.Cursor()
		return err
	}, args...)
	if err != nil {
		return nil, "", err
	}
	if !more {
		next = ""
	}
	return page, next, nil
}

// SetLifecycle implements [session.Store].
func (s Shared) SetLifecycle(ctx context.Context, sessionID string, l session.Lifecycle) error {
	column, err := lifecycleColumn(&l)
	if err != nil {
		return fmt.Errorf("store: set lifecycle of %s: %w", sessionID, err)
	}
	return s.e.Apply(ctx, Change{What: "set lifecycle of " + sessionID, Steps: []Step{
		step(incrementVersion, time.Now().UnixMicro(), sessionID), step(setLifecycle, s.e.Bind(column), sessionID)}})
}

// DeleteSession implements [session.Store].
func (s Shared) DeleteSession(ctx context.Context, sessionID string) error {
	return s.e.Apply(ctx, Change{What: "delete session " + sessionID, Steps: []Step{
		step(lockRequests, sessionID), step(LockMessages, sessionID), step(lockProcess, sessionID), step(deleteSession, sessionID)}})
}

// ProcessState implements [session.Store].
func (s Shared) ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error) {
	states, err := s.processes(ctx, "process state of "+sessionID, selectProcess, sessionID)
	if err == nil && len(states) == 0 {
		err = fmt.Errorf("store: process state of %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.ProcessState{}, err
	}
	return states[0], nil
}

// ActiveProcesses implements [session.Store].
func (s Shared) ActiveProcesses(ctx context.Context) ([]session.ProcessState, error) {
	return s.processes(ctx, "active processes", selectActive)
}

// ThrottledSessions implements [session.Store].
func (s Shared) ThrottledSessions(ctx context.Context) ([]string, error) {
	return queryAll(ctx, s, "held sessions", selectThrottledSessions, scanValue[string])
}

// AnsweredSessions implements [session.Store].
func (s Shared) AnsweredSessions(ctx context.Context, runnerID string, since time.Time) ([]string, error) {
	return queryAll(ctx, s, "answered sessions of runner "+runnerID, selectAnsweredSessions, scanValue[string], Micros(since), runnerID)
}

func (s Shared) processes(ctx context.Context, what string, q Query, args ...any) (states []session.ProcessState, err error) {
	err = s.e.Query(ctx, what, q, func(row Row) (err error) {
		var x processRow
		if err := row.Scan(x.dest()...); err != nil {
			return err
		}
		states, err = x.addTo(states)
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	return states, nil
}

// Mark implements [session.Store].
func (s Shared) Mark(ctx context.Context, sessionID string) (session.Mark, error) {
	return queryOne(ctx, s, "mark of "+sessionID, selectMark, session.ErrNotFound, readMark, sessionID)
}

// QueuedMessages implements [session.Store].
func (s Shared) QueuedMessages(ctx context.Context, sessionID string) ([]session.Message, error) {
	return queryAll(ctx, s, "queued messages of "+sessionID, selectQueued, readMessage, sessionID)
}

// TranscriptItem implements [session.Store].
func (s Shared) TranscriptItem(ctx context.Context, sessionID, key string) (session.Item, error) {
	return queryOne(ctx, s, "item "+key+" of "+sessionID, selectItem, session.ErrNotFound, readItem, sessionID, s.e.Bind(exactBytes(key)))
}

// Transcript implements [session.Store].
func (s Shared) Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error) {
	if limit <= 0 {
		limit = defaultItems
	}
	page := session.Page{Next: after}
	known, size := false, 0
	err := s.e.Query(ctx, "transcript of "+sessionID, selectItems, func(row Row) error {
		known = true
		if len(page.Items) == limit || size >= maxPageBytes {
			page.More = true
			return nil
		}
		var x itemRow
		if err := row.Scan(append([]any{&page.Total}, x.dest()...)...); err != nil {
			return err
		}
		if item, found := x.Item(); found {
			page.Items, page.Next = append(page.Items, item), item.Rev
			size += len(item.Body)
		}
		return nil
	}, after, sessionID, limit+1)
	if err == nil && !known {
		err = fmt.Errorf("store: transcript of %s: %w", sessionID, session.ErrNotFound)
	}
	if err != nil {
		return session.Page{}, err
	}
	slices.SortFunc(page.Items, func(a, b session.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	return page, nil
}
