package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// patience is how long these tests wait for something that always happens.
const patience = 2 * time.Minute

func shell(t *testing.T, script string) claude.Command {
	return claude.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}}
}

// start starts a program that is gone at the end of the test.
func start(t *testing.T, c claude.Command) *claude.Process {
	t.Helper()
	p, err := claude.StartProcess(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Errorf("Kill: %v", err)
		}
		p.Close()
		_ = p.Wait()
	})
	return p
}

// within fails the test if f takes longer than patience.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s takes for ever", what)
	}
}

// lines receives to the end.
func lines(t *testing.T, p *claude.Process) (all []string, err error) {
	t.Helper()
	within(t, "Recv", func() {
		for {
			var line []byte
			if line, err = p.Recv(); errors.Is(err, claude.ErrTooLarge) {
				all = append(all, err.Error())
				continue
			}
			if err != nil {
				return
			}
			all = append(all, string(line))
		}
	})
	return all, err
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct {
		command claude.Command
		want    error
	}{
		"missing":             {claude.Command{Path: filepath.Join(dir, "nothing"), Dir: dir}, claude.ErrCLIMissing},
		"not in PATH":         {claude.Command{Path: "no-such-command-anywhere", Dir: dir}, claude.ErrCLIMissing},
		"not executable":      {claude.Command{Path: file("plain", "#!/bin/sh\n", 0o600), Dir: dir}, claude.ErrCLINotExecutable},
		"a folder":            {claude.Command{Path: dir, Dir: dir}, claude.ErrCLINotExecutable},
		"interpreter missing": {claude.Command{Path: file("script", "#!/no/such/node\n", 0o700), Dir: dir}, claude.ErrCLINotExecutable},
		"no program":          {claude.Command{Path: file("rubbish", "\x00\x01", 0o700), Dir: dir}, claude.ErrCLINotExecutable},
		"folder missing":      {claude.Command{Path: "/bin/sh", Dir: filepath.Join(dir, "gone")}, claude.ErrFolderMissing},
		"folder is a file":    {claude.Command{Path: "/bin/sh", Dir: file("f", "", 0o600)}, claude.ErrFolderMissing},
	} {
		p, err := claude.StartProcess(test.command)
		if p != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

// TestNoProgramOfTheFolderIsStarted has programs with the name of the CLI in a folder that may be a
// repository.
func TestNoProgramOfTheFolderIsStarted(t *testing.T) {
	ours, theirs := t.TempDir(), t.TempDir()
	program := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program(ours, "bin/claude", "ours")
	program(theirs, "bin/claude", "theirs")
	t.Chdir(ours)
	for _, path := range []string{"bin/claude", "./bin/claude"} {
		all, err := lines(t, start(t, claude.Command{Path: path, Dir: theirs, Env: []string{"PATH=/usr/bin:/bin"}}))
		if err != io.EOF || !slices.Equal(all, []string{"ours"}) {
			t.Errorf("%s: got %q, %v", path, all, err)
		}
	}
	for _, name := range []string{".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude", ".yarn/bin/claude", "node_modules/.bin/claude"} {
		program(theirs, name, "theirs")
		program(theirs, "home/"+name, "theirs")
	}
	t.Chdir(theirs)
	t.Setenv("PATH", t.TempDir())
	for _, home := range []string{"", ".", "home"} {
		t.Setenv("HOME", home)
		// The machine may have one in /usr/local/bin.
		if path, err := claude.FindCLI(); err == nil && path != "/usr/local/bin/claude" || err != nil && !errors.Is(err, claude.ErrCLIMissing) {
			t.Errorf("with HOME=%s: got %q, %v", home, path, err)
		}
	}
}

func TestLinesComeWholeWhateverTheirSize(t *testing.T) {
	t.Parallel()
	// Several in one write, one split over writes, CR LF, an empty one, 5 MB, white space at
	// every seam, a character and a broken one split over writes, what JavaScript takes for the
	// end of a line, and a last one without an end.
	p := start(t, shell(t, `printf 'a\nb\n'; printf 'c'; sleep 0.05; printf 'c\r\n\n'; head -c 5000000 /dev/zero | tr '\0' x; echo
		head -c 200000 /dev/zero | tr '\0' ' '; printf '.\n\303'; sleep 0.05; printf '\251\n\342\200'; sleep 0.05; printf '\n\342\200\250 \302\205\n'; printf last`))
	all, err := lines(t, p)
	if err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
	want := []string{"a", "b", "cc\r", "", strings.Repeat("x", 5_000_000), strings.Repeat(" ", 200_000) + ".", "é", "\xe2\x80", "\u2028 \u0085", "last"}
	if !slices.Equal(all, want) {
		t.Errorf("got %d lines, want %d: %.60q", len(all), len(want), all)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("exit: got %v, want nil", err)
	}
}

func TestLineOf100MBArrives(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	p := start(t, shell(t, fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo; echo end`, size)))
	within(t, "Recv", func() {
		line, err := p.Recv()
		if err != nil || len(line) != size || bytes.Count(line, []byte("x")) != size {
			t.Errorf("got %d bytes, %v", len(line), err)
		}
		if line, err = p.Recv(); string(line) != "end" {
			t.Errorf("got %q %v, want the line after it", line, err)
		}
	})
}

// Not parallel: it looks at the heap.
func TestHugeLineLeavesNoMemoryBehind(t *testing.T) {
	const size = 16 << 20
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	p := start(t, shell(t, fmt.Sprintf(`echo '{}'; printf '{"type":"user","message":{"content":"'; head -c %d /dev/zero | tr '\0' x; printf '"}}\n'; exec sleep 60`, size)))
	before := heap()
	huge := make(chan int, 1)
	client := claude.NewClient(p, claude.Options{OnMessage: func(m claude.Message) {
		if u, ok := m.(*claude.User); ok {
			huge <- len(u.Content[0].Text)
		}
	}})
	run := make(chan error, 1)
	go func() { run <- client.Run(context.Background()) }()
	within(t, "the line", func() {
		if got := <-huge; got != size {
			t.Errorf("got %d bytes, want %d", got, size)
		}
		// The client gives the memory back when it waits for the next line.
		for heap() > before+4<<20 {
			time.Sleep(10 * time.Millisecond)
		}
	})
	p.Close()
	<-run
}

func TestLineOverTheBudgetIsDroppedAndNamed(t *testing.T) {
	t.Parallel()
	c := shell(t, `echo a; head -c 3000000 /dev/zero | tr '\0' x; echo; echo b; head -c 300001 /dev/zero | tr '\0' y`)
	c.MaxLine = 300_000
	all, err := lines(t, start(t, c))
	want := []string{"a", "claude: dropped a line of 3000000 bytes: line is too large", "b", "claude: dropped a line of 300001 bytes: line is too large"}
	if err != io.EOF || !slices.Equal(all, want) {
		t.Errorf("got %q %v\nwant %q", all, err, want)
	}
}

func TestSendIsReadWholeAndInOrder(t *testing.T) {
	t.Parallel()
	p := start(t, shell(t, `cat`))
	big := strings.Repeat("é", 3_000_000)
	const writers, each = 8, 50
	var sending sync.WaitGroup
	for w := range writers {
		sending.Go(func() {
			for i := range each {
				if err := p.Send(fmt.Appendf(nil, "%d %d %s", w, i, strings.Repeat("z", i*100))); err != nil {
					t.Errorf("Send: %v", err)
				}
			}
		})
	}
	sending.Go(func() {
		if err := p.Send([]byte(big)); err != nil {
			t.Errorf("Send: %v", err)
		}
	})
	go func() {
		sending.Wait()
		if err := p.CloseInput(); err != nil {
			t.Errorf("CloseInput: %v", err)
		}
	}()
	all, err := lines(t, p)
	if err != io.EOF {
		t.Errorf("got %v", err)
	}
	next := map[int]int{}
	for _, l := range all {
		if l == big {
			continue
		}
		var w, i int
		var z string
		_, _ = fmt.Sscan(l, &w, &i, &z)
		if i != next[w] || len(z) != i*100 {
			t.Fatalf("torn or out of order: %.40q", l)
		}
		next[w]++
	}
	if len(all) != writers*each+1 {
		t.Errorf("got %d lines, want %d", len(all), writers*each+1)
	}
	if err := p.Send([]byte("late")); err == nil {
		t.Error("Send after CloseInput succeeded")
	}
}

func TestStderrKeepsItsEnd(t *testing.T) {
	t.Parallel()
	p := start(t, shell(t, `i=0; while [ $i -lt 5000 ]; do echo "line $i of stderr"; i=$((i+1)); done >&2; printf 'bad \377 byte' >&2; exit 3`))
	within(t, "Wait", func() {
		var exit *exec.ExitError
		if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("exit: got %v, want status 3", err)
		}
	})
	got := p.Stderr()
	if len(got) > 64<<10 || len(got) < 60<<10 || !strings.HasPrefix(got, "line ") || !strings.HasSuffix(got, "line 4999 of stderr\nbad \uFFFD byte") {
		t.Errorf("got %d bytes, %.30q … %q", len(got), got, got[max(0, len(got)-40):])
	}
}

// A grandchild that holds stdout must not keep the session for ever (F34): one
// in the group is killed with it, one that left it is no longer waited for.
func TestGrandchildThatHoldsStdoutDoesNotHoldUs(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"sleep 60 &", "setsid sleep 60 & echo $! >pid;"} {
		c := shell(t, `echo before; `+how+` echo after`)
		p := start(t, c)
		began := time.Now()
		all, err := lines(t, p)
		if err != io.EOF || strings.Join(all, " ") != "before after" {
			t.Errorf("%s: got %q %v", how, all, err)
		}
		within(t, "Wait", func() { _ = p.Wait() })
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("%s: took %v", how, took)
		}
		if pid, err := os.ReadFile(filepath.Join(c.Dir, "pid")); err == nil {
			killPID(t, pid)
		}
	}
}

func killPID(t *testing.T, text []byte) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// What the CLI wrote before it exited is delivered to a slow reader although a
// grandchild still writes.
func TestOutputBeforeTheExitIsNotLost(t *testing.T) {
	t.Parallel()
	c := shell(t, `setsid sh -c 'echo $$ >pid; while :; do echo noise; sleep 0.005; done' & while [ ! -s pid ]; do sleep 0.01; done; head -c 50000 /dev/zero | tr '\0' x; echo; echo end`)
	p := start(t, c)
	within(t, "Wait", func() { _ = p.Wait() }) // by now the time to drain is over
	all, err := lines(t, p)
	if err != io.EOF || !slices.Contains(all, "end") {
		t.Errorf("got %d lines, %v; want those before the exit", len(all), err)
	}
	pid, err := os.ReadFile(filepath.Join(c.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	killPID(t, pid)
}

func TestKillLeavesNothing(t *testing.T) {
	t.Parallel()
	c := shell(t, `trap '' TERM; sleep 61 & echo $! >a; setsid sh -c 'trap "" TERM; sleep 62 & echo $! >c; echo $$ >b; wait' & while [ ! -s b ]; do sleep 0.02; done; echo ready; wait`)
	p := start(t, c)
	within(t, "Recv", func() {
		if line, err := p.Recv(); string(line) != "ready" {
			t.Errorf("got %q %v", line, err)
		}
	})
	if err := p.Kill(); err != nil {
		t.Errorf("Kill: %v", err)
	}
	within(t, "Wait", func() { _ = p.Wait() })
	if err := p.Kill(); err != nil {
		t.Errorf("Kill after the exit: %v", err)
	}
	for _, name := range []string{"a", "b", "c"} {
		text, err := os.ReadFile(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		within(t, "the end of descendant "+name, func() {
			for alive(strings.TrimSpace(string(text))) {
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	stat := strings.TrimSpace(string(out))
	return stat != "" && !strings.HasPrefix(stat, "Z")
}

func TestTerminateReachesTheGroup(t *testing.T) {
	t.Parallel()
	p := start(t, shell(t, `echo ready; sleep 60`))
	within(t, "Recv", func() { _, _ = p.Recv() })
	if err := p.Terminate(); err != nil {
		t.Errorf("Terminate: %v", err)
	}
	within(t, "Wait", func() {
		var exit *exec.ExitError
		if err := p.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("exit: got %v, want SIGTERM", err)
		}
	})
}

// A CLI that does not read must not hold who closes.
func TestCloseUnblocksSendAndRecv(t *testing.T) {
	t.Parallel()
	p := start(t, shell(t, `exec sleep 60`))
	sent, received := make(chan error, 1), make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		sent <- p.Send(bytes.Repeat([]byte("x"), 10<<20))
	}()
	go func() {
		_, err := p.Recv()
		received <- err
	}()
	<-started
	select {
	case err := <-sent:
		t.Fatalf("Send to a CLI that does not read returned: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	within(t, "Close", func() {
		p.Close()
		if err := <-sent; err == nil {
			t.Error("Send succeeded")
		}
		if err := <-received; !errors.Is(err, claude.ErrClosed) {
			t.Errorf("Recv: got %v, want ErrClosed", err)
		}
	})
	if err := p.Send([]byte("x")); err == nil {
		t.Error("Send after a torn line succeeded")
	}
}

func TestCloseInputDoesNotWaitForADeafCLI(t *testing.T) {
	t.Parallel()
	p := start(t, shell(t, `exec sleep 60`))
	sent := make(chan error, 1)
	go func() { sent <- p.Send(bytes.Repeat([]byte("x"), 10<<20)) }()
	within(t, "CloseInput", func() {
		if err := p.CloseInput(); err != nil {
			t.Errorf("CloseInput: %v", err)
		}
	})
	within(t, "Send", func() {
		if <-sent == nil {
			t.Error("Send succeeded")
		}
	})
}

// The child has exactly what it was given: arguments, environment, folder, its
// own group, and three descriptors.
func TestChildGetsNothingElse(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	launch := claude.Options{Path: "/bin/sh", Dir: dir, PermissionMode: "plan", AppendSystemPrompt: "--x $(touch y) `z`"}
	args, err := launch.Args()
	if err != nil {
		t.Fatal(err)
	}
	c, err := launch.Command([]string{"ONLY=this"})
	if err != nil || !slices.Equal(c.Args, args) {
		t.Fatalf("Command: got %q %v, want %q", c.Args, err, args)
	}
	// A shell that prints what it got stands in for the CLI.
	c.Args = append([]string{"-c", `for a in "$@"; do echo "arg $a"; done; /usr/bin/env | /usr/bin/sort | /bin/sed 's/^/env /'; echo "pwd $(/bin/pwd)"; echo "pgid $(/bin/ps -o pgid= -p $$)"; /bin/ls /proc/self/fd 2>/dev/null | /bin/sed 's/^/fd /'`, "sh"}, args...)
	p := start(t, c)
	all, _ := lines(t, p)
	var got []string
	for _, l := range all {
		if l == "env _=/usr/bin/env" || strings.HasPrefix(l, "env PWD=") || strings.HasPrefix(l, "env SHLVL") || strings.HasPrefix(l, "env OLDPWD") {
			continue // the shell's own
		}
		got = append(got, strings.Join(strings.Fields(l), " "))
	}
	var want []string
	for _, a := range args {
		want = append(want, "arg "+a)
	}
	want = append(want, "env ONLY=this", "pwd "+dir, fmt.Sprint("pgid ", p.PID()))
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		want = append(want, "fd 0", "fd 1", "fd 2", "fd 3") // 3 is ls reading the folder
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// program starts the scripted CLI as a program, with a client that runs.
func program(t *testing.T, script claudetest.Script, o claude.Options) (*claude.Client, *claude.Process, string, <-chan error) {
	t.Helper()
	path, record := claudetest.Program(t, script)
	dir := t.TempDir()
	c, err := claude.Options{Path: path, Dir: dir, PermissionMode: "default", SessionID: someUUID}.Command(claude.Environ(os.Environ(), dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, c)
	client := claude.NewClient(p, o)
	run := make(chan error, 1)
	go func() { run <- client.Run(context.WithoutCancel(t.Context())) }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := client.Initialize(ctx, claude.InitializeRequest{}); err != nil && len(script.Start) == 0 {
		t.Fatal(err)
	}
	return client, p, record, run
}

func TestWholeTurnWithAProgram(t *testing.T) {
	t.Parallel()
	results := make(chan *claude.Result, 10)
	client, p, record, run := program(t, claudetest.Script{}, claude.Options{
		CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
			return claude.ToolDecision{Allow: true}, nil
		},
		OnMessage: func(m claude.Message) {
			if r, ok := m.(*claude.Result); ok {
				r.Raw = bytes.Clone(r.Raw)
				results <- r
			}
		},
	})
	prompt := claudetest.Prompt(claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "x"}}, Count: 3, Parallel: true},
		claudetest.Step{Bytes: 20_000_000}, claudetest.Step{Text: "bye"})
	if err := client.SendUser(t.Context(), claude.UserMessage{Text: prompt}); err != nil {
		t.Fatal(err)
	}
	within(t, "the turn", func() {
		if r := <-results; r.Subtype != "success" || r.SessionID != someUUID {
			t.Errorf("got %s", r.Raw)
		}
	})
	if err := p.CloseInput(); err != nil {
		t.Error(err)
	}
	within(t, "Run", func() {
		if err := <-run; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	answered := 0
	for _, r := range claudetest.ReadRecords(t, record) {
		var line struct {
			Response struct{ Response map[string]any }
		}
		if r.Kind == "control_response" && json.Unmarshal(r.Line, &line) == nil && r.Known && line.Response.Response["behavior"] == "allow" {
			answered++
		}
	}
	if answered != 3 {
		t.Errorf("the CLI got %d answers, want 3", answered)
	}
}

// However the CLI ends, Run ends and says nothing of its own: the exit says why.
func TestCLIThatDies(t *testing.T) {
	t.Parallel()
	status := 3
	for name, test := range map[string]struct {
		script     claudetest.Script
		status     int
		unreadable int
	}{
		"exits at once":  {claudetest.Script{Start: []claudetest.Step{{Stderr: "no such luck"}, {Exit: &status}}}, 3, 0},
		"prints rubbish": {claudetest.Script{Start: []claudetest.Step{{Stderr: "no such luck"}, {Rubbish: true}, {Exit: &status}}}, 3, 50},
		"dies mid line":  {claudetest.Script{Start: []claudetest.Step{{Stderr: "no such luck"}, {DieMidLine: true}}}, 1, 1},
		"leaves a child": {claudetest.Script{Start: []claudetest.Step{{Stderr: "no such luck"}, {SpawnChild: "group"}, {Exit: &status}}}, 3, 0},
		"floods stderr":  {claudetest.Script{Start: []claudetest.Step{{StderrFlood: 1_000_000}, {Stderr: "no such luck"}, {Exit: &status}}}, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unreadable := 0
			_, p, _, run := program(t, test.script, claude.Options{OnUnreadable: func([]byte, error) { unreadable++ }})
			within(t, "the end", func() {
				if err := <-run; err != nil {
					t.Errorf("Run: %v", err)
				}
				var exit *exec.ExitError
				if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != test.status {
					t.Errorf("exit: got %v, want status %d", err, test.status)
				}
			})
			if unreadable != test.unreadable {
				t.Errorf("got %d unreadable lines, want %d", unreadable, test.unreadable)
			}
			if !strings.HasSuffix(p.Stderr(), "no such luck\n") {
				t.Errorf("stderr: got %.80q", p.Stderr())
			}
		})
	}
}
