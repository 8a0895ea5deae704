package claude

import (
	"slices"
	"sort"
	"strings"
)

// inherited lists the variables that [Environ] passes on; a trailing * matches any suffix.
var inherited = []string{
	"HOME", "PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"ANTHROPIC_*", "CLAUDE_*",
	"MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "MAX_MCP_OUTPUT_TOKENS", "MAX_THINKING_TOKENS",
	"DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_PROMPT_CACHING",
}

// inheritedWith lists variables that are passed on if the variable that enables the provider is set.
// Otherwise the CLI has no use for them, and they would only be secrets within Claude's reach.
var inheritedWith = map[string][]string{
	"CLAUDE_CODE_USE_BEDROCK":                aws,
	"CLAUDE_CODE_USE_MANTLE":                 aws,
	"CLAUDE_CODE_USE_ANTHROPIC_AWS":          aws,
	"CLAUDE_CODE_USE_VERTEX":                 googleCloud,
	"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD": googleCloud,
	// The last three belong to a managed identity.
	"CLAUDE_CODE_USE_FOUNDRY": {"AZURE_*", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT"},
}

var (
	aws         = []string{"AWS_*"}
	googleCloud = []string{"GOOGLE_*", "CLOUD_ML_REGION", "VERTEX_*", "GCLOUD_PROJECT", "CLOUDSDK_*"}
)

// neverInherited takes precedence over inherited. The first two make the CLI believe that it runs
// inside another CLI; the host sets the others itself.
var neverInherited = []string{
	"CLAUDECODE", "CLAUDE_CODE_SESSION_ID",
	"CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "CLAUDE_CODE_RESUME_REASON",
}

// Environ returns the environment of a CLI that works in dir, sorted: the allowed variables of
// parent (KEY=value, as in os.Environ), PWD, CLAUDE_CODE_ENTRYPOINT unless parent has it, and extra.
// extra takes precedence. It is for the host's own settings, never for anything a client sent.
func Environ(parent []string, dir string, extra map[string]string) []string {
	allowed := inherited
	for provider, more := range inheritedWith {
		if slices.ContainsFunc(parent, func(kv string) bool {
			value, found := strings.CutPrefix(kv, provider+"=")
			return found && value != "" && value != "0" && value != "false"
		}) {
			allowed = slices.Concat(allowed, more)
		}
	}
	vars := map[string]string{"CLAUDE_CODE_ENTRYPOINT": "sdk-go"}
	for _, kv := range parent {
		if name, value, ok := strings.Cut(kv, "="); ok && matches(allowed, name) && !slices.Contains(neverInherited, name) {
			vars[name] = value
		}
	}
	if dir != "" {
		vars["PWD"] = dir
	}
	for name, value := range extra {
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	sort.Strings(env)
	return env
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == pattern
	})
}
