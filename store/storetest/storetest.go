// Package storetest is the contract of the store. Its tests check the promises in the comments of
// [pending.Store], [session.Store] and [account.Store], and every engine passes them.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// Exercise tests an engine against the contract. open returns an empty store, and closes it at the
// end of the given test.
func Exercise(t *testing.T, open func(t *testing.T) store.Store) {
	contract := []struct {
		name  string
		tests func(t *testing.T, open func(t *testing.T) store.Store)
	}{
		{"Requests", requests},
		{"Carrying", carrying},
		{"Races", races},
		{"Sessions", sessions},
		{"Processes", processes},
		{"Progress", progress},
		{"Transcript", transcript},
		{"Messages", messages},
		{"Search", search},
		{"Attachments", attachments},
		{"Usage", usage},
		{"Accounts", accounts},
		{"Passkeys", passkeys},
		{"SignIns", signIns},
		{"Links", links},
		{"Personal", personal},
		{"Bookmarks", bookmarks},
		{"Audit", audit},
		{"Grants", grants},
		{"Alerts", alerts},
		{"Trusts", trusts},
		{"Projects", projects},
		{"Limits", limits},
		{"Approvals", approvals},
		{"Holds", holds},
		{"Bytes", exactBytes},
		{"Runners", runners},
		{"Contexts", contexts},
	}
	for _, part := range contract {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.tests(t, open)
		})
	}
}

// suite runs the tests of one part of the contract, each with its own store.
type suite struct {
	t    *testing.T
	open func(t *testing.T) store.Store
}

func (s suite) run(name string, test func(t *testing.T, st store.Store)) {
	s.t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, s.open(t))
	})
}

// begin is a time that every engine stores without rounding.
var begin = time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.UTC)

// after returns the time a number of seconds after begin.
func after(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares two values deeply, and prints both if they differ.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", what, show(got), show(want))
	}
}

func show(v any) string {
	if s := fmt.Sprintf("%+v", v); len(s) < 2000 {
		return s
	}
	return fmt.Sprintf("a %T too long to print", v)
}

// wantError expects an error that wraps want.
func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want %v", what, err, want)
	}
}

// ids returns the ids of a list, to compare its order.
func ids[T any](list []T, id func(T) string) []string {
	names := []string{}
	for _, x := range list {
		names = append(names, id(x))
	}
	return names
}

func requestIDs(list []pending.Request) []string {
	return ids(list, func(r pending.Request) string { return r.RequestID })
}

func sessionIDs(list []session.Session) []string {
	return ids(list, func(s session.Session) string { return s.SessionID })
}

func stateIDs(list []session.ProcessState) []string {
	return ids(list, func(p session.ProcessState) string { return p.SessionID })
}

// newSession stores a session and returns its id.
func newSession(t *testing.T, st store.Store) string {
	t.Helper()
	s := session.Session{SessionID: uuid.NewString(), ProjectID: "project", Title: "Title", CWD: "/work/here",
		PermissionMode: "default", OwnerID: "owner", CreatedAt: begin, UpdatedAt: begin}
	must(t, st.CreateSession(context.Background(), s))
	return s.SessionID
}

// bashRequest returns a request of a session for permission to run a command.
func bashRequest(sessionID, command string) pending.Request {
	input := json.RawMessage(`{"command":` + quote(command) + `}`)
	return pending.Request{
		RequestID: uuid.NewString(), SessionID: sessionID, RequestType: pending.ToolApproval, Source: pending.SourceClaude,
		AskerRequestID: uuid.NewString(), AskerToolUseID: "toolu_1", ToolName: "Bash", ToolInput: input,
		InputHash: pending.HashInput(input), CreatedAt: begin, Status: pending.Open,
	}
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has JSON
	}
	return string(text)
}

// openRequest stores a new request.
func openRequest(t *testing.T, st store.Store, r pending.Request) pending.Request {
	t.Helper()
	stored, isNew, err := st.OpenRequest(context.Background(), r)
	must(t, err)
	if !isNew {
		t.Fatalf("request %s was known already", r.RequestID)
	}
	return stored
}

// approval returns a person's approval.
func approval(command string) pending.Resolution {
	return pending.Resolution{Status: pending.Answered, Answer: &pending.Answer{Decision: pending.Allow},
		Actor: pending.Actor{UserID: "u1", Name: "Ada", Device: "Chrome on Linux"}, At: after(5), CommandID: command}
}

func resolveRequest(t *testing.T, st store.Store, requestID string, res pending.Resolution) pending.Request {
	t.Helper()
	now, won, err := st.ResolveRequest(context.Background(), requestID, res)
	must(t, err)
	if !won {
		t.Fatalf("request %s was %s already", requestID, now.Status)
	}
	return now
}

// version returns the version of a session.
func version(t *testing.T, st store.Store, sessionID string) uint64 {
	t.Helper()
	p, err := st.ProcessState(context.Background(), sessionID)
	must(t, err)
	return p.Version
}

// expectVersionBump expects that a change increments the version of a session, and of no other.
func expectVersionBump(t *testing.T, st store.Store, sessionID string, change func()) {
	t.Helper()
	other := newSession(t, st)
	before := version(t, st, sessionID)
	change()
	if now := version(t, st, sessionID); now <= before {
		t.Fatalf("version went from %d to %d and must grow", before, now)
	}
	equal(t, "version of another session", version(t, st, other), uint64(1))
}

// expectNoVersionBump expects that a call increments no version.
func expectNoVersionBump(t *testing.T, st store.Store, sessionID string, nothing func()) {
	t.Helper()
	before := version(t, st, sessionID)
	nothing()
	equal(t, "version", version(t, st, sessionID), before)
}

// concurrently runs n goroutines that start at the same time, and waits for them.
func concurrently(n int, run func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			run(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}
