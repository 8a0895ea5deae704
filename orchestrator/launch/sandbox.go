package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude"
)

// Sandbox wraps each CLI in bubblewrap: whatever it runs sees neither the state of this
// server nor its processes, and writes only where sessions work.
type Sandbox struct {
	Bwrap string // of bubblewrap, absolute
	Exe   string // of sayso, absolute: `sayso enter FOLDER PROGRAM ARGUMENTS`
	State string // the folder that is hidden, absolute and without symbolic links
	// Hide are files that hold secrets of sayso. Links are followed at each start, because a secret
	// that is replaced may get another place.
	Hide []string
	// Private is that of [Shims].
	Private string
}

// resolverPaths are the paths below /run that programs need to resolve names.
var resolverPaths = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system", "/run/wrappers"}

// wrap returns the command inside the sandbox. It may write to writable and, inside
// hidden folders, read shown and write to own.
func (s *Sandbox) wrap(c claude.Command, cli *CLI, writable []string, shown []string, own []string) claude.Command {
	args := []string{
		"--die-with-parent", "--unshare-pid", "--unshare-ipc",
		// Of a server that runs as root only the user id is left.
		"--cap-drop", "ALL",
	}
	outside := cli.RunAs != nil && os.Geteuid() != 0
	if cli.RunAs != nil && !outside {
		// The last step inside becomes the user and loses these capabilities too.
		args = append(args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
	}
	args = append(args,
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		// Hides sockets of services that act outside of the sandbox.
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
	// The home folder and /tmp may contain the programs, and the server starts both again.
	for _, path := range []string{c.Path, s.Exe} {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		args = append(args, "--ro-bind-try", path, path)
	}
	// bubblewrap opens the folder by its name: enter checks that it is still the same.
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

// confine wraps the command of a process in the sandbox, if there is one, and makes it
// run as the user of CLIs.
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
	if s.Sandbox.Private != "" && len(shown) > 0 { // the whole folder, which only its user may enter
		shown = []string{folder}
	}
	if p.Demo {
		own = []string{filepath.Dir(s.Demo.Folder)} // inside the state folder
	}
	return s.Sandbox.wrap(c, s.CLI, writable, shown, own)
}
