package shim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/shim"
)

func TestReplayThenLive(t *testing.T) {
	t.Parallel()
	p := script(t, `i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; cat`)
	p.Limits.Segment = 500
	h := start(t, p)
	first := attach(t, h.Dir, 1, 0)
	var ends []int64
	for i := range 100 {
		equal(t, "line", recv(t, first), fmt.Sprint("line ", i))
		ends = append(ends, first.Offset())
	}
	var lives []string
	for n, i := range []int{99, 50, 0, 98} {
		c := attach(t, h.Dir, uint64(n+2), ends[i])
		for j := i + 1; j < 100; j++ {
			equal(t, "replayed", recv(t, c), fmt.Sprint("line ", j))
			equal(t, "offset", c.Offset(), ends[j])
		}
		lives = append(lives, fmt.Sprint("live ", n))
		wrote(t, c, lives[n], lives[n])
		for _, live := range lives {
			equal(t, "live", recv(t, c), live)
		}
	}
}

// That a file cannot be opened now does not mean that it is damaged.
func TestReplayWhileTheFileTableIsFull(t *testing.T) {
	t.Parallel()
	p := script(t, `read go; i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done`)
	p.Limits.Segment = 1500
	h := start(t, p)
	if err := os.WriteFile(filepath.Join(h.Dir, shim.FullFileTable), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := attach(t, h.Dir, 1, 0)
	wrote(t, c, "k", "go")
	if got := strings.Join(all(t, c), "\n") + "\n"; got != numbered(100) {
		t.Errorf("got %q", got)
	}
	if failed, err := filepath.Glob(filepath.Join(h.Dir, "failed.*")); err != nil || len(failed) < 2 {
		t.Errorf("%d files could not be opened at first, %v", len(failed), err)
	}
}

func TestReplayFromAnOffsetThatIsNone(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `echo one; echo two; cat`))
	c := attach(t, h.Dir, 1, 0)
	recv(t, c)
	recv(t, c)
	_, err := shim.Attach(within(t), h.Dir, 2, c.Offset()+1)
	is(t, "behind the end", err, shim.ErrOffset)
	_, err = shim.Attach(within(t), h.Dir, 2, -1)
	is(t, "negative", err, shim.ErrOffset)
	within1 := attach(t, h.Dir, 2, 5)
	_, err = within1.Recv()
	is(t, "within a line", err, shim.ErrDamaged)
	equal(t, "the next line", recv(t, within1), "two")
}

func TestCommitFreesTheJournal(t *testing.T) {
	t.Parallel()
	p := script(t, `i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done; cat`)
	p.Limits.Segment = 400
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	for range 200 {
		recv(t, c)
	}
	files := func() int {
		names, err := filepath.Glob(filepath.Join(h.Dir, "out.*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	before := files()
	if before < 2 {
		t.Fatalf("%d segments", before)
	}
	if err := c.Commit(c.Offset()); err != nil {
		t.Fatal(err)
	}
	var s shim.Stat
	until(t, "the segments go", func() error {
		if n := files(); n != 1 {
			return fmt.Errorf("%d of %d are left", n, before)
		}
		return nil
	})
	s, err := c.Stat(within(t))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "committed", s.Committed, c.Offset())
	equal(t, "end", s.End, c.Offset())
	if s.First == 0 {
		t.Error("the journal still begins at 0")
	}
	// Whoever asks for what is gone hears that it is.
	late := attach(t, h.Dir, 2, 0)
	wrote(t, late, "k", "next")
	_, err = late.Recv()
	is(t, "what was freed", err, shim.ErrDamaged)
	for line := ""; line != "next"; {
		line = recv(t, late)
	}
}

func TestAKeyIsWrittenOnce(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `cat`))
	c := attach(t, h.Dir, 1, 0)
	var writers sync.WaitGroup
	for range 20 {
		writers.Go(func() { wrote(t, c, "same", "once") })
	}
	writers.Wait()
	wrote(t, c, "", "no key")
	wrote(t, c, "", "no key")
	next := attach(t, h.Dir, 2, 0)
	wrote(t, next, "same", "once")
	wrote(t, next, "other", "twice")
	var got []string
	for range 4 {
		got = append(got, recv(t, next))
	}
	if want := []string{"once", "no key", "no key", "twice"}; !slices.Equal(got, want) {
		t.Errorf("the CLI read %q, want %q", got, want)
	}
	is(t, "two lines at once", next.Write(within(t), "k", []byte("a\nb")), shim.ErrBadLine)
}

