//go:build failpoints

package matrix_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// A harness is a server that is started again whenever it dies, its sessions, and
// two tabs that answer what they are shown, each in its own way.
type harness struct {
	folder string
	orders string // SAYSO_FAILPOINTS
	points string // folder of the counts
	cli    string
	config blackbox.Options
	tabs   []*tab

	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex // protects following
	server *blackbox.Server
	starts int // servers so far, also those that did not come up
	// meanwhile is done once the server is gone and before the next is started.
	meanwhile func() error
	problems  []string
	held      map[string]bool // names that are not to be answered now
	sessions  []*conversation
	byHand    int // sessions that somebody had to resume
	repeats   int // how often an answer is given once more
}

// conversation is a session as the harness knows it.
type conversation struct {
	id      string
	names   []string // of the requests that it will ask, with repetitions
	turns   int
	deadFor time.Time
}

// open starts a harness. Whatever it returns must be closed.
func open(ctx context.Context, folder, orders string, cli string) (*harness, error) {
	address, err := blackbox.FreeAddress()
	if err != nil {
		return nil, err
	}
	points := filepath.Join(folder, "points")
	if err := os.MkdirAll(points, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &harness{
		folder: folder, orders: orders, points: points, cli: cli, cancel: cancel, held: map[string]bool{},
		config: blackbox.Options{
			Path: sayso, Folder: folder, Address: address, Claude: cli,
			Environ: []string{"SAYSO_FAILPOINTS=" + orders, "SAYSO_FAILPOINTS_DIR=" + points},
		},
	}
	client := blackbox.Client{URL: "http://" + address, Token: blackbox.Token}
	for _, label := range []string{"A", "B"} {
		t := newTab(label, client)
		t.answers = h.answers
		t.repeats = func() int {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.repeats
		}
		h.tabs = append(h.tabs, t)
		h.work.Go(func() { t.run(ctx) })
	}
	h.work.Go(func() { h.keep(ctx) })
	h.work.Go(func() { h.resume(ctx) })
	return h, nil
}

// keep has a server run until ctx ends.
func (h *harness) keep(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		h.starts++
		starts := h.starts
		h.mu.Unlock()
		s, err := blackbox.Start(ctx, h.config)
		if err != nil {
			if ctx.Err() == nil && starts > 20 {
				h.blame("the server does not come up: %v", err)
				return
			}
			continue
		}
		h.mu.Lock()
		h.server = s
		h.mu.Unlock()
		select {
		case <-s.Exited():
		case <-ctx.Done():
			if err := s.Kill(); err != nil {
				h.blame("%v", err)
			}
		}
		h.mu.Lock()
		h.server = nil
		meanwhile := h.meanwhile
		h.meanwhile = nil
		h.mu.Unlock()
		if meanwhile != nil {
			if err := meanwhile(); err != nil {
				h.blame("%v", err)
			}
		}
	}
}

// resume does what a person does who sees a session dead and nothing to answer:
// after a while they resume it.
func (h *harness) resume(ctx context.Context) {
	const patience = 1500 * time.Millisecond
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.mu.Lock()
		sessions := h.sessions
		h.mu.Unlock()
		for _, c := range sessions {
			f := h.tabs[0].stateOf(c.id)
			switch {
			case f.SessionID == "" || f.State != "dead" || len(f.PendingRequests) > 0:
				c.deadFor = time.Time{}
			case c.deadFor.IsZero():
				c.deadFor = time.Now()
			case time.Since(c.deadFor) > patience && !h.complete(c):
				c.deadFor = time.Time{}
				h.mu.Lock()
				h.byHand++
				h.mu.Unlock()
				h.tabs[0].give(ctx, map[string]any{"type": "resume_session", "session_id": c.id})
			}
		}
		for _, t := range h.tabs {
			t.lookAgain(ctx)
		}
	}
}

func (h *harness) blame(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problems = append(h.problems, fmt.Sprintf(format, args...))
}

// answers is what a tab does with a request: A allows, B denies.
func (h *harness) answers(t *tab, sessionID, _ string, r request) map[string]any {
	name := r.name()
	h.mu.Lock()
	held := h.held[name]
	h.mu.Unlock()
	if held {
		return nil
	}
	switch first(name) {
	case "die", "half", "forget", "drop":
		// First it is to die.
		if r.Status != "orphaned" && count(h.asked(sessionID), name) < 2 {
			return nil
		}
	case "cancel":
		// Claude withdraws it, unless it died before.
		if r.Status != "orphaned" {
			return nil
		}
	}
	return reply(t.label, r)
}

