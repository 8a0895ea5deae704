package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sayso-dev/sayso/store/postgrestest"
)

// benchPostgres measures the latency of approvals, and requests that read much, with PostgreSQL:
// directly and behind PgBouncer in two modes, in turn.
func benchPostgres(ctx context.Context, s settings) (err error) {
	cluster, err := postgrestest.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	type way struct{ name, dsn, shown string }
	ways := []way{{"direct", cluster.DSN(), "directly"}}
	for _, mode := range []struct{ name, mode string }{{"pgbouncer", "session"}, {"pgbouncer_transaction", "transaction"}} {
		pooler, failed := postgrestest.StartPooler(cluster.DSN(), mode.mode)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, pooler.Close()) }()
		ways = append(ways, way{mode.name, pooler.DSN(), "behind PgBouncer in " + mode.mode + " mode"})
	}
	var recent time.Time
	if err := seeding(ctx, cluster.DSN(), func(to *seed) error {
		err := errors.Join(to.sessionsUpTo(ctx, 10_000), to.textUpTo(ctx, 50_000_000))
		recent = to.recent
		return err
	}); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	trips := map[string][]round{}
	read := map[string]map[string]measurement{}
	for _, way := range ways {
		own := filepath.Join(folder, way.name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return err
		}
		of := s
		of.flags = []string{"--database", way.dsn}
		if read[way.name], err = benchReads(ctx, of, own, recent); err != nil {
			return fmt.Errorf("%s: %w", way.shown, err)
		}
	}
	for n := range s.rounds {
		for _, way := range ways {
			of := s
			of.flags = []string{"--database", way.dsn}
			took, err := approvals(ctx, of, filepath.Join(folder, fmt.Sprintf("%s-%d", way.name, n)))
			if err != nil {
				return fmt.Errorf("%s: %w", way.shown, err)
			}
			trips[way.name] = append(trips[way.name], round{Samples: took})
		}
	}
	measurementHead("PostgreSQL, 10000 sessions and 50 MB of transcripts")
	for _, way := range ways {
		trip := measurement{Part: "postgres", Name: "postgres_" + way.name + "_approval", What: "request → tab → answer at stdin, " + way.shown, Unit: "µs", Rounds: trips[way.name]}
		if way.name != "direct" {
			trip.Anchor = "directly"
			for i := range trip.Rounds {
				trip.Rounds[i].Anchor = trips["direct"][i].Samples
			}
		}
		s.report.add(trip)
		for _, name := range []string{"start", "list", "search_prefix", "search_the", "search_percent", "search_rare", "lately"} {
			m := read[way.name][name]
			m.Part, m.Name, m.What = "postgres", "postgres_"+way.name+"_"+m.Name, m.What+", "+way.shown
			m.Floor = 0 // those of the table are for SQLite
			s.report.add(m)
		}
	}
	return nil
}

// approvals starts a server in a folder and returns how long approvals take there, in µs.
func approvals(ctx context.Context, s settings, folder string) (took []float64, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	t, err := v.tab(ctx)
	if err != nil {
		return nil, err
	}
	defer t.conn.CloseNow()
	const warmUp = 20
	session, err := v.session(ctx, fmt.Sprintf("ask %d 1ms %s", warmUp, filepath.Join(folder, "warm-up")))
	if err != nil {
		return nil, err
	}
	if _, err := answerTurn(ctx, t, session, warmUp); err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "round")
	if err := v.send(ctx, session, fmt.Sprintf("ask %d %s %s", samples, gap, file)); err != nil {
		return nil, err
	}
	if _, err := answerTurn(ctx, t, session, samples); err != nil {
		return nil, err
	}
	trips, err := readDurations(file)
	return inUnit(time.Microsecond, trips), err
}
