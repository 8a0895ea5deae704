package claude

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// Of the kernel and not in package syscall.
const (
	prSetNoNewPrivs  = 38
	prCapAmbient     = 47
	prAmbientClear   = 4 // PR_CAP_AMBIENT_CLEAR_ALL
	capabilityThird  = 0x20080522
	noChange         = ^uintptr(0)
	lowest32         = 0xffffffff
	capabilityBlocks = 2
)

// onThread calls f on a thread of its own, which goes afterwards: no other
// goroutine ever runs on one whose credentials were changed.
func onThread(change func() error, f func() error) error {
	var err error
	var broken any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { broken = recover() }()
		runtime.LockOSThread() // and never unlocked
		if err = change(); err == nil {
			err = f()
		}
	}()
	<-done
	if broken != nil {
		panic(broken)
	}
	return err
}

// takeFiles gives this thread the file rights of the user. The calls are the
// kernel's own, which are for one thread: those of package syscall are for all.
func (u *RunAs) takeFiles() error {
	if err := u.takeGroups(); err != nil {
		return err
	}
	if err := u.takeGroup(); err != nil {
		return err
	}
	if err := setFS("setfsuid", syscall.SYS_SETFSUID, u.UID); err != nil {
		return err
	}
	return noCapabilities()
}

func (u *RunAs) takeGroup() error { return setFS("setfsgid", syscall.SYS_SETFSGID, u.GID) }

func (u *RunAs) takeGroups() error {
	groups := make([]uint32, len(u.Groups)+1) // never empty, so that it has an address
	for i, g := range u.Groups {
		groups[i] = uint32(g)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(u.Groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
		return fmt.Errorf("%w: setgroups: %w", ErrRunAs, errno)
	}
	return nil
}

// setFS sets one of the two ids for files, whose calls tell no error: asked again
// they say what holds.
func setFS(name string, call uintptr, id int) error {
	_, _, _ = syscall.RawSyscall(call, uintptr(id), 0, 0)
	if now, _, _ := syscall.RawSyscall(call, noChange, 0, 0); now&lowest32 != uintptr(id) {
		return fmt.Errorf("%w: %s to %d", ErrRunAs, name, id)
	}
	return nil
}

// Become makes the user that of this process, for good: no saved id, no group, no
// capability of before is left, and no program that it runs gets any. When the
// parent of this process ends, so does what it becomes. It is for a process that
// executes another program next, from the same goroutine.
func (u *RunAs) Become() error {
	runtime.LockOSThread() // death with the parent is a thread's, and so is the exec
	parent := os.Getppid()
	if err := syscall.Setgroups(u.Groups); err != nil {
		return fmt.Errorf("%w: setgroups: %w", ErrRunAs, err)
	}
	if err := syscall.Setresgid(u.GID, u.GID, u.GID); err != nil {
		return fmt.Errorf("%w: setresgid %d: %w", ErrRunAs, u.GID, err)
	}
	if err := syscall.Setresuid(u.UID, u.UID, u.UID); err != nil {
		return fmt.Errorf("%w: setresuid %d: %w", ErrRunAs, u.UID, err)
	}
	if err := prctl(prCapAmbient, prAmbientClear); err != nil {
		return err
	}
	if err := noCapabilities(); err != nil {
		return err
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return err
	}
	// The change of ids has undone what our parent had asked the kernel for.
	if err := prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL)); err != nil {
		return err
	}
	if os.Getppid() != parent {
		return fmt.Errorf("%w: its parent is gone", ErrRunAs)
	}
	return nil
}

// noCapabilities leaves this thread without any. A change from one uid to another,
// neither of which is 0, takes none of them away.
func noCapabilities() error {
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityThird}
	var none [capabilityBlocks]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return fmt.Errorf("%w: capset: %w", ErrRunAs, errno)
	}
	return nil
}

func prctl(what, value uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, what, value, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("%w: prctl %d: %w", ErrRunAs, what, errno)
	}
	return nil
}
