package review

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// shells read commands, from a string, a file or their standard input.
var shells = set("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh", "mksh", "rbash", "elvish", "nu", "pwsh", "powershell")

// interpreters and the options with which code stands in the command.
var interpreters = map[string]string{
	"python": "c", "pypy": "c", "ipython": "c", "node": "ep", "nodejs": "ep", "bun": "ep", "deno": "", "perl": "eE", "ruby": "e", "php": "rBE", "lua": "e", "luajit": "e",
	"tclsh": "", "expect": "c", "osascript": "e", "rscript": "e", "r": "e", "julia": "eE", "groovy": "e", "scala": "e", "ghc": "e", "runghc": "e", "elixir": "e", "erl": "e", "guile": "c", "racket": "e", "sbcl": "", "clojure": "e", "swipl": "g", "jshell": "", "irb": "", "gdb": "", "sqlite3": "", "psql": "", "mysql": "", "ts-node": "ep", "tsx": "ep", "jq": "",
}

// harmless programs only look, or do what a session's work is: build and test. What
// they run is the project's own.
var harmless = set(
	"ls", "dir", "pwd", "echo", "printf", "cat", "head", "tail", "less", "more", "wc", "grep", "egrep", "fgrep", "rg", "ag", "ack", "fd", "tree", "stat", "file", "du", "df", "date", "cal",
	"true", "false", ":", "test", "[", "[[", "sleep", "basename", "dirname", "realpath", "readlink", "which", "type", "whereis", "whoami", "id", "groups", "hostname", "uname", "uptime", "free", "ps", "top", "pgrep", "lsof", "nproc", "arch", "locale", "tty", "users", "w", "who",
	"sort", "uniq", "cut", "tr", "paste", "join", "comm", "column", "fold", "fmt", "nl", "rev", "tac", "seq", "expr", "bc", "diff", "cmp", "md5sum", "sha1sum", "sha256sum", "sha512sum", "shasum", "cksum", "b2sum", "hexdump", "od", "strings", "yes", "shuf", "numfmt", "expand", "unexpand", "iconv", "jq", "yq",
	"mkdir", "touch", "cd", "pushd", "popd", "dirs", "export", "set", "shopt", "read", "local", "declare", "return", "exit", "break", "continue", "shift", "wait", "jobs", "let", "getopts", "umask", "ulimit", "unset", "printenv", "logname", "times", "hash",
	"gofmt", "goimports", "gopls", "staticcheck", "golangci-lint", "rustc", "rustfmt", "gcc", "g++", "clang", "clang-format", "cc", "c++", "ld", "ar", "nm", "objdump", "readelf", "ldd", "tsc", "eslint", "prettier", "oxlint", "biome", "jest", "vitest", "mocha", "playwright", "vue-tsc", "webpack", "vite", "rollup", "esbuild", "mypy", "ruff", "black", "flake8", "pylint", "isort", "pyright", "pytest", "tox", "nox", "rspec", "rubocop", "phpunit", "javac", "ktlint", "swiftc", "shellcheck", "shfmt", "hadolint", "protoc", "buf", "sqlc",
	"cmake", "ninja", "meson", "make", "gmake", "bazel", "ctest", "pkg-config", "autoconf", "automake",
	"xxd", "uuidgen", "getconf", "tput", "clear", "reset", "man", "info", "apropos", "sw_vers", "sysctl", "vmstat", "iostat", "netstat", "ss", "ip", "ifconfig", "dig", "host", "nslookup", "ping", "mdls", "mdfind", "pbcopy", "pbpaste", "xclip", "tokei", "cloc", "scc", "bat", "exa", "eza", "delta", "hyperfine", "claude")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// commands says what is known of programs that can do harm.
var commands map[string]func(*call)

func init() { // a rule may run another: the table refers to itself
	commands = map[string]func(*call){
		"rm": (*call).rm, "rmdir": deletes, "unlink": deletes, "shred": deletes, "srm": (*call).rm, "trash": deletes, "truncate": deletes, "wipe": deletes, "rimraf": (*call).tree, "del-cli": deletes,
		"mv": (*call).moves, "cp": (*call).copies, "install": (*call).copies, "ln": (*call).copies, "rsync": (*call).rsync, "tee": (*call).tee, "sponge": (*call).tee, "sed": (*call).sed, "ed": (*call).editor, "ex": (*call).editor, "vi": (*call).editor, "vim": (*call).editor, "nvim": (*call).editor, "emacs": (*call).editor, "patch": edits,
		"find": (*call).find, "gfind": (*call).find, "xargs": (*call).xargs, "parallel": (*call).xargs, "fzf": (*call).fzf,
		"sudo": (*call).sudo, "doas": (*call).sudo, "pkexec": (*call).sudo, "su": (*call).su, "runuser": (*call).su, "gosu": (*call).sudo, "sudoedit": privileged, "visudo": privileged, "passwd": privileged, "chsh": privileged, "useradd": privileged, "usermod": privileged, "userdel": privileged, "setcap": privileged, "nsenter": (*call).sudo, "unshare": (*call).sudo, "chroot": func(c *call) { privileged(c); c.launch(1, "") },
		"eval": (*call).eval, "source": (*call).source, ".": (*call).source, "exec": (*call).exec, "command": (*call).command, "builtin": (*call).wrapper, "env": (*call).env, "nohup": (*call).nohup, "setsid": (*call).nohup, "disown": background, "nice": func(c *call) { c.launch(0, "n", "--adjustment") }, "ionice": func(c *call) { c.launch(0, "cnp") }, "time": func(c *call) { c.launch(0, "of") }, "timeout": func(c *call) { c.launch(1, "ks", "--signal", "--kill-after") }, "gtimeout": func(c *call) { c.launch(1, "ks", "--signal", "--kill-after") }, "stdbuf": func(c *call) { c.launch(0, "ioe") }, "unbuffer": (*call).wrapper, "caffeinate": func(c *call) { c.launch(0, "tw") }, "arch": (*call).wrapper, "taskset": func(c *call) { c.launch(1, "") }, "chrt": func(c *call) { c.launch(1, "") }, "flock": (*call).flock, "watch": (*call).watch, "entr": (*call).wrapper, "nodemon": (*call).wrapper, "strace": func(c *call) { c.launch(0, "opseEu") }, "ltrace": func(c *call) { c.launch(0, "opseu") }, "perf": func(c *call) { c.launch(1, "") }, "script": (*call).script, "busybox": (*call).wrapper, "toybox": (*call).wrapper, "dotenv": (*call).wrapper, "direnv": func(c *call) { c.launch(2, "") }, "xvfb-run": (*call).wrapper, "screen": (*call).terminal, "tmux": (*call).terminal, "trap": (*call).trap, "alias": (*call).alias, "unalias": nothing, "history": history, "fc": history, "enable": (*call).enable, "bind": evaluates, "complete": evaluates, "mapfile": (*call).mapfile, "readarray": (*call).mapfile, "setarch": (*call).wrapper, "firejail": (*call).wrapper, "bwrap": (*call).sandboxed, "proxychains": (*call).wrapper, "torsocks": (*call).wrapper, "systemd-run": (*call).later, "at": later, "batch": later, "crontab": later, "launchctl": later,
		"curl": (*call).curl, "wget": (*call).wget, "aria2c": fetches, "http": fetches, "https": fetches, "xh": fetches, "lynx": fetches, "fetch": fetches, "nc": (*call).netcat, "ncat": (*call).netcat, "netcat": (*call).netcat, "socat": (*call).socat, "telnet": talks, "ftp": talks, "sftp": talks, "ssh": (*call).ssh, "scp": (*call).scp, "mosh": talks, "rclone": (*call).remote, "mail": uploads, "sendmail": uploads, "mutt": uploads, "nmap": talks, "openssl": (*call).openssl, "gpg": decodes,
		"base64": (*call).base, "base32": (*call).base, "basenc": (*call).base, "uudecode": decodes, "gunzip": decodes, "zcat": decodes, "bzcat": decodes, "xzcat": decodes, "gzip": packs, "bzip2": packs, "xz": packs, "zstd": packs, "tar": (*call).tar, "zip": packs, "unzip": packs, "7z": packs, "cpio": packs, "awk": (*call).awk, "gawk": (*call).awk, "mawk": (*call).awk, "nawk": (*call).awk, "xxd": (*call).base,
		"chmod": (*call).chmod, "chown": (*call).chown, "chgrp": (*call).chown, "setfacl": (*call).chown, "chattr": (*call).chown, "xattr": (*call).chown,
		"dd": (*call).dd, "fdisk": disk, "parted": disk, "sfdisk": disk, "gdisk": disk, "wipefs": disk, "mkswap": disk, "mount": disk, "umount": disk, "losetup": disk, "cryptsetup": disk, "diskutil": disk, "lvremove": disk, "vgremove": disk, "blkdiscard": disk, "hdparm": disk, "fsck": disk, "mdadm": disk, "zpool": disk, "zfs": disk, "btrfs": disk,
		"mkfs": disk, "mke2fs": disk, "mkfs.ext2": disk, "mkfs.ext3": disk, "mkfs.ext4": disk, "mkfs.xfs": disk, "mkfs.btrfs": disk, "mkfs.vfat": disk, "mkfs.fat": disk, "mkfs.ntfs": disk, "newfs": disk, "format": disk,
		"kill": (*call).kill, "pkill": (*call).kill, "killall": (*call).kill, "xkill": (*call).kill, "fuser": (*call).kill, "shutdown": system, "reboot": system, "halt": system, "poweroff": system, "init": system, "telinit": system, "systemctl": (*call).service, "service": (*call).service, "iptables": system, "nft": system, "ufw": system, "modprobe": system, "insmod": system, "rmmod": system, "sysctl": (*call).sysctl, "swapoff": system, "hostnamectl": system, "timedatectl": system, "defaults": (*call).defaults, "csrutil": system, "spctl": system, "security": system, "update-rc.d": later, "update-alternatives": system, "ldconfig": system, "setenforce": system, "logger": nothing, "wall": nothing,
		"git": (*call).git, "gh": (*call).gh, "glab": (*call).gh, "hub": (*call).gh, "svn": (*call).remote, "hg": (*call).remote, "jj": (*call).remote,
		"docker": (*call).docker, "podman": (*call).docker, "nerdctl": (*call).docker, "docker-compose": (*call).docker, "kubectl": (*call).remote, "helm": (*call).remote, "oc": (*call).remote, "terraform": (*call).remote, "tofu": (*call).remote, "pulumi": (*call).remote, "ansible": remotely, "ansible-playbook": remotely, "aws": (*call).remote, "gcloud": (*call).remote, "gsutil": (*call).remote, "az": (*call).remote, "doctl": (*call).remote, "flyctl": (*call).remote, "fly": (*call).remote, "heroku": (*call).remote, "vercel": (*call).remote, "netlify": (*call).remote, "wrangler": (*call).remote, "firebase": (*call).remote, "supabase": (*call).remote, "s3cmd": (*call).remote, "mc": (*call).remote, "vault": (*call).remote, "redis-cli": (*call).database, "mongo": (*call).database, "mongosh": (*call).database, "dropdb": removesDatabase, "createdb": nothing, "dropuser": removesDatabase,
		"npm": (*call).npm, "pnpm": (*call).npm, "yarn": (*call).npm, "bun": (*call).npm, "npx": downloadsProgram, "bunx": downloadsProgram, "pnpx": downloadsProgram, "uvx": downloadsProgram, "pipx": downloadsProgram, "uv": (*call).pip, "pip": (*call).pip, "poetry": (*call).pip, "pipenv": (*call).pip, "conda": (*call).pip, "mamba": (*call).pip, "easy_install": installs, "gem": (*call).pip, "bundle": (*call).pip, "composer": (*call).pip, "cargo": (*call).cargo, "go": (*call).golang, "mvn": (*call).build, "gradle": (*call).build, "gradlew": (*call).build, "dotnet": (*call).pip, "swift": (*call).build, "mix": (*call).pip, "stack": (*call).build, "cabal": (*call).build, "apt": (*call).system, "apt-get": (*call).system, "aptitude": (*call).system, "dpkg": (*call).system, "yum": (*call).system, "dnf": (*call).system, "rpm": (*call).system, "pacman": (*call).system, "apk": (*call).system, "zypper": (*call).system, "snap": (*call).system, "flatpak": (*call).system, "brew": (*call).system, "port": (*call).system, "nix": (*call).system, "nix-env": (*call).system, "nix-shell": downloadsProgram, "choco": (*call).system, "winget": (*call).system, "rustup": installs, "nvm": installs, "pyenv": installs, "asdf": installs, "mise": installs, "corepack": installs, "volta": installs, "java": runsFile, "just": nothing, "task": nothing, "rake": nothing, "tox": nothing, "make": (*call).make, "gmake": (*call).make, "open": opens, "xdg-open": opens, "start": opens, "cd": (*call).cd, "pushd": (*call).cd, "popd": unknownFolder, "printenv": (*call).environment, "export": nothing, "set": (*call).environment, "mkdir": (*call).makes, "touch": (*call).makes, "sort": (*call).sort, "tail": nothing, "man": (*call).pager, "less": (*call).pager, "more": (*call).pager, "rg": (*call).rg, "fd": (*call).fd, "tcpdump": (*call).wrapperless,
	}
	for name := range shells {
		commands[name] = (*call).shell
	}
	for name, code := range interpreters {
		if name != "jq" {
			commands[name] = func(c *call) { c.interpreter(code) }
		}
	}
}

