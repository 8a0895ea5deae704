package decision_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// memory holds what the rules read.
type memory struct {
	sessions map[string]session.Session
	requests map[string]pending.Request
	projects []project.Project
	users    []account.User
	ended    []string            // credentials
	makers   map[string][]string // of credentials, by user
	fault    error
}

func (m *memory) Session(_ context.Context, id string) (session.Session, error) {
	if s, ok := m.sessions[id]; ok {
		return s, m.fault
	}
	return session.Session{}, session.ErrNotFound
}

func (m *memory) Request(_ context.Context, id string) (pending.Request, error) {
	if r, ok := m.requests[id]; ok {
		return r, nil
	}
	return pending.Request{}, pending.ErrNotFound
}

func (m *memory) Projects(context.Context) ([]project.Project, error) { return m.projects, nil }
func (m *memory) Users(context.Context) ([]account.User, error)       { return m.users, nil }

func (m *memory) User(_ context.Context, id string) (account.User, error) {
	for _, u := range m.users {
		if u.UserID == id {
			return u, m.fault
		}
	}
	return account.User{}, account.ErrNotFound
}

func (m *memory) CredentialIsLive(_ context.Context, id string) (bool, error) {
	return !slices.Contains(m.ended, id), nil
}

func (m *memory) CredentialMakers(_ context.Context, userID string) ([]string, error) {
	return m.makers[userID], nil
}

func (m *memory) rules() *decision.Rules {
	return decision.New(access.NewGuard(m, m, nil), m)
}

func newMemory() *memory {
	member := func(id string) account.User { return account.User{UserID: id, Name: id, Role: account.Member} }
	return &memory{
		sessions: map[string]session.Session{
			"open": {SessionID: "open", CWD: "/w/open"}, "other": {SessionID: "other", CWD: "/w/other"}, "ours": {SessionID: "ours", CWD: "/w/ours", InProject: "p"},
		},
		requests: map[string]pending.Request{},
		users:    []account.User{member("ana"), member("ben"), {UserID: "eva", Name: "eva", Role: account.Viewer}},
		projects: []project.Project{{
			ProjectID: "p", Name: "p", Folders: []string{"/w/ours"}, Answer: project.Whom{Role: account.Member},
			Members: []project.Member{{UserID: "ana", Role: account.Member}},
			Rules:   []project.Rule{{Tool: "Bash", Effect: project.TwoPeople}},
		}},
		makers: map[string][]string{},
	}
}

func bash(id, sessionID, command string) pending.Request {
	input, _ := json.Marshal(map[string]string{"command": command}) // of strings alone
	return pending.Request{
		RequestID: id, SessionID: sessionID, RequestType: pending.ToolApproval, Source: pending.SourceClaude,
		ToolName: "Bash", ToolInput: input, InputHash: pending.HashInput(input),
	}
}

func identity(u account.User) account.Identity { return account.Identity{User: u} }

