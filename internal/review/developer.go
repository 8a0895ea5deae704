package review

import (
	"path"
	"slices"
	"strings"
)

// removingVerbs and changingVerbs are subcommands, at any position, that delete something, or
// change or publish something elsewhere.
var removingVerbs = set("delete", "destroy", "rm", "remove", "rb", "purge", "terminate", "drain", "evict", "prune", "uninstall", "rollback", "wipe", "drop", "purge-deleted", "delete-stack", "terminate-instances", "apps:destroy", "pg:reset", "nuke", "obliterate", "abandon", "strip")
var changingVerbs = set("apply", "create", "deploy", "push", "publish", "up", "update", "upgrade", "install", "set", "put", "cp", "mv", "sync", "exec", "run", "replace", "patch", "scale", "restart", "import", "write", "edit", "attach", "release", "rollout", "port-forward", "ssh", "copy", "move", "commit", "merge", "secret", "secrets", "down", "stop")

func (c *call) remote() {
	level := Low
	for _, a := range c.args {
		if !a.static && a.open {
			level = atLeast(level, Medium)
		}
		if strings.HasPrefix(a.text, "-") {
			if a.text == "-auto-approve" || a.text == "--auto-approve" || a.text == "--force" || a.text == "-destroy" {
				level = High
			}
			continue
		}
		verb := strings.ToLower(a.text)
		switch {
		case removingVerbs[verb] || strings.HasPrefix(verb, "delete-") || strings.HasPrefix(verb, "terminate-") || strings.HasPrefix(verb, "remove-"):
			c.markCommand(Remote, High, "Deletes data on another machine or service.")
			return
		case changingVerbs[verb] || strings.HasPrefix(verb, "create-") || strings.HasPrefix(verb, "put-") || strings.HasPrefix(verb, "update-") || strings.HasPrefix(verb, "run-"):
			level = atLeast(level, Medium)
		}
	}
	switch level {
	case High, Medium:
		c.markCommand(Remote, level, "Changes data on another machine or service.")
	default:
		c.markCommand(Network, Medium, "Connects to another machine or service.")
	}
}

func (c *call) gh() {
	for i, a := range c.args {
		switch a.text {
		case "api":
			method := ""
			for j, b := range c.args {
				if (b.text == "-X" || b.text == "--method") && j+1 < len(c.args) {
					method = strings.ToUpper(c.args[j+1].text)
				}
			}
			if method == "DELETE" || c.word("graphql") && slices.ContainsFunc(c.args, func(f field) bool { return strings.Contains(f.text, "mutation") }) {
				c.markCommand(Remote, High, "Asks the service to delete or change data.")
				return
			}
			if method != "" && method != "GET" || c.has("fF", "field", "raw-field", "input") {
				c.markCommand(Remote, Medium, "Asks the service to change data.")
				return
			}
		case "alias", "extension":
			if i == 0 {
				c.markCommand(Install, High, "Adds commands that run third-party code.")
				return
			}
		case "auth":
			if c.word("token") {
				c.markCommand(ReadSecret, High, "Prints a secret.")
				return
			}
		case "view", "list", "status", "diff", "checks", "browse":
			if i == 1 || i == 0 {
				c.markCommand(Network, Low, "Reads from the service.")
				return
			}
		}
	}
	c.remote()
}

func (c *call) docker() {
	for i, a := range c.args {
		next := ""
		if i+1 < len(c.args) {
			next = c.args[i+1].text
		}
		value := next
		if _, v, ok := strings.Cut(a.text, "="); ok {
			value = v
		}
		switch {
		case a.text == "--privileged" || strings.HasPrefix(a.text, "--cap-add") || strings.HasPrefix(a.text, "--device") || strings.HasPrefix(a.text, "--pid") && value == "host" || strings.HasPrefix(a.text, "--security-opt"):
			c.markArg(a, Privilege, High, "Gives the container access to this machine.")
		case a.text == "-v" || strings.HasPrefix(a.text, "--volume") || strings.HasPrefix(a.text, "--mount"):
			from, _, _ := strings.Cut(value, ":")
			if strings.Contains(value, "docker.sock") || from == "/" || strings.HasPrefix(from, "~") || path.IsAbs(from) && !c.w.inFolder(path.Clean(from)) {
				c.markArg(a, Privilege, High, "Gives the container access to files outside the session folder.")
			}
		}
	}
	sub, rest := c.subcommand("-H", "--host", "--context", "-f", "--file", "-p", "--project-name")
	for _, a := range append([]field{{text: sub}}, rest...) {
		if removingVerbs[a.text] || a.text == "rmi" || a.text == "kill" {
			c.markCommand(Delete, High, "Deletes containers, images or their data.")
			return
		}
	}
	switch sub {
	case "ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff", "history":
	case "exec":
		c.markCommand(Launcher, Medium, "Runs a command in a container.")
	case "push", "login":
		c.markCommand(Remote, Medium, "Sends data to another machine.")
	default:
		c.markCommand(Install, Medium, "Runs or downloads containers.")
	}
}