func nothing(*call)   {}
func deletes(c *call) { c.whole(Delete, Medium, "Removes files or what is in them.") }
func edits(c *call)   { c.mark(Overwrite, Low, "Changes files.") }
func privileged(c *call) {
	c.whole(Privilege, High, "Runs as another user, or changes who may do what.")
}
func disk(c *call) { c.whole(Disk, High, "Writes to disks or file systems.") }
func background(c *call) {
	c.mark(Background, Medium, "Goes on in the background after the call has ended.")
}
func later(c *call) {
	c.whole(Persist, High, "Arranges that something runs later, without a question.")
}
func system(c *call)    { c.whole(System, High, "Changes this machine.") }
func talks(c *call)     { c.whole(Network, Medium, "Talks to another machine.") }
func uploads(c *call)   { c.whole(Upload, High, "Sends data to another machine.") }
func installs(c *call)  { c.whole(Install, Medium, "Installs code of others, which may run at once.") }
func remotely(c *call)  { c.whole(Remote, High, "Changes other machines or services.") }
func evaluates(c *call) { c.whole(Evaluated, High, "Runs a text as a command.") }
func history(c *call)   { c.mark(Evaluated, Medium, "Reads or runs former commands.") }
func opens(c *call) {
	c.mark(Launcher, Medium, "Opens a file or an address with whatever program is set for it.")
}
func runsFile(c *call)        { c.mark(Script, Low, "Runs a program of the project.") }
func fetches(c *call)         { c.found.fetches = true; talks(c) }
func packs(c *call)           { c.decoded(); c.mark(Overwrite, Low, "Packs or unpacks files.") }
func decodes(c *call)         { c.found.decodes = true }
func unknownFolder(c *call)   { c.w.cwd = "?" }
func removesDatabase(c *call) { c.whole(Remote, High, "Removes data from a database.") }
func downloadsProgram(c *call) {
	c.whole(Install, Medium, "Fetches a program from the network, if it is not there, and runs it.")
}

func (c *call) wrapper()     { c.launch(0, "") }
func (c *call) wrapperless() { c.whole(Network, Medium, "Reads what goes over the network.") }
func (c *call) decoded()     { c.found.decodes = c.found.decodes || c.has("d") }

// --- files

func (c *call) rm() {
	recursive := c.has("rR", "recursive", "no-preserve-root")
	if recursive || c.computed() && !c.word("--") {
		c.tree()
	} else {
		c.whole(Delete, Medium, "Removes files.")
	}
	for _, a := range c.plain() {
		if a.glob {
			c.at(a, Delete, Medium, "A pattern: it may match more than it seems.")
		}
	}
	c.targets(recursive)
}

func (c *call) tree() { c.whole(DeleteTree, High, "Removes folders with all that is in them.") }

// targets marks what lies outside the folder of the session, or is all of it.
func (c *call) targets(recursive bool) {
	for _, a := range c.plain() {
		full := c.w.resolve(strings.TrimSuffix(strings.TrimSuffix(a.text, "*"), "/"))
		switch {
		case !a.static:
			c.at(a, Computed, Medium, "Which file is meant is computed.")
		case full == "?" || !c.w.inFolder(full) && !strings.HasPrefix(full, "/tmp/"):
			c.at(a, WriteOutside, High, "Outside the folder of the session.")
		case recursive && full == c.w.root:
			c.at(a, DeleteTree, High, "All of the folder of the session.")
		case sensitive(full) != "":
			c.at(a, WriteSensitive, High, sensitive(full))
		}
	}
}

func (c *call) moves() {
	c.mark(Overwrite, Low, "Moves files, and replaces what is where they go.")
	for _, a := range c.plain() {
		if !a.static {
			c.at(a, Computed, Medium, "Which file is meant is computed.")
		} else {
			c.w.writesTo(a)
		}
	}
}