// reply is an answer that can be told from every other.
func reply(label string, r request) map[string]any {
	nonce := label + "-" + uuid.NewString()
	more := ""
	if first(r.name()) == "stall" {
		more = strings.Repeat(" and so on", 9000) // more than a pipe holds
	}
	switch {
	case label != "A":
		return map[string]any{"decision": "deny", "message": nonce + more, "nonce": nonce}
	case r.RequestType == "ask_user_question":
		return map[string]any{"nonce": nonce, "responses": []any{map[string]any{"id": r.Form.Questions[0].ID, "text": nonce}}}
	}
	return map[string]any{"decision": "allow", "updated_input": map[string]any{"command": r.name() + " " + nonce + more}, "nonce": nonce}
}

func (h *harness) memory(sessionID string) []memory {
	all, err := readMemory(filepath.Join(h.folder, sessionID+".jsonl"))
	if err != nil {
		h.blame("%v", err)
	}
	return all
}

// asked lists the names that the CLIs of a session asked for so far.
func (h *harness) asked(sessionID string) (names []string) {
	for _, m := range h.memory(sessionID) {
		if m.Kind == "asked" {
			names = append(names, m.Name)
		}
	}
	return names
}

// approve and question are requests by name.
func approve(name string) claudetest.Step {
	return claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": name}}}
}

func question(name string) claudetest.Step {
	return claudetest.Step{Ask: map[string]any{"tool_name": "AskUserQuestion", "input": map[string]any{"questions": []any{
		map[string]any{"question": name, "header": "Which", "multiSelect": false, "options": []any{
			map[string]any{"label": "One", "description": "1"}, map[string]any{"label": "Two", "description": "2"},
		}},
	}}}}
}

// cancelled is a request that the CLI withdraws.
func cancelled(name string, after time.Duration) claudetest.Step {
	s := approve("cancel " + name)
	s.CancelMS = int(after.Milliseconds())
	return s
}

func say(text string) claudetest.Step { return claudetest.Step{Text: text} }

// begin starts a session with a first turn.
func (h *harness) begin(ctx context.Context, steps ...claudetest.Step) (*conversation, error) {
	c := &conversation{}
	c.expect(steps)
	k := h.tabs[0].give(ctx, map[string]any{
		"type": "create_session", "cwd": h.config.Work(), "prompt": claudetest.Prompt(steps...), "title": "one of the matrix",
	})
	if err := h.await(ctx, "the session is made", func() bool { return isClosed(k.done) }); err != nil {
		return nil, err
	}
	h.tabs[0].mu.Lock()
	ack := k.acks[0]
	h.tabs[0].mu.Unlock()
	if ack.Result != "applied" || ack.SessionID == "" {
		return nil, fmt.Errorf("create_session was %s: %s", ack.Result, ack.Error)
	}
	c.id = ack.SessionID
	h.mu.Lock()
	h.sessions = append(h.sessions, c)
	h.mu.Unlock()
	return c, nil
}

func (c *conversation) expect(steps []claudetest.Step) {
	c.turns++
	c.names = append(c.names, namesOf(steps)...)
}

// namesOf lists the names of the requests of a turn, with repetitions.
func namesOf(steps []claudetest.Step) (names []string) {
	for _, s := range steps {
		if s.Ask != nil {
			for n := range max(1, s.Count) {
				name := nameOf(s.Ask)
				if first(name) == "many" {
					name = fmt.Sprintf("%s %d", name, n+1)
				}
				names = append(names, name)
			}
		}
	}
	return names
}

// tell gives a session another turn; it does not wait.
func (h *harness) tell(ctx context.Context, c *conversation, steps ...claudetest.Step) *command {
	h.mu.Lock()
	c.expect(steps)
	h.mu.Unlock()
	return h.tabs[0].give(ctx, map[string]any{
		"type": "send_message", "session_id": c.id, "text": claudetest.Prompt(steps...),
	})
}

// order gives a command about a session and waits until it is acked. That there
// is nothing to do any more is no error.
func (h *harness) order(ctx context.Context, kind string, c *conversation) error {
	k := h.tabs[0].give(ctx, map[string]any{"type": kind, "session_id": c.id})
	return h.await(ctx, kind+" is acked", func() bool { return isClosed(k.done) })
}

// gave reports whether a tab has given an answer to a request of that name.
func (h *harness) gave(name string) bool {
	for _, t := range h.tabs {
		if slices.ContainsFunc(t.given(), func(o outcome) bool { return o.name == name }) {
			return true
		}
	}
	return false
}

