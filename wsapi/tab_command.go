package wsapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// readCommands reads the commands of a tab until the connection ends.
func (h *Hub) readCommands(ctx context.Context, t *tab) {
	for {
		kind, r, err := t.conn.Reader(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			t.closeWith(websocket.StatusUnsupportedData, "commands are text")
			return
		}
		if !h.readOne(ctx, t, r) {
			return
		}
	}
}

// readOne reads one message and runs its command. It returns false if the connection must end. A
// large message waits for upload capacity and must keep arriving. The type may be at the end of the
// message.
func (h *Hub) readOne(ctx context.Context, t *tab, r io.Reader) bool {
	data, err := io.ReadAll(io.LimitReader(r, command.SmallLimit+1))
	if err != nil {
		return false
	}
	if len(data) > command.SmallLimit {
		tooBig := func() bool {
			t.closeWith(websocket.StatusMessageTooBig, "command too large")
			return false
		}
		maxSize := int64(command.MessageLimit)
		if kind, said := typeOfBegun(data); said {
			maxSize = maxBytes(kind)
		}
		if !t.who.User.Role.AtLeast(account.Member) || maxSize <= command.SmallLimit {
			return tooBig()
		}
		t.busy.Store(true)
		leave, ok := h.o.Commands.AcquireLarge(ctx, t.who.User.UserID)
		if !ok {
			return false
		}
		defer leave()
		data, err = t.readLarge(data, io.LimitReader(r, maxSize-int64(len(data))+1))
		t.busy.Store(false)
		if err != nil {
			return false
		}
		if int64(len(data)) > maxBytes(typeOf(data)) {
			return tooBig()
		}
	}
	if !utf8.Valid(data) {
		t.closeWith(websocket.StatusInvalidFramePayloadData, "not UTF-8")
		return false
	}
	t.busy.Store(true) // the command may take long, and no pong can be read meanwhile
	defer t.busy.Store(false)
	return h.runCommand(ctx, t, data)
}

// maxBytes returns the largest message of a type, in bytes.
func maxBytes(kind string) int64 {
	spec, _ := command.Find(kind)
	return spec.MaxBytes()
}

// readLarge reads the rest of a large message. The connection ends if the message stops
// arriving.
func (t *tab) readLarge(begun []byte, r io.Reader) ([]byte, error) {
	var p command.Pace
	p.Begin()
	late := time.AfterFunc(time.Until(p.Due()), func() { _ = t.conn.CloseNow() })
	defer late.Stop()
	all := bytes.NewBuffer(begun)
	for {
		n, err := io.CopyN(all, r, command.SmallLimit/4)
		if err == io.EOF {
			return all.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		p.Received += n
		late.Reset(time.Until(p.Due()))
	}
}

// typeOfBegun returns the type from the beginning of a message, and whether it was found.
func typeOfBegun(data []byte) (kind string, said bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return "", false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", false
		}
		if key == "type" {
			return kind, dec.Decode(&kind) == nil
		}
		var other json.RawMessage
		if dec.Decode(&other) != nil {
			return "", false
		}
	}
	return "", false
}

// typeOf returns the type of a message, "" if it has none.
func typeOf(data []byte) string {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &head) // wire.Decode reports an invalid message
	return head.Type
}

// runCommand runs one command and acknowledges it. It returns false if the connection must
// end.
func (h *Hub) runCommand(ctx context.Context, t *tab, data []byte) bool {
	var head struct {
		Type      string `json:"type"`
		CommandID string `json:"command_id"`
	}
	_ = json.Unmarshal(data, &head) // wire.Decode reports an invalid message
	if len(head.CommandID) > 64 {
		head.CommandID = ""
	}
	reject := func(ref *refusal.Refusal) bool {
		body := ref.Body
		return t.ack(ctx, wire.Ack{CommandID: head.CommandID, Result: ref.Result, Error: &body})
	}
	spec, known := command.Find(head.Type)
	if !known {
		if err := wire.Decode(data, &map[string]any{}); err != nil {
			return reject(refusal.FromDecodeError(err))
		}
		return reject(refusal.New("unknown_type"))
	}
	c := spec.New()
	if err := wire.Decode(data, c); err != nil {
		return reject(refusal.FromDecodeError(err))
	}
	if _, err := uuid.Parse(head.CommandID); err != nil || len(head.CommandID) != 36 {
		return reject(refusal.For("command_id", "command_id"))
	}
	who, err := h.o.People.Renew(ctx, t.who)
	if !t.checkIdentity(who, err) {
		return false
	}
	if err != nil {
		return reject(h.o.Refusals.Of(err))
	}
	if spec.IsShared() {
		return h.performShared(ctx, t, spec, c, who)
	}
	if err := h.o.Commands.Admit(spec, c, who); err != nil {
		return reject(h.o.Refusals.Of(err))
	}
	return h.performOwn(ctx, t, c, who, reject)
}