func (c *call) copies() {
	list := c.plain()
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	for i, a := range c.args {
		if a.text == "-t" && i+1 < len(c.args) {
			last = c.args[i+1]
		} else if dir, ok := strings.CutPrefix(a.text, "--target-directory="); ok {
			last = a
			last.text = dir
		}
	}
	if !last.static {
		c.at(last, Computed, Medium, "Which file is written is computed.")
	} else if !c.w.writesTo(last) {
		c.mark(Overwrite, Low, "Replaces what is where it goes.")
	}
	if c.name == "ln" {
		for _, a := range list[:len(list)-1] {
			if full := c.w.resolve(a.text); !a.static || !c.w.inFolder(full) {
				c.at(a, WriteOutside, Medium, "Leads from the folder of the session to a place outside.")
			}
		}
	}
	if c.name == "install" && c.has("m", "mode") {
		c.chmodMode()
	}
}

func (c *call) makes() {
	for _, a := range c.plain() {
		if !a.static {
			c.at(a, Computed, Low, "Which file is meant is computed.")
		} else {
			c.w.writesTo(a)
		}
	}
}

func (c *call) tee() {
	for _, a := range c.plain() {
		if !a.static {
			c.at(a, Computed, Medium, "Which file is written is computed.")
		} else if !c.w.writesTo(a) && !c.has("a", "append") {
			c.at(a, Overwrite, Low, "Replaces the file, if there is one.")
		}
	}
}

func (c *call) rsync() {
	if c.has("", "delete", "remove-source-files") || c.word("--del") {
		c.whole(DeleteTree, High, "Removes what is not on the other side.")
	}
	if c.has("e", "rsh", "rsync-path") {
		c.whole(Launcher, High, "Runs the program that an option names.")
	}
	list := c.plain()
	for i, a := range list {
		switch {
		case strings.Contains(a.text, ":"):
			c.at(a, Upload, Medium, "Copies files from or to another machine.")
		case i == len(list)-1:
			c.w.writesTo(a)
		}
	}
}

var sedRuns = regexp.MustCompile(`(^|[;{}\n/0-9$!\s])e(\s|$|;)|/[gipmIM0-9]*e[gipmIM0-9w]*(\s*$|\s*[;}\n])`)
var sedWrites = regexp.MustCompile(`(^|[;{}\n/0-9$!\s])[wW]\s+\S|/[gipmIM0-9e]*w\s+\S`)

func (c *call) sed() {
	if c.has("i", "in-place") {
		c.mark(Overwrite, Low, "Changes files in place.")
		for i, a := range c.plain() {
			if i > 0 || c.has("e", "expression") {
				c.w.writesTo(a)
			}
		}
	}
	for _, a := range c.args {
		switch {
		case !a.static:
			c.at(a, Computed, Low, "What is changed is computed.")
		case strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "-e"):
		case sedRuns.MatchString(a.text):
			c.at(a, InlineCode, High, "Text that runs as a command: e of sed.")
		case sedWrites.MatchString(a.text):
			c.at(a, WriteOutside, Medium, "Writes to a file that its text names: w of sed.")
		}
	}
	if c.has("f", "file") {
		c.mark(Script, Medium, "Runs a file that is not shown here.")
	}
}

func (c *call) editor() {
	c.whole(InlineCode, Medium, "An editor, which can also run commands.")
}

func (c *call) find() {
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch a.text {
		case "-delete":
			c.whole(DeleteTree, High, "Removes every file that it finds.")
		case "-exec", "-execdir", "-ok", "-okdir":
			c.at(a, Launcher, Low, "Runs a command for every file that it finds.")
			end := i + 1
			for end < len(c.args) && c.args[end].text != ";" && c.args[end].text != "+" {
				end++
			}
			inner := slices.Clone(c.args[i+1 : end])
			for j := range inner {
				if inner[j].text == "{}" {
					inner[j].static = j > 0
					inner[j].text = "found-file"
				}
			}
			c.run(inner)
			i = end
		case "-fprint", "-fprintf", "-fls", "-fprint0":
			if i+1 < len(c.args) {
				c.w.writesTo(c.args[i+1])
			}
		}
		if !a.static && a.open {
			c.at(a, Computed, Medium, "What is looked for, or done with it, is computed.")
		}
	}
}

// run runs other arguments as a command, in the place of this one. What it says of
// its input is for this one, too.
func (c *call) run(args []field) {
	if len(args) > 0 {
		f := c.w.run(args, c.place, nil)
		f.runsInput = false
		c.found = c.found.or(f)
	}
}

func (c *call) fd() {
	for i, a := range c.args {
		if slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, a.text) {
			c.at(a, Launcher, Low, "Runs a command for every file that it finds.")
			c.run(c.args[i+1:])
			return
		}
	}
}

func (c *call) rg() {
	if c.has("", "pre") {
		c.whole(Launcher, High, "Runs a program for every file: --pre.")
	}
}

func (c *call) sort() {
	if c.has("", "compress-program") {
		c.whole(Launcher, High, "Runs a program: --compress-program.")
	}
	for i, a := range c.args {
		if a.text == "-o" && i+1 < len(c.args) {
			c.w.writesTo(c.args[i+1])
		} else if strings.HasPrefix(a.text, "-o") && len(a.text) > 2 {
			a.text = a.text[2:]
			c.w.writesTo(a)
		} else if to, ok := strings.CutPrefix(a.text, "--output="); ok {
			a.text = to
			c.w.writesTo(a)
		}
	}
}

func (c *call) pager() {
	if c.has("P", "pager") && c.name == "man" || c.has("K") && c.name == "less" {
		c.whole(Launcher, High, "Runs a program that an option names.")
	}
}

// xargs runs a command with arguments that another one prints.
func (c *call) xargs() {
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		takes := slices.Contains([]string{"-n", "-P", "-I", "-L", "-d", "-s", "-E", "-a", "-j", "--max-args", "--max-procs", "--replace", "--jobs", "--arg-file", "--delimiter"}, rest[0].text)
		rest = rest[1:]
		if takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	c.mark(Launcher, Low, "Runs a command with arguments that another one prints.")
	if len(rest) == 0 {
		if c.name == "parallel" {
			c.found.runsInput, c.found.inputAt = true, c.place
		}
		return
	}
	f := c.w.run(rest, c.place, nil)
	name := strings.ToLower(path.Base(rest[0].text))
	if f.runsInput || shells[name] || name == "eval" || name == "env" && len(rest) == 1 {
		c.found.runsInput, c.found.inputAt = true, c.place
	}
	if name == "rm" || name == "rmdir" || name == "unlink" || name == "shred" {
		c.whole(DeleteTree, High, "Removes whatever another command prints.")
	}
	if rest[0].static && strings.Contains(rest[0].text, "{}") {
		c.at(rest[0], Computed, High, "Which command runs is computed.")
	}
}

func (c *call) fzf() {
	if c.has("", "bind", "preview", "execute") {
		c.whole(Launcher, High, "Runs commands that its options name.")
	}
}

// --- who runs what

func (c *call) sudo() {
	c.whole(Privilege, High, "Runs as another user, with other rights.")
	if c.has("si", "shell", "login") {
		rest := c.plain()
		if len(rest) == 0 {
			c.found.runsInput, c.found.inputAt = true, c.place
		}
	}
	rest := c.args
	for len(rest) > 0 {
		switch a := rest[0]; {
		case strings.HasPrefix(a.text, "-"):
			rest = rest[1:]
			if strings.ContainsAny(a.text[len(a.text)-1:], "ugphCTrtRDU") && !strings.HasPrefix(a.text, "--") && len(rest) > 0 {
				rest = rest[1:]
			}
		case strings.Contains(a.text, "="):
			rest = rest[1:]
		default:
			c.launchRest(rest, 0)
			return
		}
	}
}

func (c *call) su() {
	c.whole(Privilege, High, "Runs as another user, with other rights.")
	for i, a := range c.args {
		if (a.text == "-c" || a.text == "--command") && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
	}
	c.found.runsInput, c.found.inputAt = true, c.place
}

// text reads an argument that runs as a command of a shell.
func (c *call) text(a field) {
	if !a.static {
		c.at(a, Evaluated, High, "Runs a text that is computed.")
		return
	}
	c.w.nested(a.text, a.place)
}

