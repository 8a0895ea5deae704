package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/store/postgrestest"
)

// The load of the sizing: sessions that write, and one tab that reads all of them.
const (
	sizedSessions = 20
	sizedDeltas   = 100 // of each session in a round: 5 seconds
	sizedWait     = 3 * time.Second
)

// benchSizing measures what people and sessions cost a server and its PostgreSQL, in CPU time
// and bytes of the log. Unlike durations, these hardly depend on other load, and they show
// what saturates first.
func benchSizing(ctx context.Context, s settings) (err error) {
	cluster, err := postgrestest.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	db, err := sql.Open("pgx", cluster.DSN())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	s.flags = []string{"--database", cluster.DSN()}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	t, err := v.tab(ctx)
	if err != nil {
		return err
	}
	defer t.conn.CloseNow()
	ids, err := startIdle(ctx, v, t, sizedSessions)
	if err != nil {
		return err
	}
	reader, err := v.tab(ctx)
	if err != nil {
		return err
	}
	defer reader.conn.CloseNow()
	for _, id := range ids {
		if err := reader.subscribe(ctx, id); err != nil {
			return err
		}
	}
	go reader.discard(ctx) // until the connection is closed

	work := []struct {
		name, what string
		count      int
		do         func(round int) error
	}{
		{"idle_second", fmt.Sprintf("a second with %d sessions that rest", sizedSessions), int(sizedWait / time.Second), func(int) error {
			time.Sleep(sizedWait)
			return nil
		}},
		{"approval", "an approval in one tab", samples, func(round int) error {
			if err := v.send(ctx, ids[0], fmt.Sprintf("ask %d %s %s", samples, gap, filepath.Join(folder, fmt.Sprintf("round-%d", round)))); err != nil {
				return err
			}
			_, err := answerTurn(ctx, t, ids[0], samples)
			return err
		}},
		{"turn", "a message and a short reply", sizedSessions, func(int) error {
			for _, id := range ids {
				if err := v.send(ctx, id, "hello"); err != nil {
					return err
				}
			}
			return awaitUserTurns(ctx, t, ids...)
		}},
		{"delta", "40 bytes of a reply, to one tab", sizedSessions * sizedDeltas, func(int) error {
			for _, id := range ids {
				if err := v.send(ctx, id, fmt.Sprintf("deltas %d %s %d", sizedDeltas, deltaGap, deltaBytes)); err != nil {
					return err
				}
			}
			return awaitUserTurns(ctx, t, ids...)
		}},
	}
	rows := map[string]*measurement{}
	row := func(name, what, unit string, value float64) {
		if rows[name] == nil {
			rows[name] = &measurement{Part: "sizing", Name: "sizing_" + name, What: what, Unit: unit}
		}
		rows[name].Rounds = append(rows[name].Rounds, round{Samples: []float64{value}})
	}
	for n := range s.rounds {
		for _, w := range work {
			before, err := takeUsage(ctx, v, db)
			if err == nil {
				err = w.do(n)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			time.Sleep(time.Second) // what is done later, such as indexing
			after, err := takeUsage(ctx, v, db)
			if err != nil {
				return err
			}
			count := float64(w.count)
			row(w.name+"_server", w.what+": CPU of the server", "µs", float64((after.server-before.server).Microseconds())/count)
			row(w.name+"_postgres", w.what+": CPU of PostgreSQL", "µs", float64((after.postgres-before.postgres).Microseconds())/count)
			row(w.name+"_log", w.what+": log of PostgreSQL", "KB", float64(after.log-before.log)/1000/count)
		}
	}
	measurementHead("What a server and its PostgreSQL spend")
	for _, w := range work {
		for _, of := range []string{"server", "postgres", "log"} {
			s.report.add(*rows[w.name+"_"+of])
		}
	}
	return nil
}

// usage is what a server and its PostgreSQL have spent so far.
type usage struct {
	server, postgres time.Duration // CPU time
	log              int64         // bytes
}

func takeUsage(ctx context.Context, v *server, db *sql.DB) (u usage, err error) {
	var pid int
	var log float64
	if err := db.QueryRowContext(ctx, "SELECT pg_backend_pid(), pg_current_wal_lsn() - '0/0'::pg_lsn").Scan(&pid, &log); err != nil {
		return u, err
	}
	u.server, u.log = v.processor(), int64(log)
	parent, err := parentOf(pid)
	if err != nil {
		return u, err
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return u, err
	}
	for _, folder := range folders {
		var child int
		if _, err := fmt.Sscan(filepath.Base(folder), &child); err != nil {
			continue
		}
		if of, err := parentOf(child); err == nil && of == parent || child == parent {
			u.postgres += processor(child)
		}
	}
	return u, nil
}

// parentOf returns the parent of a process.
func parentOf(pid int) (parent int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	var state string
	_, err = fmt.Sscan(rest, &state, &parent)
	return parent, err
}
