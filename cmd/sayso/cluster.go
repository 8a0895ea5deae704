package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/cluster"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/wire"
)

// leaseServer returns what identifies this server in the leases of runners: its id, or its name if no
// other server can use the database.
func (a *app) leaseServer() string {
	if a.shared != nil {
		return a.serverID
	}
	return a.settings.NodeID
}

// listenForServers listens for the other servers of the database.
func (a *app) listenForServers(ctx context.Context) (err error) {
	if a.shared == nil {
		return nil
	}
	address := a.settings.ClusterListen
	if address == "" {
		host, _, err := net.SplitHostPort(a.public.Addr().String())
		if err != nil {
			return fmt.Errorf("the address of this server: %w", err)
		}
		address = net.JoinHostPort(host, "0")
	}
	if a.others, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err != nil {
		return fmt.Errorf("cannot listen for other servers on %s: %w; choose another address with --cluster-listen", address, err)
	}
	a.onClose(a.others.Close)
	return nil
}

// joinServers connects this server with the others of the database.
func (a *app) joinServers(n store.Notifier, refusals *refusal.Table) (err error) {
	several, ok := store.AsCluster(a.opened)
	if !ok || a.others == nil {
		return nil
	}
	a.cluster, err = cluster.New(cluster.Options{
		Store: several, Listener: a.others, Sessions: a.orchestrator, Tabs: a.tabs, Askers: a.agents, Refusals: refusals, Log: a.log,
		Self: session.Server{
			ServerID: a.serverID, Name: a.settings.NodeID, Release: versionText(), Address: reachableAddress(a.others.Addr().String(), a.settings.Database),
		},
		OnLive:   a.tabs.TouchLive,
		OnJoin:   func() { n.NotifyTopic(session.TopicServers, "") },
		OnDriver: a.runners.reachableChanged, Load: a.runners.loadHere,
	})
	if err != nil {
		return err
	}
	a.orchestrator.SetElsewhere(a.cluster)
	a.agents.SetElsewhere(a.cluster)
	a.runners.loadElsewhere = a.cluster.RunnerLoad
	n.ListenTopic(session.TopicServers, func(string) { a.cluster.Changed() })
	n.Listen(a.cluster.LiveChanged)
	n.ListenItems(a.cluster.LiveChanged)
	n.ListenLive(a.cluster.LiveChanged)
	return nil
}

// openPushKey returns the key that signs push messages. All servers of a database use the same key,
// because a browser accepts only messages signed with the key that it was given: the key in the state
// folder becomes the shared one unless the database already has one.
func (a *app) openPushKey(ctx context.Context) (*alert.Key, error) {
	own, err := alert.OpenKey(filepath.Join(a.settings.StateDir, "push-key"))
	several, ok := store.AsCluster(a.opened)
	if err != nil || !ok {
		return own, err
	}
	text, err := several.SharedSecret(ctx, "push key", own.Text())
	if err != nil {
		return nil, err
	}
	return alert.ParseKey("the key in the database", text)
}

// allServers counts what all servers of the database run. It implements [orchestrator.Servers].
type allServers struct {
	store store.Cluster
	here  func() (runnerIDs []string)
}

// servers returns the [orchestrator.Servers], nil for a file.
func (a *app) servers() orchestrator.Servers {
	if several, ok := store.AsCluster(a.opened); ok {
		return allServers{several, func() []string { return a.orchestrator.RunnerIDs() }}
	}
	return nil
}

func (s allServers) Use(ctx context.Context) (map[string]project.SessionUse, int64, error) {
	return s.store.Use(ctx, s.here())
}

func (s allServers) Reserve(ctx context.Context, mark int64, sessionID string, use project.SessionUse) (bool, error) {
	return s.store.ReserveSession(ctx, mark, sessionID, use)
}

func (s allServers) Release(ctx context.Context, sessionID string) error {
	return s.store.ReleaseSession(ctx, sessionID)
}

// reportViewers reports to other servers who reads a session here.
func (a *app) reportViewers(p wire.Presence) {
	if a.cluster != nil {
		a.cluster.ReportViewers(p)
	}
}

// reachableAddress returns the address at which other servers reach a listener. If it listens on all
// addresses, that is the address from which this server reaches the database.
func reachableAddress(listen, database string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return listen
	}
	towards := []string{"192.0.2.1"} // reserved for documentation; reached by the default route
	if u, err := url.Parse(database); err == nil && u.Hostname() != "" {
		towards = []string{u.Hostname(), "192.0.2.1"}
	}
	for _, to := range towards {
		// Nothing is sent to connect a UDP socket.
		if c, err := net.Dial("udp", net.JoinHostPort(to, "9")); err == nil {
			from, ok := c.LocalAddr().(*net.UDPAddr)
			_ = c.Close() // nothing was sent
			if ok {
				return net.JoinHostPort(from.IP.String(), port)
			}
		}
	}
	if name, err := os.Hostname(); err == nil {
		return net.JoinHostPort(name, port)
	}
	return listen
}