func TestFencing(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `cat`))
	older := attach(t, h.Dir, 5, 0)
	received := make(chan error, 1)
	go func() {
		_, err := older.Recv()
		received <- err
	}()
	newer := attach(t, h.Dir, 7, 0)
	is(t, "Recv of the older", <-received, shim.ErrFenced)
	is(t, "Write of the older", older.Write(within(t), "k", []byte("stale")), shim.ErrFenced)
	is(t, "Kill of the older", older.Kill(within(t), 0, true), shim.ErrFenced)
	for _, epoch := range []uint64{7, 6, 0} {
		_, err := shim.Attach(within(t), h.Dir, epoch, 0)
		is(t, fmt.Sprint("epoch ", epoch), err, shim.ErrFenced)
	}
	wrote(t, newer, "k", "fresh")
	equal(t, "what the CLI read", recv(t, newer), "fresh")
	newer.Detach()
	_, err := newer.Recv()
	is(t, "Recv after Detach", err, shim.ErrDetached)
	_, err = shim.Attach(within(t), h.Dir, 6, 0)
	is(t, "a lower epoch when nobody is there", err, shim.ErrFenced)
	again := attach(t, h.Dir, 7, 0) // the same server, whose connection has ended
	equal(t, "what the CLI read", recv(t, again), "fresh")
	attach(t, h.Dir, 8, 0)
}

// Two servers that attach at once may reach the input in the other order.
func TestALateFenceChangesNothing(t *testing.T) {
	t.Parallel()
	if err := shim.WriteBetweenFences(t.TempDir()); err != nil {
		t.Errorf("Write of the newer: %v", err)
	}
}

// A line that waits when another server takes over is that server's to write; one
// that is half written goes on.
func TestFencingOfLinesThatWait(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `echo ready; trap : USR1; sleep 1000 & wait; kill $!; cat`))
	older := attach(t, h.Dir, 1, 0)
	equal(t, "first", recv(t, older), "ready")
	big := strings.Repeat("x", 1<<20)
	results := make(chan error, 2)
	waits := func(n int64) {
		t.Helper()
		until(t, "the lines wait", func() error {
			s, err := older.Stat(within(t))
			if err == nil && s.InputBytes != n {
				err = fmt.Errorf("%d bytes wait", s.InputBytes)
			}
			return err
		})
	}
	go func() { results <- older.Write(within(t), "half", []byte(big)) }()
	waits(1<<20 + 1)
	go func() { results <- older.Write(within(t), "behind", []byte("stale")) }()
	waits(1<<20 + 7)
	newer := attach(t, h.Dir, 2, 0)
	for range 2 {
		is(t, "Write of the older", <-results, shim.ErrFenced)
	}
	go func() { results <- newer.Write(within(t), "half", []byte(big)) }()
	go func() { results <- newer.Write(within(t), "behind", []byte("fresh")) }()
	if err := newer.Signal(within(t), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		is(t, "Write of the newer", <-results, nil)
	}
	wrote(t, newer, "last", "last")
	equal(t, "first", recv(t, newer), "ready")
	var got []string
	for range 3 {
		got = append(got, recv(t, newer))
	}
	if !slices.Equal(got, []string{big, "fresh", "last"}) {
		t.Errorf("the CLI read %.20q", got)
	}
}

func TestACLIThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := script(t, `echo ready; exec sleep 1000`)
	p.Limits.Input = 3 << 20
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	equal(t, "first", recv(t, c), "ready")
	big := make([]byte, 1<<20)
	results := make(chan error, 2)
	for i := range 2 {
		go func() { results <- c.Write(within(t), fmt.Sprint(i), big) }()
	}
	until(t, "both wait", func() error {
		s, err := c.Stat(within(t))
		if err == nil && s.InputBytes < 2<<20 {
			err = fmt.Errorf("%d bytes wait", s.InputBytes)
		}
		return err
	})
	is(t, "a third", c.Write(within(t), "3", big), shim.ErrInputFull)
	is(t, "one that never fits", c.Write(within(t), "4", make([]byte, 3<<20)), shim.ErrInputFull)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i := range 20 {
		is(t, "one given up", c.Write(ctx, fmt.Sprint("given up ", i), big[:1]), context.Canceled)
	}
	if err := c.CloseInput(within(t)); err != nil {
		t.Error(err)
	}
	for range 2 {
		is(t, "Write", <-results, shim.ErrInputClosed)
	}
	if err := c.Kill(within(t), 0, true); err != nil {
		t.Error(err)
	}
	all(t, c)
	equal(t, "signal", c.Exit().Signal, int(syscall.SIGKILL))
	equal(t, "status", c.Exit().Status, -1)
}

