package review_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/review"
)

// everyday are the commands with which Claude looks around. All are of low risk.
var everyday = []string{
	"ls", "ls -la", "ls -la src", "ls -lh *.go", "ls -1 *", "ls src/*.go", "ls -R src", "ls --color=never", "pwd", "whoami", "id", "id -u", "hostname", "uname -a", "date", "date +%s", "date -u +%Y-%m-%dT%H:%M:%SZ", "date '+%Y %m'", "uptime", "nproc", "df -h", "df -h .", "du -sh .", "du -sh *", "du -h -d 1", "free -h", "sleep 1", "true", ":",
	"cat README.md", "cat -n src/main.go", "cat a.txt b.txt", "cat *.go", "cat src/*.go", "head README.md", "head -n 5 a.txt", "head -20 a.txt", "head -c 100 a.txt", "tail -n 20 a.txt", "tail -5 a.txt", "tail -n +3 a.txt", "wc -l a.txt", "wc -l *.go", "wc -l < a.txt", "nl a.txt", "rev a.txt",
	"grep -rn TODO src", "grep -rn TODO .", "grep -rni 'func main' .", "grep -n main src/main.go", "grep -c TODO a.txt", "grep -l TODO *.go", "grep -E 'foo|bar' a.txt", "grep -rn --include='*.go' main .", "grep -A3 -B3 main src/main.go", "grep -v x a.txt", "grep -q x a.txt && echo yes", "grep 'rm -rf' script.sh", "grep -r --include=*.ts -h import src",
	"rg TODO", "rg -n TODO src", "rg -n 'foo|bar' .", "rg -l main", "rg -i todo -t go", "rg --files", "rg --files src", "rg -g '*.go' main",
	"find . -name '*.go'", "find . -type f", "find . -type f -name \"*.go\" -not -path './vendor/*'", "find src -maxdepth 2 -type d", "find . -name a.txt -o -name b.txt", "find . -mtime -1 -size +1k", "find . \\( -name a -or -name b \\) -print", "find . -type f | wc -l", "find . -empty",
	"git status", "git status -sb", "git status --short", "git log", "git log --oneline -5", "git log --oneline --graph --all", "git log -p -1", "git log --since='2 days ago' --author=ada", "git log -n 3 --format='%h %s'", "git log main..HEAD", "git log -- src/main.go", "git diff", "git diff HEAD~1", "git diff --stat", "git diff --cached", "git diff main...HEAD -- src", "git diff --name-only HEAD", "git show", "git show HEAD", "git show HEAD:a.txt", "git show --stat HEAD~1", "git branch", "git branch -a", "git branch --show-current", "git branch -vv", "git blame src/main.go", "git blame -L 1,5 src/main.go", "git ls-files", "git ls-files src", "git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git rev-parse --show-toplevel", "git describe --tags --always", "git remote -v", "git tag", "git tag -l 'v*'", "git stash list", "git reflog", "git shortlog -sn HEAD", "git cat-file -p HEAD", "git ls-tree HEAD", "git --no-pager log -1", "git -C src status", "git grep -n TODO", "git merge-base main HEAD", "git worktree list", "git version", "git --version", "git rev-list --count HEAD",
	"which go", "which -a go node", "type ls", "command -v go", "file README.md", "stat a.txt", "stat -c %s a.txt", "tree", "tree -L 2", "tree -a -I node_modules", "basename src/main.go", "basename \"$PWD\"", "dirname \"$(pwd)\"", "find . -newermt 2020-01-01", "date -Iseconds", "dirname src/main.go", "realpath src", "readlink -f src",
	"sort a.txt | uniq -c | sort -rn | head", "sort a.txt | uniq -c | head", "sort -u a.txt", "sort -k2 -n a.txt", "sort src/*.go", "uniq a.txt", "cut -d: -f1 a.txt", "cut -d ' ' -f 2 < a.txt", "cat a.txt | tr a-z A-Z", "tr -d '\\n' < a.txt", "sed -n '1,20p' a.txt", "sed -n 5p a.txt", "sed 's/a/b/g' a.txt", "sed -n '/main/p' src/main.go", "sed -n '1p;$p' a.txt", "sed -e 's/a/b/' -e 2d a.txt", "awk '{print $1}' a.txt", "awk -F: '{print $1, $2}' a.txt", "awk 'NR==2' a.txt", "jq . package.json", "jq -r .name package.json", "jq '.scripts | keys' package.json", "cat package.json | jq .name", "diff a.txt b.txt", "diff -u a.txt b.txt", "cmp a.txt b.txt", "comm -12 a.txt b.txt", "diff <(sort a.txt) <(sort b.txt)", "paste a.txt b.txt", "column -t a.txt", "md5sum a.txt", "sha256sum *.go", "xxd a.txt | head", "od -c a.txt", "seq 1 3",
	"echo hello", "echo", "echo \"$?\"", "echo $(date)", "echo \"at $(git rev-parse HEAD)\"", "echo $((1 + 2))", "echo 'rm -rf /'", "echo *", "echo $PWD", "printf '%s\\n' a b", "printf '%d\\n' 3", "echo -n x", "echo ---",
	"test -f a.txt", "test -f a.txt && echo yes || echo no", "[ -f a.txt ]", "[ -d src -a -f a.txt ]", "[ 1 -eq 1 ]", "[ \"$?\" -eq 0 ]", "[[ -f a.txt && -d src ]]", "[[ a == a* ]]", "[ x = y ] || true", "if [ -f a.txt ]; then cat a.txt; fi", "if [[ -d src ]]; then ls src; else echo none; fi", "for f in *.go; do echo \"$f\"; done", "for f in a.txt b.txt; do wc -l \"$f\"; done", "for f in a.txt b.txt; do head -1 $f; done", "[ -z \"$(git status --short)\" ]", "[ \"$(git rev-parse HEAD)\" = x ]", "for f in a.txt b.txt; do [ -f \"$f\" ]; done", "for f in a.txt; do git log -1 -- $f; done", "cat a.txt | rg .", "rg . < a.txt", "git diff | rg -v x",
	"ls 2>/dev/null", "ls nope 2>&1", "ls > /dev/null 2>&1", "ls &>/dev/null", "cat a.txt 2>/dev/null | head -3", "cat < a.txt", "cat <<< hello", "cat <<EOF\nhello\nEOF", "cat <<'EOF'\n$(rm x)\nEOF", "cd src && ls", "cd src; pwd", "(cd src; ls)", "{ ls; pwd; }", "! grep -q nope a.txt", "time ls", "ls; pwd; date", "ls || true", "git status && git diff --stat", "ls | cat | cat", "ls # a comment", "ls \\\n  -la",
	"node --version", "node -v", "npm --version", "python3 --version", "make --version", "git --version && node --version",
	"tree -L2", "tree -P '*.go' -ad -L 2", "tree --sort=name src", "xxd -l 64 a.txt", "xxd -c16 -p a.txt", "git log -n5 -p", "git log -S'main' --oneline", "git log -S main", "git log --pretty=format:%h", "git diff -U5", "git diff -M90% HEAD~1", "git stash list --stat", "git stash show -p 'stash@{0}'", "rg --type go TODO", "rg --glob '*.go' main", "rg -t python -t rust .", "grep -n main src/main.go -A 3", "grep -rn main src --include='*.go'", "grep -3 main a.txt", "ls src -la", "cut -d- -f1 a.txt", "cut -d - -f1 a.txt", "jq --indent 2 . package.json", "echo x | rg . 2>/dev/null", "awk '{print $1}' a.txt b.txt", "uniq -c a.txt", "for f in a.txt; do cat $f; done; for f in b.txt; do cat $f; done", "ls {a,b}.txt", "echo {a,b}",
}

