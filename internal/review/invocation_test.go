package review_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/review"
)

// pushes reports whether a command may run git push, as a rule for it must read it.
func pushes(command string) (found, complete bool) {
	calls, complete := review.Invocations(command, folder)
	for _, c := range calls {
		if c.Program == "git" && len(c.Subcommand) > 0 && c.Subcommand[0].Text == "push" {
			found = true
		}
	}
	return found, complete
}

// TestInvocationsFindProgram: whatever the spelling, a program that runs is found.
func TestInvocationsFindProgram(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"git push", "git  push", "git\tpush", " git push ", "git push --force origin main", "git -C . push", "git -C sub -C .. push", "git --no-pager push", "git -p push", "git --git-dir=.git push", "git --git-dir .git push", "git -c user.name=x push",
		"env git push", "env A=b git push", "env -u A git push", "env -i git push", "env -C sub git push", "env --chdir=sub git push", "env -S 'git push'", "/usr/bin/git push", "/bin/git push", "\\git push", "'git' push", "\"git\" 'push'", "g'i't p\\ush", "$'git' $'\\x70ush'", "{git,push}", "{,git} push", "$(echo git) push", "git $(echo push)",
		"command git push", "command -p git push", "builtin command git push", "exec git push", "exec -a ls git push", "nohup git push", "setsid -w git push", "nice git push", "nice -n 5 git push", "nice -n5 git push", "nice -5 git push", "ionice -c3 git push", "time git push", "time -p git push", "command time -f x git push", "timeout 5 git push", "timeout -k 1 -s KILL 5 git push", "timeout --signal=KILL 5 git push", "stdbuf -oL git push", "stdbuf --output=L git push", "sudo git push", "sudo -u bob git push", "sudo -u bob A=b git push", "sudo --user=bob git push", "doas git push", "busybox env git push",
		"env nice -n 5 timeout 5 git push", "flock x git push", "flock x -c 'git push'", "taskset -c 0 git push",
		"ls; git push", "ls && git push", "ls || git push", "ls | git push", "git push | cat", "git push &", "! git push", "(git push)", "{ git push; }", "(cd x && git push)", "if git push; then ls; fi", "if ls; then git push; fi", "if ls; then :; else git push; fi", "while git push; do ls; done", "for i in 1 2; do git push; done", "for ((;;)); do git push; done", "case x in x) git push;; esac", "f() { git push; }", "f() { git push; }; f", "coproc git push", "time { git push; }", "select x in a; do git push; done",
		"echo $(git push)", "echo `git push`", "echo \"$(git push)\"", "cat <(git push)", "ls > $(git push)", "x=$(git push)", "x=$(git push) ls", "export x=$(git push)", "a=($(git push))", "echo ${x:-$(git push)}", "[[ -n $(git push) ]]", "(( $(git push) ))", "echo $(( $(git push) ))", "cat <<EOF\n$(git push)\nEOF", "cat <<< \"$(git push)\"",
		"bash -c 'git push'", "bash -lc 'git push'", "sh -c \"git push\"", "env bash -c 'git push'", "bash -c 'bash -c \"git push\"'", "bash <<EOF\ngit push\nEOF", "bash <<'EOF'\ngit push\nEOF", "sh <<< 'git push'", "cat <<< 'git push' && bash -c 'git push'", "eval git push", "eval 'git push'", "eval \"git\" push", "trap 'git push' EXIT", "watch git push", "watch -n 1 'git push'", "script -c 'git push' /dev/null",
		"xargs git push", "ls | xargs -n1 git push", "ls | xargs -I{} git push {}", "find . -exec git push \\;", "find . -execdir git push {} +", "git submodule foreach 'git push'", "git bisect run git push", "GIT push", "g=git; $g push", "g='git push'; $g", "alias p='git push'; p", "git p\\\nush",
	} {
		if found, _ := pushes(command); !found {
			calls, complete := review.Invocations(command, folder)
			t.Errorf("%q: not found (complete %v): %+v", command, complete, calls)
		}
	}
}

