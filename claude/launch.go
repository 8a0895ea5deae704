package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrLaunch means that [Options] are invalid. The text names the field.
var ErrLaunch = errors.New("claude cannot be launched as asked")

// PermissionModes are the permission modes of the CLI.
var PermissionModes = []string{"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"}

var (
	uuidPattern  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	modelPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*$`)
)

// ValidModel reports whether a model name is safe as an argument. It returns false for "".
func ValidModel(model string) bool { return len(model) <= maxName && modelPattern.MatchString(model) }

// maxName bounds a name, in bytes. As a repetition in the pattern, the bound would cost 200 kB in every
// process of sayso, including shims.
const maxName = 200

// askInPlanMode makes the CLI ask even after the model has entered plan mode, which it may do at any
// time. By default, plan mode turns on auto mode, in which 2.1.197 runs commands that change files
// without asking, and 2.1.329 refuses them without asking.
const askInPlanMode = `{"useAutoModeDuringPlan":false}`

// settings returns askInPlanMode combined with Settings, which may override it.
func (o Options) settings() (string, error) {
	if o.Settings == nil {
		return askInPlanMode, nil
	}
	own, err := compact(o.Settings)
	if err != nil || !isObject(own) {
		return "", errors.New("are no JSON object")
	}
	if string(own) == "{}" {
		return askInPlanMode, nil
	}
	return askInPlanMode[:len(askInPlanMode)-1] + "," + string(own[1:]), nil
}

// Args returns the arguments after the program's name. They always select stream-json in both
// directions, permission requests over stdio and an explicit permission mode, and have the form
// --flag=value. The other options are part of [Options.InitializeRequest]. Args returns [ErrLaunch]
// for a value that is invalid or could be mistaken for a flag.
func (o Options) Args() ([]string, error) {
	args := []string{
		"--output-format=stream-json",
		"--verbose",
		"--input-format=stream-json",
		"--permission-prompt-tool=stdio",
	}
	var problems []error
	refuse := func(field, why string) {
		problems = append(problems, fmt.Errorf("%w: %s %s", ErrLaunch, field, why))
	}
	add := func(flag, value string) { args = append(args, flag+"="+value) }

	settings, err := o.settings()
	if err != nil {
		refuse("settings", err.Error())
	}
	add("--settings", settings)
	mode := cmp.Or(o.PermissionMode, "default")
	switch {
	case mode == "bypassPermissions" && !o.AllowBypass:
		refuse("permission mode", "would run everything without asking")
	case !slices.Contains(PermissionModes, mode):
		refuse("permission mode", fmt.Sprintf("%q is not known", mode))
	}
	add("--permission-mode", mode)
	if o.AllowBypass {
		args = append(args, "--allow-dangerously-skip-permissions")
	}

	if o.SessionID != "" {
		if !uuidPattern.MatchString(o.SessionID) {
			refuse("session id", "is no UUID")
		}
		if (o.Resume != "" || o.Continue) && !o.Fork {
			refuse("session id", "stands with resume but without fork")
		}
		add("--session-id", o.SessionID)
	}
	if o.Resume != "" {
		if !uuidPattern.MatchString(o.Resume) {
			refuse("resume", "is no session id")
		}
		add("--resume", o.Resume)
	}
	if o.Continue {
		if o.Resume != "" {
			refuse("continue", "stands with resume")
		}
		args = append(args, "--continue")
	}
	if o.Fork {
		if o.Resume == "" && !o.Continue {
			refuse("fork", "needs a session to resume")
		}
		args = append(args, "--fork-session")
	}
	if o.ResumeAt != "" {
		if o.Resume == "" {
			refuse("resume at", "needs a session to resume")
		}
		if !uuidPattern.MatchString(o.ResumeAt) {
			refuse("resume at", "is no UUID")
		}
		add("--resume-session-at", o.ResumeAt)
	}
	if o.ResumeDropsTurn != "" {
		if o.ResumeAt == "" || !uuidPattern.MatchString(o.ResumeDropsTurn) {
			refuse("resume drops turn", "is no UUID, or stands without resume at")
		}
		add("--resume-drops-turn", o.ResumeDropsTurn)
	}
	for _, m := range []struct{ name, flag, value string }{
		{"model", "--model", o.Model},
		{"fallback model", "--fallback-model", o.FallbackModel},
	} {
		if m.value == "" {
			continue
		}
		if !ValidModel(m.value) {
			refuse(m.name, fmt.Sprintf("%q is no model name", m.value))
		}
		add(m.flag, m.value)
	}
	skills, err := o.skillRules()
	if err != nil {
		refuse("skills", err.Error())
	}
	for _, list := range []struct {
		name, flag string
		rules      []string
	}{
		{"allowed tools", "--allowedTools", slices.Concat(o.AllowedTools, skills)},
		{"disallowed tools", "--disallowedTools", o.DisallowedTools},
	} {
		for _, rule := range list.rules {
			if why := badRule(rule); why != "" {
				refuse(list.name, fmt.Sprintf("%q %s", rule, why))
			}
		}
		if len(list.rules) > 0 {
			add(list.flag, strings.Join(list.rules, ","))
		}
	}
	for _, dir := range o.AddDirs {
		if !strings.HasPrefix(dir, "/") || !plainText(dir, "") {
			refuse("added folder", fmt.Sprintf("%q is no absolute path", dir))
		}
		add("--add-dir", dir)
	}
	if o.SettingSources != nil {
		for _, s := range o.SettingSources {
			if s != "user" && s != "project" && s != "local" {
				refuse("setting source", fmt.Sprintf("%q is not known", s))
			}
		}
		add("--setting-sources", strings.Join(o.SettingSources, ","))
	}
	if o.AppendSystemPrompt != "" {
		if !plainText(o.AppendSystemPrompt, "\n\t") {
			refuse("system prompt", "holds control characters")
		}
		add("--append-system-prompt", o.AppendSystemPrompt)
	}
	if o.MCPConfig != nil {
		config, err := compact(o.MCPConfig)
		if err != nil || !isObject(config) {
			refuse("MCP configuration", "is no JSON object")
		}
		add("--mcp-config", string(config))
	}
	if config, err := o.mcpConfig(); err != nil {
		refuse("MCP servers", err.Error())
	} else if config != "" {
		add("--mcp-config", config)
	}
	if o.MCPConfigFile != "" {
		if o.MCPConfig != nil || !strings.HasPrefix(o.MCPConfigFile, "/") || !plainText(o.MCPConfigFile, "") {
			refuse("MCP configuration", fmt.Sprintf("file %q is no absolute path, or there is another", o.MCPConfigFile))
		}
		add("--mcp-config", o.MCPConfigFile)
	}
	if o.StrictMCPConfig {
		args = append(args, "--strict-mcp-config")
	}
	if o.MaxTurns < 0 || o.MaxBudgetUSD < 0 || o.TaskBudget < 0 || o.BackgroundWait < 0 || o.Thinking.BudgetTokens < 0 {
		refuse("limit", "cannot be negative")
	}
	if o.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.MaxBudgetUSD > 0 {
		add("--max-budget-usd", strconv.FormatFloat(o.MaxBudgetUSD, 'f', -1, 64))
	}
	if o.TaskBudget > 0 {
		add("--task-budget", strconv.Itoa(o.TaskBudget))
	}
	args = append(args, o.thinkingArgs(refuse)...)
	args = append(args, o.loadArgs(refuse)...)
	if o.IncludePartialMessages {
		args = append(args, "--include-partial-messages")
	}
	if o.ReplayUserMessages {
		args = append(args, "--replay-user-messages")
	}
	for _, f := range []struct {
		flag string
		on   bool
	}{
		{"--include-hook-events", o.IncludeHookEvents},
		{"--session-mirror", o.SessionMirror || o.SessionStore != nil},
		{"--no-session-persistence", o.NoPersistence},
		{"--debug", o.Debug},
	} {
		if f.on {
			args = append(args, f.flag)
		}
	}
	if o.SessionStore != nil && o.NoPersistence {
		refuse("session store", "stands with no persistence: the CLI mirrors what it has saved")
	}
	if o.NoPrompts {
		add("--permission-prompts", "none")
	}
	if o.DebugFile != "" {
		if !isPath(o.DebugFile) {
			refuse("debug file", "is no absolute path")
		}
		add("--debug-file", o.DebugFile)
	}
	for _, arg := range o.ExtraArgs {
		if !extraPattern.MatchString(arg) || strings.ContainsRune(arg, 0) {
			refuse("extra argument", fmt.Sprintf("%q is not --flag or --flag=value", arg))
		}
	}
	args = append(args, o.ExtraArgs...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return args, nil
}

// allSkills, as the only element of [Options.Skills], means every skill.
const allSkills = "all"

// skillRules returns the rules that let the model use Skills. Rules on the command line have no
// escapes.
func (o *Options) skillRules() (rules []string, err error) {
	if len(o.Skills) == 1 && o.Skills[0] == allSkills {
		return []string{"Skill"}, nil
	}
	for _, name := range o.Skills {
		if !modelPattern.MatchString(name) || strings.ContainsAny(name, "[]") {
			return nil, fmt.Errorf("have %q, which is no name", name)
		}
		rules = append(rules, "Skill("+name+")")
	}
	return rules, nil
}

// extraPattern matches an argument that the CLI parses as one flag, whatever its value.
var extraPattern = regexp.MustCompile(`^--[a-z][a-z0-9-]*(=|$)`)

func isPath(s string) bool { return strings.HasPrefix(s, "/") && plainText(s, "") }

// thinkingArgs returns the arguments for thinking and effort.
func (o Options) thinkingArgs(refuse func(field, why string)) (args []string) {
	switch t := o.Thinking; t.Type {
	case "":
		if t.BudgetTokens > 0 || t.Display != "" {
			refuse("thinking", "has no type")
		}
	case "adaptive", "disabled":
		if t.BudgetTokens > 0 {
			refuse("thinking", "has a budget without being enabled")
		}
		args = append(args, "--thinking="+t.Type)
	case "enabled":
		if t.BudgetTokens > 0 {
			args = append(args, "--max-thinking-tokens="+strconv.Itoa(t.BudgetTokens))
		} else {
			args = append(args, "--thinking=adaptive")
		}
	default:
		refuse("thinking", fmt.Sprintf("%q is not known", t.Type))
	}
	for _, f := range []struct {
		name, flag, value string
		known             []string
	}{
		{"thinking display", "--thinking-display", o.Thinking.Display, []string{"summarized", "omitted", "highlights"}},
		{"effort", "--effort", o.Effort, []string{"low", "medium", "high", "xhigh", "max"}},
	} {
		if f.value == "" {
			continue
		}
		if !slices.Contains(f.known, f.value) {
			refuse(f.name, fmt.Sprintf("%q is not known", f.value))
		}
		args = append(args, f.flag+"="+f.value)
	}
	return args
}

// loadArgs returns the arguments for what the CLI loads when it starts.
func (o Options) loadArgs(refuse func(field, why string)) (args []string) {
	if o.Tools != nil {
		for _, name := range o.Tools {
			if !toolPattern.MatchString(name) {
				refuse("tools", fmt.Sprintf("%q is no name of a tool", name))
			}
		}
		args = append(args, "--tools="+strings.Join(o.Tools, ","))
	}
	if o.Agent != "" {
		if !plainText(o.Agent, "") {
			refuse("agent", "holds control characters")
		}
		args = append(args, "--agent="+o.Agent)
	}
	for _, beta := range o.Betas {
		if !modelPattern.MatchString(beta) {
			refuse("betas", fmt.Sprintf("%q is no name", beta))
		}
	}
	if len(o.Betas) > 0 {
		args = append(args, "--betas="+strings.Join(o.Betas, ","))
	}
	for _, p := range o.Plugins {
		if !isPath(p.Path) {
			refuse("plugin", fmt.Sprintf("%q is no absolute path", p.Path))
		}
		if p.SkipMCPDiscovery {
			args = append(args, "--plugin-dir-no-mcp="+p.Path)
		} else {
			args = append(args, "--plugin-dir="+p.Path)
		}
	}
	if o.ProjectConfigRoot != "" {
		if !isPath(o.ProjectConfigRoot) {
			refuse("project config root", "is no absolute path")
		}
		args = append(args, "--project-config-root="+o.ProjectConfigRoot)
	}
	if o.OutputSchema != nil && (!isObject(o.OutputSchema) || !json.Valid(o.OutputSchema)) {
		refuse("output schema", "is no JSON object")
	}
	for name, agent := range o.Agents {
		if name == "" || agent.Description == "" || agent.Prompt == "" {
			refuse("agent", fmt.Sprintf("%q lacks a description or a prompt", name))
		}
		for _, server := range agent.MCPServers {
			if !json.Valid(server) {
				refuse("agent", fmt.Sprintf("%q has an MCP server that is no JSON", name))
			}
		}
	}
	if o.ManagedSettings != nil {
		managed, err := compact(o.ManagedSettings)
		if err != nil || !isObject(managed) {
			refuse("managed settings", "are no JSON object")
		}
		args = append(args, "--managed-settings="+string(managed))
	}
	return args
}

// badRule returns why a permission rule cannot be part of a list of rules, or "". The CLI splits
// the list at commas and spaces outside parentheses, without escapes, so one rule could become
// two.
func badRule(rule string) string {
	name, spec, hasSpec := strings.Cut(rule, "(")
	switch {
	case len(name) > maxName || !toolPattern.MatchString(name):
		return "is no permission rule"
	case !hasSpec:
		return ""
	case !strings.HasSuffix(spec, ")"):
		return "has no closing parenthesis"
	}
	spec = strings.TrimSuffix(spec, ")")
	if strings.ContainsAny(spec, "()") {
		return "nests parentheses"
	}
	if !plainText(spec, "") {
		return "holds control characters"
	}
	return ""
}

var toolPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.*-]*$`)

// plainText reports whether s is UTF-8 without control characters other than
// those allowed.
func plainText(s, allowed string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune(allowed, r)
	})
}

// Command returns the command that starts the CLI with the given environment. The error is that of
// [Options.Args].
func (o Options) Command(env []string) (Command, error) {
	args, err := o.Args()
	if err != nil {
		return Command{}, err
	}
	return Command{Path: o.Path, Args: args, Dir: o.Dir, Env: env}, nil
}
