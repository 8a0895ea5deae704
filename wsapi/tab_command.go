package wsapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// read takes commands until the connection ends.
func (t *tab) read(ctx context.Context) {
	for {
		kind, r, err := t.conn.Reader(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			t.shut(websocket.StatusUnsupportedData, "commands are text")
			return
		}
		if !t.readOne(ctx, r) {
			return
		}
	}
}

// readOne takes one message. Most must be small; a large one waits for its turn
// among all that is large, and must keep coming. What it is, it may say at its end.
func (t *tab) readOne(ctx context.Context, r io.Reader) bool {
	data, err := io.ReadAll(io.LimitReader(r, command.SmallLimit+1))
	if err != nil {
		return false
	}
	if len(data) > command.SmallLimit {
		tooBig := func() bool {
			t.shut(websocket.StatusMessageTooBig, "command too large")
			return false
		}
		most := int64(command.SpeechLimit)
		if kind, said := typeOfBegun(data); said {
			most = maxBytes(kind)
		}
		if !t.who.User.Role.AtLeast(account.Member) || most <= command.SmallLimit {
			return tooBig()
		}
		t.taking.Store(true)
		leave, ok := t.hub.o.Commands.AcquireLarge(ctx, t.who.User.UserID)
		if !ok {
			return false
		}
		defer leave()
		data, err = t.readLarge(data, io.LimitReader(r, most-int64(len(data))+1))
		t.taking.Store(false)
		if err != nil {
			return false
		}
		if int64(len(data)) > maxBytes(typeOf(data)) {
			return tooBig()
		}
	}
	if !utf8.Valid(data) {
		t.shut(websocket.StatusInvalidFramePayloadData, "not UTF-8")
		return false
	}
	t.taking.Store(true) // the command may take long, and no pong is read meanwhile
	defer t.taking.Store(false)
	return t.command(ctx, data)
}

// maxBytes returns the largest message of a type, in bytes.
func maxBytes(kind string) int64 {
	spec, _ := command.Find(kind)
	return spec.MaxBytes()
}

// readLarge reads the rest of a large message. One that does not keep coming ends
// the connection.
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
		p.Got += n
		late.Reset(time.Until(p.Due()))
	}
}

// typeOfBegun is the type that a message says it has in its beginning, and whether
// it says one there.
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

// typeOf is the type that a message says it has, "" when it says none.
func typeOf(data []byte) string {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(data, &head) // what is wrong with it decodeStrict says
	return head.Type
}

// command carries out one command and acks it. It is false when the connection
// is to end.
func (t *tab) command(ctx context.Context, data []byte) bool {
	var head struct {
		Type      string `json:"type"`
		CommandID string `json:"command_id"`
	}
	_ = json.Unmarshal(data, &head) // what is wrong with it decodeStrict says
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
			return reject(refusal.Misshapen(err))
		}
		return reject(refusal.New("unknown_type"))
	}
	c := spec.New()
	if err := wire.Decode(data, c); err != nil {
		return reject(refusal.Misshapen(err))
	}
	if _, err := uuid.Parse(head.CommandID); err != nil || len(head.CommandID) != 36 {
		return reject(refusal.For("command_id", "command_id"))
	}
	who, err := t.hub.o.People.Renew(ctx, t.who)
	if !t.recognise(who, err) {
		return false
	}
	if err != nil {
		return reject(t.hub.o.Refusals.Of(err))
	}
	if spec.IsShared() {
		return t.performShared(ctx, spec, c, who)
	}
	if err := t.hub.o.Commands.Admit(spec, c, who); err != nil {
		return reject(t.hub.o.Refusals.Of(err))
	}
	return t.own(ctx, c, who, reject)
}

// performShared performs a command that REST takes, too. A slow one runs on a goroutine of
// its own, so that an answer never waits for it.
func (t *tab) performShared(ctx context.Context, spec command.Spec, c wire.Command, who account.Identity) bool {
	run := func() bool {
		// A command that has begun outlives its tab, but not the server.
		commandCtx, done := t.hub.during(context.WithoutCancel(ctx))
		defer done()
		out := t.hub.o.Commands.Perform(commandCtx, spec, c, who).Outcome
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
		t.sweep()
		before, done = t.behind[sessionID], make(chan struct{})
		t.behind[sessionID] = done
	}
	t.work.Go(func() {
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

// sweep forgets ordered commands that are done.
func (t *tab) sweep() {
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

// own carries out a command that is about the tab itself.
func (t *tab) own(ctx context.Context, c wire.Command, who account.Identity, reject func(*refusal.Refusal) bool) bool {
	commandID, sessionID := c.ID(), wire.SessionOf(c)
	switch c := c.(type) {
	case *wire.Subscribe:
		ses, _, err := t.hub.o.Guard.Session(ctx, who, project.See, sessionID)
		if err != nil {
			if !errors.Is(err, session.ErrNotFound) {
				refusal.Report(ctx, t.hub.o.Log, "subscribe", t.hub.o.Refusals.Of(err))
			}
			return reject(t.hub.o.Refusals.Of(err))
		}
		if !t.ack(ctx, wire.Ack{CommandID: commandID, Result: wire.Applied}) {
			return false
		}
		t.hub.subscribe(t, sessionID, c.After, c.LiveAppend)
		if ses.Lifecycle != nil {
			t.putProgress(sessionID, newProgress(sessionID, ses.Lifecycle))
		}
		return true
	case *wire.Unsubscribe:
		t.hub.unsubscribe(t, sessionID)
	case *wire.Typing:
		t.hub.typing(t, sessionID, c.RequestID)
	case *wire.Looking:
		t.setPresence(c)
	case *wire.Noticed:
		t.hub.o.Alerts.MarkNoticed(t.who.User.UserID, c.RequestID)
	}
	return t.ack(ctx, wire.Ack{CommandID: commandID, Result: wire.Applied})
}

// ack queues the answer to a command. It waits when the tab does not take its
// acks; then the tab's commands wait, and memory does not grow.
func (t *tab) ack(ctx context.Context, a wire.Ack) bool {
	a.Type = "ack"
	if failpoint.Hit("ack.before_send") != nil {
		t.cut()
		return false
	}
	frame := wire.Encode(a)
	select {
	case t.ackSlots <- struct{}{}:
		t.queue(func() { t.acks = append(t.acks, frame) })
		if failpoint.Hit("ack.after_send") != nil {
			t.cut()
			return false
		}
		return true
	case <-ctx.Done():
		return false
	case <-t.ending:
		return false
	}
}
