package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
)

// The CLI applies modes and allow rules, from settings files and grants, before it asks anybody.
// A hook before each tool makes it ask for the calls that the rules of the session's project
// reserve for some people, whatever else allows them. With the hook, 2.1.197 and 2.1.329 ask in
// every mode, for tools that only read, in subagents, and with hooks disabled in a settings file.

// ruleHook is the id of the hook.
const ruleHook = "project_rules"

// ruleHookTimeout is how long the CLI waits for the hook, in seconds; after that it would run
// the tool. It is nearly the longest timer that the CLI can set. A restarted server repeats
// initialize, and the CLI then denies the calls whose hook had no answer, so that Claude repeats
// them.
const ruleHookTimeout = 2_000_000

// initialization returns the first request to the CLI, which registers the hook.
func initialization() claude.InitializeRequest {
	return claude.InitializeRequest{Hooks: map[string][]claude.HookMatcher{
		"PreToolUse": {{HookCallbackIDs: []string{ruleHook}, Timeout: ruleHookTimeout, OnFailure: "block"}},
	}}
}

// toolRules makes the CLI of one process obey the rules of its project.
type toolRules struct {
	o      *node
	log    *slog.Logger
	folder string                // the session's
	client func() *claude.Client // nil while none is connected

	// skillsRestricted is set once the CLI has been told not to run commands inside skills.
	skillsRestricted atomic.Bool
}

// handleHook makes the CLI ask for a call that project rules reserve for some people. It never
// returns an error, because 2.1.197 runs a call whose hook fails.
func (t *toolRules) handleHook(ctx context.Context, r claude.HookRequest) (output json.RawMessage, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			t.log.ErrorContext(ctx, "cannot compare a call with the rules of the project", "error", cause)
			output, err = hookOutput("ask", unknownRules), nil
		}
	}()
	decision, why, err := t.ruling(ctx, r.Input)
	if err != nil {
		if ctx.Err() == nil {
			t.log.ErrorContext(ctx, "cannot compare a call with the rules of the project", "error", err)
		}
		decision, why = "ask", unknownRules
	}
	return hookOutput(decision, why), nil
}

// unknownRules is the message for people when the rules could not be read.
const unknownRules = "The rules of the project could not be read, so Claude asks."

// hookOutput returns the output of the hook for a decision: ask, deny, or "" to leave the decision
// to the CLI.
func hookOutput(decision, why string) json.RawMessage {
	if decision == "" {
		return json.RawMessage(`{}`)
	}
	return transcript.Encode(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why,
	}})
}

// ruling returns what project rules demand for a call, ask or deny, and why; decision is "" if the
// project has no rule about the call. It denies a command whose relative paths mean something else
// in the shell's folder than in the session's, because people would decide about another command
// than they see; why then asks Claude to write the command with absolute paths.
func (t *toolRules) ruling(ctx context.Context, input json.RawMessage) (decision, why string, err error) {
	var call struct {
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		CWD   string          `json:"cwd"`
	}
	if err := json.Unmarshal(input, &call); err != nil {
		return "", "", fmt.Errorf("orchestrator: read the input of a hook: %w", err)
	}
	if strings.HasPrefix(call.Tool, launch.MCPToolPrefix) || call.Tool == questionTool {
		return "", "", nil // it asks people
	}
	book, in, err := t.projectRules(ctx)
	if err != nil || !book.Restricts(in) {
		return "", "", err
	}
	here, _ := book.Project(in.ProjectID)
	if harmlessTools[call.Tool] && !slices.ContainsFunc(here.Rules, func(r project.Rule) bool { return r.Tool == call.Tool }) {
		return "", "", nil
	}
	if call.Tool == "Skill" || call.Tool == "SlashCommand" {
		if err := t.restrictSkills(ctx); err != nil {
			return "", "", err
		}
	}
	seen := project.Call{Tool: call.Tool, Input: call.Input, CWD: t.folder}
	meant := seen
	meant.Dir = call.CWD
	shown, ruling := book.Approval(ctx, in, seen, nil), book.Approval(ctx, in, meant, nil)
	switch {
	case shown.Effect != ruling.Effect || !slices.Equal(shown.People, ruling.People):
		return "deny", fmt.Sprintf("A rule of %s is about files where the shell is now (%s). Begin the command with cd and an absolute path, or name files by absolute paths.", here.Name, call.CWD), nil
	case ruling.Unrestricted():
		return "", "", nil
	}
	return "ask", fmt.Sprintf("The rules of %s say who may approve this.", here.Name), nil
}

// harmlessTools have no effect outside the conversation. A rule for all tools does not make
// Claude ask for them.
var harmlessTools = map[string]bool{
	"TodoWrite": true, "TaskCreate": true, "TaskUpdate": true, "TaskList": true, "TaskGet": true, "TaskOutput": true, "ToolSearch": true, "EnterPlanMode": true, "BashOutput": true,
}

// projectRules returns the current projects, and the session's place among them.
func (t *toolRules) projectRules(ctx context.Context) (*project.Book, project.Place, error) {
	projects, err := t.o.o.Store.Projects(ctx)
	if err != nil {
		return nil, project.Place{}, fmt.Errorf("orchestrator: read projects: %w", err)
	}
	book := project.NewBook(projects, nil).WithDisks(func(string) project.Disk { return t.o.runner })
	return book, project.Place{ProjectID: book.ProjectIDOf(t.folder)}, nil
}

// restrictSkills keeps the CLI from running commands inside skills and slash commands if the
// project has rules, because no hook sees these commands. Call it before each message, which may
// name a skill.
func (t *toolRules) restrictSkills(ctx context.Context) error {
	if t.skillsRestricted.Load() {
		return nil
	}
	book, in, err := t.projectRules(ctx)
	if err != nil || !book.Restricts(in) {
		return err
	}
	client := t.client()
	if client == nil {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(ctx, t.o.rules().Limits.Reply)
	defer cancel()
	if err := client.ApplySettings(ctx, map[string]any{"disableSkillShellExecution": true}); err != nil {
		return fmt.Errorf("orchestrator: keep skills from running commands: %w", err)
	}
	t.skillsRestricted.Store(true)
	return nil
}
