package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// settings writes the settings of the bench's folder.
func (b *bench) settings(text string) {
	b.t.Helper()
	dir := filepath.Join(b.folder, ".claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// distrust is the error of something that was refused for the folder's settings.
func (b *bench) distrust(err error) *orchestrator.UntrustedError {
	b.t.Helper()
	var e *orchestrator.UntrustedError
	if !errors.As(err, &e) {
		b.t.Fatalf("got %v, want the refusal of a folder that nobody has trusted", err)
	}
	return e
}

func (b *bench) tryStart(c orchestrator.Consent) (string, error) {
	b.t.Helper()
	return b.Start(b.t.Context(), orchestrator.StartRequest{CWD: b.folder, Prompt: "hello", Consent: c, By: b.person})
}

func hookOf(command string) string {
	return `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + command + `"}]}]}}`
}

func TestAFolderIsTrustedBeforeTheFirstRun(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		ctx := b.t.Context()
		b.settings(hookOf("touch a"))
		_, err := b.tryStart(orchestrator.Consent{})
		seen := b.distrust(err)
		if seen.Folder != b.folder || seen.Digest == "" || seen.Before != nil || len(seen.Items) != 1 || seen.Items[0].Kind != "hook" || seen.Items[0].Text != "touch a" || seen.Items[0].New {
			b.t.Errorf("got %+v", seen)
		}
		for _, digest := range []string{"sha256:0", "x", strings.ToUpper(seen.Digest)} {
			_, err := b.tryStart(orchestrator.Consent{Trust: digest})
			b.distrust(err)
		}
		if page, _, err := b.store.Sessions(ctx, session.Query{}); err != nil || len(page) != 0 || len(b.launcher.commands()) != 0 {
			b.t.Fatalf("a refused start left %d sessions and %d processes (%v)", len(page), len(b.launcher.commands()), err)
		}

		id, err := b.tryStart(orchestrator.Consent{Trust: seen.Digest})
		if err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
		if args := b.launcher.commands()[0].Args; slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--setting-sources") }) {
			b.t.Errorf("a trusted folder's settings are left out: %q", args)
		}
		id = b.start("again, and nobody is asked")
		b.wait(id, in(session.UserTurn))

		b.settings(hookOf("touch b"))
		if err := b.Kill(ctx, id, true, "test"); err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
		changed := b.distrust(b.Resume(ctx, id, b.person))
		if changed.Before == nil || changed.Before.By.Name != "Ada" || len(changed.Items) != 1 || !changed.Items[0].New || len(changed.Gone) != 1 || changed.Gone[0].Text != "touch a" {
			b.t.Errorf("got %+v", changed)
		}
		before := len(b.launcher.commands())
		b.distrust(b.Send(ctx, session.Message{MessageID: "m1", SessionID: id, Text: "go on", By: b.person, CreatedAt: time.Now()}))
		if queue, err := b.store.QueuedMessages(ctx, id); err != nil || len(queue) != 0 {
			b.t.Errorf("a refused message waits: %v, %v", queue, err)
		}
		_, err = b.Fork(ctx, id, "", b.person, "")
		b.distrust(err)
		b.distrust(b.Consent(ctx, id, orchestrator.Consent{Trust: seen.Digest}, b.person)) // of what was there before
		if len(b.launcher.commands()) != before {
			b.t.Error("a process was started in a changed folder")
		}
		if err := b.Consent(ctx, id, orchestrator.Consent{Trust: changed.Digest}, b.person); err != nil {
			b.t.Fatal(err)
		}
		if err := b.Resume(ctx, id, b.person); err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))

		b.settings(`{"model":"opus"}`) // which runs nothing
		b.wait(b.start("settings that run nothing"), in(session.UserTurn))
		var entries int
		if err := account.WalkAudit(ctx, b.store, func(account.AuditEntry) error { entries++; return nil }); err != nil || entries != 2 {
			b.t.Errorf("%d entries on record, want 2 (%v)", entries, err)
		}
	})
}

