package review_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/seedtest"
)

// TestLowCommandsOnlyRead runs what is called low in a sandbox and watches what it
// does: it writes no file, starts no program that is not on the list, opens no
// connection, and reads and prints no secret.
//
// SAYSO_TEST_EXECUTIONS is how many generated commands of low risk are run, beside the
// lists of this package; SAYSO_TEST_SEED where the generation begins.
func TestLowCommandsOnlyRead(t *testing.T) {
	t.Parallel()
	s := newExecution(t)
	var low []string
	take := func(command string) bool {
		if s.place.ReadCommand(command).Level == review.Low {
			low = append(low, command)
			return true
		}
		return false
	}
	for _, command := range everyday {
		if !take(command) {
			t.Errorf("%q is not low here: %s", command, inSentences(s.place.ReadCommand(command)))
		}
	}
	for _, command := range attackCalls {
		take(command)
	}
	for _, row := range corpus {
		for _, command := range row.commands {
			take(command)
		}
	}
	listed, tried := len(low), 0
	wanted, seed := setting("SAYSO_TEST_EXECUTIONS", 200), 1
	if os.Getenv(seedtest.Variable) != "" {
		seed = int(seedtest.New(t) >> 1)
	}
	for seen := map[string]bool{}; len(low) < listed+wanted; tried++ {
		if tried > 200*wanted {
			t.Fatalf("of %d generated commands only %d are low", tried, len(low)-listed)
		}
		if command := commandGen.Example(seed + tried); !seen[command] {
			seen[command] = true
			take(command)
		}
	}
	programs := map[string]bool{}
	for batch := range slices.Chunk(low, 250) {
		s.run(t, batch, programs)
	}
	t.Logf("%d commands of the lists and %d of %d generated ones are low and were run; %d programs started: %s", listed, len(low)-listed, tried, len(programs), strings.Join(sortedKeys(programs), " "))
	for _, r := range review.Readers() {
		name, _, _ := strings.Cut(r.Name, " ")
		if _, err := exec.LookPath(name); err != nil && !programs[name] && !shellWords[name] {
			t.Logf("%s is not on this machine, so calls of it were not proved", name)
		}
	}
}

var shellWords = map[string]bool{"cd": true, "exit": true, "type": true, "command": true, ":": true}

// TestExecutionIsWatched: what does more is seen, each in its way.
func TestExecutionIsWatched(t *testing.T) {
	t.Parallel()
	s := newExecution(t)
	for _, command := range []string{
		"[[ -v 'a[$(touch x)]' ]]", "let 'x=a[$(id > x)]'", "./ls", "hash -p ./evil ls; ls", "uniq a.txt ../.bashrc", "tree -o x", "git archive -o .git/hooks/pre-commit HEAD", "echo hi | tee x", "> x", "read 'a[$(touch x)]' < a.txt", "cat ../state/sayso.db", "cat .env", "cat links/secret.go", "cat ~/.ssh/id_rsa", "rm a.txt", "touch a.txt", "chmod 600 a.txt", "mkdir x && rmdir x", "echo x > /tmp/x; rm /tmp/x", "mv a.txt x; mv x a.txt", "ln a.txt x; rm x", "perl -e 1", "echo $AWS_SECRET_ACCESS_KEY", "printenv | head -50", "exec 3<>/dev/tcp/127.0.0.1/1", "python3 -c 1", "make", "sort -o x a.txt", "awk 'BEGIN{system(\"id\")}'", "sed -n '1w x' a.txt", "git branch x", "git -c core.fsmonitor='touch x; false' status", "ps aux",
	} {
		if found := s.watch(t, []string{command}, map[string]bool{}); len(found) == 0 {
			t.Errorf("%q: nothing was seen", command)
		}
		s.reset(t)
	}
}

func setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func sortedKeys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// canary is in each secret of the sandbox.
const canary = "CANARY7f3a"

// execution is a home folder with a project and secrets, in a sandbox in which it alone
// can be written.
type execution struct {
	home, project, control, pristine string
	place                            review.Place
	before                           map[string]string
}

