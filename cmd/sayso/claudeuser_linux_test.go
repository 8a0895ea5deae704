package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// asAnother reports whether these tests may act as other users. Where they may not,
// what a user of Claude's own keeps it from is not covered.
func asAnother(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("NOT COVERED HERE: only root may start Claude as another user; run these tests as root, too, such as in a container")
		return false
	}
	return true
}

// somebody makes a harness fit for a Claude of another user, who is nobody on this
// machine: a home of its own, and a way to its CLI and its work.
func (h *harness) somebody(uid int) (u *claude.RunAs, args []string) {
	t := h.t
	t.Helper()
	dir := filepath.Dir(h.work)
	u = &claude.RunAs{UID: uid, GID: uid, Home: filepath.Join(dir, "home")}
	must(t, os.Mkdir(u.Home, 0o700))
	for _, path := range []string{u.Home, h.work} {
		must(t, os.Chown(path, uid, uid))
	}
	for _, path := range []string{dir, filepath.Dir(dir), filepath.Dir(h.program), filepath.Dir(h.claude)} {
		if info, err := os.Stat(path); err == nil && strings.HasPrefix(path, os.TempDir()) && info.Mode()&os.ModeSticky == 0 {
			must(t, os.Chmod(path, info.Mode().Perm()|0o011))
		}
	}
	runs := func() bool {
		return u.Do(func() error { return syscall.Access(h.claude, 1) }) == nil && u.Do(func() error {
			f, err := os.Open(h.claude)
			if err == nil {
				err = f.Close()
			}
			return err
		}) == nil
	}
	if !runs() { // it lies in a folder that is closed to others
		h.claude = copied(t, h.claude, filepath.Join(dir, "claude"))
	}
	return u, []string{"--claude-user", fmt.Sprintf("%d:%d", uid, uid), "--claude-home", u.Home}
}

func copied(t testing.TB, from, to string) string {
	t.Helper()
	from, err := filepath.EvalSymlinks(from)
	must(t, err)
	if os.Link(from, to) == nil {
		return to
	}
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	return to
}

// intrusion is what a Claude that wants to approve itself would try: STATE, SERVER
// (pid), BUNDLE of another session, PROGRAM, URL. "refused" is what we want to read.
const intrusion = `cd "$(dirname "$0")"
try() { name=$1; shift; if out=$("$@" 2>&1); then echo "$name: $out"; else echo "$name: refused"; fi; }
p=$$; cli=0
while [ "$p" -gt 1 ]; do
  case $(readlink "/proc/$p/exe") in *claude*) cli=$p; break;; esac
  p=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$p/status")
done
shim=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$cli/status")
config=$(tr '\0' '\n' < "/proc/$cli/cmdline" | sed -n 's/^--mcp-config=//p')
try state ls "$1"
try database cat "$1/sayso.db"
try bundles ls "$1/shims"
try journal sh -c "cat $1/shims/$3/*"
try socket sh -c "ls $1/shims/$3/socket"
try others cat "$1/shims/$3/connect.json"
try private ls "$1-claude"
try server-environment cat "/proc/$2/environ"
try server-root ls "/proc/$2/root/"
try server-memory cat "/proc/$2/mem"
try server-files ls "/proc/$2/fd/"
try server-signal kill -0 "$2"
try shim-environment cat "/proc/$shim/environ"
try shim-folder ls "/proc/$shim/cwd/"
try shim-signal kill -0 "$shim"
try own-input sh -c "echo '{}' > /proc/$cli/fd/0"
try own-output sh -c "echo '{}' > /proc/$cli/fd/1"
try bootstrap sh -c 'for p in /proc/[0-9]*; do tr "\0" "\n" < $p/environ; done | grep SAYSO_BOOTSTRAP'
try elsewhere touch /etc/sayso-canary
try program sh -c "echo x >> $4"
try setuid setpriv --reuid 0 true
try groups setpriv --groups 0 true
try own-config sh -c "echo x >> $config"
echo "ids: $(id -u) $(id -g) $(id -G)"
echo "rights: $(sed -n 's/^\(Cap...\|NoNewPrivs\):[^0-9a-f]*//p' /proc/self/status | tr '\n' ' ')"
echo "descriptors: $(ls -x /proc/self/fd)"
echo "own-token: $(node approve.mjs "$(dirname "$config")/connect.json" "$5")"
echo "home: $HOME $(touch "$HOME/from-claude" && echo written)"
echo "work: $(touch from-claude && echo written)"
`

