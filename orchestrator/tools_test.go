package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/session"
)

// replies is a turn after which the CLI answers control requests so.
func replies(list ...claudetest.Reply) claudetest.Script {
	var s claudetest.Script
	for _, r := range list {
		s.Turn = append(s.Turn, claudetest.Step{Reply: &r})
	}
	s.Turn = append(s.Turn, claudetest.Step{Text: "ok"})
	return s
}

func object(text string) (o map[string]any) {
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	return o
}

func reasonOf(err error) string {
	var p *problem.Error
	if errors.As(err, &p) {
		return p.Reason
	}
	return fmt.Sprint(err)
}

func TestToolsOfASession(t *testing.T) {
	script := replies(
		claudetest.Reply{Subtype: "mcp_status", Response: object(`{"mcpServers":[
			{"name":"git hub","status":"connected","scope":"user","config":{"type":"http","url":"https://user:secret@mcp.example.org/x?token=secret"},"tools":[{"name":"list"},{"name":"push"},{"name":"drop"},{"name":"read"}]},
			{"name":"sayso","status":"connected","tools":[]},
			{"name":"linear","status":"needs-auth"}]}`)},
		claudetest.Reply{Subtype: "get_context_usage", Response: object(`{"skills":{"skillFrontmatter":[{"name":"review","source":"projectSettings"},{"name":"loop","source":"built-in"}]},"agents":[{"agentType":"checker","source":"userSettings"}]}`)},
		claudetest.Reply{Subtype: "get_settings", Response: object(`{"effective":{"env":{"TOKEN":"secret"},"enabledPlugins":{"a@b":true,"c@d":false}},"sources":[]}`)},
		claudetest.Reply{Subtype: "get_hooks_listing", Response: object(`{"hooks":[{"event":"PreToolUse","matcher":"Bash","source":"projectSettings","type":"command","commandText":"echo hi"}],"policy":{"policyHookCount":2}}`)},
		claudetest.Reply{Subtype: "list_permission_rules", Response: object(`{"state":{"rules":[
			{"behavior":"allow","source":"userSettings","rule":"mcp__git_hub"},
			{"behavior":"ask","source":"policySettings","rule":"mcp__git_hub__push"},
			{"behavior":"deny","source":"localSettings","rule":"mcp__git_hub__drop"},
			{"behavior":"deny","source":"userSettings","rule":"mcp__git_hub__read","notInEffect":true}]}}`)},
	)
	withBench(t, script, nil, func(b *bench) {
		id := b.start("one")
		b.wait(id, in(session.UserTurn))
		got, err := b.Tools(b.t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprintf("%+v", got), "secret") {
			t.Errorf("a secret is in %+v", got)
		}
		var approvals []string
		for _, tool := range got.Servers[0].Tools {
			approvals = append(approvals, tool.Name+" "+string(tool.Approval))
		}
		if want := []string{"list allowed", "push asks", "drop denied", "read allowed"}; !slices.Equal(approvals, want) {
			t.Errorf("got %q, want %q", approvals, want)
		}
		if s := got.Servers; s[0].Host != "mcp.example.org" || s[0].Own || !s[1].Own || s[2].Status != "needs-auth" {
			t.Errorf("got %+v", s)
		}
		if len(got.Skills) != 2 || got.Skills[0].BuiltIn || !got.Skills[1].BuiltIn || len(got.Agents) != 1 || len(got.Hooks) != 1 || got.Policy.Managed != 2 || len(got.Rules) != 4 {
			t.Errorf("got %+v", got)
		}
		if want := []orchestrator.Plugin{{Name: "a@b", Enabled: true}, {Name: "c@d"}}; !slices.Equal(got.Plugins, want) {
			t.Errorf("got %+v", got.Plugins)
		}
		if len(got.Missing)+len(got.Unanswered)+len(got.More) != 0 {
			t.Errorf("got %v, %v, %v", got.Missing, got.Unanswered, got.More)
		}
	})
}