func (c *call) git() {
	args := c.args
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		a := args[0]
		args = args[1:]
		switch {
		case a.text == "-c" || strings.HasPrefix(a.text, "--config-env"):
			if len(args) > 0 && a.text == "-c" {
				c.gitConfig(args[0])
				args = args[1:]
			}
		case a.text == "-C":
			if len(args) > 0 {
				if full := c.w.resolve(args[0].text); !args[0].static || full == "?" || !c.w.inFolder(full) {
					c.markArg(args[0], WriteOutside, Medium, "Works outside the session folder.")
				}
				args = args[1:]
			}
		case strings.HasPrefix(a.text, "--exec-path="):
			c.markArg(a, Launcher, High, "Runs programs from the folder named in an option.")
		case a.text == "--git-dir" || a.text == "--work-tree" || a.text == "--namespace":
			args = args[min(1, len(args)):]
		case strings.HasPrefix(a.text, "-c"):
			a.text = a.text[2:]
			c.gitConfig(a)
		}
	}
	if len(args) == 0 {
		return
	}
	if !args[0].static {
		c.markArg(args[0], Computed, High, "The Git command is computed at run time.")
		return
	}
	sub := &call{w: c.w, name: "git " + args[0].text, args: args[1:], place: c.place}
	sub.gitVerb(args[0].text)
	for i, a := range sub.args {
		if strings.HasPrefix(a.text, "--upload-pack") || strings.HasPrefix(a.text, "--receive-pack") || strings.HasPrefix(a.text, "--exec=") || strings.HasPrefix(a.text, "ext::") || strings.HasPrefix(a.text, "--open-files-in-pager") || strings.HasPrefix(a.text, "--ext-diff") || args[0].text == "grep" && strings.HasPrefix(a.text, "-O") {
			c.markArg(a, Launcher, High, "Runs the program named in an option.")
		}
		to, writes := strings.CutPrefix(a.text, "--output=")
		if a.text == "--output" && i+1 < len(sub.args) {
			to, writes = sub.args[i+1].text, true
		}
		if a.text = to; writes && !c.w.markWriteTo(a) {
			c.markArg(a, Overwrite, Medium, "Overwrites the file if it exists.")
		}
	}
}

// gitConfig assesses a setting of Git, name=value.
func (c *call) gitConfig(a field) {
	name := strings.ToLower(a.text)
	for _, part := range []string{"alias.", "core.sshcommand", "core.pager", "core.editor", "core.hookspath", "core.fsmonitor", "core.askpass", "core.gitproxy", "credential.", "diff.external", ".textconv", ".command", ".cmd", "pager.", "gpg.", "filter.", "sequence.editor", "uploadpack.", "protocol.ext", "include", "url.", "init.templatedir", ".process", ".clean", ".smudge", ".driver"} {
		if strings.Contains(name, part) {
			c.markArg(a, Launcher, High, "A Git setting that can run programs or change the remote.")
			return
		}
	}
	if !a.static {
		c.markArg(a, Computed, High, "A Git setting computed at run time.")
		return
	}
	c.markArg(a, Redefine, Low, "A Git setting.")
}