// approval tries everything that answers with the token of a session.
const approval = `import fs from "node:fs";
const [file, server] = process.argv.slice(2);
const { token } = JSON.parse(fs.readFileSync(file));
const headers = { Authorization: "Bearer " + token, "Content-Type": "application/json" }, got = [];
for (const [method, path] of [["GET", "/api/pending"], ["POST", "/api/pending/x/response"], ["POST", "/api/mcp-answer"], ["POST", "/api/tokens"], ["GET", "/api/sessions"]])
  got.push((await fetch(server + path, { method, headers, ...(method === "POST" ? { body: "{}" } : {}) })).status);
console.log(got.join(" "));
`

// intrude has a session try it all, after a person has allowed it to, and returns
// what it got at.
func (s *server) intrude(id, bundle string, nap int) (found map[string]string, text string) {
	t := s.h.t
	t.Helper()
	for name, text := range map[string]string{"intrusion.sh": intrusion, "approve.mjs": approval} {
		must(t, os.WriteFile(filepath.Join(s.h.work, name), []byte(text), 0o644))
	}
	command := fmt.Sprintf("sh intrusion.sh %s %d %s %s %s > found 2>&1; (setsid sleep %d &) ; true", s.h.state, s.cmd.Process.Pid, bundle, s.h.program, s.URL, nap)
	s.say(id, fmt.Sprintf(`[[{"tool":"Bash","input":{"command":%q,"description":"try"}}],[{"tool":"mcp__sayso__ask_user","input":{"question":"Did it work?"}}],[{"text":"I heard {{last_tool_result}}"}]]`, command))
	s.allow(s.asks(id))
	q := s.question(id, "mcp") // the one thing that it may
	s.answer(q.RequestID, map[string]string{"Did it work?": "No."})
	s.says(id, "No.")
	all, err := os.ReadFile(filepath.Join(s.h.work, "found"))
	must(t, err)
	found = map[string]string{}
	for line := range strings.Lines(string(all)) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), ": ")
		found[name] = what
	}
	return found, string(all)
}

