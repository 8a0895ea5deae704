package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
)

// ErrHidden refuses access to something that a person may not see. The APIs respond as if it did
// not exist.
var ErrHidden = errors.New("not there, or not theirs to see")

// Action is something that a person may do in a project.
type Action string

const (
	See    Action = "see"
	Tend   Action = "tend"   // rename, interrupt, unsend a message
	Run    Action = "run"    // send messages, resume
	Start  Action = "start"  // start a session
	Answer Action = "answer" // answer a question, deny a tool; approving also depends on the rules
	End    Action = "end"    // end or delete a session; depending on the role, only one's own
	Manage Action = "manage" // change members, rights and rules
	Bypass Action = "bypass" // run sessions that bypass approvals
)

// actions lists all actions in the order in which people see them.
var actions = []Action{See, Tend, Run, Start, Answer, End, Manage, Bypass}

// Person is the person who acts. Role is their role on the server.
type Person struct {
	UserID  string
	Role    account.Role
	MaxRole account.Role // bounds the role in every project, for a scoped credential; "" for no bound
}

// Place is the session or project in which a person acts.
type Place struct {
	ProjectID string // "" for the default project
	OwnerID   string // the user who started the session, "" for a project
	// Mode and Tools are the session's permission mode and the tools that Claude may use
	// without asking. To move the session to another project, a person needs the right to
	// grant them there.
	Mode  string
	Tools []string
	// RunnerID is the runner that has the files of the session, "" for a project.
	RunnerID string
}

// Book is an immutable snapshot of all projects.
type Book struct {
	projects []Project
	byID     map[string]Project
	names    map[string]string          // of users, by id
	disks    func(runnerID string) Disk // nil where files cannot be read
}

// NewBook returns a book of projects. people are the users whose names messages need.
func NewBook(projects []Project, people []account.User) *Book {
	b := &Book{projects: projects, byID: map[string]Project{}, names: map[string]string{}}
	for _, p := range projects {
		b.byID[p.ProjectID] = p
	}
	for _, u := range people {
		b.names[u.UserID] = u.Name
	}
	return b
}

// WithDisks returns a copy of the book whose decisions take into account the files of sessions, on
// the disk of their runner.
func (b *Book) WithDisks(of func(runnerID string) Disk) *Book {
	on := *b
	on.disks = of
	return &on
}

// Restricts reports whether the project has a rule that restricts who may approve.
func (b *Book) Restricts(in Place) bool { return anyRestricts(b.byID[in.ProjectID].Rules) }

// Project returns one project.
func (b *Book) Project(projectID string) (Project, bool) {
	p, ok := b.byID[projectID]
	return p, ok
}

// ProjectIDOf returns the id of the project that a folder belongs to, "" for the default
// project.
func (b *Book) ProjectIDOf(folder string) string {
	id, longest := "", -1
	for _, p := range b.projects {
		for _, f := range p.Folders {
			if len(f) > longest && contains(f, folder) {
				id, longest = p.ProjectID, len(f)
			}
		}
	}
	return id
}

// Folders returns the folders of all projects, divided into those that belong to a project for
// which sees is true, and the others.
func (b *Book) Folders(sees func(projectID string) bool) (seen, others []string) {
	for _, p := range b.projects {
		for _, f := range p.Folders {
			if sees(b.ProjectIDOf(f)) {
				seen = append(seen, f)
			} else {
				others = append(others, f)
			}
		}
	}
	return seen, others
}

// Visible lists the projects that a person may see.
func (b *Book) Visible(who Person) (list []Project) {
	for _, p := range b.projects {
		if b.RoleIn(who, p.ProjectID) != "" {
			list = append(list, p)
		}
	}
	return list
}

// Hidden lists the ids of the projects that a person may not see.
func (b *Book) Hidden(who Person) []string {
	hidden := []string{}
	for _, p := range b.projects {
		if b.RoleIn(who, p.ProjectID) == "" {
			hidden = append(hidden, p.ProjectID)
		}
	}
	return hidden
}

// RoleIn returns a person's role in a project, "" for none. Only admins have a role in a
// project that is not in the book.
func (b *Book) RoleIn(who Person, projectID string) account.Role {
	if projectID == "" || who.Role == account.Admin {
		return who.Role
	}
	for _, m := range b.byID[projectID].Members {
		if m.UserID != who.UserID {
			continue
		}
		// A viewer on the server is at most a viewer in a project; a member may be its admin.
		switch {
		case who.Role == account.Viewer || who.MaxRole == account.Viewer:
			return account.Viewer
		case who.MaxRole == account.Member && m.Role == account.Admin:
			return account.Member
		}
		return m.Role
	}
	return ""
}

