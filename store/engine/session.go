package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sayso-dev/sayso/session"
)

// SessionColumns is the select list of [SessionRow.Dest] over sessions s and
// processes p.
const SessionColumns = `s.session_id, s.project_id, s.title, s.cwd, s.model, s.permission_mode, s.allowed_tools, s.owner_id,
	s.archived, s.demo, s.begun, s.created_at, s.kind, s.lifecycle, s.in_project, p.updated_at, p.items`

// SessionRow takes one row of [SessionColumns].
type SessionRow struct {
	s                    session.Session
	cwd, tools           []byte
	lifecycle            []byte
	createdAt, updatedAt int64
}

// Dest is what to scan into.
func (x *SessionRow) Dest() []any {
	return []any{
		&x.s.SessionID, &x.s.ProjectID, &x.s.Title, &x.cwd, &x.s.Model, &x.s.PermissionMode, &x.tools, &x.s.OwnerID,
		&x.s.Archived, &x.s.Demo, &x.s.Begun, &x.createdAt, (*string)(&x.s.Kind), &x.lifecycle, &x.s.InProject, &x.updatedAt, &x.s.Items,
	}
}

// Session is the row that was scanned.
func (x *SessionRow) Session() (session.Session, error) {
	s := x.s
	s.CWD = string(x.cwd)
	s.CreatedAt, s.UpdatedAt = Time(x.createdAt), Time(x.updatedAt)
	if err := decode("lifecycle", x.lifecycle, &s.Lifecycle); err != nil {
		return session.Session{}, err
	}
	return s, decode("allowed_tools", x.tools, &s.AllowedTools)
}

// ReadSession reads a row of [SessionColumns].
func ReadSession(row Row) (session.Session, error) {
	var x SessionRow
	if err := row.Scan(x.Dest()...); err != nil {
		return session.Session{}, err
	}
	return x.Session()
}

// Cursor is the place after this row.
func (x *SessionRow) Cursor() string { return Cursor(x.updatedAt, x.s.SessionID) }

// InsertSessionColumns are the columns of [NewSessionValues].
const InsertSessionColumns = `session_id, project_id, title, title_folded, cwd, cwd_folded, model, permission_mode,
	allowed_tools, owner_id, archived, demo, begun, created_at, kind, lifecycle`

// NewSessionValues are the arguments of an insertion into sessions.
func NewSessionValues(s session.Session, bind Bind) ([]any, error) {
	tools, err := encode(s.AllowedTools, s.AllowedTools == nil)
	if err != nil {
		return nil, fmt.Errorf("allowed_tools: %w", err)
	}
	lifecycle, err := Lifecycle(s.Lifecycle)
	if err != nil {
		return nil, err
	}
	return []any{
		s.SessionID, Shown(s.ProjectID), Shown(s.Title), Fold(s.Title), bind(exact(s.CWD)), Fold(s.CWD), Shown(s.Model),
		Shown(s.PermissionMode), bind(tools), Shown(s.OwnerID), s.Archived, s.Demo, s.Begun, Micros(s.CreatedAt),
		Shown(string(s.Kind)), bind(lifecycle),
	}, nil
}

// Lifecycle is the column of what was reported last; nil is NULL.
func Lifecycle(l *session.Lifecycle) ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	mended := *l
	mended.EventType, mended.PhaseName, mended.PhaseNumber = Shown(l.EventType), Shown(l.PhaseName), Shown(l.PhaseNumber)
	mended.At = Time(Micros(l.At))
	text, err := json.Marshal(mended)
	if err != nil {
		return nil, fmt.Errorf("lifecycle: %w", err)
	}
	return text, nil
}

// PatchValues are the arguments of an update that leaves a column alone where
// its argument is NULL: title, title_folded, archived, model, permission_mode,
// begun.
func PatchValues(p session.Patch) []any {
	values := make([]any, 6)
	if p.Title != nil {
		values[0], values[1] = Shown(*p.Title), Fold(*p.Title)
	}
	if p.Archived != nil {
		values[2] = *p.Archived
	}
	if p.Model != nil {
		values[3] = Shown(*p.Model)
	}
	if p.PermissionMode != nil {
		values[4] = Shown(*p.PermissionMode)
	}
	if p.Begun != nil {
		values[5] = *p.Begun
	}
	return values
}

