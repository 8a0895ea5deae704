package folder_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/memdir"
)

// gitIn has Git itself work in root, with no settings but those of its repositories.
func gitIn(t *testing.T, root string) func(args ...string) {
	return func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
}

// monitorIn returns the core.fsmonitor that Git itself reads in a folder.
func monitorIn(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("git", "config", "core.fsmonitor")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("git config in %s: %v", dir, err)
	}
	return strings.TrimSpace(string(out))
}

// ofGit are the items of Git, by their name and what they run.
func ofGit(f folder.Found) (list []string) {
	for _, i := range f.Items {
		if i.Kind == folder.Git {
			list = append(list, i.Name+" "+strings.TrimSpace(i.Text))
		}
	}
	slices.Sort(list)
	return list
}

// TestNestedRepositoriesAreSeen has repositories in every way in which one can lie in
// another; each would have Git run a program of its own.
func TestNestedRepositoriesAreSeen(t *testing.T) {
	t.Parallel()
	root := place(t)
	git := gitIn(t, root)
	evil := func(at, name string) {
		git("-C", at, "commit", "-q", "--allow-empty", "-m", "x")
		git("-C", at, "config", "core.fsmonitor", "run-"+name)
	}
	git("init", "-q", "main")
	put(t, root, map[string]string{"main/sub/file": "x"})
	git("-C", "main", "add", ".")
	git("-C", "main", "commit", "-q", "-m", "x")
	for _, name := range []string{"gitlink", "a/b/c/d/deep", "plain", "node_modules/p", ".hidden/h"} {
		git("init", "-q", "main/"+name)
		evil("main/"+name, filepath.Base(name))
	}
	git("-C", "main", "add", "gitlink", "a/b/c/d/deep")
	git("init", "-q", "main/gitlink/again")
	evil("main/gitlink/again", "again")
	git("-C", "main/gitlink", "worktree", "add", "-q", "../tree")
	git("init", "-q", "--separate-git-dir", filepath.Join(root, "elsewhere"), "main/separate")
	evil("main/separate", "separate")
	git("init", "-q", "--bare", "main/bare.txt")
	git("-C", "main/bare.txt", "config", "core.fsmonitor", "run-bare")
	git("init", "-q", "linked-from")
	evil("linked-from", "linked")
	put(t, root, map[string]string{"main/linked/x": ""})
	if err := os.Symlink(filepath.Join(root, "linked-from", ".git"), filepath.Join(root, "main/linked/.git")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "main/plain/.git"), filepath.Join(root, "main/plain/.GIT")); err != nil { // as a file system without case finds it
		t.Fatal(err)
	}
	put(t, root, map[string]string{
		"main/included/.git/config": "[include]\n\tpath = ../more # a comment\n[includeIf \"gitdir:/nowhere\"]\n\tpath = \"~/mine\"\n",
		"main/included/more":        "[diff \"x\"]\n\ttextconv = run-included\n[include]\npath = more\n",
		"home/mine":                 "[core]\n\tsshCommand = run-conditional\n",
	})
	// Bare ones whose objects, refs and configuration are elsewhere, as those of worktrees are.
	shared := func(dir, commondir, common, name string) {
		put(t, root, map[string]string{
			dir + "/HEAD": "ref: refs/heads/main\n", dir + "/commondir": commondir,
			common + "/config": "[core]\n\tfsmonitor = run-" + name + "\n", common + "/objects/x": "", common + "/refs/x": "",
		})
		if got := monitorIn(t, filepath.Join(root, dir)); got != "run-"+name {
			t.Errorf("in %s Git reads %q", dir, got)
		}
	}
	shared("main/shared", "c", "main/shared/c", "shared")
	shared("main/spaced", "c \r\n\n", "main/spaced/c ", "spaced")
	shared("main/zero", "c\x00d", "main/zero/c", "zero")
	put(t, root, map[string]string{"main/goal/sub/x": "", "main/above/x": ""})
	if err := os.Symlink("../goal/sub", filepath.Join(root, "main/above/link")); err != nil {
		t.Fatal(err)
	}
	shared("main/above", "link/../c", "main/goal/c", "above")
	put(t, root, map[string]string{
		"main/folded/head": "ref: refs/heads/main\n", "main/folded/OBJECTS/x": "", "main/folded/Refs/x": "", "main/folded/config": "[core]\n\tfsmonitor = run-folded\n",
		"main/named/.git": "gitdir: ../../named \n", "named /config": "[core]\n\tfsmonitor = run-named\n",
		"main/not/HEAD": "x", "main/not/objects/x": "", "main/not/config": "[core]\n\tfsmonitor = run-nothing\n",
	})
	want := []string{
		"core.fsmonitor run-above", "core.fsmonitor run-again", "core.fsmonitor run-bare", "core.fsmonitor run-deep", "core.fsmonitor run-folded", "core.fsmonitor run-gitlink",
		"core.fsmonitor run-h", "core.fsmonitor run-linked", "core.fsmonitor run-named", "core.fsmonitor run-p", "core.fsmonitor run-plain", "core.fsmonitor run-separate",
		"core.fsmonitor run-shared", "core.fsmonitor run-spaced", "core.fsmonitor run-zero",
		"core.sshcommand run-conditional", "diff.x.textconv run-included", "include.path ../more # a comment", "include.path more", "includeif.gitdir:/nowhere.path ~/mine",
	}
	for _, cwd := range []string{"main", "main/sub"} {
		f, err := folder.Read(filepath.Join(root, cwd), folder.Trusted{Home: filepath.Join(root, "home")})
		if err != nil {
			t.Fatal(err)
		}
		if got := ofGit(f); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", cwd, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if _, ok := f.OverrideVariables(); ok {
			t.Errorf("%s: what Git runs in a nested repository is said to be left out", cwd)
		}
	}
	// Git reads all of this file, so what it names is unknown.
	large := filepath.Join(root, "large")
	put(t, large, map[string]string{".git/HEAD": "x", "evil/HEAD": "x", "evil/commondir": "c" + strings.Repeat("\n", 5<<20)})
	if f := read(t, large); len(f.Items) != 1 || f.Items[0].Kind != folder.Unreadable || !f.CannotOverride {
		t.Errorf("a large commondir: %q", lines(root, f.Items))
	}
	if f, err := folder.Read(root, folder.Trusted{}); err != nil || !slices.Contains(ofGit(f), "core.fsmonitor run-h") {
		t.Errorf("from a folder above, which is no repository: %q, %v", ofGit(f), err)
	}
}