// An older CLI refuses what it does not know; a hostile one answers with anything.
func TestToolsOfOtherCLIs(t *testing.T) {
	const unsupported = "Unsupported control request subtype"
	long := strings.Repeat("é", 5000)
	many := make([]any, 1000)
	for i := range many {
		many[i] = map[string]any{"name": fmt.Sprint(i, long), "status": "connected", "error": long, "tools": many[:i/500], "config": map[string]any{"url": "http://%zz" + long}}
	}
	for name, c := range map[string]struct {
		replies []claudetest.Reply
		want    func(orchestrator.Tools) bool
		err     string
	}{
		"older": {[]claudetest.Reply{
			{Subtype: "get_hooks_listing", Error: unsupported}, {Subtype: "list_permission_rules", Error: unsupported}, {Subtype: "get_context_usage", Response: object(`{}`)},
			{Subtype: "get_settings", Response: object(`{"sources":[{"source":"projectSettings","settings":{"permissions":{"allow":["Read"],"deny":["Bash(rm *)"]}}}]}`)},
		}, func(t orchestrator.Tools) bool {
			return slices.Equal(t.Missing, []string{"session_rules", "hooks"}) && len(t.Rules) == 2 && t.Rules[0].Behavior == "deny" && t.Rules[0].Source == "projectSettings"
		}, ""},
		"partly silent": {[]claudetest.Reply{
			{Subtype: "get_settings", Never: true}, {Subtype: "get_hooks_listing", Never: true}, {Subtype: "list_permission_rules", Never: true}, {Subtype: "get_context_usage", Never: true},
		}, func(t orchestrator.Tools) bool {
			return slices.Equal(t.Unanswered, []string{"skills", "plugins", "hooks", "rules"})
		}, ""},
		"silent": {[]claudetest.Reply{
			{Subtype: "mcp_status", Never: true}, {Subtype: "get_settings", Never: true}, {Subtype: "get_hooks_listing", Never: true}, {Subtype: "list_permission_rules", Never: true}, {Subtype: "get_context_usage", Never: true},
		}, nil, "claude_unanswered"},
		"of another shape": {[]claudetest.Reply{
			{Subtype: "mcp_status", Response: object(`{"mcpServers":{"a":1}}`)}, {Subtype: "get_settings", Response: object(`{"effective":[],"sources":[{"source":1,"settings":"x"}]}`)},
			{Subtype: "get_hooks_listing", Response: object(`{"hooks":[1,{"event":2}]}`)}, {Subtype: "list_permission_rules", Response: object(`{"state":{"rules":["x"]}}`)}, {Subtype: "get_context_usage", Response: object(`{"skills":[]}`)},
		}, func(t orchestrator.Tools) bool { return len(t.Servers) == 0 && len(t.Skills) == 0 }, ""},
		"long": {[]claudetest.Reply{
			{Subtype: "mcp_status", Response: map[string]any{"mcpServers": many}}, {Subtype: "get_context_usage", Response: object(`{}`)},
			{Subtype: "get_hooks_listing", Response: map[string]any{"hooks": []any{map[string]any{"commandText": long, "event": long}}}},
			{Subtype: "list_permission_rules", Response: map[string]any{"state": map[string]any{"rules": []any{map[string]any{"rule": long, "behavior": "allow", "source": long}}}}},
		}, func(t orchestrator.Tools) bool {
			data, _ := json.Marshal(t)
			return len(t.Servers) == 300 && slices.Equal(t.More, []string{"servers"}) && len(data) < 1<<20
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, replies(c.replies...), nil, func(b *bench) {
				id := b.start("one")
				b.wait(id, in(session.UserTurn))
				began := time.Now()
				got, err := b.Tools(b.t.Context(), id)
				switch {
				case c.err != "":
					if reasonOf(err) != c.err {
						t.Errorf("got %v, want %s", err, c.err)
					}
				case err != nil:
					t.Error(err)
				case !c.want(got):
					t.Errorf("got %+v", got)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestToolsWithoutAProcess(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		id := b.start("one")
		b.wait(id, in(session.UserTurn))
		if err := b.Kill(b.t.Context(), id, false, "Ended."); err != nil {
			t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
		if _, err := b.Tools(b.t.Context(), id); !errors.Is(err, orchestrator.ErrNotRunning) {
			t.Errorf("got %v", err)
		}
		if _, err := b.ContextUsage(b.t.Context(), id); !errors.Is(err, orchestrator.ErrNotRunning) {
			t.Errorf("got %v", err)
		}
		if _, err := b.Tools(b.t.Context(), "nothing"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}

func TestChangedServersAreOnRecord(t *testing.T) {
	script := replies(
		claudetest.Reply{Subtype: "mcp_status", Response: object(`{"mcpServers":[{"name":"a","status":"connected"}]}`)},
		claudetest.Reply{Subtype: "mcp_authenticate", Response: object(`{"authUrl":"https://sign-in.example.org/a","requiresUserAction":true}`)},
		claudetest.Reply{Subtype: "mcp_oauth_callback_url", Response: object(`{}`)},
	)
	broken := claudetest.Prompt(claudetest.Step{Reply: &claudetest.Reply{Subtype: "mcp_reconnect", Error: "ENOENT: /nonexistent"}})
	withBench(t, script, nil, func(b *bench) {
		id, ctx := b.start("one"), b.t.Context()
		b.wait(id, in(session.UserTurn))
		if err := b.EnableServer(ctx, id, "a", false, b.person); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Tools(ctx, id); err != nil || got.Servers[0].Status != "disabled" {
			t.Errorf("got %+v, %v", got.Servers, err)
		}
		if err := b.EnableServer(ctx, id, "a", true, b.person); err != nil {
			t.Error(err)
		}
		if address, err := b.SignInToServer(ctx, id, "a", b.person); err != nil || address != "https://sign-in.example.org/a" {
			t.Errorf("got %s, %v", address, err)
		}
		if err := b.FinishServerSignIn(ctx, id, "a", "http://localhost:3118/callback?code=x&state=y", b.person); err != nil {
			t.Error(err)
		}
		for _, callback := range []string{"", "javascript:alert(1)", "https://localhost/?state=x", "http://example.org/?state=x", "http://u@localhost/?state=x", "http://localhost/?code=x"} {
			if err := b.FinishServerSignIn(ctx, id, "a", callback, b.person); reasonOf(err) != "mcp_sign_in_callback" {
				t.Errorf("%s: got %v", callback, err)
			}
		}
		b.turn(id, broken)
		if err := b.ReconnectServer(ctx, id, "a", b.person); reasonOf(err) != "mcp_server_failed" || !strings.Contains(err.Error(), "ENOENT: /nonexistent") {
			t.Errorf("got %v", err)
		}
		if err := b.EnableServer(ctx, id, "sayso", false, b.person); reasonOf(err) != "mcp_server_own" {
			t.Errorf("got %v", err)
		}
		var record []string
		if err := account.WalkAudit(context.WithoutCancel(ctx), b.store, func(e account.AuditEntry) error {
			var entry struct {
				What, Server string
				By           struct{ Name string }
			}
			err := json.Unmarshal(e.Body, &entry)
			record = append(record, entry.What+" "+entry.Server+" by "+entry.By.Name)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"mcp_server_disabled a by Ada", "mcp_server_enabled a by Ada", "mcp_sign_in_started a by Ada", "mcp_sign_in_finished a by Ada", "mcp_server_reconnected a by Ada"}; !slices.Equal(record, want) {
			t.Errorf("got %q, want %q", record, want)
		}
	})
}

// A browser is not sent where a hostile server likes.
func TestSignInAddresses(t *testing.T) {
	for address, shown := range map[string]bool{
		"https://sign-in.example.org/a?b=c": true, "http://127.0.0.1:1/a": true, "http://localhost:1/a": true, "": true,
		"http://example.org/": false, "javascript:alert(1)": false, "data:text/html,x": false, "https://": false,
		"https://bank.example@evil.example/": false, "https://example.org/" + strings.Repeat("a", 9000): false, "//example.org": false,
	} {
		t.Run(address[:min(len(address), 40)], func(t *testing.T) {
			withBench(t, replies(claudetest.Reply{Subtype: "mcp_authenticate", Response: map[string]any{"authUrl": address}}), nil, func(b *bench) {
				id := b.start("one")
				b.wait(id, in(session.UserTurn))
				got, err := b.SignInToServer(b.t.Context(), id, "a", b.person)
				if shown && (err != nil || got != address) || !shown && (got != "" || reasonOf(err) != "mcp_sign_in_address") {
					t.Errorf("got %q, %v", got, err)
				}
			})
		})
	}
}

func TestContextOfASession(t *testing.T) {
	script := replies(
		claudetest.Reply{Subtype: "get_context_usage", Response: object(`{"totalTokens":30000.4,"maxTokens":200000,"isAutoCompactEnabled":true,"autoCompactThreshold":167000,
			"categories":[{"id":"messages","name":"Messages","kind":"used","tokens":30000},{"name":"Free space","tokens":-5},{"name":"Other tools","tokens":1e300,"isDeferred":true}],
			"memoryFiles":[{"path":"/w/CLAUDE.md","tokens":12}]}`)},
		claudetest.Reply{Subtype: "get_usage", Response: object(`{"rate_limits_available":true,"rate_limits":{"seven_day":{"utilization":41.6,"resets_at":"2026-11-30T00:00:00Z"},"seven_day_opus":null,"model_scoped":[]}}`)},
	)
	script.Turn = slices.Insert(script.Turn, 0, claudetest.Step{Raw: `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"five_hour","utilization":0.9,"resetsAt":1795000000}}`})
	withBench(t, script, nil, func(b *bench) {
		id := b.start("one")
		b.wait(id, in(session.UserTurn))
		got, err := b.ContextUsage(b.t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		want := []orchestrator.ContextCategory{
			{ID: "messages", Name: "Messages", Kind: "used", Tokens: 30000}, {Name: "Free space", Kind: "free"}, {Name: "Other tools", Kind: "deferred", Tokens: 1e12},
		}
		if got.Tokens != 30000 || got.Window != 200000 || got.CompactsAt != 167000 || !slices.Equal(got.Categories, want) || got.Files[0].Tokens != 12 {
			t.Errorf("got %+v", got)
		}
		limits := []orchestrator.AccountLimit{
			{Name: "five_hour", Status: "allowed_warning", Percent: 90, Known: true, ResetsAt: time.Unix(1795000000, 0)},
			{Name: "seven_day", Percent: 42, Known: true, ResetsAt: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
		}
		if fmt.Sprint(got.Limits) != fmt.Sprint(limits) {
			t.Errorf("got %+v, want %+v", got.Limits, limits)
		}
	})
}
