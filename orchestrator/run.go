package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// run runs the process from start to end. When it returns, either the CLI is gone, its requests
// are settled, and the stored state is dead and has the reason; or the process is detached.
func (p *process) run(ctx context.Context) {
	// Writing must continue during the server's shutdown, until the last state is stored.
	lasting := context.WithoutCancel(ctx)
	stopWriting := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { p.write(lasting, stopWriting) })

	reason := p.startAndDrive(ctx, lasting)
	p.finish(ctx, reason, func() {
		close(stopWriting)
		writing.Wait()
	})
}

// finish settles and stores what is left of a process that is gone or detached.
func (p *process) finish(ctx context.Context, reason string, endWriting func()) {
	lasting := context.WithoutCancel(ctx)
	p.exitedAt = time.Now()

	p.mu.Lock()
	detached, stop := p.state.detached, p.state.stopReason
	kept, _ := p.conn.(launch.JournaledConn)
	p.mu.Unlock()
	if kept != nil {
		defer detach(kept, p.log)
	}
	if !detached {
		p.finalize(ctx, stop, reason)
	}
	p.mu.Lock()
	p.transition(writingEnded{})
	p.written.Broadcast()
	p.mu.Unlock()
	endWriting()
	if err := retryStore(ctx, p.log, "the last state of the process", func() error { return p.flush(lasting) }); err != nil {
		p.log.Error("cannot write the last state of the process", "error", err)
		return
	}
	if detached {
		return
	}
	remove := func(context.Context) error { return nil }
	if kept != nil {
		remove = kept.Remove
	} else if p.conn == nil && p.leftover != nil {
		remove = p.leftover.Remove // the process was never reached
	}
	if err := remove(lasting); err != nil {
		p.log.Warn("cannot clean up after the process", "error", err)
	}
}

// startAndDrive starts or adopts the CLI and drives it until it is gone or detached. It returns
// a sentence about why the CLI ended by itself, or "" after a detach.
func (p *process) startAndDrive(ctx, lasting context.Context) (reason string) {
	if p.leftover != nil {
		conn, err := p.attach(ctx)
		if err == nil {
			return p.drive(ctx, lasting, conn)
		}
		if errors.Is(err, launch.ErrFenced) {
			p.o.leaseLost()
		}
		if ctx.Err() != nil || isElsewhere(err) {
			p.handle(lasting, detachSet{true}) // the next server tries again
			return ""
		}
		p.log.ErrorContext(ctx, "cannot reconnect to the running process", "error", err)
		if err := p.leftover.End(lasting); err != nil {
			p.log.ErrorContext(ctx, "cannot end a process that cannot be reached", "error", err)
		}
		return statement.New("process_unreachable")
	}
	conn, err := p.start(ctx)
	if err == nil {
		return p.drive(ctx, lasting, conn)
	}
	if ctx.Err() != nil || errors.Is(err, launch.ErrUnreachable) {
		// It may run or not; the next server, or the next connection, will tell, and starts it if not.
		p.handle(lasting, detachSet{true})
		return ""
	}
	p.log.ErrorContext(ctx, "cannot start Claude", "error", err)
	return startMessage(err)
}

// start starts the CLI and returns the connection to it.
func (p *process) start(ctx context.Context) (conn launch.Conn, err error) {
	s := p.session
	spec := launch.Process{
		ID: launch.ID{SessionID: s.SessionID, ProcessID: p.processID}, Folder: s.CWD,
		NewSession: p.plan.SessionID, Resume: p.plan.Resume, Fork: p.plan.Fork, ResumeAt: p.plan.ResumeAt, ContinueTurn: p.plan.ContinueTurn,
		Model: s.Model, PermissionMode: s.PermissionMode, AllowBypass: s.PermissionMode == bypass, AllowedTools: s.AllowedTools,
		Demo: s.Demo && p.o.o.Demo != nil,
	}
	if p.o.rules().asksIn(s.CWD) {
		if err := retryStore(ctx, p.log, "the token for questions over MCP", func() (err error) {
			spec.Agent, err = p.o.newAgent(ctx, s.SessionID)
			return err
		}); err != nil {
			// A session that cannot ask over MCP is better than none.
			p.log.ErrorContext(ctx, "Claude cannot ask questions over MCP", "error", err)
		}
	}
	if err := retryStore(ctx, p.log, "the folder settings of a process", func() error {
		settings, err := p.o.recheckSettings(ctx, s, p.plan.settings)
		if err != nil {
			return err
		}
		p.plan.settings = settings
		spec.Trusted = &launch.Trusted{Digest: settings.digest}
		spec.Trusted.Granted, err = p.o.grantedIn(ctx, s.CWD)
		return err
	}); err != nil {
		return nil, err
	}
	spec.UserSettingsOnly, spec.Overrides = p.plan.settings.leaveOut, p.plan.settings.variables
	return p.o.o.Launcher.Open(ctx, spec)
}

// startMessage returns a sentence for people about why the CLI could not be started.
func startMessage(err error) string {
	var invalid *problem.Error
	var failed *launch.Error
	switch {
	case errors.As(err, &invalid):
		return invalid.Message
	case errors.Is(err, ErrUntrusted):
		return statement.New("folder_changed")
	case errors.As(err, &failed):
		return failed.Sentence
	}
	return statement.New("not_started", "detail", err.Error())
}

// hungTimeout is how long a shim may fail to answer before its process is ended. It is long,
// because a machine that is busy, such as after a boot, is no reason to end sessions. The shim
// is tried again after each hungPause.
const (
	hungTimeout = 20 * time.Second
	hungPause   = 200 * time.Millisecond
)

