package main_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// insist says a command again until the server has taken it, as tabs do.
func (s *server) insist(path string, body map[string]any, out any) {
	s.h.t.Helper()
	body["command_id"] = uuid.NewString()
	var last error
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := s.Do(s.h.t.Context(), "POST", path, body, out)
		var refused *blackbox.StatusError
		if err == nil {
			return
		}
		if !errors.As(err, &refused) || refused.Status < 500 {
			s.h.t.Fatalf("%v, before it: %v", err, last)
		}
		if last = err; time.Since(began) > waitLimit {
			s.h.t.Fatal(err)
		}
	}
}

// live takes a session from its start over a question and its answer to its end.
func (s *server) live(tab *followed, title string) (sessionID string) {
	s.h.t.Helper()
	var made struct {
		SessionID string `json:"session_id"`
	}
	s.insist("/api/sessions", map[string]any{"cwd": s.h.work, "prompt": "touch a", "title": title}, &made)
	var question string
	eventually(s.h.t, "the tab is asked", func() bool {
		for id := range tab.forms() {
			question = id
		}
		return question != ""
	})
	s.insist("/api/pending/"+question+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow"}, nil)
	eventually(s.h.t, "the session goes on", func() bool { return tab.state(made.SessionID) == "user_turn" })
	s.insist("/api/sessions/"+made.SessionID+"/kill", map[string]any{"force": true}, nil)
	eventually(s.h.t, "the session ends", func() bool { return tab.state(made.SessionID) == "dead" })
	eventually(s.h.t, "the tab shows no form and no notice", func() bool { return len(tab.forms()) == 0 && tab.told() == "none" })
	return made.SessionID
}

// story is what the transcript of a session says: its kinds of items, each with what is
// in it.
func (s *server) story(sessionID string) []string {
	s.h.t.Helper()
	var page struct {
		Items []struct {
			Kind    string `json:"kind"`
			Text    string `json:"text"`
			Outcome string `json:"outcome"`
		} `json:"items"`
	}
	s.do("GET", "/api/sessions/"+sessionID+"/transcript?limit=100", nil, &page)
	var story []string
	for _, it := range page.Items {
		story = append(story, it.Kind+" "+it.Text+it.Outcome)
	}
	return story
}

// faultyWay is one way in which statements fail.
type faultyWay struct {
	postgrestest.Fault
	first int  // without SAYSO_TEST_ALL; 0: every one
	slow  bool // takes seconds each
}

// While a session starts, asks, is answered and ends, one statement of PostgreSQL after
// the other fails, each in its own way. Nothing is lost, nothing happens twice, and the
// server goes on.
func TestEveryStatementFails(t *testing.T) {
	t.Parallel()
	ways := []faultyWay{
		{postgrestest.Fault{Kind: "UPDATE", Contains: "UPDATE processes", Effect: postgrestest.LoseReply}, 0, false},
		{postgrestest.Fault{Kind: "SELECT", Contains: "FROM grants", Effect: postgrestest.Cut}, 0, false},
		{postgrestest.Fault{Kind: "COMMIT", Effect: postgrestest.LoseReply}, 5, false},
		{postgrestest.Fault{Kind: "COMMIT", Effect: postgrestest.Refuse, Code: "58030"}, 2, false}, // it could not write
		{postgrestest.Fault{Kind: "INSERT", Effect: postgrestest.Refuse, Code: "53200"}, 3, false}, // no memory
		{postgrestest.Fault{Kind: "INSERT", Effect: postgrestest.Cut}, 4, false},
		{postgrestest.Fault{Kind: "UPDATE", Effect: postgrestest.Refuse, Code: "57014"}, 5, false}, // it was cancelled
		{postgrestest.Fault{Kind: "UPDATE", Effect: postgrestest.Cut}, 6, false},
		{postgrestest.Fault{Kind: "SELECT", Effect: postgrestest.Refuse, Code: "53300"}, 7, false}, // too many clients
		{postgrestest.Fault{Kind: "SELECT", Effect: postgrestest.Cut}, 9, false},
		// The disk is full, which counts as such for some seconds.
		{postgrestest.Fault{Kind: "INSERT", Effect: postgrestest.Refuse, Code: "53100"}, 9, true},
		// Every call that has no reply waits for some seconds.
		{postgrestest.Fault{Kind: "COMMIT", Effect: postgrestest.StallReply}, 10, true},
		{postgrestest.Fault{Kind: "SELECT", Effect: postgrestest.StallRequest}, 11, true},
	}
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		failStatements(t, ways)
		return
	}
	// Every statement takes long, so servers of their own share the ways.
	const servers = 4
	for n := range servers {
		var some []faultyWay
		for i := n; i < len(ways); i += servers {
			some = append(some, ways[i])
		}
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			failStatements(t, some)
		})
	}
}

// failStatements lets statements of one server fail in some ways, one after the other.
func failStatements(t *testing.T, ways []faultyWay) {
	all := os.Getenv("SAYSO_TEST_ALL") != ""
	const some = 24 // else one in so many statements fails
	db := postgrestest.NewProxy(t, postgrestest.Database(t))
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}, {Cost: 0.25}}})
	s := h.start("--database", db.DSN())
	tab := s.follow()
	first := s.live(tab, "no fault")
	var whole string
	eventually(t, "the last of a session is stored", func() bool {
		whole = fmt.Sprint(s.story(first))
		return strings.Contains(whole, "Ended by admin.")
	})
	lives := 1
	for _, way := range ways {
		first, stride := way.first, some
		switch {
		case !way.slow && all, first == 0:
			first, stride = 1, 1
		case way.slow && !all:
			continue
		}
		failed := 0
		for nth := first; ; nth += stride {
			way.Nth = nth
			began := time.Now()
			db.Fail(way.Fault)
			name := fmt.Sprintf("%s %s %d, effect %d %s", way.Kind, way.Contains, nth, way.Effect, way.Code)
			id := s.live(tab, name)
			lives++
			came := db.Failed()
			asked, heard := len(h.records("asked")), len(h.records("control_response"))
			if asked != lives || heard != lives {
				t.Fatalf("%s: Claude asked %d times and heard %d answers, want %d", name, asked, heard, lives)
			}
			var got string
			eventually(t, "the last of a session is stored", func() bool {
				got = fmt.Sprint(s.story(id))
				return len(got) >= len(whole)
			})
			if got != whole {
				t.Errorf("%s: the transcript is\n%s, want\n%s", name, got, whole)
			}
			eventually(t, "the cost is counted", func() bool { return s.spent() > 0.25*float64(lives)-1e-6 })
			if got := s.spent(); got > 0.25*float64(lives)+1e-6 {
				t.Errorf("%s: %d sessions have cost %g, want 0.25 each", name, lives, got)
			}
			if open := s.openRequests(); len(open) != 0 {
				t.Errorf("%s: open are %v", name, open)
			}
			if !came {
				break // a life has no more of them
			}
			failed++
			if took := time.Since(began); took > 3*time.Second {
				t.Logf("%s: it took %s", name, took.Round(time.Millisecond))
			}
		}
		t.Logf("%s %s, effect %d %s: %d failed", way.Kind, way.Contains, way.Effect, way.Code, failed)
	}
	db.Delay(50 * time.Millisecond)
	s.live(tab, "a slow database")
}
