package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"slices"

	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// previewStore holds what previewHandlers reads and writes.
type previewStore interface {
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	Session(ctx context.Context, sessionID string) (session.Session, error)
}

// previewDriver is what previewHandlers needs of the orchestrator.
type previewDriver interface {
	PreviewFile(ctx context.Context, sessionID, path string) (orchestrator.FilePreview, error)
	PermissionRules(ctx context.Context, sessionID string) ([]orchestrator.SettingsRules, error)
}

// previewHandlers serves what a request would do if it were approved.
type previewHandlers struct {
	store  previewStore
	driver previewDriver
	guard  *access.Guard
	rules  *decision.Rules
}

// decided answers a question about what is decided: there is nothing to be seen
// before. That is no error, for a card may ask in the moment of the decision.
func decided(w http.ResponseWriter, r pending.Request) bool {
	if r.Status.Final() {
		w.WriteHeader(http.StatusNoContent)
	}
	return r.Status.Final()
}

func (s *previewHandlers) getPreview(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	req, ses, _, err := s.guard.Request(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	if decided(w, req) {
		return nil
	}
	p, err := s.preview(r.Context(), who, req)
	if err != nil {
		return err
	}
	if p.Why, err = s.why(r.Context(), req, ses.CWD, p); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

// postPreview is the same for the input as a person edited it. It names no other
// file than the request does: a preview is no way to read files.
func (s *previewHandlers) postPreview(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var q wire.PreviewQuestion
	if err := readBody(r, &q); err != nil {
		return err
	}
	req, _, _, err := s.guard.Request(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	if decided(w, req) {
		return nil
	}
	asked := review.FilePath(req.ToolName, req.ToolInput)
	req.ToolInput = q.ToolInput
	if asked != review.FilePath(req.ToolName, q.ToolInput) {
		writeJSON(w, http.StatusOK, wire.Preview{Level: review.Medium, Rules: []wire.RulePreview{}, File: &wire.FilePreview{State: review.NotShown, Failing: []wire.FailingEdit{}}})
		return nil
	}
	p, err := s.preview(r.Context(), who, req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

func (s *previewHandlers) preview(ctx context.Context, who account.Identity, req pending.Request) (wire.Preview, error) {
	ses, err := s.store.Session(ctx, req.SessionID)
	if err != nil {
		return wire.Preview{}, err
	}
	p := wire.Preview{Level: review.Low, Rules: rulesOf(req, ses.CWD)}
	switch file := review.FilePath(req.ToolName, req.ToolInput); {
	case req.RequestType != pending.ToolApproval:
	case req.ToolName == "Bash":
		found := s.rules.Levels.Place(ses.CWD).ReadCommand(review.CommandOf(req.ToolInput))
		p.Level = decision.Higher(found.Level, decision.LevelOf(req, s.rules.Levels.Place(ses.CWD)))
		p.Command = &wire.CommandPreview{Steps: []wire.CommandStep{}, Marks: []wire.RiskMark{}, Problem: found.Problem}
		for _, st := range found.Steps {
			p.Command.Steps = append(p.Command.Steps, wire.CommandStep(st))
		}
		for _, m := range found.Marks {
			p.Command.Marks = append(p.Command.Marks, wire.RiskMark(m))
		}
	case file != "":
		look := orchestrator.FilePreview{File: workspace.File{State: workspace.FileOutside}}
		sees, err := s.maySeeFile(ctx, who, ses, file)
		if err == nil && sees {
			look, err = s.driver.PreviewFile(ctx, req.SessionID, file)
		}
		if err != nil {
			return wire.Preview{}, err
		}
		p.File = filePreview(review.ReadChange(req.ToolName, req.ToolInput, review.OnDisk{
			State: string(look.State), Data: look.Data, Size: look.Size, ModTime: look.ModTime, TouchedAt: look.TouchedAt,
		}))
		p.Level = decision.Higher(review.PathLevel(file, ses.CWD), p.Level)
		if p.File.State == review.NotShown {
			p.Level = decision.Higher(review.Medium, p.Level)
		}
	default:
		p.Level = decision.LevelOf(req, s.rules.Levels.Place(ses.CWD))
	}
	return p, nil
}

// maySeeFile reports whether the file of a request is one that this person may be
// shown: Claude may name one of a project that they do not see.
func (s *previewHandlers) maySeeFile(ctx context.Context, who account.Identity, ses session.Session, file string) (bool, error) {
	book, err := s.guard.Book(ctx)
	if err != nil {
		return false, err
	}
	if !path.IsAbs(file) {
		file = path.Join(ses.CWD, file)
	}
	in := book.ProjectIDOf(path.Clean(file))
	return in == ses.InProject || book.May(access.Person(who), project.See, project.Place{ProjectID: in}) == nil, nil
}

func filePreview(c review.Change) *wire.FilePreview {
	p := &wire.FilePreview{
		State: c.State, Failing: []wire.FailingEdit{}, Drifted: c.Drifted, Line: c.Line, Before: c.Before, After: c.After,
		CRLF: c.EndsBefore == review.CRLF && c.EndsAfter == review.CRLF, NoNewlineBefore: c.NoNewlineBefore, NoNewlineAfter: c.NoNewlineAfter,
		LineEndsBefore: c.EndsBefore, LineEndsAfter: c.EndsAfter,
	}
	for _, f := range c.Failing {
		p.Failing = append(p.Failing, wire.FailingEdit(f))
	}
	return p
}

// rulesOf says what the rules that the CLI suggests would let through.
func rulesOf(req pending.Request, cwd string) []wire.RulePreview {
	out := []wire.RulePreview{}
	var suggestions []struct {
		Type  string `json:"type"`
		Rules []struct {
			ToolName    string `json:"toolName"`
			RuleContent string `json:"ruleContent"`
		} `json:"rules"`
		Directories []string `json:"directories"`
	}
	_ = json.Unmarshal(req.PermissionSuggestions, &suggestions) // what cannot be read is not offered either
	for i, s := range suggestions {
		for _, r := range s.Rules {
			suggested := rule.Rule{Tool: r.ToolName, Content: r.RuleContent}
			out = append(out, rulePreview(i, suggested.String(), review.ReadRule(suggested, cwd)))
		}
		for _, d := range s.Directories {
			out = append(out, rulePreview(i, d, review.ReadDirectory(d, cwd)))
		}
	}
	return out
}

func rulePreview(i int, rule string, r review.Reach) wire.RulePreview {
	allow := r.WouldAllow
	if allow == nil {
		allow = []string{}
	}
	return wire.RulePreview{Suggestion: i, Rule: rule, Form: r.Form, Text: r.Text, Level: r.Level, Kind: r.Kind, Reason: r.Reason, WouldAllow: allow}
}

// why looks into the settings of the CLI for what speaks of a tool call.
func (s *previewHandlers) why(ctx context.Context, req pending.Request, cwd string, p wire.Preview) (*wire.WhyAsked, error) {
	if req.RequestType != pending.ToolApproval || req.Source == pending.SourceElicitation {
		return nil, nil
	}
	state, err := s.store.ProcessState(ctx, req.SessionID)
	if err != nil {
		return nil, err
	}
	files, err := s.driver.PermissionRules(ctx, req.SessionID)
	if err != nil {
		return nil, err
	}
	why := &wire.WhyAsked{PermissionMode: state.PermissionMode, Reason: req.DecisionReason, BlockedPath: req.BlockedPath, Rules: []wire.SettingRule{}, Uncovered: []string{}, Smallest: []string{}}
	steps := []string{""}
	if p.Command != nil {
		steps = nil
		for _, st := range p.Command.Steps {
			if st.Depth == 0 {
				steps = append(steps, st.Text)
			}
		}
	}
	covered := map[string]bool{}
	for _, f := range files {
		for behavior, rules := range map[string][]string{"allow": f.Allow, "ask": f.Ask, "deny": f.Deny} {
			for _, text := range rules {
				parsed := rule.Parse(text)
				speaks := false
				for _, step := range steps {
					if parsed.Covers(rule.Call{Tool: req.ToolName, Input: req.ToolInput, Dir: cwd, Home: f.Home, Commands: []string{step}}) {
						speaks = true
						covered[step] = covered[step] || behavior == "allow"
					}
				}
				if speaks && len(why.Rules) < 50 {
					why.Rules = append(why.Rules, wire.SettingRule{Rule: text, Behavior: behavior, Source: f.Source})
				}
			}
		}
	}
	slices.SortFunc(why.Rules, func(a, b wire.SettingRule) int {
		return slices.Compare([]string{a.Behavior, a.Source, a.Rule}, []string{b.Behavior, b.Source, b.Rule})
	})
	for _, step := range steps {
		if !covered[step] && !slices.Contains(why.Uncovered, step) {
			why.Uncovered = append(why.Uncovered, step)
		}
	}
	if p.Command == nil || p.Command.Problem == "" {
		for _, r := range review.Smallest(req.ToolName, req.ToolInput, why.Uncovered) {
			why.Smallest = append(why.Smallest, r.String())
		}
	}
	if p.Command == nil {
		why.Uncovered = []string{}
	}
	return why, nil
}