func (c *call) shell() {
	if c.name == "nu" || c.name == "pwsh" || c.name == "powershell" || c.name == "elvish" || c.name == "fish" || c.name == "csh" || c.name == "tcsh" {
		c.whole(InlineCode, High, "Runs a language that is not read here.")
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case !a.static && a.proc == nil:
			c.at(a, Evaluated, High, "Runs a text that is computed.")
			return
		case a.text == "--rcfile" || a.text == "--init-file" || a.text == "-o" || a.text == "+o" || a.text == "-O" || a.text == "+O":
			i++
		case strings.HasPrefix(a.text, "--"):
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1 || strings.HasPrefix(a.text, "+"):
			if strings.Contains(a.text, "c") {
				for _, code := range c.args[i+1:] {
					if !strings.HasPrefix(code.text, "-") || !code.static {
						c.text(code)
						return
					}
				}
				return
			}
			if strings.Contains(a.text, "s") {
				c.input(c.w.nested)
				return
			}
			if strings.HasSuffix(a.text, "o") || strings.HasSuffix(a.text, "O") {
				i++
			}
		default:
			c.file(a)
			return
		}
	}
	c.input(c.w.nested)
}

// file is a script that is run.
func (c *call) file(a field) {
	switch full := c.w.resolve(a.text); {
	case a.proc != nil:
		c.w.runsText(a.place, *a.proc)
	case a.text == "-" || full == "/dev/stdin" || full == "/dev/fd/0" || full == "/proc/self/fd/0":
		c.input(c.w.nested)
	case !a.static:
		c.at(a, Computed, High, "Which file runs is computed.")
	case strings.HasPrefix(full, "/dev/tcp/"):
		c.at(a, DownloadRun, High, "Runs what comes from the network, unseen.")
	case c.w.fetched[full]:
		c.at(a, DownloadRun, High, "Runs a file that this command fetches from the network.")
	case full == "?" || !c.w.inFolder(full):
		c.at(a, Script, High, "Runs a file from outside the folder of the session.")
	default:
		c.at(a, Script, Medium, "Runs a file that is not shown here.")
	}
}

func (c *call) eval() {
	var words []string
	for _, a := range c.args {
		if !a.static {
			c.whole(Evaluated, High, "Runs a text that is computed.")
			return
		}
		words = append(words, a.text)
	}
	c.mark(Evaluated, Medium, "Runs a text as a command.")
	if len(c.args) > 0 {
		at := c.args[0].place
		at.to = max(at.to, c.args[len(c.args)-1].place.to)
		cwd := c.w.cwd
		c.w.nested(strings.Join(words, " "), at)
		c.w.cwd = cwd
	}
}

func (c *call) source() {
	if len(c.args) == 0 {
		return
	}
	a := c.args[0]
	if a.static && a.proc == nil && a.text != "-" && !strings.HasPrefix(c.w.resolve(a.text), "/dev/") && c.w.inFolder(c.w.resolve(a.text)) && !c.w.fetched[c.w.resolve(a.text)] {
		c.at(a, Evaluated, Medium, "Runs a file in this shell, which is not shown here.")
		return
	}
	c.file(a)
}

func (c *call) exec() {
	if len(c.args) == 0 {
		return // only its redirections count
	}
	c.mark(Launcher, Low, "Goes on as another program.")
	c.launch(0, "a")
}

func (c *call) command() {
	if c.has("vV") {
		return // only looks where the command is
	}
	c.launch(0, "")
}

func (c *call) env() {
	rest := c.args
	for len(rest) > 0 {
		a := rest[0]
		name, _, assigns := strings.Cut(a.text, "=")
		switch {
		case a.text == "-S" || a.text == "--split-string":
			if len(rest) > 1 {
				c.text(rest[1])
			}
			return
		case strings.HasPrefix(a.text, "-S") || strings.HasPrefix(a.text, "--split-string="):
			a.text = strings.TrimPrefix(strings.TrimPrefix(a.text, "--split-string="), "-S")
			c.text(a)
			return
		case strings.HasPrefix(a.text, "-") && len(a.text) > 1 && !strings.HasPrefix(a.text, "--"):
			rest = rest[1:]
			if strings.ContainsAny(a.text[len(a.text)-1:], "uCP") && len(rest) > 0 {
				if strings.HasSuffix(a.text, "C") {
					c.w.cwd = "?"
				}
				rest = rest[1:]
			}
		case strings.HasPrefix(a.text, "-"):
			rest = rest[1:]
		case assigns:
			if level, why := riskyVariable(name); level != "" {
				c.at(a, Environment, level, why)
			}
			rest = rest[1:]
		default:
			c.launchRest(rest, 0)
			return
		}
	}
	c.environment()
}

func (c *call) environment() {
	if len(c.plain()) == 0 {
		c.mark(ReadSecret, Medium, "Prints the environment, which may hold secrets.")
	}
}

func (c *call) nohup() {
	background(c)
	c.launch(0, "")
}

func (c *call) flock() {
	for i, a := range c.args {
		if (a.text == "-c" || a.text == "--command") && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
	}
	c.launch(1, "wE")
}

func (c *call) watch() {
	var words []string
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		takes := rest[0].text == "-n" || rest[0].text == "--interval"
		rest = rest[1:]
		if takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	for _, a := range rest {
		if !a.static {
			c.at(a, Evaluated, High, "Runs a text that is computed.")
			return
		}
		words = append(words, a.text)
	}
	if len(rest) > 0 {
		c.w.nested(strings.Join(words, " "), c.place)
	}
}

func (c *call) script() {
	for i, a := range c.args {
		if (a.text == "-c" || a.text == "--command") && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
		if strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "c") && len(a.text) > 1 && i+1 < len(c.args) {
			c.text(c.args[i+1])
			return
		}
	}
	c.mark(Launcher, Medium, "Starts a shell.")
	c.found.runsInput, c.found.inputAt = true, c.place
}

func (c *call) terminal() {
	c.whole(Background, Medium, "Goes on in a terminal of its own after the call has ended.")
	for _, a := range c.args {
		if a.static && strings.ContainsAny(a.text, " ;|&") {
			c.w.nested(a.text, a.place)
		}
	}
	if c.word("-X", "-S", "send-keys", "run-shell") {
		c.whole(Evaluated, High, "Runs a text as a command in another terminal.")
		return
	}
	if c.name == "screen" {
		c.launch(0, "STcpehst")
	}
}

func (c *call) trap() {
	if list := c.plain(); len(list) > 1 {
		c.at(list[0], Evaluated, Low, "Runs when the shell ends or gets a signal.")
		c.text(list[0])
	}
}

func (c *call) alias() {
	for _, a := range c.args {
		if name, body, ok := strings.Cut(a.text, "="); ok {
			c.at(a, Redefine, High, "Gives the command “"+name+"” another meaning.")
			if a.static {
				c.w.nested(body, a.place)
			}
		}
	}
}

func (c *call) enable() {
	if c.has("fn") {
		c.whole(Redefine, High, "Gives a command of the shell another meaning.")
	}
}

func (c *call) mapfile() {
	for i, a := range c.args {
		if a.text == "-C" && i+1 < len(c.args) {
			c.at(c.args[i+1], Evaluated, High, "Runs a text as a command.")
		}
	}
}

func (c *call) sandboxed() {
	c.launchRest(c.args, len(c.args))
	c.mark(Launcher, Medium, "Runs another program in a sandbox.")
}

func (c *call) later() {
	later(c)
	c.launch(0, "pu")
}

func (c *call) cd() {
	list := c.plain()
	if c.has("0123456789") && !strings.HasPrefix(c.name, "cd") {
		c.w.cwd = "?"
		return
	}
	switch {
	case len(list) == 0:
		c.w.cwd = "~"
	case !list[0].static || list[0].text == "-" || list[0].glob:
		c.w.cwd = "?"
	default:
		c.w.cwd = c.w.resolve(list[0].text)
	}
}

// --- code

// interpreter runs code of another language.
func (c *call) interpreter(letters string) {
	switch c.name {
	case "sqlite3", "psql", "mysql":
		c.database()
		return
	case "gdb":
		c.whole(InlineCode, High, "A debugger, which can run any code in a process.")
		return
	}
	if c.name == "bun" || c.name == "deno" {
		if sub, _ := c.sub(); sub != "" && c.name == "bun" && sub != "run" {
			c.npm()
			return
		} else if sub == "eval" || sub == "repl" {
			c.whole(InlineCode, Medium, "Runs code that stands in the command.")
			return
		}
	}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case !a.static && a.proc == nil:
			c.at(a, Evaluated, High, "Runs a text that is computed.")
			return
		case strings.HasPrefix(a.text, "--eval"), strings.HasPrefix(a.text, "--print"), strings.HasPrefix(a.text, "--run"), strings.HasPrefix(a.text, "--exec"):
			c.code(i)
			return
		case a.text == "--require" || a.text == "--import" || a.text == "-r" && c.name != "php" || a.text == "--loader":
			i++
		case a.text == "-m" && (c.name == "python" || c.name == "pypy"):
			c.module(c.args[i+1:])
			return
		case a.text == "-", a.text == "/dev/stdin":
			c.input(c.foreign)
			return
		case strings.HasPrefix(a.text, "--"), a.text == "-c" && c.name == "ruby", a.text == "-l" && c.name == "php":
		case strings.HasPrefix(a.text, "-"):
			if letters != "" && strings.ContainsAny(a.text[1:], letters) {
				c.code(i)
				return
			}
		case a.proc != nil:
			c.w.runsText(a.place, *a.proc)
			return
		default:
			full := c.w.resolve(a.text)
			switch {
			case c.w.fetched[full]:
				c.at(a, DownloadRun, High, "Runs a file that this command fetches from the network.")
			case full != "?" && c.w.inFolder(full) || c.name == "node" && a.text == "run":
				c.at(a, Script, Low, "Runs a file of the project.")
			default:
				c.at(a, Script, Medium, "Runs a file from outside the folder of the session.")
			}
			return
		}
	}
	if !c.word("--version", "-V", "-v", "--help", "-h") {
		c.input(c.foreign)
	}
}