// May returns nil if a person may perform an action, else [ErrHidden] or a [problem.Error]
// that is [problem.Forbidden].
func (b *Book) May(who Person, action Action, in Place) error {
	role := b.RoleIn(who, in.ProjectID)
	if !role.AtLeast(account.Viewer) {
		return ErrHidden
	}
	p, named := b.byID[in.ProjectID]
	need := func(least account.Role) error {
		switch {
		case role.AtLeast(least):
			return nil
		case named && who.Role.AtLeast(least):
			return problem.New("project_role_needed", "role", least, "project", p.Name)
		}
		return problem.New("role_needed", "role", least)
	}
	switch action {
	case See:
		return nil
	case Tend:
		return need(account.Member)
	case Run:
		if err := need(account.Member); err != nil {
			return err
		}
		return b.MayLoosen(who, in, in.Mode, in.Tools)
	case Start, Answer:
		if err := need(account.Member); err != nil || !named {
			return err
		}
		whom, restricted := p.Start, problem.New("start_restricted", "people", b.NameList(p.Start.People), "project", p.Name)
		if action == Answer {
			whom, restricted = p.Answer, problem.New("answer_restricted", "people", b.NameList(p.Answer.People), "project", p.Name)
		}
		if err := need(whom.Role); err != nil {
			return err
		}
		if len(whom.People) > 0 && !slices.Contains(whom.People, who.UserID) {
			return restricted
		}
		return nil
	case End:
		if err := need(account.Member); err != nil {
			return err
		}
		if in.OwnerID == who.UserID || role == account.Admin {
			return nil
		}
		return problem.New("end_not_allowed")
	case Manage:
		if !named && !who.Role.AtLeast(account.Admin) {
			return problem.New("role_needed", "role", account.Admin)
		}
		return need(account.Admin)
	case Bypass:
		if err := need(account.Member); err != nil {
			return err
		}
		if slices.Contains(p.Bypass, who.UserID) {
			return nil
		}
		if named && len(p.Bypass) > 0 {
			return problem.New("bypass_restricted", "people", b.NameList(p.Bypass), "project", p.Name)
		}
		return problem.New("bypass_not_allowed")
	}
	return ErrHidden
}

// Rights lists all actions that a person may perform in a place.
func (b *Book) Rights(who Person, in Place) []Action {
	rights := []Action{}
	for _, a := range actions {
		if b.May(who, a, in) == nil {
			rights = append(rights, a)
		}
	}
	return rights
}

// Approval returns the ruling on a call. If its input was edited, both versions are checked
// and the stricter ruling counts. If the files of sessions cannot be read at the moment, the
// strictest rule for the tool counts.
func (b *Book) Approval(ctx context.Context, in Place, asked Call, edited json.RawMessage) Ruling {
	p, ok := b.byID[in.ProjectID]
	if !ok {
		return Ruling{Effect: Allow}
	}
	if b.disks != nil {
		disk := b.disks(in.RunnerID)
		home, err := disk.Home(ctx)
		asked.Home = home
		asked.Resolve = func(file string) string {
			if err != nil {
				return ""
			}
			real, err := disk.ResolvePath(ctx, file)
			if err != nil {
				return ""
			}
			return real
		}
	}
	r := p.ruling(asked)
	if len(edited) == 0 {
		return r
	}
	asked.Input = edited
	return stricterRuling(r, p.ruling(asked))
}

// stricterRuling combines two rulings: a person may approve only if both allow it.
func stricterRuling(a, b Ruling) Ruling {
	r := Ruling{Effect: Allow}
	switch {
	case a.Effect == Deny || b.Effect == Deny:
		r.Effect = Deny
	case a.Effect == TwoPeople || b.Effect == TwoPeople:
		r.Effect = TwoPeople
	}
	switch {
	case r.Effect == Deny:
	case len(a.People) == 0:
		r.People = b.People
	case len(b.People) == 0:
		r.People = a.People
	default:
		for _, id := range a.People {
			if slices.Contains(b.People, id) {
				r.People = append(r.People, id)
			}
		}
		if len(r.People) == 0 || len(r.People) == 1 && r.Effect == TwoPeople {
			r = Ruling{Effect: Deny} // nobody, or no second person, is left
		}
	}
	// The ruling is not Unread if the part that could be analyzed leads to the same one.
	says := func(one Ruling) bool { return one.Effect == r.Effect && len(one.People) == len(r.People) }
	r.Unread = a.Unread && b.Unread || a.Unread && !says(b) || b.Unread && !says(a)
	return r
}

