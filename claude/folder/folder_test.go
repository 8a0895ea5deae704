package folder_test

import (
	"errors"
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
	// A command below the line that starts it, where more is shown than fits.
	agent := func(command string) string {
		t.Helper()
		put(t, dir, map[string]string{".claude/agents/a.md": "---\nhooks: " + long + "\n---\n```!\n" + command + "\n```\n"})
		return read(t, dir).Digest
	}
	if agent("ls") == agent("evil") {
		t.Error("a command of a long agent was changed, and the digest was not")
	}
	// Bytes that are not UTF-8.
	git := func(program string) string {
		t.Helper()
		put(t, dir, map[string]string{".git/config": "[core]\nfsmonitor = " + program})
		return read(t, dir).Digest
	}
	if git("./\xfe") == git("./\xff") {
		t.Error("a program of Git was changed, and the digest was not")
	}
}

// TestTheCommandThatRunsIsShown has settings that say something else to encoding/json than to the CLI,
// which tells Command from command.
func TestTheCommandThatRunsIsShown(t *testing.T) {
	t.Parallel()
	const tame, evil = `{"type":"command","command":"tame"}`, `{"type":"command","command":"evil"}`
	const server, settings = ".mcp.json", ".claude/settings.json"
	const tameServer, tameHook = `{"mcpServers":{"x":{"command":"node","args":["a.js"]}}}`, `{"hooks":{"Stop":[{"matcher":"m","hooks":[` + tame + `]}]}}`
	for name, test := range map[string]struct{ file, plain, hostile, want string }{
		"the server's command": {
			server, tameServer, `{"mcpServers":{"x":{"command":"sh","args":["-c","evil"],"Command":"node","Args":["a.js"]}}}`,
			`runs mcp_server [x] {"command":"sh","args":["-c","evil"],"Command":"node","Args":["a.js"]}`,
		},
		"the server's type": {
			server, tameServer, `{"mcpServers":{"x":{"command":"node","args":["a.js"],"Type":"http"}}}`,
			`runs mcp_server [x] {"command":"node","args":["a.js"],"Type":"http"}`,
		},
		"the last of two commands": {
			server, tameServer, `{"mcpServers":{"x":{"command":"node","args":["a.js"],"command":"evil"}}}`,
			`runs mcp_server [x] evil a.js`,
		},
		"the last of two servers": {
			server, tameServer, `{"mcpServers":{"x":{"command":"node","args":["a.js"]},"x":{"command":"evil"}}}`,
			`runs mcp_server [x] evil`,
		},
		"a server with a name that Go cannot hold": {
			server, tameServer, `{"mcpServers":{"\ud800":{"command":"evil"},"\ud801":{"command":"node","args":["a.js"]}}}`,
			`changes unreadable [] It is not the JSON that settings are.`,
		},
		"a server with a name that is not UTF-8": {
			server, tameServer, "{\"mcpServers\":{\"\xe2\x82\":{\"command\":\"evil\"},\"\ufffd\ufffd\":{\"command\":\"node\",\"args\":[\"a.js\"]}}}",
			`changes unreadable [] It is not the JSON that settings are.`,
		},
		"hooks": {
			settings, tameHook, `{"hooks":{"SessionStart":[{"hooks":[` + evil + `],"HOOKS":[]}],"Stop":[{"matcher":"m","hooks":[` + tame + `]}]}}`,
			`runs hook [SessionStart] {"hooks":[` + evil + `],"HOOKS":[]}`,
		},
		"a matcher": {
			settings, tameHook, `{"hooks":{"Stop":[{"Matcher":"m","hooks":[` + tame + `]}]}}`,
			`runs hook [Stop] {"Matcher":"m","hooks":[` + tame + `]}`,
		},
		"what may run beside hooks": {
			settings, tameHook, `{"hooks":{"Stop":[{"matcher":"m","hooks":[` + tame + `]},{"matcher":"m","run":"evil"}]}}`,
			`runs hook [Stop m] {"matcher":"m","run":"evil"}`,
		},
		"the last of two lists of hooks": {
			settings, tameHook, `{"hooks":{"Stop":[{"matcher":"m","hooks":[` + tame + `],"hooks":[` + evil + `]}]}}`,
			`runs hook [Stop m] evil`,
		},
		"a hook's command": {
			settings, tameHook, `{"hooks":{"Stop":[{"matcher":"m","hooks":[{"type":"command","command":"evil","Command":"tame"}]}]}}`,
			`runs hook [Stop m] {"type":"command","command":"evil","Command":"tame"}`,
		},
	} {
		dir := place(t)
		put(t, dir, map[string]string{test.file: test.plain})
		plain := read(t, dir)
		put(t, dir, map[string]string{test.file: test.hostile})
		hostile := read(t, dir)
		if shown := lines(dir, hostile.Items); !slices.Contains(shown, test.file+" "+test.want) {
			t.Errorf("%s: got %q, want %q", name, shown, test.want)
		}
		if len(plain.Items) != 1 || plain.Digest == hostile.Digest {
			t.Errorf("%s: the digest is that of %q", name, lines(dir, plain.Items))
		}
	}
}

