package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// A trail makes the database note each change of a request, of the state of a process, and of the server
// that drives a runner, in the transaction of the change. Where one change had to wait for another, the
// notes are therefore in the order of the changes.
const (
	trailColumns = "what, runner_id, id, state, delivery, held, undone, answer, by_name, process_id, asked, number"
	// noteRequest and the others insert a note about the row NEW. noteRequest ends before the values of
	// answer and asked, which depend on the database.
	noteRequest = `INSERT INTO torture_trail (what, runner_id, id, state, delivery, held, undone, by_name, process_id, answer, asked)
		SELECT 'request', s.runner_id, NEW.request_id, NEW.status, NEW.delivery, NEW.held_command, NEW.taken_back, NEW.by_name, NEW.process_id, `
	noteProcess = `INSERT INTO torture_trail (what, runner_id, id, state, process_id, number)
		SELECT 'process', s.runner_id, NEW.session_id, NEW.state, NEW.process_id, NEW.version`
	noteLease = `INSERT INTO torture_trail (what, runner_id, id, state, number)
		VALUES ('lease', NEW.runner_id, NEW.runner_id, NEW.lease_server, NEW.lease_epoch)`
	ofSession = " FROM sessions AS s WHERE s.session_id = NEW.session_id"

	trailTable = `what text NOT NULL, runner_id text NOT NULL, id text NOT NULL, state text NOT NULL, delivery text NOT NULL DEFAULT '',
	held text NOT NULL DEFAULT '', undone text NOT NULL DEFAULT '', answer text NOT NULL DEFAULT '', by_name text NOT NULL DEFAULT '',
	process_id text NOT NULL DEFAULT '', asked text NOT NULL DEFAULT '', number bigint NOT NULL DEFAULT 0)`

	requestChanges = `((OLD.status, OLD.delivery, OLD.held_command, OLD.taken_back, OLD.by_name) IS DISTINCT FROM
		(NEW.status, NEW.delivery, NEW.held_command, NEW.taken_back, NEW.by_name) OR OLD.answer IS DISTINCT FROM NEW.answer)`
	processChanges = "((OLD.state, OLD.process_id) IS DISTINCT FROM (NEW.state, NEW.process_id) OR NEW.version < OLD.version)"
	leaseChanges   = "((OLD.lease_epoch, OLD.lease_server) IS DISTINCT FROM (NEW.lease_epoch, NEW.lease_server))"
)

// sqliteTrail is the trail of a file, which has one server. Its notes have no time, because that would
// come from the clock of the server.
const sqliteTrail = `
CREATE TABLE torture_trail (n INTEGER PRIMARY KEY AUTOINCREMENT, at bigint NOT NULL DEFAULT 0, server text NOT NULL DEFAULT 'the server', ` + trailTable + `;
CREATE TRIGGER torture_asked AFTER INSERT ON requests BEGIN ` + noteRequest + `coalesce(NEW.answer, ''), NEW.asker_tool_use_id` + ofSession + `; END;
CREATE TRIGGER torture_request AFTER UPDATE ON requests WHEN ` + requestChanges + ` BEGIN ` + noteRequest + `coalesce(NEW.answer, ''), NEW.asker_tool_use_id` + ofSession + `; END;
CREATE TRIGGER torture_process AFTER UPDATE ON processes WHEN ` + processChanges + ` BEGIN ` + noteProcess + ofSession + `; END;
CREATE TRIGGER torture_lease AFTER UPDATE ON runners WHEN ` + leaseChanges + ` BEGIN ` + noteLease + `; END;`

