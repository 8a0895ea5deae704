package postgres

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

// Intervals and sizes of a [Notifier].
const (
	// sendInterval limits a server to 20 notifications a second, each for all changes since the last.
	sendInterval = 50 * time.Millisecond
	// pollInterval bounds the delay with which a change is noticed whose notification was lost.
	pollInterval = 2 * time.Second
	// maxPayload bounds a notification, in bytes. PostgreSQL refuses 8000 or more.
	maxPayload = 7900
	// notifierTimeout bounds each call. After a timeout, the connection is replaced.
	notifierTimeout   = 5 * time.Second
	maxReconnectDelay = 2 * time.Second
)

// Notifier announces changes of sessions to this server's listeners and to the other servers of a
// database. NOTIFY carries only ids and is sent after the commit. A poll finds changes whose
// notification was lost. Both use one dedicated connection.
//
// The embedded [session.LocalNotifier] notifies the listeners of this server of its own changes at
// once. They are notified of the changes of other servers while [Notifier.Run] runs.
type Notifier struct {
	session.LocalNotifier

	dsn string
	log *slog.Logger
	id  string // of this notifier, which ignores its own notifications

	mu      sync.Mutex // protects following
	pending map[string]bool
	wake    func() // interrupts the wait for notifications; nil while Run does not wait

	// The fields below belong to Run.
	channel  string // of NOTIFY
	polls    bool   // the connection receives no notifications, for example because it is shared
	sentAt   time.Time
	polledAt time.Time
	since    string              // the last poll saw all transactions before this one; "" before the first poll
	sessions map[string]struct{} // the session ids that existed at the last poll
	counts   map[topicKey]int64  // the number of rows that existed at the last poll
}

// topicKey identifies a part of a topic that is announced separately.
type topicKey struct{ topic, key string }

// NewNotifier returns a notifier for the database at a postgres:// URL. It does not connect.
func NewNotifier(dsn string, log *slog.Logger) (*Notifier, error) {
	if _, err := parseConfig(dsn); err != nil {
		return nil, err
	}
	return &Notifier{dsn: dsn, log: log, id: rand.Text()[:12], pending: map[string]bool{}}, nil
}

// Notify implements [session.Notifier].
func (n *Notifier) Notify(sessionID string) {
	n.LocalNotifier.Notify(sessionID)
	n.announce(sessionID, true)
}

// NotifyItems announces that only the transcript of a session has changed.
func (n *Notifier) NotifyItems(sessionID string) {
	n.LocalNotifier.NotifyItems(sessionID)
	n.announce(sessionID, false)
}

// NotifyDeferred notifies the listeners of this server a little later; see
// [session.LocalNotifier.NotifyDeferred].
func (n *Notifier) NotifyDeferred(sessionID string) {
	n.LocalNotifier.NotifyDeferred(sessionID)
	n.announce(sessionID, true)
}

// NotifyTopic implements [session.LocalNotifier] for a database with other servers.
func (n *Notifier) NotifyTopic(topic session.Topic, key string) {
	n.announce(topicMark+string(topic)+":"+key, true)
}

// announce adds a session to the next notification for other servers. state is false if only its
// transcript changed.
func (n *Notifier) announce(sessionID string, state bool) {
	n.mu.Lock()
	first := len(n.pending) == 0
	n.pending[sessionID] = n.pending[sessionID] || state
	wake := n.wake
	n.mu.Unlock()
	if first && wake != nil {
		wake()
	}
}

// Run connects, and sends and receives notifications until ctx ends. It replaces a lost connection,
// and then announces everything to the listeners.
func (n *Notifier) Run(ctx context.Context) error {
	delay := time.Duration(0)
	for ctx.Err() == nil {
		ready, err := n.serve(ctx)
		if ready {
			delay = 0
		}
		if ctx.Err() != nil {
			break
		}
		n.log.DebugContext(ctx, "the connection for notifications was lost; connecting again", "error", err)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		delay = min(max(2*delay, 50*time.Millisecond), maxReconnectDelay)
	}
	return nil
}

