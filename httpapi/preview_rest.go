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

// previewDriver is what previewHandlers needs from the orchestrator.
type previewDriver interface {
	PreviewFile(ctx context.Context, sessionID, path string) (orchestrator.FilePreview, error)
	PermissionRules(ctx context.Context, sessionID string) ([]orchestrator.SettingsRules, error)
}

// previewHandlers serves the effects that approving a request would have.
type previewHandlers struct {
	store  previewStore
	driver previewDriver
	guard  *access.Guard
	rules  *decision.Rules
}

// respondIfDecided sends 204 and returns true if a request is decided. This is not an
// error, because a card may ask at the moment of the decision.
func respondIfDecided(w http.ResponseWriter, r pending.Request) bool {
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
	if respondIfDecided(w, req) {
		return nil
	}
	p, err := s.preview(r.Context(), who, req)
	if err != nil {
		return err
	}
	if p.Why, err = s.explainAsk(r.Context(), req, ses.CWD, p); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

// postPreview previews the input as edited by a person. It shows only the file that the
// request names, so that previews cannot read other files.
func (s *previewHandlers) postPreview(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var q wire.PreviewQuestion
	if err := readBody(r, &q); err != nil {
		return err
	}
	req, _, _, err := s.guard.Request(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	if respondIfDecided(w, req) {
		return nil
	}
	requestedFile := review.FilePath(req.ToolName, req.ToolInput)
	req.ToolInput = q.ToolInput
	if requestedFile != review.FilePath(req.ToolName, q.ToolInput) {
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
	p := wire.Preview{Level: review.Low, Rules: suggestedRules(req, ses.CWD)}
	switch file := review.FilePath(req.ToolName, req.ToolInput); {
	case req.RequestType != pending.ToolApproval:
	case req.ToolName == "Bash":
		var found review.Command
		found, p.Level = s.assess(req, ses)
		p.Command = &wire.CommandPreview{Steps: []wire.CommandStep{}, Marks: []wire.RiskMark{}, Problem: found.Problem}
		for _, st := range found.Steps {
			p.Command.Steps = append(p.Command.Steps, wire.CommandStep(st))
		}
		for _, m := range found.Marks {
			p.Command.Marks = append(p.Command.Marks, wire.RiskMark(m))
		}
	case file != "":
		onDisk := orchestrator.FilePreview{File: workspace.File{State: workspace.FileOutside}}
		maySee, err := s.maySeeFile(ctx, who, ses, file)
		if err == nil && maySee {
			onDisk, err = s.driver.PreviewFile(ctx, req.SessionID, file)
		}
		if err != nil {
			return wire.Preview{}, err
		}
		p.File = filePreview(review.ReadChange(req.ToolName, req.ToolInput, review.FileOnDisk{
			State: string(onDisk.State), Data: onDisk.Data, Size: onDisk.Size, ModTime: onDisk.ModTime, TouchedAt: onDisk.TouchedAt,
		}))
		p.Level = decision.Higher(review.PathLevel(file, ses.CWD), p.Level)
		if p.File.State == review.NotShown {
			p.Level = decision.Higher(review.Medium, p.Level)
		}
	default:
		_, p.Level = s.assess(req, ses)
	}
	return p, nil
}

// assess returns what is found in the command of a Bash call, and the risk level of any call. It is
// not low if the disk of the session does not answer in time.
func (s *previewHandlers) assess(req pending.Request, ses session.Session) (review.Command, review.Level) {
	type result struct {
		found review.Command
		level review.Level
	}
	read := func(at review.Place) result {
		res := result{level: decision.LevelOf(req, at)}
		if req.ToolName == "Bash" {
			res.found = at.ReadCommand(review.CommandOf(req.ToolInput))
			res.level = decision.Higher(res.found.Level, res.level)
		}
		return res
	}
	res, complete := decision.Assess(s.rules.Levels, ses.RunnerID, ses.CWD, read)
	if !complete {
		res.level = decision.Higher(review.Medium, res.level)
	}
	return res.found, res.level
}

// maySeeFile reports whether a person may see the file of a request, which Claude may
// have placed in another project.
func (s *previewHandlers) maySeeFile(ctx context.Context, who account.Identity, ses session.Session, file string) (bool, error) {
	book, err := s.guard.Book(ctx)
	if err != nil {
		return false, err
	}
	if !path.IsAbs(file) {
		file = path.Join(ses.CWD, file)
	}
	in := book.ProjectIDOf(path.Clean(file))
	return in == ses.InProject || access.Sees(book, who, in), nil
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

// suggestedRules describes what the rules suggested by the CLI would allow.
func suggestedRules(req pending.Request, cwd string) []wire.RulePreview {
	out := []wire.RulePreview{}
	var suggestions []struct {
		Type  string `json:"type"`
		Rules []struct {
			ToolName    string `json:"toolName"`
			RuleContent string `json:"ruleContent"`
		} `json:"rules"`
		Directories []string `json:"directories"`
	}
	_ = json.Unmarshal(req.PermissionSuggestions, &suggestions) // unreadable suggestions are not offered either
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

// explainAsk finds the permission rules of the CLI's settings that apply to a tool
// call.
func (s *previewHandlers) explainAsk(ctx context.Context, req pending.Request, cwd string, p wire.Preview) (*wire.WhyAsked, error) {
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
				applies := false
				for _, step := range steps {
					if parsed.Covers(rule.Call{Tool: req.ToolName, Input: req.ToolInput, Dir: cwd, Home: f.Home, Commands: []string{step}}) {
						applies = true
						covered[step] = covered[step] || behavior == "allow"
					}
				}
				if applies && len(why.Rules) < 50 {
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
		for _, r := range review.NarrowestRules(req.ToolName, req.ToolInput, why.Uncovered) {
			why.Smallest = append(why.Smallest, r.String())
		}
	}
	if p.Command == nil {
		why.Uncovered = []string{}
	}
	return why, nil
}
