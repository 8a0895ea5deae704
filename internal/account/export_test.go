package account

// Addresses is how many addresses the limiter remembers.
func (l *SignInLimiter) Addresses() int {
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	return len(l.memory.failures)
}
