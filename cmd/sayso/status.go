package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/visible"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// statusFlags are the flags of sayso status.
type statusFlags struct{ remoteFlags }

// serverStatus is what sayso status prints with --json.
type serverStatus struct {
	Server       string                `json:"server"`
	Version      string                `json:"version,omitempty"` // only for admins
	Ready        bool                  `json:"ready"`
	Problem      string                `json:"problem,omitempty"` // why it is not ready
	User         string                `json:"user"`
	Role         string                `json:"role"`
	Claude       wire.ClaudeInfo       `json:"claude"`
	Sessions     map[session.State]int `json:"sessions"` // null for all but admins
	Memory       uint64                `json:"memory"`   // bytes
	OpenRequests int                   `json:"open_requests"`
	OldestAt     float64               `json:"oldest_request_at,omitempty"`
}

// status shows the running server.
func status(ctx context.Context, args []string, std streams) error {
	var f statusFlags
	rest, err := parseFlags(newFlags("status", f.define), args)
	if err == nil {
		err = noArguments(rest)
	}
	if err != nil {
		return err
	}
	r, err := f.connect()
	if err != nil {
		return err
	}
	defer r.Close()
	s, err := readStatus(ctx, r)
	if err != nil {
		return err
	}
	if f.json {
		err = printJSON(std.out, s)
	} else {
		s.print(newScreen(std.out, os.Getenv), time.Now())
	}
	if err == nil && !s.Ready {
		err = exitError{code: 1}
	}
	return err
}

func readStatus(ctx context.Context, r *remote) (serverStatus, error) {
	s := serverStatus{Server: r.name, Ready: true}
	me, err := get[wire.Me](ctx, r, "/api/me")
	if err != nil {
		return s, err
	}
	s.User, s.Role = me.User.Name, string(me.User.Role)
	if err := r.do(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		s.Ready, s.Problem = false, err.Error()
	}
	environment, err := get[wire.Environment](ctx, r, "/api/environment")
	if err != nil {
		return s, err
	}
	s.Claude = environment.Claude
	requests, err := get[wire.PendingList](ctx, r, "/api/pending")
	if err != nil {
		return s, err
	}
	if s.OpenRequests = len(requests.PendingRequests); s.OpenRequests > 0 {
		s.OldestAt = requests.PendingRequests[0].CreatedAt
	}
	processes, err := get[wire.ProcessList](ctx, r, "/api/processes")
	if isStatus(err, http.StatusForbidden) || isStatus(err, http.StatusNotFound) { // they are for admins
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Sessions = map[session.State]int{}
	for _, p := range processes.Processes {
		s.Sessions[p.State]++
		s.Memory += p.Memory
	}
	settings, err := get[wire.SettingList](ctx, r, "/api/settings")
	for _, one := range settings.Settings {
		if one.Name == "version" {
			s.Version = one.Value
		}
	}
	return s, err
}

// stateNames are the names of states for people.
var stateNames = map[session.State]string{
	session.Starting: "starting", session.AssistantTurn: "working", session.UserTurn: "waiting for a message", session.Dead: "stopped",
}

func (s serverStatus) print(to *screen, now time.Time) {
	row := func(name, value, style string) {
		to.printf("%s %s\n", to.styled(bold, name+strings.Repeat(" ", 12-len(name))), to.styled(style, value))
	}
	row("Server", visible.Line(strings.TrimSpace(s.Server+"  "+s.Version)), "")
	if s.Ready {
		row("State", "ready", "")
	} else {
		row("State", "not ready: "+s.Problem, red)
	}
	row("You", visible.Line(s.User)+", "+s.Role, "")
	if s.Claude.Problem != nil {
		row("Claude Code", visible.Line(*s.Claude.Problem), yellow)
	} else {
		row("Claude Code", visible.Line(s.Claude.Version), "")
	}
	requests := count(s.OpenRequests, "request needs", "requests need") + " your attention"
	if s.OpenRequests > 0 {
		opened, show := ", the oldest opened ", "Show them"
		if s.OpenRequests == 1 {
			opened, show = ", opened ", "Show it"
		}
		row("Requests", requests+opened+ago(s.OldestAt, now)+". "+show+": sayso pending", yellow)
	} else {
		row("Requests", "none", "")
	}
	if s.Sessions != nil {
		var parts []string
		for _, state := range []session.State{session.AssistantTurn, session.UserTurn, session.Starting, session.Dead} {
			if n := s.Sessions[state]; n > 0 {
				parts = append(parts, count(n, stateNames[state], stateNames[state]))
			}
		}
		if len(parts) == 0 {
			row("Sessions", "none running", "")
			return
		}
		row("Sessions", strings.Join(parts, ", ")+"; "+megabytes(s.Memory)+" memory", "")
	}
}