var runsPrograms = regexp.MustCompile(`(?i)system|subprocess|popen|\bexec|spawn|child_process|shell_exec|passthru|backtick|%x|\beval\b|__import__|rmtree|unlink|os\.remove|rmsync|rm_rf|urlopen|requests\.|fetch\(|socket|https?:|b64decode|from_base64|do shell script|` + "`")

// code is what stands behind the option of an interpreter that takes code.
func (c *call) code(option int) {
	level, why := Medium, "Runs code that stands in the command."
	for i, a := range c.args[option:] {
		if i == 0 && strings.HasPrefix(a.text, "--") {
			_, a.text, _ = strings.Cut(a.text, "=")
		}
		if !a.static {
			c.at(a, Evaluated, High, "Runs a text that is computed.")
			return
		}
		if runsPrograms.MatchString(a.text) {
			level, why = High, "Runs code that stands in the command and can run programs, remove files or use the network."
		}
	}
	c.whole(InlineCode, level, why)
}

// foreign is code of another language that is not read.
func (c *call) foreign(text string, at place) {
	if runsPrograms.MatchString(text) {
		c.w.put(at, InlineCode, High, "Runs this code, which can run programs, remove files or use the network.")
		return
	}
	c.w.put(at, InlineCode, Medium, "Runs this code.")
}

func (c *call) module(rest []field) {
	if len(rest) == 0 {
		return
	}
	switch name := rest[0].text; name {
	case "pip", "ensurepip", "pipx", "uv":
		installs(c)
	case "http.server", "SimpleHTTPServer":
		c.whole(Network, Medium, "Lets other machines read files of this one.")
	case "pytest", "unittest", "mypy", "black", "ruff", "flake8", "venv", "json.tool", "timeit", "doctest", "compileall", "pylint", "build", "tox", "isort", "coverage", "this":
	default:
		c.at(rest[0], Script, Medium, "Runs a module that is not shown here.")
	}
}

var awkRuns = regexp.MustCompile(`system\s*\(|\|\s*getline|getline\s*<|\|\s*"|"\s*\||\|&|print[^;}]*>|/inet/`)

func (c *call) awk() {
	for _, a := range c.args {
		switch {
		case !a.static:
			c.at(a, Computed, Medium, "The program is computed.")
		case strings.Contains(a.text, "system") || strings.Contains(a.text, "getline") || strings.Contains(a.text, "/inet/"):
			c.at(a, InlineCode, High, "Code that runs commands or talks to other machines.")
		case awkRuns.MatchString(a.text):
			c.at(a, InlineCode, Medium, "Code that runs commands or writes files.")
		}
	}
	if c.has("f", "file", "include") || c.word("-i", "-l") {
		c.mark(Script, Medium, "Runs a file that is not shown here.")
	}
}

func (c *call) base() {
	if c.name == "xxd" {
		c.found.decodes = c.has("r")
		return
	}
	c.found.decodes = c.has("dD", "decode")
}

func (c *call) openssl() {
	c.found.decodes = true
	if sub, _ := c.sub(); sub == "s_client" || sub == "s_server" {
		talks(c)
		c.found.fetches = true
	}
}

func (c *call) tar() {
	if slices.ContainsFunc(c.args, func(a field) bool {
		return strings.HasPrefix(a.text, "--checkpoint-action") || strings.HasPrefix(a.text, "--to-command") || strings.HasPrefix(a.text, "--use-compress-program") || strings.HasPrefix(a.text, "--rsh-command") || strings.HasPrefix(a.text, "--info-script") || strings.HasPrefix(a.text, "--new-volume-script") || a.text == "-I"
	}) {
		c.whole(Launcher, High, "Runs the program that an option names.")
	}
	for i, a := range c.args {
		if a.text == "-C" && i+1 < len(c.args) || strings.HasPrefix(a.text, "--directory") {
			target := a
			if a.text == "-C" {
				target = c.args[i+1]
			} else if _, dir, ok := strings.Cut(a.text, "="); ok {
				target.text = dir
			}
			c.w.writesTo(target)
		}
		if a.text == "-P" || a.text == "--absolute-names" {
			c.at(a, WriteOutside, Medium, "Unpacks to wherever the archive says.")
		}
	}
	c.found.decodes = true
	c.mark(Overwrite, Low, "Packs or unpacks files.")
}

var dropsData = regexp.MustCompile(`(?i)\b(drop|truncate|delete\s+from|flushall|flushdb|dropdatabase|deletemany|\.remove\()`)
var databaseRuns = regexp.MustCompile(`(?i)(^|\s)(\.shell|\.system|\.import|\.load|\.output|\.once|\\!|\\copy|\\o|system\b)|copy\s.*(program|to)\s|load_extension|into\s+(out|dump)file`)

func (c *call) database() {
	for _, a := range c.args {
		switch {
		case !a.static:
			c.at(a, Computed, Medium, "What is asked of the database is computed.")
		case dropsData.MatchString(a.text):
			c.at(a, Remote, High, "Removes data from a database.")
		case databaseRuns.MatchString(a.text):
			c.at(a, Launcher, High, "Runs programs or writes files through the database.")
		case strings.ContainsAny(a.text, " ;"):
			c.at(a, Remote, Medium, "Reads or changes a database.")
		}
	}
	c.input(func(text string, at place) {
		if dropsData.MatchString(text) || databaseRuns.MatchString(text) {
			c.w.put(at, Remote, High, "Removes data from a database, or runs programs through it.")
			return
		}
		c.w.put(at, Remote, Medium, "Reads or changes a database.")
	})
	c.found.runsInput = false
}

// --- permissions, devices, processes

var opensFile = regexp.MustCompile(`(^|,)[ugoa]*[+=][rwxXt]*s|^[2467][0-7]{3}$|^0?[0-7]?77[67]$|o\+?=?[rx]*w|^a?[+]r?wx?$|^a\+rw`)

func (c *call) chmodMode() {
	for _, a := range c.args {
		if opensFile.MatchString(a.text) {
			c.at(a, Permissions, High, "Lets everybody change it, or run it with the rights of its owner.")
		}
	}
}

func (c *call) chmod() {
	if c.has("R", "recursive") {
		c.whole(Permissions, High, "Changes the permissions of a folder with all that is in it.")
	} else {
		c.mark(Permissions, Low, "Changes who may read, write or run a file.")
	}
	c.chmodMode()
	c.owned()
}

func (c *call) chown() {
	level := Medium
	if c.has("R", "recursive") || c.has("b", "restore") {
		level = High
	}
	c.whole(Permissions, level, "Changes who owns files, or what may be done with them.")
	c.owned()
}

// owned marks files outside the folder of the session; the first argument is a
// mode or an owner.
func (c *call) owned() {
	for i, a := range c.plain() {
		switch {
		case i == 0:
		case !a.static:
			c.at(a, Computed, Medium, "Which file is meant is computed.")
		default:
			if full := c.w.resolve(a.text); full == "?" || !c.w.inFolder(full) {
				c.at(a, Permissions, High, "Outside the folder of the session.")
			}
		}
	}
}

func (c *call) dd() {
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "of=") {
			c.at(a, Disk, High, "Writes raw data over a file or a disk.")
			return
		}
		if !a.static {
			c.at(a, Disk, High, "Writes raw data, where to is computed.")
			return
		}
		if from, ok := strings.CutPrefix(a.text, "if=/dev/"); ok && !strings.HasPrefix(from, "zero") && !strings.HasPrefix(from, "urandom") && !strings.HasPrefix(from, "random") && !strings.HasPrefix(from, "null") {
			c.at(a, ReadSecret, High, "Reads a disk raw.")
		}
	}
	c.mark(Disk, Medium, "Copies raw data.")
}

