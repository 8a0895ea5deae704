package mcpapi

import (
	"context"
	"time"
)

// RunSlowly is [Server.Run] on a machine so busy that it ends the calls late.
func (s *Server) RunSlowly(ctx context.Context, late time.Duration) error {
	return s.questions.Run(ctx, func() {
		time.Sleep(late)
		s.calls.abortAll()
	})
}
