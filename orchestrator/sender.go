package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// withhold keeps a message from being sent, and reports whether it did so in time.
func (p *process) withhold(messageID string) bool {
	return slices.Contains(p.handleAndRead(context.Background(), messageWithheld{messageID}).withheldIDs, messageID)
}

// continueTimeout is how long a resumed CLI may take to continue the turn that was cut off. A
// new message waits that long, because it would interfere with the turn.
const continueTimeout = 5 * time.Second

// resendDelay is the pause after a message could not be sent.
const resendDelay = time.Second

// sendMessages sends people's messages, one per turn, until the CLI is gone.
func (p *process) sendMessages(ctx context.Context, done <-chan struct{}) {
	timer := time.NewTimer(continueTimeout)
	defer timer.Stop()
	send := func() bool {
		sent, err := p.sendNext(ctx)
		if errors.Is(err, problem.LimitReached) {
			p.handle(ctx, throttled{problem.Message(err)})
			timer.Reset(capacityInterval)
		} else if err != nil {
			p.log.ErrorContext(ctx, "cannot send the message", "error", err)
			timer.Reset(resendDelay)
		}
		return sent
	}
	p.repeatInterrupt(ctx) // for the previous server
	hold := p.plan.ContinueTurn || p.is(state.cutOff)
	if hold || !send() {
		p.handle(ctx, inputAwaited{time.Now()})
	}
	for {
		select {
		case <-p.feed:
			if p.is(func(s state) bool { return s.turnEnded }) {
				p.handle(ctx, turnEndTaken{})
				hold = false
				p.endEarlierQuestions(ctx)
			}
			p.repeatInterrupt(ctx)
		case <-timer.C:
			if hold && p.is(state.cutOff) {
				if err := p.continueTurn(ctx); err != nil {
					p.log.ErrorContext(ctx, "cannot continue the interrupted turn", "error", err)
					timer.Reset(resendDelay)
					continue
				}
			}
			hold = hold && p.is(state.working)
		case <-done:
			return
		}
		if !hold {
			send()
		}
	}
}

// continueTurn queues a message that makes Claude continue the turn that was cut off, unless
// another message is queued. A resumed CLI continues by itself only if its transcript ends with a
// person's message or the result of a call. It does not continue if it was killed while it wrote
// text, or for the second time, because its own request to continue is not a person's message.
func (p *process) continueTurn(ctx context.Context) error {
	id := p.session.SessionID
	queue, err := p.o.o.Store.QueuedMessages(ctx, id)
	if err != nil || len(queue) > 0 {
		return err
	}
	p.addItems(transcript.Note("continued:"+p.processID, "info", statement.New("turn_continued"), time.Now()))
	_, err = p.o.o.Store.QueueMessage(ctx, session.Message{
		MessageID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("continue in "+p.processID)).String(), SessionID: id,
		Text: continueMessage, By: p.plan.By, CreatedAt: time.Now(),
	})
	return err
}

// continueMessage is what the CLI itself sends to the model when it continues a turn.
const continueMessage = "Continue from where you left off."

// sendNext sends the oldest queued message if Claude waits for one, and reports whether it did.
func (p *process) sendNext(ctx context.Context) (sent bool, err error) {
	s := p.snapshot()
	ready := s.row.State == session.UserTurn || s.row.State == session.Starting
	// A turn was started for this message, and it is unknown whether the message was sent: a
	// server died in between, or the transport failed.
	doubtful := ""
	if s.working() {
		doubtful = s.memo.Sending
	}
	client := p.clientNow()
	if s.stopReason != "" || !ready && doubtful == "" {
		return false, nil
	}
	queue, err := p.o.o.Store.QueuedMessages(ctx, p.session.SessionID)
	if err != nil {
		return false, err
	}
	if len(queue) == 0 {
		p.handle(ctx, throttled{})
		return false, nil
	}
	m := queue[0]
	if doubtful != "" && m.MessageID != doubtful {
		return false, nil // the doubtful message was sent and recorded
	}
	message := claude.UserMessage{UUID: m.MessageID, Text: m.Text, Blocks: p.o.attachmentBlocks(ctx, m)}
	ended := p.snapshot().memo.Ended == m.MessageID
	if doubtful == "" && !ended {
		if err := p.admitTurn(ctx); err != nil {
			return false, err
		}
	}
	if err := p.toolRules.restrictSkills(ctx); err != nil {
		return false, err
	}
	if !ended {
		s := p.handleAndRead(ctx, turnStarted{messageID: m.MessageID, at: time.Now()})
		if s.heldBy != "" || slices.Contains(s.withheldIDs, m.MessageID) {
			return false, nil // files are being restored, or a person is removing the message
		}
		// A continued turn may have ended meanwhile; started once more, it would never end.
		ended = s.memo.Ended == m.MessageID
	}
	snapshot := ""
	if doubtful == "" && !ended {
		snapshot = p.snapshotFolder(ctx)
	} else if snapshot, err = p.storedSnapshot(ctx, m.MessageID); err != nil {
		return false, err
	}
	if !ended {
		// Stored before the message is sent, so that a server that adopts the process knows which
		// message's turn runs or has ended.
		p.addItems(transcript.UserMessage(m, snapshot, time.Now()))
		if err := p.flush(ctx); err != nil {
			return false, err
		}
	}
	err = failpoint.Hit("message.before_send")
	if err == nil {
		err = failpoint.After("message.after_send", client.SendUser(ctx, message))
	}
	repeated := errors.Is(err, launch.ErrRepeated)
	if err != nil && !repeated {
		return false, fmt.Errorf("send user message: %w", err)
	}
	if ended && !repeated {
		p.handle(ctx, turnStarted{messageID: m.MessageID, at: time.Now(), anew: true})
		p.addItems(transcript.UserMessage(m, snapshot, time.Now()))
	}
	if _, err := p.o.o.Store.MarkSent(ctx, m.MessageID, time.Now()); err != nil {
		return true, fmt.Errorf("take message from the queue: %w", err)
	}
	p.o.o.Notifier.Notify(p.session.SessionID)
	if ended && repeated {
		wake(p.feed) // this message is done; send the next one
		return false, nil
	}
	return true, nil
}

// endEarlierQuestions drops the requests of earlier processes at the end of the turn that was
// cut off: Claude will never ask again what it has not asked by then.
func (p *process) endEarlierQuestions(ctx context.Context) {
	if !p.snapshot().earlierQuestions {
		return
	}
	p.handle(ctx, earlierQuestions{false})
	if !p.requests.dropEarlier(ctx) {
		p.handle(ctx, earlierQuestions{true}) // tried again at the end of the next turn
	}
}

// admitTurn returns nil if another turn may start in the session, else a [problem.Error] that is
// [problem.LimitReached]. It blocks until the cost of the previous turn is stored.
func (p *process) admitTurn(ctx context.Context) error {
	if p.snapshot().cost > 0 {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	for p.state.storing > 0 && !p.state.ended {
		p.written.Wait()
	}
	p.mu.Unlock()
	return p.o.admission.AllowTurn(ctx, p.session.CWD, p.session.OwnerID)
}
