package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/failpoint"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
)

// launchPlan says how the CLI of a process is to be started.
type launchPlan struct {
	Resume string // Claude session id to go on from; "" to begin afresh
	Fork   bool   // with Resume: under the id of our session
	// SessionID is given to the CLI as --session-id; "" when Resume keeps its own.
	SessionID string
	// ContinueTurn has a turn that was cut off go on by itself.
	ContinueTurn bool
	// Former: a process of the session died with questions that this one may ask
	// again.
	Former bool
	// By is whoever wants the process; zero when the session goes on by itself.
	By pending.Actor
	// Retell: Claude does not know the conversation. What a process was told that is
	// gone is lost with it, and said again.
	Retell bool

	settings settingsPlan
}

func launchOf(s session.Session) launchPlan {
	if s.Begun {
		return launchPlan{Resume: s.SessionID}
	}
	return launchPlan{SessionID: s.SessionID, Retell: true}
}

// process is one incarnation of a session's CLI. Its state changes only in
// update, which has the row written and the bell rung.
type process struct {
	o         *Orchestrator
	session   session.Session
	plan      launchPlan
	left      Left // the running process that is adopted; nil for one to be launched
	processID string
	log       *slog.Logger

	died time.Time // set by run, read after it

	feed  chan struct{}    // something may be sendable; capacity 1, never closed
	kills chan killRequest // capacity 1, never closed
	dirty chan struct{}    // something waits to be written; capacity 1, never closed
	gone  chan struct{}    // closed by the orchestrator when the process is forgotten
	// cutting: something is in cuts; capacity 1, never closed.
	cutting chan struct{}
	telling chan struct{} // the turn to tell which rules were taken back; capacity 1, never closed

	mu         sync.Mutex           // protects following
	room       *sync.Cond           // signalled when items were written; on mu
	state      session.ProcessState // as decided here; its version is the store's
	unsaved    bool                 // state differs from the row
	items      []session.Item       // to be written, in order
	itemBytes  int
	live       *session.Live
	script     scribe
	withheld   map[string]struct{} // messages that somebody takes back
	conn       Conn
	client     *claude.Client
	offset     int64                  // of the journal: all before is in items, state and script
	marked     int64                  // the offset that is stored
	detached   bool                   // this server let go of it; it runs on
	former     bool                   // questions of the process before this one may be asked again
	turnEnded  bool                   // since serve looked last
	ended      bool                   // nothing more will be written
	turnSince  time.Time              // since when the state is what it is
	questions  map[*question]struct{} // that wait for a person
	onTheWay   map[string]bool        // tool use ids whose answer is being sent: the result is there already
	stopReason string                 // why we end it; "" while we do not
	lastCPU    time.Duration
	lastSample time.Time
	heard      time.Time // last line that was a message
	busy       time.Time // last sign of life of any kind
	tree       int       // processes in the tree at the last sample
	spawned    time.Time // when a sample found more of them than the one before
	// What the tree took when it was heard last, or sampled first, and at the last
	// sample; in bytes.
	memorySince           time.Time
	memoryThen, memoryNow uint64
	greeted               bool // it answered initialize and has an account
	// endedByPerson: stopReason came from a person, not from a limit.
	endedByPerson bool
	cutOff        bool            // it died in the middle of a turn
	unreadable    int             // lines that were no message
	firstNoise    string          // the first of them
	offs          []string        // requests that the CLI withdrew before it answered initialize to us
	cuts          []overCall      // that may have asked over MCP
	taken         []pending.Grant // that were taken back and that the CLI may still know
	uses          map[string]int  // of grants, by id, that are not stored yet
	samples       []Sample        // of the last minutes
	// What Claude has cost and is not stored yet, in millionths of a dollar, and when
	// the last of it was heard.
	spent    int64
	spentAt  time.Time
	spending int64 // of it, what is being stored
}

type killRequest struct {
	force  bool
	reason string
}

// maxUnwritten bounds the transcript that waits for the store, in bytes. Beyond
// it the reader waits, and with it, through the pipe, the CLI.
const maxUnwritten = 16 << 20