// attacks are calls that do more than read files of the folder, by what is publicly
// known of shells and programs. None is of low risk.
var attackCalls = []string{
	// What a shell evaluates again.
	"[[ -v 'a[$(touch x)]' ]]", "[[ -v a[$(touch x)] ]]", "let 'x=a[$(touch x)]'", "let x=1", "(( a[$(touch x)] ))", "(( x ))", "x='a[$(touch x)]'; (( x ))", "echo $(( x ))", "echo $((a[$(touch x)]))", "echo $(('a[$(touch x)]'))", "echo $[x]", "test -v 'a[$(touch x)]'", "[ -v 'a[$(touch x)]' ]", "[ 1 -eq 1 -a -v 'a[$(touch x)]' ]", "test -R x", "[[ 'a[$(touch x)]' -eq 1 ]]", "[ 'a[$(touch x)]' -eq 1 ]", "test 'a[$(touch x)]' -eq 1", "[[ -o x ]]", "printf -v 'a[$(touch x)]' x", "printf %d 'a[$(touch x)]'", "printf -- %d 'a[$(touch x)]'", "read 'a[$(touch x)]'", "read -r x < a.txt", "read x <<< y", "mapfile x < a.txt", "readarray -C 'touch x' -c 1 y < a.txt", "unset 'a[$(touch x)]'", "unset x", "declare -i x='a[$(touch x)]'", "declare x=1", "typeset -i x=y", "local x=1", "export x=1", "readonly x=1", "getopts 'a[$(touch x)]' y", "wait -p 'a[$(touch x)]'", "wait -n", "exec {x[0]}>&1", "ls {x}>&1", "ls {x}</dev/null", "echo ${x@P}", "echo \"${x@P}\"", "echo ${x[$(touch x)]}", "echo ${x[0]}", "echo ${!x}", "echo ${!x*}", "echo ${x:$(touch x):1}", "echo ${x:y:1}", "echo ${#x[$(touch x)]}", "echo ${x:=y}", "echo ${x:-$(touch x)}", "echo ${x/y/z}", "echo ${x^^}", "a[$(touch x)]=1", "x=1", "x+=1", "x=(a b)", "x=1 ls", "eval ls", "eval \"$(cat a.txt)\"", "source a.txt", ". ./a.txt", "trap 'touch x' EXIT", "alias ls='touch x'", "alias ls=x; ls", "unalias ls", "ls() { touch x; }; ls", "function ls { touch x; }", "hash -p ./evil ls; ls", "hash -p ./evil ls", "enable -f ./x y", "enable -n echo", "shopt -s expand_aliases", "set -- x", "set -o posix", "bind x", "complete -C 'touch x' y", "compgen -C 'touch x'", "compgen -W '$(touch x)'", "history -s x", "fc -e ./x", "PATH=.:$PATH; ls", "PATH=. ls", "export PATH=.", "coproc ls", "ls &", "select x in a; do ls; done", "while :; do ls; done", "until ls; do pwd; done", "for ((i=0;i<a[$(touch x)];i++)); do ls; done", "for PATH in .; do ls; done", "for LD_PRELOAD in ./x.so; do ls; done", "for x; do ls; done", "case x in x) ls;; esac", "for f in $(cat a.txt); do cat \"$f\"; done", "for f in .env; do cat $f; done", "for f in -ox; do sort $f; done", "umask 0", "ulimit -n 1", "kill -9 $$", "pushd src", "popd", "dirs -c", "exec ls", "exec > x", "builtin cd src", "command ls", "command -p ls", "command rm x", "command rm -v x", "env ls", "env", "printenv", "time -o x ls", "xargs ls < a.txt", "ls | xargs rm", "ls | xargs -n1 cat", "nohup ls", "timeout 1 ls", "nice ls", "sudo ls", "ls $x", "cat $x", "cat \"$x\"", "ls $(cat a.txt)", "cat $(ls)", "cat `ls`", "$x", "$(echo ls)", "'ls'", "\\ls", "l\\s", "\"ls\"", "ls$x", "l{s,}", "l?", "$'ls'", "cat $'\\x2e\\x2e/secret'", "echo $\"x\"", "ls @(a|b)", "echo +(x)", "ls =ls", "=ls", "cat =passwd",
	"[ \"$(echo -v)\" \"$(cat a.txt)\" ]", "test \"$(echo -v)\" \"$(cat a.txt)\"", "[ -v \"$(cat a.txt)\" ]", "[ x -a \"$(cat a.txt)\" = y ]", "for g in 'a[$(touch x)]'; do for f in -v; do [ \"$f\" \"$g\" ]; done; done", "for f in -v; do [ $f a ]; done", "for f in -v; do test \"$f\" x; done", "uniq {a..b}", "cat {a..c}", "uniq {a,b}.txt", "echo $PWD['x[$(touch y)]']", "echo $PWD[1]", "echo \"$HOME[1]\"", "for f in a.txt; do echo $f[1]; done", "echo $PWD:h", "for f in HEAD:id_rsa; do git show \"$f\"; done", "for f in HEAD:.env; do git show $f; done", "for f in ..; do git -C $f status; done", "for f in FS=x; do awk '{print $1}' $f; done", "for f in -i; do sed p $f; done", "for f in .env; do [ -f $f ] && cat \"$f\"; done", "for f in '*.go'; do cat $f; done", "rg --hidden . < /dev/null", "rg . 3< a.txt", "cat a.txt | rg . < /dev/null", "cat a.txt | rg . <&-", "rg . <&0", "rg . 3<<< x",
	// What disappears, so that the next argument takes its place.
	"printf {,-v} 'a[$(touch x)]' y", "awk -F {,/a/} 'BEGIN{split(\"touch x\",a,\"@\");print 1|a[1]}'", "jq -n {,env}", "jq -n {,}env", "cat {,} a.txt", "for f in {,x}; do echo \"$f\"; done", "cat < {,a.txt}", "for f in ''; do rg -uu -r $f 'TODO$0' '.*'; done", "for f in a ''; do rg -uu -r $f 'TODO$0' '.*'; done", "false && for f in a; do pwd; done; rg -uu -r $f 'TODO$0' '.*'", "(for f in a; do pwd; done); rg -uu -r $f 'TODO$0' '.*'",
	// What one parser takes for the value of an option, and another does not.
	"tree -Po x main.go", "tree -iNPo x .git/hooks/pre-commit", "tree -P -o x", "tree -IP x -o", "tree -aL 2", "tree -L2o x", "tree -P2 x", "tree --sort name", "tree --filelimit 5 x", "git log --format --output=main.go", "git show --format --output .git/hooks/pre-commit", "git show --pretty --output=x", "git log --date --output=x", "git log --since --output=x", "git log -S --output=x", "git diff -G --output=x", "git diff -U --output=x", "git blame --date --output=x", "xxd -pc 1 main.go", "xxd -up a.txt", "xxd a.txt -p", "xxd a.txt -l", "uniq a.txt -c", "awk '{print $1}' a.txt -F .env", "awk '{print $1}' a.txt -F ../x", "cut -f1 a.txt -d .env", "cut -f1 a.txt -d '../x'", "cut -f1 a.txt '-d/../../x'", "sort a.txt -t .env", "ls -I /etc", "grep --context 3 .env a.txt", "od -w .env", "fd -E -x rm", "shasum -ba 256 a.txt",
	"git stash -- list", "git stash -p list <<< a", "git stash -u show", "git stash --stat list", "git worktree -v list", "for f in expire; do git reflog $f --all; done", "for f in expire; do git reflog \"$f\" --all; done", "git log --format='%+G?'", "git log --pretty='% GS'", "for f in '%(signature)'; do git for-each-ref --format \"$f\"; done", "for f in '%G?'; do git log -S \"$f\"; done",
	// What a loop does in its next round.
	"for i in 1 2; do cat db.txt; cd secrets; done", "for i in 1 2; do cat x.go; cd sub; done", "for i in 1 2; do cat db.txt; cd secrets || true; done", "for i in 1 2; do cat db.txt; for j in 1; do cd secrets; done; done", "for i in 1 2; do git -C src status; done", "while :; do cat db.txt; cd secrets; done", "until cat db.txt; do cd secrets; done",
	// Patterns that mean different files to a shell and to Go.
	"cat links/[!z]*.go", "cat links/[[:alpha:]]*.go", "cat links/[^a]*.go", "ls links/[!z]*", "cat **/*.go", "cat links/'\\'*.go", "echo [!z]*/*",
	// Another program of the same name.
	"./ls", "bin/ls", "../ls", "/bin/ls", "/tmp/ls", "~/ls", "./gradlew", "LS", "cat.exe x", "ls.sh",
	// What writes.
	"> x", ">> x", "ls > x", "ls >> x", "ls >| x", "ls &> x", "ls >& x", "ls <> x", "ls 2> x", "ls 3> x", "ls > /dev/null > x", "ls > $x", "ls > /dev/tcp/127.0.0.1/80", "cat < /dev/tcp/127.0.0.1/80", "ls > >(cat)", "ls | tee x", "echo hi | tee x", "tee x", "uniq a.txt b.txt", "uniq k ~/.bashrc", "uniq - x", "uniq *.txt", "sort -o x a.txt", "sort -ox a.txt", "sort --output=x a.txt", "sort --outp x a.txt", "sort -uox a.txt", "sort a.txt -o a.txt", "sort *", "sort *.txt", "sort -T /tmp a.txt", "sort --compress-program=./x a.txt", "sort --files0-from=x", "sort --random-source=x a.txt", "tree -o x", "tree -o ~/.bashrc", "tree -R -L 1 -H .", "tree --output=x", "tree --fromfile x", "git archive -o .git/hooks/pre-commit HEAD", "git archive HEAD", "git log --output=x", "git log --output x", "git diff --output=x", "git diff -o x", "git show --output=x", "git format-patch -1", "git bundle create x HEAD", "git branch x", "git branch -v x", "git branch -D x", "git branch -m x", "git branch -d x", "git branch -f x", "git branch --edit-description", "git branch -u origin/x", "git tag x", "git tag -d x", "git tag -a x -m y", "git tag -f x", "git stash", "git stash pop", "git stash drop", "git stash clear", "git remote add x y", "git remote set-url origin x", "git remote update", "git remote show origin", "git reflog expire --all", "git reflog delete HEAD@{0}", "git worktree add x", "git worktree prune", "git notes add -m x", "git add .", "git commit -m x", "git checkout .", "git switch x", "git restore .", "git reset", "git clean -n", "git rm x", "git mv a b", "git config user.name x", "git config --list", "git config -e", "git update-index --refresh", "git gc", "git fetch", "git pull", "git clone x", "git ls-remote x", "git push", "git submodule status", "git bisect log", "git symbolic-ref HEAD x", "git update-ref x y", "git hash-object -w x", "git rev-parse --parseopt", "git rerere", "git maintenance run", "git fsck --lost-found", "git cat-file --batch", "git cat-file --textconv HEAD:x", "git cat-file --filters HEAD:x", "git read-tree x", "git write-tree", "git help log", "git instaweb", "git difftool", "git mergetool", "git diff-files", "git merge-file a b c", "git apply x", "git am x", "git init", "git var -l", "git credential fill", "git daemon", "git shell", "git x", "git",
	"find . -fprint x", "find . -fprintf x y", "find . -fls x", "find . -fprint0 x", "find . -delete", "find . -exec rm {} +", "find . -execdir ./x \\;", "find . -ok ls \\;", "find . -okdir ls \\;", "find . -name *", "find . -name -delete -delete", "find -L .", "find -H .", "find . -follow", "find -files0-from x", "find . -D exec", "find . -name $x", "find . $x", "find *", "fd -x rm", "fd . -X rm", "fd --exec rm", "fd -l", "fd x --base-directory /",
	"sed -i s/a/b/ a.txt", "sed --in-place s/a/b/ a.txt", "sed -n -i p a.txt", "sed -ni p a.txt", "sed -Ei s/a/b/ a.txt", "sed -i.bak s/a/b/ a.txt", "sed 'w x' a.txt", "sed -n 'w x' a.txt", "sed 's/a/b/w x' a.txt", "sed 's/a/b/e' a.txt", "sed 's/.*/touch x/e' a.txt", "sed '1e touch x' a.txt", "sed e a.txt", "sed '1!w x' a.txt", "sed -n '/a/w x' a.txt", "sed 'p;w x' a.txt", "sed 'p\nw x' a.txt", "sed -f x a.txt", "sed -e p -e 'w x' a.txt", "sed --expression='w x' a.txt", "sed 'r /etc/passwd' a.txt", "sed '{w x\n}' a.txt", "sed 's|a|b|w x' a.txt", "sed 's/[/]/x/w y' a.txt", "sed 'y/a/b/;w x' a.txt", "sed --sandbox w a.txt", "sed p *.go", "sed $x a.txt", "sed -s -n '$w x' a.txt",
	"awk 'BEGIN{system(\"touch x\")}'", "awk '{print > \"x\"}' a.txt", "awk '{print >> \"x\"}' a.txt", "awk '{print | \"sh\"}' a.txt", "awk '{\"touch x\" | getline}' a.txt", "awk 'BEGIN{getline < \"/etc/passwd\"; print}'", "awk -f x", "awk -v x=y '{print $1}' a.txt", "awk '@load \"x\"'", "awk '@include \"x\"'", "awk 'BEGIN{print ENVIRON[\"HOME\"]}'", "awk --file=x", "awk -i inplace '{print $1}' a.txt", "awk -l x '{print $1}' a.txt", "awk '{print \"\\\" \"system(1)\" \"}' a.txt", "awk '{print $1 > $2}' a.txt", "awk '{print $1}' FS=x a.txt", "awk '{print $1}' *.txt", "awk -o x '{print $1}'", "awk -d '{print $1}'", "gawk 'BEGIN{}'", "mawk -W exec=x",
	"xxd -r a.txt b", "xxd a.txt b", "xxd -r -p a.txt", "xxd *.bin", "date -s 12:00", "date --set=12:00", "date 010112002030", "date -f a.txt", "hostname x", "hostname -F x", "hostname -b x", "file -C -m x", "file -m x a.txt", "file -f x", "file -z a.gz", "file -S a.txt", "less -o x a.txt", "less a.txt", "more a.txt", "man ls", "man -P ./x ls", "info ls", "vi a.txt", "vim -c '!touch x' a.txt", "nano a.txt", "ed a.txt", "emacs a.txt", "split a.txt", "csplit a.txt 1", "dd if=a.txt of=x", "cp a.txt b", "mv a.txt b", "ln -s a b", "rm a.txt", "touch a.txt", "mkdir x", "rmdir x", "chmod +x a.txt", "chown x a.txt", "truncate -s 0 a.txt", "install a b", "rsync a b", "tar cf x a.txt", "tar xf x", "tar tf x --to-command=./x", "zip x a.txt", "unzip -l x", "gzip a.txt", "zcat a.gz", "gunzip -c a.gz", "bzip2 a", "xz a", "cpio -t", "ar t x", "shred a.txt", "script x", "mktemp", "mkfifo x", "patch -p1", "iconv -o x a.txt", "shuf -o x a.txt", "shuf a.txt", "nl a.txt > b", "column -t a.txt > b", "wc --files0-from=x", "du --files0-from=x", "du -X x", "du -L .", "ls -D", "rev > x", "tsort x", "pr a.txt", "numfmt x", "bc a.txt", "dc a.txt", "expr 1 + 1", "factor 3", "openssl enc -in a.txt -out x", "gpg -d a.txt", "base64 a.txt", "uuencode a b", "logger x", "wall x", "write x", "mesg y", "crontab -l", "at -l", "systemctl status", "journalctl", "dmesg", "mount", "lsof", "ss -tlnp", "ip addr", "top -b -n 1", "watch ls", "strace ls", "ldd a.out", "gdb -batch", "nm a.out", "strings a.out", "objdump -d a.out", "ps", "ps aux", "ps -ef", "ps auxe", "ps eww", "ps -o environ", "pgrep x", "pidof x", "locate x", "look x", "tac a.txt", "yes", "clear", "reset", "tput clear", "stty -a", "tty -x", "id ../x",
	// What runs code.
	"grep -f /etc/passwd x", "rg --pre ./x y", "rg --pre=./x y", "rg -z x", "rg --search-zip x", "rg --hostname-bin=./x y", "rg -f /etc/passwd", "rg --ignore-file x y", "rg -L x", "rg --follow x", "grep -R x .", "grep -rS x .", "grep --dereference-recursive x .", "grep -d recurse x .", "grep -P $x a.txt", "ag x", "ack --pager=./x y", "git -c core.pager=./x log", "git -c alias.x=y x", "git -c core.fsmonitor=./x status", "git --exec-path=. log", "git --git-dir=x log", "git --work-tree=/ diff", "git -C / status", "git -C ../x status", "git -C $x status", "git -p log", "git --paginate log", "git --config-env=a=b log", "git diff --ext-diff", "git diff --textconv", "git log --ext-diff -p", "git log --textconv -p", "git diff --no-index a.txt /etc/passwd", "git diff /etc/passwd a.txt", "git grep -O./x y", "git grep --open-files-in-pager=./x y", "git grep -f /etc/passwd", "git grep --no-index x", "git blame --contents /etc/passwd a.txt", "git blame -S x a.txt", "git log --format='%G?'", "git log --pretty=%GG", "git log --show-signature", "git tag -v x", "git verify-commit HEAD", "git for-each-ref --format='%(signature)'", "git for-each-ref --shell", "git show HEAD:../../x", "git ls-files -X /etc/passwd", "git diff -O/etc/passwd", "git log --remerge-diff", "git log --diff-merges=remerge", "git shortlog", "git diff --submodule=log", "git rebase -x ./x", "git stash show -p --ext-diff",
	"go test ./...", "go build", "go vet ./...", "go list ./...", "go env", "go version", "go env -w x=y", "go generate", "go run .", "go version -m ../x", "go", "go tool x", "go doc x", "node", "node x.js", "node -e 1", "node -p 1", "node --version -e 1", "node -r ./x --version", "echo 1 | node", "npm", "npm test", "npm ls", "npm -v exec x", "npm --version run x", "python3", "python3 x.py", "python3 -c 1", "python3 --version -c 1", "python3 -Vc 1", "python -m x", "perl -v -e 1", "perl -ve 1", "perl x", "ruby -v -e 1", "ruby x", "bash", "bash -c ls", "bash --version -c ls", "bash --rcfile x --version", "sh -c ls", "make", "make -n", "make --version -f x", "make -v all", "cargo --version", "rustc --version", "yarn --version", "pnpm --version", "java -jar x", "java -version -jar x", "javac -version", "hostname -f", "java -version", "claude --version", "docker ps", "docker --version ps", "docker -v run x", "docker version", "gcc x.c", "gcc --version @x", "gcc -wrapper ./x --version", "clang x.c", "claude -p x", "claude --version x", "bun x", "bun --version x", "deno run x", "php -v", "lua -v", "gradle --version", "mvn -v", "terraform version", "kubectl version", "jq -n env", "jq -n '$ENV'", "jq -n '$ENV.HOME'", "jq -n 'env.HOME'", "jq -f x a.json", "jq --from-file x", "jq -L x . a.json", "jq 'import \"x\" as y; .' a.json", "jq 'include \"x\"; .' a.json", "jq --rawfile x /etc/passwd . a.json", "jq --slurpfile x /etc/passwd . a.json", "jq -n --rawfile x .env '$x'", "jq --args . x", "jq -n 'input_filename'", "jq . *.json", "yq . a.yml", "diff --to-file=/etc/passwd a.txt", "diff --from-file=/etc/passwd a.txt", "diff -l a.txt b.txt", "diff -r . src", "diff -X /etc/passwd a b", "diff ./ src/", "diff -D x a b", "diff * *", "cmp a.txt /etc/passwd", "comm a.txt /etc/passwd", "join a.txt /etc/passwd", "md5sum -c x", "sha256sum --check x", "cat @x", "which -s x", "type 'a b'", "column -t /etc/passwd", "tail -f a.txt", "tail --pid=1 a.txt", "tail -F x", "head -n x a.txt", "stat ~/.ssh", "readlink /proc/self/exe", "cd ..", "cd -", "cd", "cd ~", "cd /", "cd a b", "cd $x", "cd src/../..", "cd +1", "cd --", "[ -f /etc/passwd ]", "[[ -f ~/.ssh/id_rsa ]]", "test -f ../x",
	// What reads secrets, or outside the folder.
	"cat .env", "cat .env.local", "cat ./.env", "cat src/../.env", "cat '.env'", "cat .e''nv", "cat .env*", "cat .e*", "cat .??*", "cat .*", "cat *", "cat */*", "cat *.key", "cat *.pem", "cat *.json", "cat *.yml", "cat *[y]", "cat id_rs?", "cat {.env,a}", "cat {a,.env}", "cat server.key", "cat id_rsa", "cat ~/.ssh/id_rsa", "cat ~root/x", "cat /etc/passwd", "cat /etc/shadow", "cat /proc/self/environ", "cat /proc/1/environ", "cat /dev/sda", "cat /dev/mem", "cat ../x", "cat src/../../x", "cat ../../../../etc/passwd", "cat -- ../x", "cat < ../x", "cat < ~/.ssh/id_rsa", "cat < .env", "cat 0< .env", "cat <<< \"$(cat .env)\"", "echo $(cat .env)", "echo \"$(< .env)\"", "echo `cat .env`", "cat <(cat .env)", "diff <(cat .env) a.txt", "cat <<EOF\n$(cat .env)\nEOF", "cat <<EOF\n$SECRET\nEOF", "echo $AWS_SECRET_ACCESS_KEY", "echo \"$GITHUB_TOKEN\"", "echo $x", "echo ~/.ssh/*", "ls ~", "ls /", "ls ~/.ssh", "ls ..", "ls /etc", "du -sh /", "find / -name x", "find ~ -name id_rsa", "find .. -name x", "tree ..", "tree /", "stat /etc/shadow", "file /etc/shadow", "wc -l /etc/passwd", "head -1 .env", "tail .env", "sort .env", "uniq .env", "cut -c1- .env", "rev .env", "nl .env", "tr a b < .env", "od -c .env", "xxd .env", "hexdump -C .env", "fold .env", "fmt .env", "paste .env", "join .env a.txt", "comm .env a.txt", "diff .env a.txt", "cmp -l .env a.txt", "grep . .env", "grep -r . .", "grep -rl . .", "grep -rc '^A' .", "rg -l .", "rg -c '^PASSWORD=a'", "rg --passthru TODO", "grep -r '' .", "grep -rn PASSWORD .", "grep -rh = .", "grep -r -v zzz .", "grep -rA9 TODO .", "grep -rE 'TODO|.' .", "grep -rE '(TODO)*' .", "grep -r 'x*' .", "grep -rP '^' .", "grep -rf a.txt .", "grep -r -e TODO -e . .", "grep -rn -99 TODO .", "grep -rn TODO . -99", "git grep -99 TODO", "echo x | rg -uu '' 0>/dev/null", "echo x | rg -uu '' 0>>/dev/null", "echo x | rg -uu '' 0>&-", "echo x | rg -uu '' 0>&1", "echo x | rg -uu '' 00>&-", "echo x | rg -uu '' 0<&-", "echo x | rg -uu '' 00<&-", "rg -uu '' < .", "rg -uu '' < src/", "rg --hidden -g '*.go' --iglob '*' ''", "rg --hidden --iglob '!*.go' ''", "rg --hidden -g '#*.go' ''", "rg --hidden -g='!*.go' ''", "rg --hidden --glob=*.go ''", "rg -t java ''", "rg --type=gradle ''", "echo /root/.ssh/*", "printf '%s\\n' /root/.ssh/*", "basename -a /etc/*", "dirname ../*", "for f in /root/.ssh/*; do echo x; done", "for f in /root/.ssh/*; do echo \"$f\"; done", "grep -rn TODO ~", "grep -rn TODO /", "grep -r TODO ..", "grep TODO *", "rg .", "rg ''", "rg -uu SECRET", "rg --hidden .", "rg -v zzz", "rg TODO /", "rg TODO ..", "rg --files /", "rg --files ..", "rg -e TODO ~", "rg TODO -A 9", "sed p .env", "sed -n p .env", "awk '{print $1}' .env", "awk 1 .env", "jq -R . .env", "base64 .env", "strings .env", "git show HEAD:.env", "git diff -- .env", "git log -p -- .env", "git blame .env", "git log -L1,9:.env", "git cat-file -p HEAD:.env", "cat .git/config", "cat .netrc", "cat .npmrc", "cat .aws/credentials", "cat .ssh/config", "cat .kube/config", "cat .docker/config.json", "cat credentials.json", "cat secrets.yml", "cat .bash_history", "cat .pgpass", "cat .git-credentials", "cat .claude/.credentials.json", "cat .claude.json", "cat service-account.json", "cat terraform.tfstate", "cat prod.tfvars", "cat .vault-token", "cat .config/gh/hosts.yml", "cat .config/gcloud/credentials.db", "cat .cargo/credentials.toml", "cat release.keystore", "cat cert.pfx", "cat .htpasswd", "cat .my.cnf", "cat .s3cfg", "cat prod.env", "cat .ENV", "cd .ssh && cat x", "cd .aws && cat credentials", "[ \"$(cat .env)\" = x ]", "[[ $(cat .env) =~ x ]]", "realpath ~", "cat ''",
}

