package claude

import (
	"context"
	"errors"
	"iter"
	"sync"
)

// WarmQuery is a started and initialized CLI that waits for the prompt of one query. [Warm] creates it,
// and its owner calls Close.
type WarmQuery struct {
	client   *Client
	messages *queue
	cancel   context.CancelCauseFunc // ends the CLI
	running  sync.WaitGroup          // done when Run has returned

	mu   sync.Mutex
	used bool
}

// Warm starts a CLI and waits until it is initialized, so that a later query need not wait for it. The
// options are those of the query. ctx bounds only the start; the callbacks get its values.
//
// The errors are those of [Start] and [Client.Ready].
func Warm(ctx context.Context, o Options) (*WarmQuery, error) {
	c, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	w := &WarmQuery{client: c, messages: newQueue()}
	c.started.turn = w.messages
	lifetime, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w.cancel = cancel
	w.running.Go(func() { _ = c.Run(lifetime) }) // its error ends the queue
	if _, err := c.Ready(ctx); err != nil {
		if ctx.Err() == nil {
			c.started.stop() // unlike after Close, Run then returns why the CLI ended
			w.running.Wait()
			err = c.failure(err)
		}
		w.Close()
		return nil, err
	}
	return w, nil
}

// Query is [Query] on the waiting CLI. The first iteration sends the prompt; any other fails. The CLI is
// ended when the loop or ctx ends. If it has exited while it was waiting, the error is the reason.
func (w *WarmQuery) Query(ctx context.Context, prompt string) iter.Seq2[Message, error] {
	return w.QueryMessage(ctx, UserMessage{Text: prompt})
}

// QueryMessage is [WarmQuery.Query] for a prompt with images or documents.
func (w *WarmQuery) QueryMessage(ctx context.Context, prompt UserMessage) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		w.mu.Lock()
		used := w.used
		w.used = true
		w.mu.Unlock()
		if used {
			yield(nil, errors.New("claude: a warm CLI serves one query"))
			return
		}
		defer w.cancel(ErrClosed) // after Run it only frees the context
		defer w.running.Wait()
		stop := context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
		defer stop()
		w.client.query(ctx, &prompt, w.messages, w.running.Wait, yield)
	}
}

// Client returns the client of the CLI, for [Client.Ready] and for control requests. Its Turn fails
// with [ErrBusy].
func (w *WarmQuery) Client() *Client { return w.client }

// Close ends the CLI and returns when it has exited. A query that is still running fails with
// [ErrClosed]. Close may be called more than once, and is not needed after a query.
func (w *WarmQuery) Close() {
	w.cancel(ErrClosed)
	w.running.Wait()
}
