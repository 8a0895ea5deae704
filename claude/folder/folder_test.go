package folder_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/claude/folder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func place(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir string, own ...string) folder.Found {
	t.Helper()
	f, err := folder.Read(dir, folder.Trusted{Own: own})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// lines shows items as one line each, with paths relative to root.
func lines(root string, items []folder.Item) []string {
	list := []string{}
	for _, i := range items {
		rel, err := filepath.Rel(root, i.File)
		if err != nil {
			rel = i.File
		}
		list = append(list, fmt.Sprintf("%s %s %s [%s] %s", rel, i.Danger, i.Kind, i.Name, i.Text))
	}
	return list
}

func TestAFolderWithoutSettingsRunsNothing(t *testing.T) {
	t.Parallel()
	dir := place(t)
	for name, files := range map[string]map[string]string{
		"empty":                           {},
		"source":                          {"main.go": "package main", ".git/config": "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"},
		"instructions":                    {"CLAUDE.md": "Use pnpm.", ".claude/agents/a.md": "---\nname: a\ndescription: b\n---\nYou are a.", ".claude/commands/fix.md": "Fix it.", ".claude/skills/s/SKILL.md": "---\nname: s\n---\n", ".claude/skills/s/script.sh": "touch x"},
		"tightening":                      {".claude/settings.json": `{"model":"opus","permissions":{"deny":["Bash(rm *)"],"ask":["Edit"],"defaultMode":"plan"},"disableAllHooks":true}`},
		"nothing said":                    {".claude/settings.json": " \n", ".claude/settings.local.json": "{}", ".mcp.json": `{"mcpServers":{}}`},
		"a folder in the place of a file": {".mcp.json/x": "", ".claude/settings.json/x": ""},
	} {
		root := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.MkdirAll(root, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, root, files)
		if f := read(t, root); f.Digest != "" || len(f.Items) > 0 || f.CannotOverride {
			t.Errorf("%s: got %q", name, lines(root, f.Items))
		}
	}
	if f := read(t, filepath.Join(dir, "instructions")); len(f.Instructions) != 4 {
		t.Errorf("told %q, want 4 files", f.Instructions)
	}
}

// TestEverythingTheCLILoadsIsFound has one of everything in every folder from which
// the CLI takes something, and in those from which it does not.
func TestEverythingTheCLILoadsIsFound(t *testing.T) {
	t.Parallel()
	root := place(t)
	hook := func(name string) string {
		return `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"` + name + `"}]}]}}`
	}
	server := func(name string) string { return `{"mcpServers":{"` + name + `":{"command":"` + name + `"}}}` }
	put(t, root, map[string]string{
		".mcp.json": server("outer"), ".claude/settings.json": hook("outer"), ".claude/settings.local.json": hook("outer"),
		".claude/agents/outer.md": "---\nhooks: x\n---",
		"repo/.git/config":        "[core]\n\tfsmonitor = \"touch x\"\n[filter \"Evil\"]\n\tclean = evil\n[alias]\n\tst = !evil\n\tco = checkout\n",
		"repo/.mcp.json":          server("repo"), "repo/.claude/settings.json": hook("repo"), "repo/.claude/settings.local.json": hook("repo local"),
		"repo/.claude/agents/repo.md": "---\nname: repo\nhooks:\n  Stop: []\n---\n",
		"repo/mid/.mcp.json":          server("mid"), "repo/mid/.claude/settings.local.json": hook("mid"),
		"repo/mid/cwd/.mcp.json": `{"mcpServers":{"a":{"type":"stdio","command":"node","args":["a b.js","x"]},"b":{"type":"http","url":"https://example.com"},"c":{"command":"c","env":{"PATH":"."}}}}`,
		"repo/mid/cwd/.claude/settings.json": `{
			"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"first"},{"type":"command","command":"second","timeout":5},{"type":"prompt","prompt":"p"}]}]},
			"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:9","NODE_OPTIONS":"--require x","FLAVOUR":"sweet"},
			"apiKeyHelper":"helper","statusLine":{"type":"command","command":"line"},
			"permissions":{"allow":["Bash(*)"],"deny":["Read"],"defaultMode":"bypassPermissions","additionalDirectories":["/etc"]},
			"enabledPlugins":{"x@y":true},"newInTheNextVersion":{"do":"it"},"model":"opus"}`,
		"repo/mid/cwd/.claude/settings.local.json": hook("cwd local"),
		"repo/mid/cwd/.claude/commands/run.md":     "---\nallowed-tools: Bash(*)\n---\nRun !`evil` now",
		"repo/mid/cwd/.claude/skills/s/SKILL.md":   "---\n\"\\x68ooks\": x\n---\n",
		"repo/mid/cwd/.claude/agents/tame.md":      "---\nname: tame\n---\nhooks are explained here",
	})
	got := read(t, filepath.Join(root, "repo/mid/cwd"))
	want := []string{
		".mcp.json runs mcp_server [outer] outer",
		"repo/.claude/agents/repo.md runs agent [repo] name: repo\nhooks:\n  Stop: []",
		"repo/.claude/settings.local.json runs hook [SessionStart] repo local",
		"repo/.git/config runs git [alias.st] !evil",
		"repo/.git/config runs git [core.fsmonitor] touch x",
		"repo/.git/config runs git [filter.Evil.clean] evil",
		"repo/.mcp.json runs mcp_server [repo] repo",
		"repo/mid/.mcp.json runs mcp_server [mid] mid",
		"repo/mid/cwd/.claude/commands/run.md runs command [run] allowed-tools: Bash(*)\nRun !`evil` now",
		"repo/mid/cwd/.claude/settings.json runs helper [apiKeyHelper] helper",
		"repo/mid/cwd/.claude/settings.json runs helper [statusLine] line",
		`repo/mid/cwd/.claude/settings.json runs hook [PreToolUse Bash] first`,
		`repo/mid/cwd/.claude/settings.json runs hook [PreToolUse Bash] {"type":"command","command":"second","timeout":5}`,
		`repo/mid/cwd/.claude/settings.json runs hook [PreToolUse Bash] {"type":"prompt","prompt":"p"}`,
		"repo/mid/cwd/.claude/settings.json permits rule [] Bash(*)",
		`repo/mid/cwd/.claude/settings.json runs setting [enabledPlugins] {"x@y":true}`,
		`repo/mid/cwd/.claude/settings.json changes setting [newInTheNextVersion] {"do":"it"}`,
		`repo/mid/cwd/.claude/settings.json permits setting [permissions.additionalDirectories] ["/etc"]`,
		`repo/mid/cwd/.claude/settings.json permits setting [permissions.defaultMode] "bypassPermissions"`,
		"repo/mid/cwd/.claude/settings.json redirects variable [ANTHROPIC_BASE_URL] http://127.0.0.1:9",
		"repo/mid/cwd/.claude/settings.json changes variable [FLAVOUR] sweet",
		"repo/mid/cwd/.claude/settings.json runs variable [NODE_OPTIONS] --require x",
		"repo/mid/cwd/.claude/settings.local.json runs hook [SessionStart] cwd local",
		`repo/mid/cwd/.claude/skills/s/SKILL.md runs skill [s] "\x68ooks": x`,
		`repo/mid/cwd/.mcp.json runs mcp_server [a] node "a b.js" x`,
		`repo/mid/cwd/.mcp.json runs mcp_server [b] {"type":"http","url":"https://example.com"}`,
		`repo/mid/cwd/.mcp.json runs mcp_server [c] {"command":"c","env":{"PATH":"."}}`,
	}
	lacking := slices.DeleteFunc(lines(root, got.Items), func(l string) bool { return slices.Contains(want, l) })
	extra := slices.DeleteFunc(slices.Clone(want), func(l string) bool { return slices.Contains(lines(root, got.Items), l) })
	if len(lacking)+len(extra) > 0 {
		t.Errorf("not wanted:\n%s\nmissing:\n%s", strings.Join(lacking, "\n"), strings.Join(extra, "\n"))
	}
	if !slices.Equal(got.Instructions, []string{filepath.Join(root, "repo/mid/cwd/.claude/agents/tame.md")}) {
		t.Errorf("told %q", got.Instructions)
	}
	variables, ok := got.OverrideVariables()
	wantVariables := map[string]string{
		"CLAUDE_CODE_DISABLE_CRON": "1",
		"GIT_CONFIG_COUNT":         "3", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false",
		"GIT_CONFIG_KEY_1": "log.showSignature", "GIT_CONFIG_VALUE_1": "false", "GIT_CONFIG_KEY_2": "filter.Evil.clean", "GIT_CONFIG_VALUE_2": "",
	}
	if !ok || !maps.Equal(variables, wantVariables) {
		t.Errorf("got %v, %t", variables, ok)
	}
}

func TestDigestCoversEverythingThatRuns(t *testing.T) {
	t.Parallel()
	dir := place(t)
	settings := func(text string) string {
		t.Helper()
		put(t, dir, map[string]string{".claude/settings.json": text})
		return read(t, dir).Digest
	}
	one := settings(`{"env":{"A":"1"}}`)
	if again := settings("{\n  \"env\": {\"A\": \"1\"}, \"model\": \"opus\", \"permissions\": {\"deny\": [\"Read\"]}\n}"); again != one {
		t.Error("what runs nothing changes the digest")
	}
	seen := map[string]bool{one: true}
	long := strings.Repeat("x", 10_000)
	for _, text := range []string{
		`{"env":{"A":"2"}}`, `{"env":{"B":"1"}}`, `{"apiKeyHelper":"1"}`, `{"env":{"A":"` + long + `1"}}`, `{"env":{"A":"` + long + `2"}}`,
		`{"env":{"A":"1"}`, `[]`, `{"env":{"A":"1"},"A":1}`, `{"hooks":[]}`, `{"hooks":{"Stop":[{"hooks":[],"new":1}]}}`, `{"permissions":[]}`,
	} {
		digest := settings(text)
		if digest == "" || seen[digest] {
			t.Errorf("%.40s: digest %q is that of nothing or of another", text, digest)
		}
		seen[digest] = true
	}
	put(t, dir, map[string]string{".claude/settings.json": "{}", ".claude/agents/a.md": "---\nhooks: |\n  1\n---\n"})
	first := read(t, dir).Digest
	put(t, dir, map[string]string{".claude/agents/a.md": "---\nhooks: |\n  1\n---\nother words"})
	if second := read(t, dir).Digest; first == "" || first == second {
		t.Error("an agent with hooks was changed, and the digest was not")
	}
}

// TestWhatCannotBeReadIsSaid holds that nothing hides behind a file that we cannot
// make sense of, or that would hold us up.
func TestWhatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	root := place(t)
	dir := filepath.Join(root, "cwd")
	put(t, dir, map[string]string{
		".claude/settings.local.json": "\ufeff{\"env\":{}} // a comment",
		".mcp.json":                   `{"servers":{}}`,
		".git/config":                 "[core]\n  bare = false\n[include]\n  path = ../hooks.inc\n",
	})
	if err := syscall.Mkfifo(filepath.Join(dir, ".claude", "settings.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := read(t, dir)
	want := []string{
		"cwd/.claude/settings.json changes unreadable [] It is no plain file.",
		"cwd/.claude/settings.local.json changes unreadable [] It is not the JSON that settings are.",
		"cwd/.git/config runs git [include.path] ../hooks.inc",
		"cwd/.mcp.json changes unreadable [] It names no MCP servers in the way that is known.",
	}
	if got := lines(root, f.Items); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, ok := f.OverrideVariables(); ok || !f.CannotOverride {
		t.Error("an included file is left out")
	}
	large := filepath.Join(root, "large")
	put(t, large, map[string]string{".mcp.json": `{"mcpServers":{}}` + strings.Repeat(" ", 5<<20)})
	one := read(t, large)
	put(t, large, map[string]string{".mcp.json": `{"mcpServers":{}}` + strings.Repeat(" ", 5<<20) + "\n"})
	if other := read(t, large); one.Digest == "" || one.Digest == other.Digest {
		t.Errorf("a large file is not told from another: %q", lines(root, one.Items))
	}
	if err := os.Symlink("/dev/zero", filepath.Join(large, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	many := filepath.Join(root, "many")
	if err := os.MkdirAll(filepath.Join(many, ".claude", "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(many, ".claude", "agents", "again")); err != nil {
		t.Fatal(err)
	}
	if got := lines(root, read(t, many).Items); len(got) != 1 || !strings.Contains(got[0], "more files than can be looked at") {
		t.Errorf("a link in a circle: %q", got)
	}
}

func TestWhatAPersonHadAllowedIsKnown(t *testing.T) {
	t.Parallel()
	dir := place(t)
	put(t, dir, map[string]string{
		".claude/settings.local.json": `{"permissions":{"allow":["Bash(make *)","Bash(rm *)"]}}`, ".claude/settings.json": `{"permissions":{"allow":["Bash(make *)"]}}`,
	})
	f, err := folder.Read(dir, folder.Trusted{Allowed: map[string][]string{filepath.Join(dir, ".claude/settings.local.json"): {"Bash(make *)"}}})
	want := []string{".claude/settings.json permits rule [] Bash(make *)", ".claude/settings.local.json permits rule [] Bash(rm *)"}
	if err != nil || !slices.Equal(lines(dir, f.Items), want) {
		t.Errorf("got %q, %v, want %q", lines(dir, f.Items), err, want)
	}
}

func TestOwnSettingsAreNoRepositorys(t *testing.T) {
	t.Parallel()
	home := place(t)
	put(t, home, map[string]string{
		".claude/settings.json": `{"apiKeyHelper":"mine"}`, ".claude/agents/a.md": "---\nhooks: x\n---", ".claude/CLAUDE.md": "x",
		".claude/plugins/evil/.claude/settings.json": `{"apiKeyHelper":"theirs"}`,
	})
	own := filepath.Join(home, ".claude")
	if f := read(t, home, own); len(f.Items)+len(f.Instructions) > 0 {
		t.Errorf("got %q, told %q", lines(home, f.Items), f.Instructions)
	}
	if f := read(t, filepath.Join(own, "plugins", "evil"), own); len(f.Items) != 1 {
		t.Errorf("a repository among one's own settings: %q", lines(home, f.Items))
	}
	if f := read(t, home); len(f.Items) != 2 {
		t.Errorf("another's home: %q", lines(home, f.Items))
	}
}

// TestRepositoriesAreFoundAsGitFindsThem has Git itself make them.
func TestRepositoriesAreFoundAsGitFindsThem(t *testing.T) {
	t.Parallel()
	root := place(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "main")
	git("-C", "main", "commit", "-q", "--allow-empty", "-m", "x")
	git("-C", "main", "worktree", "add", "-q", "../tree")
	put(t, root, map[string]string{
		"main/.claude/settings.local.json": `{"env":{"MAIN":"1"}}`, "main/.claude/agents/m.md": "---\nhooks: x\n---", "tree/sub/x": "",
	})
	git("-C", "main", "config", "--file", filepath.Join(root, "main/.git/config"), "diff.external", "evil \\ \"x\" # no comment")
	git("-C", "main", "config", "Filter.A.b.process", "evil")
	git("init", "-q", "--bare", "loose/evil")
	git("-C", "loose/evil", "config", "core.fsmonitor", "evil")
	kinds := func(f folder.Found) (list []string) {
		for _, i := range f.Items {
			list = append(list, string(i.Kind)+" "+i.Name)
		}
		slices.Sort(list)
		return list
	}
	want := []string{"agent m", "git diff.external", "git filter.A.b.process", "variable MAIN"}
	for _, cwd := range []string{"main", "tree", "tree/sub"} {
		if got := kinds(read(t, filepath.Join(root, cwd))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", cwd, got, want)
		}
	}
	if got := kinds(read(t, filepath.Join(root, "loose/evil"))); !slices.Equal(got, []string{"git core.fsmonitor"}) {
		t.Errorf("a bare repository: %q", got)
	}
}

func FuzzGitConfiguration(f *testing.F) {
	for _, text := range []string{"[core]\nfsmonitor = x", "[filter \"a\\\"b\"] clean = x", "[include] path=~/x", "[a\n]b", "\\\n[core\\\n]"} {
		f.Add(text)
	}
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		put(t, dir, map[string]string{".git/config": text})
		if _, err := folder.Read(dir, folder.Trusted{}); err != nil {
			t.Fatal(err)
		}
	})
}
