package review

// shells run commands from a string, a file or their standard input.
var shells = set("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh", "mksh", "rbash", "elvish", "nu", "pwsh", "powershell")

// interpreters maps an interpreter to its options for code.
var interpreters = map[string]string{
	"python": "c", "pypy": "c", "ipython": "c", "node": "ep", "nodejs": "ep", "bun": "ep", "deno": "", "perl": "eE", "ruby": "e", "php": "rBE", "lua": "e", "luajit": "e",
	"tclsh": "", "expect": "c", "osascript": "e", "rscript": "e", "r": "e", "julia": "eE", "groovy": "e", "scala": "e", "ghc": "e", "runghc": "e", "elixir": "e", "erl": "e", "guile": "c", "racket": "e", "sbcl": "", "clojure": "e", "swipl": "g", "jshell": "", "irb": "", "gdb": "", "sqlite3": "", "psql": "", "mysql": "", "ts-node": "ep", "tsx": "ep", "jq": "",
}

// harmless programs only read, or do the usual work of a session: build and test. The code that
// they run belongs to the project.
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

// commands maps programs that can do harm to their assessment.
var commands map[string]func(*call)

func init() { // in init, because a rule may run another one and so refer to this table
	commands = map[string]func(*call){
		"rm": (*call).rm, "rmdir": deletes, "unlink": deletes, "shred": deletes, "srm": (*call).rm, "trash": deletes, "truncate": deletes, "wipe": deletes, "rimraf": (*call).tree, "del-cli": deletes,
		"mv": (*call).moves, "cp": (*call).copies, "install": (*call).copies, "ln": (*call).copies, "rsync": (*call).rsync, "tee": (*call).tee, "sponge": (*call).tee, "sed": (*call).sed, "ed": (*call).editor, "ex": (*call).editor, "vi": (*call).editor, "vim": (*call).editor, "nvim": (*call).editor, "emacs": (*call).editor, "patch": edits,
		"find": (*call).find, "gfind": (*call).find, "xargs": (*call).xargs, "parallel": (*call).xargs, "fzf": (*call).fzf,
		"sudo": (*call).sudo, "doas": (*call).sudo, "pkexec": (*call).sudo, "su": (*call).su, "runuser": (*call).su, "gosu": (*call).sudo, "sudoedit": privileged, "visudo": privileged, "passwd": privileged, "chsh": privileged, "useradd": privileged, "usermod": privileged, "userdel": privileged, "setcap": privileged, "nsenter": (*call).sudo, "unshare": (*call).sudo, "chroot": func(c *call) { privileged(c); c.launch(1, "") },
		"eval": (*call).eval, "source": (*call).source, ".": (*call).source, "exec": (*call).exec, "command": (*call).command, "builtin": (*call).wrapper, "env": (*call).env, "nohup": (*call).nohup, "setsid": (*call).nohup, "disown": background, "nice": func(c *call) { c.launch(0, "n", "--adjustment") }, "ionice": func(c *call) { c.launch(0, "cnp") }, "time": func(c *call) { c.launch(0, "of") }, "timeout": func(c *call) { c.launch(1, "ks", "--signal", "--kill-after") }, "gtimeout": func(c *call) { c.launch(1, "ks", "--signal", "--kill-after") }, "stdbuf": func(c *call) { c.launch(0, "ioe") }, "unbuffer": (*call).wrapper, "caffeinate": func(c *call) { c.launch(0, "tw") }, "arch": (*call).wrapper, "taskset": func(c *call) { c.launch(1, "") }, "chrt": func(c *call) { c.launch(1, "") }, "flock": (*call).flock, "watch": (*call).watch, "entr": (*call).wrapper, "nodemon": (*call).wrapper, "strace": func(c *call) { c.launch(0, "opseEu") }, "ltrace": func(c *call) { c.launch(0, "opseu") }, "perf": func(c *call) { c.launch(1, "") }, "script": (*call).script, "busybox": (*call).wrapper, "toybox": (*call).wrapper, "dotenv": (*call).wrapper, "direnv": func(c *call) { c.launch(2, "") }, "xvfb-run": (*call).wrapper, "screen": (*call).terminal, "tmux": (*call).terminal, "trap": (*call).trap, "alias": (*call).alias, "unalias": nothing, "history": history, "fc": history, "enable": (*call).enable, "hash": (*call).hash, "bind": evaluates, "complete": evaluates, "mapfile": (*call).mapfile, "readarray": (*call).mapfile, "setarch": (*call).wrapper, "firejail": (*call).wrapper, "bwrap": (*call).sandboxed, "proxychains": (*call).wrapper, "torsocks": (*call).wrapper, "systemd-run": (*call).later, "at": persists, "batch": persists, "crontab": persists, "launchctl": persists,
		"curl": (*call).curl, "wget": (*call).wget, "aria2c": fetches, "http": fetches, "https": fetches, "xh": fetches, "lynx": fetches, "fetch": fetches, "nc": (*call).netcat, "ncat": (*call).netcat, "netcat": (*call).netcat, "socat": (*call).socat, "telnet": usesNetwork, "ftp": usesNetwork, "sftp": usesNetwork, "ssh": (*call).ssh, "scp": (*call).scp, "mosh": usesNetwork, "rclone": (*call).remote, "mail": uploads, "sendmail": uploads, "mutt": uploads, "nmap": usesNetwork, "openssl": (*call).openssl, "gpg": decodes,
		"base64": (*call).baseDecoder, "base32": (*call).baseDecoder, "basenc": (*call).baseDecoder, "uudecode": decodes, "gunzip": decodes, "zcat": decodes, "bzcat": decodes, "xzcat": decodes, "gzip": packs, "bzip2": packs, "xz": packs, "zstd": packs, "tar": (*call).tar, "zip": packs, "unzip": packs, "7z": packs, "cpio": packs, "awk": (*call).awk, "gawk": (*call).awk, "mawk": (*call).awk, "nawk": (*call).awk, "xxd": (*call).baseDecoder,
		"chmod": (*call).chmod, "chown": (*call).chown, "chgrp": (*call).chown, "setfacl": (*call).chown, "chattr": (*call).chown, "xattr": (*call).chown,
		"dd": (*call).dd, "fdisk": disk, "parted": disk, "sfdisk": disk, "gdisk": disk, "wipefs": disk, "mkswap": disk, "mount": disk, "umount": disk, "losetup": disk, "cryptsetup": disk, "diskutil": disk, "lvremove": disk, "vgremove": disk, "blkdiscard": disk, "hdparm": disk, "fsck": disk, "mdadm": disk, "zpool": disk, "zfs": disk, "btrfs": disk,
		"mkfs": disk, "mke2fs": disk, "mkfs.ext2": disk, "mkfs.ext3": disk, "mkfs.ext4": disk, "mkfs.xfs": disk, "mkfs.btrfs": disk, "mkfs.vfat": disk, "mkfs.fat": disk, "mkfs.ntfs": disk, "newfs": disk, "format": disk,
		"kill": (*call).kill, "pkill": (*call).kill, "killall": (*call).kill, "xkill": (*call).kill, "fuser": (*call).kill, "shutdown": system, "reboot": system, "halt": system, "poweroff": system, "init": system, "telinit": system, "systemctl": (*call).service, "service": (*call).service, "iptables": system, "nft": system, "ufw": system, "modprobe": system, "insmod": system, "rmmod": system, "sysctl": (*call).sysctl, "swapoff": system, "hostnamectl": system, "timedatectl": system, "defaults": (*call).defaults, "csrutil": system, "spctl": system, "security": system, "update-rc.d": persists, "update-alternatives": system, "ldconfig": system, "setenforce": system, "logger": nothing, "wall": nothing,
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
func deletes(c *call) { c.markCommand(Delete, Medium, "Deletes files or their contents.") }
func edits(c *call)   { c.mark(Overwrite, Low, "Changes files.") }
func privileged(c *call) {
	c.markCommand(Privilege, High, "Runs as another user, or changes permissions.")
}
func disk(c *call) { c.markCommand(Disk, High, "Writes to disks or file systems.") }
func background(c *call) {
	c.mark(Background, Medium, "Keeps running in the background after the call ends.")
}
func persists(c *call) {
	c.markCommand(Persist, High, "Schedules code to run later without asking.")
}
func system(c *call)      { c.markCommand(System, High, "Changes this machine.") }
func usesNetwork(c *call) { c.markCommand(Network, Medium, "Connects to another machine.") }
func uploads(c *call)     { c.markCommand(Upload, High, "Sends data to another machine.") }
func installs(c *call) {
	c.markCommand(Install, Medium, "Installs third-party code, which may run immediately.")
}
func remotely(c *call)  { c.markCommand(Remote, High, "Changes other machines or services.") }
func evaluates(c *call) { c.markCommand(Evaluated, High, "Runs text as a command.") }
func history(c *call)   { c.mark(Evaluated, Medium, "Reads or runs earlier commands.") }
func opens(c *call) {
	c.mark(Launcher, Medium, "Opens a file or an address with its default program.")
}
func runsFile(c *call)        { c.mark(Script, Low, "Runs one of the project’s programs.") }
func fetches(c *call)         { c.found.fetches = true; usesNetwork(c) }
func packs(c *call)           { c.markDecoder(); c.mark(Overwrite, Low, "Packs or unpacks files.") }
func decodes(c *call)         { c.found.decodes = true }
func unknownFolder(c *call)   { c.w.cwd = "?" }
func removesDatabase(c *call) { c.markCommand(Remote, High, "Deletes data from a database.") }
func downloadsProgram(c *call) {
	c.markCommand(Install, Medium, "Runs a program, and downloads it first if necessary.")
}

func (c *call) wrapper()     { c.launch(0, "") }
func (c *call) wrapperless() { c.markCommand(Network, Medium, "Captures network traffic.") }
func (c *call) markDecoder() { c.found.decodes = c.found.decodes || c.has("d") }
