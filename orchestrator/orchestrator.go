package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/workspace"
)

// Store is what the orchestrator remembers with.
type Store interface {
	session.Store
	pending.GrantStore
	workspace.Trusts
	project.BoundsStore
	SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error
	UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error)
	// AddIncident puts an entry at the end of the audit trail.
	AddIncident(ctx context.Context, body []byte) error
}

// Options says what an [Orchestrator] works with. All but Demo, MCP and Attachments
// are required.
type Options struct {
	Store    Store
	Registry *pending.Registry
	Bell     session.Bell
	Launcher Launcher
	CLI      *CLI
	Rules    Rules // to begin with, see SetRules
	NodeID   string
	Demo     *Demo    // nil when there is no scripted model to run against
	MCP      *MCP     // nil when sessions do not ask over MCP
	Sandbox  *Sandbox // nil when CLIs run as this server does
	// Attachments may be nil when no message names one by its id.
	Attachments Attachments
	Log         *slog.Logger
}

// Demo is the scripted model that demo sessions talk to.
type Demo struct {
	Environ map[string]string // on top of the CLI's environment
	Folder  string            // where demo sessions work, made when missing
	Prompt  string            // what is asked when the person asks nothing
}

// Orchestrator drives the Claude processes of this node.
type Orchestrator struct {
	o       Options
	changed atomic.Pointer[Rules]           // that hold now; Options has those of the start
	inForce atomic.Pointer[[]pending.Grant] // grants; nil before they were read

	launches chan *process // to Run, which owns every process
	settled  chan struct{} // closed by Run once what a former server left is settled
	closing  chan struct{} // closed by Run when it begins to end

	rung chan struct{} // sessions are in touched; capacity 1, never closed
	// roomier: there may be room for what is in waiting; capacity 1, never closed.
	roomier chan struct{}

	mu        sync.Mutex          // protects following
	processes map[string]*process // running, by session id
	touched   map[string]bool     // dead sessions that changed
	places    map[string]*place   // for processes that are about to start, by session id
	waiting   map[string]struct{} // dead sessions that go on when there is room
}

// New returns an orchestrator that does nothing until Run.
func New(o Options) *Orchestrator {
	made := &Orchestrator{
		o:         o,
		launches:  make(chan *process),
		settled:   make(chan struct{}),
		closing:   make(chan struct{}),
		rung:      make(chan struct{}, 1),
		processes: make(map[string]*process),
		touched:   make(map[string]bool),
		roomier:   make(chan struct{}, 1),
		places:    make(map[string]*place),
		waiting:   make(map[string]struct{}),
	}
	made.SetRules(o.Rules)
	return made
}

// Run settles what a former server left behind, then drives processes until ctx
// ends, and returns once the last of them is gone.
func (o *Orchestrator) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	defer close(o.closing)
	o.grantsChanged(ctx)
	adopted, strays, err := o.adopt(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("orchestrator: adopt what a former server left: %w", err)
	}
	drive := func(p *process) {
		running.Go(func() {
			p.run(ctx)
			o.remove(p)
			o.goOn(ctx, p)
		})
	}
	for _, p := range adopted {
		drive(p)
	}
	o.waitAgain(ctx)
	// What is in the way of a new process of its session goes first; none of it
	// holds up what was adopted.
	running.Go(func() {
		o.clear(ctx, strays)
		close(o.settled)
	})
	ticker := time.NewTicker(o.rules().Limits.Sample)
	defer ticker.Stop()
	look := time.NewTicker(roomPause)
	defer look.Stop()
	rights := time.NewTicker(rightsPause)
	defer rights.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-o.launches:
			drive(p)
		case <-o.rung:
			running.Go(func() { o.resumeAnswered(ctx) })
		case <-o.roomier:
			running.Go(func() { o.resumeWaiting(ctx) })
		case <-look.C:
			running.Go(func() { o.resumeWaiting(ctx) })
		case <-rights.C:
			running.Go(func() { o.endSparing(ctx) })
		case now := <-ticker.C:
			o.sample(ctx, now)
		}
	}
}