func TestASessionRunsWithoutTheSettingsOfItsFolder(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		ctx := b.t.Context()
		b.settings(hookOf("touch a"))
		id, err := b.tryStart(orchestrator.Consent{LeaveOut: true})
		if err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
		without := func(i int) bool {
			c := b.launcher.commands()[i]
			return slices.Contains(c.Args, "--setting-sources=user") && slices.Contains(c.Args, "--strict-mcp-config") && slices.Contains(c.Env, "GIT_CONFIG_KEY_0=core.fsmonitor")
		}
		if !without(0) {
			b.t.Errorf("got %q", b.launcher.commands()[0].Args)
		}
		end := func() {
			if err := b.Kill(ctx, id, true, "test"); err != nil {
				b.t.Fatal(err)
			}
			b.wait(id, in(session.Dead))
		}
		end()
		b.settings(hookOf("touch b")) // which is as little to it as the one before
		if err := b.Resume(ctx, id, b.person); err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
		fork, err := b.Fork(ctx, id, "", b.person, "")
		if err != nil {
			b.t.Fatal(err)
		}
		b.wait(fork, func(s session.ProcessState) bool { return s.PID != 0 })
		if n := len(b.launcher.commands()); n != 3 || !without(1) || !without(2) {
			b.t.Errorf("resumed or forked, it takes the settings in: %d processes", n)
		}
		end()
		seen := func() *orchestrator.UntrustedError {
			_, err := b.tryStart(orchestrator.Consent{})
			return b.distrust(err)
		}()
		if err := b.Consent(ctx, id, orchestrator.Consent{Trust: seen.Digest}, b.person); err != nil {
			b.t.Fatal(err)
		}
		if err := b.Resume(ctx, id, b.person); err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
		if without(3) {
			b.t.Error("the settings are left out of a session that was to take them in")
		}

		// What a repository's Git includes cannot be left out.
		if err := os.MkdirAll(filepath.Join(b.folder, ".git"), 0o700); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.folder, ".git", "config"), []byte("[include]\n\tpath = x\n"), 0o600); err != nil {
			b.t.Fatal(err)
		}
		_, err = b.tryStart(orchestrator.Consent{LeaveOut: true})
		if e := b.distrust(err); !e.CannotLeaveOut {
			b.t.Errorf("got %+v", e)
		}
	})
}

// TestSettingsThatChangeBeforeTheExec changes them between the decision and the
// start of the CLI, on a runner that notices, and on one of an earlier release.
func TestSettingsThatChangeBeforeTheExec(t *testing.T) {
	for name, runner := range map[string]func(*orchestrator.Options){
		"this release": func(*orchestrator.Options) {},
		"an earlier one": func(o *orchestrator.Options) {
			here, err := launch.NewRunner(o.CLI, nil)
			if err != nil {
				t.Fatal(err)
			}
			o.Runner = earlierRunner{here}
			o.Launcher.(*launcher).earlier = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b *bench
			withBench(t, claudetest.Script{}, nil, func(now *bench) {
				b = now
				id := b.start("hello")
				s := b.wait(id, in(session.Dead))
				if !strings.Contains(s.Error, "changed while Claude was being started") || len(b.launcher.commands()) != 0 {
					b.t.Errorf("got %q, and %d processes", s.Error, len(b.launcher.commands()))
				}
			}, func(o *orchestrator.Options) {
				o.MCP = &orchestrator.MCP{Tokens: changing{func() { b.settings(hookOf("touch a")) }}}
				o.Launcher.(*launcher).folder = "/nowhere"
			}, runner)
		})
	}
}

// earlierRunner does not look at the settings again when it starts a process.
type earlierRunner struct{ launch.Runner }

func (r earlierRunner) FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (launch.FolderSettings, error) {
	found, err := r.Runner.FolderSettings(ctx, dir, granted)
	return launch.FolderSettings{Found: found.Found}, err
}

// TestSettingsThatTheMachineNeverLoads can be left out, and not trusted.
func TestSettingsThatTheMachineNeverLoads(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		b.settings(hookOf("touch a"))
		_, err := b.tryStart(orchestrator.Consent{})
		seen := b.distrust(err)
		_, err = b.tryStart(orchestrator.Consent{Trust: seen.Digest})
		if again := b.distrust(err); !seen.NeverLoaded || !again.NeverLoaded || !strings.Contains(again.Error(), "The machine does not load the settings of "+b.folder) {
			b.t.Errorf("got %+v, then %v", seen, again)
		}
		if trusted, err := b.TrustedFolders(b.t.Context()); err != nil || len(trusted) != 0 {
			b.t.Errorf("trusted are %+v, %v", trusted, err)
		}
		id, err := b.tryStart(orchestrator.Consent{LeaveOut: true})
		if err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.UserTurn))
	}, func(o *orchestrator.Options) { o.CLI.SettingsIn = workspace.Roots{} })
}