func TestClaudeOfAnotherUserCannotApproveItself(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		if !asAnother(t) {
			return
		}
		ways := map[string][]string{"root": {}, "capabilities": {}}
		if version == newer {
			delete(ways, "capabilities")
			if confinable(t) {
				ways["sandbox"] = []string{"--sandbox", "bubblewrap"}
			}
		}
		i := 0
		for name, way := range ways {
			h, _ := realHarness(t, version)
			h.asProcesses()
			i++
			uid := 61_910 + 2*i
			if version == newer {
				uid++
			}
			u, args := h.somebody(uid)
			args = append(args, way...)
			start := func() *server { return h.start(args...) }
			if name == "capabilities" { // of a server that is somebody else, and not root
				const self = 61_909
				for _, path := range []string{h.state, h.state + "-claude"} {
					_ = os.Mkdir(path, 0o700) // one of them is there
					must(t, os.Chown(path, self, self))
				}
				start = func() *server { return h.startWith(self, args...) }
			}
			s := start()
			id := s.session("```script\n[[{\"text\":\"I am here\"}]]\n```")
			s.says(id, "I am here")
			bundles, err := os.ReadDir(filepath.Join(h.state, "shims"))
			must(t, err)
			if len(bundles) != 1 {
				t.Fatalf("%d bundles, want 1", len(bundles))
			}
			nap := 1_000_000 + s.cmd.Process.Pid // seconds, that no other test sleeps
			found, text := s.intrude(id, bundles[0].Name(), nap)
			for _, name := range []string{
				"state", "database", "bundles", "journal", "socket", "others", "private", "server-environment", "server-root", "server-memory", "server-files",
				"server-signal", "shim-environment", "shim-folder", "shim-signal", "own-input", "own-output", "bootstrap", "elsewhere", "program", "setuid", "groups", "own-config",
			} {
				inside := len(way) > 0 && slices.Contains([]string{"private", "server-signal", "shim-signal"}, name)
				if found[name] != "refused" && !inside { // the folder there is empty, and the numbers are others'
					t.Errorf("%q: %s: got %q, want refused", way, name, found[name])
				}
			}
			none := strings.Repeat("0", 16) + " "
			for name, want := range map[string]string{
				"ids": fmt.Sprintf("%d %d %d", uid, uid, uid), "own-token": "401 401 401 401 401",
				"work": "written", "home": u.Home + " written",
			} {
				if found[name] != want {
					t.Errorf("%q: %s: got %q, want %q", way, name, found[name], want)
				}
			}
			if !strings.HasPrefix(found["rights"], none+none+none) || !strings.HasSuffix(found["rights"], none+"1") {
				t.Errorf("%q: rights %q", way, found["rights"])
			}
			if got := strings.Fields(found["descriptors"]); len(got) != 4 { // 0 to 2, and that of ls
				t.Errorf("%q: descriptors %q", way, got)
			}
			if t.Failed() {
				t.Logf("%q found:\n%s", way, text)
			}
			info, err := os.Stat(filepath.Join(h.work, "from-claude"))
			must(t, err)
			if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != uid {
				t.Errorf("%q: what it makes belongs to %d", way, owner)
			}

			// The next server, at another address, takes it over; and all of its tree goes.
			s.signal(syscall.SIGKILL)
			s.gone(realWaitLimit)
			s = start()
			s.say(id, `[[{"tool":"mcp__sayso__ask_user","input":{"question":"And now?"}}],[{"text":"I heard {{last_tool_result}}"}]]`)
			q := s.question(id, "mcp")
			s.answer(q.RequestID, map[string]string{"And now?": "Neither."})
			s.says(id, "Neither.")
			pid := s.pid(id)
			if !sleeps(t, nap) {
				t.Fatal("what was left running is not there")
			}
			if version == older { // as the kernel would for want of memory
				shim := fmt.Sprintf("/proc/%d/status", pid)
				status, err := os.ReadFile(shim)
				must(t, err)
				_, parent, _ := strings.Cut(string(status), "\nPPid:\t")
				var of int
				_, err = fmt.Sscan(parent, &of)
				must(t, err)
				must(t, syscall.Kill(of, syscall.SIGKILL))
			} else {
				s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
			}
			within(t, realWaitLimit, "the session is dead", func() bool { return s.process(id).State == "dead" })
			within(t, realWaitLimit, "all of its tree ends", func() bool { return !alive(pid) && !sleeps(t, nap) })
			within(t, realWaitLimit, "nothing of it is left", func() bool {
				left, err := os.ReadDir(h.state + "-claude")
				return err == nil && !slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() != "demo" })
			})
		}
	})
}

// startWith starts a server that is another user than root, with the capabilities
// that it needs for a user of Claude's own, and with no others.
func (h *harness) startWith(uid int, args ...string) *server {
	h.t.Helper()
	cmd := h.command("serve", append([]string{"--listen", "127.0.0.1:0", "--workspace-root", h.work, "--claude", h.claude}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)},
		AmbientCaps: []uintptr{2, 5, 6, 7, 19}, // dac_read_search, kill, setgid, setuid, sys_ptrace
	}
	s := h.begin(cmd)
	s.await()
	return s
}