// serve uses one connection until it is lost or ctx ends. ready reports whether the connection has
// worked.
func (n *Notifier) serve(ctx context.Context) (ready bool, err error) {
	conn, err := n.connect(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = closeConnection(ctx, conn) }() // it is lost, or no longer needed
	// Notifications sent before LISTEN were missed, and a failover may have led to a database that
	// lost changes.
	n.since = ""
	for {
		now := time.Now()
		if now.Sub(n.polledAt) >= pollInterval || n.since == "" {
			if err := n.poll(ctx, conn); err != nil {
				return ready, err
			}
			n.polledAt, ready = now, true
		}
		if now.Sub(n.sentAt) >= sendInterval {
			sent, err := n.send(ctx, conn)
			if err != nil {
				return ready, err
			}
			if sent {
				n.sentAt = now
			}
		}
		if err := n.wait(ctx, conn); err != nil {
			return ready, err
		}
	}
}

// connect opens the connection and starts to listen. If no notifications can arrive, as over a pooler
// in transaction mode, it sets polls.
func (n *Notifier) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, notifierTimeout)
	defer cancel()
	pool, err := parseConfig(n.dsn)
	if err != nil {
		return nil, err
	}
	config := pool.ConnConfig
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // a pooler needs it; its cost is small here
	conn, shared, err := connect(ctx, config, keepAlive)
	if err != nil {
		return nil, err
	}
	n.polls = shared
	if err = conn.QueryRow(ctx, notifyChannel.Text(sqlstore.Postgres)).Scan(&n.channel); err == nil && !n.polls {
		n.polls, err = n.listen(ctx, config, conn)
	}
	if err != nil {
		_ = closeConnection(ctx, conn) // the earlier error is the cause
		return nil, err
	}
	if n.polls {
		n.log.WarnContext(ctx, "no notifications arrive through the connection pooler, so changes of other servers are noticed up to 2 seconds late; use pool_mode = session, or the address of PostgreSQL itself")
	}
	return conn, nil
}

// probeTimeout bounds the wait for a notification that a server sends to itself.
const probeTimeout = 2 * time.Second

// listen starts to listen. mustPoll reports whether no notifications arrive. If there is a pooler, listen
// tests that with a notification that it sends over another connection.
func (n *Notifier) listen(ctx context.Context, config *pgx.ConnConfig, conn *pgx.Conn) (mustPoll bool, err error) {
	if _, err := conn.Exec(ctx, "LISTEN "+n.channel); err != nil {
		return false, err
	}
	pid, err := backend(ctx, conn.PgConn())
	if err != nil || pid == conn.PgConn().PID() { // no pooler
		return false, err
	}
	other, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer other.Close(ctx)
	if _, err := other.Exec(ctx, notifyServers.Text(sqlstore.Postgres), n.channel, n.id); err != nil {
		return false, err
	}
	waiting, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for {
		notification, err := conn.WaitForNotification(waiting)
		switch {
		case notification != nil && notification.Payload == n.id:
			return false, nil
		case notification != nil: // of another server; the first poll finds its changes
		case waiting.Err() != nil && ctx.Err() == nil && !conn.IsClosed():
			return true, nil
		default:
			return false, err
		}
	}
}

// wait handles the next notification. It returns when it has done so, when a poll or pending
// notification is due, or when wake was called.
func (n *Notifier) wait(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	due := n.polledAt.Add(pollInterval)
	n.mu.Lock()
	if len(n.pending) > 0 {
		if next := n.sentAt.Add(sendInterval); next.Before(due) {
			due = next
		}
	} else {
		n.wake = cancel
	}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.wake = nil
		n.mu.Unlock()
	}()
	waiting, stop := context.WithDeadline(waiting, due)
	defer stop()
	if n.polls {
		<-waiting.Done()
		return ctx.Err()
	}
	notification, err := conn.WaitForNotification(waiting)
	switch {
	case notification != nil:
		n.receive(notification)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case waiting.Err() != nil && !conn.IsClosed():
		return nil // woken
	}
	return err
}

