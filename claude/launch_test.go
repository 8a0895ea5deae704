package claude_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

const (
	someUUID  = "7f0e8b4e-7f5b-4c52-8a4e-1c8f6f3d2a10"
	otherUUID = "0b0c6d7e-1f2a-4b3c-8d4e-5f6a7b8c9d0e"
)

var alwaysThere = []string{
	"--output-format=stream-json", "--verbose", "--input-format=stream-json", "--permission-prompt-tool=stdio",
	`--settings={"useAutoModeDuringPlan":false}`, "--permission-mode=default",
}

func TestArgs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		launch claude.Launch
		want   []string // after those that are always there
	}{
		"nothing":     {claude.Launch{}, nil},
		"new":         {claude.Launch{SessionID: someUUID}, []string{"--session-id=" + someUUID}},
		"resume":      {claude.Launch{Resume: someUUID}, []string{"--resume=" + someUUID}},
		"fork":        {claude.Launch{Resume: someUUID, Fork: true, SessionID: otherUUID}, []string{"--session-id=" + otherUUID, "--resume=" + someUUID, "--fork-session"}},
		"model":       {claude.Launch{Model: "opus[1m]", FallbackModel: "us.anthropic.claude-sonnet-4-v1:0"}, []string{"--model=opus[1m]", "--fallback-model=us.anthropic.claude-sonnet-4-v1:0"}},
		"tools":       {claude.Launch{AllowedTools: []string{"Read", "Bash(git log *)", "mcp__sayso__ask_user"}, DisallowedTools: []string{"WebFetch(domain:x.org)"}}, []string{"--allowedTools=Read,Bash(git log *),mcp__sayso__ask_user", "--disallowedTools=WebFetch(domain:x.org)"}},
		"folders":     {claude.Launch{AddDirs: []string{"/a b", "/c"}}, []string{"--add-dir=/a b", "--add-dir=/c"}},
		"settings":    {claude.Launch{SettingSources: []string{"user", "project"}}, []string{"--setting-sources=user,project"}},
		"no settings": {claude.Launch{SettingSources: []string{}}, []string{"--setting-sources="}},
		"prompt":      {claude.Launch{AppendSystemPrompt: "--be\n\tnice"}, []string{"--append-system-prompt=--be\n\tnice"}},
		"mcp":         {claude.Launch{MCPConfig: json.RawMessage("{ \"mcpServers\": {\n} }"), StrictMCPConfig: true}, []string{`--mcp-config={"mcpServers":{}}`, "--strict-mcp-config"}},
		"mcp file":    {claude.Launch{MCPConfigFile: "/run/a b/mcp.json"}, []string{"--mcp-config=/run/a b/mcp.json"}},
		"rest":        {claude.Launch{MaxTurns: 3, IncludePartialMessages: true, ReplayUserMessages: true}, []string{"--max-turns=3", "--include-partial-messages", "--replay-user-messages"}},
	} {
		test.launch.PermissionMode = "default"
		got, err := test.launch.Args()
		if want := slices.Concat(alwaysThere, test.want); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got  %q %v\nwant %q", name, got, err, want)
		}
	}
}