func (c *call) gitVerb(verb string) {
	force := c.has("f", "force")
	switch verb {
	case "status", "log", "diff", "show", "blame", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "shortlog", "cat-file", "grep", "name-rev", "merge-base", "for-each-ref", "show-ref", "symbolic-ref", "whatchanged", "range-diff", "cherry", "count-objects", "fsck", "help", "version", "--version", "var", "check-ignore", "check-attr", "show-branch", "diff-tree", "diff-index", "diff-files", "hash-object", "ls-remote", "add", "commit", "mv", "init", "notes", "apply", "am", "merge", "cherry-pick", "revert", "archive", "bundle", "fetch", "pull", "clone", "sparse-checkout", "maintenance", "stage", "format-patch", "difftool", "mergetool", "reflog", "stash", "branch", "tag", "remote", "checkout", "switch", "restore", "reset", "clean", "push", "rebase", "config", "submodule", "worktree", "rm", "bisect", "filter-branch", "filter-repo", "gc", "prune", "update-ref", "send-email", "daemon", "instaweb", "replace", "lfs", "read-tree", "checkout-index", "update-index":
	default:
		c.mark(Unknown, Medium, "An unknown Git command, possibly an alias.")
		return
	}
	first := ""
	if list := c.operands(); len(list) > 0 {
		first = list[0].text
	}
	discard := func(level Level, why string) { c.markCommand(GitDiscard, level, why) }
	switch verb {
	case "push":
		switch {
		case force || c.has("", "force-with-lease", "mirror", "delete", "prune") || c.has("d") || slices.ContainsFunc(c.operands(), func(a field) bool { return strings.HasPrefix(a.text, "+") || strings.HasPrefix(a.text, ":") }):
			c.markCommand(GitForce, High, "Overwrites or deletes data on the remote.")
		case c.hasComputedArg():
			c.markCommand(GitForce, High, "The push target or its options are computed at run time.")
		default:
			c.markCommand(GitPush, Medium, "Pushes commits to another machine.")
		}
	case "reset":
		if c.has("", "hard", "merge", "keep") {
			discard(High, "Discards uncommitted changes.")
		} else {
			discard(Low, "Moves the branch or the index.")
		}
	case "clean":
		if force || c.has("f") {
			discard(High, "Deletes untracked files.")
		}
	case "checkout", "restore", "switch":
		all := slices.ContainsFunc(c.args, func(a field) bool { return a.text == "." || a.text == "--" || a.text == ":/" || a.text == "*" })
		switch {
		case force || c.has("", "discard-changes"):
			discard(High, "Discards uncommitted changes.")
		case verb == "restore" && !(c.has("S", "staged") && !c.has("W", "worktree")) || verb == "checkout" && all:
			discard(High, "Discards uncommitted changes to files.")
		case verb != "restore":
			discard(Low, "Changes files in the work tree.")
		}
	case "stash":
		if first == "drop" || first == "clear" {
			discard(High, "Discards stashed changes.")
		} else if len(c.args) == 0 || c.args[0].text != "list" && c.args[0].text != "show" {
			discard(Low, "Stashes changes or restores stashed ones.")
		}
	case "branch":
		if c.has("D") || force && c.has("dM", "delete") {
			discard(High, "Deletes a branch, even if it is not merged.")
		} else if c.has("dmM", "delete", "move") {
			discard(Medium, "Deletes or renames a branch.")
		}
	case "tag":
		if c.has("d", "delete") || force {
			discard(Medium, "Deletes or moves a tag.")
		}
	case "reflog":
		if first == "expire" || first == "delete" {
			discard(High, "Deletes the reflog, so commits can no longer be recovered.")
		}
	case "filter-branch", "filter-repo":
		discard(High, "Rewrites the whole history, running commands.")
	case "gc", "prune":
		if c.has("", "prune") || verb == "prune" {
			discard(High, "Deletes commits that could still be recovered.")
		}
	case "update-ref", "replace", "read-tree", "checkout-index", "update-index":
		discard(Medium, "Changes the repository’s internal data directly.")
	case "rebase":
		if c.has("x", "exec") {
			c.markCommand(Launcher, High, "Runs a command for each commit.")
		} else {
			discard(Medium, "Rewrites commits.")
		}
	case "bisect":
		if first == "run" {
			c.run(c.args[slices.IndexFunc(c.args, func(a field) bool { return a.text == "run" })+1:])
		}
	case "submodule":
		if first == "foreach" {
			for _, a := range c.operands()[1:] {
				if a.static {
					c.w.walkNested(a.text, a.place)
				} else {
					c.markArg(a, Evaluated, High, "Runs text computed at run time.")
				}
			}
		} else if first == "add" || first == "update" {
			c.markCommand(Install, Medium, "Downloads third-party code.")
		}
	case "config":
		if c.has("l", "list", "get", "get-all", "get-regexp") || len(c.operands()) < 2 {
			return
		}
		if c.has("", "global", "system") {
			c.markCommand(Redefine, High, "Changes Git settings outside this repository.")
		}
		c.gitConfig(c.operands()[0])
	case "remote":
		if first == "set-url" || first == "add" || first == "remove" || first == "rm" {
			c.markCommand(Redefine, Medium, "Changes which remote Git uses.")
		}
	case "clone", "fetch", "pull", "ls-remote":
		c.markCommand(Network, Low, "Fetches from another machine.")
	case "rm":
		if c.has("r") || force {
			c.markCommand(Delete, Medium, "Deletes files.")
		}
	case "worktree":
		if first == "remove" || first == "prune" {
			discard(Medium, "Deletes a worktree.")
		}
	case "commit":
		if c.has("", "amend") {
			discard(Low, "Replaces the last commit.")
		}
		if c.has("n", "no-verify") {
			c.markCommand(Redefine, Low, "Skips the commit hooks.")
		}
	case "send-email", "daemon", "instaweb":
		uploads(c)
	case "difftool", "mergetool":
		c.markCommand(Launcher, Medium, "Starts another program.")
	}
}