func newExecution(t *testing.T) *execution {
	t.Helper()
	for _, program := range []string{"bwrap", "strace", "git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is missing: run scripts/setup", program)
		}
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &execution{home: root + "/home", project: root + "/home/project", control: root + "/control", pristine: root + "/pristine"}
	s.place = review.Place{Dir: s.project, Private: func() []string { return []string{s.home + "/state"} }, Files: osFiles{}}
	s.prepare(t)
	return s
}

// reset undoes what commands did.
func (s *execution) reset(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("bash", "-ec", `rm -rf "$1"; cp -a "$2" "$1"`, "reset", s.home, s.pristine).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.before = tree(t, s.home)
}

func (s *execution) prepare(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(s.control+"/bin", 0o755))
	if found, err := exec.LookPath("fdfind"); err == nil {
		must(os.Symlink(found, s.control+"/bin/fd"))
	}
	write := func(name, text string, mode fs.FileMode) {
		t.Helper()
		file := filepath.Join(s.project, name)
		must(os.MkdirAll(filepath.Dir(file), 0o755))
		must(os.WriteFile(file, []byte(text), mode))
	}
	for name, text := range map[string]string{
		"a.txt": "b:2\na:1\na:1\nfoo bar\nmain TODO\n", "b.txt": "a:1\nc:3\nfoo\n", "README.md": "# Project\n\nTODO: write it\n", "a.go": "package a\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) } // TODO\n", "b.go": "package a\n", "src/main.go": "package main\n\nfunc main() {}\n", "src/x y.go": "package main\n", "src/list.ts": "import x from 'y'\n",
		"package.json": `{"name":"x","scripts":{"a":"b"}}` + "\n", "go.mod": "module x\n\ngo 1.20\n", "Makefile": "all:\n\ttouch made\n", "data.csv": "a,b\n1,2\n", "vendor/x.go": "package x\n",
	} {
		write(name, text, 0o644)
	}
	// What a hostile repository brings along.
	for _, name := range []string{"ls", "cat", "evil", "bin/git", "src/ls", "node_modules/.bin/ls", "made.go"} {
		write(name, "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n", 0o755)
	}
	for _, name := range []string{"-ofoo.txt", "-delete", "-x.go", "-i.go", "--output=o.txt", "--compress-program=x.go", "--files0-from=x.go", "-fx.go", "[", "a=b.txt", "$(touch x).txt", ";id.txt"} {
		write(name, "x\n", 0o644)
	}
	for name, text := range map[string]string{
		".env": "PASSWORD=" + canary + "\n", ".env.local": "TOKEN=" + canary + "\n", "server.key": canary + "\n", "secrets.yml": "key: " + canary + "\n", "src/id_rsa": canary + "\n", "sub/.npmrc": "//x:_authToken=" + canary + "\n", "credentials.json": `{"a":"` + canary + `"}` + "\n",
		"../.ssh/id_rsa": canary + "\n", "../.aws/credentials": canary + "\n", "../.bashrc": "# " + canary + "\n", "../state/sayso.db": canary + "\n", "../other/x.go": "// " + canary + "\n", "../.netrc": canary + "\n",
		// Otherwise go counts each call in the settings of its user.
		"../.config/go/telemetry/mode": "off\n",
	} {
		write(name, text, 0o644)
	}
	must(os.MkdirAll(s.project+"/links", 0o755))
	for name, to := range map[string]string{"links/secret.go": "../../.ssh/id_rsa", "links/home": "../..", "links/out.txt": "/etc/passwd", "links/in.txt": "../a.txt", "links/env.go": "../.env", "links/nowhere": "/nowhere/x"} {
		must(os.Symlink(to, filepath.Join(s.project, name)))
	}
	git := exec.Command("bash", "-ec", `git init -q -b main; git config user.name x; git config user.email x@x.test; git remote add origin https://x.test/x; git add a.txt README.md src/main.go a.go; git commit -qm 'first TODO'; git tag v1; git branch topic; echo more >> a.txt; git commit -qam second; find . -exec touch -h -d '2026-01-01 00:00' {} +; git update-index -q --refresh; git status >/dev/null; find .git -exec touch -h -d '2026-01-02 00:00' {} +`)
	git.Dir, git.Env = s.project, append(os.Environ(), "HOME="+s.home, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("cp", "-a", s.home, s.pristine).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.before = tree(t, s.home)
}

