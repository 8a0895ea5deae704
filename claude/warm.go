package claude

import (
	"context"
	"errors"
	"iter"
	"sync"
)

// WarmQuery is a CLI that has started and is initialized, and waits for the prompt of one query. It
// is from [Warm], and its owner calls Close.
type WarmQuery struct {
	client   *Client
	messages *queue
	cancel   context.CancelCauseFunc // ends the CLI
	running  sync.WaitGroup          // of Run

	mu   sync.Mutex
	used bool
}

// Warm starts a CLI and waits until it is initialized, so that a later query does not wait for
// that. The options are those of the query. ctx bounds the start alone; the callbacks get its
// values.
//
// The errors are those of [Start], and of [Client.Ready].
func Warm(ctx context.Context, o Options) (*WarmQuery, error) {
	c, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	w := &WarmQuery{client: c, messages: newQueue()}
	c.started.turn = w.messages
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w.cancel = cancel
	w.running.Go(func() { _ = c.Run(life) }) // its error ends the queue
	if _, err := c.Ready(ctx); err != nil {
		if ctx.Err() == nil {
			c.started.stop() // unlike Close, Run then says why the CLI ended
			w.running.Wait()
			err = c.failure(err)
		}
		w.Close()
		return nil, err
	}
	return w, nil
}

// Query is [Query] on the CLI that waits. The first iteration sends the prompt; another one fails.
// When the loop ends, or ctx does, the CLI is ended. If it has ended while it waited, the error
// says why.
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

// Client returns the client of the CLI, for what [Client.Ready] knows and for control requests.
// Its Turn fails with [ErrBusy].
func (w *WarmQuery) Client() *Client { return w.client }

// Close ends the CLI and returns when it is gone. A query that still runs fails with [ErrClosed].
// It may be called often, and is not needed after a query.
func (w *WarmQuery) Close() {
	w.cancel(ErrClosed)
	w.running.Wait()
}
