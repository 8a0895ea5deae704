package orchestrator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
)

// sparing makes a project in which the person of the bench may have Claude ask
// nobody, and a session in which it does.
func (b *bench) sparing() (project.Project, string) {
	b.t.Helper()
	if err := b.store.PutUser(b.t.Context(), account.User{UserID: b.person.UserID, Name: "Ada", Role: account.Member}); err != nil {
		b.t.Fatal(err)
	}
	p := b.project(project.Limits{}, project.Limits{})
	p = b.spare(p, b.person.UserID)
	id, err := b.Start(b.t.Context(), orchestrator.StartRequest{
		CWD: b.folder, Prompt: "hello", By: b.person, PermissionMode: "bypassPermissions", Permit: func(string, string) error { return nil },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.wait(id, func(s session.ProcessState) bool {
		return s.State == session.UserTurn && s.PermissionMode == "bypassPermissions"
	})
	return p, id
}

// spare gives the right to have Claude ask nobody to these people and no others.
func (b *bench) spare(p project.Project, people ...string) project.Project {
	b.t.Helper()
	p.Bypass, p.Members = people, []project.Member{{UserID: b.person.UserID, Role: account.Member}}
	p, _, err := b.store.ChangeProject(b.t.Context(), p, b.person)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// asks fails unless Claude asks again in the session, and says why.
func (b *bench) asks(id string) {
	b.t.Helper()
	b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && s.PermissionMode == "default" })
	b.until("the session keeps the mode", func() bool {
		s, err := b.store.Session(b.t.Context(), id)
		return err == nil && s.PermissionMode == "default"
	})
	b.until("the transcript says why", func() bool {
		page, err := b.store.Transcript(b.t.Context(), id, 0, 100)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, it := range page.Items {
			if it.Kind == session.ItemNote && strings.Contains(string(it.Body), "no longer has that right") {
				return true
			}
		}
		return false
	})
}

func (b *bench) until(what string, ok func() bool) {
	b.t.Helper()
	for range 1_000 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("never: %s", what)
}

// TestRightToAskNobodyEnds: a process in which Claude asks nobody goes on, and asks,
// as soon as whoever wanted that may no longer.
func TestRightToAskNobodyEnds(t *testing.T) {
	for name, end := range map[string]func(*bench, project.Project){
		"it is taken back":   func(b *bench, p project.Project) { b.spare(p) },
		"another has it now": func(b *bench, p project.Project) { b.spare(p, "u2") },
		"who has it is a viewer now": func(b *bench, _ project.Project) {
			role := account.Viewer
			if _, err := b.store.ChangeUser(b.t.Context(), b.person.UserID, account.UserChange{Role: &role}); err != nil {
				b.t.Fatal(err)
			}
		},
		"who has it is disabled": func(b *bench, _ project.Project) {
			yes := true
			if _, err := b.store.ChangeUser(b.t.Context(), b.person.UserID, account.UserChange{Disabled: &yes}); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, claudetest.Script{}, nil, func(b *bench) {
				p, id := b.sparing()
				time.Sleep(time.Minute)
				if s, err := b.store.ProcessState(b.t.Context(), id); err != nil || s.PermissionMode != "bypassPermissions" {
					b.t.Fatalf("with the right: %q, %v", s.PermissionMode, err)
				}
				end(b, p)
				b.asks(id)
			})
		})
	}
}

// TestClaudeIsToldOnceToAskAgain: it may take longer to take the mode than from one
// look at the rights to the next.
func TestClaudeIsToldOnceToAskAgain(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.launcher.slow = 8 * time.Second
		p, id := b.sparing()
		b.spare(p)
		b.asks(id)
		time.Sleep(time.Minute)
		notes := 0
		for _, it := range b.items(id) {
			if it.Kind == session.ItemNote && strings.Contains(string(it.Body), "no longer has that right") {
				notes++
			}
		}
		told := 0
		for _, r := range b.launcher.records("control_request") {
			if strings.Contains(string(r.Line), `"set_permission_mode"`) {
				told++
			}
		}
		if notes != 1 || told != 1 {
			b.t.Errorf("%d notes, and Claude was told %d times", notes, told)
		}
	})
}

// TestRightEndsForOneWhileAnotherIsSlow: a process that does not take the mode holds
// up no other.
func TestRightEndsForOneWhileAnotherIsSlow(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.launcher.slow = 9 * time.Second
		p, _ := b.sparing()
		b.launcher.slow = 0
		quick, err := b.Start(b.t.Context(), orchestrator.StartRequest{
			CWD: b.folder, Prompt: "hello", By: b.person, PermissionMode: "bypassPermissions", Permit: func(string, string) error { return nil },
		})
		if err != nil {
			b.t.Fatal(err)
		}
		b.wait(quick, in(session.UserTurn))
		b.spare(p)
		began := time.Now()
		b.asks(quick)
		if took := time.Since(began); took > 5*time.Second {
			b.t.Errorf("it was told after %v", took)
		}
	})
}

// TestChosenModeOutlivesItsProcess: what goes on by itself goes on in the mode that
// was chosen last, not in that of the start.
func TestChosenModeOutlivesItsProcess(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.launcher.later = []claudetest.Script{{}}
		_, id := b.sparing()
		if err := b.SetPermissionMode(b.t.Context(), id, "default", b.person); err != nil {
			b.t.Fatal(err)
		}
		b.launcher.mu.Lock()
		last := b.launcher.last
		b.launcher.mu.Unlock()
		// It comes in while the process is on its way out.
		if _, err := b.store.QueueMessage(b.t.Context(), session.Message{MessageID: uuid.NewString(), SessionID: id, Text: "and this", By: b.person, CreatedAt: time.Now()}); err != nil {
			b.t.Fatal(err)
		}
		before := b.wait(id, in(session.UserTurn)).ProcessID
		last.kill()
		s := b.wait(id, func(s session.ProcessState) bool { return s.State == session.UserTurn && s.ProcessID != before })
		if s.PermissionMode != "default" {
			b.t.Errorf("it goes on in %q", s.PermissionMode)
		}
	})
}