func (c *call) kill() {
	if c.word("-0", "-l", "-L", "--list") {
		return
	}
	if c.name == "fuser" && !c.has("k", "kill") {
		return
	}
	level := Medium
	if c.word("-1", "1", "0") && c.name == "kill" && slices.ContainsFunc(c.args, func(a field) bool { return a.text == "-1" || a.text == "0" }) && len(c.args) > 1 || c.word("-u", "-U", "--euid") {
		level = High
	}
	c.whole(Kill, level, "Ends processes.")
}

func (c *call) service() {
	sub, _ := c.sub()
	switch sub {
	case "status", "list-units", "list-unit-files", "is-active", "is-enabled", "show", "cat":
	case "enable", "daemon-reload", "link", "edit", "set-property":
		later(c)
	default:
		system(c)
	}
}

func (c *call) sysctl() {
	if c.has("wp", "write", "load", "system") || slices.ContainsFunc(c.args, func(a field) bool { return strings.Contains(a.text, "=") }) {
		system(c)
	}
}

func (c *call) defaults() {
	if sub, _ := c.sub(); sub != "read" && sub != "find" && sub != "domains" {
		system(c)
	}
}

func (c *call) system() {
	sub, _ := c.sub()
	switch sub {
	case "list", "search", "show", "info", "policy", "depends", "outdated", "config", "doctor", "-l", "deps", "why", "eval", "flake":
		if c.name != "nix" {
			return
		}
	case "remove", "purge", "autoremove", "uninstall", "erase", "cleanup":
		c.whole(System, High, "Removes programs from this machine.")
		return
	case "":
		if !c.has("SUiRrD") {
			return
		}
	}
	c.whole(Install, High, "Changes the programs of this machine.")
}

// --- network

func (c *call) curl() {
	c.found.fetches = true
	level, kind, why := Medium, Network, "Talks to another machine."
	for i, a := range c.args {
		next := field{static: true}
		if i+1 < len(c.args) {
			next = c.args[i+1]
		}
		switch {
		case a.text == "-o" || a.text == "--output":
			c.fetchedTo(next)
		case strings.HasPrefix(a.text, "--output="):
			a.text = strings.TrimPrefix(a.text, "--output=")
			c.fetchedTo(a)
		case strings.HasPrefix(a.text, "-o") && len(a.text) > 2:
			a.text = a.text[2:]
			c.fetchedTo(a)
		case a.text == "-K" || a.text == "--config":
			c.at(a, Script, Medium, "Its options stand in a file that is not shown here.")
		case a.text == "-T" || strings.HasPrefix(a.text, "--upload"):
			level, kind, why = High, Upload, "Sends a file to another machine."
		case a.text == "-F" || strings.HasPrefix(a.text, "--form") || strings.HasPrefix(a.text, "--data") || strings.HasPrefix(a.text, "-d") || strings.HasPrefix(a.text, "--json") || strings.HasPrefix(a.text, "-F"):
			value := next
			if _, v, ok := strings.Cut(a.text, "="); ok {
				value = a
				value.text = v
			} else if len(a.text) > 2 && !strings.HasPrefix(a.text, "--") {
				value = a
				value.text = a.text[2:]
			}
			if level != High {
				level, kind, why = Medium, Upload, "Sends data to another machine."
			}
			if !value.static || strings.HasPrefix(value.text, "@") || strings.Contains(value.text, "=@") || strings.Contains(value.text, "=<") {
				level, kind, why = High, Upload, "Sends files or computed data to another machine."
			}
		case (a.text == "-X" || a.text == "--request") && (next.text == "DELETE" || next.text == "delete"):
			level, kind, why = High, Remote, "Asks another machine to remove something."
		case strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "O") && !strings.HasPrefix(a.text, "--"), a.text == "--remote-name":
			for _, url := range c.plain() {
				c.w.fetched[c.w.resolve(path.Base(url.text))] = true
			}
		case strings.HasPrefix(a.text, "file:"):
			c.at(a, ReadSecret, Medium, "Reads a file of this machine.")
		case !a.static && a.open:
			c.at(a, Upload, Medium, "What goes to another machine is computed.")
		case !a.static && strings.Contains(a.text, "?"), !a.static && strings.Contains(a.text, "="):
			level, kind, why = High, Upload, "Sends computed data to another machine."
		}
	}
	c.whole(kind, level, why)
}

func (c *call) fetchedTo(f field) {
	if f.text == "" || f.text == "-" {
		return
	}
	c.w.fetched[c.w.resolve(f.text)] = true
	c.w.writesTo(f)
}

func (c *call) wget() {
	talks(c)
	for i, a := range c.args {
		switch {
		case (a.text == "-O" || a.text == "--output-document") && i+1 < len(c.args):
			if c.args[i+1].text == "-" || c.args[i+1].text == "/dev/stdout" {
				c.found.fetches = true
			}
			c.fetchedTo(c.args[i+1])
		case strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "O-"), strings.HasSuffix(a.text, "O") && strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && i+1 < len(c.args) && c.args[i+1].text == "-":
			c.found.fetches = true
		case strings.HasPrefix(a.text, "--output-document="):
			a.text = strings.TrimPrefix(a.text, "--output-document=")
			c.found.fetches = c.found.fetches || a.text == "-"
			c.fetchedTo(a)
		case strings.HasPrefix(a.text, "--post-") || strings.HasPrefix(a.text, "--body-"):
			c.at(a, Upload, High, "Sends data to another machine.")
		case strings.HasPrefix(a.text, "--use-askpass") || strings.HasPrefix(a.text, "-e") || strings.HasPrefix(a.text, "--execute"):
			c.at(a, Launcher, High, "An option that can run a program.")
		case !strings.HasPrefix(a.text, "-"):
			base := path.Base(a.text)
			base, _, _ = strings.Cut(base, "?")
			c.w.fetched[c.w.resolve(base)] = true
		}
	}
}

func (c *call) netcat() {
	c.found.fetches = true
	if c.has("ec", "exec", "sh-exec") {
		c.whole(Launcher, High, "Lets another machine run commands on this one.")
		return
	}
	c.whole(Network, High, "Opens a bare connection to or from another machine.")
}

func (c *call) socat() {
	c.found.fetches = true
	c.whole(Network, High, "Connects programs, files and other machines with each other.")
}

func (c *call) ssh() {
	c.found.fetches = true
	talks(c)
	for _, a := range c.args {
		lower := strings.ToLower(a.text)
		if strings.Contains(lower, "proxycommand") || strings.Contains(lower, "localcommand") || a.text == "-F" {
			c.whole(Launcher, High, "Runs the program that an option names.")
		}
		if a.text == "-R" || a.text == "-L" || a.text == "-D" || strings.HasPrefix(a.text, "-R") {
			c.at(a, Network, High, "Opens a way between networks.")
		}
	}
	rest := c.args
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		takes := len(rest[0].text) == 2 && strings.ContainsAny(rest[0].text[1:], "bcDEeFIiJLlmOopQRSWw")
		rest = rest[1:]
		if takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	if len(rest) < 2 {
		if len(rest) == 1 {
			c.found.runsInput, c.found.inputAt = true, c.place
		}
		return
	}
	c.whole(Remote, High, "Runs a command on another machine.")
	var words []string
	for _, a := range rest[1:] {
		words = append(words, a.text)
	}
	// Paths there are not paths here; what it does is worth a mark all the same.
	at := rest[1].place
	at.to = max(at.to, rest[len(rest)-1].place.to)
	cwd := c.w.cwd
	c.w.cwd = "?"
	c.w.nested(strings.Join(words, " "), at)
	c.w.cwd = cwd
}

func (c *call) scp() {
	if c.has("So") {
		c.whole(Launcher, High, "Runs the program that an option names.")
	}
	list := c.plain()
	if len(list) == 0 {
		return
	}
	last := list[len(list)-1]
	if strings.Contains(last.text, ":") || !last.static {
		c.whole(Upload, High, "Sends files to another machine.")
		return
	}
	talks(c)
	c.fetchedTo(last)
}

// --- tools of developers

