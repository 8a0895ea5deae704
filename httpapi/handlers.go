package httpapi

import (
	"time"

	"github.com/sayso-dev/sayso/internal/options"
)

// New returns a server, or an error that names a missing option.
func New(o Options) (*Server, error) {
	if err := options.Check("httpapi", o); err != nil {
		return nil, err
	}
	s := &Server{o: o, started: time.Now()}
	s.setHandlers()
	s.registry = s.newRegistry()
	s.SetAllowedHosts(o.AllowedHosts)
	s.limiter.Failures = o.Store
	s.limiter.SetLimits(o.SignInLimits)
	s.handler = s.middleware(s.mux())
	if o.AccessLog != nil {
		s.handler = s.logAccess(s.handler)
	}
	return s, nil
}

// setHandlers gives each group of handlers its dependencies.
func (s *Server) setHandlers() {
	o := s.o
	s.grantHandlers = grantHandlers{store: o.Store, driver: o.Driver, guard: o.Guard}
	s.folderHandlers = folderHandlers{driver: o.Driver, guard: o.Guard}
	s.limitHandlers = limitHandlers{driver: o.Driver, people: o.Directory}
	s.projectHandlers = projectHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, live: o.Live, people: o.Directory}
	s.searchHandlers = searchHandlers{store: o.Store, guard: o.Guard}
	s.terminalHandlers = terminalHandlers{driver: o.Driver, guard: o.Guard}
	s.preferenceHandlers = preferenceHandlers{store: o.Store, guard: o.Guard, alerts: o.Alerts}
	s.bookmarkHandlers = bookmarkHandlers{store: o.Store, guard: o.Guard, live: o.Live}
	s.templateHandlers = templateHandlers{store: o.Store, commands: o.Commands}
	s.auditHandlers = auditHandlers{store: o.Store, log: o.Log}
	s.previewHandlers = previewHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, rules: o.Rules}
	s.alertHandlers = alertHandlers{alerts: o.Alerts}
	s.settingsHandlers = settingsHandlers{settings: o.Settings}
	s.storageHandlers = storageHandlers{storage: o.Storage}
	s.processHandlers = processHandlers{store: o.Store, driver: o.Driver, live: o.Live, nodeID: o.NodeID, version: o.Version, started: s.started}
	s.runnerHandlers = runnerHandlers{store: o.Store, driver: o.Driver, runners: o.Runners, notifier: o.Notifier}
	s.sessionHandlers = sessionHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, rules: o.Rules, live: o.Live, notifier: o.Notifier}
	s.changesHandlers = changesHandlers{driver: o.Driver, guard: o.Guard}
	s.catalogHandlers = catalogHandlers{driver: o.Driver, guard: o.Guard}
	s.toolsHandlers = toolsHandlers{driver: o.Driver, store: o.Store, guard: o.Guard}
	s.exportHandlers = exportHandlers{store: o.Store, driver: o.Driver, guard: o.Guard, commands: o.Commands, attachments: o.Attachments}
	s.attachmentHandlers = attachmentHandlers{commands: o.Commands, attachments: o.Attachments}
}
