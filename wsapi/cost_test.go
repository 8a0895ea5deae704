package wsapi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlitetest"
	"github.com/sayso-dev/sayso/wsapi"
)

// What one step may cost. The limits of what is counted in SQL and messages are exact; those
// of allocations leave a tenth, as a version of Go may allocate more. They hold with and
// without the race detector.
var (
	costOfRequest   = cost{statements: 6, transactions: 1, bytes: 20600, messages: 1, messageBytes: 1450, allocations: 530}
	costOfAnswer    = cost{statements: 13, transactions: 2, bytes: 32960, messages: 1, messageBytes: 90, allocations: 860}
	costAfterAnswer = cost{statements: 7, transactions: 1, bytes: 16480, messages: 2, messageBytes: 1010, allocations: 530}
	costOfDelta     = cost{messages: 1, messageBytes: 115, allocations: 32}
	costOfFrame     = cost{messages: 1, allocations: 15} // to one more tab; no statement
)

// scripted launches a CLI that only begins its turn. The test prints the rest for it.
type scripted struct {
	cli  claude.Transport // stdout is what is sent here
	mu   sync.Mutex
	took int // answers that reached its stdin
}

func (s *scripted) Leftovers(context.Context) ([]launch.Leftover, error) { return nil, nil }
func (s *scripted) CheckMachine(context.Context) error                   { return nil }
func (s *scripted) Vitals(context.Context) ([]launch.Vitals, error)      { return nil, nil }
func (s *scripted) Damaged(context.Context) ([]string, error)            { return nil, nil }

func (s *scripted) ConnectAgent(context.Context, launch.ID, string) error { return nil }

func (s *scripted) Open(context.Context, launch.Process) (launch.Conn, error) {
	host, cli := claudetest.Pipe()
	s.cli = cli
	ctx, kill := context.WithCancel(context.Background())
	c := &scriptedConn{Transport: host, kill: kill, done: make(chan struct{})}
	player := &claudetest.CLI{Transport: cli, Script: claudetest.Script{Turn: []claudetest.Step{{Silent: true}}}, OnRecord: func(r claudetest.Record) {
		if r.Kind == "control_response" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took++
		}
	}}
	go func() {
		player.Run(ctx)
		kill()
		close(c.done)
	}()
	return c, nil
}

type scriptedConn struct {
	claude.Transport
	kill context.CancelFunc
	done chan struct{}
}

func (c *scriptedConn) PID() int                               { return 1 << 30 }
func (c *scriptedConn) CloseInput() error                      { return c.Transport.Close() }
func (c *scriptedConn) Terminate() error                       { c.kill(); return nil }
func (c *scriptedConn) Kill() error                            { c.kill(); return nil }
func (c *scriptedConn) Done() <-chan struct{}                  { return c.done }
func (c *scriptedConn) Stderr(context.Context) (string, error) { return "", nil }
func (c *scriptedConn) ExitError() error                       { return nil }

// heard is how many answers reached the CLI.
func (s *scripted) heard() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

func (s *scripted) print(t *testing.T, line string) {
	t.Helper()
	if err := s.cli.Send([]byte(line)); err != nil {
		t.Fatal(err)
	}
}

// server is a hub over an orchestrator with one session, whose transcript tabs read. It
// counts what it is at. Nothing happens until something is printed for Claude.
type server struct {
	*apitest.Harness
	*scripted
	t         *testing.T
	ledger    *sqlitetest.Ledger
	tab       *apitest.Tab // gives the answers
	sessionID string
	folder    string // in which the session works

	mu       sync.Mutex // protects following
	messages int        // that tabs got
	bytes    int        // of these
}