func TestCloseInput(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `cat; echo end`))
	c := attach(t, h.Dir, 1, 0)
	wrote(t, c, "k", "line")
	if err := c.CloseInput(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := all(t, c); !slices.Equal(got, []string{"line", "end"}) {
		t.Errorf("got %q", got)
	}
	is(t, "Write", c.Write(within(t), "other", []byte("x")), shim.ErrInputClosed)
	wrote(t, c, "k", "line") // it was written
}

func TestSignal(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `trap 'echo heard' USR1; echo ready; while :; do sleep 0.01; done`))
	c := attach(t, h.Dir, 1, 0)
	equal(t, "first", recv(t, c), "ready")
	if err := c.Signal(within(t), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	equal(t, "second", recv(t, c), "heard")
	if err := c.Kill(within(t), patience, false); err != nil { // by SIGTERM
		t.Fatal(err)
	}
	all(t, c)
	equal(t, "signal", c.Exit().Signal, int(syscall.SIGTERM))
	if err := c.Signal(within(t), syscall.SIGUSR1); err != nil {
		t.Errorf("after the exit: %v", err)
	}
	if err := c.Kill(within(t), patience, false); err != nil {
		t.Errorf("after the exit: %v", err)
	}
}

func TestTheEndOfOutput(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, script string
		want         []string
		unfinished   bool
	}{
		{"nothing", `exit`, nil, false},
		{"dies within a line", `printf 'one\ntw'; kill -9 $$`, []string{"one", "tw"}, true},
		{"a grandchild holds it", `echo one; sleep 1000 & exit`, []string{"one"}, false},
		{"a grandchild elsewhere holds it", `echo one; setsid sleep 1000 & sleep 0.1; exit`, []string{"one"}, false},
		{"empty lines", `printf '\n\n'`, []string{"", ""}, false},
		{"no text", `printf '\377\376\000x\n'`, []string{"\xff\xfe\x00x"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, script(t, row.script))
			c := attach(t, h.Dir, 1, 0)
			if got := all(t, c); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
			equal(t, "unfinished", c.Mark().Unfinished, row.unfinished)
			<-c.Done()
		})
	}
}

// No line may be lost between the last write of a CLI and its exit.
func TestFastExits(t *testing.T) {
	t.Parallel()
	for i := range 30 {
		h := start(t, script(t, `i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; printf last`))
		if i%2 == 0 {
			<-attach(t, h.Dir, 1, 0).Done()
		}
		c := attach(t, h.Dir, 2, 0)
		if got := strings.Join(all(t, c), "\n"); got != numbered(50)+"last" {
			t.Fatalf("%d: got %q", i, got)
		}
		if err := c.AckExit(within(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOversizeLine(t *testing.T) {
	t.Parallel()
	p := script(t, `echo before; head -c 1000000 /dev/zero | tr '\0' x; echo; echo after; head -c 500000 /dev/zero`)
	p.Limits.Line = 300_000
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	equal(t, "before", recv(t, c), "before")
	line, err := c.Recv()
	is(t, "the line", err, shim.ErrTooLarge)
	equal(t, "true size", c.Mark().Size, 1_000_000)
	equal(t, "kept", string(line), strings.Repeat("x", 300_000))
	equal(t, "after", recv(t, c), "after")
	_, err = c.Recv()
	is(t, "the last line", err, shim.ErrTooLarge)
	equal(t, "mark", c.Mark(), shim.Mark{Size: 500_000, Unfinished: true})
	_, err = c.Recv()
	is(t, "the end", err, io.EOF)
}

func TestFloodOfStderr(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `head -c 50000000 /dev/zero | tr '\0' e >&2; echo out; echo the end >&2; cat`))
	c := attach(t, h.Dir, 1, 0)
	equal(t, "stdout", recv(t, c), "out")
	var got string
	until(t, "stderr", func() error {
		if got = c.Stderr(); !strings.HasSuffix(got, "e\nthe end\n") && !strings.HasSuffix(got, "ethe end\n") {
			return fmt.Errorf("it ends in %q", got[max(0, len(got)-20):])
		}
		return nil
	})
	equal(t, "kept", len(got), 64<<10)
}

func TestTheCLIWaitsWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `read go; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done`))
	c := attach(t, h.Dir, 1, 0)
	full := filepath.Join(h.Dir, shim.FullDisk)
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote(t, c, "k", "go")
	until(t, "the shim says so", func() error {
		s, err := c.Stat(within(t))
		if err == nil && (s.State != "blocked" || !strings.Contains(s.Blocked, "no space left")) {
			err = fmt.Errorf("it says %q, %q", s.State, s.Blocked)
		}
		return err
	})
	until(t, "the server is told", func() error {
		if why := c.Blocked(); !strings.Contains(why, "no space left") {
			return fmt.Errorf("it is told %q", why)
		}
		return nil
	})
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all(t, c), "\n") + "\n"; got != numbered(3000) {
		t.Errorf("got %d bytes", len(got))
	}
	if why := c.Blocked(); why != "" {
		t.Errorf("when there is space again it is told %q", why)
	}
	if why := c.TakeBlocked(); !strings.Contains(why, "no space left") {
		t.Errorf("of the time between it is told %q", why)
	}
	if why := c.TakeBlocked(); why != "" {
		t.Errorf("it is told twice: %q", why)
	}
}

func TestKillWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `read go; while :; do echo line; done`))
	c := attach(t, h.Dir, 1, 0)
	full := filepath.Join(h.Dir, shim.FullDisk)
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote(t, c, "k", "go")
	if err := c.Kill(within(t), time.Millisecond, false); err != nil {
		t.Fatal(err)
	}
	if pids, err := shim.Marked(h.Dir); err != nil || len(pids) > 0 {
		t.Errorf("left: %v, %v", pids, err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	all(t, c)
}

func TestTheCLIWaitsWhileTheJournalIsFull(t *testing.T) {
	t.Parallel()
	p := script(t, `i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done`)
	p.Limits = shim.Limits{Line: 1000, Segment: 10_000, Journal: 1}
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	blocked := func() error {
		s, err := c.Stat(within(t))
		if err == nil && s.State != "blocked" {
			err = fmt.Errorf("it is %s", s.State)
		}
		return err
	}
	until(t, "the journal is full", blocked)
	c.Detach()
	c = attach(t, h.Dir, 2, 0) // the server was away
	until(t, "the next server is told", func() error {
		if why := c.Blocked(); why != shim.ErrJournalFull.Error() {
			return fmt.Errorf("it is told %q", why)
		}
		return nil
	})
	var lines []string
	for {
		line, err := c.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
		if err := c.Commit(c.Offset()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(lines, "\n") + "\n"; got != numbered(20000) {
		t.Errorf("got %d lines", len(lines))
	}
}

// Whoever gives up a call does not take the connection from the others.
func TestAbandonedCalls(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exec cat`))
	c := attach(t, h.Dir, 1, 0)
	big := []byte(strings.Repeat("x", 300_000))
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- c.Write(ctx, fmt.Sprint(i), big) }()
		cancel()
		if err := <-done; err != nil {
			is(t, "Write", err, context.Canceled)
		}
	}
	for i := range 200 { // what was given up is said again
		wrote(t, c, fmt.Sprint(i), string(big))
	}
	if err := c.CloseInput(within(t)); err != nil {
		t.Fatal(err)
	}
	equal(t, "lines", len(all(t, c)), 200)
}

// A server that does not take its lines holds up nobody, and what is under way to
// it is bounded.
func TestASlowServer(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `head -c 2000000 /dev/zero | tr '\0' '\n'; cat`))
	c := attach(t, h.Dir, 1, 0)
	wrote(t, c, "k", "line")
	until(t, "the CLI is done", func() error {
		s, err := c.Stat(within(t))
		if err == nil && s.End < 2_000_000*28 {
			err = fmt.Errorf("the journal ends at %d", s.End)
		}
		return err
	})
	if err := c.Kill(within(t), 0, true); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-within(t).Done():
		t.Fatal("Done waits for who receives")
	}
	equal(t, "signal", c.Exit().Signal, int(syscall.SIGKILL))
}

func TestStat(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `sleep 1000 & echo ready; wait`))
	c := attach(t, h.Dir, 9, 0)
	recv(t, c)
	s, err := c.Stat(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.PID != h.PID || s.CLI != h.CLI || !s.Alive || s.State != "running" || s.Epoch != 9 || s.End != c.Offset() {
		t.Errorf("got %+v", s)
	}
	if s.Processes != 2 || s.RSS <= 0 || s.ShimRSS <= 0 || s.Kill == "" {
		t.Errorf("got %+v", s)
	}
}

func TestEverythingEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exec sleep 1000`))
	c := attach(t, h.Dir, 1, 0)
	results := make(chan error, 2)
	go func() { results <- c.Write(within(t), "k", make([]byte, 1<<20)) }()
	go func() {
		_, err := c.Recv()
		results <- err
	}()
	if err := syscall.Kill(h.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		is(t, "what waited", <-results, shim.ErrGone)
	}
	is(t, "Commit", c.Commit(0), shim.ErrGone)
	if err := c.AckExit(within(t)); !errors.Is(err, shim.ErrGone) {
		t.Errorf("AckExit: %v", err)
	}
}
