package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// privateIn returns the folder for the files of CLIs that run as another user, who may not
// enter the state folder itself.
func privateIn(stateDir string) string {
	if real, err := filepath.EvalSymlinks(stateDir); err == nil {
		stateDir = real
	}
	return stateDir + "-claude"
}

// claudeUser returns the user that CLIs run as, nil for the server's own. It returns an error
// if Claude would not be isolated, because a server that is told to isolate Claude and cannot
// must not start. Unless prepare, it only looks, and leaves out what cannot be told so: whether
// the home folder takes files, and the folder that a server makes.
func claudeUser(s settings, exe string, prepare bool) (*claude.RunAs, error) {
	if s.ClaudeUser == "" {
		if s.ClaudeHome != "" {
			return nil, errors.New("--claude-home is the home folder of --claude-user; give that, too, or start sayso with another HOME")
		}
		return nil, nil
	}
	refuse := func(format string, args ...any) (*claude.RunAs, error) {
		return nil, fmt.Errorf("--claude-user "+s.ClaudeUser+": "+format, args...)
	}
	if runtime.GOOS != "linux" {
		return refuse("Claude can run as another user on Linux alone; leave it out here")
	}
	u, err := lookUpUser(s.ClaudeUser)
	if err != nil {
		return refuse("%w", err)
	}
	if s.ClaudeHome != "" {
		u.Home = s.ClaudeHome
	}
	switch {
	case u.UID == 0:
		return refuse("Claude must not run as root; make a user for it that owns nothing else")
	case u.UID == os.Geteuid():
		return refuse("that is the user that sayso itself runs as; name another, who owns nothing of the server")
	case u.GID == 0 || slices.Contains(u.Groups, 0):
		return refuse("Claude must not belong to the group of root")
	case !filepath.IsAbs(u.Home):
		return refuse("it has no home folder here; name one with --claude-home")
	}
	if missing := missingCapabilities(); len(missing) > 0 {
		return refuse("sayso may not act as another user. Run it as root, or give it %s (AmbientCapabilities in a systemd unit)", strings.Join(missing, ", "))
	}
	own := s.StateDir
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return nil, fmt.Errorf("the state folder: %w", err)
	}
	// What they could read or replace, or lack the rights for.
	secrets := []string{own, s.TLSKey, s.OIDC.SecretFile}
	if path, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
		path, _, _ = strings.Cut(strings.TrimPrefix(path, "//"), "?")
		secrets = append(secrets, path)
	}
	if s.OIDC.clientSecret != "" || strings.HasPrefix(s.Database, "postgres") {
		secrets = append(secrets, s.file) // it may contain the password
	}
	for _, path := range secrets {
		if path == "" {
			continue
		}
		if err := u.Do(func() error { return canOpen(path) }); err == nil {
			return refuse("it can read %s, which holds secrets of the server; let nobody but the user of sayso read it", path)
		} else if errors.Is(err, claude.ErrRunAs) {
			return refuse("sayso may not act as another user here: %w", err)
		}
	}
	program, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return nil, err
	}
	for _, path := range append(secrets, program, s.file) {
		if path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, err
		}
		if place, may := mayReplace(u, path); may {
			return refuse("it may write to %s, and so put something else in place of %s; put that elsewhere, or take the right away", place, path)
		}
	}
	home := func() error { return writable(u.Home) }
	if !prepare {
		home = func() error { _, err := os.Stat(u.Home + "/."); return err }
	}
	if err := u.Do(home); err != nil {
		return refuse("it needs a home folder to write to, for Claude's sign-in and transcripts, and %s is none (%w). Make that one, or name another with --claude-home", u.Home, err)
	}
	roots, err := workspace.NewRoots(s.WorkspaceRoots)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		if err := u.Do(func() error { _, err := os.Stat(root + "/."); return err }); err != nil {
			return refuse("it may not enter the workspace root %s (%w); let it, or leave that root out", root, err)
		}
	}
	if !prepare {
		return u, nil
	}
	private := privateIn(own)
	if err = os.MkdirAll(private, 0o711); err == nil {
		err = os.Chmod(private, 0o711) // regardless of the umask
	}
	if err != nil {
		return nil, fmt.Errorf("--claude-user: the folder of what Claude reads: %w", err)
	}
	if err := u.Do(func() error { _, err := os.Stat(private + "/."); return err }); err != nil {
		return refuse("it cannot get to %s, where it finds how to ask (%w); give the state a place that others may pass, such as --state-dir /var/lib/sayso", private, err)
	}
	if place, may := mayReplace(u, private); may {
		return refuse("it may write to %s, and so put something else in place of %s", place, private)
	}
	try := exec.Command(exe, "enter", "--as="+u.Format(), "/", exe, "version")
	if said, err := try.CombinedOutput(); err != nil {
		return refuse("it cannot run %s (%w): %s", exe, err, strings.TrimSpace(string(said)))
	}
	return u, nil
}

// lookUpUser finds a user by name, by number, or as uid:gid, which may be unknown on this
// machine.
func lookUpUser(name string) (*claude.RunAs, error) {
	if strings.Contains(name, ":") {
		u, err := claude.ParseRunAs(name)
		if err == nil {
			if known, e := osuser.LookupId(strconv.Itoa(u.UID)); e == nil {
				u.Name, u.Home = known.Username, known.HomeDir
			}
		}
		return u, err
	}
	known, err := osuser.Lookup(name)
	if err != nil {
		known, err = osuser.LookupId(name)
	}
	if err != nil {
		return nil, errors.New("there is no such user on this machine. Make one, as with: useradd --system --create-home NAME; or give numbers as uid:gid, with --claude-home")
	}
	ids, err := known.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("its groups cannot be read: %w", err)
	}
	u, err := claude.ParseRunAs(known.Uid + ":" + known.Gid + ":" + strings.Join(ids, ","))
	if err == nil {
		u.Name, u.Home = known.Username, known.HomeDir
	}
	return u, err
}

// missingCapabilities lists the capabilities that are missing to start or end a process of
// another user.
func missingCapabilities() (missing []string) {
	text, _ := os.ReadFile("/proc/self/status") // without it, the first attempt reports what is missing
	for line := range strings.Lines(string(text)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			has, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil {
				return nil
			}
			for _, c := range []struct {
				name string
				bit  int
			}{{"CAP_KILL", 5}, {"CAP_SETGID", 6}, {"CAP_SETUID", 7}} {
				if has>>c.bit&1 == 0 {
					missing = append(missing, c.name)
				}
			}
		}
	}
	return missing
}

// canOpen returns nil if a file or folder can be read.
func canOpen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".sayso-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// mayReplace reports whether a user may write to a file or folder, or replace it: by owning
// or writing to it, or to one of its parents.
func mayReplace(u *claude.RunAs, path string) (place string, may bool) {
	var below *syscall.Stat_t
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return at, true
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return at, true
		}
		mode := info.Mode()
		var may bool
		switch {
		case int(s.Uid) == u.UID:
			may = true
		case int(s.Gid) == u.GID || slices.Contains(u.Groups, int(s.Gid)):
			may = mode&0o020 != 0
		default:
			may = mode&0o002 != 0
		}
		// In a sticky folder, such as /tmp, users can delete only their own files.
		if may && int(s.Uid) != u.UID && mode&fs.ModeSticky != 0 && below != nil && int(below.Uid) != u.UID {
			may = false
		}
		if may {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
		below = s
	}
}
