package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/runner"
)

// errNotElsewhere: no other server drives a session.
var errNotElsewhere = errors.New("cluster: no other server drives the session")

// lookingTimeout bounds a call of Looking.
const lookingTimeout = 3 * time.Second

// ReportViewers reports the viewers of a session on this server to the other servers. It does not
// block. A later call for the same session replaces an earlier one that was not sent yet.
func (c *Cluster) ReportViewers(v Viewers) {
	c.mu.Lock()
	if len(c.peers) > 0 { // a new peer is sent all viewers anyway
		c.viewers[v.SessionID] = v
	}
	c.mu.Unlock()
	wake(c.announce)
}

// sendViewers passes the changed viewers to all peers.
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

// addViewers adds changed viewers to those to be sent to the peer.
func (p *peer) addViewers(all []Viewers) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		return // once connected, it is sent all viewers
	}
	for _, v := range all {
		p.changedViewers[v.SessionID] = v
	}
	wake(p.news)
}

// streamViewers sends the peer all viewers on this server, then each change, until ctx ends or a call
// fails.
func (p *peer) streamViewers(ctx context.Context, all []Viewers) {
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
				p.c.o.Log.DebugContext(ctx, "cannot tell another server who views sessions", "name", p.server.Name, "error", err)
				conn.Close(err) // the next connection starts with all viewers again
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
		for _, v := range p.changedViewers {
			all = append(all, v)
		}
		clear(p.changedViewers)
		p.mu.Unlock()
	}
}
