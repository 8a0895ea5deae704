package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/session"
)

// gracePeriodsTimeout bounds the calls of GracePeriods.
const gracePeriodsTimeout = 3 * time.Second

// GracePeriods returns, by request, how long the questions of agents must at least stay open for
// askers that wait on another server, or have left it shortly before. complete is false unless all
// servers of the database answered: one may be unreachable, or of a release that does not know the call.
func (c *Cluster) GracePeriods(ctx context.Context, requestIDs []string) (periods map[string]time.Duration, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, gracePeriodsTimeout)
	defer cancel()
	c.mu.Lock()
	complete = c.servers != nil // it has been read which servers there are
	var others []session.Server
	var peers []*peer
	for id, s := range c.servers {
		if id != c.o.Self.ServerID {
			others, peers = append(others, s), append(peers, c.peers[id]) // nil for one that was just read
		}
	}
	c.mu.Unlock()
	var asking sync.WaitGroup
	var mu sync.Mutex // protects the results
	periods = map[string]time.Duration{}
	for i, p := range peers {
		asking.Go(func() {
			there, err := p.gracePeriods(ctx, requestIDs)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.o.Log.DebugContext(ctx, "cannot ask another server whether askers wait there", "name", others[i].Name, "error", err)
				complete = false
			}
			for id, period := range there {
				periods[id] = max(periods[id], period)
			}
		})
	}
	asking.Wait()
	return periods, complete
}

// gracePeriods calls GracePeriods on the peer.
func (p *peer) gracePeriods(ctx context.Context, requestIDs []string) (periods map[string]time.Duration, err error) {
	conn, err := p.connection()
	if err == nil {
		err = runner.Invoke(ctx, conn, "GracePeriods", []any{requestIDs}, &periods)
	}
	return periods, err
}

// GracePeriods implements calls.
func (s served) GracePeriods(_ context.Context, requestIDs []string) (map[string]time.Duration, error) {
	return s.c.o.Askers.GracePeriods(requestIDs), nil
}
