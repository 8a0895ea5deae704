package main_test

import (
	"debug/elf"
	"debug/macho"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// TestReleaseOfAllPlatforms builds a release for all four platforms. Each archive has the program of its
// platform; those of arm64 run under QEMU, and the .rpm is installed and removed by rpm.
func TestReleaseOfAllPlatforms(t *testing.T) {
	forRelease(t)
	t.Parallel()
	step := &steps{t, time.Now()}
	dir := releaseOf(t, nil, "PLATFORMS=linux/amd64 linux/arm64 darwin/amd64 darwin/arm64")
	step.done("build the release for four platforms")

	programs := map[string]string{}
	for _, platform := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"} {
		unpacked := t.TempDir()
		combined(t, exec.Command("tar", "-xzf", oneFile(t, dir, "sayso-v*-"+platform+".tar.gz"), "-C", unpacked, "--strip-components=1"))
		programs[platform] = filepath.Join(unpacked, "sayso")
		if got := platformOf(t, programs[platform]); got != platform {
			t.Errorf("the archive for %s has the program for %s", platform, got)
		}
		service := "systemd/system/sayso-apart.service"
		if strings.HasPrefix(platform, "darwin") {
			service = "launchd/dev.sayso.server.plist"
		}
		for _, name := range []string{"LICENSE", "README.md", "Makefile", "man/sayso.1", "completion/sayso.bash", service} {
			if _, err := os.Stat(filepath.Join(unpacked, name)); err != nil {
				t.Errorf("the archive for %s: %v", platform, err)
			}
		}
	}
	step.done("unpack the archives")

	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Fatal("qemu-aarch64-static is missing. Type: make setup SAYSO_TEST_RELEASE=1")
	}
	version := combined(t, exec.Command(programs["linux-"+runtime.GOARCH], "--version"))
	onARM64 := strings.Replace(version, "linux/"+runtime.GOARCH, "linux/arm64", 1)
	if got := combined(t, exec.Command(qemu, programs["linux-arm64"], "--version")); got != onARM64 {
		t.Errorf("on arm64 it is %q, on this machine %q", got, version)
	}
	servesUnder(t, qemu, programs["linux-arm64"])
	step.done("serve on arm64")
	root, _ := unpackImage(t, oneFile(t, dir, "sayso-v*-image.tar"), "arm64")
	for _, words := range [][]string{{"usr/bin/sayso", "--version"}, {"usr/bin/git", "--version"}, {"bin/bash", "-c", "echo $BASH_VERSION"}, {"usr/bin/bwrap", "--version"}} {
		combined(t, exec.Command(qemu, append([]string{"-L", root, filepath.Join(root, words[0])}, words[1:]...)...))
	}
	step.done("run the image for arm64")

	if os.Geteuid() != 0 {
		t.Log("the .rpm is not installed: that needs root")
		return
	}
	d := newFreshDebian(t) // its libraries and users; rpm has a database of its own
	before := d.run("sh", "-c", "cat /etc/passwd")
	rpm := func(words ...string) string {
		t.Helper()
		return combined(t, exec.Command("nsenter", append([]string{"--target", strconv.Itoa(d.first), "--mount", "--pid", "rpm", "--root", d.root}, words...)...))
	}
	combined(t, exec.Command("cp", oneFile(t, dir, "*."+rpmArchitecture()+".rpm"), filepath.Join(d.root, "tmp/sayso.rpm")))
	rpm("--install", "--nodeps", filepath.Join(d.root, "tmp/sayso.rpm")) // Debian's packages are not known to rpm
	if got := d.run("sayso", "--version"); got != version {
		t.Errorf("the .rpm installs %q, want %q", got, version)
	}
	rpm("--verify", "--nodeps", "sayso")
	for _, want := range []string{"/usr/lib/systemd/system/sayso-apart.service", "/usr/share/man/man1/sayso.1.gz", "/usr/share/bash-completion/completions/sayso"} {
		if files := rpm("--query", "--list", "sayso"); !strings.Contains(files, want+"\n") {
			t.Errorf("the .rpm has no %s:\n%s", want, files)
		}
	}
	d.run("id", "sayso")
	d.run("id", "sayso-claude")
	rpm("--erase", "sayso")
	if left := d.run("find", "/usr", "-name", "*sayso*"); left != "" {
		t.Errorf("left after rpm --erase:\n%s", left)
	}
	if after := d.run("sh", "-c", "cat /etc/passwd"); !strings.HasPrefix(after, before) {
		t.Errorf("other users were changed:\n%s", after)
	}
	step.done("install and remove the .rpm")
}

// rpmArchitecture returns what rpm calls the architecture of this machine.
func rpmArchitecture() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}

// platformOf returns the platform of a program, as archives are named.
func platformOf(t *testing.T, path string) string {
	t.Helper()
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		return "linux-" + map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine]
	}
	f, err := macho.Open(path)
	must(t, err)
	defer f.Close()
	return "darwin-" + map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu]
}

// servesUnder starts a server whose program another one runs, uses it, and stops it.
func servesUnder(t *testing.T, runs, program string) {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command(runs, program, "serve")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "SAYSO_STATE_DIR=" + filepath.Join(folder, "state"), "SAYSO_LISTEN=127.0.0.1:0",
		"SAYSO_BOOTSTRAP_TOKEN=" + blackbox.Token}
	said := &words{}
	cmd.Stdout, cmd.Stderr = said, said
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func(s syscall.Signal) error {
		_ = cmd.Process.Signal(s) // it may have ended
		err := <-ended
		ended <- err
		return err
	}
	defer func() { _ = stop(syscall.SIGKILL) }()
	eventually(t, "the server starts", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("it ended: %v\n%s", err, said)
		default:
		}
		return running.MatchString(said.String())
	})
	c := blackbox.Client{URL: running.FindStringSubmatch(said.String())[1], Token: blackbox.Token}
	var me struct{ User struct{ Role string } }
	must(t, c.Do(t.Context(), "GET", "/api/me", nil, &me))
	if me.User.Role != "admin" {
		t.Errorf("the token is of %+v", me)
	}
	if err := stop(syscall.SIGTERM); err != nil {
		t.Error(fmt.Errorf("%w:\n%s", err, said))
	}
}
