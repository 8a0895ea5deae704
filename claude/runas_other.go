//go:build !linux

package claude

func onThread(change func() error, _ func() error) error { return change() }

func (u *RunAs) takeFileRights() error { return ErrRunAs }
func (u *RunAs) takeFileGroup() error  { return ErrRunAs }

// Become is supported on Linux only.
func (u *RunAs) Become() error { return ErrRunAs }