// itemsMark precedes the id of a session if only its transcript has changed.
const itemsMark = "-"

// topicMark precedes a topic, a colon and a key.
const topicMark = "+"

// pollMark replaces a list of ids that does not fit. Its receivers poll.
const pollMark = "*"

// send announces the pending changes to other servers, and reports whether there were any. The
// payload is the id of the sender, followed by those of the sessions. If send fails, the changes stay
// pending.
func (n *Notifier) send(ctx context.Context, conn *pgx.Conn) (sent bool, err error) {
	n.mu.Lock()
	list := n.pending
	n.pending = map[string]bool{}
	n.mu.Unlock()
	if len(list) == 0 {
		return false, nil
	}
	var payload strings.Builder
	payload.WriteString(n.id)
	for id, state := range list {
		if payload.Len()+len(id)+2 > maxPayload {
			payload.Reset()
			payload.WriteString(n.id + " " + pollMark)
			break
		}
		payload.WriteByte(' ')
		if !state {
			payload.WriteString(itemsMark)
		}
		payload.WriteString(id)
	}
	ctx, cancel := context.WithTimeout(ctx, notifierTimeout)
	defer cancel()
	if _, err = conn.Exec(ctx, notifyServers.Text(sqlstore.Postgres), n.channel, payload.String()); err != nil {
		n.mu.Lock()
		for id, state := range list {
			n.pending[id] = n.pending[id] || state
		}
		n.mu.Unlock()
	}
	return err == nil, err
}

// receive passes a notification of another server to the listeners.
func (n *Notifier) receive(notification *pgconn.Notification) {
	sender, list, _ := strings.Cut(notification.Payload, " ")
	if notification.Channel != n.channel || sender == n.id {
		return
	}
	for id := range strings.FieldsSeq(list) {
		if id == pollMark {
			n.polledAt = time.Time{}
			return
		}
		if change, isTopic := strings.CutPrefix(id, topicMark); isTopic {
			topic, key, _ := strings.Cut(change, ":")
			n.LocalNotifier.NotifyTopicRemote(session.Topic(topic), key)
			continue
		}
		if id, items := strings.CutPrefix(id, itemsMark); items {
			n.LocalNotifier.NotifyItems(id)
		} else {
			n.LocalNotifier.NotifyRemote(id)
		}
	}
}

var (
	notifyChannel = define("SELECT 'sayso_' || to_hex(hashtext(current_schema()))")
	notifyServers = define("SELECT pg_notify($1, $2)")
	// Every change of a session, its requests, messages or transcript also updates its row in
	// processes. The last poll's snapshot saw that row if its transaction was older than all that
	// were running then. Comparing ages is correct even after transaction ids have wrapped around.
	selectChanges = define(`SELECT pg_snapshot_xmin(pg_current_snapshot())::text, count(*),
		coalesce(array_agg(session_id) FILTER (WHERE $1::text = '' OR age(p.xmin) <= age(nullif($1::text, '')::xid8::xid)), '{}') FROM processes p`)
	selectActiveIDs = define("SELECT session_id FROM processes WHERE state <> 'dead' UNION SELECT session_id FROM requests WHERE " + answerable)
)

