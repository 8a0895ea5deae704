package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// confinable reports whether bubblewrap works here. Where it does not, as in a
// container without namespaces, what it keeps Claude from is not covered.
func confinable(t *testing.T) bool {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Fatalf("bubblewrap is missing; run make setup: %v", err)
	}
	if out, err := exec.Command("bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		t.Logf("NOT COVERED HERE: bubblewrap cannot make namespaces on this machine: %v: %s", err, out)
		return false
	}
	return true
}

// probe is what a Claude that wants to approve itself would try. Each line says what
// it got at; "refused" is what we want to read.
const probe = `cd "$(dirname "$0")"
try() { name=$1; shift; if out=$("$@" 2>&1); then echo "$name: $out"; else echo "$name: refused"; fi; }
try database cat "$1/sayso.db"
try database-copy sh -c "cat $1/sayso.db*"
try bundles ls "$1/shims"
try others sh -c "cat $1/shims/$3/connect.json"
try others-socket sh -c "ls $1/shims/$3/socket"
try own-shim sh -c "ls $1/shims/*/socket $1/shims/*/token $1/shims/*/journal*"
try server-environment cat "/proc/$2/environ"
try server-root ls "/proc/$2/root$1"
try server-memory cat "/proc/$2/mem"
try server-signal kill -0 "$2"
try parents sh -c 'for p in /proc/[0-9]*; do tr "\0" "\n" < $p/environ; done | grep SAYSO_BOOTSTRAP'
try elsewhere touch /etc/sayso-canary
try program sh -c "echo x >> $4"
try mount umount "$1"
try remount mount -t tmpfs none /mnt
try state-write sh -c "echo x > $1/shims/$3/connect.json"
echo "descriptors: $(ls -x /proc/self/fd)"
echo "own-token: $(node approve.mjs "$1" "$5")"
echo "home: $(touch "$HOME/from-claude" && echo written)"
echo "work: $(touch from-claude && echo written)"
`

// approve tries everything that answers with the only token there is.
const approve = `import fs from "node:fs";
const [state, server] = process.argv.slice(2), dir = state + "/shims/";
const { url, token } = JSON.parse(fs.readFileSync(dir + fs.readdirSync(dir)[0] + "/connect.json"));
const headers = { Authorization: "Bearer " + token, "Content-Type": "application/json" }, got = [];
for (const [method, path] of [["GET", "/api/pending"], ["POST", "/api/pending/x/response"], ["POST", "/api/mcp-answer"], ["POST", "/api/tokens"], ["GET", "/api/sessions"]])
  got.push((await fetch(server + path, { method, headers, ...(method === "POST" ? { body: "{}" } : {}) })).status);
console.log(got.join(" "));
`

