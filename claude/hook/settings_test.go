package hook_test

import (
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude/hook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const settings = `{
  "model": "opus",
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}],
    "PermissionRequest": [
      {
        "matcher": "",
        "hooks": [
          {
            "type": "command",
            "command": "beep",
            "async": true
          }
        ]
      }
    ]
  },
  "permissions": {"allow": ["Bash(ls *)"]}
}
`

func TestInstallAndUninstall(t *testing.T) {
	t.Parallel()
	args := []string{"hook", "--connect", "/home/ann/it's here/hook.json"}
	for name, before := range map[string]string{
		"among others":   settings,
		"in an empty":    "{}\n",
		"without hooks":  "{\n  \"model\": \"opus\"\n}\n",
		"on one line":    `{"hooks":{"Stop":[]},"x":1}`,
		"of another one": strings.Replace(settings, `"beep"`, `"/usr/bin/sayso hook --connect /other"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once, err := hook.Install([]byte(before), "/usr/bin/old sayso", args...)
			must(t, err)
			for _, want := range []string{`'/usr/bin/old sayso' hook --connect '/home/ann/it'\\''s here/hook.json'`, `"timeout": 86400`, `"Notification"`} {
				if got := strings.ReplaceAll(string(once), `"timeout":86400`, `"timeout": 86400`); !strings.Contains(got, want) {
					t.Errorf("%s is not in\n%s", want, got)
				}
			}
			for range 20 {
				again, err := hook.Install(once, "/usr/bin/old sayso", args...)
				must(t, err)
				if string(again) != string(once) {
					t.Fatalf("the same again gave\n%s", again)
				}
			}
			twice, err := hook.Install(once, "/usr/bin/new", args...)
			must(t, err)
			if strings.Contains(string(twice), "old") || strings.Count(string(twice), "/usr/bin/new") != 2 {
				t.Errorf("a second time gave\n%s", twice)
			}
			after, err := hook.Uninstall(twice, args...)
			must(t, err)
			if string(after) != before {
				t.Errorf("after Uninstall:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A command of ours that somebody put beside another one goes alone.
func TestUninstallLeavesTheNeighbour(t *testing.T) {
	t.Parallel()
	before := `{"hooks":{"PermissionRequest":[{"matcher":"Bash","hooks":[{"type":"command","command":"a"},{"type":"command","command":"x hook"},7]},"strange"]}}`
	after, err := hook.Uninstall([]byte(before), "hook")
	must(t, err)
	if want := `{"hooks":{"PermissionRequest":[{"matcher":"Bash","hooks":[{"type":"command","command":"a"},7]},"strange"]}}`; string(after) != want {
		t.Errorf("got %s", after)
	}
}

func TestInstallRefusesStrangeSettings(t *testing.T) {
	t.Parallel()
	for _, before := range []string{`{"hooks":[]}`, `{"hooks":{"PermissionRequest":{}}}`, `nonsense`} {
		if after, err := hook.Install([]byte(before), "sayso", "hook"); err == nil {
			t.Errorf("%s became %s", before, after)
		}
	}
}

// The command is for sh: whatever stands in a path, it is one word.
func TestTheCommandIsForSh(t *testing.T) {
	t.Parallel()
	after, err := hook.Install([]byte("{}"), "/bin/echo", `a'b "c" $(d) \e`, "", "plain")
	must(t, err)
	line := strings.SplitN(string(after), `"command": "`, 2)[1]
	line = strings.SplitN(line, `",`, 2)[0]
	line = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(line)
	out, err := exec.Command("sh", "-c", line).Output()
	must(t, err)
	if want := `a'b "c" $(d) \e  plain` + "\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
