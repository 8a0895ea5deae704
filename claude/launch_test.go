package claude_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

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
		options claude.Options
		want    []string // after those that are always there
	}{
		"nothing":     {claude.Options{}, nil},
		"new":         {claude.Options{SessionID: someUUID}, []string{"--session-id=" + someUUID}},
		"resume":      {claude.Options{Resume: someUUID}, []string{"--resume=" + someUUID}},
		"fork":        {claude.Options{Resume: someUUID, Fork: true, SessionID: otherUUID}, []string{"--session-id=" + otherUUID, "--resume=" + someUUID, "--fork-session"}},
		"model":       {claude.Options{Model: "opus[1m]", FallbackModel: "us.anthropic.claude-sonnet-4-v1:0"}, []string{"--model=opus[1m]", "--fallback-model=us.anthropic.claude-sonnet-4-v1:0"}},
		"tools":       {claude.Options{AllowedTools: []string{"Read", "Bash(git log *)", "mcp__sayso__ask_user"}, DisallowedTools: []string{"WebFetch(domain:x.org)"}}, []string{"--allowedTools=Read,Bash(git log *),mcp__sayso__ask_user", "--disallowedTools=WebFetch(domain:x.org)"}},
		"folders":     {claude.Options{AddDirs: []string{"/a b", "/c"}}, []string{"--add-dir=/a b", "--add-dir=/c"}},
		"settings":    {claude.Options{SettingSources: []string{"user", "project"}}, []string{"--setting-sources=user,project"}},
		"no settings": {claude.Options{SettingSources: []string{}}, []string{"--setting-sources="}},
		"prompt":      {claude.Options{AppendSystemPrompt: "--be\n\tnice"}, []string{"--append-system-prompt=--be\n\tnice"}},
		"mcp":         {claude.Options{MCPConfig: json.RawMessage("{ \"mcpServers\": {\n} }"), StrictMCPConfig: true}, []string{`--mcp-config={"mcpServers":{}}`, "--strict-mcp-config"}},
		"mcp file":    {claude.Options{MCPConfigFile: "/run/a b/mcp.json"}, []string{"--mcp-config=/run/a b/mcp.json"}},
		"permissions": {claude.Options{AllowBypass: true, NoPrompts: true}, []string{"--allow-dangerously-skip-permissions", "--permission-prompts=none"}},
		"continue":    {claude.Options{Continue: true, Fork: true}, []string{"--continue", "--fork-session"}},
		"rewound":     {claude.Options{Resume: someUUID, ResumeAt: otherUUID, ResumeDropsTurn: someUUID}, []string{"--resume=" + someUUID, "--resume-session-at=" + otherUUID, "--resume-drops-turn=" + someUUID}},
		"limits":      {claude.Options{MaxTurns: 3, MaxBudgetUSD: 0.5, TaskBudget: 9}, []string{"--max-turns=3", "--max-budget-usd=0.5", "--task-budget=9"}},
		"adaptive":    {claude.Options{Thinking: claude.Thinking{Type: "adaptive", Display: "omitted"}, Effort: "high"}, []string{"--thinking=adaptive", "--thinking-display=omitted", "--effort=high"}},
		"thinking":    {claude.Options{Thinking: claude.Thinking{Type: "enabled", BudgetTokens: 4000}}, []string{"--max-thinking-tokens=4000"}},
		"no thinking": {claude.Options{Thinking: claude.Thinking{Type: "disabled"}}, []string{"--thinking=disabled"}},
		"loads":       {claude.Options{Tools: []string{"Read", "Bash"}, Agent: "a b", Betas: []string{"context-1m-2025-08-07"}, ProjectConfigRoot: "/r", ManagedSettings: json.RawMessage(`{ }`)}, []string{"--tools=Read,Bash", "--agent=a b", "--betas=context-1m-2025-08-07", "--project-config-root=/r", "--managed-settings={}"}},
		"skills":      {claude.Options{AllowedTools: []string{"Read"}, Skills: []string{"pdf", "docs:review"}}, []string{"--allowedTools=Read,Skill(pdf),Skill(docs:review)"}},
		"all skills":  {claude.Options{Skills: []string{"all"}}, []string{"--allowedTools=Skill"}},
		"no tools":    {claude.Options{Tools: []string{}}, []string{"--tools="}},
		"plugins":     {claude.Options{Plugins: []claude.Plugin{{Path: "/a b"}, {Path: "/c", SkipMCPDiscovery: true}}}, []string{"--plugin-dir=/a b", "--plugin-dir-no-mcp=/c"}},
		"servers":     {claude.Options{MCPServers: map[string]claude.MCPServerConfig{"x": claude.StdioServer{Command: "srv", Args: []string{"-v"}, Timeout: time.Second}, "y": claude.HTTPServer{URL: "https://y"}}}, []string{`--mcp-config={"mcpServers":{"x":{"args":["-v"],"command":"srv","timeout":1000,"type":"stdio"},"y":{"type":"http","url":"https://y"}}}`}},
		"output":      {claude.Options{IncludeHookEvents: true, SessionMirror: true, NoPersistence: true, Debug: true, DebugFile: "/d", ExtraArgs: []string{"--new-flag", "--value=--x"}}, []string{"--include-hook-events", "--session-mirror", "--no-session-persistence", "--debug", "--debug-file=/d", "--new-flag", "--value=--x"}},
		"agents":      {claude.Options{Agents: map[string]claude.Agent{"a": {Description: "x", Prompt: "y"}}}, nil}, // initialize has them: argv has a limit
		"rest":        {claude.Options{MaxTurns: 3, IncludePartialMessages: true, ReplayUserMessages: true}, []string{"--max-turns=3", "--include-partial-messages", "--replay-user-messages"}},
	} {
		got, err := test.options.Args()
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
		for field, l := range map[string]claude.Options{
			"permission mode": {PermissionMode: v},
			"session id":      {SessionID: v},
			"resume":          {Resume: v},
			"model":           {Model: v},
			"fallback model":  {FallbackModel: v},
			"allowed tools":   {AllowedTools: []string{v}},
			"added folder":    {AddDirs: []string{v}},
			"setting source":  {SettingSources: []string{v}},
			"tools":           {Tools: []string{v}},
			"skills":          {Skills: []string{v}},
			"betas":           {Betas: []string{v}},
			"plugin":          {Plugins: []claude.Plugin{{Path: v}}},
			"effort":          {Effort: v},
			"thinking":        {Thinking: claude.Thinking{Type: v}},
			"debug file":      {DebugFile: v},
			"project config":  {ProjectConfigRoot: v},
		} {
			args, err := l.Args()
			if !errors.Is(err, claude.ErrLaunch) || args != nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s %q: got %q, %v; want a refusal that names it", field, v, args, err)
			}
		}
	}
	for name, l := range map[string]claude.Options{
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
		"extra argument":         {ExtraArgs: []string{"-p"}},
		"extra value":            {ExtraArgs: []string{"prompt"}},
		"settings":               {Settings: json.RawMessage(`[]`)},
		"server without command": {MCPServers: map[string]claude.MCPServerConfig{"x": claude.StdioServer{}}},
		"schema":                 {OutputSchema: json.RawMessage(`{`)},
		"agent without prompt":   {Agents: map[string]claude.Agent{"a": {Description: "x"}}},
		"continue with resume":   {Continue: true, Resume: someUUID},
		"store without files":    {SessionStore: &memoryStore{}, NoPersistence: true},
		"rule with newline":      {PermissionMode: "default", AllowedTools: []string{"Bash(a\nb)"}},
	} {
		if args, err := l.Args(); !errors.Is(err, claude.ErrLaunch) || args != nil {
			t.Errorf("%s: got %q, %v; want a refusal", name, args, err)
		}
	}
}