// tree is what can be told of each file below a folder.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), info.Size())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		out[path] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run fails for whatever commands of low risk do beside reading.
func (s *execution) run(t *testing.T, commands []string, programs map[string]bool) {
	t.Helper()
	for _, f := range s.watch(t, commands, programs) {
		t.Error(f)
	}
}

const driver = `cd "$1" || exit 1
n=0
while [ -e "$2/commands/$n" ]; do
	bash "$2/commands/$n" > "$2/out/$n" 2>&1 < /dev/null
	n=$((n+1))
done
echo "$n" > "$2/done"
`

// watch runs commands, one after the other, and says what they did beside reading.
func (s *execution) watch(t *testing.T, commands []string, programs map[string]bool) (found []string) {
	t.Helper()
	for _, dir := range []string{"commands", "out"} {
		if err := os.RemoveAll(s.control + "/" + dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(s.control+"/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range commands {
		if err := os.WriteFile(fmt.Sprint(s.control, "/commands/", i), []byte(c+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	trace := s.control + "/trace"
	cmd := exec.CommandContext(ctx, "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--bind", filepath.Dir(s.home), filepath.Dir(s.home), "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
		"--clearenv", "--setenv", "HOME", s.home, "--setenv", "PATH", s.control+"/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin", "--setenv", "AWS_SECRET_ACCESS_KEY", canary, "--setenv", "LANG", "C.UTF-8", "--setenv", "GOTOOLCHAIN", "local",
		"strace", "-f", "-qq", "-y", "-s", "300", "-e", "signal=none", "--seccomp-bpf", "-e", "trace="+strings.Join(watched, ","), "-o", trace,
		"bash", "-c", driver, "driver", s.project, s.control)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the sandbox: %v: %s", err, out)
	}
	if n, err := os.ReadFile(s.control + "/done"); err != nil || strings.TrimSpace(string(n)) != fmt.Sprint(len(commands)) {
		t.Fatalf("%s of %d commands were run: %v", n, len(commands), err)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	say := func(what string) {
		if at >= 0 && at < len(commands) {
			found = append(found, fmt.Sprintf("%q %s", commands[at], what))
		} else {
			found = append(found, what)
		}
	}
	for line := range strings.Lines(string(data)) {
		if m := marker.FindStringSubmatch(line); m != nil && strings.Contains(m[1], s.control) {
			at, _ = strconv.Atoi(filepath.Base(m[1])) // a number, as the driver counts
			continue
		}
		if at < 0 {
			continue
		}
		if what := s.deed(line, commands[at], programs); what != "" {
			say(what)
		}
	}
	for i := range commands {
		at = i
		printed, err := os.ReadFile(fmt.Sprint(s.control, "/out/", i))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(printed, []byte(canary)) {
			say("prints a secret")
		}
	}
	at = -1
	after := tree(t, s.home)
	for path, was := range s.before {
		if after[path] != was && path != s.project+"/.git" && path != s.project+"/.git/index" {
			say(fmt.Sprintf("changed %s: %s, now %s", path, was, after[path]))
		}
	}
	for path := range after {
		if _, there := s.before[path]; !there {
			say("created " + path)
		}
	}
	return found
}

// watched are the calls of the kernel that are traced.
var watched = strings.Fields("execve execveat open openat openat2 creat connect bind sendto sendmsg listen unlink rename unlinkat renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat truncate ftruncate chmod fchmod fchmodat chown fchown lchown fchownat utime utimes utimensat futimesat mknod mknodat setxattr lsetxattr fsetxattr removexattr mount umount2 chroot pivot_root")

var (
	marker   = regexp.MustCompile(`execve\("[^"]*/bash", \["bash", "([^"]*/commands/[0-9]+)"\]`)
	call     = regexp.MustCompile(`^\d+ +([a-z0-9_]+)\((.*)$`)
	quoted   = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	opened   = regexp.MustCompile(` = \d+<([^>]*)>`)
	searches = regexp.MustCompile(`\bgrep\b.* (-[a-zA-Z]*r|--recursive)|\brg\b|git( -\S+)* grep`)
)

// deed says what a line of the trace is beside reading, "" when it is not.
func (s *execution) deed(line, command string, programs map[string]bool) string {
	m := call.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || strings.Contains(m[2], ") = -1 ") && m[1] != "connect" || strings.Contains(line, "resumed>") && !strings.Contains(line, " = ") {
		return ""
	}
	name, arguments := m[1], m[2]
	short := strings.TrimSpace(line)
	switch name {
	case "execve", "execveat":
		first := quoted.FindStringSubmatch(arguments)
		if first == nil {
			return "starts what cannot be told: " + short
		}
		program := filepath.Base(first[1])
		programs[program] = true
		_, listed := listedPrograms[program]
		switch {
		case strings.HasPrefix(first[1], "/usr/lib/git-core/"), program == "git":
		case !listed, strings.HasPrefix(first[1], s.home):
			return "starts " + short
		case interpreter[program] && !regexp.MustCompile(`\["[^"]*", (?:"/[^"]*/npm(?:-cli\.js)?", )?"--?[vV](?:ersion)?"(?:, "--?[vV](?:ersion)?")*\]`).MatchString(arguments):
			return "runs code: " + short
		}
	case "open", "openat", "openat2", "creat":
		path := ""
		if p := quoted.FindStringSubmatch(arguments); p != nil && strings.Contains(line, "<unfinished") {
			path = p[1]
		}
		if p := opened.FindStringSubmatch(line); p != nil {
			path = p[1]
		}
		writes := name == "creat" || regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE`).MatchString(arguments)
		switch {
		case strings.HasPrefix(path, s.control+"/out/"), path == s.control+"/done", path == s.project+"/.git/index.lock":
		case writes && path != "/dev/null" && path != "/dev/tty":
			return "writes " + short
		case s.secret(path) && !searches.MatchString(command):
			return "reads " + short
		}
	case "connect", "bind", "sendto", "sendmsg", "listen":
		if strings.Contains(arguments, "AF_INET") {
			return "uses the network: " + short
		}
	case "unlink", "rename":
		// Git may refresh its own cache of what is in the folder.
		if strings.HasPrefix(arguments, strconv.Quote(s.project+"/.git/index.lock")) {
			return ""
		}
		return "changes files: " + short
	default:
		return "changes files: " + short
	}
	return ""
}

// secret reports whether a file of the sandbox holds a canary.
func (s *execution) secret(path string) bool {
	if !strings.HasPrefix(path, s.home+"/") {
		return path == "/etc/shadow" || strings.HasPrefix(path, "/proc/") && strings.HasSuffix(path, "/environ")
	}
	data, err := os.ReadFile(path)
	return err == nil && bytes.Contains(data, []byte(canary))
}

var listedPrograms = func() map[string]bool {
	out := map[string]bool{}
	for _, r := range review.Readers() {
		out[strings.SplitN(r.Name, " ", 2)[0]] = true
	}
	return out
}()

var interpreter = map[string]bool{"bash": true, "node": true, "npm": true, "python": true, "python3": true, "perl": true, "ruby": true, "make": true, "gcc": true, "clang": true, "docker": true, "bun": true, "deno": true}

// osFiles is the disk of the sandbox, as it is outside.
type osFiles struct{}

func (osFiles) Real(path string) (string, bool) {
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), true
		}
		if _, err := os.Lstat(path); err == nil || path == "/" {
			return "", false
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

func (osFiles) IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (osFiles) Match(pattern string) ([]string, bool) {
	list, err := filepath.Glob(pattern)
	return list, err == nil
}