// permutations are orders of n: all of them in a full run, else a few.
func (h *harness) permutations(n int) (all [][]int) {
	var grow func(order []int)
	grow = func(order []int) {
		if len(order) == n {
			all = append(all, slices.Clone(order))
		}
		for i := range n {
			if !slices.Contains(order, i) {
				grow(append(order, i))
			}
		}
	}
	grow(nil)
	if os.Getenv("SAYSO_MATRIX") == "full" && h.orders == "" {
		return all
	}
	return [][]int{all[len(all)-1], all[len(all)/2]}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await waits until what is true.
func (h *harness) await(ctx context.Context, what string, is func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), what)
		case <-tick.C:
		}
	}
	return nil
}

// visible waits until both tabs show a request of that name.
func (h *harness) visible(ctx context.Context, c *conversation, name string) error {
	return h.await(ctx, name+" is shown in both tabs", func() bool {
		for _, t := range h.tabs {
			if !shows(t, c.id, name) {
				return false
			}
		}
		return true
	})
}

// shows reports whether a tab that is connected shows a request of that name.
func shows(t *tab, sessionID, name string) bool {
	t.mu.Lock()
	connected := t.conn != nil
	t.mu.Unlock()
	return connected && lists(t, sessionID, name)
}

// lists is shows, connected or not.
func lists(t *tab, sessionID, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.states[sessionID].PendingRequests {
		if r.name() == name {
			return true
		}
	}
	return false
}

func (h *harness) hold(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range names {
		h.held[n] = true
	}
}

func (h *harness) release(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range names {
		delete(h.held, n)
	}
}

// crash kills the server and waits until the next one has greeted both tabs.
// meanwhile is done while no server runs; it may be nil.
func (h *harness) crash(ctx context.Context, meanwhile func() error) error {
	return h.replace(ctx, (*blackbox.Server).Kill, meanwhile)
}

// bow is crash with a server that is asked to go. It must go, and say so, unless a
// point kills it meanwhile.
func (h *harness) bow(ctx context.Context) error {
	stop := func(s *blackbox.Server) error {
		if err := s.Stop(); err != nil && !strings.Contains(h.orders, ":kill") {
			return err
		}
		return nil
	}
	if err := h.replace(ctx, stop, nil); err != nil {
		return err
	}
	for _, t := range h.tabs {
		t.mu.Lock()
		said := slices.Contains(t.closes, websocket.StatusGoingAway)
		t.mu.Unlock()
		if !said {
			return fmt.Errorf("tab %s was not told that the server goes", t.label)
		}
	}
	return nil
}

// replace has the server end and waits until the next one has greeted both tabs.
func (h *harness) replace(ctx context.Context, end func(*blackbox.Server) error, meanwhile func() error) error {
	var s *blackbox.Server
	if err := h.await(ctx, "a server runs", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		s = h.server
		return s != nil
	}); err != nil {
		return err
	}
	var before []int
	for _, t := range h.tabs {
		t.mu.Lock()
		before = append(before, t.greeted)
		t.mu.Unlock()
	}
	h.mu.Lock()
	h.meanwhile = meanwhile
	h.mu.Unlock()
	if err := end(s); err != nil {
		return err
	}
	return h.await(ctx, "the tabs are connected again", func() bool {
		for i, t := range h.tabs {
			t.mu.Lock()
			is := t.conn != nil && t.greeted > before[i]
			t.mu.Unlock()
			if !is {
				return false
			}
		}
		return true
	})
}

// standing is how far a session has come, as its CLIs remember it.
type standing struct {
	turns int            // that are over, one way or the other
	told  int            // messages that the present conversation knows
	done  map[string]int // by name: answered, or withdrawn by the CLI
	// void is by name: nobody waits for these any more. Their turn was cut off and
	// another message came, or the CLI had lost its input.
	void map[string]int
}

func (h *harness) standing(c *conversation) standing {
	s := standing{done: map[string]int{}, void: map[string]int{}}
	byID := map[string]string{}
	var left []string // of the present turn
	going, deaf := false, false
	end := func(void bool) {
		if going {
			s.turns++
		}
		for _, name := range left {
			if void {
				s.void[name]++
			}
		}
		left, going = nil, false
	}
	for _, m := range h.memory(c.id) {
		switch m.Kind {
		case "start":
			deaf = false
		case "eof":
			deaf = true
		case "user":
			end(true)
			s.told++
			going = true
			steps, err := stepsOf(m.Line)
			if err != nil {
				h.blame("%v", err)
			}
			left = namesOf(steps)
		case "forgot":
			s.told, left, going = 0, nil, false
		case "result":
			end(deaf)
		case "asked":
			byID[m.RequestID] = m.Name
		case "heard", "cancelled":
			if name := byID[m.RequestID]; m.Known || m.Kind == "cancelled" {
				s.done[name]++
				if i := slices.Index(left, name); i >= 0 {
					left = slices.Delete(left, i, i+1)
				}
			}
		}
	}
	return s
}

