package decision

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Bounds of a bulk approval, in requests: no more than a person reads. Requests of one session
// share their context, so a person can read more of them.
const (
	MaxBatch = 20 // of several sessions
	MaxGroup = 50 // of one session
)

// Reasons why a request cannot be approved together with others.
var (
	// ErrBatchPlain: the answer is not an approval of an unchanged tool call without new
	// permissions.
	ErrBatchPlain = errors.New("not a plain approval of a tool")
	// ErrBatchAlone: the asker requires a separate decision.
	ErrBatchAlone = errors.New("to be decided on its own")
	// ErrBatchRisk: its risk is high, or its risk is medium and the batch is not a group of one
	// session.
	ErrBatchRisk = errors.New("too much risk for a batch")
	// ErrBatchMixed: the batch is too large, contains a request twice, or several tools.
	ErrBatchMixed = errors.New("not one batch")
)

// Link is the reason why two people are not independent of each other.
type Link int

// The links between the two people of a double approval.
const (
	LinkMadeYours  Link = iota + 1 // the first person created a credential of the second
	LinkMadeTheirs                 // the second person created a credential of the first
	LinkMadeBoth                   // a third person created credentials of both
)

// DependentError refuses a second approval, because its author and the first approver are not
// independent.
type DependentError struct {
	Link  Link
	First string // name of the first approver
}

func (e *DependentError) Error() string { return "not independent of " + e.First }

// Directory reads users and credentials.
type Directory interface {
	User(ctx context.Context, userID string) (account.User, error)
	CredentialIsLive(ctx context.Context, credentialID string) (bool, error)
	CredentialMakers(ctx context.Context, userID string) ([]string, error)
}

// Rules decides about answers by the projects, people and credentials at the time of each
// call.
type Rules struct {
	Levels *RiskLevels

	guard     *access.Guard
	directory Directory
}

// New returns the rules of a server.
func New(guard *access.Guard, directory Directory) *Rules {
	return &Rules{Levels: &RiskLevels{}, guard: guard, directory: directory}
}

// Permission is the condition under which an answer is accepted.
type Permission struct {
	// RequireSecondApproval: another person must approve too.
	RequireSecondApproval bool
	// InvalidatedApproverID is the first approver if their approval no longer counts, else
	// "".
	InvalidatedApproverID string
}

// MayAnswer checks an answer against the rights and rules of its session's project. It
// returns [project.ErrHidden] or a [problem.Error] when the person may not give it.
func (r *Rules) MayAnswer(ctx context.Context, book *project.Book, me project.Person, given pending.Answer, row pending.Request, ses session.Session) (Permission, error) {
	in := access.PlaceOf(ses)
	if row.RequestType != pending.ToolApproval || given.Decision != pending.Allow {
		return Permission{}, book.May(me, project.Answer, in)
	}
	call := project.Call{Tool: row.ToolName, Input: row.ToolInput, CWD: ses.CWD}
	ruling := book.Approval(ctx, in, call, given.UpdatedInput)
	if err := book.MayApprove(me, in, ruling, row.ToolName); err != nil {
		return Permission{}, err
	}
	for _, g := range parseGrants(given.UpdatedPermissions) {
		if err := book.MayGrant(ctx, me, in, g.reach, ses.CWD, g.mode, g.tools); err != nil {
			return Permission{}, err
		}
	}
	p := Permission{RequireSecondApproval: ruling.Effect == project.TwoPeople}
	if first := row.Approval; first != nil {
		user, err := r.directory.User(ctx, first.Actor.UserID)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return Permission{}, err
		}
		them := project.Person{UserID: user.UserID, Role: user.Role}
		alive, problem := r.credentialLives(ctx, first.CredentialID)
		if problem != nil {
			return Permission{}, problem
		}
		if !alive || err != nil || user.Disabled || book.MayApprove(them, in, ruling, row.ToolName) != nil {
			p.InvalidatedApproverID = first.Actor.UserID
		}
	}
	return p, nil
}

// Batch describes an answer that is part of a bulk approval.
type Batch struct {
	Decision pending.Decision
	Changed  bool     // with an edited input, or with permissions
	Together []string // ids of all requests that the confirmation approves; empty from a client that does not send them
}