func newProcess(o *Orchestrator, s session.Session, plan launchPlan) *process {
	now := time.Now()
	p := &process{
		o: o, session: s, plan: plan, former: plan.ContinueTurn || plan.Former,
		processID: uuid.NewString(),
		log:       o.o.Log.With("session_id", s.SessionID),
		feed:      make(chan struct{}, 1),
		kills:     make(chan killRequest, 1),
		dirty:     make(chan struct{}, 1),
		gone:      make(chan struct{}),
		cutting:   make(chan struct{}, 1),
		telling:   make(chan struct{}, 1),
		questions: make(map[*question]struct{}),
		onTheWay:  make(map[string]bool),
		turnSince: now, busy: now,
	}
	p.room = sync.NewCond(&p.mu)
	p.state = session.ProcessState{
		SessionID: s.SessionID, ProjectID: s.ProjectID, State: session.Starting,
		StartedAt: now, StateChangedAt: now, Model: s.Model, PermissionMode: s.PermissionMode,
		ProcessID: p.processID, NodeID: o.o.NodeID, Demo: s.Demo,
	}
	p.unsaved = true
	p.script.init()
	p.script.SparedBy = plan.By.UserID
	return p
}

// update is the only place where the state changes. The row is written and the
// bell rung by write, soon after; what is decided here is decided at once.
func (p *process) update(change func(*session.ProcessState)) {
	p.mu.Lock()
	p.changeState(change)
	p.mu.Unlock()
	p.pokeWriter()
}

// changeState is update for who holds the lock and has more to change with it.
func (p *process) changeState(change func(*session.ProcessState)) {
	before := p.state.State
	next := p.state
	change(&next)
	if !session.CanMove(before, next.State) {
		p.log.Error("refused an illegal change of state", "from", before, "to", next.State)
		next.State = before
	}
	if next.State != before {
		next.StateChangedAt = time.Now()
		p.turnSince = next.StateChangedAt
		p.busy = next.StateChangedAt
		next.Stuck = ""
	}
	p.state = next
	p.unsaved = true
}

// put has transcript items written. It waits when too much waits already.
func (p *process) put(items ...session.Item) {
	if len(items) == 0 {
		return
	}
	p.mu.Lock()
	p.waitForRoom()
	p.append(items)
	p.mu.Unlock()
	p.pokeWriter()
}

// waitForRoom is called with the lock held, and lets go of it while it waits.
func (p *process) waitForRoom() {
	for p.itemBytes > maxUnwritten && !p.ended {
		p.room.Wait()
	}
}

// append is called with the lock held.
func (p *process) append(items []session.Item) {
	for _, it := range items {
		p.itemBytes += len(it.Body)
	}
	p.items = append(p.items, items...)
}

func (p *process) pokeWriter() { poke(p.dirty) }
func (p *process) pokeFeed()   { poke(p.feed) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write carries changes to the store until stop is closed, then what is left.
func (p *process) write(ctx context.Context, stop <-chan struct{}) {
	// A store that fails is tried again; nothing decided is dropped.
	const retry = time.Second
	for {
		select {
		case <-p.dirty:
			p.gather(stop)
			if err := p.flush(ctx); err != nil {
				p.log.ErrorContext(ctx, "cannot write the session's state", "error", err)
				select {
				case <-time.After(retry):
					p.pokeWriter()
				case <-stop:
				}
			}
		case <-stop:
			return
		}
	}
}

// gathering is how long transcript waits for more of it.
const gathering = 2 * time.Millisecond

// gather lets some time pass if there is nothing to write but transcript, which the
// journal has too: more lines go in one transaction, and an answer that was just
// put on record is on its way to Claude meanwhile.
func (p *process) gather(stop <-chan struct{}) {
	p.mu.Lock()
	urgent := p.unsaved
	p.mu.Unlock()
	if urgent {
		return
	}
	select {
	case <-time.After(gathering):
	case <-stop:
	}
}

// flush writes what has changed since the last time, then rings. Items, state
// and the place in the journal up to which they say it all go in one
// transaction, so that a server that adopts the process goes on without a gap.
func (p *process) flush(ctx context.Context) error {
	p.mu.Lock()
	progress := session.Progress{Items: p.items}
	if p.unsaved {
		state := p.state
		progress.Process = &state
	}
	kept, _ := p.conn.(Kept)
	if kept != nil && (p.offset != p.marked || p.unsaved) {
		progress.Mark = &session.Mark{ProcessID: p.processID, Offset: p.offset, Memo: encode(p.script.memo)}
	}
	progress.Spent, progress.SpentAt = p.spent, p.spentAt
	p.items, p.unsaved, p.spent = nil, false, 0
	p.spending += progress.Spent
	p.mu.Unlock()
	if len(progress.Items) == 0 && progress.Spent == 0 && progress.Process == nil && progress.Mark == nil {
		return nil
	}

	forgetLong(progress.Items)
	_, err := p.o.o.Store.SaveProgress(ctx, p.session.SessionID, progress)
	p.mu.Lock()
	p.spending -= progress.Spent
	if err != nil {
		p.items = append(progress.Items, p.items...)
		p.spent += progress.Spent
		p.unsaved = p.unsaved || progress.Process != nil
	} else {
		// Only now there is room again: while the store fails, the CLI waits.
		for _, it := range progress.Items {
			p.itemBytes -= len(it.Body)
		}
		if progress.Mark != nil {
			p.marked = progress.Mark.Offset
		}
	}
	p.room.Broadcast() // to who waits for room, and to who waits to know what was spent
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("write progress: %w", err)
	}
	if progress.Mark != nil {
		kept.Commit(progress.Mark.Offset)
	}
	p.flushUses(ctx)
	p.o.o.Bell.Ring(p.session.SessionID)
	return nil
}

