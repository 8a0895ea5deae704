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

// claudeUser returns the user that CLIs run as, nil for the server's own user. It fails if Claude
// would not be isolated: a server that is configured to isolate Claude and cannot must not start.
// With prepare, it creates the folder of the files that Claude reads. Without prepare, it changes
// nothing, so it checks neither that folder nor whether the home folder is writable.
func claudeUser(s settings, exe string, prepare bool) (*claude.RunAs, error) {
	if s.ClaudeUser == "" {
		if s.ClaudeHome != "" {
			return nil, errors.New("--claude-home is the home folder of --claude-user. Set both, or start sayso with another HOME")
		}
		return nil, nil
	}
	u, err := otherUser(s)
	if err == nil {
		err = checkSecrets(u, s, exe)
	}
	if err == nil {
		err = checkWork(u, s, prepare)
	}
	if err == nil && prepare {
		err = createPrivate(u, s)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("--claude-user %s: %w", s.ClaudeUser, err)
	case !prepare:
		return u, nil
	}
	try := exec.Command(exe, "enter", "--as="+u.Format(), "/", exe, "version")
	if said, err := try.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("--claude-user %s: it cannot run %s (%w): %s", s.ClaudeUser, exe, err, strings.TrimSpace(string(said)))
	}
	return u, nil
}

// otherUser returns the configured user, if sayso can run programs as that user.
func otherUser(s settings) (*claude.RunAs, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("another user is possible only on Linux. Remove this setting")
	}
	u, err := lookUpUser(s.ClaudeUser)
	if err != nil {
		return nil, err
	}
	if s.ClaudeHome != "" {
		u.Home = s.ClaudeHome
	}
	switch {
	case u.UID == 0:
		return nil, errors.New("the CLI must not run as root. Create a user that owns nothing else")
	case u.UID == os.Geteuid():
		return nil, errors.New("sayso itself runs as this user. Name another one, which owns none of the server's files")
	case u.GID == 0 || slices.Contains(u.Groups, 0):
		return nil, errors.New("the CLI must not be in the group of root")
	case !filepath.IsAbs(u.Home):
		return nil, errors.New("it has no home folder on this machine. Set one with --claude-home")
	}
	if missing := missingCapabilities(); len(missing) > 0 {
		return nil, fmt.Errorf("sayso cannot run programs as another user. Run it as root, or grant it %s (AmbientCapabilities in a systemd unit)", strings.Join(missing, ", "))
	}
	return u, nil
}

// checkSecrets checks that the user can neither read the server's secrets, nor replace them,
// the settings or the program.
func checkSecrets(u *claude.RunAs, s settings, exe string) error {
	state, err := filepath.EvalSymlinks(s.StateDir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	secrets := append([]string{state}, secretFiles(s)...)
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
			return fmt.Errorf("it can read %s, which contains secrets of the server. Let only the user of sayso read it", path)
		} else if errors.Is(err, claude.ErrRunAs) {
			return fmt.Errorf("sayso cannot run programs as another user here: %w", err)
		}
	}
	program, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return err
	}
	for _, path := range append(secrets, program, s.file) {
		if path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return err
		}
		if place, may := mayReplace(u, path); may {
			return fmt.Errorf("it can write to %s and so replace %s. Move the latter, or remove that permission", place, path)
		}
	}
	return nil
}

// checkWork checks that the user can work: enter all workspace roots and the home folder, and,
// with write, write to the latter.
func checkWork(u *claude.RunAs, s settings, write bool) error {
	home := func() error { _, err := os.Stat(u.Home + "/."); return err }
	if write {
		home = func() error { return writable(u.Home) }
	}
	if err := u.Do(home); err != nil {
		return fmt.Errorf("it needs a writable home folder for Claude's sign-in and transcripts, unlike %s (%w). Create that folder, or set another one with --claude-home", u.Home, err)
	}
	roots, err := workspace.NewRoots(s.WorkspaceRoots)
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := u.Do(func() error { _, err := os.Stat(root + "/."); return err }); err != nil {
			return fmt.Errorf("it cannot enter the workspace root %s (%w). Allow that, or remove the root from the settings", root, err)
		}
	}
	return nil
}

// createPrivate creates the folder of the files that CLIs of the user read, and checks that
// the user can reach it but not replace it.
func createPrivate(u *claude.RunAs, s settings) error {
	private := privateIn(s.StateDir)
	err := os.MkdirAll(private, 0o711)
	if err == nil {
		err = os.Chmod(private, 0o711) // regardless of the umask
	}
	if err != nil {
		return fmt.Errorf("folder of Claude's files: %w", err)
	}
	if err := u.Do(func() error { _, err := os.Stat(private + "/."); return err }); err != nil {
		return fmt.Errorf("it cannot reach %s, which contains files that Claude needs (%w). Choose a state folder below folders that all users can enter, such as --state-dir /var/lib/sayso", private, err)
	}
	if place, may := mayReplace(u, private); may {
		return fmt.Errorf("it can write to %s and so replace %s", place, private)
	}
	return nil
}

// lookUpUser finds a user by name, by uid, or as uid:gid. The latter need not exist on this
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
		return nil, errors.New("there is no such user on this machine. Create one, for example with: useradd --system --create-home NAME. Or give numbers as uid:gid, and set --claude-home")
	}
	ids, err := known.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("cannot read its groups: %w", err)
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

// mayReplace reports whether a user may write to a file or folder, or replace it, because the user
// owns or may write to it or one of its parents. place is the path that allows this.
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
