package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// steps prints how long each step of a test took.
type steps struct {
	t    *testing.T
	last time.Time
}

func (s *steps) done(what string) {
	now := time.Now()
	s.t.Logf("%7.1f s  %s", now.Sub(s.last).Seconds(), what)
	s.last = now
}

// claudeMirror serves the CLI of the tests as Anthropic serves it.
func claudeMirror(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	platform := runtime.GOOS + "-" + arch
	program := realCLI(t, newer)
	if filepath.Base(program) == "claude-for-tests" { // a script that runs it
		program = filepath.Join(filepath.Dir(program), "node_modules/@anthropic-ai/claude-code/bin/claude.exe")
	}
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+claude.NewestTested+"/"+platform+"/claude" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, program)
	}))
	t.Cleanup(mirror.Close)
	return mirror.URL
}

// redeem signs in with a link that a server printed, as its page does.
func redeem(t *testing.T, said string) {
	t.Helper()
	link := signInLink(t, said)
	address, secret, _ := strings.Cut(link, "#")
	body, err := json.Marshal(map[string]string{"token": secret})
	must(t, err)
	r, err := http.NewRequest("POST", strings.TrimSuffix(address, "/sign-in")+"/api/login", bytes.NewReader(body))
	must(t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	must(t, err)
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Fatalf("sign-in: %s: %s", response.Status, text)
	}
}

// signInLink returns the link that a start printed.
func signInLink(t *testing.T, said string) string {
	t.Helper()
	link := regexp.MustCompile(`http://\S+#\S+`).FindString(said)
	if link == "" {
		t.Fatalf("no sign-in link:\n%s", said)
	}
	return link
}

// TestImageRuns runs the root of the image: its entrypoint installs Claude, the server starts, the
// health check of the image succeeds and a person signs in.
func TestImageRuns(t *testing.T) {
	forRelease(t)
	t.Parallel()
	step := &steps{t, time.Now()}
	dir := releaseOf(t, nil)
	step.done("build the release")
	root, config := unpackImage(t, oneFile(t, dir, "sayso-v*-image.tar"), runtime.GOARCH)
	step.done("unpack the image")

	if config.User != "sayso" || len(config.Healthcheck.Test) < 2 {
		t.Errorf("the configuration: %+v", config)
	}
	found := combined(t, exec.Command("find", root, "-perm", "/6000"))
	if found != "" {
		t.Errorf("setuid:\n%s", found)
	}
	address, err := blackbox.FreeAddress()
	must(t, err)
	inside := func(words ...string) *exec.Cmd {
		args := []string{"--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-user", "--uid", "8787", "--gid", "8787",
			"--die-with-parent", "--clearenv", "--setenv", "HOME", "/home/sayso", "--setenv", "CLAUDE_DOWNLOADS", claudeMirror(t), "--setenv", "SAYSO_LISTEN", address}
		for _, variable := range config.Env {
			name, value, _ := strings.Cut(variable, "=")
			args = append(args, "--setenv", name, value)
		}
		return exec.Command("bwrap", append(append(args, "--chdir", config.WorkingDir), words...)...)
	}
	server := inside(append(config.Entrypoint, config.Cmd...)...)
	said := &words{}
	server.Stdout, server.Stderr = said, said
	must(t, server.Start())
	defer func() {
		_ = server.Process.Kill() // and with it what runs inside
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", said)
		}
	}()
	eventually(t, "the image starts", func() bool { return running.MatchString(said.String()) })
	step.done("install Claude and start")
	combined(t, inside(config.Healthcheck.Test[1:]...))
	step.done("health check")
	redeem(t, said.String())
	step.done("sign in")
	if strings.Contains(said.String(), "Claude CLI is not installed") {
		t.Error("Claude is not installed")
	}
	if out, err := exec.Command(filepath.Join(root, "home/sayso/.local/share/sayso/claude-"+claude.NewestTested, "claude"), "--version").Output(); err != nil || !strings.HasPrefix(string(out), claude.NewestTested) {
		t.Errorf("claude: %q, %v", out, err)
	}
}

// imageConfig is what a test needs of an image's configuration.
type imageConfig struct {
	User, WorkingDir     string
	Env, Entrypoint, Cmd []string
	Healthcheck          struct{ Test []string }
}