// postgresTrail is the trail of PostgreSQL. Its notes name the server: only they show that one wrote
// although another had taken the lease. It also makes servers reach each other over lines that can fail.
const postgresTrail = `
CREATE TABLE torture_trail (n bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	at bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000000, server text NOT NULL DEFAULT current_setting('application_name'), ` + trailTable + `;
CREATE FUNCTION torture_note_request() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	` + noteRequest + `coalesce(md5(NEW.answer), ''), encode(NEW.asker_tool_use_id, 'escape')` + ofSession + `; RETURN NULL; END $$;
CREATE TRIGGER torture_asked AFTER INSERT ON requests FOR EACH ROW EXECUTE FUNCTION torture_note_request();
CREATE TRIGGER torture_request AFTER UPDATE ON requests FOR EACH ROW WHEN ` + requestChanges + ` EXECUTE FUNCTION torture_note_request();
CREATE FUNCTION torture_note_process() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + noteProcess + ofSession + `; RETURN NULL; END $$;
CREATE TRIGGER torture_process AFTER UPDATE ON processes FOR EACH ROW WHEN ` + processChanges + ` EXECUTE FUNCTION torture_note_process();
CREATE FUNCTION torture_note_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + noteLease + `; RETURN NULL; END $$;
CREATE TRIGGER torture_lease AFTER UPDATE ON runners FOR EACH ROW WHEN ` + leaseChanges + ` EXECUTE FUNCTION torture_note_lease();

CREATE TABLE torture_lines (listens text PRIMARY KEY, reached text NOT NULL);
CREATE FUNCTION torture_use_line() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	NEW.address := coalesce((SELECT reached FROM torture_lines WHERE listens = NEW.address), NEW.address); RETURN NEW; END $$;
CREATE TRIGGER torture_line BEFORE INSERT OR UPDATE ON servers FOR EACH ROW EXECUTE FUNCTION torture_use_line();`

// change is a note of the trail.
type change struct {
	N        int64
	At       time.Time // zero if it is unknown
	Server   string
	What     string // request, process or lease
	RunnerID string
	ID       string // of the request, session or runner

	State     string // of the request or process; of a lease the id of the server
	Delivery  string
	Held      string // command
	Undone    string
	Answer    string // its hash
	By        string
	ProcessID string
	Asked     string // tool use of the request
	Number    int64  // version of the process, epoch of the lease
}

// openDatabase opens the database of the run, which its servers may be using.
func (h *harness) openDatabase() (*sql.DB, error) {
	if h.postgres != nil {
		return sql.Open("pgx", h.postgres.DSN())
	}
	return sql.Open("sqlite", filepath.Join(h.options.StateDir(), "sayso.db")+"?_pragma=busy_timeout(10000)")
}

// openTrail makes the database of the run note changes. reached are the addresses at which servers reach
// each other, by those at which they listen.
func (h *harness) openTrail(ctx context.Context, reached map[string]string) (err error) {
	db, err := h.openDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	schema := sqliteTrail
	if h.postgres != nil {
		schema = postgresTrail
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("note changes: %w", err)
	}
	for listens, at := range reached {
		if _, err := db.ExecContext(ctx, "INSERT INTO torture_lines VALUES ($1, $2)", listens, at); err != nil {
			return err
		}
	}
	return nil
}

// readTrail returns the notes of the database, in order.
func (h *harness) readTrail(ctx context.Context) (all []change, err error) {
	db, err := h.openDatabase()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT n, at, server, "+trailColumns+" FROM torture_trail ORDER BY n")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c change
		var at int64
		if err := rows.Scan(&c.N, &at, &c.Server, &c.What, &c.RunnerID, &c.ID, &c.State, &c.Delivery, &c.Held, &c.Undone, &c.Answer, &c.By,
			&c.ProcessID, &c.Asked, &c.Number); err != nil {
			return nil, err
		}
		if at > 0 {
			c.At = time.UnixMicro(at)
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

func (c change) String() string {
	words := []string{c.Server, c.What, c.State, c.Delivery}
	if c.Held != "" {
		words = append(words, "held by "+c.Held)
	}
	if c.Number != 0 {
		words = append(words, fmt.Sprint(c.Number))
	}
	return fmt.Sprintf("note %d: %s", c.N, strings.Join(words, " "))
}
