package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/visible"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// sessionsFlags are the flags of sayso sessions.
type sessionsFlags struct {
	remoteFlags
	all bool
}

func (f *sessionsFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.all, "all", false, "also list sessions that do not run, with archived ones")
	f.remoteFlags.define(flags)
}

// sessionRow is a session as sayso sessions prints it.
type sessionRow struct {
	wire.Session
	State        session.State `json:"state,omitempty"`
	OpenRequests int           `json:"open_requests"`
	Memory       uint64        `json:"memory,omitempty"`
	Trouble      string        `json:"trouble,omitempty"`
}

// recentSessions is how many sessions are listed without --all.
const recentSessions = 20

// listSessions lists sessions.
func listSessions(ctx context.Context, args []string, std streams) error {
	var f sessionsFlags
	rest, err := parseFlags(newFlags("sessions", f.define), args)
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
	rows, err := readSessions(ctx, r, f.all)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(std.out, map[string]any{"sessions": rows})
	}
	to := newScreen(std.out, os.Getenv)
	if len(rows) == 0 {
		to.printf("No sessions\n")
		return nil
	}
	cells := make([][]string, len(rows))
	now := time.Now()
	for i, row := range rows {
		state := stateNames[row.State]
		switch {
		case row.Trouble != "":
			state = row.Trouble
		case row.OpenRequests > 0:
			state = "needs an answer"
		}
		requests := ""
		if row.OpenRequests > 0 {
			requests = count(row.OpenRequests, "request", "requests")
		}
		cells[i] = []string{shortID(row.SessionID), state, requests, ago(row.UpdatedAt, now), visible.Line(row.Title), visible.Code(strings.ReplaceAll(row.CWD, "\n", "[LF]"))}
	}
	to.table([]string{"ID", "STATE", "REQUESTS", "UPDATED", "TITLE", "FOLDER"}, cells, 4, func(n, column int) string {
		switch {
		case column == 1 && rows[n].Trouble != "":
			return red
		case (column == 1 || column == 2) && rows[n].OpenRequests > 0:
			return yellow
		case column == 0:
			return dim
		}
		return ""
	})
	return nil
}

// readSessions returns sessions: first those with open requests, then those that run, then the others,
// the most recently changed first. Without all, it returns only a few of the others.
func readSessions(ctx context.Context, r *remote, all bool) ([]sessionRow, error) {
	listed, err := storedSessions(ctx, r, all)
	if err != nil {
		return nil, err
	}
	processes, err := get[wire.ProcessList](ctx, r, "/api/processes")
	isAdmin := !isStatus(err, http.StatusForbidden) && !isStatus(err, http.StatusNotFound)
	if err != nil && isAdmin {
		return nil, err
	}
	active := map[string]wire.Process{}
	for _, p := range processes.Processes {
		active[p.SessionID] = p
	}
	rows := make([]sessionRow, 0, len(listed))
	for _, ses := range listed {
		row := sessionRow{Session: ses, State: session.Dead}
		if p, ok := active[ses.SessionID]; ok {
			row.State, row.OpenRequests, row.Memory = p.State, p.OpenRequests, p.Memory
			if p.Trouble != nil {
				row.Trouble = string(p.Trouble.Kind)
			}
			delete(active, ses.SessionID)
		} else if !isAdmin {
			whole, err := get[wire.Session](ctx, r, "/api/sessions/"+ses.SessionID)
			if err != nil {
				return nil, err
			}
			if p := whole.ProcessState; p != nil {
				row.State, row.OpenRequests, row.Memory = p.State, len(p.PendingRequests), p.Memory
			}
		}
		rows = append(rows, row)
	}
	for id, p := range active { // run, but are archived or older than those listed
		rows = append(rows, sessionRow{Session: wire.Session{SessionID: id, Title: p.Title, UpdatedAt: p.StartedAt}, State: p.State, OpenRequests: p.OpenRequests, Memory: p.Memory})
	}
	rank := func(row sessionRow) int {
		switch {
		case row.OpenRequests > 0:
			return 0
		case row.State != session.Dead:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(rows, func(a, b sessionRow) int { return rank(a) - rank(b) })
	return rows, nil
}

// storedSessions lists sessions, newest first: a page or, with all, every session, including archived
// ones.
func storedSessions(ctx context.Context, r *remote, all bool) ([]wire.Session, error) {
	if !all {
		page, err := get[wire.SessionList](ctx, r, "/api/sessions?limit="+strconv.Itoa(recentSessions))
		return page.Sessions, err
	}
	var list []wire.Session
	for _, archived := range []string{"false", "true"} {
		for cursor := ""; ; {
			page, err := get[wire.SessionList](ctx, r, "/api/sessions?limit=200&archived="+archived+"&cursor="+url.QueryEscape(cursor))
			if err != nil {
				return nil, err
			}
			list = append(list, page.Sessions...)
			if page.Next == nil {
				break
			}
			cursor = *page.Next
		}
	}
	slices.SortStableFunc(list, func(a, b wire.Session) int { return strings.Compare(a.SessionID, b.SessionID) })
	list = slices.CompactFunc(list, func(a, b wire.Session) bool { return a.SessionID == b.SessionID })
	slices.SortStableFunc(list, func(a, b wire.Session) int { return cmp.Compare(b.UpdatedAt, a.UpdatedAt) })
	return list, nil
}

// minPrefix is how many characters of an id must be typed.
const minPrefix = 4

// shortID returns the part of an id that tables show. People can type it instead of the id.
func shortID(id string) string { return id[:min(len(id), 8)] }

// findID returns the one of ids that begins with what was typed.
func findID(kind, typed string, ids []string) (string, error) {
	var found []string
	for _, id := range ids {
		if id == typed {
			return id, nil
		}
		if len(typed) >= minPrefix && strings.HasPrefix(id, typed) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", errors.New(count(len(found), kind+" begins", kind+"s begin") + " with " + quote(visible.Line(typed)) + ": " + strings.Join(found, ", "))
	}
	if len(typed) < minPrefix {
		return "", errors.New(quote(visible.Line(typed)) + " is too short. Type at least " + strconv.Itoa(minPrefix) + " characters of the id")
	}
	return "", errors.New("there is no " + kind + " " + quote(visible.Line(typed)))
}

// findSession returns the id of the session that begins with what was typed.
func findSession(ctx context.Context, r *remote, typed string) (string, error) {
	list, err := storedSessions(ctx, r, true)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(list))
	for i, ses := range list {
		ids[i] = ses.SessionID
	}
	return findID("session", typed, ids)
}