// Seen reports whether a patch changes what a tab sees.
func Seen(p session.Patch) bool {
	return p.Title != nil || p.Archived != nil || p.Model != nil || p.PermissionMode != nil
}

// processColumns are those of [ProcessRow.Dest], over processes p and sessions s.
const processColumns = `p.session_id, s.project_id, s.title, s.cwd, s.demo, s.archived, s.kind, s.lifecycle, s.in_project, s.owner_id, p.version, p.state, p.started_at, p.state_changed_at,
	p.model, p.permission_mode, p.memory, p.cpu, p.pid, p.process_id, p.node_id, p.error, p.kill_reason, p.stuck, p.held,
	(SELECT count(*) FROM messages m WHERE m.session_id = p.session_id AND m.sent_at = 0), p.items`

// SelectProcesses reads process states with their answerable requests, one row
// for each request and at least one for each process, in one statement: so all
// of it is one snapshot. It ends after the joins; the caller adds WHERE and
// [ProcessOrder].
var SelectProcesses = "SELECT " + processColumns + ", " + joinedRequestColumns + `
	FROM processes p JOIN sessions s ON s.session_id = p.session_id
	LEFT JOIN requests r ON r.session_id = p.session_id AND r.status IN ('open', 'orphaned')`

// ProcessOrder keeps the rows of one process together and its requests oldest
// first.
const ProcessOrder = " ORDER BY p.started_at, p.session_id, r.created_at, r.seq"

// SelectHeldSessions is the ids of the sessions that would go on and cannot.
const SelectHeldSessions = "SELECT session_id FROM processes WHERE state = 'dead' AND held <> ''"

// ProcessRow takes one row of [SelectProcesses].
type ProcessRow struct {
	p                         session.ProcessState
	cwd, lifecycle            []byte
	version, memory           int64
	startedAt, stateChangedAt int64
	request                   RequestRow
}

// Dest is what to scan into.
func (x *ProcessRow) Dest() []any {
	return append([]any{
		&x.p.SessionID, &x.p.ProjectID, &x.p.Title, &x.cwd, &x.p.Demo, &x.p.Archived, (*string)(&x.p.Kind), &x.lifecycle, &x.p.InProject, &x.p.OwnerID, &x.version, (*string)(&x.p.State), &x.startedAt,
		&x.stateChangedAt, &x.p.Model, &x.p.PermissionMode, &x.memory, &x.p.CPU, &x.p.PID, &x.p.ProcessID, &x.p.NodeID,
		&x.p.Error, &x.p.KillReason, &x.p.Stuck, &x.p.Held, &x.p.QueuedMessages, &x.p.Items,
	}, x.request.Dest()...)
}