// unpackImage unpacks the image for an architecture, and checks each sum in it.
func unpackImage(t *testing.T, archive, arch string) (root string, config imageConfig) {
	t.Helper()
	layout := t.TempDir()
	combined(t, exec.Command("tar", "-xf", archive, "-C", layout))
	type descriptor struct {
		Digest   string
		Size     int64
		Platform struct{ Architecture string }
	}
	blob := func(d descriptor) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1)))
		must(t, err)
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); sum != d.Digest || int64(len(text)) != d.Size {
			t.Fatalf("%+v has the sum %s and %d bytes", d, sum, len(text))
		}
		return text
	}
	var index struct{ Manifests []descriptor }
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	must(t, err)
	must(t, json.Unmarshal(text, &index))
	must(t, json.Unmarshal(blob(index.Manifests[0]), &index))
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	for _, m := range index.Manifests {
		if m.Platform.Architecture == arch {
			must(t, json.Unmarshal(blob(m), &manifest))
		}
	}
	var described struct {
		Config imageConfig
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	must(t, json.Unmarshal(blob(manifest.Config), &described))
	root = t.TempDir()
	for i, l := range manifest.Layers {
		zipped, err := gzip.NewReader(bytes.NewReader(blob(l)))
		must(t, err)
		layer, err := io.ReadAll(zipped)
		must(t, err)
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); sum != described.Rootfs.DiffIDs[i] {
			t.Errorf("layer %d has the sum %s, not %s", i, sum, described.Rootfs.DiffIDs[i])
		}
		cmd := exec.Command("tar", "-x", "--no-same-owner", "--keep-directory-symlink", "-C", root)
		cmd.Stdin = bytes.NewReader(layer)
		combined(t, cmd)
		if i == len(manifest.Layers)-1 {
			home, err := tar.NewReader(bytes.NewReader(layer)).Next()
			must(t, err)
			if home.Uid != 8787 || home.Mode&0o077 != 0 {
				t.Errorf("the home folder: %+v", home)
			}
		}
	}
	return root, described.Config
}

// A freshDebian is a Debian in which nothing was installed. What it runs is in a namespace of its own,
// and ends with the test.
type freshDebian struct {
	t      *testing.T
	root   string
	holder *exec.Cmd // the parent of the first process of its namespace
	first  int
}

// newFreshDebian unpacks a Debian and starts its namespace.
func newFreshDebian(t *testing.T) *freshDebian {
	t.Helper()
	unpacked := exec.Command("../../scripts/debian-root")
	unpacked.Stderr = os.Stderr
	archive, err := unpacked.Output()
	must(t, err)
	d := &freshDebian{t: t, root: t.TempDir()}
	must(t, os.Chmod(d.root, 0o755)) // other users are to enter it
	combined(t, exec.Command("tar", "-x", "--numeric-owner", "-f", strings.TrimSpace(string(archive)), "-C", d.root))
	// As the first process of its namespace, the shell also reaps those whose parent has ended.
	const hold = `mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && echo ready && while :; do sleep 0.5; done`
	d.holder = exec.Command("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "sh", "-c", hold, d.root)
	out, err := d.holder.StdoutPipe()
	must(t, err)
	must(t, d.holder.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(d.first, syscall.SIGKILL) // and the kernel everything in the namespace
		_ = d.holder.Wait()
	})
	if said, err := io.ReadAll(io.LimitReader(out, int64(len("ready\n")))); err != nil || string(said) != "ready\n" {
		t.Fatalf("no namespace: %q, %v", said, err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", d.holder.Process.Pid))
	must(t, err)
	d.first, err = strconv.Atoi(strings.TrimSpace(string(children)))
	must(t, err)
	return d
}

// command is a command as root in it.
func (d *freshDebian) command(words ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(d.first), "--mount", "--pid", "chroot", d.root}, words...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root"}
	return cmd
}

// run runs a command as root in it.
func (d *freshDebian) run(words ...string) string {
	d.t.Helper()
	return combined(d.t, d.command(words...))
}

// install installs a package.
func (d *freshDebian) install(deb string) {
	d.t.Helper()
	combined(d.t, exec.Command("cp", deb, filepath.Join(d.root, "tmp/sayso.deb")))
	d.run("apt-get", "install", "--yes", "--no-install-recommends", "--allow-downgrades", "/tmp/sayso.deb")
}

// unit is a service of systemd, run as its file says.
type unit struct {
	cmd    *exec.Cmd
	said   *words
	exited chan struct{}
}

// start runs the ExecStart of a unit as its user, with its environment, capabilities and folders.
func (d *freshDebian) start(path string, more ...string) *unit {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.root, path))
	must(d.t, err)
	values := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			values[name] = append(values[name], value)
		}
	}
	one := func(name string) string { return strings.Join(values[name], " ") }
	user := one("User")
	for folder := range strings.FieldsSeq(one("StateDirectory")) {
		d.run("install", "-d", "-m", one("StateDirectoryMode"), "-o", user, "-g", user, "/var/lib/"+folder)
	}
	var capabilities []string
	for name := range strings.FieldsSeq(one("AmbientCapabilities")) {
		capabilities = append(capabilities, "+"+strings.ToLower(strings.TrimPrefix(name, "CAP_")))
	}
	list := strings.Join(capabilities, ",")
	args := []string{"setpriv", "--reuid", user, "--regid", user, "--init-groups", "--inh-caps", "-all," + list, "--ambient-caps", "-all," + list, "--bounding-set", "-all," + list, "env", "-i", "HOME=/var/lib/sayso"}
	args = append(append(args, values["Environment"]...), more...)
	s := &unit{cmd: d.command(append(args, strings.Fields(one("ExecStart"))...)...), said: &words{}, exited: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	must(d.t, s.cmd.Start())
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait()
	}()
	d.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
		if d.t.Failed() {
			d.t.Logf("the server said:\n%s", s.said)
		}
	})
	return s
}