func TestClaudeInASandboxCannotApproveItself(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		if !confinable(t) {
			return
		}
		h, _ := realHarness(t, version)
		h.asProcesses()
		// The program itself is where Claude may write, as in many homes.
		program := filepath.Join(h.work, "claude")
		must(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' \"$@\"\n", h.claude), 0o700))
		h.claude = program
		s := h.start("--sandbox", "bubblewrap", "--workspace-root", h.work)
		other := s.session("```script\n[[{\"text\":\"I am the other one\"}]]\n```")
		s.says(other, "I am the other one")
		bundles, err := os.ReadDir(filepath.Join(h.state, "shims"))
		must(t, err)
		if len(bundles) != 1 {
			t.Fatalf("%d bundles, want 1", len(bundles))
		}
		// What the sandbox hides is there, and whoever has our user id can read it.
		for _, path := range []string{
			filepath.Join(h.state, "sayso.db"), filepath.Join(h.state, "shims", bundles[0].Name(), "connect.json"), fmt.Sprintf("/proc/%d/environ", s.cmd.Process.Pid),
		} {
			if _, err := os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		must(t, os.WriteFile(filepath.Join(h.work, "probe.sh"), []byte(probe), 0o600))
		must(t, os.WriteFile(filepath.Join(h.work, "approve.mjs"), []byte(approve), 0o600))
		nap := 1_000_000 + s.cmd.Process.Pid // seconds, that no other test sleeps
		command := fmt.Sprintf("sh probe.sh %s %d %s %s %s > found 2>&1; (setsid sleep %d &) ; true", h.state, s.cmd.Process.Pid, bundles[0].Name(), h.claude, s.URL, nap)
		script := fmt.Sprintf(`[[{"tool":"Bash","input":{"command":%q,"description":"try"}}],[{"tool":"mcp__sayso__ask_user","input":{"question":"Did it work?"}}],[{"text":"I heard {{last_tool_result}}"}]]`, command)
		id := s.session("```script\n" + script + "\n```")
		s.allow(s.asks(id))
		// The one thing that it may: ask.
		q := s.question(id, "mcp")
		s.answer(q.RequestID, map[string]string{"Did it work?": "No."})
		s.says(id, "No.")

		text, err := os.ReadFile(filepath.Join(h.work, "found"))
		must(t, err)
		found := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
			found[name] = what
		}
		for _, name := range []string{
			"database", "database-copy", "others", "others-socket", "own-shim", "server-environment", "server-root", "server-memory",
			"parents", "elsewhere", "program", "mount", "remount", "state-write",
		} {
			if found[name] != "refused" {
				t.Errorf("%s: got %q, want refused", name, found[name])
			}
		}
		// A process of that number may be there, but it is none of ours: see server-environment.
		if got := found["bundles"]; got == "refused" || strings.Contains(got, bundles[0].Name()) {
			t.Errorf("bundles: %q, want its own alone", got)
		}
		if got := found["own-token"]; got != "401 401 401 401 401" {
			t.Errorf("with its own token: %q, want 401 five times", got)
		}
		if found["work"] != "written" {
			t.Errorf("it cannot work in its folder: %q", found["work"])
		}
		if got := strings.Fields(found["descriptors"]); len(got) != 4 { // 0 to 2, and that of ls
			t.Errorf("descriptors %q", got)
		}
		if t.Failed() {
			t.Logf("found:\n%s", text)
		}
		for _, path := range []string{"/etc/sayso-canary", filepath.Join(h.work, "from-claude")} {
			if _, err := os.Stat(path); (err == nil) != strings.HasPrefix(path, h.work) {
				t.Errorf("%s: %v", path, err)
			}
		}

		// The next server takes it over, though its address is another; and all of the
		// tree goes.
		s.signal(syscall.SIGKILL)
		s.gone(realWaitLimit)
		s = h.start("--sandbox", "bubblewrap", "--workspace-root", h.work)
		s.say(id, `[[{"tool":"mcp__sayso__ask_user","input":{"question":"And now?"}}],[{"text":"I heard {{last_tool_result}}"}]]`)
		q = s.question(id, "mcp")
		s.answer(q.RequestID, map[string]string{"And now?": "Neither."})
		s.says(id, "Neither.")
		pid := s.pid(id)
		if !sleeps(t, nap) {
			t.Fatal("what was left running in the sandbox is not there")
		}
		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
		within(t, realWaitLimit, "the session is dead", func() bool { return s.process(id).State == "dead" })
		if alive(pid) {
			t.Error("the sandbox lives on")
		}
		within(t, realWaitLimit, "what was left running in the sandbox ends", func() bool { return !sleeps(t, nap) })
	})
}

// sleeps reports whether some process sleeps for so many seconds.
func sleeps(t *testing.T, seconds int) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, line := range lines {
		text, _ := os.ReadFile(line) // it may have ended
		if string(text) == fmt.Sprintf("sleep\x00%d\x00", seconds) {
			return true
		}
	}
	return false
}

func TestServerRefusesAnUnavailableSandbox(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.serve("--sandbox", "firejail").refused("none or bubblewrap")
	bare := newHarness(t, claudetest.Script{}).asProcesses()
	for i, e := range bare.env {
		if strings.HasPrefix(e, "PATH=") {
			bare.env[i] = "PATH=/nowhere"
		}
	}
	bare.serve("--sandbox", "bubblewrap").refused("install bubblewrap")
	if !confinable(t) {
		return
	}
	away := newHarness(t, claudetest.Script{}).asProcesses()
	away.serve("--sandbox", "bubblewrap", "--database", "sqlite:"+filepath.Join(away.work, "sayso.db")).refused("the database is outside of it")
}