// MayBatch checks that an answer may be part of a bulk approval. It returns one of the
// ErrBatch errors when it may not. A group, which is one tool in one session, may contain
// medium risk: the person selected each such request.
func (r *Rules) MayBatch(ctx context.Context, who account.Identity, b Batch, row pending.Request, ses session.Session) error {
	level := r.Levels.Of(row, ses.RunnerID, ses.CWD)
	switch {
	case row.RequestType != pending.ToolApproval || b.Decision != pending.Allow || b.Changed:
		return ErrBatchPlain
	case row.Policy.Restricts():
		return ErrBatchAlone
	case level == review.High, level != review.Low && len(b.Together) == 0:
		return ErrBatchRisk
	case len(b.Together) == 0:
		return nil
	}
	ids := slices.Compact(slices.Sorted(slices.Values(b.Together)))
	if len(b.Together) > MaxGroup || len(ids) != len(b.Together) || !slices.Contains(ids, row.RequestID) {
		return ErrBatchMixed
	}
	group := true
	for _, id := range ids {
		other, _, _, err := r.guard.Request(ctx, who, project.See, id)
		switch {
		case errors.Is(err, pending.ErrNotFound): // its session was deleted meanwhile; check the other requests
		case err != nil:
			return err
		case other.ToolName != row.ToolName:
			return ErrBatchMixed
		case other.SessionID != row.SessionID:
			group = false
		}
	}
	switch {
	case group:
		return nil
	case len(ids) > MaxBatch:
		return ErrBatchMixed
	case level != review.Low:
		return ErrBatchRisk
	}
	return nil
}

// SecondApproval returns the rules for a second approval by who.
func (r *Rules) SecondApproval(who account.Identity) pending.SecondApproval {
	return secondApproval{r, who}
}

type secondApproval struct {
	*Rules
	who account.Identity
}

// MayJoin checks that a person's approval counts as the second one. It returns a
// [DependentError] when one of the two approvers, or a third person, created a credential
// with which they can act as the other.
func (r secondApproval) MayJoin(ctx context.Context, first pending.Approval) error {
	who := r.who
	mine, err := r.directory.CredentialMakers(ctx, who.User.UserID)
	if err != nil {
		return err
	}
	theirs, err := r.directory.CredentialMakers(ctx, first.Actor.UserID)
	if err != nil && !errors.Is(err, account.ErrNotFound) {
		return err
	}
	made := who.Credential.CreatedBy
	switch {
	case slices.Contains(mine, first.Actor.UserID):
		return &DependentError{Link: LinkMadeYours, First: first.Actor.Name}
	case slices.Contains(theirs, who.User.UserID):
		return &DependentError{Link: LinkMadeTheirs, First: first.Actor.Name}
	case (who.Credential.Kind == account.APIToken || who.Credential.Bound) && made != "" && slices.Contains(theirs, made):
		return &DependentError{Link: LinkMadeBoth, First: first.Actor.Name}
	}
	return nil
}

// credentialLives reports whether a credential is still valid. An empty id counts as
// valid.
func (r *Rules) credentialLives(ctx context.Context, credentialID string) (bool, error) {
	if credentialID == "" {
		return true, nil
	}
	return r.directory.CredentialIsLive(ctx, credentialID)
}

// grant is what a permission that comes with an approval lets Claude do without asking.
type grant struct {
	reach project.Reach
	mode  string
	tools []string
}

// parseGrants parses the permissions that come with an approval. Package pending refuses
// malformed ones; an unknown type counts as a permission for everything.
func parseGrants(permissions json.RawMessage) (all []grant) {
	var list []struct {
		Type        string        `json:"type"`
		Mode        string        `json:"mode"`
		Behavior    string        `json:"behavior"`
		Destination pending.Scope `json:"destination"`
		Rules       []struct {
			ToolName    string `json:"toolName"`
			RuleContent string `json:"ruleContent"`
		} `json:"rules"`
	}
	_ = json.Unmarshal(permissions, &list)
	for _, p := range list {
		g := grant{reach: project.ReachUser}
		switch p.Destination {
		case pending.ScopeSession:
			g.reach = project.ReachSession
		case pending.ScopeLocal, pending.ScopeProject:
			g.reach = project.ReachFolder
		}
		if p.Type == "setMode" && p.Mode != "default" && p.Mode != "plan" {
			g.mode = p.Mode
		}
		if p.Type == "addRules" && (p.Behavior == "deny" || p.Behavior == "ask") {
			continue
		}
		for _, r := range p.Rules {
			g.tools = append(g.tools, rule.Rule{Tool: r.ToolName, Content: r.RuleContent}.String())
		}
		all = append(all, g)
	}
	return all
}
