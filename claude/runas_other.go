//go:build !linux

package claude

func onThread(change func() error, _ func() error) error { return change() }

func (u *RunAs) takeFiles() error { return ErrRunAs }
func (u *RunAs) takeGroup() error { return ErrRunAs }

// Become works on Linux alone.
func (u *RunAs) Become() error { return ErrRunAs }
