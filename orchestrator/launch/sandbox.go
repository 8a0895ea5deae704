package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude"
)

// Sandbox wraps each CLI in bubblewrap: whatever the CLI runs sees neither the state nor the
// processes of this server, and writes only where sessions work.
type Sandbox struct {
	Bwrap string // path of bubblewrap, absolute
	Exe   string // path of sayso, absolute; the sandbox runs `sayso enter FOLDER PROGRAM ARGUMENTS`
	State string // the hidden state folder, absolute and without symbolic links
	// Hide lists files that contain secrets of sayso. Links are followed at each start, because
	// replacing a secret may move its file.
	Hide []string
	// Private is the same as in [Shims].
	Private string
}

// resolverPaths lists the paths below /run that programs need to resolve host names and, on NixOS,
// to find programs.
var resolverPaths = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system", "/run/wrappers"}

// wrap returns a command that runs c inside the sandbox. There, c may write to the folders writable;
// inside the hidden folders, it may read shown and write to own.
func (s *Sandbox) wrap(c claude.Command, cli *CLI, writable []string, shown []string, own []string) claude.Command {
	args := []string{
		"--die-with-parent", "--unshare-pid", "--unshare-ipc",
		// If the server runs as root, the CLI keeps its user id, but no capabilities.
		"--cap-drop", "ALL",
	}
	outside := cli.RunAs != nil && os.Geteuid() != 0
	if cli.RunAs != nil && !outside {
		// `sayso enter` inside becomes the user, and loses these capabilities too.
		args = append(args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
	}
	args = append(args,
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		// This hides the sockets of services that act outside the sandbox.
		"--tmpfs", "/run",
	)
	for _, path := range resolverPaths {
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
		if real, err := filepath.EvalSymlinks(path); err == nil && !strings.HasPrefix(real, s.State+"/") {
			args = append(args, "--ro-bind", "/dev/null", real)
		}
	}
	// The CLI and sayso may be in the home folder or in /tmp, which are writable. They must not be
	// changed, because the server will run them again, outside the sandbox.
	for _, path := range []string{c.Path, s.Exe} {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		args = append(args, "--ro-bind-try", path, path)
	}
	// bubblewrap opens the folder by name; enter checks that it is still the same folder.
	args = append(args, "--", s.Exe, "enter")
	if cli.RunAs != nil && !outside {
		args = append(args, "--as="+cli.RunAs.Format())
	}
	args = append(args, c.Dir, c.Path)
	c.Path, c.Args = s.Bwrap, append(args, c.Args...)
	if outside { // bubblewrap needs root, or no capability at all
		c = cli.asUser(c)
	}
	return c
}

// confine wraps the command of a process in the sandbox, if there is one, and makes it run as the
// user who runs CLIs.
func (s *Starter) confine(c claude.Command, p Process, agent agentFiles) claude.Command {
	if s.Sandbox == nil {
		return s.CLI.asUser(c)
	}
	writable := slices.Clone([]string(s.Roots()))
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"}, name) && filepath.IsAbs(value) {
			writable = append(writable, filepath.Clean(value))
		}
	}
	folder := s.Folder(p.ID)
	var shown, own []string
	for name := range agent.files {
		shown = append(shown, filepath.Join(folder, name))
	}
	slices.Sort(shown)
	if s.Sandbox.Private != "" && len(shown) > 0 { // show the whole folder, which only that user may enter
		shown = []string{folder}
	}
	if p.Demo {
		own = []string{filepath.Dir(s.Demo.Folder)} // inside the state folder
	}
	return s.Sandbox.wrap(c, s.CLI, writable, shown, own)
}
