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

// The CLI obeys rules that allow, from settings files and grants, and modes, before it
// asks anybody. A hook before each tool makes it ask for what the rules of the session's
// project keep for some people, whatever allows the call: 2.1.197 and 2.1.329 were seen
// to ask then in every mode, for what only reads too, in subagents, and with hooks turned
// off in a settings file.

// ruleHook names the hook to the CLI.
const ruleHook = "project_rules"

// ruleHookTimeout is how long the CLI waits for the hook, in seconds; then it would go
// on. It is about the longest that a timer of the CLI can be. A server that comes back
// says initialize again, and the CLI then denies the calls whose hook had no answer, so
// that Claude tries them anew.
const ruleHookTimeout = 2_000_000

// initialization is what the CLI is told first.
func initialization() claude.InitializeRequest {
	return claude.InitializeRequest{Hooks: map[string][]claude.HookMatcher{
		"PreToolUse": {{HookCallbackIDs: []string{ruleHook}, Timeout: ruleHookTimeout, OnFailure: "block"}},
	}}
}

// toolRules makes the CLI of one process obey the rules of its project.
type toolRules struct {
	o      *node
	log    *slog.Logger
	folder string                // of the session
	client func() *claude.Client // nil while none is connected

	// skillsRestricted is set once the CLI was told not to run commands of skills.
	skillsRestricted atomic.Bool
}

// handleHook makes the CLI ask for a call that rules of the project keep for some people.
// It never fails: 2.1.197 lets a call run whose hook does.
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

// unknownRules is what people read where the rules could not be looked at.
const unknownRules = "The rules of the project could not be read, so Claude asks."

// hookOutput is the output of the hook: ask, deny, or "" to leave it to the CLI.
func hookOutput(decision, why string) json.RawMessage {
	if decision == "" {
		return json.RawMessage(`{}`)
	}
	return transcript.Encode(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why,
	}})
}

// ruling says why a call must be asked for; decision is "" when the rules of the project
// say nothing about it. A command whose relative names mean something else where the shell
// is than in the folder of the session, for a rule, is given back to Claude to be written
// plainly: people would decide about another one than they see.
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
	if inner[call.Tool] && !slices.ContainsFunc(here.Rules, func(r project.Rule) bool { return r.Tool == call.Tool }) {
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
	shown, ruling := book.Approval(in, seen, nil), book.Approval(in, meant, nil)
	switch {
	case shown.Effect != ruling.Effect || !slices.Equal(shown.People, ruling.People):
		return "deny", fmt.Sprintf("A rule of %s is about files where the shell is now (%s). Begin the command with cd and an absolute path, or name files by absolute paths.", here.Name, call.CWD), nil
	case ruling.Unrestricted():
		return "", "", nil
	}
	return "ask", fmt.Sprintf("The rules of %s say who may approve this.", here.Name), nil
}

// inner are the tools that do nothing outside of the conversation. A rule for all tools
// does not make Claude ask for them.
var inner = map[string]bool{
	"TodoWrite": true, "TaskCreate": true, "TaskUpdate": true, "TaskList": true, "TaskGet": true, "TaskOutput": true, "ToolSearch": true, "EnterPlanMode": true, "BashOutput": true,
}

// projectRules are the projects as they are now, and where the session is.
func (t *toolRules) projectRules(ctx context.Context) (*project.Book, project.Place, error) {
	projects, err := t.o.o.Store.Projects(ctx)
	if err != nil {
		return nil, project.Place{}, fmt.Errorf("orchestrator: read projects: %w", err)
	}
	book := project.NewBook(projects, nil).WithDisk(Disk(t.o.o.CLI))
	return book, project.Place{ProjectID: book.ProjectIDOf(t.folder)}, nil
}

// restrictSkills keeps the CLI from running the commands that skills and commands of its
// own hold, when the project has rules: no hook sees those. It must come before a message,
// which may name one.
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