// TestInvocationsIncomplete: where another program may run than the text shows, the
// reading says that it is not complete.
func TestInvocationsIncomplete(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"$g push", "$(cat g) push", "`cat g` push", "g=ls; [ -f x ] && g=git; $g push", "g=git; g+=x; $g push", "gi? push", "/usr/bin/gi* push", "g{1..2}t push", "${x:-git} push", "${x@P}", "${!x} push", "git $x && \"$x\"",
		"echo push | xargs git; $x", "echo git push | sh", "cat x | bash", "bash x.sh", "./x", "bin/git push", "../git push", "/tmp/git push", "~/git push", "source x", ". ./x", "eval \"$x\"", "eval $(cat x)", "bash -c \"$x\"", "c='git push'; bash -c \"$c\"", "bash -c '$0 push' git", "bash -c '$1 push' x git", "bash -c '\"$@\"' x git push", "f() { \"$@\"; }; f git push", "f() { $1 push; }; f git", "set -- git; $1 push", "bash < x", "bash <(cat x)", "exec 3< x; bash <&3", "bash -s < x",
		"bash <<EOF\n\\$x push\nEOF", "bash <<EOF\n$x push\nEOF", "git() { ls; }; git push", "function ls { git push; }; ls", "alias ls='git push'; ls", "PATH=. git push", "export PATH=.", "PATH=.:$PATH; ls", "env PATH=. ls", "BASH_ENV=x bash -c ls", "LD_PRELOAD=x ls", "GIT_DIR=x git status", "for PATH in .; do ls; done", "enable -f x ls", "hash -p ./x ls; ls",
		"git -c alias.x=push x", "git -c alias.x='!git push' x", "git --config-env=alias.x=y x", "git x", "git -c core.pager='git push' log", "git --exec-path=x push", "git --unknown push", "git-push", "/usr/lib/git-core/git-push", "git $x",
		"env -S \"$x\"", "env --unknown x git push", "nice --unknown x git push", "sudo -s git push", "sudo -i", "timeout --unknown 5 git push", "xargs --unknown 5 git push", "xargs $x", "xargs -I{} {} push", "find . -exec {} push \\;", "unknown git push", "parallel git push ::: a", "systemd-run git push", "tmux new 'git push'", "unshare git push", "nsenter -a git push", "chronic git push", "xvfb-run git push", "npx git push", "firejail git push", "strace git push", "perf stat git push", "at now", "crontab x", "ssh localhost git push",
		"python3 -c 'import os; os.system(\"git push\")'", "python3 x.py", "python3 < x", "node -e 1", "perl -e 1", "awk 'BEGIN{system(\"git push\")}'", "awk 'BEGIN{\"git push\"|getline}'", "awk -f x", "awk '@include \"x\"'", "sed '1e git push' x", "sed -n 's/x/git push/e' x", "sed --file=x y", "vim -c '!git push'", "make -f x", "make SHELL=x", "tar cf x y --checkpoint=1 --checkpoint-action=exec=x", "rg --pre x y", "sort --compress-program=x y", "man -P x ls", "less x", "gdb x", "sqlite3 x '.shell git push'", "expect x", "ed x", "git rebase -x 'git push' HEAD~1", "git fetch --upload-pack=x", "git grep -Ox y", "git difftool -x x", "go test -exec x ./...", "npm exec git push", "cargo --config x test",
		"bash -c 'git push", "ls (", strings.Repeat("xargs ", 100) + "git push", strings.Repeat("bash -c '", 1) + "bash -c \"", "l\u200bs",
		"bind -x '\"x\": git push'", "complete -C 'git push' x", "mapfile -C 'git push' x", "fc -s", "history -s x", "coproc $x", "trap \"$x\" EXIT", "PS4='$(git push)'; set -x; ls", "PROMPT_COMMAND='git push'", "printf -v g git; $g push", "[[ -v 'a[$(git push)]' ]]", "let 'x=a[$(git push)]'", "x='a[$(git push)]'; (( x ))", "x='a[$(git push)]'; echo $((x))", "x='a[$(git push)]'; echo ${y[x]}", "echo ${y:x}", "declare -i x='a[$(git push)]'", "declare \"$x\"", "test -v 'a[$(git push)]'", "[ -v 'a[$(git push)]' ]", "unset 'a[$(git push)]'", "read 'a[$(git push)]'", "printf -v 'a[$(git push)]' x", "[[ 'a[$(git push)]' -eq 1 ]]", "builtin let 'x=a[$(git push)]'", "command declare -i 'x=a[$(git push)]'", "wait -p 'a[$(git push)]'", "mapfile 'a[$(git push)]' < x", "for ((i=x;;)); do ls; done", "a[x]=1", "bash -c '[[ -v x ]]'", "read g; $g push",
	} {
		if _, complete := pushes(command); complete {
			calls, _ := review.Invocations(command, folder)
			t.Errorf("%q: called complete: %+v", command, calls)
		}
	}
}

// TestInvocationsComplete: what is plain is read to its end.
func TestInvocationsComplete(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"ls -la", "git push", "git -C . push", "env git push", "/usr/bin/git push", "cd sub && go test ./... 2>&1 | tail -n 20", "for f in *.go; do echo \"$f\"; done", "git log --oneline | head", "git commit -m 'fix: it'", "ls | xargs -n1 wc -l", "find . -name '*.go' -exec wc -l {} +", "bash -c 'ls; pwd'", "npm run build", "make test", "rm -rf build", "sudo ls", "f() { ls; }; f", "timeout 60 go test ./...", "FOO=bar go test ./...", "cat <<EOF > x\n$y\nEOF", "sed -n 1,5p x", "awk '{print $1}' x", "curl x.test", "if [ -f a ]; then cat a; fi", "x=$(date); echo \"$x\"", "echo a > b", "",
	} {
		if calls, complete := review.Invocations(command, folder); !complete {
			t.Errorf("%q: not complete: %+v", command, calls)
		}
	}
	if _, complete := review.Invocations("ls", "project"); complete {
		t.Error("complete in a folder that is not absolute")
	}
}

