package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of settings into the documentation")

// settingsPage is where the documentation lists the settings, between two marks.
var settingsPage = filepath.Join("..", "..", "docs", "operating", "settings.md")

const (
	beginSettings = "<!-- settings: go test ./cmd/sayso -run TestSettingsAreDocumented -update -->\n"
	endSettings   = "<!-- end of settings -->\n"
)

// pagesOfSettings are the links of the documentation, by the names in the table.
var pagesOfSettings = map[string]string{
	"access-log": "metrics.md#access-log", "traces": "metrics.md#traces", "retention": "retention.md", "acme": "network.md#acme", "oidc": "people.md#openid-connect", "claude-user": "isolation.md#a-separate-user",
	"sandbox": "isolation.md#sandbox", "trusted-folder": "hardening.md#trusted-folders", "runner": "runners.md", "local-runner": "runners.md#a-server-without-sessions", "audit": "audit.md#retention",
}

func settingsMarkdown(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(beginSettings + "| Setting | Type | Default | Reloads | Description |\n|---|---|---|---|---|\n")
	for _, r := range settingsTable {
		reloads, help := "", r.help
		if r.reload {
			reloads = "yes"
		}
		if r.see != "" {
			page := pagesOfSettings[r.see]
			if page == "" {
				t.Errorf("%s: the documentation has no %s", r.name, r.see)
			}
			help += fmt.Sprintf(" ([more](%s))", page)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.name, r.typeName(), r.defaultText(), reloads, help)
	}
	b.WriteString(endSettings)
	return b.String()
}

// TestSettingsAreDocumented compares the documentation with the table.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(settingsPage)
	if err != nil {
		t.Fatal(err)
	}
	text, want := string(data), settingsMarkdown(t)
	begin, end := strings.Index(text, beginSettings), strings.Index(text, endSettings)
	if begin < 0 || end < begin {
		t.Fatalf("%s has no table of settings between its marks", settingsPage)
	}
	end += len(endSettings)
	if text[begin:end] == want {
		return
	}
	if !*update {
		t.Fatalf("the settings in %s are not those of the table; run: go test ./cmd/sayso -run %s -update\nwant:\n%s", settingsPage, t.Name(), want)
	}
	if err := os.WriteFile(settingsPage, []byte(text[:begin]+want+text[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEachSettingComesFromEverywhere sets every setting in the file, in the environment
// and as a flag, and takes what stands there in this order.
func TestEachSettingComesFromEverywhere(t *testing.T) {
	t.Parallel()
	for _, r := range settingsTable {
		values := []string{"a", "b", "c"}
		quote := func(v string) string { return fmt.Sprintf("%q", v) }
		switch r.field(&settings{}).(type) {
		case *[]string:
			quote = func(v string) string { return fmt.Sprintf("[%q]", v) }
		case *bool:
			values, quote = []string{"false", "true", "false"}, func(v string) string { return v }
		case *int, *float64:
			values, quote = []string{"7", "8", "9"}, func(v string) string { return v }
		case *duration:
			values = []string{"1m0s", "2m0s", "3m0s"}
		}
		if r.name == "public-url" { // which is brought into one form
			values = []string{"https://a.example", "https://b.example", "https://c.example"}
		}
		t.Run(r.name, func(t *testing.T) {
			line := r.fileKey() + " = " + quote(values[0]) + "\n" // dotted, which is the same as in a table
			file := filepath.Join(t.TempDir(), "sayso.toml")
			if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			s := defaultSettings(func(string) string { return "" })
			if err := s.readFile(file); err != nil || r.format(s) != values[0] {
				t.Fatalf("from the file: %q, %v, want %q", r.format(s), err, values[0])
			}
			for i, args := range [][]string{nil, {"--" + r.name, values[2]}} {
				// Values that go with no others are refused only when all are read.
				got, _, _ := readSettings("serve", args, func(name string) string {
					return map[string]string{"SAYSO_CONFIG": file, r.variable(): values[1]}[name]
				})
				want := values[i+1]
				if r.name == "state-dir" {
					want, _ = filepath.Abs(want)
				}
				if r.check == nil && r.format(got) != want {
					t.Errorf("with the flags %q: %q, want %q", args, r.format(got), want)
				}
			}
		})
	}
}

// TestUnknownVariablesAreNamed names what is spelled like a setting and is none.
func TestUnknownVariablesAreNamed(t *testing.T) {
	t.Parallel()
	got := unknownVariables([]string{
		"SAYSO_LISTEN=a", "SAYSO_LISTENS=b", "SAYSO_CONFIG=c", "SAYSO_BOOTSTRAP_TOKEN=d", "SAYSO_OIDC_CLIENT_SECRET=e", "PATH=f",
		"SAYSO_TEST_CLAUDE_NEW=g", "SAYSO_SHIM=1", "SAYSO_IDLE-LIMIT=h", "SAYSO_LISTENS=i", "SAYSO_TOKEN=j", "SAYSO_SERVER=k",
	})
	if want := []string{"SAYSO_IDLE-LIMIT", "SAYSO_LISTENS"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestValuesOfSettingsAreChecked gives each type what it refuses.
func TestValuesOfSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ file, flag, want string }{
		{"user_sessions = -1", "--user-sessions=-1", "use a number from 0 to 1000000"},
		{"user_cost = nan", "--user-cost=NaN", "use a number from 0 to 1000000"},
		{"idle_limit = \"-1s\"", "--idle-limit=-1s", "must not be negative"},
		{"resume_on_answer = \"true\"", "--resume-on-answer=perhaps", ""},
		{"listen = 1", "--user-memory=much", ""},
		{"ask = true", "--ask-timeout=1s", ""},
		{"nothing = 1", "--nothing=1", ""},
		{"oidc.nothing = 1", "--oidc-role", ""},
	} {
		if _, err := reads(t, row.file, nil); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.file, err, row.want)
		}
		if _, err := reads(t, "", nil, row.flag); err == nil || !errors.As(err, new(usageError)) && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.flag, err, row.want)
		}
	}
}