// MayApprove returns nil if a person may approve, alone or as one of two.
func (b *Book) MayApprove(who Person, in Place, r Ruling, tool string) error {
	if err := b.May(who, Answer, in); err != nil {
		return err
	}
	name := b.byID[in.ProjectID].Name
	switch {
	case r.Effect == Deny && r.Unread:
		return problem.New("approve_unreadable", "project", name)
	case r.Effect == Deny:
		return problem.New("approve_not_allowed", "project", name)
	case len(r.People) > 0 && !slices.Contains(r.People, who.UserID):
		return problem.New("approve_restricted", "people", b.NameList(r.People), "tool", tool, "project", name)
	}
	return nil
}

// MayLoosen returns nil if a session in a place may start with a permission mode and allowed
// tools. Claude must ask each time for calls that rules reserve for some people, or for two.
func (b *Book) MayLoosen(who Person, in Place, mode string, tools []string) error {
	p, ok := b.byID[in.ProjectID]
	if mode == "bypassPermissions" {
		return b.May(who, Bypass, in)
	}
	if !ok {
		return nil
	}
	tools = modeRules(mode, tools)
	if r, restricted := p.ruleRestrictingAny(tools); restricted {
		return problem.New("rule_restricts", "project", p.Name, "rule", r.callText())
	}
	return nil
}

// Reach is where a grant applies.
type Reach string

const (
	ReachSession Reach = ""       // in the session
	ReachFolder  Reach = "folder" // in every session of the folder, or of the repository around it
	ReachUser    Reach = "user"   // in every folder
)

// MayGrant returns nil if Claude may be granted tools or a permission mode within a reach.
// Claude must ask each time for calls that the rules of any project within it reserve for some
// people, or for two. folder is the session's.
func (b *Book) MayGrant(ctx context.Context, who Person, in Place, reach Reach, folder, mode string, tools []string) error {
	if err := b.MayLoosen(who, in, mode, tools); err != nil || reach == ReachSession {
		return err
	}
	root := folder
	if b.disks != nil {
		var err error
		if root, err = b.disks(in.RunnerID).RepositoryRoot(ctx, folder); err != nil {
			return fmt.Errorf("project: where a grant applies: %w", err)
		}
	}
	for _, p := range b.projects {
		if p.ProjectID == in.ProjectID || reach == ReachFolder && !slices.ContainsFunc(p.Folders, func(f string) bool { return contains(f, root) || contains(root, f) || contains(folder, f) }) {
			continue
		}
		r, restricted := p.ruleRestrictingAny(modeRules(mode, tools))
		switch {
		case !restricted:
		case b.RoleIn(who, p.ProjectID) == "":
			return problem.New("rule_restricts_grant_hidden", "tool", r.Tool)
		default:
			return problem.New("rule_restricts_grant", "project", p.Name, "rule", r.callText())
		}
	}
	return nil
}

// contains reports whether other is folder or below it.
func contains(folder, other string) bool {
	return folder == other || strings.HasPrefix(other, strings.TrimSuffix(folder, "/")+"/")
}

// modeRules returns the permission rules that are equivalent to a mode and allowed tools.
func modeRules(mode string, tools []string) []string {
	switch mode {
	case "acceptEdits":
		// The mode acceptEdits also allows some commands on files.
		return append([]string{"Edit", "Bash"}, tools...)
	case "bypassPermissions", "auto":
		return append([]string{"*"}, tools...)
	}
	return tools
}

// ruleRestrictingAny returns the first rule that restricts one of the tools.
func (p Project) ruleRestrictingAny(tools []string) (Rule, bool) {
	for _, tool := range tools {
		if r, does := p.ruleRestricting(tool); does {
			return r, true
		}
	}
	return Rule{}, false
}

// callText returns the tool and the pattern of a rule.
func (r Rule) callText() string { return strings.TrimSpace(r.Tool + " " + r.Pattern) }

// Names joins the names of people: "Ana and Ben".
func (b *Book) Names(userIDs []string) string {
	list := b.NameList(userIDs)
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// NameList returns the names of people, in the order of their ids.
func (b *Book) NameList(userIDs []string) []string {
	list := []string{}
	for _, id := range userIDs {
		name := b.names[id]
		if name == "" {
			name = "a former user"
		}
		list = append(list, name)
	}
	return list
}