// TestCommandsInUnclosedFrontMatterAreSeen has texts that a YAML reader does not take for front matter.
func TestCommandsInUnclosedFrontMatterAreSeen(t *testing.T) {
	t.Parallel()
	dir := place(t)
	seen := map[string]bool{"": true}
	for _, text := range []string{"---\n!`evil`\n", "----\n!`evil`\n", "---\nname: x\n!`evil`\n", "---\n```!\nevil\n```\n", "---\n```!\nother\n```\n"} {
		put(t, dir, map[string]string{".claude/commands/c.md": text})
		f := read(t, dir)
		if len(f.Items) != 1 || f.Items[0].Kind != folder.Command || !strings.Contains(f.Items[0].Text, "!") || seen[f.Digest] {
			t.Errorf("%q: got %q", text, lines(dir, f.Items))
		}
		seen[f.Digest] = true
	}
	put(t, dir, map[string]string{".claude/commands/c.md": "---\nallowed-tools: Bash\ndescription: Runs !`ls`\n---\n!`ls`"})
	want := []string{".claude/commands/c.md runs command [c] allowed-tools: Bash\ndescription: Runs !`ls`\n!`ls`"}
	if got := lines(dir, read(t, dir).Items); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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
	put(t, root, map[string]string{"loose/shared/commondir": "c\n", "loose/shared/c/config": "[core]\nfsmonitor = evil\n", "loose/shared/c/objects/x": "", "loose/shared/c/refs/x": ""})
	if err := os.Symlink("refs/heads/none", filepath.Join(root, "loose/shared/HEAD")); err != nil {
		t.Fatal(err)
	}
	if got := monitorIn(t, filepath.Join(root, "loose/shared")); got != "evil" {
		t.Errorf("Git reads %q", got)
	}
	if got := kinds(read(t, filepath.Join(root, "loose/shared"))); !slices.Equal(got, []string{"git core.fsmonitor"}) {
		t.Errorf("a bare repository with a commondir: %q", got)
	}
}

// gitReads returns the entries that Git itself finds in a file of its configuration, up to the first
// mistake in it.
func gitReads(t *testing.T, file string) (list [][2]string) {
	t.Helper()
	out, err := exec.Command("git", "config", "-f", file, "--list", "-z").Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, entry := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		list = append(list, [2]string{key, value})
	}
	return list
}

