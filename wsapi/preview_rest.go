package wsapi

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"slices"

	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Preview says what a person should know of a tool's request before they decide.
// A tab asks for it when it has the form: no form waits for it.
type Preview struct {
	Level   review.Level    `json:"level"`             // the highest of what was found, low when nothing was
	Command *CommandPreview `json:"command,omitempty"` // of Bash
	File    *FilePreview    `json:"file,omitempty"`    // of Write, Edit, MultiEdit and NotebookEdit
	Rules   []RulePreview   `json:"rules"`             // those that permission_suggestions would add
	Why     *WhyAsked       `json:"why,omitempty"`     // not with the preview of an edit
}

// CommandPreview is a command as a shell would read it.
type CommandPreview struct {
	Steps   []CommandStep `json:"steps"`
	Marks   []RiskMark    `json:"marks"`
	Problem string        `json:"problem"` // why it could not be read whole, "" when it was
}

// CommandStep is one simple command. From and To count UTF-16 units; of what runs
// inside a string they are those of the string.
type CommandStep struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Text  string `json:"text"`
	Depth int    `json:"depth"`         // 0 for what stands in the command itself
	CWD   string `json:"cwd,omitempty"` // where it runs, when not where the session is; ? when that is computed
}

// RiskMark is one place that a person should look at.
type RiskMark struct {
	From   int          `json:"from"`
	To     int          `json:"to"`
	Kind   review.Risk  `json:"kind"`
	Level  review.Level `json:"level"`
	Reason string       `json:"reason"` // one English sentence
}

// FilePreview is what a tool would do to a file as it is now.
type FilePreview struct {
	State   review.ChangeState `json:"state"`
	Failing []FailingEdit      `json:"failing"`
	Drifted bool               `json:"drifted"` // changed after Claude last read or wrote it
	// Before and After are the lines that differ, with three around them; Line is
	// the number of the first, from 1, and 0 when there are none.
	Line            int    `json:"line"`
	Before          string `json:"before"`
	After           string `json:"after"`
	CRLF            bool   `json:"crlf"` // lines end with CR LF, and stay so
	NoNewlineBefore bool   `json:"no_newline_before"`
	NoNewlineAfter  bool   `json:"no_newline_after"`
	// How the lines of the file end; absent when with LF alone, or not at all.
	LineEndsBefore review.LineEnds `json:"line_ends_before,omitempty"`
	LineEndsAfter  review.LineEnds `json:"line_ends_after,omitempty"`
}

// FailingEdit is one edit of a tool that would fail.
type FailingEdit struct {
	Edit    int                `json:"edit"` // its place in the list, from 0
	Problem review.EditProblem `json:"problem"`
	Found   int                `json:"found"` // how often the text is there
}

// RulePreview is one rule of a suggestion, and what it would let through.
type RulePreview struct {
	Suggestion int             `json:"suggestion"` // its place in permission_suggestions
	Rule       string          `json:"rule"`
	Form       review.RuleForm `json:"form"`
	Text       string          `json:"text"`
	Level      review.Level    `json:"level"`
	Kind       review.Risk     `json:"kind,omitempty"` // why it is not low
	Reason     string          `json:"reason"`
	WouldAllow []string        `json:"would_allow"`
}

// WhyAsked says why Claude asks a person at all.
type WhyAsked struct {
	PermissionMode string        `json:"permission_mode"`
	Reason         string        `json:"reason"`       // as the CLI says it, "" when it says nothing
	BlockedPath    string        `json:"blocked_path"` // "" when none is
	Rules          []SettingRule `json:"rules"`        // of the settings, that speak of this call
	Uncovered      []string      `json:"uncovered"`    // simple commands that no allow rule covers
	Smallest       []string      `json:"smallest"`     // the narrowest rules that would stop it, none when no rule can
}

// SettingRule is a rule as it stands in a settings file of the CLI.
type SettingRule struct {
	Rule     string `json:"rule"`
	Behavior string `json:"behavior"` // allow, ask or deny
	Source   string `json:"source"`   // managed, user, project or local
}

// PreviewQuestion asks for the preview of a request with another input.
type PreviewQuestion struct {
	ToolInput json.RawMessage `json:"tool_input" validate:"required" ts:"unknown"`
}

// decided answers a question about what is decided: there is nothing to be seen
// before. That is no error, for a card may ask in the moment of the decision.
func decided(w http.ResponseWriter, r pending.Request) bool {
	if r.Status.Final() {
		w.WriteHeader(http.StatusNoContent)
	}
	return r.Status.Final()
}