// What Claude keeps and where it works is read as its user: all of that, and nothing
// to which it has only laid a link.
func TestTheServerReadsAsClaudesUser(t *testing.T) {
	t.Parallel()
	if !asAnother(t) {
		return
	}
	h := newHarness(t, claudetest.Script{}).asProcesses()
	u, args := h.somebody(61_930)
	secret := filepath.Join(h.state, "canary.json")
	must(t, os.WriteFile(secret, []byte(`{"permissions":{"allow":["Bash(canary *)"],"defaultMode":"plan"}}`), 0o600))
	const saved = "0b5b0a5e-6a3c-4c0f-9d5e-0123456789ab"
	must(t, u.Do(func() error {
		must(t, os.MkdirAll(filepath.Join(u.Home, ".claude", "projects", "w"), 0o700))
		line := fmt.Sprintf(`{"type":"user","cwd":%q,"sessionId":%q,"uuid":"1","timestamp":"2026-11-21T10:00:00Z","message":{"role":"user","content":"said in a terminal"}}`, h.work, saved)
		must(t, os.WriteFile(filepath.Join(u.Home, ".claude", "projects", "w", saved+".jsonl"), []byte(line+"\n"), 0o600))
		must(t, os.Symlink(secret, filepath.Join(u.Home, ".claude", "settings.json")))
		must(t, os.MkdirAll(filepath.Join(h.work, "mine", "below"), 0o700))
		return nil
	}))
	must(t, os.MkdirAll(filepath.Join(h.work, "roots", "hidden"), 0o700))
	s := h.start(args...)

	var list struct {
		Sessions []struct {
			SessionID string `json:"session_id"`
			Title     string
		} `json:"sessions"`
	}
	s.do("GET", "/api/terminal_sessions", nil, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].Title != "said in a terminal" {
		t.Errorf("saved: %+v", list)
	}
	folders := func(prefix string) string {
		var found struct{ Folders []struct{ Path string } }
		s.do("GET", "/api/folders?prefix="+prefix, nil, &found)
		return fmt.Sprint(found.Folders)
	}
	if got, want := folders(h.work+"/mine/"), fmt.Sprintf("[{%s/mine/below}]", h.work); got != want {
		t.Errorf("its own folder: %s, want %s", got, want)
	}
	if got := folders(h.work + "/roots/"); got != "[]" {
		t.Errorf("a folder of root: %s", got)
	}
	var refused struct{ Error struct{ Message string } }
	if got := s.status("POST", "/api/sessions", map[string]any{"cwd": h.work + "/roots", "prompt": "x"}, &refused); got != 400 || !strings.Contains(refused.Error.Message, "can't enter") {
		t.Errorf("%d %+v", got, refused)
	}
	var grants any
	s.do("GET", "/api/grants", nil, &grants)
	if text := fmt.Sprint(grants); strings.Contains(text, "canary") {
		t.Errorf("a link of Claude's leads the server: %s", text)
	}
}

