package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
	sayso "github.com/sayso-dev/sayso/cmd/sayso"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// builds is the folder of the programs that the tests start.
var builds string

func TestMain(m *testing.M) {
	var err error
	if builds, err = os.MkdirTemp("", "sayso-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Most of a test is waiting for other processes.
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(postgrestest.Around(m), goleak.Cleanup(func(code int) {
		os.RemoveAll(builds)
		os.Exit(code)
	}))
}

// program builds sayso as it is shipped, once for all tests. Under the race detector
// the servers run in the process of the tests; what is a process of its own is there
// to be killed, or to outlive one.
var program = sync.OnceValues(func() (string, error) { return build("sayso") })

func build(name string, flags ...string) (string, error) {
	path := filepath.Join(builds, name)
	args := append(append([]string{"build"}, flags...), "-o", path, ".")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return path, nil
}

// migratedDatabase is a SQLite database to which nothing has happened. Its migrations
// are most of what a first start computes under the race detector; the starts of
// processes make theirs.
var migratedDatabase = sync.OnceValues(func() ([]byte, error) {
	path := filepath.Join(builds, "migrated.db")
	opened, err := store.Open(context.Background(), "sqlite:"+path)
	if err != nil {
		return nil, err
	}
	if err := opened.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// waitLimit is for what takes milliseconds on a machine that has time, and bounds only
// failing tests.
const waitLimit = 2 * time.Minute

// stopLimit is how long a server may take to stop in order at the end of a test.
const stopLimit = 5 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nightly leaves a test that takes long to `make test-all`.
func nightly(t *testing.T) {
	t.Helper()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		t.Skip("run by make test-all")
	}
}

// forRelease leaves a test that builds releases to `make test-release`.
func forRelease(t *testing.T) {
	t.Helper()
	if os.Getenv("SAYSO_TEST_RELEASE") == "" {
		t.Skip("run by make test-release")
	}
}

// eventually looks again and again until ok: what another process does is no
// channel.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, waitLimit, what, ok)
}

func within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// A harness is a folder in which servers run one after the other, in the process of
// the tests unless they say otherwise.
type harness struct {
	t                   testing.TB
	program             string
	state, work, claude string
	record              string // what the CLIs have recorded
	env                 []string
	processes           bool // servers are processes of their own
}

// asProcesses makes servers processes of their own, which signals can end.
func (h *harness) asProcesses() *harness {
	h.processes = true
	return h
}

// newHarness makes a harness whose CLIs follow the script.
func newHarness(t testing.TB, script claudetest.Script) *harness {
	t.Helper()
	path, err := program()
	must(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	h := &harness{t: t, program: path, state: filepath.Join(dir, "state"), work: filepath.Join(dir, "work")}
	h.claude, h.record = claudetest.Program(t, script)
	for _, folder := range []string{h.state, h.work} {
		must(t, os.Mkdir(folder, 0o700))
	}
	h.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "ANTHROPIC_API_KEY=none", "SAYSO_BOOTSTRAP_TOKEN=" + blackbox.Token}
	t.Cleanup(func() {
		if out, err := h.command("kill-all").CombinedOutput(); err != nil {
			t.Errorf("kill-all: %v: %s", err, out)
		}
	})
	return h
}

// openDatabase opens the database beside the server. It waits for the lock, which the
// server may hold.
func (h *harness) openDatabase() *sql.DB {
	h.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(h.state, "sayso.db")+"?_pragma=busy_timeout(10000)")
	must(h.t, err)
	h.t.Cleanup(func() { _ = db.Close() })
	return db
}

// command is sayso with the state folder of the harness.
func (h *harness) command(verb string, args ...string) *exec.Cmd {
	cmd := exec.Command(h.program, append([]string{verb, "--state-dir", h.state}, args...)...)
	cmd.Env = h.env
	return cmd
}

