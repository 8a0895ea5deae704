package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/runner"
)

// errNotElsewhere: no other server drives a session.
var errNotElsewhere = errors.New("cluster: no other server drives the session")

// lookingTimeout bounds how long another server is told who looks at sessions.
const lookingTimeout = 3 * time.Second

// Look says who reads a session here. It never blocks; of several calls for one session, the last counts.
func (c *Cluster) Look(v Viewers) {
	c.mu.Lock()
	if len(c.peers) > 0 { // a new one gets all
		c.viewers[v.SessionID] = v
	}
	c.mu.Unlock()
	wake(c.announce)
}

// sendViewers passes on who reads sessions here.
func (c *Cluster) sendViewers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Viewers, 0, len(c.viewers))
	for _, v := range c.viewers {
		all = append(all, v)
	}
	clear(c.viewers)
	for _, p := range c.peers {
		p.addViewers(all)
	}
}

// addViewers adds to what the peer will be told.
func (p *peer) addViewers(all []Viewers) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		return // it is told everything when it is connected
	}
	for _, v := range all {
		p.looking[v.SessionID] = v
	}
	wake(p.news)
}

// tellViewers tells the peer who reads sessions here, until ctx ends: first all, then what changes.
func (p *peer) tellViewers(ctx context.Context, all []Viewers) {
	for {
		if len(all) > 0 {
			conn, err := p.connection()
			if err != nil {
				return
			}
			calling, cancel := context.WithTimeout(ctx, lookingTimeout)
			err = runner.Invoke(calling, conn, "Looking", []any{all})
			cancel()
			if err != nil && ctx.Err() == nil {
				p.c.o.Log.DebugContext(ctx, "another server does not know who looks at sessions", "name", p.server.Name, "error", err)
				conn.Close(err) // the next connection tells everything again
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-p.news:
		}
		p.mu.Lock()
		all = all[:0]
		for _, v := range p.looking {
			all = append(all, v)
		}
		clear(p.looking)
		p.mu.Unlock()
	}
}
