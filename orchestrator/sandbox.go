package orchestrator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude"
)

// Sandbox is a bubblewrap around each CLI: what it runs sees neither the state of
// this server nor its processes, and writes only where sessions work.
type Sandbox struct {
	Bwrap string   // of bubblewrap, absolute
	Exe   string   // of sayso, absolute: `sayso enter FOLDER PROGRAM ARGUMENTS`
	State string   // the folder that is hidden, absolute and without symbolic links
	Hide  []string // files elsewhere that hold secrets of the server
	// Private is the folder with what each process has for itself when CLIs run as
	// another user, "" when they do not; see [Shims.Private].
	Private string
}

// served are places below /run that programs need to find others by name.
var served = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system", "/run/wrappers"}

// wrap returns the command inside the sandbox. writable are folders that it may
// change, shown those in the hidden ones that it needs all the same.
func (s *Sandbox) wrap(c claude.Command, cli *CLI, writable []string, shown []string, own []string) claude.Command {
	args := []string{
		"--die-with-parent", "--unshare-pid", "--unshare-ipc",
		// Of a server that runs as root nothing but the user id is left.
		"--cap-drop", "ALL",
	}
	outside := cli.RunAs != nil && os.Geteuid() != 0
	if cli.RunAs != nil && !outside {
		// The last step inside becomes the user, and has no capability either then.
		args = append(args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
	}
	args = append(args,
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		// Sockets of services that would do outside what cannot be done here.
		"--tmpfs", "/run",
	)
	for _, path := range served {
		args = append(args, "--ro-bind-try", path, path)
	}
	for _, path := range append([]string{"/tmp", "/var/tmp"}, writable...) {
		args = append(args, "--bind-try", path, path)
	}
	args = append(args, "--perms", "0700", "--tmpfs", s.State)
	if s.Private != "" {
		args = append(args, "--perms", "0711", "--tmpfs", s.Private)
	}
	for _, path := range shown {
		args = append(args, "--ro-bind", path, path)
	}
	for _, path := range own {
		args = append(args, "--bind", path, path)
	}
	for _, path := range s.Hide {
		args = append(args, "--ro-bind", "/dev/null", path)
	}
	// bubblewrap finds the folder by its name: enter looks whether it is still the one.
	args = append(args, "--", s.Exe, "enter")
	if cli.RunAs != nil && !outside {
		args = append(args, "--as="+cli.RunAs.Numbers())
	}
	args = append(args, c.Dir, c.Path)
	c.Path, c.Args = s.Bwrap, append(args, c.Args...)
	if outside { // bubblewrap makes a sandbox for root, or without any capability
		c = cli.as(c)
	}
	return c
}

// confine puts the command of a process into the sandbox, if there is one, and has
// it run as the user of CLIs.
func (p *process) confine(c claude.Command, id Incarnation, w wiring) claude.Command {
	s := p.o.o.Sandbox
	if s == nil {
		return p.o.o.CLI.as(c)
	}
	writable := slices.Clone(p.o.rules().Roots)
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"}, name) && filepath.IsAbs(value) {
			writable = append(writable, filepath.Clean(value))
		}
	}
	var shown, own []string
	for name := range w.files {
		shown = append(shown, filepath.Join(p.o.o.Launcher.Folder(id), name))
	}
	slices.Sort(shown)
	if s.Private != "" && len(shown) > 0 { // all of the folder, which only its user may enter
		shown = []string{p.o.o.Launcher.Folder(id)}
	}
	if p.session.Demo { // works and lives in the state folder
		own = append(own, filepath.Dir(p.o.o.Demo.Folder))
	}
	return s.wrap(c, p.o.o.CLI, writable, shown, own)
}