// longItem is how long an item is, in bytes, that is worth a collection.
const longItem = 4 << 20

// forgetLong frees what was needed on the way from a long line to its item: several
// times as much as there is else, which the store would add its own to.
func forgetLong(items []session.Item) {
	if slices.ContainsFunc(items, func(it session.Item) bool { return len(it.Body) > longItem }) {
		debug.FreeOSMemory()
	}
}

// run is the whole life of the process. When it returns, the CLI is gone, its
// requests are settled, and the row says dead and why.
func (p *process) run(ctx context.Context) {
	// Writing must go on while the server shuts down, until the last row is in.
	lasting := context.WithoutCancel(ctx)
	stopWriting := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { p.write(lasting, stopWriting) })

	reason := p.startAndDrive(ctx, lasting)
	p.died = time.Now()

	p.mu.Lock()
	detached, stop := p.detached, p.stopReason
	kept, _ := p.conn.(Kept)
	p.mu.Unlock()
	if kept != nil {
		defer p.drop(kept)
	}
	if !detached {
		p.bury(ctx, stop, reason)
	}
	p.mu.Lock()
	p.live, p.ended = nil, true
	p.room.Broadcast()
	p.mu.Unlock()
	close(stopWriting)
	writing.Wait()
	if err := p.insist(ctx, "the last state of the process", func() error { return p.flush(lasting) }); err != nil {
		p.log.Error("cannot write the last state of the process", "error", err)
		return
	}
	if detached {
		return
	}
	forget := func(context.Context) error { return nil }
	if kept != nil {
		forget = kept.Forget
	} else if p.conn == nil && p.left != nil {
		forget = p.left.Remove // it was never reached
	}
	if err := forget(lasting); err != nil {
		p.log.Warn("cannot clear away what is left of the process", "error", err)
	}
}

// drop ends the connection to a process that is kept elsewhere.
func (p *process) drop(kept Kept) {
	if err := kept.Detach(); err != nil {
		p.log.Warn("letting go of Claude was not clean", "error", err)
	}
}