// complete reports whether a session has nothing more to do.
func (h *harness) complete(c *conversation) bool {
	h.mu.Lock()
	names, turns := append([]string(nil), c.names...), c.turns
	h.mu.Unlock()
	s := h.standing(c)
	for _, name := range names {
		if first(name) == "drop" {
			continue
		}
		if s.done[name]+s.void[name] <= 0 {
			return false
		}
		if s.done[name] > 0 {
			s.done[name]--
		} else {
			s.void[name]--
		}
	}
	return s.told >= turns && s.turns >= turns
}

// settled reports whether every tab shows a session as waiting for a person's
// words. A dead one takes them, too.
func (h *harness) settled(c *conversation) bool {
	for _, t := range h.tabs {
		f := t.stateOf(c.id)
		if f.State != "user_turn" && f.State != "dead" || len(f.PendingRequests) > 0 || f.QueuedMessages > 0 {
			return false
		}
	}
	return true
}

// finish waits until every session has done all it was told, then says one
// thing more to each: it must still be usable.
func (h *harness) finish(ctx context.Context) error {
	h.mu.Lock()
	sessions := h.sessions
	h.mu.Unlock()
	for _, c := range sessions {
		if err := h.await(ctx, "the session has done what it was told", func() bool { return h.complete(c) }); err != nil {
			return fmt.Errorf("%w; %s", err, h.describe(c))
		}
		if err := h.await(ctx, "the session waits for words", func() bool { return h.settled(c) }); err != nil {
			return fmt.Errorf("%w; %s", err, h.describe(c))
		}
	}
	for _, c := range sessions {
		h.tell(ctx, c, say("I am still here."))
	}
	for _, c := range sessions {
		if err := h.await(ctx, "the session is usable", func() bool { return h.complete(c) && h.settled(c) }); err != nil {
			return fmt.Errorf("%w; %s", err, h.describe(c))
		}
	}
	if err := h.await(ctx, "every command is acked", func() bool {
		for _, t := range h.tabs {
			for _, o := range t.given() {
				if o.result == "" {
					return false
				}
			}
		}
		return true
	}); err != nil {
		return err
	}
	// What is under way to a CLI that waits no longer may come a little later; that
	// it never comes is for verify to say.
	const patience = 3 * time.Second
	under, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = h.await(under, "no answer is under way", func() bool {
		rows, err := h.rows(ctx)
		return err == nil && !slices.ContainsFunc(rows, func(r row) bool { return r.final() && r.delivery == "queued" })
	})
	return nil
}

// describe says how a session stands.
func (h *harness) describe(c *conversation) string {
	var b strings.Builder
	for _, t := range h.tabs {
		f := t.stateOf(c.id)
		fmt.Fprintf(&b, "tab %s: %s, %d queued, error %s", t.label, f.State, f.QueuedMessages, f.Error)
		if f.KillReason != nil {
			fmt.Fprintf(&b, ", ended: %s", *f.KillReason)
		}
		for _, r := range f.PendingRequests {
			fmt.Fprintf(&b, ", asks %q (%s)", r.name(), r.Status)
		}
		b.WriteString("\n")
	}
	for _, m := range h.memory(c.id) {
		if m.Kind == "read" {
			continue
		}
		line := string(m.Line)
		fmt.Fprintf(&b, "  %d %s %s %s %t %.300s\n", m.PID, m.Kind, m.RequestID, m.Name, m.Known, line)
	}
	return b.String()
}

// close ends everything and what it left behind.
func (h *harness) close() error {
	h.cancel()
	h.work.Wait()
	quiet := h.config
	quiet.Environ = nil // what is to happen has happened
	return quiet.KillAll()
}

func (h *harness) log() string {
	text, _ := os.ReadFile(filepath.Join(h.folder, "log")) // none is told as none
	return string(text)
}

// fired lists what the points did.
func (h *harness) fired() []string {
	text, _ := os.ReadFile(filepath.Join(h.points, "fired")) // none: nothing
	return strings.Fields(strings.ReplaceAll(string(text), " ", "_"))
}

// hits is how often a point was passed.
func (h *harness) hits(name string) int64 {
	info, err := os.Stat(filepath.Join(h.points, name))
	if err != nil {
		return 0
	}
	return info.Size()
}