// No string from outside may reach a position in argv where it could be taken
// for a flag, or split into two arguments by whoever reads it.
func TestArgsRefuseWhatCouldBeAFlag(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"--dangerously-skip-permissions", "-p", "--settings=/tmp/x", "a b", "$(touch x)", "`touch x`", "a\nb", "a\x00b", "a'b", `a"b`, " ", "\xff", "a,b", "a;b",
	}
	for _, v := range hostile {
		for field, l := range map[string]claude.Launch{
			"permission mode": {PermissionMode: v},
			"session id":      {SessionID: v},
			"resume":          {Resume: v},
			"model":           {Model: v},
			"fallback model":  {FallbackModel: v},
			"allowed tools":   {AllowedTools: []string{v}},
			"added folder":    {AddDirs: []string{v}},
			"setting source":  {SettingSources: []string{v}},
		} {
			if l.PermissionMode == "" {
				l.PermissionMode = "default"
			}
			args, err := l.Args()
			if !errors.Is(err, claude.ErrLaunch) || args != nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s %q: got %q, %v; want a refusal that names it", field, v, args, err)
			}
		}
	}
	for name, l := range map[string]claude.Launch{
		"no permission mode":     {},
		"bypass without consent": {PermissionMode: "bypassPermissions"},
		"id with resume":         {PermissionMode: "default", SessionID: someUUID, Resume: otherUUID},
		"fork without resume":    {PermissionMode: "default", Fork: true},
		"negative turns":         {PermissionMode: "default", MaxTurns: -1},
		"MCP list":               {PermissionMode: "default", MCPConfig: json.RawMessage(`[]`)},
		"MCP file no path":       {PermissionMode: "default", MCPConfigFile: "--strict-mcp-config"},
		"MCP file with newline":  {PermissionMode: "default", MCPConfigFile: "/a\nb"},
		"MCP twice":              {PermissionMode: "default", MCPConfigFile: "/a", MCPConfig: json.RawMessage(`{}`)},
		"MCP no JSON":            {PermissionMode: "default", MCPConfig: json.RawMessage(`{`)},
		"prompt with NUL":        {PermissionMode: "default", AppendSystemPrompt: "a\x00b"},
		"rule that is two":       {PermissionMode: "default", AllowedTools: []string{"Bash(a),Write(b)"}},
		"rule left open":         {PermissionMode: "default", AllowedTools: []string{"Bash(a"}},
		"rule with newline":      {PermissionMode: "default", AllowedTools: []string{"Bash(a\nb)"}},
	} {
		if args, err := l.Args(); !errors.Is(err, claude.ErrLaunch) || args != nil {
			t.Errorf("%s: got %q, %v; want a refusal", name, args, err)
		}
	}
}

func TestBypassNeedsConsent(t *testing.T) {
	t.Parallel()
	args, err := claude.Launch{PermissionMode: "bypassPermissions", AllowBypass: true}.Args()
	if err != nil || !slices.Contains(args, "--allow-dangerously-skip-permissions") {
		t.Errorf("got %q %v", args, err)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	parent := []string{
		"HOME=/h", "PATH=/bin", "LANG=C", "LC_ALL=C", "TERM=x", "TZ=UTC", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "TMPDIR=/t", "XDG_CONFIG_HOME=/x",
		"HTTPS_PROXY=p", "https_proxy=p=q", "NODE_EXTRA_CA_CERTS=/ca", "SSL_CERT_FILE=/c",
		"ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "MCP_TOOL_TIMEOUT=1",
		// not for Claude
		"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "NODE_OPTIONS=--inspect", "LD_PRELOAD=/evil.so", "DYLD_INSERT_LIBRARIES=/e",
		"SAYSO_BOOTSTRAP_TOKEN=secret", "AWS_SECRET_ACCESS_KEY=secret", "GOOGLE_APPLICATION_CREDENTIALS=/secret", "DATABASE_URL=secret", "PWD=/elsewhere", "BASH_ENV=/e", "nonsense", "=x",
	}
	got := claude.Environ(parent, "/work", map[string]string{"EXTRA": "1", "TERM": "dumb"})
	want := []string{
		"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_CONFIG_DIR=/c", "EXTRA=1", "HOME=/h", "HTTPS_PROXY=p", "LANG=C", "LC_ALL=C", "LOGNAME=u",
		"MCP_TOOL_TIMEOUT=1", "NODE_EXTRA_CA_CERTS=/ca", "PATH=/bin", "PWD=/work", "SHELL=/bin/sh", "SSL_CERT_FILE=/c", "TERM=dumb", "TMPDIR=/t", "TZ=UTC", "USER=u",
		"XDG_CONFIG_HOME=/x", "https_proxy=p=q",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEnvironOfOtherProviders(t *testing.T) {
	t.Parallel()
	secrets := []string{"AWS_REGION=r", "CLOUD_ML_REGION=r", "GOOGLE_APPLICATION_CREDENTIALS=/g", "VERTEX_REGION_X=r"}
	for provider, want := range map[string]string{
		"CLAUDE_CODE_USE_BEDROCK=1": "AWS_REGION=r CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_USE_VERTEX=1":  "CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_VERTEX=1 CLOUD_ML_REGION=r GOOGLE_APPLICATION_CREDENTIALS=/g VERTEX_REGION_X=r",
		"CLAUDE_CODE_USE_BEDROCK=0": "CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_BEDROCK=0",
	} {
		got := strings.Join(claude.Environ(append(secrets, provider, "CLAUDE_CODE_ENTRYPOINT=cli"), "", nil), " ")
		if got != want {
			t.Errorf("%s: got %s, want %s", provider, got, want)
		}
	}
}
