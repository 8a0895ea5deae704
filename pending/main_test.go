package pending_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notifier counts the notified of each session.
type notifier struct {
	mu       sync.Mutex
	notified map[string]int
}

func (b *notifier) Notify(sessionID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notified == nil {
		b.notified = map[string]int{}
	}
	b.notified[sessionID]++
}

func (b *notifier) count(sessionID string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notified[sessionID]
}

// node is a registry as one server has it.
type node struct {
	*pending.Registry
	store    *pendingtest.Store
	notifier *notifier
}

func newNode(store *pendingtest.Store) node {
	b := &notifier{}
	return node{Registry: pending.NewRegistry(store, b), store: store, notifier: b}
}

// asked is an Ask that runs.
type asked struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by the goroutine that asks
	row    pending.Request
	err    error
}

func (n node) ask(ctx context.Context, req pending.Request) *asked {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &asked{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.row, a.err = n.Ask(ctx, req)
	}()
	return a
}

// result waits for the Ask to return.
func (a *asked) result() (pending.Request, error) {
	<-a.done
	return a.row, a.err
}

func (a *asked) returned() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

var ann = pending.Actor{UserID: "u-ann", Name: "Ann", Device: "Firefox on Linux"}
var bob = pending.Actor{UserID: "u-bob", Name: "Bob"}

func bash(id, sessionID string) pending.Request {
	return pending.Request{
		RequestID: id, SessionID: sessionID, RequestType: pending.ToolApproval, Source: pending.SourceClaude,
		ToolName: "Bash", ToolInput: json.RawMessage(`{"command":"ls","timeout":1000}`),
	}
}

func questions(id, sessionID string, qs ...pending.Question) pending.Request {
	for i := range qs {
		if qs[i].ID == "" {
			qs[i].ID = fmt.Sprintf("q%d", i+1)
		}
	}
	return pending.Request{
		RequestID: id, SessionID: sessionID, RequestType: pending.AskUserQuestion, Source: pending.SourceClaude,
		ToolName: "AskUserQuestion", ToolInput: json.RawMessage(`{}`), Form: &pending.Form{Questions: qs},
	}
}

func options(labels ...string) []pending.Option {
	var list []pending.Option
	for _, label := range labels {
		list = append(list, pending.Option{Label: label, Value: label})
	}
	return list
}

func allow(id, sessionID, commandID string) pending.Submission {
	return pending.Submission{
		RequestID: id, SessionID: sessionID, RequestType: pending.ToolApproval, CommandID: commandID, Actor: ann, Decision: pending.Allow,
	}
}

func deny(id, sessionID, commandID, message string) pending.Submission {
	s := allow(id, sessionID, commandID)
	s.Decision, s.Message = pending.Deny, message
	return s
}
