package claude

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// cliProcess is the CLI of a started client: a [Process].
type cliProcess interface {
	Transport
	PID() int
	CloseInput() error
	Terminate() error
	Kill() error
	Done() <-chan struct{}
	Wait() error
	Stderr() string
}

// started is the additional state of a client whose CLI was started by [Start].
type started struct {
	process    cliProcess
	version    string // of the CLI
	initialize InitializeRequest
	requires   bool          // a hook must not be skipped when it fails
	opened     chan struct{} // closed when the first initialize has been sent, or never will be
	ready      chan struct{} // closed when the conversation is initialized, or never will be
	stop       func()        // starts to end the CLI, without waiting; may be called more than once
	stopped    <-chan struct{}
	mirror     *sessionMirror // nil for none

	backgroundWait time.Duration // see [Options]

	mu       sync.Mutex
	answer   *InitializeResponse
	err      error  // why it was not initialized, or how Run ended
	turn     *queue // of the turn that is being iterated; nil for none
	state    runState
	stopping bool
}

func newStarted(p cliProcess, version string, o *Options, r InitializeRequest) *started {
	s := &started{
		process: p, version: version, initialize: r, backgroundWait: o.BackgroundWait,
		opened: make(chan struct{}), ready: make(chan struct{}),
	}
	for _, h := range o.Hooks {
		if _, gate := hookGates[h.Event]; gate && !h.FailOpen {
			s.requires = true
		}
	}
	if o.SessionStore != nil {
		s.mirror = newSessionMirror(o)
	}
	stopped := make(chan struct{})
	s.stopped = stopped
	s.stop = sync.OnceFunc(func() { close(stopped) })
	return s
}

// Time for the CLI to write its transcript before it exits.
const (
	exitGrace = 5 * time.Second // after its input was closed
	termGrace = 5 * time.Second // after SIGTERM
)

// endCLI ends the CLI gently, then by force, and returns when the process has exited. It closes the
// input only of an idle CLI: during a turn, the CLI would continue without asking and without our
// hooks.
func endCLI(p cliProcess, idle bool) {
	if idle {
		_ = p.CloseInput()
		if endsWithin(p, exitGrace) {
			return
		}
	}
	_ = p.Terminate()
	if !endsWithin(p, termGrace) {
		_ = p.Kill()
		<-p.Done()
	}
}

func endsWithin(p cliProcess, within time.Duration) bool {
	select {
	case <-p.Done():
		return true
	case <-time.After(within):
		return false
	}
}

// run is Run of a client whose CLI was started by Start.
func (s *started) run(ctx context.Context, c *Client) error {
	var tasks sync.WaitGroup
	ended := make(chan struct{})
	tasks.Go(func() { // ends the CLI on request, or when reading has ended
		select {
		case <-ctx.Done():
		case <-s.stopped:
		case <-ended:
		}
		endCLI(s.process, s.isIdle())
	})
	lifetime, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	tasks.Go(func() {
		defer close(s.ready)
		if err := s.initializeNow(lifetime, c); err != nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			s.stop()
		}
	})

	storing, endStoring := context.WithCancel(context.WithoutCancel(ctx))
	defer endStoring()
	var lost error
	if s.mirror != nil {
		tasks.Go(func() { lost = s.mirror.run(storing) })
	}

	err := c.read(ctx, s.stop)
	close(ended)
	cancel(ErrClosed)
	if s.mirror != nil {
		s.mirror.end()
		defer time.AfterFunc(storeGrace, endStoring).Stop()
	}
	tasks.Wait()
	exit := exitError(s.process)

	s.mu.Lock()
	defer s.mu.Unlock()
	stopping := s.stopping
	if c.options.Logger != nil {
		c.options.Logger.DebugContext(ctx, "the CLI has ended", "pid", s.process.PID(), "exit", exit, "error", err)
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case s.err != nil && !errors.Is(s.err, ErrClosed):
		err = s.err
	case stopping:
		err = nil
	case exit != nil:
		err = exit
	}
	if lost != nil {
		err = join(err, lost)
	}
	if err != nil && (s.err == nil || errors.Is(s.err, ErrClosed)) {
		s.err = err
	}
	s.turn.end(err)
	return err
}

// join joins two errors, and returns other unchanged if err is nil.
func join(err, other error) error {
	if err == nil {
		return other
	}
	return errors.Join(err, other)
}

// isIdle reports whether the CLI has no turn and no background agent.
func (s *started) isIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.idle()
}

// busy records that the CLI is about to start a turn.
func (s *started) busy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.prompted()
}

// deliver passes a message to the turn that is being iterated, and to the mirror.
func (s *started) deliver(m Message) {
	s.mu.Lock()
	s.state.apply(m)
	turn := s.turn
	s.mu.Unlock()
	if _, ok := m.(*TranscriptMirror); ok && s.mirror != nil {
		s.mirror.entries.add(m)
	}
	if turn != nil {
		turn.add(m)
	}
}

func (s *started) initializeNow(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, initializeTimeout, errors.New("the CLI did not answer initialize"))
	defer cancel()
	opened := sync.OnceFunc(func() { close(s.opened) })
	defer opened()
	if !olderThan(s.version, readsInitialize) {
		s.initialize.SDKMCPServerManifests = c.manifests(ctx, s.version)
	}
	answer, err := c.initialize(ctx, s.initialize, false, opened)
	if err != nil {
		return err
	}
	if len(s.initialize.MCPServers) > 0 && (answer.MCPServersApplied == nil || !*answer.MCPServersApplied) {
		return errors.New("the CLI did not take the MCP servers")
	}
	if len(s.initialize.Plugins) > 0 && (answer.PluginsApplied == nil || !*answer.PluginsApplied) && c.options.Logger != nil {
		c.options.Logger.WarnContext(ctx, "the CLI did not load all plugins")
	}
	if s.requires && answer.HooksApplied != nil && !answer.HookOnFailureSupported && c.options.Logger != nil {
		c.options.Logger.WarnContext(ctx, "the CLI does not support hooks that must not fail; only failures in this process are refused")
	}
	s.mu.Lock()
	s.answer = answer
	s.mu.Unlock()
	return nil
}

// Ready waits until the conversation is initialized and returns the CLI's answer. The client must come
// from [Start], with [Client.Run] running.
func (c *Client) Ready(ctx context.Context) (*InitializeResponse, error) {
	s := c.started
	if s == nil {
		return nil, errors.New("claude: Ready is for clients of Start; call Initialize")
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if s.answer == nil {
		return nil, fmt.Errorf("claude: initialize: %w", ErrClosed)
	}
	return s.answer, nil
}

// Close ends the conversation. The CLI may finish writing its transcript; after a few seconds it gets
// SIGTERM, and later SIGKILL. Close returns at once, and Run returns nil when the CLI has exited. If Run
// has not been called, Close waits until the CLI has exited. For a client from [NewClient], Close closes
// the transport.
func (c *Client) Close() error {
	s := c.started
	if s == nil {
		return c.transport.Close()
	}
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.stop()
	c.mu.Lock()
	runs := c.runs
	c.mu.Unlock()
	if !runs {
		endCLI(s.process, true)
		return s.process.Close()
	}
	return nil
}

// Process returns the CLI process of a client from [Start], else nil.
func (c *Client) Process() *Process {
	if c.started == nil {
		return nil
	}
	p, _ := c.started.process.(*Process)
	return p
}
