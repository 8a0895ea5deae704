package account

// Addresses is how many addresses the limiter remembers.
func (l *SignInLimiter) Addresses() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.failures)
}