// changing does something when a token is minted, which is between the two looks.
type changing struct{ do func() }

func (c changing) MintAgent(context.Context, string, string, time.Duration) (string, error) {
	c.do()
	return "token", nil
}
func (c changing) RevokeAgents(context.Context, string) error { return nil }

// TestNoAutomaticResumeInAChangedFolder: the CLI dies with a request open, the
// settings change, the request is answered.
func TestNoAutomaticResumeInAChangedFolder(t *testing.T) {
	withBench(t, claudetest.Script{Turn: []claudetest.Step{bash}}, nil, func(b *bench) {
		ctx := b.t.Context()
		id := b.start("make a file")
		r := b.die(id, 1)[0]
		b.settings(hookOf("touch a"))
		b.answer(r, nil)
		s := b.wait(id, func(s session.ProcessState) bool {
			return strings.Contains(s.Error, "Nobody has trusted the current settings")
		})
		if s.State != session.Dead || len(b.launcher.commands()) != 1 {
			b.t.Errorf("got %+v, %d processes", s, len(b.launcher.commands()))
		}
		seen := b.distrust(b.Resume(ctx, id, b.person))
		if err := b.Consent(ctx, id, orchestrator.Consent{Trust: seen.Digest}, b.person); err != nil {
			b.t.Fatal(err)
		}
		if err := b.Resume(ctx, id, b.person); err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, func(s session.ProcessState) bool { return s.Running() && s.Error == "" })
	}, func(o *orchestrator.Options) { o.Rules.ResumeOnAnswer = true })
}

func TestSessionOutsideTheRootsIsNotResumed(t *testing.T) {
	withBench(t, claudetest.Script{}, nil, func(b *bench) {
		id := b.start("hello")
		b.wait(id, in(session.UserTurn))
		if err := b.Kill(b.t.Context(), id, true, "test"); err != nil {
			b.t.Fatal(err)
		}
		b.wait(id, in(session.Dead))
		b.SetRules(orchestrator.Rules{Roots: workspace.Roots{"/elsewhere"}, Limits: orchestrator.DefaultLimits()})
		var invalid *problem.Error
		if err := b.Resume(b.t.Context(), id, b.person); !errors.As(err, &invalid) || invalid.Field != "cwd" {
			b.t.Errorf("got %v, want a refusal", err)
		}
	})
}

// TestAGrantInTheSettingsNeedsNoTrust: the CLI writes what a person always allows
// into the folder; they need not be asked whether they trust what they have said.
func TestAGrantInTheSettingsNeedsNoTrust(t *testing.T) {
	const granted = `[{"type":"addRules","behavior":"allow","destination":"projectSettings","rules":[{"toolName":"Bash","ruleContent":"touch *"}]}]`
	step := bashWith("toolu_1", "touch a")
	step.Ask["permission_suggestions"] = json.RawMessage(granted)
	withBench(t, claudetest.Script{Turn: []claudetest.Step{step}}, nil, func(b *bench) {
		id := b.start("make a file")
		r := b.wait(id, asking(1)).Requests[0]
		b.answer(r, func(s *pending.Submission) { s.UpdatedPermissions = json.RawMessage(granted) })
		b.wait(id, in(session.UserTurn))
		b.settings(`{"permissions":{"allow":["Bash(touch *)"]}}`)
		b.wait(b.start("again"), asking(1))
		b.settings(`{"permissions":{"allow":["Bash(touch *)","Bash(rm *)"]}}`)
		_, err := b.tryStart(orchestrator.Consent{})
		if e := b.distrust(err); len(e.Items) != 1 || e.Items[0].Text != "Bash(rm *)" {
			b.t.Errorf("got %+v", e.Items)
		}
	})
}