// bury settles what a dead process leaves: its calls, its requests, its state.
// stop says why it was ended, reason why it died if nobody ended it.
func (p *process) bury(ctx context.Context, stop, reason string) {
	p.mu.Lock()
	abandoned, byPerson := p.script.abandon(true), p.endedByPerson
	p.mu.Unlock()
	p.put(abandoned...)
	// What a person ended asks no more. What died by itself leaves its questions:
	// they can be answered, and the answers kept for when the session goes on.
	lasting := context.WithoutCancel(ctx)
	err := p.insist(ctx, "what a dead process has heard", func() error { return p.settleHeard(lasting) })
	if err != nil {
		p.log.ErrorContext(ctx, "cannot settle what a dead process has heard", "error", err)
	}
	err = p.insist(ctx, "the end of the requests of a dead process", func() (err error) {
		if byPerson {
			_, err = p.o.o.Registry.WithdrawAll(lasting, p.session.SessionID, stop)
		} else if err = p.o.endMCP(lasting, p.session.SessionID, orElse(stop, reason)); err == nil {
			_, err = p.o.o.Registry.Orphan(lasting, p.session.SessionID, orElse(stop, reason))
		}
		return err
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot settle the requests of a dead process", "error", err)
	}
	err = p.insist(ctx, "the end of the token of a dead process", func() error { return p.o.unwire(lasting, p.session.SessionID) })
	if err != nil {
		p.log.ErrorContext(ctx, "cannot end the token of a dead process", "error", err)
	}
	p.recordMissing(lasting)
	p.settleMessage(lasting)
	if stop != "" {
		p.log.InfoContext(ctx, "the session's process was ended", "reason", stop)
	} else {
		p.log.ErrorContext(ctx, "the session's process died", "reason", reason)
	}
	p.update(func(s *session.ProcessState) {
		p.cutOff = s.State == session.AssistantTurn
		s.State, s.PID, s.Memory, s.CPU, s.Stuck, s.Held = session.Dead, 0, 0, 0, "", ""
		if stop != "" {
			s.KillReason = stop
		} else {
			s.Error = reason
		}
	})
}

// settleMessage takes the message from the queue of which it was not known whether
// it was said, if Claude has begun to work on it: nobody says it again.
func (p *process) settleMessage(ctx context.Context) {
	p.mu.Lock()
	id := p.script.Sending
	if !p.script.Spoke || p.state.State != session.AssistantTurn {
		id = ""
	}
	p.mu.Unlock()
	if id == "" {
		return
	}
	err := p.insist(ctx, "that a message was said", func() error {
		_, err := p.o.o.Store.MarkSent(ctx, id, time.Now())
		return err
	})
	if err != nil {
		p.log.ErrorContext(ctx, "cannot take a message from the queue", "error", err)
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// neverRan takes back a process that Run did not take over.
func (p *process) neverRan(ctx context.Context, why error) error {
	p.update(func(s *session.ProcessState) { s.State, s.KillReason = session.Dead, "The server was stopped." })
	err := p.flush(context.WithoutCancel(ctx))
	p.o.remove(p)
	return errors.Join(why, err)
}

// startAndDrive starts the CLI, or takes it over, drives it until it is gone or
// let go of, and returns a sentence that says why it ended if it was not us who
// ended it.
func (p *process) startAndDrive(ctx, lasting context.Context) (reason string) {
	if p.left != nil {
		conn, err := p.takeOver(ctx)
		if err == nil {
			return p.drive(ctx, lasting, conn)
		}
		if ctx.Err() != nil {
			p.letGo() // it was not reached because we go; the next server tries
			return ""
		}
		p.log.ErrorContext(ctx, "cannot reach the process that a former server left", "error", err)
		if err := p.left.End(lasting); err != nil {
			p.log.ErrorContext(ctx, "cannot end what is left of the process", "error", err)
		}
		return "The Claude process could not be reached after the server was restarted, so it was ended."
	}
	id := Incarnation{SessionID: p.session.SessionID, ProcessID: p.processID}
	w, err := p.wire(ctx, id)
	if err != nil {
		// A session in which Claude asks in its own ways alone is better than none.
		p.log.ErrorContext(ctx, "Claude cannot ask over MCP", "error", err)
	}
	var command claude.Command
	if err = p.recheck(ctx); err == nil {
		command, err = p.o.o.CLI.command(p, w)
	}
	if err == nil {
		var conn Conn
		if conn, err = p.o.o.Launcher.Launch(ctx, id, p.confine(command, id, w), w.files); err == nil {
			return p.drive(ctx, lasting, conn)
		}
	}
	p.log.ErrorContext(ctx, "cannot start Claude", "error", err)
	return launchSentence(err, command.Path, p.session.CWD)
}

// hungPatience is how long a shim that does not answer may go on so: a machine
// that is short of time, as after its start, is no reason to end a session.
const hungPatience = 10 * time.Second

func (p *process) takeOver(ctx context.Context) (Conn, error) {
	if err := failpoint.Hit("adopt.before_attach"); err != nil {
		return nil, err
	}
	if err := p.rewire(p.left.Incarnation()); err != nil {
		p.log.ErrorContext(ctx, "Claude cannot ask over MCP", "error", err)
	}
	conn, err := p.left.Attach(ctx, p.offset)
	for began := time.Now(); errors.Is(err, shim.ErrHung) && time.Since(began) < hungPatience; {
		p.log.WarnContext(ctx, "the process that a former server left does not answer yet", "error", err)
		p.update(func(s *session.ProcessState) {
			s.Stuck = "The keeper of this process has not answered since the server was restarted. If it stays so, the process is ended."
		})
		select {
		case <-time.After(time.Second):
		case <-p.kills: // which is what comes of not answering
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
		conn, err = p.left.Attach(ctx, p.offset)
	}
	if err != nil {
		return nil, err
	}
	p.update(func(s *session.ProcessState) { s.Stuck = "" })
	if err := failpoint.Hit("adopt.after_attach"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// drive talks to a running CLI until it is gone.
func (p *process) drive(ctx, lasting context.Context, conn Conn) (reason string) {
	client := claude.NewClient(conn, claude.Options{
		CanUseTool:   p.ask,
		Elicitation:  p.elicit,
		Open:         p.leftElicited(),
		OnRequest:    p.arrived,
		OnWithdrawn:  p.withdrawn,
		OnMessage:    p.hear,
		OnUnreadable: p.hearNoise,
	})
	p.mu.Lock()
	p.conn, p.client = conn, client
	p.mu.Unlock()
	p.update(func(s *session.ProcessState) { s.PID = conn.PID() })

	var tasks sync.WaitGroup
	over := make(chan struct{}) // closed when the CLI is gone and all it asked is settled
	life, endLife := context.WithCancel(lasting)
	defer endLife()
	tasks.Go(func() { p.endCuts(life) })
	tasks.Go(func() {
		defer close(over)
		defer endLife()
		err := client.Run(lasting)
		if errors.Is(err, shim.ErrFenced) {
			p.log.WarnContext(ctx, "another server has taken the session over")
			p.letGo()
		}
		if err != nil && !p.isDetached() {
			p.log.WarnContext(ctx, "the connection to Claude broke", "error", err)
			_ = conn.Kill() // a CLI that cannot be heard must not go on
		}
	})
	tasks.Go(func() { p.end(ctx, over) })
	startError := p.greet(lasting, client, over)
	if startError == nil {
		p.mu.Lock()
		p.greeted = true
		p.mu.Unlock()
		p.serve(lasting, over)
	} else if !errors.Is(startError, errGone) && !p.isDetached() {
		p.log.ErrorContext(ctx, "Claude did not start properly", "error", startError)
		_ = conn.Kill()
	}
	tasks.Wait()
	if p.isDetached() {
		return ""
	}
	<-conn.Done()
	_ = conn.Close()
	return p.exitSentence(conn, startError)
}

var (
	errGone     = errors.New("the process ended")
	errNoAnswer = errors.New("no answer to initialize")
	errRubbish  = errors.New("its output is not Claude's protocol")
	errNobody   = errors.New("nobody is signed in")
)

// goneGrace is how long it may take to see the end of a CLI that takes no line.
const goneGrace = 2 * time.Second

// greet initialises the CLI. Until it has answered, nothing is sent.
func (p *process) greet(ctx context.Context, client *claude.Client, over <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.rules().Limits.Start, errNoAnswer)
	defer cancel()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(stop)
	answered, cancelRubbish := context.WithCancelCause(ctx)
	defer cancelRubbish(nil)
	watching.Go(func() {
		// A program that prints a lot and says nothing is not Claude.
		const enoughNoise = 20
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				noise := p.unreadable
				p.mu.Unlock()
				if noise >= enoughNoise {
					cancelRubbish(errRubbish)
					return
				}
			case <-over:
				cancelRubbish(errGone)
				return
			case <-stop:
				return
			}
		}
	})
	asked := time.Now()
	hello, err := client.Initialize(answered, claude.InitializeRequest{})
	if err != nil {
		if cause := context.Cause(answered); cause != nil {
			return cause
		}
		if errors.Is(err, claude.ErrClosed) {
			select {
			case <-over:
				return errGone
			case <-time.After(goneGrace): // it lives, and did not take the line
			}
		}
		return fmt.Errorf("initialize: %w", err)
	}
	if !signedIn(hello.Account) {
		return errNobody
	}
	p.learnCost(ctx, client)
	if p.left != nil {
		p.reconcile(ctx, hello, asked)
		p.relearn(ctx)
	}
	return nil
}

// continueGrace is how long a resumed CLI may take to go on with the turn that
// was cut off. Only then is a new message sent: it would come in its way.
const continueGrace = 5 * time.Second

// resendPause is how long a message waits that could not be sent.
const resendPause = time.Second

// serve sends what people say, one message a turn, until the CLI is gone.
func (p *process) serve(ctx context.Context, over <-chan struct{}) {
	timer := time.NewTimer(continueGrace)
	defer timer.Stop()
	send := func() bool {
		sent, err := p.sendNext(ctx)
		if full := (*project.LimitError)(nil); errors.As(err, &full) {
			p.hold(full.Sentence)
			timer.Reset(roomPause)
		} else if err != nil {
			p.log.ErrorContext(ctx, "cannot send the message", "error", err)
			timer.Reset(resendPause)
		}
		return sent
	}
	hold := p.plan.ContinueTurn
	if hold || !send() {
		p.update(func(s *session.ProcessState) {
			if s.State == session.Starting {
				s.State = session.UserTurn
			}
		})
	}
	for {
		select {
		case <-p.feed:
			if p.tookTurnEnd() {
				hold = false
				p.endFormer(ctx)
			}
		case <-timer.C:
			hold = hold && p.working()
		case <-over:
			return
		}
		if !hold {
			send()
		}
	}
}

// sendNext sends the oldest queued message if Claude waits for one.
func (p *process) sendNext(ctx context.Context) (sent bool, err error) {
	p.mu.Lock()
	ready := p.state.State == session.UserTurn || p.state.State == session.Starting
	// A turn was begun for this message, and it is not known whether it was said:
	// a server died in between, or the transport failed.
	doubtful := ""
	if p.state.State == session.AssistantTurn {
		doubtful = p.script.Sending
	}
	stopping, client := p.stopReason != "", p.client
	p.mu.Unlock()
	if stopping || !ready && doubtful == "" {
		return false, nil
	}
	queue, err := p.o.o.Store.QueuedMessages(ctx, p.session.SessionID)
	if err != nil {
		return false, err
	}
	if len(queue) == 0 {
		p.hold("")
		return false, nil
	}
	m := queue[0]
	if doubtful != "" && m.MessageID != doubtful {
		return false, nil // it was said, and noted
	}
	message := claude.UserMessage{UUID: m.MessageID, Text: m.Text, Blocks: p.blocks(m)}
	p.mu.Lock()
	ended := p.script.Ended == m.MessageID
	p.mu.Unlock()
	if doubtful == "" && !ended {
		if err := p.mayBegin(ctx); err != nil {
			return false, err
		}
	}
	begin := func() (begun bool) {
		p.update(func(s *session.ProcessState) {
			if _, taken := p.withheld[m.MessageID]; taken {
				return
			}
			begun = true
			s.State, s.Held = session.AssistantTurn, ""
			p.script.Spoke = p.script.Spoke && p.script.Sending == m.MessageID // said again, it may be at work
			p.script.Sending = m.MessageID
		})
		return begun
	}
	if !ended {
		// Stored before it is said: then a server that adopts the process knows whose
		// turn goes on, and whose has ended, wherever this one dies.
		if !begin() {
			return false, nil // somebody takes it back
		}
		p.put(userItem(m))
		if err := p.flush(ctx); err != nil {
			return false, err
		}
	}
	err = failpoint.Hit("message.before_send")
	if err == nil {
		err = failpoint.After("message.after_send", client.SendUser(ctx, message))
	}
	repeated := errors.Is(err, ErrRepeated)
	if err != nil && !repeated {
		return false, fmt.Errorf("send user message: %w", err)
	}
	if ended && !repeated {
		begin() // the turn that ended was another's
		p.put(userItem(m))
	}
	if _, err := p.o.o.Store.MarkSent(ctx, m.MessageID, time.Now()); err != nil {
		return true, fmt.Errorf("take message from the queue: %w", err)
	}
	p.o.o.Bell.Ring(p.session.SessionID)
	if ended && repeated {
		p.pokeFeed() // it is said and done; the next one
		return false, nil
	}
	return true, nil
}

// hear takes in one message of the CLI, on its read loop.
func (p *process) hear(m claude.Message) {
	now := time.Now()
	p.mu.Lock()
	p.waitForRoom()
	// What a line means and that it was read change together: a mark behind the
	// line without its meaning would lose it with the server.
	p.heard, p.busy = now, now
	begun := p.script.Begun
	heard := p.script.write(m, now)
	// Again at the end of a turn, if the store could not take it before.
	begins := p.script.Begun && !p.session.Begun && (!begun || heard.turnEnded)
	p.append(heard.items)
	if heard.spent > 0 && !p.session.Demo { // the model of a demo costs nobody anything
		p.spent, p.spentAt = p.spent+heard.spent, now
	}
	if len(heard.consumed) > 0 {
		// Stored before the mark may pass the line, for it is said once. To read the
		// line again does no harm.
		p.mu.Unlock()
		user, _ := m.(*claude.User) // nothing else brings results
		for i, toolUseID := range heard.consumed {
			p.noteUse(heard.over[i], user)
			p.consumed(toolUseID)
			p.callOver(toolUseID)
			p.cut(heard.over[i])
		}
		p.mu.Lock()
	}
	if kept, ok := p.conn.(Kept); ok {
		p.offset = kept.Offset()
	}
	if heard.liveChanged {
		p.live = heard.live
	}
	next := p.state
	switch {
	case heard.turnEnded:
		next.State = session.UserTurn
		if p.script.Sending != "" {
			p.script.Ended = p.script.Sending
		}
		p.script.Sending, p.turnEnded = "", true
	case heard.working:
		next.State = session.AssistantTurn
		p.script.Spoke = true
	}
	if heard.model != "" {
		next.Model = heard.model
	}
	if heard.permissionMode != "" {
		next.PermissionMode = heard.permissionMode
	}
	changed := next.State != p.state.State || next.Model != p.state.Model || next.PermissionMode != p.state.PermissionMode
	if changed {
		p.changeState(func(s *session.ProcessState) {
			s.State, s.Model, s.PermissionMode = next.State, next.Model, next.PermissionMode
		})
	}
	p.mu.Unlock()

	p.pokeWriter() // the journal's mark moves on also when nothing is to be shown
	if heard.liveChanged && !changed {
		p.o.o.Bell.Ring(p.session.SessionID)
	}
	if begins {
		begun := true
		if _, err := p.o.o.Store.UpdateSession(context.Background(), p.session.SessionID, session.Patch{Begun: &begun}); err != nil {
			p.log.Error("cannot remember that the session has begun", "error", err)
		} else {
			p.session.Begun = true // read only here and, once it is gone, by goOn
		}
	}
	if heard.turnEnded {
		p.pokeFeed()
	}
}

// reused is what people read of a question that nobody was asked.
const reused = "Claude asked for something else under the id of a request that was still open. That request stayed as it was; the other was not put before anybody, and nothing ran of it. If Claude waits for it, interrupt it."

func (p *process) hearNoise(line []byte, err error) {
	if errors.Is(err, claude.ErrReused) {
		// By the line, so that one that is read again is no second note.
		key := "reused:" + uuid.NewSHA1(uuid.NameSpaceOID, line).String()
		p.put(session.Item{Key: key, At: time.Now(), Kind: session.ItemNote, Body: encode(session.NoteBody{Level: "error", Text: reused})})
	}
	text := string(line[:min(len(line), 200)])
	p.mu.Lock()
	p.unreadable++
	count := p.unreadable
	if count == 1 {
		p.firstNoise = text
	}
	p.mu.Unlock()
	const worthLogging = 10 // of one process: the log is not the place for a flood
	if count <= worthLogging {
		p.log.Warn("Claude printed a line that is no message", "line", text, "error", err)
	}
}

func (p *process) interrupt(ctx context.Context, by pending.Actor) error {
	p.mu.Lock()
	client, state := p.client, p.state.State
	if state == session.AssistantTurn {
		for q := range p.questions {
			q.interruptedBy = by.Name
		}
	}
	p.mu.Unlock()
	if client == nil || state != session.AssistantTurn {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	// The CLI cuts its calls off and does not say for whom. A store that is away is no
	// reason not to interrupt; the results of the calls then end what they asked.
	if err := p.o.endMCP(ctx, p.session.SessionID, by.Name+" interrupted Claude."); err != nil {
		p.log.ErrorContext(ctx, "cannot withdraw what was asked over MCP", "error", err)
	}
	if err := client.Interrupt(ctx); err != nil {
		return fmt.Errorf("orchestrator: interrupt: %w", err)
	}
	return nil
}

func (p *process) setModel(ctx context.Context, model string) error {
	client := p.clientNow()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	if err := client.SetModel(ctx, model); err != nil {
		return fmt.Errorf("orchestrator: set model: %w", err)
	}
	p.update(func(s *session.ProcessState) { s.Model = model })
	return nil
}

func (p *process) setPermissionMode(ctx context.Context, mode string) error {
	client := p.clientNow()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.rules().Limits.Reply)
	defer cancel()
	if err := client.SetPermissionMode(ctx, mode); err != nil {
		return fmt.Errorf("orchestrator: set permission mode: %w", err)
	}
	p.update(func(s *session.ProcessState) { s.PermissionMode = mode })
	return nil
}

// withhold keeps a message from being sent, and reports whether that was in time.
func (p *process) withhold(messageID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.script.Sending == messageID || p.script.Ended == messageID {
		return false
	}
	if p.withheld == nil {
		p.withheld = map[string]struct{}{}
	}
	p.withheld[messageID] = struct{}{}
	return true
}

// release lets a message that was withheld be sent after all.
func (p *process) release(messageID string) {
	p.mu.Lock()
	delete(p.withheld, messageID)
	p.mu.Unlock()
	p.pokeFeed()
}

func (p *process) clientNow() *claude.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// takesMessages reports whether a message that is queued now will be sent by
// this process, or by the one that goOn starts after it.
func (p *process) takesMessages() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopReason == "" && !p.ended
}

// awaitGone returns once nothing is left of the process here, and another can take
// its place; or the error of ctx.
func (p *process) awaitGone(ctx context.Context) error {
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// over reports whether nothing runs any more, and only what was is put away.
func (p *process) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// neverSaved reports whether the CLI could not resume because it knows nothing of
// the conversation.
func (p *process) neverSaved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn != nil && !p.greeted && p.stopReason == "" && p.plan.Resume == p.session.SessionID &&
		strings.Contains(p.conn.Stderr(), "No conversation found")
}

// leavesWork reports whether the session should go on with what is queued now
// that the process is gone: not when a person ended it or it never came up. One
// that ended while no server was there to see it may have come up.
func (p *process) leavesWork() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return (p.greeted || p.left != nil) && !p.endedByPerson
}

// leavesTurn reports whether the turn that the process died in is to go on before
// the next message is said: once, for a turn may be what it dies of, and not when
// the next message may be the turn's own.
func (p *process) leavesTurn(next session.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cutOff && !p.plan.ContinueTurn && p.script.Sending != next.MessageID
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.PID
}

func (p *process) liveBlock() (session.Live, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil {
		return session.Live{}, false
	}
	return *p.live, true
}

// consumed notes that the CLI acted on an answer: its tool result came out.
func (p *process) consumed(toolUseID string) {
	p.mu.Lock()
	if _, ok := p.onTheWay[toolUseID]; ok {
		// A CLI whose input ended also has a result, of its own making.
		p.onTheWay[toolUseID] = true
		p.mu.Unlock()
		return
	}
	done, ok := p.script.Answered[toolUseID]
	delete(p.script.Answered, toolUseID)
	p.mu.Unlock()
	if !ok {
		return
	}
	if err := p.o.o.Store.SetDelivery(context.Background(), done.RequestID, pending.Consumed); err != nil {
		p.log.Error("cannot note that an answer was consumed", "error", err)
	}
}

func (p *process) letGo() {
	p.mu.Lock()
	p.detached = true
	p.mu.Unlock()
}

func (p *process) isDetached() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.detached
}

func (p *process) tookTurnEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.turnEnded
	p.turnEnded = false
	return ended
}
