package storetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

const (
	crashDSN  = "SAYSO_STORETEST_DSN"
	crashStep = "SAYSO_STORETEST_STEP"
	crashID   = "SAYSO_STORETEST_ID"
)

// CrashChild must be called first in TestMain of a package that calls [Crash]. In the program that
// is to crash, it does not return.
func CrashChild() {
	name := os.Getenv(crashStep)
	if name == "" {
		return
	}
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	st, err := store.Open(ctx, os.Getenv(crashDSN))
	fail(err)
	if name == stormStep {
		for i := 0; ; i++ {
			r := bashRequest(os.Getenv(crashID), fmt.Sprint(i))
			_, _, err := st.OpenRequest(ctx, r)
			fail(err)
			fmt.Println("open", r.RequestID)
			if i%2 == 0 {
				_, _, err = st.ResolveRequest(ctx, r.RequestID, approval("c"))
				fail(err)
				fmt.Println("answered", r.RequestID)
			}
		}
	}
	for _, step := range crashSteps {
		if step.name == name {
			fail(step.do(ctx, st, os.Getenv(crashID)))
			die() // before the rest of the step
		}
	}
	fail(fmt.Errorf("no step %q", name))
}

// die ends the program like kill -9.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

const stormStep = "storm"

// crashSteps lists the last steps of programs that crash, and what must be stored afterwards. id
// identifies the session and everything else that the step stores.
var crashSteps = []struct {
	name string
	do   func(ctx context.Context, st store.Store, id string) error
	left func(t *testing.T, ctx context.Context, st store.Store, id string)
}{
	{"request",
		func(ctx context.Context, st store.Store, id string) error {
			r := bashRequest(id, "ls")
			r.RequestID = id
			_, _, err := st.OpenRequest(ctx, r)
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			r, err := st.Request(ctx, id)
			must(t, err)
			equal(t, "status", r.Status, pending.Open)
			equal(t, "version", version(t, st, id), uint64(2))
		}},
	{"answer",
		func(ctx context.Context, st store.Store, id string) error {
			r := bashRequest(id, "ls")
			r.RequestID = id
			if _, _, err := st.OpenRequest(ctx, r); err != nil {
				return err
			}
			_, _, err := st.ResolveRequest(ctx, id, approval("c1"))
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			r, err := st.Request(ctx, id)
			must(t, err)
			res := approval("c1")
			equal(t, "resolution", r.Resolution, &res)
			equal(t, "delivery", r.Delivery, pending.Queued)
			equal(t, "version", version(t, st, id), uint64(3))
		}},
	{"carried",
		func(ctx context.Context, st store.Store, id string) error {
			r := requestOf(id, "one")
			r.RequestID = id
			if _, _, err := st.OpenRequest(ctx, r); err != nil {
				return err
			}
			if _, _, err := st.ResolveRequest(ctx, id, approval("c1")); err != nil {
				return err
			}
			again := requestOf(id, "two")
			again.RequestID = id + "-again"
			_, _, err := st.CarryAnswer(ctx, again, id)
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			old, err := st.Request(ctx, id)
			must(t, err)
			equal(t, "delivery", old.Delivery, pending.Carried)
			list, err := st.UndeliveredRequests(ctx, id)
			must(t, err)
			equal(t, "undelivered", requestIDs(list), []string{id + "-again"})
			equal(t, "carried from", list[0].Resolution.CarriedFrom, id)
			equal(t, "version", version(t, st, id), uint64(4))
		}},
	{"first of two approvals",
		func(ctx context.Context, st store.Store, id string) error {
			r := bashRequest(id, "ls")
			r.RequestID = id
			if _, _, err := st.OpenRequest(ctx, r); err != nil {
				return err
			}
			_, _, err := st.ApproveRequest(ctx, id, firstApproval("ana"))
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			want := firstApproval("ana")
			r, err := st.Request(ctx, id)
			must(t, err)
			equal(t, "status", r.Status, pending.Open)
			equal(t, "approval", r.Approval, &want)
			_, done, err := st.ApproveRequest(ctx, id, firstApproval("ben"))
			must(t, err)
			equal(t, "another first", done, false)
			r, won, err := st.ResolveRequest(ctx, id, secondApproval("ben", "ana"))
			must(t, err)
			equal(t, "completed", []any{won, r.Status, r.ResolvedBy()}, []any{true, pending.Answered, "name of ana and name of ben"})
		}},
	{"held answer",
		func(ctx context.Context, st store.Store, id string) error {
			r := bashRequest(id, "ls")
			r.RequestID = id
			if _, _, err := st.OpenRequest(ctx, r); err != nil {
				return err
			}
			_, _, err := st.HoldRequest(ctx, id, heldAnswerOf("ana"))
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			h := heldAnswerOf("ana")
			r, err := st.Request(ctx, id)
			must(t, err)
			equal(t, "held", r.Held, &h)
			list, err := st.HeldRequests(ctx)
			must(t, err)
			equal(t, "listed", requestIDs(list), []string{id})
			r, won, err := st.ResolveRequest(ctx, id, countHeld(h))
			must(t, err)
			equal(t, "counted", []any{won, r.Status}, []any{true, pending.Answered})
		}},
	{"answer taken back",
		func(ctx context.Context, st store.Store, id string) error {
			r := bashRequest(id, "ls")
			r.RequestID = id
			if _, _, err := st.OpenRequest(ctx, r); err != nil {
				return err
			}
			h := heldAnswerOf("ana")
			if _, _, err := st.HoldRequest(ctx, id, h); err != nil {
				return err
			}
			_, _, err := st.UnholdRequest(ctx, id, h.CommandID, h.Actor, "")
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			h := heldAnswerOf("ana")
			_, won, err := st.ResolveRequest(ctx, id, countHeld(h))
			must(t, err)
			equal(t, "counted", won, false)
			r, done, err := st.HoldRequest(ctx, id, h)
			must(t, err)
			equal(t, "held again", []any{done, r.Status, r.Undone}, []any{false, pending.Open, []string{h.CommandID}})
		}},
	{"progress",
		func(ctx context.Context, st store.Store, id string) error {
			_, err := st.SaveProgress(ctx, id, session.Progress{Items: []session.Item{item("a", "1")},
				Process: &session.ProcessState{State: session.Starting, PID: 7}, Mark: &session.Mark{ProcessID: id, Offset: 9, Memo: []byte("memo")}})
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			m, err := st.Mark(ctx, id)
			must(t, err)
			equal(t, "mark", m, session.Mark{ProcessID: id, Offset: 9, Memo: []byte("memo")})
			page, err := st.Transcript(ctx, id, 0, 10)
			must(t, err)
			equal(t, "total", page.Total, int64(1))
			p, err := st.ProcessState(ctx, id)
			must(t, err)
			equal(t, "pid", p.PID, 7)
		}},
	{"process",
		func(ctx context.Context, st store.Store, id string) error {
			_, err := st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.Starting, PID: 7})
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			p, err := st.ProcessState(ctx, id)
			must(t, err)
			equal(t, "pid", p.PID, 7)
		}},
	{"items",
		func(ctx context.Context, st store.Store, id string) error {
			return st.PutItems(ctx, id, []session.Item{item("a", "1"), item("b", "2")})
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			page, err := st.Transcript(ctx, id, 0, 10)
			must(t, err)
			equal(t, "total", page.Total, int64(2))
			equal(t, "items", len(page.Items), 2)
		}},
	{"message",
		func(ctx context.Context, st store.Store, id string) error {
			_, err := st.QueueMessage(ctx, message(id, "go", 0))
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			list, err := st.QueuedMessages(ctx, id)
			must(t, err)
			equal(t, "messages", len(list), 1)
		}},
	{"account",
		func(ctx context.Context, st store.Store, id string) error {
			if err := st.PutUser(ctx, account.User{UserID: id, Name: id, Role: account.Admin}); err != nil {
				return err
			}
			_, err := st.SaveCommand(ctx, id, "c1", []byte("ack"), begin)
			return err
		},
		func(t *testing.T, ctx context.Context, st store.Store, id string) {
			u, err := st.User(ctx, id)
			must(t, err)
			equal(t, "role", u.Role, account.Admin)
			ack, err := st.Command(ctx, id, "c1")
			must(t, err)
			equal(t, "ack", string(ack), "ack")
		}},
}

