package shim_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/shim"
)

// hostile is a tree that does what it can to stay.
const hostile = `
trap '' TERM INT HUP USR1
sleep 1001 &
setsid sleep 1002 &
( ( sleep 1003 & ) & )
( setsid sh -c 'trap "" TERM; ( setsid sleep 1004 & ); sleep 1005' & )
env -i setsid sleep 1006 &
( i=0; while [ $i -lt 2 ]; do ( setsid sh -c '( sleep 1007 & )' & ); i=$((i+1)); done )
echo ready
while :; do wait; sleep 1; done`

// below lists the pids of all below a process.
func below(t testing.TB, root int) []int {
	t.Helper()
	parent := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		parent[pid], _ = strconv.Atoi(f[1])
	}
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		for pid, p := range parent {
			if p == tree[i] {
				tree = append(tree, pid)
			}
		}
	}
	return tree[1:]
}

// grown waits until the hostile tree is there and lists it.
func grown(t testing.TB, root int) (tree []int) {
	t.Helper()
	until(t, "the tree", func() error {
		sleeping := 0
		tree = below(t, root)
		for _, pid := range tree {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "sleep\n" {
				sleeping++
			}
		}
		if sleeping < 7 { // or 8, where the one without an environment is
			return fmt.Errorf("%d sleep", sleeping)
		}
		return nil
	})
	return tree
}

// runs is whether a process runs; one that nobody waits for does not.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func gone(t testing.TB, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			t.Errorf("pid %d survived: %q", pid, text)
		}
	}
}

// mechanisms are the ways to kill a tree that this machine has.
var mechanisms = map[string]bool{"cgroup": false, "subreaper": true}

func TestKillOfAHostileTree(t *testing.T) {
	t.Parallel()
	for name, noCgroup := range mechanisms {
		for _, force := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " force ", force), func(t *testing.T) {
				t.Parallel()
				p := script(t, hostile)
				p.NoCgroup = noCgroup
				h := start(t, p)
				c := attach(t, h.Dir, 1, 0)
				equal(t, "line", recv(t, c), "ready")
				tree := grown(t, h.PID)
				began := time.Now()
				if err := c.Kill(within(t), 300*time.Millisecond, force); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); !force && took < 300*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				gone(t, tree)
				if left := below(t, h.PID); len(left) > 0 {
					t.Errorf("below the shim: %d", left)
				}
				all(t, c)
				equal(t, "signal", c.Exit().Signal, 9)
			})
		}
	}
}

// What a CLI leaves behind when it exits by itself goes too.
func TestExitOfAHostileTree(t *testing.T) {
	t.Parallel()
	for name, noCgroup := range mechanisms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, strings.TrimSuffix(hostile, "while :; do wait; sleep 1; done")+"read line")
			p.NoCgroup = noCgroup
			h := start(t, p)
			c := attach(t, h.Dir, 1, 0)
			equal(t, "line", recv(t, c), "ready")
			tree := grown(t, h.PID)
			wrote(t, c, "k", "go")
			all(t, c)
			gone(t, tree)
			equal(t, "status", c.Exit().Status, 0)
		})
	}
}

// A fork bomb forks while it is killed.
func TestKillOfAForkBomb(t *testing.T) {
	t.Parallel()
	for name, noCgroup := range mechanisms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, `echo ready; n=0; while [ $n -lt 200 ]; do ( setsid sh -c 'sleep 1000 & sleep 1000' & ); n=$((n+1)); done; wait`)
			p.NoCgroup = noCgroup
			h := start(t, p)
			c := attach(t, h.Dir, 1, 0)
			equal(t, "line", recv(t, c), "ready")
			if err := c.Kill(within(t), 0, true); err != nil {
				t.Fatal(err)
			}
			if left := below(t, h.PID); len(left) > 0 {
				t.Errorf("below the shim: %d", left)
			}
		})
	}
}