// inServer runs a test with a server and more tabs beside the one that answers.
func inServer(t *testing.T, more int, test func(s *server), change ...func(*apitest.Options)) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := sqlitetest.New(t)
	s := &server{folder: folder, ledger: sqlitetest.NewLedger(t, path), scripted: &scripted{}}
	var o *orchestrator.Orchestrator
	apitest.InBubbleOn(t, path, func(t *testing.T, h *apitest.Harness) {
		s.t, s.Harness = t, h
		running, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			if err := o.Run(running); err != nil {
				t.Error(err)
			}
		})
		h.Notifier.Listen(o.SessionChanged)
		s.sessionID, err = o.Start(t.Context(), orchestrator.StartRequest{CWD: folder, Prompt: "go", By: pending.Actor{UserID: h.Admin.UserID, Name: h.Admin.Name}})
		if err != nil {
			t.Fatal(err)
		}
		var tabs []*apitest.Tab
		for range more + 1 {
			tab := h.OpenTab(account.Admin)
			tab.Do("subscribe", map[string]any{"session_id": s.sessionID, "after": 0, "live_append": true})
			done.Go(func() { s.count(tab) })
			tabs = append(tabs, tab)
		}
		s.tab = tabs[0]
		s.settle()
		test(s)
		for _, tab := range tabs {
			_ = tab.Conn.CloseNow()
		}
		stop()
		done.Wait()
	}, append(change, func(options *apitest.Options) {
		l := orchestrator.DefaultLimits()
		l.Sample = time.Hour // the process table of this machine is none of a script's
		if o, err = orchestrator.New(orchestrator.Options{
			Store: options.Store.(orchestrator.Store), Registry: options.Requests.(*pending.Registry), Notifier: options.Notifier.(orchestrator.Notifier),
			Launcher: s.scripted, CLI: &launch.CLI{Path: "/bin/sh", Environ: os.Environ()},
			Rules: orchestrator.Rules{Roots: workspace.Roots{folder}, Limits: l}, RunnerID: "here", NodeID: options.NodeID,
			Attachments: options.Attachments, Log: options.Log,
		}); err != nil {
			t.Fatal(err)
		}
		options.Command.Driver, options.Hub.Processes = o, o
	})...)
}

// count reads what a tab gets until its connection ends.
func (s *server) count(tab *apitest.Tab) {
	for {
		_, message, err := tab.Conn.Read(context.Background())
		if err != nil {
			return
		}
		s.mu.Lock()
		s.messages++
		s.bytes += len(bytes.ReplaceAll(message, []byte(s.folder), []byte("/work"))) // each machine has another
		s.mu.Unlock()
	}
}

// cost is what something took, or the most that it may take. Statements and transactions are
// those of SQLite, bytes what it wrote to its log in pages of 4 KiB. Allocations are those of
// the whole process, tabs included.
type cost struct {
	statements, transactions, bytes int
	messages, messageBytes          int // to all tabs
	allocations                     int
	list                            []string // the statements
}

