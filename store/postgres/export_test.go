package postgres

import "time"

// SetCallTimeout changes what a call may take.
func (s *Store) SetCallTimeout(timeout time.Duration) { s.callTimeout = timeout }