// Crash kills programs that use the database, after a call has returned and at arbitrary moments,
// and checks what is stored afterwards. It runs the test binary itself as these programs: see
// [CrashChild].
func Crash(t *testing.T, dsn string) {
	ctx := context.Background()
	// reopened passes the reopened database to look, and closes it before the next crash.
	reopened := func(t *testing.T, look func(st store.Store)) {
		t.Helper()
		st, err := store.Open(ctx, dsn)
		must(t, err)
		defer func() { must(t, st.Close()) }()
		look(st)
	}
	child := func(step, id string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashDSN+"="+dsn, crashStep+"="+step, crashID+"="+id)
		cmd.Stderr = os.Stderr
		return cmd
	}
	killed := func(t *testing.T, err error) {
		t.Helper()
		if exit, isExit := err.(*exec.ExitError); !isExit || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the program was to be killed, and ended with %v", err)
		}
	}

	for _, step := range crashSteps {
		t.Run(step.name, func(t *testing.T) {
			var id string
			reopened(t, func(st store.Store) { id = newSession(t, st) })
			killed(t, child(step.name, id).Run())
			reopened(t, func(st store.Store) { step.left(t, ctx, st, id) })
		})
	}

	// Everything reported before the kill must be stored, and every write must be complete.
	t.Run(stormStep, func(t *testing.T) {
		for _, lines := range []int{1, 2, 3, 50, 200} {
			id := uuid.NewString()
			reopened(t, func(st store.Store) { must(t, st.CreateSession(ctx, session.Session{SessionID: id, CreatedAt: begin})) })
			cmd := child(stormStep, id)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			told := map[string]pending.Status{}
			scanner := bufio.NewScanner(out)
			for n := 0; scanner.Scan(); n++ {
				if n == lines {
					must(t, cmd.Process.Kill())
				}
				status, request, _ := strings.Cut(scanner.Text(), " ")
				told[request] = pending.Status(status)
			}
			killed(t, cmd.Wait())
			reopened(t, func(st store.Store) {
				changes := uint64(0)
				for request, status := range told {
					r, err := st.Request(ctx, request)
					must(t, err)
					if status == pending.Answered && r.Status != pending.Answered {
						t.Errorf("an answer that was told is lost: %+v", r)
					}
				}
				open, err := st.AnswerableRequests(ctx, id)
				must(t, err)
				answered, err := st.UndeliveredRequests(ctx, id)
				must(t, err)
				changes = uint64(len(open) + 2*len(answered))
				equal(t, "version", version(t, st, id), 1+changes)
				if rows := len(open) + len(answered); rows < len(told) || rows > len(told)+1 {
					t.Errorf("%d requests were told and %d are there", len(told), rows)
				}
			})
		}
	})
}
