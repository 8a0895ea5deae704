package claude

import (
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

// ErrLaunch: a [Launch] is invalid. The text names the field.
var ErrLaunch = errors.New("claude cannot be launched as asked")

// PermissionModes are the modes of the CLI.
var PermissionModes = []string{"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"}

// Launch is how to start the CLI. Arguments are checked, so that no value can be taken for a
// flag.
type Launch struct {
	Path string // of the CLI
	Dir  string // absolute path of the folder to work in

	// SessionID names a new session, a UUID. With Resume it is allowed only
	// together with Fork, for the id of the copy.
	SessionID string
	Resume    string // id of the session to continue, a UUID; "" for a new one
	Fork      bool   // with Resume: continue under a new id
	// ResumeAt is the UUID of the last entry to continue from; with Resume, "" for the end.
	ResumeAt string

	// PermissionMode is required: without it, a CLI may start in a mode that does not ask.
	PermissionMode string
	// AllowBypass permits the mode bypassPermissions, which never asks.
	AllowBypass bool

	Model                  string
	FallbackModel          string
	AllowedTools           []string // permission rules, such as Bash(git *)
	DisallowedTools        []string
	AddDirs                []string // absolute paths
	SettingSources         []string // of user, project, local; nil for the CLI's default, empty for none
	AppendSystemPrompt     string
	MCPConfig              json.RawMessage // {"mcpServers":{…}}; nil for none
	MCPConfigFile          string          // absolute path of such a file instead; it keeps secrets out of the argv
	StrictMCPConfig        bool            // only MCPConfig, not what the folder configures
	MaxTurns               int
	IncludePartialMessages bool
	ReplayUserMessages     bool
}

var (
	uuidPattern  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	modelPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*$`)
)

// ValidModel reports whether a model name may become an argument. It returns false for "".
func ValidModel(model string) bool { return len(model) <= maxName && modelPattern.MatchString(model) }

// maxName bounds a name, in bytes. Inside the pattern, the bound would copy it that many
// times: 200 kB in every process of ours, including shims.
const maxName = 200

// askInPlanMode makes the CLI ask also after the model has entered plan mode, which it may do
// at any time. By default plan mode turns on auto mode, in which 2.1.197 runs commands that
// change files without asking, and 2.1.329 refuses them without asking.
const askInPlanMode = `--settings={"useAutoModeDuringPlan":false}`

// Args returns the arguments after the program's name: always stream-json in both directions,
// permission requests over stdio, an explicit mode, and --flag=value for every value. It
// returns an [ErrLaunch] for an invalid Launch.
func (l Launch) Args() ([]string, error) {
	args := []string{
		"--output-format=stream-json",
		"--verbose",
		"--input-format=stream-json",
		"--permission-prompt-tool=stdio",
		askInPlanMode,
	}
	var problems []error
	refuse := func(field, why string) {
		problems = append(problems, fmt.Errorf("%w: %s %s", ErrLaunch, field, why))
	}
	add := func(flag, value string) { args = append(args, flag+"="+value) }

	switch {
	case l.PermissionMode == "bypassPermissions" && !l.AllowBypass:
		refuse("permission mode", "would run everything without asking")
	case !slices.Contains(PermissionModes, l.PermissionMode):
		refuse("permission mode", fmt.Sprintf("%q is not known", l.PermissionMode))
	}
	add("--permission-mode", l.PermissionMode)
	if l.AllowBypass {
		args = append(args, "--allow-dangerously-skip-permissions")
	}

	if l.SessionID != "" {
		if !uuidPattern.MatchString(l.SessionID) {
			refuse("session id", "is no UUID")
		}
		if l.Resume != "" && !l.Fork {
			refuse("session id", "stands with resume but without fork")
		}
		add("--session-id", l.SessionID)
	}
	if l.Resume != "" {
		if !uuidPattern.MatchString(l.Resume) {
			refuse("resume", "is no session id")
		}
		add("--resume", l.Resume)
	}
	if l.Fork {
		if l.Resume == "" {
			refuse("fork", "needs a session to resume")
		}
		args = append(args, "--fork-session")
	}
	if l.ResumeAt != "" {
		if l.Resume == "" {
			refuse("resume at", "needs a session to resume")
		}
		if !uuidPattern.MatchString(l.ResumeAt) {
			refuse("resume at", "is no UUID")
		}
		add("--resume-session-at", l.ResumeAt)
	}
	for _, m := range []struct{ name, flag, value string }{
		{"model", "--model", l.Model},
		{"fallback model", "--fallback-model", l.FallbackModel},
	} {
		if m.value == "" {
			continue
		}
		if !ValidModel(m.value) {
			refuse(m.name, fmt.Sprintf("%q is no model name", m.value))
		}
		add(m.flag, m.value)
	}
	for _, list := range []struct {
		name, flag string
		rules      []string
	}{
		{"allowed tools", "--allowedTools", l.AllowedTools},
		{"disallowed tools", "--disallowedTools", l.DisallowedTools},
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
	for _, dir := range l.AddDirs {
		if !strings.HasPrefix(dir, "/") || !plainText(dir, "") {
			refuse("added folder", fmt.Sprintf("%q is no absolute path", dir))
		}
		add("--add-dir", dir)
	}
	if l.SettingSources != nil {
		for _, s := range l.SettingSources {
			if s != "user" && s != "project" && s != "local" {
				refuse("setting source", fmt.Sprintf("%q is not known", s))
			}
		}
		add("--setting-sources", strings.Join(l.SettingSources, ","))
	}
	if l.AppendSystemPrompt != "" {
		if !plainText(l.AppendSystemPrompt, "\n\t") {
			refuse("system prompt", "holds control characters")
		}
		add("--append-system-prompt", l.AppendSystemPrompt)
	}
	if l.MCPConfig != nil {
		config, err := compact(l.MCPConfig)
		if err != nil || !isObject(config) {
			refuse("MCP configuration", "is no JSON object")
		}
		add("--mcp-config", string(config))
	}
	if l.MCPConfigFile != "" {
		if l.MCPConfig != nil || !strings.HasPrefix(l.MCPConfigFile, "/") || !plainText(l.MCPConfigFile, "") {
			refuse("MCP configuration", fmt.Sprintf("file %q is no absolute path, or there is another", l.MCPConfigFile))
		}
		add("--mcp-config", l.MCPConfigFile)
	}
	if l.StrictMCPConfig {
		args = append(args, "--strict-mcp-config")
	}
	if l.MaxTurns < 0 {
		refuse("turns", "cannot be negative")
	}
	if l.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(l.MaxTurns))
	}
	if l.IncludePartialMessages {
		args = append(args, "--include-partial-messages")
	}
	if l.ReplayUserMessages {
		args = append(args, "--replay-user-messages")
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return args, nil
}

// badRule says why a permission rule cannot be part of a list of rules, or returns "". The
// CLI splits the list at commas and spaces outside of parentheses and knows no escapes, so a
// rule could become two.
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

// Command returns the command to start, with the given environment.
func (l Launch) Command(env []string) (Command, error) {
	args, err := l.Args()
	if err != nil {
		return Command{}, err
	}
	return Command{Path: l.Path, Args: args, Dir: l.Dir, Env: env}, nil
}