// records are those of one kind that the CLIs have made.
func (h *harness) records(kind string) []claudetest.Record {
	h.t.Helper()
	var some []claudetest.Record
	for _, r := range claudetest.ReadRecords(h.t, h.record) {
		if r.Kind == kind {
			some = append(some, r)
		}
	}
	return some
}

// answeredOnce fails unless the CLIs of h got answers to want requests, each once.
func (h *harness) answeredOnce(want int) {
	h.t.Helper()
	answered := map[string]int{}
	for _, r := range h.records("control_response") {
		answered[r.RequestID]++
	}
	if len(answered) != want {
		h.t.Errorf("the CLI got the answers %v, want %d", answered, want)
	}
	for request, n := range answered {
		if n != 1 {
			h.t.Errorf("%s was answered %d times", request, n)
		}
	}
}

// words is what a process has said so far.
type words struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// A server is a running `sayso serve`: a process when cmd is set, else a part of this
// one.
type server struct {
	blackbox.Client
	h       *harness
	cmd     *exec.Cmd
	stopped context.CancelFunc // without cmd: what SIGTERM does
	hangups chan os.Signal     // without cmd: SIGHUP
	said    *words
	exited  chan struct{} // closed when err and code are set
	err     error
	code    int // -1 after a signal
}

// serve starts a server without waiting for it.
func (h *harness) serve(args ...string) *server {
	h.t.Helper()
	return h.serveExactly(append([]string{"--listen", "127.0.0.1:0", "--workspace-root", h.work, "--claude", h.claude}, args...)...)
}

// serveExactly starts a server with no other settings than these and its state folder.
func (h *harness) serveExactly(args ...string) *server {
	h.t.Helper()
	if h.processes {
		return h.begin(h.command("serve", args...))
	}
	database := filepath.Join(h.state, "sayso.db")
	if _, err := os.Stat(database); os.IsNotExist(err) {
		migrated, err := migratedDatabase()
		must(h.t, err)
		must(h.t, os.WriteFile(database, migrated, 0o600))
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &server{h: h, stopped: stop, hangups: make(chan os.Signal, 1), said: &words{}, exited: make(chan struct{})}
	s.Token = blackbox.Token
	args, environ := append([]string{"--state-dir", h.state}, args...), slices.Clone(h.env)
	go func() {
		defer close(s.exited)
		if s.code = sayso.Serve(ctx, args, environ, h.program, s.said, s.hangups); s.code != 0 {
			s.err = fmt.Errorf("exit code %d", s.code)
		}
	}()
	h.t.Cleanup(func() {
		s.agreeAtEnd()
		if h.t.Failed() {
			s.logTranscripts()
		}
		stop()
		<-s.exited
		if h.t.Failed() {
			h.t.Errorf("the server said:\n%s", s.said)
		}
	})
	return s
}

// begin starts a server that is a process.
func (h *harness) begin(cmd *exec.Cmd) *server {
	h.t.Helper()
	s := &server{h: h, cmd: cmd, said: &words{}, exited: make(chan struct{})}
	s.Token = blackbox.Token
	cmd.Stdout, cmd.Stderr = s.said, s.said
	must(h.t, cmd.Start())
	go func() {
		s.err = cmd.Wait()
		s.code = cmd.ProcessState.ExitCode()
		close(s.exited)
	}()
	h.t.Cleanup(func() {
		s.agreeAtEnd()
		// Killed at once, it would leave behind what it is asking the CLI, such as for its account,
		// which goes on to write to its home.
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone
		select {
		case <-s.exited:
		case <-time.After(stopLimit): // it is halted, or its database is
			_ = cmd.Process.Kill()
			<-s.exited
		}
		if h.t.Failed() {
			h.t.Errorf("the server said:\n%s", s.said)
		}
	})
	return s
}

var running = regexp.MustCompile(`sayso is running at (\S+)\n`)

// start starts a server and waits until it listens.
func (h *harness) start(args ...string) *server {
	h.t.Helper()
	s := h.serve(args...)
	s.await()
	return s
}

// requestViews is what each part knows of the open requests of a session.
type requestViews struct {
	Rows []struct {
		RequestID string `json:"request_id"`
		Source    string `json:"source"`
		Status    string `json:"status"`
	} `json:"rows"`
	Waiting     []string `json:"waiting"`
	Journal     []string `json:"journal"`
	Claude      []string `json:"claude"`
	Differences []string `json:"differences"`
}

// agreeLimit bounds how long requests and answers are on their way.
const agreeLimit = 20 * time.Second

// agree fails the test unless all parts soon know the same of the open requests of
// each session, among them a fresh tab.
func (s *server) agree() {
	s.h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), agreeLimit)
	defer cancel()
	for apart := ""; ; time.Sleep(50 * time.Millisecond) {
		now := s.apart(ctx)
		if now == "" {
			return
		}
		if ctx.Err() != nil {
			s.h.t.Errorf("not the same is known of the open requests:\n%s", apart)
			return
		}
		apart = now
	}
}