func (s *Server) getPreview(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	req, ses, err := s.mayRequest(r.Context(), who, project.See, r.PathValue("id"))
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
func (s *Server) postPreview(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var q PreviewQuestion
	if err := readBody(r, &q); err != nil {
		return err
	}
	req, _, err := s.mayRequest(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	if decided(w, req) {
		return nil
	}
	asked := review.FilePath(req.ToolName, req.ToolInput)
	req.ToolInput = q.ToolInput
	if asked != review.FilePath(req.ToolName, q.ToolInput) {
		writeJSON(w, http.StatusOK, Preview{Level: review.Medium, Rules: []RulePreview{}, File: &FilePreview{State: review.NotShown, Failing: []FailingEdit{}}})
		return nil
	}
	p, err := s.preview(r.Context(), who, req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

var levels = []review.Level{review.Low, review.Medium, review.High}

func higher(a, b review.Level) review.Level {
	return levels[max(slices.Index(levels, a), slices.Index(levels, b))]
}

func (s *Server) preview(ctx context.Context, who account.Identity, req pending.Request) (Preview, error) {
	ses, err := s.o.Store.Session(ctx, req.SessionID)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Level: review.Low, Rules: rulesOf(req, ses.CWD)}
	switch file := review.FilePath(req.ToolName, req.ToolInput); {
	case req.RequestType != pending.ToolApproval:
	case req.ToolName == "Bash":
		found := s.levels.place(ses.CWD).ReadCommand(review.CommandOf(req.ToolInput))
		p.Level = higher(found.Level, levelOf(req, s.levels.place(ses.CWD)))
		p.Command = &CommandPreview{Steps: []CommandStep{}, Marks: []RiskMark{}, Problem: found.Problem}
		for _, st := range found.Steps {
			p.Command.Steps = append(p.Command.Steps, CommandStep(st))
		}
		for _, m := range found.Marks {
			p.Command.Marks = append(p.Command.Marks, RiskMark(m))
		}
	case file != "":
		look := orchestrator.Look{File: workspace.File{State: workspace.FileOutside}}
		sees, err := s.maySeeFile(ctx, who, ses, file)
		if err == nil && sees {
			look, err = s.o.Driver.LookAt(ctx, req.SessionID, file)
		}
		if err != nil {
			return Preview{}, err
		}
		p.File = filePreview(review.ReadChange(req.ToolName, req.ToolInput, review.OnDisk{
			State: string(look.State), Data: look.Data, Size: look.Size, ModTime: look.ModTime, TouchedAt: look.TouchedAt,
		}))
		p.Level = higher(review.PathLevel(file, ses.CWD), p.Level)
		if p.File.State == review.NotShown {
			p.Level = higher(review.Medium, p.Level)
		}
	default:
		p.Level = levelOf(req, s.levels.place(ses.CWD))
	}
	return p, nil
}

// maySeeFile reports whether the file of a request is one that this person may be
// shown: Claude may name one of a project that they do not see.
func (s *Server) maySeeFile(ctx context.Context, who account.Identity, ses session.Session, file string) (bool, error) {
	book, err := s.book(ctx)
	if err != nil {
		return false, err
	}
	if !path.IsAbs(file) {
		file = path.Join(ses.CWD, file)
	}
	in := book.Of(path.Clean(file))
	return in == ses.InProject || book.May(person(who), project.See, project.Place{ProjectID: in}) == nil, nil
}

func filePreview(c review.Change) *FilePreview {
	p := &FilePreview{
		State: c.State, Failing: []FailingEdit{}, Drifted: c.Drifted, Line: c.Line, Before: c.Before, After: c.After,
		CRLF: c.EndsBefore == review.CRLF && c.EndsAfter == review.CRLF, NoNewlineBefore: c.NoNewlineBefore, NoNewlineAfter: c.NoNewlineAfter,
		LineEndsBefore: c.EndsBefore, LineEndsAfter: c.EndsAfter,
	}
	for _, f := range c.Failing {
		p.Failing = append(p.Failing, FailingEdit(f))
	}
	return p
}

// rulesOf says what the rules that the CLI suggests would let through.
func rulesOf(req pending.Request, cwd string) []RulePreview {
	out := []RulePreview{}
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

func rulePreview(i int, rule string, r review.Reach) RulePreview {
	allow := r.WouldAllow
	if allow == nil {
		allow = []string{}
	}
	return RulePreview{Suggestion: i, Rule: rule, Form: r.Form, Text: r.Text, Level: r.Level, Kind: r.Kind, Reason: r.Reason, WouldAllow: allow}
}

// why looks into the settings of the CLI for what speaks of a tool call.
func (s *Server) why(ctx context.Context, req pending.Request, cwd string, p Preview) (*WhyAsked, error) {
	if req.RequestType != pending.ToolApproval || req.Source == pending.SourceElicitation {
		return nil, nil
	}
	state, err := s.o.Store.ProcessState(ctx, req.SessionID)
	if err != nil {
		return nil, err
	}
	files, err := s.o.Driver.PermissionRules(ctx, req.SessionID)
	if err != nil {
		return nil, err
	}
	why := &WhyAsked{PermissionMode: state.PermissionMode, Reason: req.DecisionReason, BlockedPath: req.BlockedPath, Rules: []SettingRule{}, Uncovered: []string{}, Smallest: []string{}}
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
					why.Rules = append(why.Rules, SettingRule{Rule: text, Behavior: behavior, Source: f.Source})
				}
			}
		}
	}
	slices.SortFunc(why.Rules, func(a, b SettingRule) int {
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