func (p *process) attach(ctx context.Context) (launch.Conn, error) {
	if err := failpoint.Hit("adopt.before_attach"); err != nil {
		return nil, err
	}
	if err := p.o.o.Launcher.ConnectAgent(ctx, p.leftover.ID(), ""); err != nil {
		p.log.ErrorContext(ctx, "Claude cannot ask questions over MCP", "error", err)
	}
	conn, err := p.leftover.Attach(ctx, p.snapshot().offset)
	for began, told := time.Now(), false; errors.Is(err, launch.ErrHung) && time.Since(began) < hungTimeout; told = true {
		if !told {
			p.log.WarnContext(ctx, "the running process does not respond yet; trying again", "error", err)
			p.handle(ctx, attachDelayed{})
		}
		select {
		case <-time.After(hungPause):
		case <-p.kills: // the caller ends it, as it does a process that does not answer
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
		conn, err = p.leftover.Attach(ctx, p.snapshot().offset)
	}
	if err != nil {
		return nil, err
	}
	p.handle(ctx, attached{})
	p.compareWithJournal(ctx, conn)
	if err := failpoint.Hit("adopt.after_attach"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// drive drives a running CLI until it is gone or detached. It returns a sentence about why the
// CLI exited, "" after a detach.
func (p *process) drive(ctx, lasting context.Context, conn launch.Conn) (reason string) {
	client := p.connect(lasting, conn)
	p.handle(lasting, connected{conn.PID()})

	var tasks sync.WaitGroup
	finished := make(chan struct{}) // closed when the CLI is gone and its requests are settled
	alive, cancel := context.WithCancel(lasting)
	defer cancel()
	tasks.Go(func() { p.mcpCalls.run(alive) })
	tasks.Go(func() {
		defer close(finished)
		defer cancel()
		if err := client.Run(lasting); err != nil {
			p.connectionBroke(lasting, conn, err)
		}
	})
	tasks.Go(func() { p.awaitEnd(ctx, finished) })
	tasks.Go(func() {
		select {
		case <-conn.Done():
		case <-finished:
			return
		}
		// Settling the rest needs the store. People see the end that they asked for before that.
		p.showEnd(lasting)
	})
	startError := p.initialize(lasting, client, finished)
	if startError == nil {
		p.handle(lasting, initializeDone{})
		p.sendMessages(lasting, finished)
	} else if !errors.Is(startError, errGone) && !p.is(state.isDetached) {
		p.log.ErrorContext(ctx, "Claude did not start properly", "error", startError)
		_ = conn.Kill()
	}
	tasks.Wait()
	if p.is(state.isDetached) {
		return ""
	}
	<-conn.Done()
	_ = conn.Close()
	return p.exitSentence(lasting, conn, startError)
}

// isElsewhere reports whether an error means that a process continues without this server, or
// without this connection to its runner.
func isElsewhere(err error) bool {
	return errors.Is(err, launch.ErrFenced) || errors.Is(err, launch.ErrUnreachable)
}

// fencing calls gone as soon as the process continues elsewhere. That is before the client ends its
// callbacks, so that their requests stay open for the next server.
type fencing struct {
	claude.Transport
	gone func(err error)
}

func (f fencing) Recv() ([]byte, error) {
	line, err := f.Transport.Recv()
	if isElsewhere(err) {
		f.gone(err)
	}
	return line, err
}

// connect connects the process to a running CLI and returns the client.
func (p *process) connect(ctx context.Context, conn launch.Conn) *claude.Client {
	gone := func(err error) {
		p.handle(ctx, detachSet{true})
		if errors.Is(err, launch.ErrFenced) {
			p.log.WarnContext(ctx, "another server has taken over the session")
			p.o.leaseLost()
		}
	}
	transport, onRequest, onWithdrawn := claude.Transport(fencing{conn, gone}), p.handleRequest, p.handleWithdrawn
	if p.o.o.Tracer != nil {
		t := &traced{Transport: transport, tracer: p.o.o.Tracer, stored: p.requests.id, asked: map[string]time.Time{}}
		transport = t
		onRequest = func(requestID, subtype string, body json.RawMessage) {
			t.decoded(requestID, subtype)
			p.handleRequest(requestID, subtype, body)
		}
		onWithdrawn = func(requestID string) {
			t.withdrawn(requestID)
			p.handleWithdrawn(requestID)
		}
	}
	client := claude.NewClient(transport, claude.Options{
		CanUseTool:    p.ask,
		Elicitation:   p.elicit,
		HookCallback:  p.toolRules.handleHook,
		Open:          p.elicitations.open(),
		OnRequest:     onRequest,
		OnWithdrawn:   onWithdrawn,
		OnInitialized: p.handleInitialized,
		OnMessage:     p.handleMessage,
		OnUnreadable:  p.handleUnreadable,
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn, p.client = conn, client
	return client
}

// connectionBroke kills a CLI whose output can no longer be read, unless this server has
// disconnected from it.
func (p *process) connectionBroke(ctx context.Context, conn launch.Conn, err error) {
	if !p.is(state.isDetached) {
		p.log.WarnContext(ctx, "the connection to Claude was lost", "error", err)
		_ = conn.Kill()
	}
}

// showEnd tells people that the CLI is gone, if a person or a limit ended it.
func (p *process) showEnd(ctx context.Context) {
	if s := p.snapshot(); s.stopReason != "" && !s.detached {
		p.handle(ctx, cliGone{ended{stop: s.stopReason, at: time.Now()}})
	}
}