// agreeAtEnd is agree where the server still works.
func (s *server) agreeAtEnd() {
	select {
	case <-s.exited:
		return
	default:
	}
	if s.h.t.Failed() || s.URL == "" || s.Token == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), agreeLimit)
	defer cancel()
	if s.Do(ctx, "GET", "/api/processes", nil, nil) == nil {
		s.agree()
	}
}

// logTranscripts logs the last items of each session, for a test that failed.
func (s *server) logTranscripts() {
	if s.URL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), agreeLimit)
	defer cancel()
	var list struct{ Processes []process }
	if err := s.Do(ctx, "GET", "/api/processes", nil, &list); err != nil {
		s.h.t.Logf("no transcripts: %v", err)
		return
	}
	for _, p := range list.Processes {
		var page json.RawMessage
		if err := s.Do(ctx, "GET", "/api/sessions/"+p.SessionID+"/transcript?limit=20", nil, &page); err != nil {
			s.h.t.Logf("session %s: %v", p.SessionID, err)
			continue
		}
		s.h.t.Logf("session %s is %s:\n%s", p.SessionID, p.State, page)
	}
}

// apart prints what is known of the sessions whose parts differ, side by side.
func (s *server) apart(ctx context.Context) string {
	told, err := s.freshTab(ctx)
	if err != nil {
		return err.Error()
	}
	var list struct{ Processes []process }
	if err := s.Do(ctx, "GET", "/api/processes", nil, &list); err != nil {
		return err.Error()
	}
	var report strings.Builder
	for _, p := range list.Processes {
		id := p.SessionID
		var v requestViews
		if err := s.Do(ctx, "GET", "/api/processes/"+id+"/requests", nil, &v); err != nil {
			fmt.Fprintf(&report, "%s: %v\n", id, err)
			continue
		}
		var rows []string
		for _, r := range v.Rows {
			rows = append(rows, r.RequestID)
		}
		slices.Sort(rows)
		if !slices.Equal(rows, told[id]) {
			v.Differences = append(v.Differences, "A fresh tab is told something else than the database has.")
		}
		if len(v.Differences) > 0 {
			fmt.Fprintf(&report, "session %s\n  fresh tab %q\n  database  %q\n  memory    %q\n  journal   %q\n  Claude    %q\n  %s\n",
				id, told[id], rows, v.Waiting, v.Journal, v.Claude, strings.Join(v.Differences, "\n  "))
		}
	}
	return report.String()
}

// freshTab returns the open requests by session, as a new tab is told them.
func (s *server) freshTab(ctx context.Context) (map[string][]string, error) {
	conn, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.CloseNow() }()
	type frame struct {
		Type      string
		Processes []process
		Frames    []json.RawMessage
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, err
		}
		all := []frame{f}
		for _, raw := range f.Frames {
			var one frame
			if err := json.Unmarshal(raw, &one); err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		for _, f := range all {
			if f.Type != "active_processes" {
				continue
			}
			told := map[string][]string{}
			for _, p := range f.Processes {
				for _, r := range p.Requests {
					told[p.SessionID] = append(told[p.SessionID], r.RequestID)
				}
				slices.Sort(told[p.SessionID])
			}
			return told, nil
		}
	}
}