func TestServerRefusesAnImpossibleClaudeUser(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.serve("--claude-user", "no-such-user").refused("there is no such user")
	h.serve("--claude-user", "root").refused("must not run as root")
	h.serve("--claude-user", "5:x").refused("is not uid:gid")
	h.serve("--claude-home", h.work).refused("Set both")
	bare := h.command("serve", "--listen", "127.0.0.1:0", "--claude-user", "61931:61931")
	h.begin(bare).refused("name folders with --workspace-root")
	if !asAnother(t) {
		h.serve("--claude-user", fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())).refused("sayso itself runs as this user")
		h.serve("--claude-user", "61931:61931", "--claude-home", h.work).refused("sayso cannot run programs as another user", "CAP_SETUID")
		return
	}
	u, args := h.somebody(61_931)
	h.serve("--claude-user", "61931:61931").refused("Set one with --claude-home")
	h.serve("--claude-user", "61931:0", "--claude-home", u.Home).refused("group of root")
	h.serve(args[0], args[1], "--claude-home", h.state).refused("needs a writable home folder")
	h.serve(append(args, "--workspace-root", h.state)...).refused("cannot enter the workspace root")
	h.serve(append(args, "--database", "sqlite:"+filepath.Join(h.work, "sayso.db"))...).refused("it can write to "+h.work, "replace")
	open := filepath.Join(filepath.Dir(h.state), "secret")
	must(t, os.WriteFile(open, []byte("x"), 0o644))
	h.serve(append(args, "--public-url", "https://sayso.example.org", "--oidc-issuer", "https://login.example.org", "--oidc-client-id", "x", "--oidc-client-secret-file", open, "--oidc-default-role", "viewer")...).refused("it can read " + open)
	inside := newHarness(t, claudetest.Script{}).asProcesses()
	_, args = inside.somebody(61_932)
	must(t, os.Chown(filepath.Dir(inside.state), 61_932, 61_932))
	inside.serve(args...).refused("it can write to", "replace")
	// Without the rights of root.
	weak := exec.Command(h.program, "serve", "--state-dir", filepath.Join(h.work, "weak"), "--workspace-root", h.work, "--listen", "127.0.0.1:0", "--claude-user", "61932:61932", "--claude-home", h.work)
	weak.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.work, "SAYSO_BOOTSTRAP_TOKEN=" + blackbox.Token}
	weak.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 61_931, Gid: 61_931}}
	h.begin(weak).refused("CAP_KILL, CAP_SETGID, CAP_SETUID")
	weak = exec.Command(h.program, weak.Args[1:]...)
	weak.Args[len(weak.Args)-3] = "61931:61931"
	weak.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.work, "SAYSO_BOOTSTRAP_TOKEN=" + blackbox.Token}
	weak.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 61_931, Gid: 61_931}}
	h.begin(weak).refused("sayso itself runs as this user")
}

// The CLI runs without asking for no root, so it takes another user to see that it
// does: for who has the right in the project, on record, and for nobody else on any
// way in.
func TestTheRealCLIAsksNobodyForWhoMayHaveThat(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		if asAnother(t) {
			asksNobody(t, version, map[string]int{older: 61_940, newer: 61_941}[version])
		}
	})
}