// verbs that take something away, or bring something to others, wherever they stand.
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
			c.whole(Remote, High, "Removes something on another machine or service.")
			return
		case changingVerbs[verb] || strings.HasPrefix(verb, "create-") || strings.HasPrefix(verb, "put-") || strings.HasPrefix(verb, "update-") || strings.HasPrefix(verb, "run-"):
			level = atLeast(level, Medium)
		}
	}
	switch level {
	case High, Medium:
		c.whole(Remote, level, "Changes something on another machine or service.")
	default:
		c.whole(Network, Medium, "Talks to another machine or service.")
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
				c.whole(Remote, High, "Asks the service to remove or change something.")
				return
			}
			if method != "" && method != "GET" || c.has("fF", "field", "raw-field", "input") {
				c.whole(Remote, Medium, "Asks the service to change something.")
				return
			}
		case "alias", "extension":
			if i == 0 {
				c.whole(Install, High, "Adds commands that run code of others.")
				return
			}
		case "auth":
			if c.word("token") {
				c.whole(ReadSecret, High, "Prints a secret.")
				return
			}
		case "view", "list", "status", "diff", "checks", "browse":
			if i == 1 || i == 0 {
				c.whole(Network, Low, "Reads from the service.")
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
			c.at(a, Privilege, High, "Lets the container reach the machine.")
		case a.text == "-v" || strings.HasPrefix(a.text, "--volume") || strings.HasPrefix(a.text, "--mount"):
			from, _, _ := strings.Cut(value, ":")
			if strings.Contains(value, "docker.sock") || from == "/" || strings.HasPrefix(from, "~") || path.IsAbs(from) && !c.w.inFolder(path.Clean(from)) {
				c.at(a, Privilege, High, "Lets the container reach files outside the folder of the session.")
			}
		}
	}
	sub, rest := c.sub("-H", "--host", "--context", "-f", "--file", "-p", "--project-name")
	for _, a := range append([]field{{text: sub}}, rest...) {
		if removingVerbs[a.text] || a.text == "rmi" || a.text == "kill" {
			c.whole(Delete, High, "Removes containers, images or their data.")
			return
		}
	}
	switch sub {
	case "ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff", "history":
	case "exec":
		c.whole(Launcher, Medium, "Runs a command in a container.")
	case "push", "login":
		c.whole(Remote, Medium, "Sends something to another machine.")
	default:
		c.whole(Install, Medium, "Runs or fetches containers.")
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
					c.at(args[0], WriteOutside, Medium, "Works outside the folder of the session.")
				}
				args = args[1:]
			}
		case strings.HasPrefix(a.text, "--exec-path="):
			c.at(a, Launcher, High, "Runs programs from the folder that an option names.")
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
		c.at(args[0], Computed, High, "What git does is computed.")
		return
	}
	sub := &call{w: c.w, name: "git " + args[0].text, args: args[1:], place: c.place}
	sub.gitVerb(args[0].text)
	for _, a := range sub.args {
		if strings.HasPrefix(a.text, "--upload-pack") || strings.HasPrefix(a.text, "--receive-pack") || strings.HasPrefix(a.text, "--exec=") || strings.HasPrefix(a.text, "ext::") || strings.HasPrefix(a.text, "--open-files-in-pager") || strings.HasPrefix(a.text, "--ext-diff") || args[0].text == "grep" && strings.HasPrefix(a.text, "-O") {
			c.at(a, Launcher, High, "Runs the program that an option names.")
		}
		if to, ok := strings.CutPrefix(a.text, "--output="); ok {
			a.text = to
			c.w.writesTo(a)
		}
	}
}

// gitConfig is a setting of git, as name=value.
func (c *call) gitConfig(a field) {
	name := strings.ToLower(a.text)
	for _, part := range []string{"alias.", "core.sshcommand", "core.pager", "core.editor", "core.hookspath", "core.fsmonitor", "core.askpass", "core.gitproxy", "credential.", "diff.external", ".textconv", ".command", ".cmd", "pager.", "gpg.", "filter.", "sequence.editor", "uploadpack.", "protocol.ext", "include", "url.", "init.templatedir", ".process", ".clean", ".smudge", ".driver"} {
		if strings.Contains(name, part) {
			c.at(a, Launcher, High, "A setting of git that runs programs, or changes where it goes.")
			return
		}
	}
	if !a.static {
		c.at(a, Computed, High, "A setting of git that is computed.")
		return
	}
	c.at(a, Redefine, Low, "A setting of git.")
}

func (c *call) gitVerb(verb string) {
	force := c.has("f", "force")
	switch verb {
	case "status", "log", "diff", "show", "blame", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "shortlog", "cat-file", "grep", "name-rev", "merge-base", "for-each-ref", "show-ref", "symbolic-ref", "whatchanged", "range-diff", "cherry", "count-objects", "fsck", "help", "version", "--version", "var", "check-ignore", "check-attr", "show-branch", "diff-tree", "diff-index", "diff-files", "hash-object", "ls-remote", "add", "commit", "mv", "init", "notes", "apply", "am", "merge", "cherry-pick", "revert", "archive", "bundle", "fetch", "pull", "clone", "sparse-checkout", "maintenance", "stage", "format-patch", "difftool", "mergetool", "reflog", "stash", "branch", "tag", "remote", "checkout", "switch", "restore", "reset", "clean", "push", "rebase", "config", "submodule", "worktree", "rm", "bisect", "filter-branch", "filter-repo", "gc", "prune", "update-ref", "send-email", "daemon", "instaweb", "replace", "lfs", "read-tree", "checkout-index", "update-index":
	default:
		c.mark(Unknown, Medium, "A command of git that is not known here; it may be an alias.")
		return
	}
	first := ""
	if list := c.plain(); len(list) > 0 {
		first = list[0].text
	}
	discard := func(level Level, why string) { c.whole(GitDiscard, level, why) }
	switch verb {
	case "push":
		switch {
		case force || c.has("", "force-with-lease", "mirror", "delete", "prune") || c.has("d") || slices.ContainsFunc(c.plain(), func(a field) bool { return strings.HasPrefix(a.text, "+") || strings.HasPrefix(a.text, ":") }):
			c.whole(GitForce, High, "Replaces or removes what is on the other side.")
		case c.computed():
			c.whole(GitForce, High, "What is pushed, and how, is computed.")
		default:
			c.whole(GitPush, Medium, "Sends work to another machine.")
		}
	case "reset":
		if c.has("", "hard", "merge", "keep") {
			discard(High, "Throws away changes that are not committed.")
		} else {
			discard(Low, "Moves the branch or the index.")
		}
	case "clean":
		if force || c.has("f") {
			discard(High, "Removes files that git does not know.")
		}
	case "checkout", "restore", "switch":
		all := slices.ContainsFunc(c.args, func(a field) bool { return a.text == "." || a.text == "--" || a.text == ":/" || a.text == "*" })
		switch {
		case force || c.has("", "discard-changes"):
			discard(High, "Throws away changes that are not committed.")
		case verb == "restore" && !(c.has("S", "staged") && !c.has("W", "worktree")) || verb == "checkout" && all:
			discard(High, "Throws away changes of files that are not committed.")
		case verb != "restore":
			discard(Low, "Changes what is in the folder.")
		}
	case "stash":
		if first == "drop" || first == "clear" {
			discard(High, "Throws away what was put aside.")
		} else if first != "list" && first != "show" {
			discard(Low, "Puts changes aside or takes them back.")
		}
	case "branch":
		if c.has("D") || force && c.has("dM", "delete") {
			discard(High, "Removes a branch, merged or not.")
		} else if c.has("dmM", "delete", "move") {
			discard(Medium, "Removes or renames a branch.")
		}
	case "tag":
		if c.has("d", "delete") || force {
			discard(Medium, "Removes or moves a tag.")
		}
	case "reflog":
		if first == "expire" || first == "delete" {
			discard(High, "Throws away the way back.")
		}
	case "filter-branch", "filter-repo":
		discard(High, "Rewrites the whole history, and runs commands for it.")
	case "gc", "prune":
		if c.has("", "prune") || verb == "prune" {
			discard(High, "Throws away what could still be got back.")
		}
	case "update-ref", "replace", "read-tree", "checkout-index", "update-index":
		discard(Medium, "Changes the repository below the usual commands.")
	case "rebase":
		if c.has("x", "exec") {
			c.whole(Launcher, High, "Runs a command for each commit.")
		} else {
			discard(Medium, "Rewrites commits.")
		}
	case "bisect":
		if first == "run" {
			c.run(c.args[slices.IndexFunc(c.args, func(a field) bool { return a.text == "run" })+1:])
		}
	case "submodule":
		if first == "foreach" {
			for _, a := range c.plain()[1:] {
				if a.static {
					c.w.nested(a.text, a.place)
				} else {
					c.at(a, Evaluated, High, "Runs a text that is computed.")
				}
			}
		} else if first == "add" || first == "update" {
			c.whole(Install, Medium, "Fetches code of others.")
		}
	case "config":
		if c.has("l", "list", "get", "get-all", "get-regexp") || len(c.plain()) < 2 {
			return
		}
		if c.has("", "global", "system") {
			c.whole(Redefine, High, "Changes the settings of git outside this repository.")
		}
		c.gitConfig(c.plain()[0])
	case "remote":
		if first == "set-url" || first == "add" || first == "remove" || first == "rm" {
			c.whole(Redefine, Medium, "Changes where git sends and fetches.")
		}
	case "clone", "fetch", "pull", "ls-remote":
		c.whole(Network, Low, "Fetches from another machine.")
	case "rm":
		if c.has("r") || force {
			c.whole(Delete, Medium, "Removes files.")
		}
	case "worktree":
		if first == "remove" || first == "prune" {
			discard(Medium, "Removes a work tree.")
		}
	case "commit":
		if c.has("", "amend") {
			discard(Low, "Replaces the last commit.")
		}
		if c.has("n", "no-verify") {
			c.whole(Redefine, Low, "Leaves out the checks before a commit.")
		}
	case "send-email", "daemon", "instaweb":
		uploads(c)
	case "difftool", "mergetool":
		c.whole(Launcher, Medium, "Starts another program.")
	}
}