// TestErrorsOfSettingsNameTheirPlace gives values that are wrong in the file, in a variable and
// in a flag.
func TestErrorsOfSettingsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		file     string
		variable string
		flag     string
		want     string
	}{
		{file: "\nidle_limit = 5", want: `sayso.toml: line 2: idle_limit: "5" is not a duration such as 90s, 30m or 2h`},
		{file: `resume_on_answer = "yes"`, want: `sayso.toml: resume_on_answer: wrong type; use true or false`},
		{file: `listen = 1`, want: `sayso.toml: listen: wrong type; use text in quotes`},
		{file: `workspace_root = "/"`, want: `sayso.toml: workspace_root: wrong type; use a list in brackets`},
		{file: `user_sessions = "3"`, want: `sayso.toml: user_sessions: wrong type; use a number`},
		{file: `listen =`, want: `sayso.toml: line 1: `},
		{variable: "soon", want: `SAYSO_IDLE_LIMIT: "soon" is not a duration such as 90s, 30m or 2h`},
		{flag: "--idle-limit=soon", want: `--idle-limit: "soon" is not a duration such as 90s, 30m or 2h`},
	} {
		args := []string{row.flag}
		if row.flag == "" {
			args = nil
		}
		_, err := reads(t, row.file, map[string]string{"SAYSO_IDLE_LIMIT": row.variable}, args...)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v, want %s", err, row.want)
		}
	}
}

func TestShortDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0", time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 20 * time.Second: "20s", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

// TestNamesOfServers: a name that people choose is one word.
func TestNamesOfServers(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{"a": true, "büro-2.example.org": true, "a b": false, "a\n": false, "-a": false, strings.Repeat("a", 101): false} {
		_, _, err := readSettings("serve", []string{"--state-dir", t.TempDir(), "--node-id", name}, func(string) string { return "" })
		if (err == nil) != valid {
			t.Errorf("--node-id %q: %v", name, err)
		}
	}
}