// TestInvocationsFolders: each program comes with the folder it runs in and the files
// it is redirected to.
func TestInvocationsFolders(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"git status": folder, "cd sub && git status": folder + "/sub", "(cd sub && ls); git status": folder, "cd sub; git status": "?", "cd sub || ls; git status": "?", "cd \"$x\" && git status": "?", "cd - && git status": "?", "cd && git status": "~", "cd /a/b && cd ../c && git status": "/a/c", "! cd sub && git status": "?", "ls && cd sub && git status": folder + "/sub", "cd a && ls || git status": "?",
		"git -C sub status": folder + "/sub", "git -C sub -C .. status": folder, "git -C $x status": "?", "git --git-dir=/x status": "?", "env -C sub git status": folder + "/sub", "env --chdir=sub git status": folder + "/sub", "env -C sub ls; git status": folder, "cd a && git -C b status": folder + "/a/b", "pushd x && git status": folder + "/x", "pushd x && popd && git status": "?", "if cd sub; then git status; fi": "?", "eval 'cd sub'; git status": "?",
		"while ls; do git status; cd sub; done": "?", "for i in a b; do git status; cd sub; done": "?", "f() { git status; }; cd sub && f": "?", "trap 'git status' EXIT; cd sub": "?", "for i in a b; do git status; done": folder,
		"bash -c 'cd sub && git status'": folder + "/sub", "cd sub | git status": folder,
	} {
		calls, _ := review.Invocations(command, folder)
		got := ""
		for _, c := range calls {
			if c.Program == "git" {
				got = c.Dir
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
	for command, want := range map[string]string{
		"ls > a": ">" + folder + "/a", "ls >> /a 2>&1 < b": ">/a <" + folder + "/b", "ls 2>/dev/null": ">/dev/null", "{ ls > a; } > b": ">" + folder + "/b >" + folder + "/a", "ls > $x": ">?", "ls > *": ">?", "> a": ">" + folder + "/a", "cd x && ls > a": ">" + folder + "/x/a", "cd x; ls > a": ">?", "cd x; ls > /a": ">/a", "ls &> a": ">" + folder + "/a", "ls <> a": ">" + folder + "/a", "ls <<< a": "", "env ls > a": ">" + folder + "/a", "if x; then ls; fi > a": ">" + folder + "/a", "ls >| ~/a": ">~/a", "bash -c 'ls > a' > b": ">" + folder + "/b >" + folder + "/a", "ls >&a": ">" + folder + "/a",
	} {
		calls, _ := review.Invocations(command, folder)
		if len(calls) == 0 {
			t.Fatalf("%q: nothing", command)
		}
		var got []string
		for _, r := range calls[len(calls)-1].Redirections {
			got = append(got, map[bool]string{true: ">", false: "<"}[r.Writes]+r.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// TestInvocationArguments: arguments are what the program gets, and what is not known
// of them is said.
func TestInvocationArguments(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"git push 'a b' \"c\" $'d\\n' e\\ f": "push|a b|c|d\n|e f", "git push {a,b}": "push|a|b", "git push $x": "push|?*", "git push \"$x\"": "push|?", "git push *": "push|*?*", "git \"pre$x\"": "pre?", "b=main; git push $b": "push|main?*", "ls | xargs git push": "push|?*", "xargs -I% git push %": "push|%?*", "xargs -I % git push a%": "push|a%?*", "xargs -i git push {}": "push|{}?*", "git push ''": "push|",
	} {
		calls, _ := review.Invocations(command, folder)
		var got []string
		for _, a := range calls[len(calls)-1].Args {
			text := a.Text
			if !a.Known {
				text += "?"
			}
			if a.Many {
				text += "*"
			}
			got = append(got, text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// FuzzInvocations: no text makes it fail, and what a shell would run as a plain word
// is among what is found.
func FuzzInvocations(f *testing.F) {
	for _, seed := range []string{"git push", "a; b | c", "x=$(y) z > $w", "bash <<EOF\n$x\nEOF", "env -S 'a b'", "xargs -I{} {}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		calls, complete := review.Invocations(command, folder)
		for _, c := range calls {
			if c.Program == "" && len(c.Args) > 0 && complete {
				t.Errorf("%q: a computed program in a complete reading", command)
			}
			if c.Dir == "" {
				t.Errorf("%q: no folder", command)
			}
		}
	})
}
