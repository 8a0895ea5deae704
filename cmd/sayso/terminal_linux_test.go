package main_test

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// openTerminal returns both ends of a terminal.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { ours.Close() })
	var unlock, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

// Whoever closes the terminal in which a server runs wants it gone; the sessions
// go on all the same.
func TestClosedTerminalStopsTheServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}}).asProcesses()
	ours, theirs := openTerminal(t)
	// Started by nohup, a test would hand on that hangups are ignored; what is caught
	// here begins anew in the server.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	cmd := h.command("serve", "--listen", "127.0.0.1:0", "--workspace-root", h.work, "--claude", h.claude)
	cmd.Stdin = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := h.begin(cmd)
	must(t, theirs.Close())
	s.await()
	id := s.session("one")
	s.asks(id)
	pid := s.pid(id)
	s.hangUp(readAgain) // with the terminal there, it is but a wish
	must(t, ours.Close())
	if code := s.gone(waitLimit); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !alive(pid) {
		t.Error("Claude ended with the terminal")
	}
}
