package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
)

// A server cannot make a runner load settings of a folder that differ from those that a person
// trusted, or that the runner never loads.
func TestARunnerChecksTrust(t *testing.T) {
	t.Parallel()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hooks, rules, nested, plain := filepath.Join(work, "hooks"), filepath.Join(work, "rules"), filepath.Join(work, "nested"), filepath.Join(work, "plain")
	for file, text := range map[string]string{
		filepath.Join(hooks, ".claude", "settings.json"): `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch a"}]}]}}`,
		filepath.Join(rules, ".claude", "settings.json"): `{"permissions":{"allow":["Bash(ls)","Bash(rm *)"]}}`,
		filepath.Join(nested, ".git", "config"):          "[include]\n\tpath = x\n",
		filepath.Join(plain, "a.txt"):                    "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(folder string, granted map[pending.Scope][]string) string {
		found, err := (&launch.CLI{}).FolderSettings(t.Context(), folder, granted)
		if err != nil {
			t.Fatal(err)
		}
		return found.Digest
	}
	ls := map[pending.Scope][]string{pending.ScopeProject: {"Bash(ls)"}}
	trusting := func(folder string) *launch.Trusted { return &launch.Trusted{Digest: digest(folder, nil)} }
	everywhere, nowhere := workspace.Roots(nil), workspace.Roots{}
	const changed, never = "changed while Claude was being started", "does not load the settings of"
	for name, c := range map[string]struct {
		in    workspace.Roots
		p     launch.Process
		wrong string // "" when it is started
	}{
		"what a person trusts":            {everywhere, launch.Process{Folder: hooks, Trusted: trusting(hooks)}, ""},
		"nothing to trust":                {nowhere, launch.Process{Folder: plain, Trusted: &launch.Trusted{}}, ""},
		"nobody trusts it":                {everywhere, launch.Process{Folder: hooks, Trusted: &launch.Trusted{}}, changed},
		"something else is trusted":       {everywhere, launch.Process{Folder: hooks, Trusted: trusting(rules)}, changed},
		"a rule that was granted":         {everywhere, launch.Process{Folder: rules, Trusted: &launch.Trusted{Digest: digest(rules, ls), Granted: ls}}, ""},
		"a rule that was not":             {everywhere, launch.Process{Folder: rules, Trusted: &launch.Trusted{Digest: digest(rules, ls)}}, changed},
		"a hook that was granted":         {everywhere, launch.Process{Folder: hooks, Trusted: &launch.Trusted{Granted: map[pending.Scope][]string{pending.ScopeProject: {"touch a"}}}}, changed},
		"an earlier server":               {everywhere, launch.Process{Folder: hooks}, ""},
		"without the settings":            {nowhere, launch.Process{Folder: hooks, UserSettingsOnly: true}, ""},
		"without what cannot be left out": {everywhere, launch.Process{Folder: nested, UserSettingsOnly: true}, changed},
		"the runner trusts the folder":    {workspace.Roots{hooks}, launch.Process{Folder: hooks, Trusted: trusting(hooks)}, ""},
		"and nobody else does":            {workspace.Roots{hooks}, launch.Process{Folder: hooks, Trusted: &launch.Trusted{}}, changed},
		"the runner trusts another":       {workspace.Roots{hooks}, launch.Process{Folder: rules, Trusted: trusting(rules)}, never},
		"the runner trusts none":          {nowhere, launch.Process{Folder: hooks, Trusted: trusting(hooks)}, never},
		"as an earlier server":            {nowhere, launch.Process{Folder: hooks}, never},
	} {
		c.p.PermissionMode, c.p.NewSession = "default", conversation
		c.p.Overrides = map[string]string{"LD_PRELOAD": "/work/a.so", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "touch a"}
		r := &recorder{}
		s := launch.Starter{CLI: &launch.CLI{Path: "/bin/sh", SettingsIn: c.in}, Commands: r, Roots: roots(work)}
		_, err := s.Open(t.Context(), c.p)
		var failed *launch.Error
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.wrong != "" && (!errors.Is(err, launch.ErrUntrusted) || !errors.As(err, &failed) || !strings.Contains(failed.Sentence, c.wrong)):
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		case (r.command.Path != "") != (c.wrong == ""):
			t.Errorf("%s: started %q", name, r.command.Path)
		case slices.ContainsFunc(r.command.Env, func(kv string) bool { return strings.HasPrefix(kv, "LD_PRELOAD") || strings.HasSuffix(kv, "touch a") }):
			t.Errorf("%s: it has the variables of the server: %q", name, r.command.Env)
		}
	}
}