// Touch says that a session changed; it is a listener of the bell and never
// blocks. Only sessions whose process is dead are of interest: an answer to what
// they left behind may be there.
func (o *Orchestrator) Touch(sessionID string) {
	if !o.rules().ResumeOnAnswer {
		return
	}
	o.mu.Lock()
	running := o.processes[sessionID] != nil
	if !running {
		o.touched[sessionID] = true
	}
	o.mu.Unlock()
	if !running {
		poke(o.rung)
	}
}

// resumeAnswered resumes the sessions that died before they heard an answer
// which is there now.
func (o *Orchestrator) resumeAnswered(ctx context.Context) {
	o.mu.Lock()
	touched := o.touched
	o.touched = make(map[string]bool)
	o.mu.Unlock()
	for sessionID := range touched {
		if err := o.resumeIfAnswered(ctx, sessionID); err != nil && ctx.Err() == nil {
			o.o.Log.ErrorContext(ctx, "cannot resume a session whose question was answered", "session_id", sessionID, "error", err)
		}
	}
}

func (o *Orchestrator) resumeIfAnswered(ctx context.Context, sessionID string) error {
	given, err := o.undelivered(ctx, sessionID)
	if err != nil || len(given) == 0 {
		return err
	}
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	l := launchOf(s)
	l.ContinueTurn = l.Resume != ""
	if err := o.launch(ctx, s, l); !errors.Is(err, ErrRunning) && !errors.Is(err, ErrClosing) {
		return o.sayWhy(ctx, sessionID, err)
	}
	return nil
}