// TestGitConfigurationIsReadAsGitReadsIt has what runs where a simpler reader would not look.
func TestGitConfigurationIsReadAsGitReadsIt(t *testing.T) {
	t.Parallel()
	dir := place(t)
	file := filepath.Join(dir, ".git/config")
	put(t, dir, map[string]string{".git/evil": "[core]\nsshCommand = run-included\n", ".git/a b": "[core]\nsshCommand = run-spaced\n", "sub/link/x": "", "evil": "[core]\nsshCommand = run-above\n"})
	if err := os.Symlink("../sub/link", filepath.Join(dir, ".git/link")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"sub/up": "[core]\nsshCommand = run-linked\n", ".git/up": ""})
	for text, want := range map[string][]string{
		"[core]\n# x \\\nfsmonitor = evil":               {"core.fsmonitor evil"}, // a comment ends with its line
		"[core]\nbare = no ; x \\\nfsmonitor = evil":     {"core.fsmonitor evil"},
		"[core]\nfoo = x\\\\\nfsmonitor = evil":          {"core.fsmonitor evil"}, // a backslash of its own
		"[x] [core] fsmonitor = evil":                    {"core.fsmonitor evil"},
		"[x][core]fsmonitor=evil":                        {"core.fsmonitor evil"},
		"[core]\r\nfsmonitor = ev\\\r\nil\r\n":           {"core.fsmonitor evil"},
		"\ufeff[CORE]\n\tFSMonitor\t=\tevil \\":          {"core.fsmonitor evil"},
		"[core]\nfsmonitor = \"true\"x":                  {"core.fsmonitor true\"x"},
		"[core]\nfsmonitor = \"fal\"se\\\n x":            {"core.fsmonitor fal\"se x"},
		"[remote \"o\"]\nurl = ex\"\"t::sh -c evil":      {"remote.o.url ext::sh -c evil"},
		"[remote \"o\"]\nurl = ex\\\nt::sh -c evil":      {"remote.o.url ext::sh -c evil"},
		"[alias]\nz = \"\" \"!evil\"":                    {"alias.z !evil"},
		"[alias]\nz = \"\"!evil # x":                     {"alias.z !evil # x"},
		"[filter \"a]\\\"\\b\"]\nclean = evil":           {`filter.a]"b.clean evil`},
		"[filter \"x.clean\x00\"]\ny = evil":             {"filter.x.clean evil"}, // a name ends with a zero byte
		"[include]\npath = ev\"\"il":                     {`core.sshcommand run-included`, `include.path ev""il`},
		"[include]\npath = ./link/../up":                 {"core.sshcommand run-linked", "include.path ./link/../up"},
		"[include]\npath = \"../evil\" ; x":              {"core.sshcommand run-above", `include.path ../evil" ; x`},
		"[include]\npath = a\tb":                         {"core.sshcommand run-spaced", "include.path a\tb"},
		"[diff]\nexternal = \"evil \\\"x\\\"; y\" # z":   {`diff.external evil \"x\"; y" # z`}, // as it is written
		"[core]\nfsmonitor = true # x":                   {"core.fsmonitor true # x"},
		"[core]\n# fsmonitor = evil\nx = \"# \\\n\"\n;[": nil,
	} {
		put(t, dir, map[string]string{".git/config": text})
		if got := ofGit(read(t, dir)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{ // mistakes, at which Git gives up
		"[core]\n?\nfsmonitor = evil": "core.fsmonitor evil", "[core]\n[x\nfsmonitor = evil": "core.fsmonitor evil", "[core]\nfsmonitor = ev\\il": `core.fsmonitor ev\il`,
		"[core]\nx = \"y\nfsmonitor = evil": "core.fsmonitor evil", "[core]\nx y\nfsmonitor = evil": "core.fsmonitor evil",
	} {
		put(t, dir, map[string]string{".git/config": text})
		if got := ofGit(read(t, dir)); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if err := exec.Command("git", "config", "-f", file, "--list").Run(); err == nil {
			t.Errorf("%q: Git finds no mistake", text)
		}
	}
}

func FuzzGitConfiguration(f *testing.F) {
	for _, text := range []string{
		"[core]\nfsmonitor = x", "[filter \"a\\\"b\"] clean = x", "[include] path=~/x", "[a\n]b", "\\\n[core\\\n]",
		"[core]\n# x \\\nfsmonitor = x", "[core]\nfoo = x\\\\\nfsmonitor = x", "[x] [core] fsmonitor = x", "[remote \"o\"]\nurl = ex\"\"t::x", "[alias]\nz = \"\" \"!x\"",
		"[filter \"x.clean\x00\"]\ny = x", "[core]\r\nfsmonitor = x\\\r\n\r\ty;", "\ufeff[DIFF]external", "[diff]\nexternal = a\r\r\n[pager] x=\"\\n\"",
	} {
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
		found, err := folder.Read(dir, folder.Trusted{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range gitReads(t, filepath.Join(dir, ".git/config")) {
			seen := func(i folder.Item) bool { return i.Name == e[0] }
			if len(e[0]) < 4<<10 && folder.GitRuns(e[0], e[1]) && !slices.ContainsFunc(found.Items, seen) {
				t.Errorf("%s = %q is not seen", e[0], e[1])
			}
		}
	})
}