// AddTo appends the row to the states read so far: a new one, or one more
// request of the last.
func (x *ProcessRow) AddTo(states []session.ProcessState) ([]session.ProcessState, error) {
	last := len(states) - 1
	if last < 0 || states[last].SessionID != x.p.SessionID {
		p := x.p
		p.CWD = string(x.cwd)
		p.Version, p.Memory = uint64(x.version), uint64(x.memory)
		p.StartedAt, p.StateChangedAt = Time(x.startedAt), Time(x.stateChangedAt)
		if err := decode("lifecycle", x.lifecycle, &p.Lifecycle); err != nil {
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

// SaveProcess is the assignment of [ProcessValues]; placeholder names them from 1.
func SaveProcess(placeholder func(n int) string) string {
	columns := []string{"state", "started_at", "state_changed_at", "model", "permission_mode", "memory", "cpu", "pid",
		"process_id", "node_id", "error", "kill_reason", "stuck", "held"}
	for i, name := range columns {
		columns[i] = name + " = " + placeholder(i+1)
	}
	return strings.Join(columns, ", ")
}

// ProcessValues are the arguments of [SaveProcess].
func ProcessValues(p session.ProcessState) []any {
	return []any{
		string(p.State), Micros(p.StartedAt), Micros(p.StateChangedAt), Shown(p.Model), Shown(p.PermissionMode),
		number(p.Memory), fraction(p.CPU), int64(p.PID), Shown(p.ProcessID), Shown(p.NodeID), Shown(p.Error),
		Shown(p.KillReason), Shown(p.Stuck), Shown(p.Held),
	}
}

// ItemColumns is the select list of [ItemRow.Dest], for an item t that an outer
// join may not have found.
const ItemColumns = `COALESCE(t.seq, 0), COALESCE(t.rev, 0), COALESCE(t.key, ''), COALESCE(t.at, 0), COALESCE(t.kind, ''),
	COALESCE(t.agent_id, ''), t.body`

// ItemRow takes one row of [ItemColumns].
type ItemRow struct {
	item session.Item
	key  []byte
	at   int64
	body []byte
}

// Dest is what to scan into.
func (x *ItemRow) Dest() []any {
	return []any{&x.item.Seq, &x.item.Rev, &x.key, &x.at, (*string)(&x.item.Kind), &x.item.AgentID, &x.body}
}

// Item is the row that was scanned, if the join found one.
func (x *ItemRow) Item() (item session.Item, found bool) {
	item = x.item
	item.Key, item.At, item.Body = string(x.key), Time(x.at), x.body
	return item, item.Seq > 0
}

// MarkColumns is the select list of [ReadMark], for a mark m that an outer
// join may not have found.
const MarkColumns = `m.process_id, COALESCE(m.journal_offset, 0), m.memo`

// ReadMark reads a row of [MarkColumns], zero where the join found none.
func ReadMark(row Row) (m session.Mark, err error) {
	var processID []byte
	err = row.Scan(&processID, &m.Offset, &m.Memo)
	m.ProcessID = string(processID)
	return m, err
}

// MarkValues are the arguments of an insertion into marks: session_id,
// process_id, journal_offset, memo.
func MarkValues(sessionID string, m session.Mark, bind Bind) []any {
	return []any{sessionID, bind(exact(m.ProcessID)), m.Offset, bind(m.Memo)}
}

// QueueOrder is the order in which messages wait.
const QueueOrder = " ORDER BY place, created_at, seq"

// FirstPlace is the place before all that wait in the session of a row of messages.
const FirstPlace = "SELECT coalesce(min(waiting.place), 1) - 1 FROM messages AS waiting WHERE waiting.sent_at = 0 AND waiting.session_id = messages.session_id"

// Requeued are the sent messages of a session, as seq and the place in the queue
// to which they go back: in the order in which they were sent, before what waits.
func Requeued(sessionID string) string {
	return `SELECT seq, coalesce((SELECT min(place) FROM messages WHERE sent_at = 0 AND session_id = ` + sessionID + `), 0)
		- count(*) OVER () + row_number() OVER (ORDER BY sent_at, place, created_at, seq) - 1 AS place
		FROM messages WHERE sent_at <> 0 AND session_id = ` + sessionID
}

// DefaultItems is the page of a transcript when no limit is given.
const DefaultItems = 500

// DefaultSessions is the page of a list of sessions when no limit is given.
const DefaultSessions = 50

// MessageColumns is the select list of [ReadMessage].
const MessageColumns = `message_id, session_id, text, attachments, by_user_id, by_name, by_device, created_at, sent_at`

// ReadMessage reads a row of [MessageColumns].
func ReadMessage(row Row) (m session.Message, err error) {
	var text, attachments []byte
	var createdAt, sentAt int64
	if err = row.Scan(&m.MessageID, &m.SessionID, &text, &attachments, &m.By.UserID, &m.By.Name, &m.By.Device,
		&createdAt, &sentAt); err != nil {
		return m, err
	}
	m.Text = string(text)
	m.CreatedAt, m.SentAt = Time(createdAt), Time(sentAt)
	return m, decode("attachments", attachments, &m.Attachments)
}

// NewMessageValues are the arguments of an insertion of [MessageColumns] of a
// message that waits.
func NewMessageValues(m session.Message, bind Bind) ([]any, error) {
	attachments, err := encode(m.Attachments, m.Attachments == nil)
	if err != nil {
		return nil, fmt.Errorf("attachments: %w", err)
	}
	return []any{m.MessageID, m.SessionID, bind(exact(m.Text)), bind(attachments), Shown(m.By.UserID), Shown(m.By.Name),
		Shown(m.By.Device), Micros(m.CreatedAt), int64(0)}, nil
}