// goOn starts the session again when a message or an answer came in while its
// process was on its way out, so that neither waits for a process that will not
// come. It cannot go round for ever: a process that came up takes at least one
// message, and an answer counts for the death that it came with.
func (o *Orchestrator) goOn(ctx context.Context, p *process) {
	if ctx.Err() != nil {
		return
	}
	if p.neverSaved() {
		if err := o.beginAfresh(ctx, p); err != nil && !errors.Is(err, ErrClosing) {
			p.log.ErrorContext(ctx, "cannot begin the session afresh", "error", err)
		}
		return
	}
	if !p.leavesWork() {
		return
	}
	err := p.insist(ctx, "what came in while the process ended", func() error {
		queue, err := o.o.Store.QueuedMessages(ctx, p.session.SessionID)
		if err != nil {
			return err
		}
		if len(queue) > 0 {
			// As it is now: the model and the mode may have been changed since its start.
			s, err := o.o.Store.Session(ctx, p.session.SessionID)
			if err != nil {
				return err
			}
			l := launchOf(s)
			l.By = queue[0].By
			l.ContinueTurn = l.Resume != "" && p.leavesTurn(queue[0])
			return o.sayWhy(ctx, s.SessionID, o.launch(ctx, s, l))
		}
		if !o.rules().ResumeOnAnswer {
			return nil
		}
		given, err := o.undelivered(ctx, p.session.SessionID)
		for _, r := range given {
			if r.Resolution.At.After(p.died.Add(-noticeDeath)) {
				return o.resumeIfAnswered(ctx, p.session.SessionID)
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrRunning) && !errors.Is(err, ErrClosing) && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot go on with what came in while the process ended", "error", err)
	}
}

// noticeDeath is how long it may take to see that a CLI has died.
const noticeDeath = time.Second

// beginAfresh starts a session again that Claude has no transcript of: it was
// killed before it had written one. What was said to it is said again.
func (o *Orchestrator) beginAfresh(ctx context.Context, p *process) error {
	begun := false
	if _, err := o.o.Store.UpdateSession(ctx, p.session.SessionID, session.Patch{Begun: &begun}); err != nil {
		return err
	}
	s, err := o.o.Store.Session(ctx, p.session.SessionID)
	if err != nil {
		return err
	}
	note := session.Item{Key: "afresh:" + p.processID, At: time.Now(), Kind: session.ItemNote, Body: encode(session.NoteBody{
		Level: "warning", Text: "Claude ended before it had saved this conversation, so it begins afresh with the same messages.",
	})}
	if err := o.o.Store.PutItems(ctx, s.SessionID, []session.Item{note}); err != nil {
		return err
	}
	l := launchOf(s)
	l.By = p.plan.By
	return o.sayWhy(ctx, s.SessionID, o.launch(ctx, s, l))
}

// Start makes a new session and its process, and returns the session's id once
// the session is stored; the process comes up on its own. The same SessionID
// again changes nothing.
func (o *Orchestrator) Start(ctx context.Context, r StartRequest) (string, error) {
	s, err := o.newSession(r)
	if err != nil {
		return "", err
	}
	release, err := o.reserve(ctx, s)
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := o.settle(ctx, s, false, r.Consent, r.By); err != nil {
		return "", err
	}
	if err := o.mayTakeUp(r); err != nil {
		return "", err
	}
	err = o.o.Store.CreateSession(ctx, s)
	again := errors.Is(err, session.ErrExists)
	switch {
	case again && r.Resume != "" && !r.Fork:
		return "", &InvalidError{Field: "resume", Sentence: "This conversation is in the list already. Open it there and resume it."}
	case again && r.SessionID != "": // the same command: a server may have died half way through it
	case err != nil:
		return "", fmt.Errorf("orchestrator: create session: %w", err)
	}
	if r.Consent.LeaveOut {
		if err := o.o.Store.LeaveOut(ctx, s.SessionID, true); err != nil {
			return "", fmt.Errorf("orchestrator: leave out settings: %w", err)
		}
	}
	if r.Resume != "" {
		if err := o.takeUp(ctx, s, r.Resume); err != nil {
			return "", err
		}
	}
	prompt := r.Prompt
	if prompt == "" && r.Demo {
		prompt = o.o.Demo.Prompt
	}
	if prompt != "" || len(r.Attachments) > 0 {
		if _, err := o.o.Store.QueueMessage(ctx, session.Message{
			MessageID: firstMessageID(s.SessionID), SessionID: s.SessionID, Text: prompt,
			Attachments: r.Attachments, By: r.By, CreatedAt: s.CreatedAt,
		}); err != nil {
			return "", fmt.Errorf("orchestrator: queue first message: %w", err)
		}
	}
	if again {
		if state, err := o.o.Store.ProcessState(ctx, s.SessionID); err != nil || state.ProcessID != "" {
			return s.SessionID, err // it was launched
		}
	}
	l := launchOf(s)
	if r.Resume != "" {
		l.Resume, l.Fork = r.Resume, r.Fork
	}
	l.By = r.By
	if err := o.launch(ctx, s, l); err != nil && !(again && errors.Is(err, ErrRunning)) {
		return "", err
	}
	return s.SessionID, nil
}

// firstMessageID makes the first message of a session the same message, however
// often its start is tried.
func firstMessageID(sessionID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("first message of "+sessionID)).String()
}

// Send hands a message to Claude: at once when it waits for one, after the
// present turn otherwise. A dead session is resumed first. A MessageID that is
// known changes nothing.
func (o *Orchestrator) Send(ctx context.Context, m session.Message) error {
	if m.Text == "" && len(m.Attachments) == 0 {
		return &InvalidError{Field: "text", Sentence: "The message is empty."}
	}
	s, err := o.ours(ctx, m.SessionID)
	if err != nil {
		return err
	}
	if o.process(m.SessionID) == nil { // what cannot be said need not wait
		if _, err := o.admit(ctx, s); err != nil {
			return err
		}
		release, err := o.reserve(ctx, s)
		if err != nil {
			return err
		}
		defer release()
	}
	queued, err := o.o.Store.QueueMessage(ctx, m)
	if err != nil {
		return fmt.Errorf("orchestrator: queue message: %w", err)
	}
	if !queued {
		return nil
	}
	o.o.Bell.Ring(m.SessionID)
	for {
		p := o.process(m.SessionID)
		if p == nil {
			break
		}
		if p.takesMessages() {
			p.pokeFeed()
			return nil
		}
		// It is being ended: the next process gets the message.
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	l := launchOf(s)
	l.By = m.By
	// Without room the message waits: it is in the queue by now.
	if err := o.launch(ctx, s, l); err != nil && !errors.Is(err, ErrRunning) {
		return o.sayWhy(ctx, m.SessionID, err)
	}
	return nil
}

// Unqueue takes back a message that waits for Claude. It returns false, and
// changes nothing, once the message is said or being said, or when there is none
// of that id in the session.
func (o *Orchestrator) Unqueue(ctx context.Context, sessionID, messageID string) (removed bool, err error) {
	queue, err := o.o.Store.QueuedMessages(ctx, sessionID)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(queue, func(m session.Message) bool { return m.MessageID == messageID }) {
		return false, nil
	}
	p := o.process(sessionID)
	if p != nil && !p.withhold(messageID) {
		return false, nil
	}
	removed, err = o.o.Store.RemoveQueued(ctx, messageID)
	if p != nil && err != nil {
		p.release(messageID) // it waits as before
	}
	if err != nil {
		return false, fmt.Errorf("orchestrator: take back message: %w", err)
	}
	o.o.Bell.Ring(sessionID)
	if now := o.process(sessionID); now != nil {
		// One that came up meanwhile may have read the queue before.
		removed = removed && (now == p || now.withhold(messageID))
		now.pokeFeed() // what waited behind it
	}
	return removed, nil
}

// Resume starts a dead session again. A turn that was cut off goes on by itself.
func (o *Orchestrator) Resume(ctx context.Context, sessionID string, by pending.Actor) error {
	s, err := o.ours(ctx, sessionID)
	if err != nil {
		return err
	}
	if p := o.process(sessionID); p != nil && p.over() {
		// It is read as dead before all it leaves is cleared away.
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	l := launchOf(s)
	l.ContinueTurn, l.By = l.Resume != "", by
	return o.launch(ctx, s, l)
}

// ours is a session in which this server may run Claude. The error is an
// [InvalidError] for one that holds only what an outsider asks.
func (o *Orchestrator) ours(ctx context.Context, sessionID string) (session.Session, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err == nil && s.Kind != session.Ours {
		err = &InvalidError{Field: "session_id", Sentence: "Claude does not run here for this session: it holds what an agent elsewhere asks. Its questions can be answered."}
	}
	return s, err
}

// Fork starts a new session that knows all this one has said.
func (o *Orchestrator) Fork(ctx context.Context, sessionID string, by pending.Actor) (string, error) {
	from, err := o.ours(ctx, sessionID)
	if err != nil {
		return "", err
	}
	if !from.Begun {
		return "", &InvalidError{Field: "session_id", Sentence: "Claude has not said anything in this session yet, so there is nothing to fork."}
	}
	settings, err := o.admit(ctx, from)
	if err != nil {
		return "", err
	}
	s := from
	s.SessionID, s.OwnerID = uuid.NewString(), by.UserID
	s.Title = "Fork of " + from.Title
	s.CreatedAt = time.Now()
	s.UpdatedAt, s.Archived = s.CreatedAt, false
	release, err := o.reserve(ctx, s)
	if err != nil {
		return "", err
	}
	defer release()
	if err := o.o.Store.CreateSession(ctx, s); err != nil {
		return "", fmt.Errorf("orchestrator: create fork: %w", err)
	}
	if settings.leaveOut {
		if err := o.o.Store.LeaveOut(ctx, s.SessionID, true); err != nil {
			return "", fmt.Errorf("orchestrator: leave out settings: %w", err)
		}
	}
	if err := o.copyTranscript(ctx, from.SessionID, s.SessionID); err != nil {
		return "", err
	}
	if err := o.o.Store.ShareAttachments(ctx, from.SessionID, s.SessionID); err != nil {
		return "", fmt.Errorf("orchestrator: share attachments with fork: %w", err)
	}
	l := launchOf(s)
	l.SessionID, l.Resume, l.Fork, l.By = s.SessionID, from.SessionID, true, by
	return s.SessionID, o.launch(ctx, s, l)
}

func (o *Orchestrator) copyTranscript(ctx context.Context, from, to string) error {
	const pageSize = 500
	for after := int64(0); ; {
		page, err := o.o.Store.Transcript(ctx, from, after, pageSize)
		if err != nil {
			return fmt.Errorf("orchestrator: read transcript to fork: %w", err)
		}
		if len(page.Items) > 0 {
			if err := o.o.Store.PutItems(ctx, to, page.Items); err != nil {
				return fmt.Errorf("orchestrator: copy transcript: %w", err)
			}
		}
		if !page.More {
			return nil
		}
		after = page.Next
	}
}

// Interrupt ends the present turn; the process stays and takes the next message.
// by is named to those whose requests the turn takes along.
func (o *Orchestrator) Interrupt(ctx context.Context, sessionID string, by pending.Actor) error {
	p, err := o.running(ctx, sessionID)
	if err != nil {
		return err
	}
	return p.interrupt(ctx, by)
}

// Kill ends the process of a session and everything below it: in order, with
// time to save its transcript, or at once with force. It returns when the end
// has begun; killing what is dead changes nothing. reason is shown to people.
func (o *Orchestrator) Kill(ctx context.Context, sessionID string, force bool, reason string) error {
	p, err := o.running(ctx, sessionID)
	if errors.Is(err, ErrNotRunning) {
		o.mu.Lock()
		delete(o.waiting, sessionID) // it is not to go on by itself
		o.mu.Unlock()
		return nil
	}
	if err != nil {
		return err
	}
	p.kill(force, true, reason)
	return nil
}

// SetModel changes the model, at once when a process runs.
func (o *Orchestrator) SetModel(ctx context.Context, sessionID, model string) error {
	if err := checkModel(model); err != nil {
		return err
	}
	if p := o.process(sessionID); p != nil {
		if err := p.setModel(ctx, model); err != nil {
			return err
		}
	}
	_, err := o.o.Store.UpdateSession(ctx, sessionID, session.Patch{Model: &model})
	o.o.Bell.Ring(sessionID)
	return err
}

// SetPermissionMode changes the permission mode, at once when a process runs. The
// mode in which Claude asks nobody is for the caller to have allowed; the CLI takes
// it at its start alone.
func (o *Orchestrator) SetPermissionMode(ctx context.Context, sessionID, mode string, by pending.Actor) error {
	if mode != bypass {
		if err := checkPermissionMode(mode); err != nil {
			return err
		}
	}
	if p := o.process(sessionID); p != nil {
		if mode == bypass && p.session.PermissionMode != bypass {
			return &InvalidError{Field: "permission_mode", Sentence: "Claude takes this mode only when it starts. End the session first, then change its mode and resume it."}
		}
		if mode == bypass {
			if err := o.recordAsksNobody(ctx, p.session, by); err != nil {
				return err
			}
			p.spareFor(by.UserID)
		}
		if err := p.setPermissionMode(ctx, mode); err != nil {
			return err
		}
	}
	_, err := o.o.Store.UpdateSession(ctx, sessionID, session.Patch{PermissionMode: &mode})
	o.o.Bell.Ring(sessionID)
	return err
}

// Live returns the growing last block of a running session.
func (o *Orchestrator) Live(sessionID string) (session.Live, bool) {
	if p := o.process(sessionID); p != nil {
		return p.liveBlock()
	}
	return session.Live{}, false
}

// Delete ends a session and forgets it.
func (o *Orchestrator) Delete(ctx context.Context, sessionID string) error {
	if p := o.process(sessionID); p != nil {
		p.kill(true, true, "The session was deleted.")
		if err := p.awaitGone(ctx); err != nil {
			return err
		}
	}
	return o.o.Store.DeleteSession(ctx, sessionID)
}

// launch registers a process for the session and hands it to Run.
func (o *Orchestrator) launch(ctx context.Context, s session.Session, plan launchPlan) error {
	release, err := o.reserve(ctx, s)
	if err != nil {
		return err
	}
	defer release()
	if !s.Demo && !o.rules().Roots.Hold(s.CWD) {
		return &InvalidError{Field: "cwd", Sentence: fmt.Sprintf("%s is outside the folders that this server may work in now (%s).", s.CWD, strings.Join(o.rules().Roots, ", "))}
	}
	if plan.settings, err = o.admit(ctx, s); err != nil {
		return err
	}
	if s.PermissionMode == bypass {
		if may, err := o.maySpare(ctx, plan.By.UserID, s.CWD); err != nil {
			return fmt.Errorf("orchestrator: launch: %w", err)
		} else if !may {
			return errAsksNobody
		}
	}
	var waits bool
	if plan.Former, waits, err = o.leftOver(ctx, s.SessionID); err != nil {
		return fmt.Errorf("orchestrator: launch: %w", err)
	}
	plan.ContinueTurn = plan.ContinueTurn || waits && plan.Resume == s.SessionID
	lost := ""
	if plan.ContinueTurn {
		if lost, err = o.unsaved(ctx, s); err != nil {
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
		plan.ContinueTurn = lost == ""
	}
	p := newProcess(o, s, plan)
	o.mu.Lock()
	if _, ok := o.processes[s.SessionID]; ok {
		o.mu.Unlock()
		return ErrRunning
	}
	o.processes[s.SessionID] = p
	delete(o.waiting, s.SessionID)
	o.mu.Unlock()
	if s.PermissionMode == bypass {
		if err := o.recordAsksNobody(ctx, s, plan.By); err != nil {
			o.remove(p)
			return err
		}
	}
	if plan.Retell {
		if _, err := o.o.Store.Requeue(ctx, s.SessionID); err != nil {
			o.remove(p)
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
	}
	if lost != "" {
		if _, err := o.o.Store.Unsend(ctx, lost); err != nil {
			o.remove(p)
			return fmt.Errorf("orchestrator: launch: %w", err)
		}
		p.put(session.Item{Key: "unsaved:" + p.processID, At: time.Now(), Kind: session.ItemNote, Body: encode(session.NoteBody{
			Level: "warning", Text: "Claude ended before it had saved the last message, so the message is said again.",
		})})
	}
	// Whoever asked for the process finds it starting, not still dead.
	if err := p.flush(ctx); err != nil {
		o.remove(p)
		return fmt.Errorf("orchestrator: launch: %w", err)
	}
	select {
	case o.launches <- p:
		return nil
	case <-o.closing:
		return p.neverRan(ctx, ErrClosing)
	case <-ctx.Done():
		return p.neverRan(ctx, ctx.Err())
	}
}

// unsaved returns the message of the turn that a dead process was cut off in, if
// Claude's own transcript does not hold it: the CLI writes that a moment after it has
// heard and asked. Resumed, it would know nothing of the turn, and wait. "" for none.
func (o *Orchestrator) unsaved(ctx context.Context, s session.Session) (messageID string, err error) {
	mark, err := o.o.Store.Mark(ctx, s.SessionID)
	if err != nil {
		return "", err
	}
	var known scribe
	if err := known.recall(mark.Memo); err != nil || known.Sending == "" {
		return "", err
	}
	err = o.asUser(func() error {
		saved, err := o.saved().Find(s.SessionID)
		if err != nil {
			return nil // what the CLI does not find it says itself
		}
		holds, err := o.saved().Holds(saved, known.Sending)
		if err == nil && !holds {
			messageID = known.Sending
		}
		return err
	})
	if err != nil { // then Claude is asked to go on, as if it knew
		o.o.Log.WarnContext(ctx, "cannot read what Claude has saved of a session", "session_id", s.SessionID, "error", err)
	}
	return messageID, nil
}

func (o *Orchestrator) remove(p *process) {
	o.mu.Lock()
	delete(o.processes, p.session.SessionID)
	waits := len(o.waiting) > 0
	o.mu.Unlock()
	close(p.gone)
	if waits {
		poke(o.roomier)
	}
}

func (o *Orchestrator) process(sessionID string) *process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.processes[sessionID]
}

// running finds the process of a session: ErrNotRunning when it has none,
// session.ErrNotFound when there is no such session.
func (o *Orchestrator) running(ctx context.Context, sessionID string) (*process, error) {
	if p := o.process(sessionID); p != nil {
		return p, nil
	}
	if _, err := o.o.Store.Session(ctx, sessionID); err != nil {
		return nil, err
	}
	return nil, ErrNotRunning
}

// all lists the running processes.
func (o *Orchestrator) all() []*process {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]*process, 0, len(o.processes))
	for _, p := range o.processes {
		list = append(list, p)
	}
	return list
}

// sample measures every process tree and applies the limits.
func (o *Orchestrator) sample(ctx context.Context, now time.Time) {
	running := o.all()
	if len(running) == 0 {
		return
	}
	table, err := readTable()
	if err != nil {
		o.o.Log.WarnContext(ctx, "cannot read the process table", "error", err)
		return
	}
	roots := make([]int, 0, len(running))
	for _, p := range running {
		if pid := p.pid(); pid != 0 {
			roots = append(roots, pid)
		}
	}
	sums := sumTrees(table, roots)
	for _, p := range running {
		p.measure(ctx, now, sums[p.pid()], o.rules().Limits)
	}
}