func asksNobody(t *testing.T, version string, uid int) {
	h, _ := realHarness(t, version)
	h.asProcesses()
	u, args := h.somebody(uid)
	s := h.start(args...)
	var me struct {
		UserID string `json:"user_id"`
	}
	s.do("GET", "/api/me", nil, &me)
	type project struct {
		ProjectID string `json:"project_id"`
		Version   int    `json:"version"`
	}
	var p project
	s.do("POST", "/api/projects", map[string]any{"name": "free", "folders": []string{h.work}}, &p)
	const mode = "bypassPermissions"
	prompt := func(script string) string { return "```script\n" + script + "\n```" }
	touch := prompt(`[[{"tool":"Bash","input":{"command":"id -u > ran","description":"who"}}],[{"text":"It is done"}]]`)
	start := map[string]any{"cwd": h.work, "prompt": touch, "permission_mode": mode}
	entries := func() (n int) {
		t.Helper()
		var page struct {
			Entries []struct {
				Entry struct {
					What      string `json:"what"`
					SessionID string `json:"session_id"`
					By        struct {
						UserID string `json:"user_id"`
					} `json:"by"`
				} `json:"entry"`
			} `json:"entries"`
		}
		s.do("GET", "/api/audit?newest=true&what=asks_nobody", nil, &page)
		for _, e := range page.Entries {
			if e.Entry.What != "asks_nobody" || e.Entry.SessionID == "" || e.Entry.By.UserID != me.UserID {
				t.Errorf("on record: %+v", e)
			}
		}
		return len(page.Entries)
	}
	right := func(people ...string) {
		t.Helper()
		if people == nil {
			people = []string{}
		}
		s.do("PATCH", "/api/projects/"+p.ProjectID, map[string]any{"version": p.Version, "bypass": people}, &p)
	}
	refused := func(method, path string, body any) {
		t.Helper()
		if got := s.status(method, path, body, nil); got != 403 {
			t.Errorf("%s: %d, want 403", path, got)
		}
	}

	refused("POST", "/api/sessions", start) // an admin, too
	right(me.UserID)
	var made struct {
		SessionID string `json:"session_id"`
	}
	s.do("POST", "/api/sessions", start, &made)
	id := made.SessionID
	s.says(id, "It is done")
	if ran, err := os.ReadFile(filepath.Join(h.work, "ran")); err != nil || strings.TrimSpace(string(ran)) != fmt.Sprint(u.UID) {
		t.Errorf("it ran as %q, %v", ran, err)
	}
	if open := s.open(id); len(open) != 0 || entries() != 1 {
		t.Errorf("it asks %+v; %d entries on record, want 1", open, entries())
	}
	// While it runs it is made to ask, and made not to again.
	sessions := "/api/sessions/" + id
	s.do("POST", sessions+"/permission_mode", map[string]any{"permission_mode": "default"}, nil)
	s.say(id, `[[{"tool":"Bash","input":{"command":"touch asked","description":"ask"}}],[{"text":"Asked for"}]]`)
	s.allow(s.asks(id))
	s.says(id, "Asked for")
	s.reaches(id, "user_turn")
	s.do("POST", sessions+"/permission_mode", map[string]any{"permission_mode": mode}, nil)
	s.say(id, `[[{"tool":"Bash","input":{"command":"touch unasked","description":"ask"}}],[{"text":"Not asked for"}]]`)
	s.says(id, "Not asked for")
	if open := s.open(id); len(open) != 0 {
		t.Errorf("it asks %+v", open)
	}
	s.reaches(id, "user_turn")
	// What is a question still reaches a person, and its answer starts nothing that
	// asks nobody: the right may be gone by then.
	s.say(id, `[[{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"Which","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}}],[{"text":"I heard {{last_tool_result}}"}]]`)
	q := s.question(id, "claude")
	must(t, syscall.Kill(s.pid(id), syscall.SIGKILL))
	s.reaches(id, "dead")
	s.answer(q.RequestID, map[string]string{"Which?": "A"})
	within(t, realWaitLimit, "the session says why it does not go on", func() bool { return strings.Contains(s.process(id).Error, "not started automatically") })

	right()
	for path, body := range map[string]map[string]any{
		"/api/sessions": start, sessions + "/resume": {}, sessions + "/fork": {}, sessions + "/messages": {"text": "go on"},
	} {
		refused("POST", path, body)
	}
	refused("POST", "/api/sessions", map[string]any{"cwd": h.work, "prompt": "x", "permission_mode": mode, "resume": id, "fork": true})
	s.do("POST", sessions+"/permission_mode", map[string]any{"permission_mode": "default"}, nil)
	refused("POST", sessions+"/permission_mode", map[string]any{"permission_mode": mode})
	s.says(id, `"A"`) // it asks again, and so goes on by itself with the answer
	s.say(id, `[[{"tool":"Bash","input":{"command":"touch again","description":"ask"}}],[{"text":"Asked again"}]]`)
	request := s.asks(id)
	refused("POST", sessions+"/permission_mode", map[string]any{"permission_mode": mode}) // while it runs
	widen := map[string]any{"request_type": "tool_approval", "decision": "allow", "updated_permissions": []any{map[string]any{"type": "setMode", "mode": mode, "destination": "session"}}}
	if got := s.status("POST", "/api/pending/"+request+"/response", widen, nil); got != 403 && got != 422 && got != 400 {
		t.Errorf("by an approval: %d", got)
	}
	s.allow(request)
	s.says(id, "Asked again")
	if n := entries(); n != 2 {
		t.Errorf("%d entries on record, want 2: its start, and the switch while it ran", n)
	}

	// The right ends while a process lives by it: Claude asks from then on.
	right(me.UserID)
	s.do("POST", "/api/sessions", start, &made)
	s.says(made.SessionID, "It is done")
	right()
	within(t, realWaitLimit, "Claude is told to ask", func() bool { return s.process(made.SessionID).PermissionMode == "default" })
	s.say(made.SessionID, `[[{"tool":"Bash","input":{"command":"id -u > again","description":"who"}}],[{"text":"It is over"}]]`)
	s.asks(made.SessionID)
}