func (c *call) npm() {
	sub, _ := c.sub("--prefix", "-C", "--dir", "--filter", "-w", "--workspace", "--cwd")
	switch sub {
	case "test", "t", "run", "run-script", "ls", "list", "view", "outdated", "why", "explain", "version", "help", "start", "lint", "build", "check", "typecheck", "format", "dev", "ping", "root", "bin", "pack", "fund", "doctor", "audit", "":
		if sub == "audit" && c.word("fix") {
			installs(c)
		}
	case "publish", "unpublish", "deprecate", "dist-tag", "owner", "access", "team", "token", "adduser", "login", "logout", "unstar", "star":
		c.whole(Remote, High, "Changes what others get from the registry, or who may.")
	case "exec", "x", "dlx", "create", "init":
		downloadsProgram(c)
	case "config", "set":
		c.whole(Redefine, Medium, "Changes the settings of the package tool.")
	default:
		if c.name == "yarn" || c.name == "pnpm" || c.name == "bun" {
			if sub != "add" && sub != "install" && sub != "i" && sub != "remove" && sub != "up" && sub != "upgrade" && sub != "update" && sub != "link" && sub != "global" {
				c.mark(Script, Low, "Runs a script of the project.")
				return
			}
		}
		installs(c)
	}
}

func (c *call) pip() {
	sub, rest := c.sub("--project", "--directory")
	switch sub {
	case "list", "show", "freeze", "check", "search", "info", "env", "outdated", "--version", "tree", "":
	case "run", "exec":
		c.run(rest)
	case "test", "build", "format", "compile", "lint", "deps.get":
	case "tool", "x":
		downloadsProgram(c)
	case "publish", "push", "yank", "nuget":
		c.whole(Remote, High, "Changes what others get from the registry.")
	default:
		installs(c)
	}
}

func (c *call) cargo() {
	sub, _ := c.sub("--manifest-path", "--target-dir", "--config")
	switch sub {
	case "build", "b", "check", "c", "test", "t", "bench", "clippy", "fmt", "doc", "tree", "metadata", "clean", "run", "r", "nextest", "version", "search", "":
		if c.has("", "config") {
			c.whole(Launcher, High, "A setting that can run programs.")
		}
	case "publish", "yank", "owner", "login", "logout":
		c.whole(Remote, High, "Changes what others get from the registry, or who may.")
	default:
		installs(c)
	}
}

func (c *call) golang() {
	sub, rest := c.sub("-C")
	for i, a := range c.args {
		if a.text == "-exec" || a.text == "-toolexec" || strings.HasPrefix(a.text, "-exec=") || strings.HasPrefix(a.text, "-toolexec=") || strings.HasPrefix(a.text, "--exec") || strings.HasPrefix(a.text, "--toolexec") || a.text == "-vettool" || strings.HasPrefix(a.text, "-vettool=") || strings.HasPrefix(a.text, "-overlay") {
			c.whole(Launcher, High, "Runs the program that an option names.")
			return
		}
		if a.text == "-o" && i+1 < len(c.args) {
			c.w.writesTo(c.args[i+1])
		}
	}
	switch sub {
	case "test", "build", "vet", "fmt", "list", "doc", "version", "env", "mod", "work", "clean", "fix", "help", "":
		if sub == "env" && c.has("wu") {
			c.whole(Redefine, High, "Changes the settings of Go for everything that follows.")
		}
	case "run":
		if len(rest) > 0 && slices.ContainsFunc(rest, func(a field) bool { return strings.Contains(a.text, "@") }) {
			downloadsProgram(c)
			return
		}
		c.mark(Script, Low, "Runs a program of the project.")
	case "generate", "tool":
		c.mark(Script, Medium, "Runs the commands that stand in the project's files.")
	default:
		installs(c)
	}
}

func (c *call) build() {
	for _, a := range c.args {
		switch a.text {
		case "deploy", "publish", "upload", "release":
			c.whole(Remote, High, "Changes what others get.")
			return
		}
	}
}

func (c *call) make() {
	for _, a := range c.args {
		name, _, ok := strings.Cut(a.text, "=")
		switch {
		case ok && !strings.HasPrefix(a.text, "-") && (name == "SHELL" || name == "MAKEFLAGS" || strings.HasPrefix(name, ".")):
			c.at(a, Launcher, High, "Decides which program runs the commands.")
		case strings.HasPrefix(a.text, "--eval") || strings.HasPrefix(a.text, "-E"):
			c.at(a, Evaluated, High, "Runs a text as part of the makefile.")
		case a.text == "-f" || strings.HasPrefix(a.text, "--file") || strings.HasPrefix(a.text, "--makefile"):
			c.at(a, Script, Medium, "Runs a file that is not shown here.")
		case a.text == "install" || a.text == "uninstall" || a.text == "deploy" || a.text == "publish" || a.text == "release":
			c.at(a, System, Medium, "Changes more than the folder of the session.")
		}
	}
	if c.word("-f-", "-") {
		c.found.runsInput, c.found.inputAt = true, c.place
	}
}

// --- files that others trust

// sensitive says why a file is worth a second look when it is written, "" when it
// is not.
func sensitive(full string) string {
	p := strings.ToLower(full)
	base := path.Base(p)
	within := func(dir string) bool { return strings.Contains(p+"/", "/"+dir+"/") }
	switch {
	case within(".git/hooks") || strings.HasSuffix(p, ".git/config") || strings.Contains(p, ".git/info") || within(".husky"):
		return "Git runs programs that this file names."
	case within(".ssh"), within(".gnupg"):
		return "Keys, and who may sign in with them."
	case within(".aws"), within(".kube"), within(".docker"), base == ".netrc", base == ".npmrc", base == ".pypirc":
		return "Keys to other services."
	case slices.Contains([]string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".inputrc", ".vimrc", ".gitconfig", ".tmux.conf", ".screenrc", "config.fish", ".envrc", ".pythonrc", ".curlrc", ".wgetrc"}, base):
		return "This file runs, or is read, whenever a program starts."
	case within(".claude") || base == ".mcp.json" || base == ".claude.json":
		return "Settings of Claude itself: what it may do without being asked."
	case strings.HasPrefix(p, "/etc/"), p == "/etc", strings.HasPrefix(p, "/usr/"), strings.HasPrefix(p, "/bin/"), strings.HasPrefix(p, "/sbin/"), strings.HasPrefix(p, "/lib"), strings.HasPrefix(p, "/boot"), strings.HasPrefix(p, "/system/"), strings.HasPrefix(p, "/library/"), strings.HasPrefix(p, "/proc/"), strings.HasPrefix(p, "/sys/"), strings.HasPrefix(p, "/var/spool/cron"), strings.HasPrefix(p, "/opt/"), p == "/":
		return "A file of the system."
	case within("launchagents"), within("launchdaemons"), within(".config/systemd"), within(".config/autostart"), within("cron.d"):
		return "What stands here runs by itself."
	}
	return ""
}

// secret reports whether a path looks like one that holds secrets.
func secret(full string) bool {
	p := strings.ToLower(full)
	base := path.Base(p)
	switch {
	case strings.Contains(p, "/.ssh/") && !strings.HasSuffix(p, ".pub") && base != "known_hosts" && base != "config",
		strings.Contains(p, "/.aws/"), strings.Contains(p, "/.gnupg/"), strings.Contains(p, "/.kube/config"), strings.Contains(p, "/.docker/config"),
		p == "/etc/shadow", p == "/etc/sudoers", strings.HasPrefix(p, "/proc/") && strings.HasSuffix(p, "/environ"),
		base == ".netrc", base == ".npmrc", base == ".pypirc", base == ".git-credentials", base == ".pgpass", base == "credentials.json", base == ".credentials.json", base == "id_rsa", base == "id_ed25519", base == "id_ecdsa", base == ".bash_history", base == ".zsh_history",
		strings.HasSuffix(base, ".pem"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".p12"), strings.HasSuffix(base, ".kdbx"), strings.HasSuffix(base, ".keystore"),
		base == ".env", strings.HasPrefix(base, ".env.") && !strings.HasSuffix(base, "example") && !strings.HasSuffix(base, "sample") && !strings.HasSuffix(base, "template"):
		return true
	}
	return false
}