func TestShimIsKilled(t *testing.T) {
	t.Parallel()
	for name, noCgroup := range mechanisms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := script(t, strings.Replace(hostile, "env -i setsid sleep 1006 &\n", "", 1))
			if name == "cgroup" {
				p = script(t, hostile)
			}
			p.NoCgroup = noCgroup
			h := start(t, p)
			c := attach(t, h.Dir, 1, 0)
			equal(t, "line", recv(t, c), "ready")
			tree := grown(t, h.PID)
			if err := syscall.Kill(h.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_, err := c.Recv()
			is(t, "Recv", err, shim.ErrGone)
			until(t, "the CLI ends with its shim", func() error {
				if runs(h.CLI) {
					return fmt.Errorf("pid %d runs", h.CLI)
				}
				return nil
			})
			b := bundle(t, h.Dir)
			if b.State != shim.Dead || b.Shim || b.Meta.CLI != h.CLI {
				t.Errorf("got %+v", b)
			}
			if err := shim.Clean(within(t), h.Dir); err != nil {
				t.Fatal(err)
			}
			gone(t, tree)
			if _, err := os.Stat(b.Meta.Cgroup); b.Meta.Cgroup != "" && err == nil {
				t.Errorf("%s is still there", b.Meta.Cgroup)
			}
			var lines []string
			if err := shim.ReadJournal(h.Dir, 0, func(_ int64, line []byte, _ shim.Mark) error {
				lines = append(lines, string(line))
				return nil
			}); err != nil || !slices.Equal(lines, []string{"ready"}) {
				t.Errorf("the journal holds %q, %v", lines, err)
			}
			if err := shim.Remove(h.Dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// The pid of a CLI may be another's by the time somebody cleans up.
func TestCleanSparesWhoHasThePidNow(t *testing.T) {
	t.Parallel()
	innocent := start(t, script(t, `echo ready; exec sleep 1000`))
	c := attach(t, innocent.Dir, 1, 0)
	recv(t, c)
	dir := t.TempDir()
	meta := fmt.Sprintf(`{"version":1,"pid":%d,"start":"boot:1","cli_pid":%d,"cli_start":"boot:2","marker":"0123456789abcdef"}`, innocent.PID, innocent.CLI)
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte(meta), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shim.Clean(within(t), dir); err != nil {
		t.Fatal(err)
	}
	if !runs(innocent.CLI) || !runs(innocent.PID) {
		t.Error("an innocent process was killed")
	}
}

func TestSIGTERMEndsShimAndCLI(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `echo ready; exec sleep 1000`))
	c := attach(t, h.Dir, 1, 0)
	equal(t, "line", recv(t, c), "ready")
	if err := syscall.Kill(h.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-h.Done
	b := bundle(t, h.Dir)
	if b.State != shim.Exited || b.Shim || b.Exit.Signal != int(syscall.SIGTERM) {
		t.Errorf("got %+v, %+v", b, b.Exit)
	}
}

func TestSIGTERMAfterTheExit(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exit 3`))
	<-attach(t, h.Dir, 1, 0).Done()
	if err := syscall.Kill(h.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	<-h.Done
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	equal(t, "status", bundle(t, h.Dir).Exit.Status, 3)
}

func TestTheShimGoesWhenNobodyAsks(t *testing.T) {
	t.Parallel()
	p := script(t, `exit 7`)
	p.Limits.LingerMS = 1
	h := start(t, p)
	<-h.Done
	b := bundle(t, h.Dir)
	if b.State != shim.Exited || b.Shim || b.Exit.Status != 7 {
		t.Errorf("got %+v, %+v", b, b.Exit)
	}
}

// The CLI gets descriptors 0 to 2, its arguments, its folder and its environment,
// and nothing of the server's or the shim's.
func TestDescriptorsAndEnvironmentOfTheCLI(t *testing.T) {
	t.Parallel()
	p := script(t, `i=0; while [ $i -lt 100 ]; do [ -e /proc/$$/fd/$i ] && echo fd $i; i=$((i+1)); done; pwd; echo "$@"; tr '\0' '\n' </proc/$$/environ; cut -d' ' -f5,6 /proc/$$/stat; while read line; do case $line in SigBlk*|SigIgn*) echo "$line";; esac; done </proc/$$/status`)
	p.Args = append(p.Args, "sh", "--flag=x y", "")
	p.Env = []string{"PATH=" + os.Getenv("PATH"), "ONE=1"}
	p.Cwd = t.TempDir()
	// A server that was started carelessly has more open than it knows.
	careless := program(t, "#!/bin/sh\nexec 7</dev/null 9>/dev/null\nexec '"+self(t)+"' \"$@\"\n")
	h, err := shim.Start(within(t), careless, p)
	if err != nil {
		t.Fatal(err)
	}
	c := attach(t, h.Dir, 1, 0)
	got := all(t, c)
	b := bundle(t, h.Dir)
	want := []string{
		"fd 0", "fd 1", "fd 2", p.Cwd, "--flag=x y ", p.Env[0], p.Env[1], shim.Marker + "=" + b.Meta.Marker,
		fmt.Sprint(h.CLI, " ", h.PID), // group of its own, session of the shim
		"SigBlk:\t0000000000000000", "SigIgn:\t" + ignoredOutside(t),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	shimFD, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.PID))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range shimFD {
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", h.PID, e.Name())); e.Name() <= "1" && to != "/dev/null" {
			t.Errorf("descriptor %s of the shim is %s", e.Name(), to)
		}
	}
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", h.PID)); err != nil || strings.Contains(string(environ), "ONE") {
		t.Errorf("the environment of the shim is %q, %v", environ, err)
	}
	if err := c.AckExit(within(t)); err != nil {
		t.Fatal(err)
	}
	<-h.Done
}

// ignoredOutside is what whoever started this test ignores of the two signals
// that libc keeps for itself (32 and 33); nobody resets those.
func ignoredOutside(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "SigIgn:\t")
	var mask uint64
	if _, err := fmt.Sscanf(rest, "%x", &mask); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%016x", mask&(1<<31|1<<32))
}

// highWater is the most memory that a process ever had.
func highWater(t testing.TB, pid int) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

func TestMemoryOfAHugeLine(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `echo ready; read go; head -c 104857600 /dev/zero | tr '\0' x; echo; echo after; cat`))
	c := attach(t, h.Dir, 1, 0)
	equal(t, "line", recv(t, c), "ready")
	base := highWater(t, h.PID)
	wrote(t, c, "k", "go")
	line := recv(t, c)
	if len(line) != 100<<20 || strings.Trim(line, "x") != "" {
		t.Errorf("got %d bytes", len(line))
	}
	equal(t, "line", recv(t, c), "after")
	peak := highWater(t, h.PID) - base
	t.Logf("the shim had %d MB, and took %d MB more", base>>20, peak>>20)
	if peak > 64<<20 {
		t.Errorf("the shim took %d MB more", peak>>20)
	}
}

// cycles spawns and kills n hostile trees, and looks that nothing is left.
func cycles(t *testing.T, n int) {
	root := t.TempDir()
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	one := func(i int) {
		p := script(t, hostile)
		p.Dir, p.NoCgroup = filepath.Join(root, fmt.Sprint(i)), i%2 == 0
		h, err := shim.Start(within(t), self(t), p)
		if err != nil {
			t.Fatal(err)
		}
		var c *shim.Conn
		until(t, "attach", func() error { c, err = shim.Attach(within(t), h.Dir, 1, 0); return err })
		equal(t, "line", recv(t, c), "ready")
		tree := grown(t, h.PID)
		if err := c.Kill(within(t), 0, true); err != nil {
			t.Fatal(err)
		}
		gone(t, tree)
		if _, err := c.Recv(); err == nil {
			t.Error("there is another line")
		}
		if err := c.AckExit(within(t)); err != nil {
			t.Fatal(err)
		}
		c.Detach()
		<-h.Done
		if b := bundle(t, h.Dir); b.Meta.Cgroup != "" {
			if _, err := os.Stat(b.Meta.Cgroup); err == nil {
				t.Errorf("%s is still there", b.Meta.Cgroup)
			}
		}
		if err := shim.Remove(h.Dir); err != nil {
			t.Fatal(err)
		}
	}
	one(0) // whatever is opened once
	fds, goroutines := descriptors(), runtime.NumGoroutine()
	for i := range n {
		one(i)
	}
	until(t, "nothing is left", func() error {
		if d, g := descriptors(), runtime.NumGoroutine(); d > fds || g > goroutines {
			return fmt.Errorf("%d descriptors, not %d, or %d goroutines, not %d", d, fds, g, goroutines)
		}
		return nil
	})
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("folders: %v, %v", left, err)
	}
}

// Not parallel: it counts what this process has open.
func TestCycles(t *testing.T) { cycles(t, rounds) }
