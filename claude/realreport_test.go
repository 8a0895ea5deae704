package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// oauthServer is an MCP server over HTTP that needs a sign-in, and the place to sign in.
func oauthServer(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	var s *httptest.Server
	respond := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(401)
			return
		}
		var m rpc
		if r.Method != "POST" || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(405)
			return
		}
		switch m.Method {
		case "initialize":
			var p struct{ ProtocolVersion string }
			json.Unmarshal(m.Params, &p)
			respond(w, rpc{JSONRPC: "2.0", ID: m.ID, Result: json.RawMessage(`{"protocolVersion":"` + p.ProtocolVersion + `","capabilities":{"tools":{}},"serverInfo":{"name":"o","version":"1"}}`)})
		case "tools/list":
			respond(w, rpc{JSONRPC: "2.0", ID: m.ID, Result: json.RawMessage(`{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`)})
		default:
			if m.ID == nil {
				w.WriteHeader(202)
				return
			}
			respond(w, rpc{JSONRPC: "2.0", ID: m.ID, Error: json.RawMessage(`{"code":-32601,"message":"no"}`)})
		}
	})
	mux.HandleFunc("/.well-known/", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "protected-resource") {
			respond(w, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
			return
		}
		respond(w, map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "c1"
		w.WriteHeader(201)
		respond(w, in)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		respond(w, map[string]any{"access_token": "a1", "token_type": "Bearer", "expires_in": 3600})
	})
	s = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// The contract with the real CLI about what it reports about itself, and about its MCP servers.
func TestRealReport(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			old := version == "2.1.197"
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
				"elicitor": map[string]any{"command": exe, "args": []string{mcpServer}},
				"broken":   map[string]any{"command": "/nonexistent"},
				"oauth":    map[string]any{"type": "http", "url": oauthServer(t).URL + "/mcp"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			s := startReal(t, realCLI(t, variable, version), func(o *claude.Options) {
				o.MCPConfig, o.AllowedTools, o.SettingSources = config, []string{"mcp__elicitor__elicit"}, nil
				for name, text := range map[string]string{
					".claude/settings.json":          `{"permissions":{"deny":["Bash(rm *)"]},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo hi"}]}]},"enabledPlugins":{"foo@bar":true}}`,
					".claude/settings.local.json":    `{"permissions":{"allow":["WebFetch(domain:example.org)"]}}`,
					".claude/skills/review/SKILL.md": "---\nname: review\ndescription: Review the branch\n---\nDo it.\n",
					".claude/agents/checker.md":      "---\nname: checker\ndescription: Checks things\n---\nCheck.\n",
				} {
					path := filepath.Join(o.Dir, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			})
			hello := s.initialize()
			if !slices.ContainsFunc(hello.Commands, func(c claude.CommandInfo) bool { return c.Name == "review" && !c.Builtin }) ||
				!slices.Contains(hello.Agents, claude.AgentInfo{Name: "checker", Description: "Checks things"}) {
				t.Errorf("got %+v and %+v", hello.Commands, hello.Agents)
			}
			ctx, cancel := context.WithTimeout(t.Context(), realPatience)
			defer cancel()

			// becomes waits until a server has a status: the CLI connects while it works.
			becomes := func(name, status string) (found claude.MCPServerStatus) {
				t.Helper()
				for {
					servers, err := s.client.MCPStatus(ctx)
					if err != nil {
						t.Fatalf("%s is not %s: %v: %+v", name, status, err, servers)
					}
					for _, found = range servers {
						if found.Name == name && found.Status == status {
							return found
						}
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			if got := becomes("elicitor", "connected"); len(got.Tools) != 1 || got.Tools[0].Name != "elicit" || got.Config.Command != exe {
				t.Errorf("got %+v", got)
			}
			if got := becomes("broken", "failed"); !strings.Contains(got.Error, "ENOENT") {
				t.Errorf("got %+v", got)
			}
			becomes("oauth", "needs-auth")

			if err := s.client.ToggleMCP(ctx, "elicitor", false); err != nil {
				t.Error(err)
			}
			becomes("elicitor", "disabled")
			if err := s.client.ToggleMCP(ctx, "elicitor", true); err != nil {
				t.Error(err)
			}
			becomes("elicitor", "connected")
			if err := s.client.ReconnectMCP(ctx, "elicitor"); err != nil {
				t.Error(err)
			}
			var refused *claude.RequestError
			if err := s.client.ReconnectMCP(ctx, "broken"); !errors.As(err, &refused) || !strings.Contains(refused.Sentence, "ENOENT") {
				t.Errorf("got %v", err)
			}
			if err := s.client.ToggleMCP(ctx, "nobody", true); !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}

			address, err := s.client.AuthenticateMCP(ctx, "oauth")
			if err != nil {
				t.Fatal(err)
			}
			to, err := url.Parse(address)
			if err != nil || to.Path != "/authorize" || !strings.HasPrefix(to.Query().Get("redirect_uri"), "http://localhost:") {
				t.Errorf("got %s, %v", address, err)
			}
			if err := s.client.FinishMCPSignIn(ctx, "oauth", to.Query().Get("redirect_uri")+"?code=x&state="+to.Query().Get("state")); err != nil {
				t.Error(err)
			}
			if err := s.client.ReconnectMCP(ctx, "oauth"); err != nil { // it does not do so by itself
				t.Error(err)
			}
			becomes("oauth", "connected")

			usage, err := s.client.ContextUsage(ctx)
			kinds := map[string]string{}
			for _, c := range usage.Categories {
				kinds[c.Name] = c.Kind
			}
			if err != nil || usage.MaxTokens < 100_000 || usage.TotalTokens < 1000 || kinds["System prompt"] != "used" || kinds["Free space"] != "free" || !usage.AutoCompacts || usage.AutoCompactThreshold == 0 {
				t.Errorf("got %+v, %v", usage, err)
			}
			if len(usage.Agents) != 1 || usage.Agents[0].Source != "projectSettings" || usage.Skills.List[0].Name != "review" {
				t.Errorf("got %+v and %+v", usage.Agents, usage.Skills)
			}
			settings, err := s.client.Settings(ctx)
			deny := claude.PermissionRule{Behavior: "deny", Source: "projectSettings", Rule: "Bash(rm *)"}
			if err != nil || !settings.Plugins["foo@bar"] || !slices.Contains(settings.Rules, deny) {
				t.Errorf("got %+v, %v", settings, err)
			}
			if limits, err := s.client.PlanLimits(ctx); err != nil || limits != nil {
				t.Errorf("got %v, %v", limits, err)
			}
			rules, rulesErr := s.client.PermissionRules(ctx)
			hooks, policy, hooksErr := s.client.Hooks(ctx)
			if old {
				if !errors.As(rulesErr, &refused) || !errors.As(hooksErr, &refused) {
					t.Errorf("got %v and %v", rulesErr, hooksErr)
				}
				return
			}
			if rulesErr != nil || !slices.Contains(rules, deny) || !slices.Contains(rules, claude.PermissionRule{Behavior: "allow", Source: "cliArg", Rule: "mcp__elicitor__elicit"}) {
				t.Errorf("got %+v, %v", rules, rulesErr)
			}
			want := claude.ListedHook{Event: "PreToolUse", Matcher: "Bash", Source: "projectSettings", Type: "command", Text: "echo hi"}
			if hooksErr != nil || !slices.Equal(hooks, []claude.ListedHook{want}) || policy != (claude.HookPolicy{}) {
				t.Errorf("got %+v, %+v, %v", hooks, policy, hooksErr)
			}
		})
	}
}
