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

// The gap between approvals with several servers, and their number in a round. People answer no faster,
// and servers merge messages to each other that are closer together.
const (
	clusterGap     = 200 * time.Millisecond
	clusterSamples = 110
)

// benchCluster measures the latency of an approval with two servers on one PostgreSQL: in a tab of the
// server that does not drive the session, and in one of the server that does, in turn.
func benchCluster(ctx context.Context, s settings) (err error) {
	database, err := postgrestest.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var servers []*server // the first drives the session
	for _, name := range []string{"driver", "other"} {
		of := s
		of.flags = []string{"--database", database.DSN(), "--node-id", name}
		own := filepath.Join(folder, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return err
		}
		var v *server
		if v, err = startServer(ctx, of, own); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, v.stop()) }()
		servers = append(servers, v)
	}
	turns := 0
	approve := func(in, session string, v *server, count int) ([]float64, error) {
		t, err := v.tab(ctx)
		if err != nil {
			return nil, err
		}
		defer t.conn.CloseNow()
		turns++
		file := filepath.Join(folder, fmt.Sprintf("turn-%d", turns))
		if err := servers[0].send(ctx, session, fmt.Sprintf("ask %d %s %s", count, clusterGap, file)); err != nil {
			return nil, err
		}
		if _, err := answerTurn(ctx, t, session, count); err != nil {
			return nil, fmt.Errorf("in a tab of %s: %w", in, err)
		}
		took, err := readDurations(file)
		return inUnit(time.Microsecond, took), err
	}
	session, err := servers[0].session(ctx, "hello")
	if err != nil {
		return err
	}
	const warmUp = 10
	var rounds []round
	for n := range s.rounds + 1 {
		count := clusterSamples
		if n == 0 {
			count = warmUp
		}
		one, err := approve("the driver", session, servers[0], count)
		if err != nil {
			return err
		}
		other, err := approve("the other server", session, servers[1], count)
		if err != nil {
			return err
		}
		if n > 0 {
			rounds = append(rounds, round{Samples: other, Anchor: one})
		}
	}
	measurementHead(fmt.Sprintf("Two servers, one tab, %s apart", clusterGap))
	const anchor = "a tab of the server that drives the session"
	s.report.add(measurement{Part: "cluster", Name: "cluster_approval_p50", What: "request → tab of another server → answer at stdin", Unit: "µs", Anchor: anchor, Rounds: rounds})
	s.report.add(measurement{Part: "cluster", Name: "cluster_approval_p99", What: "the same", Unit: "µs", Anchor: anchor, Rounds: rounds, Percentile: 99, Floor: 5})
	return nil
}