// performShared performs a command that exists in REST too. A slow one runs in its own
// goroutine, so that an answer never waits for it.
func (h *Hub) performShared(ctx context.Context, t *tab, spec command.Spec, c wire.Command, who account.Identity) bool {
	run := func() bool {
		// A command that has started outlives its tab, but not the server.
		commandCtx, done := h.during(context.WithoutCancel(ctx))
		defer done()
		out := h.o.Commands.Perform(commandCtx, spec, c, who).Outcome
		return t.ack(ctx, wire.Ack{
			CommandID: out.CommandID, Result: out.Result, Error: out.Error, Resolved: out.Resolved,
			SessionID: out.SessionID, MessageID: out.MessageID, ExpiresAt: out.ExpiresAt, HeldUntil: out.HeldUntil,
		})
	}
	if !spec.Slow {
		return run()
	}
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	var before, done chan struct{}
	if spec.Ordered {
		sessionID := wire.SessionOf(c)
		t.forgetDone()
		before, done = t.behind[sessionID], make(chan struct{})
		t.behind[sessionID] = done
	}
	t.work.Go(func() {
		defer h.recoverTab(ctx, t)
		defer func() { <-t.slots }()
		if done != nil {
			defer close(done)
		}
		if before != nil {
			<-before
		}
		run()
	})
	return true
}

// forgetDone removes completed ordered commands.
func (t *tab) forgetDone() {
	if len(t.behind) < slowCommands {
		return
	}
	for id, done := range t.behind {
		select {
		case <-done:
			delete(t.behind, id)
		default:
		}
	}
}

// performOwn runs a command about the tab itself.
func (h *Hub) performOwn(ctx context.Context, t *tab, c wire.Command, who account.Identity, reject func(*refusal.Refusal) bool) bool {
	commandID, sessionID := c.ID(), wire.SessionOf(c)
	switch c := c.(type) {
	case *wire.Subscribe:
		ses, _, err := h.o.Guard.Session(ctx, who, project.See, sessionID)
		if err != nil {
			if !errors.Is(err, session.ErrNotFound) {
				refusal.Report(ctx, h.o.Log, "subscribe", h.o.Refusals.Of(err))
			}
			return reject(h.o.Refusals.Of(err))
		}
		if !t.ack(ctx, wire.Ack{CommandID: commandID, Result: wire.Applied}) {
			return false
		}
		h.subscribe(t, ses, c.After, c.LiveAppend)
		if ses.Lifecycle != nil {
			t.putProgress(sessionID, newProgress(sessionID, ses.Lifecycle))
		}
		return true
	case *wire.Unsubscribe:
		h.unsubscribe(t, sessionID)
	case *wire.Typing:
		h.typing(t, sessionID, c.RequestID)
	case *wire.Looking:
		h.setPresence(t, c)
	case *wire.Noticed:
		h.o.Alerts.MarkNoticed(t.who.User.UserID, c.RequestID)
	}
	return t.ack(ctx, wire.Ack{CommandID: commandID, Result: wire.Applied})
}

// ack queues the acknowledgment of a command. It blocks while the tab does not receive its
// acknowledgments, so that its commands wait and memory does not grow.
func (t *tab) ack(ctx context.Context, a wire.Ack) bool {
	a.Type = "ack"
	if failpoint.Hit("ack.before_send") != nil {
		t.abort()
		return false
	}
	frame := wire.Encode(a)
	select {
	case t.ackSlots <- struct{}{}:
		t.queue(func() { t.acks = append(t.acks, frame) })
		if failpoint.Hit("ack.after_send") != nil {
			t.abort()
			return false
		}
		return true
	case <-ctx.Done():
		return false
	case <-t.ending:
		return false
	}
}

// setPresence reports to the alerts what a tab shows.
func (h *Hub) setPresence(t *tab, c *wire.Looking) {
	look := alert.Presence{Active: c.Looking}
	if c.Showing != nil {
		look.Showing = &alert.Showing{SessionID: c.Showing.SessionID, Inbox: c.Showing.Inbox}
	}
	h.o.Alerts.SetPresence(t, t.who.User.UserID, look)
}

// recoverTab recovers from the panic of a command of a tab, so that it ends the connection but not
// the server. It is deferred by each goroutine of the tab that does work for it.
func (h *Hub) recoverTab(ctx context.Context, t *tab) {
	if fault := recover(); fault != nil {
		h.faults.Add(1)
		h.o.Log.ErrorContext(ctx, "tab failed", "panic", fault, "stack", string(debug.Stack()))
		t.abort()
	}
}
