// Command fanouthub runs the hub of package wsapi alone for cmd/bench: on real sockets, but without
// a store or Claude.
//
// It prints its address. Then it reads lines "COUNT TIME" until its input ends and, for each,
// changes COUNT sessions, whose states contain TIME.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wsapi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fanouthub:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &states{all: map[string]session.ProcessState{}}
	log := slog.New(slog.DiscardHandler)
	guard := access.NewGuard(s, people{}, nil)
	rules := decision.New(guard, people{})
	refusals := &refusal.Table{}
	commands, err := command.New(command.Options{
		Guard: guard, Rules: rules, Store: struct{ command.Store }{}, Requests: struct{ command.Requests }{},
		Driver: struct{ command.Driver }{}, Refusals: refusals, Log: log,
	})
	if err != nil {
		return err
	}
	hub, err := wsapi.New(wsapi.Options{
		Store: s, Processes: s, People: people{}, Guard: guard, Rules: rules, Commands: commands, Refusals: refusals,
		Alerts:  new(alert.Alerter), // no tab shows anything
		Version: "bench", NodeID: "bench", Log: log,
	})
	if err != nil {
		return err
	}
	go hub.Run(ctx) // ends with the program
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	who := account.Identity{User: account.User{UserID: "user", Name: "user", Role: account.Viewer}}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // ends with the program
		if err := hub.ServeTab(w, r, who); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
	fmt.Println(l.Addr())
	in := bufio.NewReader(os.Stdin)
	for {
		var count int
		var written int64
		if _, err := fmt.Fscanln(in, &count, &written); err != nil {
			return nil // the input ended
		}
		for i := range count {
			hub.Touch(s.change(i, written))
		}
	}
}

// states is the store of the hub.
type states struct {
	access.Store
	mu  sync.Mutex
	all map[string]session.ProcessState
}

// change gives a session a new version and returns its id. Its frame is as long as a message of
// the anchors.
func (s *states) change(number int, written int64) string {
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", number)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[id]
	p.SessionID, p.State, p.Version = id, session.AssistantTurn, p.Version+1
	p.Title = strings.Repeat("x", 400)
	p.CWD = fmt.Sprintf(`/"written_at":%d`, written)
	s.all[id] = p
	return id
}

func (s *states) ProcessState(_ context.Context, sessionID string) (session.ProcessState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[sessionID], nil
}

func (s *states) ActiveProcesses(context.Context) ([]session.ProcessState, error) { return nil, nil }
func (s *states) Drafts(context.Context, string) ([]account.Draft, error)         { return nil, nil }
func (s *states) Bookmarks(context.Context, string) ([]account.Bookmark, error)   { return nil, nil }
func (s *states) Projects(context.Context) ([]project.Project, error)             { return nil, nil }
func (s *states) Ping(context.Context) error                                      { return nil }
func (s *states) Live(string) (session.Live, bool)                                { return session.Live{}, false }
func (s *states) Transcript(context.Context, string, int64, int) (session.Page, error) {
	return session.Page{}, nil
}

// people has one user.
type people struct{ decision.Directory }

func (people) Users(context.Context) ([]account.User, error) { return nil, nil }
func (people) OnChange(func())                               {}
func (people) Renew(_ context.Context, who account.Identity) (account.Identity, error) {
	return who, nil
}
