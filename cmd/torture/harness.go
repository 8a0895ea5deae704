package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/cmd/blackbox"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// settings configures a run.
type settings struct {
	self     string   // path of this program
	builds   []string // paths of sayso; each start takes the next
	database string   // postgres for a cluster of this run, "" for the server's default
	seed     uint64
	keep     bool // keeps the folder of a run without faults
	out      io.Writer

	holds                bool // tabs hold answers, and undo some
	sessions, tabs       int
	kills, requests      int
	minUptime, maxUptime time.Duration // from the first response to the kill
	settle               time.Duration // longest time without progress in the drain
	open                 int           // requests of the restore run
	rounds               int           // kills of the restore run
	shimKills            int
	outages              int // of the database, instead of kills
	soakFor              time.Duration
	runners              int           // on other hosts
	servers              int           // that share the database
	faultsFor            time.Duration // how long runners and servers fail
	// slack multiplies the time limits: 1 for the proof, more on a busy machine.
	slack time.Duration
}

// harness starts a server repeatedly in one folder.
type harness struct {
	settings
	folder  string
	options blackbox.Options
	records string // folder
	admin   blackbox.Client
	// postgres is the cluster of this run, nil without one.
	postgres *postgrestest.Instance
	hosts    []*host     // of the runners
	twins    []*twin     // the servers beside the first
	quiet    *quietProxy // between servers and PostgreSQL, nil without runners
	// With runners and PostgreSQL: the line from each server to the database, and the line over which
	// other servers reach each server.
	toDatabase, toServers []*line

	mu      sync.Mutex       // protects following
	server  *blackbox.Server // the goroutine that starts and kills it reads it without mu
	starts  int
	started time.Time // when the present server was started
}

// random returns the random source of one actor. It depends only on the seed, so other actors
// do not change its decisions.
func (s settings) random(actor uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, actor)) }

// openHarness creates the folder and starts the first server. With children, each CLI starts
// processes that outlive it.
func openHarness(ctx context.Context, s settings, children bool) (*harness, error) {
	folder, err := os.MkdirTemp("", "sayso-torture-")
	if err != nil {
		return nil, err
	}
	// The server resolves symlinks of its workspace roots.
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	h := &harness{settings: s, folder: folder}
	h.options.Folder = folder
	if h.options.Address, err = blackbox.FreeAddress(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if h.options.Claude, h.records, err = wrapCLI(s.self, folder, children); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if s.database == "postgres" {
		if h.postgres, err = postgrestest.Start(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
		s.database = h.postgres.DSN()
	}
	if s.database != "" {
		h.options.Settings = []string{"--database", s.database}
	}
	var listening map[string]string
	if h.postgres != nil && s.runners > 0 {
		if listening, err = h.openLines(); err != nil {
			return nil, errors.Join(err, h.closeDatabase(), os.RemoveAll(folder))
		}
		h.options.Settings = h.settingsOf(0)
	}
	h.admin = blackbox.Client{URL: "http://" + h.options.Address, Token: blackbox.Token}
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n(the files are in %s)", err, folder), h.closeDatabase())
	}
	if s.runners == 0 {
		return h, nil
	}
	// The server has created the tables that the trail needs. It must start again, so that the trail
	// notes its lease, and other servers get the address of its line.
	err = errors.Join(h.openTrail(ctx, listening), h.server.Kill())
	if err == nil {
		err = h.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.closeDatabase())
	}
	return h, nil
}

// closeDatabase stops the cluster of this run, if it has one.
func (h *harness) closeDatabase() error {
	if h.postgres == nil {
		return nil
	}
	err := h.postgres.Close()
	for _, l := range append(h.toDatabase, h.toServers...) {
		err = errors.Join(err, l.close())
	}
	if h.quiet != nil {
		err = errors.Join(err, h.quiet.close())
	}
	return err
}

// start starts the server with the next build.
func (h *harness) start(ctx context.Context) error {
	h.mu.Lock()
	h.options.Path = h.builds[h.starts%len(h.builds)]
	h.starts++
	h.started = time.Now()
	h.mu.Unlock()
	server, err := blackbox.Start(ctx, h.options)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.server = server
	h.mu.Unlock()
	return nil
}