func TestHeldAnswers(t *testing.T) {
	t.Parallel()
	fault := errors.New("the database is away")
	for name, c := range map[string]struct {
		session string
		giver   string
		change  func(*memory)
		want    decision.HeldOutcome
		err     error
	}{
		"counts":           {session: "open", giver: "ana", want: decision.HeldCounts},
		"deleted":          {session: "open", giver: "zoe", want: decision.HeldAuthorGone},
		"disabled":         {session: "open", giver: "ana", change: func(m *memory) { m.users[0].Disabled = true }, want: decision.HeldAuthorGone},
		"credential ended": {session: "open", giver: "ana", change: func(m *memory) { m.ended = []string{"key"} }, want: decision.HeldCredentialEnded},
		"viewer":           {session: "open", giver: "eva", want: decision.HeldRoleLost},
		"no member":        {session: "ours", giver: "ben", want: decision.HeldRightLost},
		"two people":       {session: "ours", giver: "ana", want: decision.HeldNeedsSecondApproval},
		"unknown":          {session: "open", giver: "ana", change: func(m *memory) { m.fault = fault }, err: fault},
		"session deleted":  {session: "gone", giver: "ana", err: session.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			if c.change != nil {
				c.change(m)
			}
			row := bash("r", c.session, "make")
			row.Held = &pending.Held{Actor: pending.Actor{UserID: c.giver}, CredentialID: "key", Answer: pending.Answer{Decision: pending.Allow}}
			got, err := m.rules().Held(t.Context(), row)
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %v (%q), %v; want %v, %v", got, got.Reason(), err, c.want, c.err)
			}
			if (got.Reason() == "") != (got == decision.HeldCounts) {
				t.Errorf("the reason of %v is %q", got, got.Reason())
			}
		})
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	m := newMemory()
	for _, r := range []pending.Request{bash("ls", "open", "ls"), bash("pwd", "open", "pwd"), bash("rm", "open", "rm -rf /"), bash("hidden", "ours", "ls")} {
		m.requests[r.RequestID] = r
	}
	read := bash("read", "open", "")
	read.ToolName = "Read"
	m.requests["read"] = read
	for _, id := range []string{"make", "build"} {
		m.requests[id] = bash(id, "open", "make "+id)
	}
	m.requests["elsewhere"] = bash("elsewhere", "other", "make")
	alone := bash("alone", "open", "ls")
	alone.Policy = &pending.Policy{RequiresUserInteraction: true}
	many := make([]string, decision.MaxGroup+1)
	for i := range many {
		many[i] = "ls" + string(rune('a'+i))
	}
	plain := decision.Batch{Decision: pending.Allow}
	together := func(ids ...string) decision.Batch {
		return decision.Batch{Decision: pending.Allow, Together: ids}
	}
	for name, c := range map[string]struct {
		row   pending.Request
		batch decision.Batch
		want  error
	}{
		"one":                {m.requests["ls"], plain, nil},
		"two":                {m.requests["ls"], together("ls", "pwd"), nil},
		"one that is gone":   {m.requests["ls"], together("ls", "gone"), nil},
		"one that is hidden": {m.requests["ls"], together("ls", "hidden"), nil},
		"a denial":           {m.requests["ls"], decision.Batch{Decision: pending.Deny}, decision.ErrBatchPlain},
		"another input":      {m.requests["ls"], decision.Batch{Decision: pending.Allow, Changed: true}, decision.ErrBatchPlain},
		"a question":         {pending.Request{RequestType: pending.AskUserQuestion}, plain, decision.ErrBatchPlain},
		"demanded alone":     {alone, plain, decision.ErrBatchAlone},
		"risky":              {m.requests["rm"], plain, decision.ErrBatchRisk},
		"another tool":       {m.requests["ls"], together("ls", "read"), decision.ErrBatchMixed},
		"named twice":        {m.requests["ls"], together("ls", "ls"), decision.ErrBatchMixed},
		"not this one":       {m.requests["ls"], together("pwd"), decision.ErrBatchMixed},
		"too many":           {m.requests["ls"], together(many...), decision.ErrBatchMixed},
		"medium alone":       {m.requests["make"], plain, decision.ErrBatchRisk},
		"a group":            {m.requests["make"], together("make", "build"), nil},
		"a risky group":      {m.requests["rm"], together("rm", "make"), decision.ErrBatchRisk},
		"two sessions":       {m.requests["make"], together("make", "elsewhere"), decision.ErrBatchRisk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := m.rules().MayBatch(t.Context(), identity(m.users[1]), c.batch, c.row, m.sessions["open"]); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestSecondApprovals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		makers map[string][]string
		who    account.Credential
		want   decision.Link
	}{
		"independent":       {},
		"first made yours":  {makers: map[string][]string{"ben": {"ana"}}, want: decision.LinkMadeYours},
		"you made theirs":   {makers: map[string][]string{"ana": {"ben"}}, want: decision.LinkMadeTheirs},
		"a third made both": {makers: map[string][]string{"ana": {"eva"}}, who: account.Credential{Kind: account.APIToken, CreatedBy: "eva"}, want: decision.LinkMadeBoth},
		"in a browser":      {makers: map[string][]string{"ana": {"eva"}}, who: account.Credential{Kind: account.Cookie, CreatedBy: "eva"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			m.makers = c.makers
			err := m.rules().SecondApproval(account.Identity{User: m.users[1], Credential: c.who}).MayJoin(t.Context(), pending.Approval{Actor: pending.Actor{UserID: "ana", Name: "Ana"}})
			var got *decision.DependentError
			if errors.As(err, &got) != (c.want != 0) || got != nil && (got.Link != c.want || got.First != "Ana") {
				t.Errorf("got %v, want link %v", err, c.want)
			}
		})
	}
}

func TestFirstApprovalsThatNoLongerCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first  string
		change func(*memory)
		want   string
	}{
		"counts":           {first: "ana"},
		"deleted":          {first: "zoe", want: "zoe"},
		"disabled":         {first: "ana", change: func(m *memory) { m.users[0].Disabled = true }, want: "ana"},
		"credential ended": {first: "ana", change: func(m *memory) { m.ended = []string{"key"} }, want: "ana"},
		"no member":        {first: "ben", want: "ben"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			if c.change != nil {
				c.change(m)
			}
			guard := access.NewGuard(m, m, nil)
			book, err := guard.Book(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			row := bash("r", "ours", "make")
			row.Approval = &pending.Approval{Actor: pending.Actor{UserID: c.first}, CredentialID: "key"}
			admin := project.Person{UserID: "root", Role: account.Admin}
			got, err := m.rules().MayAnswer(t.Context(), book, admin, pending.Answer{Decision: pending.Allow}, row, m.sessions["ours"])
			if err != nil || !got.RequireSecondApproval || got.InvalidatedApproverID != c.want {
				t.Errorf("got %+v, %v; want %q", got, err, c.want)
			}
		})
	}
}