// TestEverydayIsLow: the commands with which Claude looks around can be approved
// together.
func TestEverydayIsLow(t *testing.T) {
	t.Parallel()
	for _, command := range everyday {
		if got := (review.Place{Dir: folder}).ReadCommand(command); got.Level != review.Low {
			t.Errorf("%q: %s: %s", command, got.Level, inSentences(got))
		}
	}
	if len(everyday) < 200 {
		t.Errorf("%d commands only", len(everyday))
	}
}

// TestAttacksAreNotLow: nothing that writes, runs code, reads secrets or looks
// elsewhere can, and the card says why.
func TestAttacksAreNotLow(t *testing.T) {
	t.Parallel()
	for _, command := range attackCalls {
		got := review.Place{Dir: folder}.ReadCommand(command)
		if got.Level == review.Low {
			t.Errorf("%q is low", command)
		}
		explained := got.Problem != ""
		for _, m := range got.Marks {
			explained = explained || m.Level != review.Low && m.Reason != ""
		}
		if !explained {
			t.Errorf("%q: %s without a reason: %s", command, got.Level, inWords(got))
		}
	}
	t.Logf("%d attacks", len(attackCalls))
}

// TestOutputIsNoValue: after no option can -o or --output pass for its value, or for harmless.
func TestOutputIsNoValue(t *testing.T) {
	t.Parallel()
	values := map[string]string{"number": "1", "word": "go", "text": "a", "glob": "'*.go'", "pattern": "TODO", "name": "a.txt", "revision": "HEAD"}
	n := 0
	for _, r := range review.Readers() {
		options := strings.Fields(r.Options)
		outputs := []string{"--output=x", "--output x"}
		if !slices.ContainsFunc(options, func(o string) bool { return o == "-o" || strings.HasPrefix(o, "-o=") }) {
			outputs = append(outputs, "-o x", "-ox")
		}
		for _, o := range options {
			name, kind, _ := strings.Cut(o, "=")
			name = strings.TrimSuffix(name, "?")
			ways := []string{name}
			if value := values[kind]; value != "" {
				ways = append(ways, name+" "+value, name+value, name+"="+value)
			} else if kind != "" {
				t.Errorf("%s %s: no value of the kind %s", r.Name, name, kind)
			}
			for _, way := range ways {
				for _, output := range outputs {
					for _, command := range []string{"%s %s %s", "%s %s %s a.txt", "%s a.txt %s %s"} {
						command = fmt.Sprintf(command, r.Name, way, output)
						n++
						if got := (review.Place{Dir: folder}).ReadCommand(command); got.Level == review.Low {
							t.Errorf("%q is low", command)
						}
					}
				}
			}
		}
	}
	if n < 5000 {
		t.Errorf("%d commands only", n)
	}
}