func TestBypassNeedsConsent(t *testing.T) {
	t.Parallel()
	args, err := claude.Options{PermissionMode: "bypassPermissions", AllowBypass: true}.Args()
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
	secrets := []string{"AWS_REGION=r", "AZURE_CLIENT_ID=i", "IDENTITY_HEADER=h", "CLOUD_ML_REGION=r", "GOOGLE_APPLICATION_CREDENTIALS=/g", "VERTEX_REGION_X=r"}
	for provider, want := range map[string]string{
		"CLAUDE_CODE_USE_BEDROCK=1": "AWS_REGION=r CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_USE_VERTEX=1":  "CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_VERTEX=1 CLOUD_ML_REGION=r GOOGLE_APPLICATION_CREDENTIALS=/g VERTEX_REGION_X=r",
		"CLAUDE_CODE_USE_MANTLE=1":  "AWS_REGION=r CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_MANTLE=1",
		"CLAUDE_CODE_USE_FOUNDRY=1": "AZURE_CLIENT_ID=i CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_FOUNDRY=1 IDENTITY_HEADER=h",
		"CLAUDE_CODE_USE_BEDROCK=0": "CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_BEDROCK=0",
	} {
		got := strings.Join(claude.Environ(append(secrets, provider, "CLAUDE_CODE_ENTRYPOINT=cli"), "", nil), " ")
		if got != want {
			t.Errorf("%s: got %s, want %s", provider, got, want)
		}
	}
}

func TestSettingsKeepPlanModeAsking(t *testing.T) {
	t.Parallel()
	args, err := claude.Options{Settings: json.RawMessage(`{ "model": "opus" }`)}.Args()
	if want := `--settings={"useAutoModeDuringPlan":false,"model":"opus"}`; err != nil || !slices.Contains(args, want) {
		t.Errorf("got %q %v, want %s", args, err, want)
	}
}