// up waits until the server can be reached.
func (s *unit) up(t *testing.T) {
	t.Helper()
	eventually(t, "the server starts", func() bool {
		select {
		case <-s.exited:
			t.Fatalf("it ended:\n%s", s.said)
		default:
		}
		return running.MatchString(s.said.String())
	})
}

// stop ends the server as systemd does: nsenter and the rest were replaced by it.
func (d *freshDebian) stop(s *unit) {
	d.t.Helper()
	d.run("sh", "-c", `kill -TERM $(cat /var/lib/sayso/lock)`)
	select {
	case <-s.exited:
	case <-time.After(waitLimit):
		d.t.Fatalf("the server does not stop:\n%s", s.said)
	}
}

// TestFreshDebian does in a fresh Debian, with nothing but a release, what an admin does in years:
// install the package, start the service, sign in, work, back up, lose the disk, restore, upgrade with
// a session alive, go back, and purge.
func TestFreshDebian(t *testing.T) {
	forRelease(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, for other users and namespaces; make test-release as root runs it")
	}
	step := &steps{t, time.Now()}
	old := oneFile(t, releaseOf(t, nil, "IMAGE=no"), "*.deb")
	next := oneFile(t, releaseOf(t, func(clone string) {
		must(t, os.WriteFile(filepath.Join(clone, "cmd/sayso/VERSION"), []byte("99.0.0\n"), 0o600))
		for _, engine := range []string{"sqlite", "postgres"} {
			step := filepath.Join(clone, "migrations/9999_next."+engine+".sql")
			must(t, os.WriteFile(step, []byte("ALTER TABLE sessions ADD COLUMN next integer;\n"), 0o600))
			add := exec.Command("git", "add", step)
			add.Dir = clone
			combined(t, add)
		}
	}, "IMAGE=no"), "*.deb")
	step.done("build the release and the next one")
	d := newFreshDebian(t)
	before := d.run("sh", "-c", "cat /etc/passwd /etc/group")
	step.done("unpack Debian")

	d.install(old)
	step.done("install the package")
	d.run("sayso", "install-claude", "--into", "/usr/local/bin", "--from", claudeMirror(t))
	d.run("install", "-d", "-o", "sayso-claude", "-g", "sayso-claude", "/srv/projects")
	step.done("install Claude")

	const path = "/usr/lib/systemd/system/sayso-apart.service"
	address, err := blackbox.FreeAddress()
	must(t, err)
	listen := "SAYSO_LISTEN=" + address
	s := d.start(path, listen)
	s.up(t)
	step.done("start the service")
	if strings.Contains(s.said.String(), "level=ERROR") {
		t.Errorf("errors at the first start:\n%s", s.said)
	}

	chromium := exec.Command("npx", "playwright", "test", "--config", "fresh.config.ts")
	chromium.Dir = "../../e2e"
	chromium.Env = append(os.Environ(), "SAYSO_TEST_ALL=", "SAYSO_FRESH_LINK="+signInLink(t, s.said.String()))
	combined(t, chromium)
	step.done("sign in and answer the whole demo in Chromium")

	asSayso := func(words ...string) []string {
		return append([]string{"setpriv", "--reuid", "sayso", "--regid", "sayso", "--init-groups", "env", "HOME=/var/lib/sayso", "SAYSO_STATE_DIR=/var/lib/sayso", "sayso"}, words...)
	}
	token := d.command(asSayso("token", "--name", "test", "--role", "admin")...)
	secret, err := token.Output()
	must(t, err)
	c := blackbox.Client{URL: "http://" + address, Token: strings.TrimSpace(string(secret))}
	do := func(method, path string, in, out any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		must(t, c.Do(ctx, method, path, in, out))
	}
	finished := len(transcript(t, do))
	if finished < 10 {
		t.Errorf("the transcript of the demo has %d items", finished)
	}
	d.run(asSayso("backup", "/var/lib/sayso/backup")...)
	d.run("mv", "/var/lib/sayso/backup", "/root/backup")
	step.done("back up")

	d.stop(s)
	d.run("sayso", "kill-all", "--state-dir", "/var/lib/sayso")
	d.run("sh", "-c", "rm -rf /var/lib/sayso /var/lib/sayso-claude")
	d.run("install", "-d", "-m", "700", "-o", "sayso", "-g", "sayso", "/var/lib/sayso")
	d.run("install", "-m", "600", "-o", "sayso", "/root/backup", "/var/lib/sayso/backup")
	step.done("lose the disk")
	d.run(asSayso("restore", "/var/lib/sayso/backup")...)
	s = d.start(path, listen)
	s.up(t)
	var signedIn any
	do("POST", "/api/login", map[string]string{"username": "Ada", "password": "four words of mine"}, &signedIn)
	if now := len(transcript(t, do)); now != finished {
		t.Errorf("the transcript of the demo has %d items, before %d", now, finished)
	}
	step.done("restore, start and sign in")

	var made struct {
		SessionID string `json:"session_id"`
	}
	do("POST", "/api/sessions", map[string]any{"demo": true}, &made)
	request, pid := "", 0
	look := func(s *unit) bool {
		select {
		case <-s.exited:
			t.Fatalf("it ended:\n%s", s.said)
		default:
		}
		var list struct{ Processes []process }
		do("GET", "/api/processes", nil, &list)
		request, pid = "", 0
		for _, p := range list.Processes {
			if p.SessionID == made.SessionID {
				pid = p.PID
			}
		}
		var found struct {
			ProcessState process `json:"process_state"`
		}
		do("GET", "/api/sessions/"+made.SessionID, nil, &found)
		if open := found.ProcessState.Requests; len(open) > 0 && open[0].Status == "open" {
			request = open[0].RequestID
		}
		return request != "" && pid != 0
	}
	eventually(t, "a session asks", func() bool { return look(s) })
	asked, alive := request, pid
	same := func(s *unit, when string) {
		t.Helper()
		eventually(t, "the session asks "+when, func() bool { return look(s) })
		if request != asked || pid != alive {
			t.Errorf("%s: request %s of process %d, before %s of %d", when, request, pid, asked, alive)
		}
	}
	step.done("start a session that asks")

	d.run(asSayso("backup", "/var/lib/sayso/before-upgrade")...)
	d.install(next)
	d.stop(s)
	s = d.start(path, listen)
	s.up(t)
	if !strings.Contains(s.said.String(), "9999_next") {
		t.Errorf("the start does not name its migration:\n%s", s.said)
	}
	same(s, "after the upgrade")
	if said := d.run("sayso", "version"); !strings.HasPrefix(said, "sayso 99.0.0") {
		t.Errorf("version: %s", said)
	}
	step.done("back up and upgrade with the session alive")

	d.stop(s)
	d.install(old)
	refused := d.start(path, listen)
	eventually(t, "the older version refuses", func() bool {
		select {
		case <-refused.exited:
			return true
		default:
			return false
		}
	})
	if !strings.Contains(refused.said.String(), "newer") {
		t.Errorf("an older version on the newer database:\n%s", refused.said)
	}
	d.run(asSayso("restore", "--replace", "/var/lib/sayso/before-upgrade")...)
	s = d.start(path, listen)
	s.up(t)
	same(s, "after going back")
	step.done("go back with the session alive")
	d.run(asSayso("answer", asked, "deny", "--reason", "That is enough.")...)
	eventually(t, "the answer reaches Claude", func() bool { return !look(s) || request != asked })
	step.done("answer its request")

	// The server and the session run.
	d.run("apt-get", "purge", "--yes", "sayso")
	d.run("rm", "-rf", "/usr/local/bin/claude", "/root/backup", "/tmp/sayso.deb", "/srv/projects")
	if left := d.run("find", "/", "-xdev", "-path", "/proc", "-prune", "-o", "-path", "/dev", "-prune", "-o", "(", "-iname", "*sayso*", "-o", "-nouser", "-o", "-nogroup", ")", "-print"); left != "" {
		t.Errorf("left after the purge:\n%s", left)
	}
	if after := d.run("sh", "-c", "cat /etc/passwd /etc/group"); after != before {
		t.Errorf("users and groups after the purge:\n%s", after)
	}
	if left := d.run("sh", "-c", `for f in /proc/[0-9]*/exe; do readlink "$f"; done | grep -E 'sayso|claude' || true`); left != "" {
		t.Errorf("processes after the purge:\n%s", left)
	}
	step.done("purge without residue")
}

// transcript returns the items of the oldest session.
func transcript(t *testing.T, do func(method, path string, in, out any)) []json.RawMessage {
	t.Helper()
	var list struct {
		Sessions []struct {
			SessionID string `json:"session_id"`
		}
	}
	do("GET", "/api/sessions", nil, &list)
	if len(list.Sessions) == 0 {
		t.Fatal("there is no session")
	}
	var page struct{ Items []json.RawMessage }
	do("GET", "/api/sessions/"+list.Sessions[len(list.Sessions)-1].SessionID+"/transcript?limit=500", nil, &page)
	return page.Items
}