func (s *server) await() {
	s.h.t.Helper()
	eventually(s.h.t, "the server listens", func() bool {
		select {
		case <-s.exited:
			s.h.t.Fatalf("the server exited: %v", s.err)
		default:
		}
		if found := running.FindStringSubmatch(s.said.String()); found != nil {
			s.URL = found[1]
		}
		return s.URL != ""
	})
}

func (s *server) signal(sig syscall.Signal) {
	s.h.t.Helper()
	switch {
	case s.cmd != nil:
		must(s.h.t, s.cmd.Process.Signal(sig))
	case sig == syscall.SIGTERM:
		s.stopped()
	case sig == syscall.SIGHUP:
		s.hangups <- sig
	default:
		s.h.t.Fatalf("%s is for a server that is a process", sig)
	}
}

// gone waits for the end and returns the exit code, -1 after a signal.
func (s *server) gone(limit time.Duration) int {
	s.h.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(limit):
		// What it waits for is in the stacks that it prints when it is told to quit.
		if s.cmd == nil {
			stacks := make([]byte, 1<<20)
			s.h.t.Fatalf("the server was there %s later:\n%s", limit, stacks[:runtime.Stack(stacks, true)])
		}
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.exited
		s.h.t.Fatalf("the server was there %s later:\n%s", limit, s.said)
	}
	return s.code
}

// stop ends the server in order.
func (s *server) stop() {
	s.h.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.gone(waitLimit); code != 0 {
		s.h.t.Fatalf("exit code %d", code)
	}
}