func TestHooksOfGitAreSeen(t *testing.T) {
	t.Parallel()
	root := place(t)
	git := gitIn(t, root)
	git("init", "-q", "main")
	git("init", "-q", "main/nested")
	hook := func(path, text string, mode os.FileMode) {
		t.Helper()
		put(t, root, map[string]string{path: text})
		if err := os.Chmod(filepath.Join(root, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	hook("main/.git/hooks/pre-commit", "run-commit", 0o700)
	hook("main/.git/hooks/post-merge", "not executable", 0o600)
	hook("main/.git/hooks/pre-push.sample", "an example", 0o700)
	dir := filepath.Join(root, "main")
	first := read(t, dir)
	if got, want := ofGit(first), []string{"hooks/pre-commit run-commit"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if v, ok := first.OverrideVariables(); !ok || v["GIT_CONFIG_KEY_2"] != "core.hooksPath" || v["GIT_CONFIG_VALUE_2"] != "/dev/null" {
		t.Errorf("left out: %v, %t", v, ok)
	}
	hook("main/.git/hooks/pre-commit", "run-commit"+strings.Repeat(" ", 8<<10)+"and more", 0o700)
	if again := read(t, dir); again.Digest == first.Digest {
		t.Error("a hook was changed beyond what is shown, and the digest was not")
	}
	hook("main/nested/.git/hooks/post-index-change", "run-looking", 0o700)
	if f := read(t, dir); len(ofGit(f)) != 2 || !f.CannotOverride {
		t.Errorf("a hook of a nested repository: %q, %t", ofGit(f), f.CannotOverride)
	}
}

// TestDeepAndCircularFoldersAreBounded holds that no tree keeps us, and that what was not looked at is
// said, always in the same words.
func TestDeepAndCircularFoldersAreBounded(t *testing.T) {
	t.Parallel()
	root := place(t)
	dir := filepath.Join(root, "main")
	deep := dir
	for range 300 {
		deep = filepath.Join(deep, "d")
	}
	put(t, deep, map[string]string{".git/config": "[core]\nfsmonitor = run-deep\n", ".git/HEAD": "", "file": ""})
	for name, to := range map[string]string{"circle": ".", "up": "..", "root": "/", "self": "self"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "pipe"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe", ".git"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ofGit(read(t, dir)); !slices.Equal(got, []string{"core.fsmonitor run-deep"}) {
		t.Errorf("300 folders deep, among links in circles: %q", got)
	}
	said := func(f folder.Found) bool {
		return slices.ContainsFunc(f.Items, func(i folder.Item) bool {
			return i.Kind == folder.Unreadable && strings.Contains(i.Text, "more than can be looked at")
		})
	}
	one, err := folder.ReadAtMost(dir, folder.Trusted{}, 100)
	if err != nil || !said(one) {
		t.Errorf("beyond the bound: %q, %v", lines(root, one.Items), err)
	}
	put(t, dir, map[string]string{"another": "x"})
	if other, err := folder.ReadAtMost(dir, folder.Trusted{}, 100); err != nil || other.Digest != one.Digest {
		t.Errorf("what could not be looked at is asked about again: %v", err)
	}
	if f := read(t, dir); said(f) {
		t.Error("an ordinary folder is said to hold too much")
	}
}

// TestLargeRepositoryIsScannedFast has 50 000 entries in 1 000 folders.
func TestLargeRepositoryIsScannedFast(t *testing.T) {
	t.Parallel()
	dir := memdir.New(t) // on a disk 50,000 links take half a minute to make
	for i := range 1_000 {
		at := filepath.Join(dir, "node_modules", fmt.Sprint("scope", i%50), fmt.Sprint("p", i))
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for j := range 50 {
			if err := os.Symlink("f", filepath.Join(at, fmt.Sprint("f", j, ".js"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	// How long it takes to list everything says how busy this machine is.
	began := time.Now()
	if err := filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	listed := time.Since(began)
	began = time.Now()
	f := read(t, dir)
	took := time.Since(began)
	t.Logf("took %v; listing alone takes %v", took, listed)
	if f.Digest != "" || took > max(5*time.Second, 20*listed) {
		t.Errorf("took %v, got %q", took, lines(dir, f.Items))
	}
}

// TestPluginsTasksAndWorkflowsAreSeen has what both versions were seen to take, at
// once or where somebody has trusted the folder in a terminal.
func TestPluginsTasksAndWorkflowsAreSeen(t *testing.T) {
	t.Parallel()
	root := place(t)
	dir := filepath.Join(root, "cwd")
	task := `{"tasks":[{"id":"1","cron":"* * * * *","prompt":"run-task","createdAt":1,"recurring":true%s}]}`
	put(t, dir, map[string]string{
		".git/HEAD":                                   "x",
		".claude/scheduled_tasks.json":                fmt.Sprintf(task, ""),
		".claude/skills/p/.claude-plugin/plugin.json": `{"name": "p", "hooks": "./run-manifest.json"}`,
		".claude/skills/p/hooks/hooks.json":           `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"run-hook"}]}]}}`,
		".claude/skills/p/.mcp.json":                  `{"mcpServers":{"m":{"command":"run-mcp"}}}`,
		".claude/skills/p/.lsp.json":                  `{"l":{"command":"run-lsp","extensionToLanguage":{".ts":"typescript"}}}`,
		".claude/skills/p/monitors/monitors.json":     `[{"name":"x","command":"run-monitor"}]`,
		".claude/skills/p/agents/a.md":                "---\nhooks: run-agent\n---",
		".claude/workflows/w.js":                      "run-workflow()",
		".claude/output-styles/s.md":                  "---\nname: s\n---\nAnd !`run-style`",
		".claude/rules/r.md":                          "Be kind.",
		"AGENTS.md":                                   "Use pnpm.",
		".claude/settings.json":                       `{"extraKnownMarketplaces":{"m":{"source":{"source":"directory","path":"./run-market"}}},"enabledPlugins":{"run-plugin@m":true}}`,
		".claude/skills/tame/SKILL.md":                "---\nname: tame\n---",
	})
	first := read(t, dir)
	shown := strings.Join(lines(root, first.Items), "\n")
	for _, name := range []string{"task", "manifest", "hook", "mcp", "lsp", "monitor", "agent", "workflow", "style", "market", "plugin"} {
		if !strings.Contains(shown, "run-"+name) {
			t.Errorf("%s is not shown in\n%s", name, shown)
		}
	}
	for _, name := range []string{".claude/rules/r.md", "AGENTS.md", ".claude/skills/tame/SKILL.md"} {
		if !slices.Contains(first.Instructions, filepath.Join(dir, name)) {
			t.Errorf("%s is not told among %q", name, first.Instructions)
		}
	}
	if v, ok := first.OverrideVariables(); !ok || v["CLAUDE_CODE_DISABLE_CRON"] != "1" {
		t.Errorf("left out: %v, %t", v, ok)
	}
	put(t, dir, map[string]string{".claude/scheduled_tasks.json": strings.Replace(fmt.Sprintf(task, `,"lastFiredAt":5`), `"createdAt":1`, `"createdAt":2`, 1)})
	if read(t, dir).Digest != first.Digest {
		t.Error("what the CLI itself writes beside a task changes the digest")
	}
	put(t, dir, map[string]string{".claude/scheduled_tasks.json": strings.Replace(fmt.Sprintf(task, ""), "run-task", "run-other", 1)})
	if read(t, dir).Digest == first.Digest {
		t.Error("another task does not change the digest")
	}
}

// TestEverythingGitCanRunIsKnown goes through all variables that the installed Git
// knows: each whose name speaks of a program, or of a file that brings more, is found
// or is known to be harmless.
func TestEverythingGitCanRunIsKnown(t *testing.T) {
	t.Parallel()
	speaks := regexp.MustCompile(`(?i)command|cmd|program|hook|helper|editor|pager|askpass|textconv|driver|clean|smudge|process|external|tunnel|browser|monitor|include|template|exec|receivepack|uploadpack|gitproxy|\.vcs|filter|tool\.|path$`)
	harmless := regexp.MustCompile(`(?i)^(commit\.template|column\.|clean\.requireforce|color\.|fetch\.|uploadpackfilter\.|submodule\.<name>\.(path|ignore)|core\.(untrackedcache|fsmonitorhookversion|protectntfs)|` +
		`extensions\.|feature\.|remote\.<name>\.partialclonefilter|remote\.<name>\.skip|receive\.|transfer\.|http\.|gitweb\.|gitcvs\.|svn\.|gui\.|merge\.(tool|guitool|<driver>\.(name|recursive))|diff\.(tool|guitool|<driver>\.(binary|cachetextconv|xfuncname|wordregex))|` +
		`format\.|log\.|pack\.|push\.|rebase\.|rerere\.|stash\.|status\.|advice\.|am\.|apply\.|add\.|index\.|safe\.|splitindex\.|ssh\.|trace2\.|user\.|versionsort\.|worktree\.|core\.(sparsecheckout|packedgit|precompose|ignorestat|prefersymlink).*|gc\..*(expire|auto).*|maintenance\..*|completion\.commands|grep\..*|filter\.<driver>\.required|notes\..*|pretty\..*|showbranch\..*|tag\..*|fsck\..*|blame\..*|checkout\..*|credential\.(usehttppath|username).*|merge\.(verbosity|renames|branchdesc).*|commitgraph.*|diff\.(ignoresubmodules|dirstat|statgraph).*|imap\.(folder|host|user|pass|port|sslverify|preformattedhtml|authmethod)|bundle\..*|mailmap\..*|mailinfo\..*|dir.*|clone\.filtersubmodules|commit\.cleanup|core\.quotepath|fsmonitor\..*|help\.htmlpath)`)
	out, err := exec.Command("git", "help", "--config").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := place(t)
	known := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !speaks.MatchString(name) || harmless.MatchString(name) || strings.ContainsAny(name, " *'") {
			continue
		}
		parts := strings.Split(name, ".")
		section, key := parts[0], parts[len(parts)-1]
		if strings.HasPrefix(key, "<") {
			key = "x"
		}
		head := section
		if len(parts) > 2 {
			head += ` "x"`
		}
		put(t, dir, map[string]string{".git/config": "[" + head + "]\n\t" + key + " = !run-it ext::\n"})
		if len(ofGit(read(t, dir))) == 0 {
			t.Errorf("%s is not seen", name)
		}
		known++
	}
	if known < 40 {
		t.Errorf("only %d variables of Git were looked at", known)
	}
}