// selectTopics selects which parts of the topics have changed, like selectChanges, and the number of
// rows in those whose rows can be deleted. Bookmarks are not counted: only the oldest of more than a
// user may have are deleted, which need not be announced, and counting them would return a row for
// each user. Using a credential also changes its row.
var selectTopics = define(`SELECT topic, key, sum(counted), coalesce(bool_or(age(changed) <= age(nullif($1::text, '')::xid8::xid)), false) FROM (
	SELECT '` + string(session.TopicPeople) + `', '', 0, xmin FROM users UNION ALL
	SELECT '` + string(session.TopicProjects) + `', '', 1, xmin FROM projects UNION ALL
	SELECT '` + string(session.TopicProjects) + `', '', 1, xmin FROM user_limits UNION ALL
	SELECT '` + string(session.TopicSettings) + `', '', 0, xmin FROM settings UNION ALL
	SELECT '` + string(session.TopicGrants) + `', '', 0, xmin FROM grants WHERE revoked_at <> 0 UNION ALL
	SELECT '` + string(session.TopicDrafts) + `', user_id, 1, xmin FROM drafts UNION ALL
	SELECT '` + string(session.TopicBookmarks) + `', user_id, 0, xmin FROM bookmarks
	) AS change (topic, key, counted, changed) GROUP BY topic, key
	HAVING sum(counted) > 0 OR bool_or(age(changed) <= age(nullif($1::text, '')::xid8::xid))`)

// queryChanges returns the ids of the sessions changed by transactions that the poll which returned
// since did not see, the number of all sessions, and the value of since for the next poll. If since
// is "", it returns all ids.
func queryChanges(ctx context.Context, conn *pgx.Conn, since string) (next string, count int, changed []string, err error) {
	err = conn.QueryRow(ctx, selectChanges.Text(sqlstore.Postgres), since).Scan(&next, &count, &changed)
	return next, count, changed, err
}

// poll finds the changes of all servers since the last poll, and passes them to the listeners. The
// first poll of a connection announces everything.
//
// A row may become visible after rows that were changed later. So poll does not compare a time or a
// number in the row, but looks for transactions that the last poll did not see.
func (n *Notifier) poll(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, notifierTimeout)
	defer cancel()
	everything := n.since == ""
	// The value for the next poll is taken before the topics are read, so that what commits in between
	// is found by both, not by neither.
	next, count, changed, err := queryChanges(ctx, conn, n.since)
	if err != nil {
		return err
	}
	if err := n.pollTopics(ctx, conn); err != nil {
		return err
	}
	known, existing := n.sessions, changed
	if everything {
		rows, err := conn.Query(ctx, selectActiveIDs.Text(sqlstore.Postgres))
		if err != nil {
			return err
		}
		if changed, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
	} else {
		for _, id := range changed {
			known[id] = struct{}{}
		}
		if len(known) != count {
			if _, _, existing, err = queryChanges(ctx, conn, ""); err != nil {
				return err
			}
		}
	}
	if everything || len(known) != count { // sessions may have been deleted
		n.sessions = make(map[string]struct{}, len(existing))
		for _, id := range existing {
			n.sessions[id] = struct{}{}
		}
		for id := range known {
			if _, exists := n.sessions[id]; !exists {
				changed = append(changed, id)
			}
		}
	}
	n.since = next
	for _, id := range changed {
		n.LocalNotifier.NotifyRemote(id)
	}
	if everything {
		n.LocalNotifier.NotifyAll()
	}
	return nil
}

// pollTopics finds which topics have changed since the last poll. The first poll of a connection
// only counts their rows.
func (n *Notifier) pollTopics(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, selectTopics.Text(sqlstore.Postgres), n.since)
	if err != nil {
		return err
	}
	var (
		now     = map[topicKey]int64{}
		changed = map[topicKey]bool{}
		at      topicKey
		count   int64
		is      bool
	)
	_, err = pgx.ForEachRow(rows, []any{&at.topic, &at.key, &count, &is}, func() error {
		if count > 0 {
			now[at] = count
		}
		if is {
			changed[at] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	for at, count := range n.counts {
		if now[at] != count { // rows were deleted; changed already has those that were added
			changed[at] = true
		}
	}
	n.counts = now
	if n.since == "" {
		return nil
	}
	for at := range changed {
		n.LocalNotifier.NotifyTopicRemote(session.Topic(at.topic), at.key)
	}
	return nil
}
