package project_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var users = []account.User{{UserID: "ana", Name: "Ana"}, {UserID: "ben", Name: "Ben"}, {UserID: "cleo", Name: "Cleo"}}

func api(change func(*project.Project)) *project.Book {
	p := project.Project{
		ProjectID: "api", Name: "api-server", Folders: []string{"/src/api"},
		Members: []project.Member{{UserID: "viewer", Role: account.Viewer}, {UserID: "ana", Role: account.Member}, {UserID: "ben", Role: account.Member}, {UserID: "cleo", Role: account.Admin}},
		Start:   project.Whom{Role: account.Member}, Answer: project.Whom{Role: account.Member},
	}
	if change != nil {
		change(&p)
	}
	return project.NewBook([]project.Project{p}, users)
}

// TestWhoMayDoWhat is the whole table: who somebody is on the server, where they
// act, and what they may do there.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	const all = "see tend run start answer end manage"
	rights := func(f func(*project.Project)) func(*project.Project) { return f }
	for name, row := range map[string]struct {
		change func(*project.Project)
		who    project.Person
		in     project.Place
		want   string // "" for hidden
	}{
		"default/viewer":              {nil, project.Person{UserID: "x", Role: account.Viewer}, project.Place{}, "see"},
		"default/member":              {nil, project.Person{UserID: "x", Role: account.Member}, project.Place{}, "see tend run start answer"},
		"default/owner":               {nil, project.Person{UserID: "x", Role: account.Member}, project.Place{OwnerID: "x"}, "see tend run start answer end"},
		"default/admin":               {nil, project.Person{UserID: "x", Role: account.Admin}, project.Place{}, all},
		"default/nobody":              {nil, project.Person{UserID: "x"}, project.Place{}, ""},
		"project/no one":              {nil, project.Person{UserID: "x", Role: account.Member}, project.Place{ProjectID: "api"}, ""},
		"project/viewer":              {nil, project.Person{UserID: "viewer", Role: account.Member}, project.Place{ProjectID: "api"}, "see"},
		"project/member":              {nil, project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api"}, "see tend run start answer"},
		"project/owner":               {nil, project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api", OwnerID: "ana"}, "see tend run start answer end"},
		"project/admin":               {nil, project.Person{UserID: "cleo", Role: account.Member}, project.Place{ProjectID: "api"}, all},
		"project/server":              {nil, project.Person{UserID: "x", Role: account.Admin}, project.Place{ProjectID: "api"}, all},
		"project/scoped":              {nil, project.Person{UserID: "cleo", Role: account.Viewer}, project.Place{ProjectID: "api"}, "see"},
		"project/unknown":             {nil, project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "gone"}, ""},
		"project/unknown to an admin": {nil, project.Person{UserID: "x", Role: account.Admin}, project.Place{ProjectID: "gone"}, all},

		"start/admins":               {rights(func(p *project.Project) { p.Start.Role = account.Admin }), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api"}, "see tend run answer"},
		"start/named":                {rights(func(p *project.Project) { p.Start.People = []string{"ben"} }), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api"}, "see tend run answer"},
		"start/named one":            {rights(func(p *project.Project) { p.Start.People = []string{"ana"} }), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api"}, "see tend run start answer"},
		"answer/named":               {rights(func(p *project.Project) { p.Answer.People = []string{"ben"} }), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api"}, "see tend run start"},
		"answer/named binds admins":  {rights(func(p *project.Project) { p.Answer.People = []string{"ben"} }), project.Person{UserID: "x", Role: account.Admin}, project.Place{ProjectID: "api"}, "see tend run start end manage"},
		"answer/named, but a viewer": {rights(func(p *project.Project) { p.Answer.People = []string{"viewer"} }), project.Person{UserID: "viewer", Role: account.Member}, project.Place{ProjectID: "api"}, "see"},

		"bypass/given":           {rights(func(p *project.Project) { p.Bypass = []string{"ana"} }), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api", Mode: "bypassPermissions"}, "see tend run start answer bypass"},
		"bypass/not to another":  {rights(func(p *project.Project) { p.Bypass = []string{"ana"} }), project.Person{UserID: "ben", Role: account.Member}, project.Place{ProjectID: "api", Mode: "bypassPermissions"}, "see tend start answer"},
		"bypass/not to an admin": {nil, project.Person{UserID: "x", Role: account.Admin}, project.Place{ProjectID: "api", Mode: "bypassPermissions"}, "see tend start answer end manage"},
		"bypass/not by default":  {nil, project.Person{UserID: "x", Role: account.Admin}, project.Place{Mode: "bypassPermissions"}, "see tend start answer end manage"},
		"rules/a mode that spares what they keep": {rights(func(p *project.Project) {
			p.Rules = []project.Rule{{Tool: "Bash", Effect: project.TwoPeople}}
		}), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api", Mode: "acceptEdits"}, "see tend start answer"},
		"rules/tools allowed beforehand": {rights(func(p *project.Project) {
			p.Rules = []project.Rule{{Tool: "mcp__*", Effect: project.Deny}}
		}), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api", Tools: []string{"Read", "mcp__github"}}, "see tend start answer"},
		"rules/others are no matter": {rights(func(p *project.Project) {
			p.Rules = []project.Rule{{Tool: "WebFetch", Effect: project.Deny}}
		}), project.Person{UserID: "ana", Role: account.Member}, project.Place{ProjectID: "api", Mode: "acceptEdits", Tools: []string{"Bash(git *)"}}, "see tend run start answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := api(row.change)
			var got []string
			for _, a := range b.Rights(row.who, row.in) {
				got = append(got, string(a))
			}
			if s := strings.Join(got, " "); s != row.want {
				t.Errorf("got %q, want %q", s, row.want)
			}
			for _, a := range []project.Action{project.See, project.Tend, project.Run, project.Start, project.Answer, project.End, project.Manage, project.Bypass} {
				err := b.May(row.who, a, row.in)
				if (err == nil) != slices.Contains(got, string(a)) {
					t.Errorf("%s: %v, and the list says otherwise", a, err)
				}
				if (row.want == "") != errors.Is(err, project.ErrHidden) {
					t.Errorf("%s: %v", a, err)
				}
			}
		})
	}
}

func call(tool, field, value string) project.Call {
	input, err := json.Marshal(map[string]string{field: value})
	if err != nil {
		panic(err)
	}
	return project.Call{Tool: tool, Input: input, CWD: "/src/api"}
}

// TestRules goes through rules and calls. What eases must fit the whole, what
// hardens a part.
func TestRules(t *testing.T) {
	t.Parallel()
	easy := func(tool, pattern string) project.Rule {
		return project.Rule{Tool: tool, Pattern: pattern, Effect: project.Allow}
	}
	two := func(tool, pattern string) project.Rule {
		return project.Rule{Tool: tool, Pattern: pattern, Effect: project.TwoPeople}
	}
	no := func(tool, pattern string) project.Rule {
		return project.Rule{Tool: tool, Pattern: pattern, Effect: project.Deny}
	}
	for i, row := range []struct {
		rules []project.Rule
		call  project.Call
		want  project.Effect
	}{
		{nil, call("Bash", "command", "ls"), project.Allow},
		{[]project.Rule{two("Bash", "")}, call("Bash", "command", "ls"), project.TwoPeople},
		{[]project.Rule{two("Bash", "")}, call("Write", "file_path", "/src/api/x"), project.Allow},
		{[]project.Rule{two("*", "")}, call("Write", "file_path", "/src/api/x"), project.TwoPeople},
		{[]project.Rule{no("mcp__git*", "")}, call("mcp__github__push", "x", "y"), project.Deny},
		// The first that fits decides.
		{[]project.Rule{easy("Bash", "git status*"), two("Bash", "")}, call("Bash", "command", "git status -s"), project.Allow},
		{[]project.Rule{easy("Bash", "git status*"), two("Bash", "")}, call("Bash", "command", "git push"), project.TwoPeople},
		// Two commands are not the one that is easy.
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git status; rm -rf /"), project.TwoPeople},
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git log | sh"), project.TwoPeople},
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git log $(rm x)"), project.TwoPeople},
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git log `rm x`"), project.TwoPeople},
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git log\nrm x"), project.TwoPeople},
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git log > /etc/x"), project.TwoPeople},
		{[]project.Rule{easy("Bash", "git *"), two("Bash", "")}, call("Bash", "command", "git log & rm x"), project.TwoPeople},
		// A part is enough for what is hard.
		{[]project.Rule{no("Bash", "rm *")}, call("Bash", "command", "ls && rm -rf x"), project.Deny},
		{[]project.Rule{no("Bash", "rm *")}, call("Bash", "command", "(rm -rf x)"), project.Deny},
		{[]project.Rule{no("Bash", "rm *")}, call("Bash", "command", "ls rm"), project.Allow},
		{[]project.Rule{no("Bash", "*prod*")}, call("Bash", "command", "ssh prod1"), project.Deny},
		// Paths as they are, and from the folder of the session.
		{[]project.Rule{two("Edit", "deploy/*")}, call("Edit", "file_path", "/src/api/deploy/x.yaml"), project.TwoPeople},
		{[]project.Rule{two("Edit", "deploy/*")}, call("Edit", "file_path", "deploy/x.yaml"), project.TwoPeople},
		{[]project.Rule{two("Edit", "deploy/*")}, call("Edit", "file_path", "/src/api/docs/../deploy/x.yaml"), project.TwoPeople},
		{[]project.Rule{two("Edit", "/src/api/deploy/*")}, call("Edit", "file_path", "./deploy/x"), project.TwoPeople},
		{[]project.Rule{two("Edit", "deploy/*")}, call("Edit", "file_path", "/src/other/deploy/x"), project.Allow},
		{[]project.Rule{easy("Edit", "docs/*"), no("Edit", "")}, call("Edit", "file_path", "docs/../../../etc/passwd"), project.Deny},
		{[]project.Rule{easy("Edit", "docs/*"), no("Edit", "")}, call("Edit", "file_path", "docs/a.md"), project.Allow},
		{[]project.Rule{two("WebFetch", "https://intern*")}, call("WebFetch", "url", "https://intern.example/x"), project.TwoPeople},
		// What cannot be read is not easy, and is hard.
		{[]project.Rule{easy("Bash", "git *"), no("Bash", "x")}, project.Call{Tool: "Bash", Input: json.RawMessage(`[1]`)}, project.Deny},
		{[]project.Rule{easy("Other", "git *"), two("Other", "*secret*")}, call("Other", "any", "a secret b"), project.TwoPeople},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			b := api(func(p *project.Project) { p.Rules = row.rules })
			if got := b.Approval(t.Context(), project.Place{ProjectID: "api"}, row.call, nil); got.Effect != row.want {
				t.Errorf("%s %s: got %s, want %s", row.call.Tool, row.call.Input, got.Effect, row.want)
			}
			if got := b.Approval(t.Context(), project.Place{}, row.call, nil); !got.Unrestricted() {
				t.Errorf("rules of a project hold outside of it: %+v", got)
			}
		})
	}
}

func TestEditedCallIsCheckedAgainstTheRules(t *testing.T) {
	t.Parallel()
	b := api(func(p *project.Project) {
		p.Rules = []project.Rule{
			{Tool: "Bash", Pattern: "make*", Effect: project.Allow, People: []string{"ana"}},
			{Tool: "Bash", Pattern: "git*", Effect: project.Allow, People: []string{"ana", "ben"}},
			{Tool: "Bash", Pattern: "rm*", Effect: project.Deny},
			{Tool: "Bash", Pattern: "kubectl*", Effect: project.Allow, People: []string{"cleo"}},
		}
	})
	in := project.Place{ProjectID: "api"}
	for edited, want := range map[string]string{"": "Ana and Ben", "make x": "Ana", "rm x": "deny", "ls": "Ana and Ben", "kubectl x": "deny"} {
		var input json.RawMessage
		if edited != "" {
			input = call("Bash", "command", edited).Input
		}
		r := b.Approval(t.Context(), in, call("Bash", "command", "git push"), input)
		got := b.Names(r.People)
		if r.Effect == project.Deny {
			got = "deny"
		}
		if got != want {
			t.Errorf("edited to %q: got %s, want %s", edited, got, want)
		}
	}
	r := b.Approval(t.Context(), in, call("Bash", "command", "git push"), nil)
	err := b.MayApprove(project.Person{UserID: "cleo", Role: account.Admin}, in, r, "Bash")
	if err == nil || err.Error() != "Only Ana and Ben can approve Bash in api-server." {
		t.Errorf("got %v", err)
	}
	if err := b.MayApprove(project.Person{UserID: "ben", Role: account.Member}, in, r, "Bash"); err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := func() project.Project { return project.Project{Name: " api ", Folders: []string{"/src/api/"}} }
	p, err := project.Check(good(), users)
	if err != nil || p.Name != "api" || p.Folders[0] != "/src/api" || p.Start.Role != account.Member || p.Members == nil {
		t.Fatalf("got %+v, %v", p, err)
	}
	for name, row := range map[string]struct {
		change func(*project.Project)
		field  string
	}{
		"no name":           {func(p *project.Project) { p.Name = " " }, "name"},
		"a long name":       {func(p *project.Project) { p.Name = strings.Repeat("x", 101) }, "name"},
		"no folder":         {func(p *project.Project) { p.Folders = nil }, "folders"},
		"a relative folder": {func(p *project.Project) { p.Folders = []string{"src"} }, "folders"},
		"the whole disk":    {func(p *project.Project) { p.Folders = []string{"/x/.."} }, "folders"},
		"a folder twice":    {func(p *project.Project) { p.Folders = []string{"/a", "/a/"} }, "folders"},
		"a stranger":        {func(p *project.Project) { p.Members = []project.Member{{UserID: "x", Role: account.Member}} }, "members"},
		"a member twice": {func(p *project.Project) {
			p.Members = []project.Member{{UserID: "ana", Role: account.Member}, {UserID: "ana", Role: account.Viewer}}
		}, "members"},
		"no role":           {func(p *project.Project) { p.Members = []project.Member{{UserID: "ana"}} }, "members"},
		"viewers who start": {func(p *project.Project) { p.Start.Role = account.Viewer }, "start"},
		"a rule of nothing": {func(p *project.Project) { p.Rules = []project.Rule{{Effect: project.Deny}} }, "rules"},
		"a rule to nothing": {func(p *project.Project) { p.Rules = []project.Rule{{Tool: "Bash"}} }, "rules"},
		"two people, one": {func(p *project.Project) {
			p.Rules = []project.Rule{{Tool: "Bash", Effect: project.TwoPeople, People: []string{"ana"}}}
		}, "rules"},
		"bypass":  {func(p *project.Project) { p.Bypass = []string{"x"} }, "bypass"},
		"a limit": {func(p *project.Project) { p.Limits.Sessions = -1 }, "limits"},
	} {
		p := good()
		row.change(&p)
		var invalid *problem.Error
		if _, err := project.Check(p, users); !errors.As(err, &invalid) || invalid.Field != row.field {
			t.Errorf("%s: got %v, want something about %s", name, err, row.field)
		}
	}
}
