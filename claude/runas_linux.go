package claude

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// Kernel constants that package syscall lacks.
const (
	prSetNoNewPrivs  = 38
	prCapAmbient     = 47
	prAmbientClear   = 4 // PR_CAP_AMBIENT_CLEAR_ALL
	capabilityThird  = 0x20080522
	noChange         = ^uintptr(0)
	lowest32         = 0xffffffff
	capabilityBlocks = 2
)

// onThread calls change and then f on a thread that ends afterwards, so that no other goroutine ever
// runs on a thread with changed credentials.
func onThread(change func() error, f func() error) error {
	var err error
	var broken any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { broken = recover() }()
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
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

// takeFileRights gives this thread the file permissions of the user. It makes the system calls
// directly, because the functions of package syscall change all threads.
func (u *RunAs) takeFileRights() error {
	if err := u.takeGroups(); err != nil {
		return err
	}
	if err := u.takeFileGroup(); err != nil {
		return err
	}
	if err := setFSID("setfsuid", syscall.SYS_SETFSUID, u.UID); err != nil {
		return err
	}
	return noCapabilities()
}

func (u *RunAs) takeFileGroup() error { return setFSID("setfsgid", syscall.SYS_SETFSGID, u.GID) }

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

// setFSID sets a file system id. The system call reports no error, so a second call reads the id back.
func setFSID(name string, call uintptr, id int) error {
	_, _, _ = syscall.RawSyscall(call, uintptr(id), 0, 0)
	if now, _, _ := syscall.RawSyscall(call, noChange, 0, 0); now&lowest32 != uintptr(id) {
		return fmt.Errorf("%w: %s to %d", ErrRunAs, name, id)
	}
	return nil
}

// Become changes the user of this process irreversibly: no saved id, group or capability remains, and
// no program that this process runs can gain any. When the parent of this process ends, this process is
// killed. Become is for a process that then executes another program, from the same goroutine.
func (u *RunAs) Become() error {
	runtime.LockOSThread() // the parent death signal is set per thread, and the exec comes from this one
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
	// The change of ids has cleared the parent death signal.
	if err := prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL)); err != nil {
		return err
	}
	if os.Getppid() != parent {
		return fmt.Errorf("%w: its parent is gone", ErrRunAs)
	}
	return nil
}

// noCapabilities drops all capabilities of this thread. Changing from one uid to another would keep
// them if neither is 0.
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