// folderAt is a disk with one folder and no links.
type folderAt string

func (folderAt) Real(path string) (string, bool)       { return path, true }
func (f folderAt) IsDir(path string) bool              { return path == string(f) }
func (folderAt) Match(pattern string) ([]string, bool) { return nil, true }

// TestFolderIsNoInput: rg reads a file from its standard input, but instead of a folder the
// current one.
func TestFolderIsNoInput(t *testing.T) {
	t.Parallel()
	place := review.Place{Dir: folder, Files: folderAt(folder + "/src")}
	if got := place.ReadCommand("rg -uu '' < src"); got.Level == review.Low {
		t.Error("a search of the whole folder is low")
	}
	if got := place.ReadCommand("rg -uu '' < a.txt"); got.Level != review.Low {
		t.Errorf("a search of one file: %s", inSentences(got))
	}
}

func inSentences(c review.Command) string {
	words := []string{c.Problem}
	for _, m := range c.Marks {
		words = append(words, string(m.Kind)+": "+m.Reason)
	}
	return strings.Join(words, " ")
}

// TestPrivateIsNotLow: the files of the server are not of low risk where they lie in
// the folder of a session, by whatever tool.
func TestPrivateIsNotLow(t *testing.T) {
	t.Parallel()
	place := review.Place{Dir: folder, Private: func() []string { return []string{folder + "/state"} }}
	for _, command := range []string{"cat state/sayso.db", "cat state/x.go", "ls state", "find state", "cat */x.go", "cat s*/x.go", "grep -rn TODO .", "grep -rn TODO state", "rg TODO", "git diff state/a.go", "cd state && ls", "cd state; cat a.go", "wc -l state/*", "for f in state/a.go; do cat $f; done", "diff state/a.go b.go", "cat ./state/a.go", "cat src/.././state/a.go", "cat " + folder + "/state/a.go", "cat < state/a.go", "[ -f state/a.go ]"} {
		if got := place.ReadCommand(command); got.Level == review.Low {
			t.Errorf("%q is low", command)
		}
	}
	for _, call := range [][2]string{{"Read", `{"file_path":"state/a.go"}`}, {"LS", `{"path":"` + folder + `/state"}`}, {"Grep", `{"pattern":"TODO"}`}, {"Grep", `{"pattern":"TODO","path":"state"}`}, {"Glob", `{"pattern":"state/*"}`}} {
		if got := place.ToolLevel(call[0], json.RawMessage(call[1])); got == review.Low {
			t.Errorf("%s %s is low", call[0], call[1])
		}
	}
	for _, command := range []string{"ls", "cat a.txt", "cat src/*.go", "ls stated"} {
		if got := place.ReadCommand(command); got.Level != review.Low {
			t.Errorf("%q: %s", command, inSentences(got))
		}
	}
}