// of returns what it costs to do something, until nothing goes on any more.
func (s *server) of(do func()) cost {
	s.t.Helper()
	synctest.Wait()
	s.ledger.Take()
	s.mu.Lock()
	s.messages, s.bytes = 0, 0
	s.mu.Unlock()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	synctest.Wait()
	runtime.ReadMemStats(&after)
	done := s.ledger.Take()
	// The hub looks each second whether the store works and the tabs are still signed in,
	// which an answer needs at its beginning.
	list := slices.DeleteFunc(done.Statements, func(text string) bool { return strings.HasPrefix(text, "SELECT 1 FROM migrations") })
	if len(list) > 0 && !strings.HasPrefix(list[0], signedIn) {
		list = slices.DeleteFunc(list, func(text string) bool { return strings.HasPrefix(text, signedIn) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return cost{len(list), done.Transactions, done.Bytes, s.messages, s.bytes, int(after.Mallocs - before.Mallocs), list}
}

const signedIn = "SELECT c.credential_id"

// least is what each of several rounds took at least: a garbage collection empties pools, the
// race detector lets pools lose things by chance, and now and then a page of the database is
// full. A step that costs more by a mistake does so each time.
func least(costs []cost) cost {
	c := costs[0]
	for _, other := range costs[1:] {
		if other.statements < c.statements {
			c.statements, c.list = other.statements, other.list
		}
		c.transactions, c.bytes = min(c.transactions, other.transactions), min(c.bytes, other.bytes)
		c.messages, c.messageBytes = min(c.messages, other.messages), min(c.messageBytes, other.messageBytes)
		c.allocations = min(c.allocations, other.allocations)
	}
	return c
}

// over names what is more than it may be.
func (c cost) over(limit cost) (list []string) {
	for _, n := range []struct {
		what       string
		got, limit int
	}{
		{"SQL statements", c.statements, limit.statements}, {"transactions", c.transactions, limit.transactions},
		{"bytes to the log", c.bytes, limit.bytes}, {"messages to tabs", c.messages, limit.messages},
		{"bytes to tabs", c.messageBytes, limit.messageBytes}, {"allocations", c.allocations, limit.allocations},
	} {
		if n.got > n.limit {
			list = append(list, fmt.Sprintf("%d %s, at most %d", n.got, n.what, n.limit))
		}
	}
	return list
}

// check fails the test when something costs more than its limit. Who makes it cheaper lowers
// the limit.
func (s *server) check(what string, costs []cost, limit cost) {
	s.t.Helper()
	c := least(costs)
	s.t.Logf("%s: %+v", what, cost{c.statements, c.transactions, c.bytes, c.messages, c.messageBytes, c.allocations, nil})
	if over := c.over(limit); len(over) > 0 {
		s.t.Errorf("%s: %s; its statements:\n%s", what, strings.Join(over, ", "), strings.Join(c.list, "\n"))
	}
}

// begin begins a message of Claude.
func (s *server) begin() {
	s.t.Helper()
	s.print(s.t, `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m1","role":"assistant","content":[]}}}`)
	s.print(s.t, `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}`)
	s.settle()
}

func (s *server) delta(text string) {
	s.t.Helper()
	s.print(s.t, `{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}}`)
}

// settle waits until nothing is left that was put off.
func (s *server) settle() {
	synctest.Wait()
	time.Sleep(3 * time.Second)
}

// approval has Claude ask, and the tab allow it. It returns what each of the parts costs: from
// the request to the tabs, from the answer to stdin, and what is put off until after that.
func (s *server) approval(n int) (asked, answered, after cost) {
	s.t.Helper()
	s.settle()
	asked = s.of(func() {
		s.print(s.t, fmt.Sprintf(`{"type":"control_request","request_id":"r%d","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch a"},"tool_use_id":"toolu_%[1]d"}}`, n))
	})
	state, err := s.Store.ProcessState(s.t.Context(), s.sessionID)
	if err != nil || len(state.Requests) != 1 {
		s.t.Fatalf("open are %v, %v", state.Requests, err)
	}
	before := s.heard()
	answered = s.of(func() { s.tab.Send("pending_request_response", apitest.Allow(state.Requests[0])) })
	if s.heard() != before+1 {
		s.t.Fatal("the answer did not reach Claude")
	}
	after = s.of(func() { time.Sleep(900 * time.Millisecond) })
	return asked, answered, after
}

const rounds = 5

// TestCostOfApproval is not parallel, as it counts allocations.
func TestCostOfApproval(t *testing.T) {
	inServer(t, 0, func(s *server) {
		s.approval(0) // prepares the statements
		var asked, answered, after []cost
		for n := range rounds {
			a, b, c := s.approval(n + 1)
			asked, answered, after = append(asked, a), append(answered, b), append(after, c)
		}
		s.check("request to frame", asked, costOfRequest)
		s.check("answer to stdin", answered, costOfAnswer)
		s.check("after the answer", after, costAfterAnswer)
	})
}

func TestCostOfDelta(t *testing.T) {
	inServer(t, 0, func(s *server) {
		s.begin()
		s.delta(strings.Repeat("some words ", 2000))
		var deltas []cost
		for range rounds {
			s.settle()
			deltas = append(deltas, s.of(func() { s.delta("some words ") }))
		}
		s.check("delta of a message of 22 KB", deltas, costOfDelta)
	})
}

func TestCostOfFrame(t *testing.T) {
	const more = 10
	inServer(t, more, func(s *server) {
		s.approval(0)
		var asked []cost
		for n := range rounds {
			a, _, _ := s.approval(n + 1)
			asked = append(asked, a)
		}
		limit := costOfRequest
		limit.messages += more * costOfFrame.messages
		limit.messageBytes += more * costOfRequest.messageBytes
		limit.allocations += more * costOfFrame.allocations
		s.check("request to the frame of 11 tabs", asked, limit)
	})
}

// wasteful is a store that reads each state twice.
type wasteful struct{ wsapi.Store }

func (w wasteful) ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error) {
	if _, err := w.Store.ProcessState(ctx, sessionID); err != nil {
		return session.ProcessState{}, err
	}
	return w.Store.ProcessState(ctx, sessionID)
}

func TestAdditionalStatementIsCounted(t *testing.T) {
	inServer(t, 0, func(s *server) {
		s.approval(0)
		asked, _, _ := s.approval(1)
		if over := asked.over(costOfRequest); !slices.ContainsFunc(over, func(what string) bool { return strings.Contains(what, "SQL statements") }) {
			t.Errorf("over its limit is %q, want the statements too", over)
		}
	}, func(o *apitest.Options) { o.Hub.Store = wasteful{o.Hub.Store} })
}