func (c *call) npm() {
	sub, _ := c.subcommand("--prefix", "-C", "--dir", "--filter", "-w", "--workspace", "--cwd")
	switch sub {
	case "test", "t", "run", "run-script", "ls", "list", "view", "outdated", "why", "explain", "version", "help", "start", "lint", "build", "check", "typecheck", "format", "dev", "ping", "root", "bin", "pack", "fund", "doctor", "audit", "":
		if sub == "audit" && c.word("fix") {
			installs(c)
		}
	case "publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "team", "token", "adduser", "login", "logout", "unstar", "star":
		c.markCommand(Remote, High, "Changes packages in the registry, or access to them.")
	case "exec", "x", "dlx", "create", "init":
		downloadsProgram(c)
	case "config", "set":
		c.markCommand(Redefine, Medium, "Changes the package manager’s settings.")
	default:
		if c.name == "yarn" || c.name == "pnpm" || c.name == "bun" {
			if sub != "add" && sub != "install" && sub != "i" && sub != "remove" && sub != "up" && sub != "upgrade" && sub != "update" && sub != "link" && sub != "global" {
				c.mark(Script, Low, "Runs a project script.")
				return
			}
		}
		installs(c)
	}
}

func (c *call) pip() {
	sub, rest := c.subcommand("--project", "--directory")
	switch sub {
	case "list", "show", "freeze", "check", "search", "info", "env", "outdated", "--version", "tree", "":
	case "run", "exec":
		c.run(rest)
	case "test", "build", "format", "compile", "lint", "deps.get":
	case "tool", "x":
		downloadsProgram(c)
	case "publish", "push", "yank", "nuget":
		c.markCommand(Remote, High, "Changes packages in the registry.")
	default:
		installs(c)
	}
}

func (c *call) cargo() {
	sub, _ := c.subcommand("--manifest-path", "--target-dir", "--config")
	switch sub {
	case "build", "b", "check", "c", "test", "t", "bench", "clippy", "fmt", "doc", "tree", "metadata", "clean", "run", "r", "nextest", "version", "search", "":
		if c.has("", "config") {
			c.markCommand(Launcher, High, "A setting that can run programs.")
		}
	case "publish", "yank", "owner", "login", "logout":
		c.markCommand(Remote, High, "Changes packages in the registry, or access to them.")
	default:
		installs(c)
	}
}

func (c *call) golang() {
	sub, rest := c.subcommand("-C")
	for i, a := range c.args {
		if a.text == "-exec" || a.text == "-toolexec" || strings.HasPrefix(a.text, "-exec=") || strings.HasPrefix(a.text, "-toolexec=") || strings.HasPrefix(a.text, "--exec") || strings.HasPrefix(a.text, "--toolexec") || a.text == "-vettool" || strings.HasPrefix(a.text, "-vettool=") || strings.HasPrefix(a.text, "-overlay") {
			c.markCommand(Launcher, High, "Runs the program named in an option.")
			return
		}
		if a.text == "-o" && i+1 < len(c.args) {
			c.w.markWriteTo(c.args[i+1])
		}
	}
	switch sub {
	case "test", "build", "vet", "fmt", "list", "doc", "version", "env", "mod", "work", "clean", "fix", "help", "":
		if sub == "env" && c.has("wu") {
			c.markCommand(Redefine, High, "Changes Go settings permanently.")
		}
	case "run":
		if len(rest) > 0 && slices.ContainsFunc(rest, func(a field) bool { return strings.Contains(a.text, "@") }) {
			downloadsProgram(c)
			return
		}
		c.mark(Script, Low, "Runs one of the project’s programs.")
	case "generate", "tool":
		c.mark(Script, Medium, "Runs commands from the project’s files.")
	default:
		installs(c)
	}
}

func (c *call) build() {
	for _, a := range c.args {
		switch a.text {
		case "deploy", "publish", "upload", "release":
			c.markCommand(Remote, High, "Publishes changes that others will install.")
			return
		}
	}
}

func (c *call) make() {
	for _, a := range c.args {
		name, _, ok := strings.Cut(a.text, "=")
		switch {
		case ok && !strings.HasPrefix(a.text, "-") && (name == "SHELL" || name == "MAKEFLAGS" || strings.HasPrefix(name, ".")):
			c.markArg(a, Launcher, High, "Sets the program that runs the commands.")
		case strings.HasPrefix(a.text, "--eval") || strings.HasPrefix(a.text, "-E"):
			c.markArg(a, Evaluated, High, "Runs text as part of the makefile.")
		case a.text == "-f" || strings.HasPrefix(a.text, "--file") || strings.HasPrefix(a.text, "--makefile"):
			c.markArg(a, Script, Medium, "Runs a file that is not shown here.")
		case a.text == "install" || a.text == "uninstall" || a.text == "deploy" || a.text == "publish" || a.text == "release":
			c.markArg(a, System, Medium, "Affects more than the session folder.")
		}
	}
	if c.word("-f-", "-") {
		c.found.runsInput, c.found.inputAt = true, c.place
	}
}