func (h *harness) startedAt() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started
}

func (h *harness) startsNow() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.starts
}

// tab returns a tab with its own user, so that the server can name the winner.
func (h *harness) tab(ctx context.Context, index int, o tabOptions) (*tab, error) {
	name := fmt.Sprintf("tab-%d", index+1)
	var made struct {
		Token string `json:"token"`
	}
	if err := h.admin.Do(ctx, http.MethodPost, "/api/tokens", map[string]any{"name": name, "role": "member"}, &made); err != nil {
		return nil, err
	}
	o.index, o.random = index, h.random(100+uint64(index))
	all := h.clients()
	o.client = blackbox.Client{URL: all[index%len(all)].URL, Token: made.Token}
	if o.client.URL != h.admin.URL {
		o.started = nil // known only of the first server
	}
	return newTab(name, o), nil
}

// clients returns a client of the admin for each server.
func (h *harness) clients() []blackbox.Client {
	all := []blackbox.Client{h.admin}
	for _, w := range h.twins {
		all = append(all, w.client)
	}
	return all
}

// persist sends a command to one server after the other until one accepts it. The command keeps its id,
// so that repeating it has no effect. It gets another id when it is refused because a runner cannot be
// reached.
func (h *harness) persist(ctx context.Context, path string, body map[string]any, out any) error {
	body["command_id"] = uuid.NewString()
	all := h.clients()
	for n := 0; ; n++ {
		err := all[n%len(all)].Do(ctx, http.MethodPost, path, body, out)
		var refused *blackbox.StatusError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &refused), refused.Status == http.StatusServiceUnavailable, refused.Status == http.StatusInternalServerError:
		case bytes.Contains(refused.Body, []byte(`"runner_unreachable"`)):
			body["command_id"] = uuid.NewString()
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// session starts a session and returns its id.
func (h *harness) session(ctx context.Context, m message) (string, error) {
	return h.sessionOn(ctx, nil, m)
}

// sessionOn starts a session on a runner, or on that of the server for nil.
func (h *harness) sessionOn(ctx context.Context, on *host, m message) (string, error) {
	var made struct {
		SessionID string `json:"session_id"`
	}
	body := map[string]any{"cwd": h.options.Work(), "prompt": m.Text, "title": m.Title}
	if on != nil {
		body["runner_id"], body["cwd"] = on.id, on.options.Work()
	}
	err := h.persist(ctx, "/api/sessions", body, &made)
	return made.SessionID, err
}

// pending returns the ids of all requests that can be answered.
func (h *harness) pending(ctx context.Context) (map[string]bool, error) {
	var list struct {
		PendingRequests []form `json:"pending_requests"`
	}
	if err := h.admin.Do(ctx, http.MethodGet, "/api/pending", nil, &list); err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, r := range list.PendingRequests {
		ids[r.RequestID] = true
	}
	return ids, nil
}

// transcript reads the transcript of a session. It adds the outcomes of its requests to items,
// by request id, and returns the texts of the CLI.
func (h *harness) transcript(ctx context.Context, sessionID string, items map[string][]row) (texts []string, err error) {
	for after := int64(0); ; {
		var page struct {
			Items []struct {
				Kind      string `json:"kind"`
				Text      string `json:"text"`
				RequestID string `json:"request_id"`
				Outcome   string `json:"outcome"`
				By        string `json:"by"`
			} `json:"items"`
			Next int64 `json:"next"`
			More bool  `json:"more"`
		}
		path := fmt.Sprintf("/api/sessions/%s/transcript?limit=500&after=%d", sessionID, after)
		if err := h.admin.Do(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			switch it.Kind {
			case "text":
				texts = append(texts, it.Text)
			case "resolved":
				items[it.RequestID] = append(items[it.RequestID], row{it.Outcome, it.By})
			}
		}
		if !page.More {
			return texts, nil
		}
		after = page.Next
	}
}

// state describes the state of a session for a message.
func (h *harness) state(ctx context.Context, sessionID string) (string, error) {
	var s struct {
		ProcessState struct {
			State          string  `json:"state"`
			QueuedMessages int     `json:"queued_messages"`
			Stuck          *string `json:"stuck"`
			Error          *string `json:"error"`
			KillReason     *string `json:"kill_reason"`
		} `json:"process_state"`
	}
	err := h.admin.Do(ctx, http.MethodGet, "/api/sessions/"+sessionID, nil, &s)
	text := fmt.Sprintf("%s with %d queued messages", s.ProcessState.State, s.ProcessState.QueuedMessages)
	for _, why := range []*string{s.ProcessState.Stuck, s.ProcessState.Error, s.ProcessState.KillReason} {
		if why != nil {
			text += ": " + *why
		}
	}
	return text, err
}

// verdict asks the server how a request ended, by answering it again. If that answer is
// applied, nobody had answered the request.
func (h *harness) verdict(ctx context.Context, requestID string) (row, error) {
	body := map[string]any{"request_type": "tool_approval", "decision": "deny", "message": "asked afterwards by the torture", "command_id": uuid.NewString()}
	var refused *blackbox.StatusError
	switch err := h.admin.Do(ctx, http.MethodPost, "/api/pending/"+requestID+"/response", body, nil); {
	case err == nil:
		return row{Outcome: "still open"}, nil
	case !errors.As(err, &refused):
		return row{}, err
	}
	var refusal struct {
		Resolved *resolved `json:"resolved"`
	}
	if err := decode(refused.Body, &refusal); err != nil || refusal.Resolved == nil {
		return row{Outcome: refused.Error()}, nil
	}
	return row{refusal.Resolved.Outcome, refusal.Resolved.By}, nil
}

// close ends every session, checks that no process is left, and stops the server. It keeps the
// folder if there are faults.
func (h *harness) close(ctx context.Context, sessions []string, faults []fault) []fault {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if h.server != nil {
		for _, id := range sessions {
			if err := h.persist(ctx, "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil); err != nil {
				faults = append(faults, fault{leftBehind, id, fmt.Sprintf("the session cannot be ended: %v", err)})
			}
		}
	}
	clis, err := readRecords(h.records)
	if err != nil {
		faults = append(faults, fault{otherFaults, h.records, err.Error()})
	}
	var left []process
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left = h.alive(clis)
		if len(left) == 0 || time.Since(began) > 5*time.Second {
			break
		}
	}
	for _, r := range h.hosts {
		if err := r.close(); err != nil {
			faults = append(faults, fault{otherFaults, r.name, err.Error()})
		}
	}
	for _, w := range h.twins {
		if err := w.server.Stop(); err != nil {
			faults = append(faults, fault{otherFaults, w.name, fmt.Sprintf("it did not stop properly: %v", err)})
		}
	}
	if h.server != nil {
		if err := h.server.Stop(); err != nil {
			faults = append(faults, fault{otherFaults, "server", fmt.Sprintf("it did not stop properly: %v", err)})
		}
		if len(left) > 0 {
			// The processes that are left are faults anyway.
			if err := h.server.KillAll(); err != nil {
				faults = append(faults, fault{leftBehind, h.folder, err.Error()})
			}
		}
	}
	if err := h.closeDatabase(); err != nil {
		faults = append(faults, fault{leftBehind, "database", err.Error()})
	}
	for _, p := range left {
		faults = append(faults, fault{leftBehind, fmt.Sprint(p.pid), p.args})
		p.kill()
	}
	switch err := h.remove(len(faults) > 0); {
	case err != nil:
		faults = append(faults, fault{leftBehind, h.folder, err.Error()})
	case len(faults) > 0 || h.keep:
		fmt.Fprintln(h.out, "\neverything is in", h.folder)
	}
	return faults
}

func (h *harness) remove(faulty bool) error {
	if faulty || h.keep {
		return nil
	}
	return os.RemoveAll(h.folder)
}

// header prints the head of a table.
func (s settings) header(names ...string) {
	fmt.Fprintf(s.out, "| %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)-1))
}