// refused waits for a server that does not start, and holds its words against
// what they must say.
func (s *server) refused(wants ...string) {
	s.h.t.Helper()
	if code := s.gone(waitLimit); code != 1 {
		s.h.t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range wants {
		if !strings.Contains(s.said.String(), want) {
			s.h.t.Errorf("it does not say %q:\n%s", want, s.said)
		}
	}
}

func (s *server) logged(text string) func() bool {
	return func() bool { return strings.Contains(s.said.String(), text) }
}

func (s *server) do(method, path string, body, out any) {
	s.h.t.Helper()
	must(s.h.t, s.Do(s.h.t.Context(), method, path, body, out))
}

// status is that of the answer; the body of a refusal is decoded into out.
func (s *server) status(method, path string, body, out any) int {
	s.h.t.Helper()
	err := s.Do(s.h.t.Context(), method, path, body, nil)
	var refused *blackbox.StatusError
	switch {
	case err == nil:
		return 200
	case !errors.As(err, &refused):
		s.h.t.Fatal(err)
	case out != nil:
		must(s.h.t, json.Unmarshal(refused.Body, out))
	}
	return refused.Status
}

func (s *server) session(prompt string) string {
	s.h.t.Helper()
	var made struct {
		SessionID string `json:"session_id"`
	}
	s.do("POST", "/api/sessions", map[string]any{"cwd": s.h.work, "prompt": prompt}, &made)
	return made.SessionID
}

// process is what a test needs of a process_state.
type process struct {
	SessionID      string `json:"session_id"`
	PID            int    `json:"pid"` // in the list of processes alone
	State          string `json:"state"`
	Error          string `json:"error"`
	KillReason     string `json:"kill_reason"`
	PermissionMode string `json:"permission_mode"`
	NodeID         string `json:"node_id"`
	Held           string `json:"held"`
	Requests       []struct {
		RequestID string `json:"request_id"`
		Status    string `json:"status"`
	} `json:"pending_requests"`
}

func (s *server) process(sessionID string) process {
	s.h.t.Helper()
	var found struct {
		ProcessState process `json:"process_state"`
	}
	s.do("GET", "/api/sessions/"+sessionID, nil, &found)
	return found.ProcessState
}

// asks waits until the session asks something, and returns the request's id.
func (s *server) asks(sessionID string) string {
	s.h.t.Helper()
	var p process
	eventually(s.h.t, "the session asks", func() bool {
		p = s.process(sessionID)
		return len(p.Requests) == 1 && p.Requests[0].Status == "open"
	})
	return p.Requests[0].RequestID
}

func (s *server) reaches(sessionID, state string) {
	s.h.t.Helper()
	eventually(s.h.t, "the session is in "+state, func() bool { return s.process(sessionID).State == state })
}

func (s *server) allow(requestID string) {
	s.h.t.Helper()
	s.do("POST", "/api/pending/"+requestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"}, nil)
}

// pid returns the process id of the session's CLI. It waits until the server has stored
// it, which after a recovery may be later than the first request.
func (s *server) pid(sessionID string) int {
	s.h.t.Helper()
	var pid int
	eventually(s.h.t, "the process id is known", func() bool {
		pid = s.processes()[sessionID].PID
		return pid != 0
	})
	return pid
}

// processes are those that run, by session.
func (s *server) processes() map[string]process {
	s.h.t.Helper()
	var list struct {
		Processes []process `json:"processes"`
	}
	s.do("GET", "/api/processes", nil, &list)
	byID := map[string]process{}
	for _, p := range list.Processes {
		byID[p.SessionID] = p
	}
	return byID
}

func alive(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil }

// tab is one WebSocket. Its frames come until it ends, then why it did.
type tab struct {
	frames chan map[string]any
	ended  chan error
	write  func(ctx context.Context, frame []byte) error
	cut    func() error // without a word
}

// say sends a command and returns its id.
func (t *tab) say(tb testing.TB, command map[string]any) (id string) {
	tb.Helper()
	id = uuid.NewString()
	command["command_id"] = id
	text, err := json.Marshal(command)
	must(tb, err)
	must(tb, t.write(tb.Context(), text))
	return id
}

func (s *server) tab() *tab {
	s.h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := s.Dial(ctx)
	if err != nil {
		cancel()
		s.h.t.Fatal(err)
	}
	t := &tab{frames: make(chan map[string]any), ended: make(chan error, 1), cut: conn.CloseNow}
	t.write = func(ctx context.Context, frame []byte) error { return blackbox.Send(ctx, conn, frame) }
	var reading sync.WaitGroup
	s.h.t.Cleanup(func() { cancel(); reading.Wait() })
	reading.Go(func() {
		defer close(t.frames)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				t.ended <- err
				return
			}
			var batch struct {
				Type   string           `json:"type"`
				Frames []map[string]any `json:"frames"`
			}
			var one map[string]any
			if json.Unmarshal(data, &batch) != nil || json.Unmarshal(data, &one) != nil {
				t.ended <- fmt.Errorf("a message that is no frame: %s", data)
				return
			}
			if batch.Type != "batch" {
				batch.Frames = []map[string]any{one}
			}
			for _, f := range batch.Frames {
				select {
				case t.frames <- f:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	return t
}

// until reads on to the first frame that fits.
func (t *tab) until(tb testing.TB, limit time.Duration, what string, fits func(map[string]any) bool) map[string]any {
	tb.Helper()
	late := time.After(limit)
	for {
		select {
		case f, ok := <-t.frames:
			if !ok {
				tb.Fatalf("the tab ended before %s: %v", what, <-t.ended)
			}
			if fits(f) {
				return f
			}
		case <-late:
			tb.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// close reads to the end and returns why it came.
func (t *tab) close(tb testing.TB, limit time.Duration) error {
	tb.Helper()
	late := time.After(limit)
	for {
		select {
		case _, ok := <-t.frames:
			if !ok {
				return <-t.ended
			}
		case <-late:
			tb.Fatalf("the tab is open %s later", limit)
		}
	}
}

func ofType(kind string) func(map[string]any) bool {
	return func(f map[string]any) bool { return f["type"] == kind }
}

var bash = claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "touch a"}}}
