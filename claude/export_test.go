package claude

import (
	"context"
	"iter"
	"sync"
)

// CLIProcess is a CLI of a test.
type CLIProcess = cliProcess

// StartOver is [Start] for a CLI of a test that has a version.
func StartOver(p CLIProcess, version string, o Options) *Client {
	c := NewClient(p, o)
	c.started = newStarted(p, version, &o, o.InitializeRequest())
	return c
}

// QueryOver is [Query] for a CLI of a test.
func QueryOver(ctx context.Context, p CLIProcess, prompt string, o Options) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		c := StartOver(p, "", o)
		messages := newQueue()
		c.started.turn = messages
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		defer running.Wait()
		c.query(ctx, &UserMessage{Text: prompt}, messages, running.Wait, yield)
	}
}
