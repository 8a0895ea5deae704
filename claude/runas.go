package claude

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RunAs is the user that CLIs run as. Nil means the user of this process.
type RunAs struct {
	Name     string // "" for a user without a name on this machine
	UID, GID int
	Groups   []int  // supplementary
	Home     string // absolute
}

// ErrRunAs means that this process lacks the privileges to act as another user, or that the
// operating system does not support it.
var ErrRunAs = errors.New("claude: cannot act as another user")

// Format returns the user in the form that [ParseRunAs] reads: uid:gid and, after another
// colon, the supplementary groups, separated by commas.
func (u *RunAs) Format() string {
	groups := make([]string, len(u.Groups))
	for i, g := range u.Groups {
		groups[i] = strconv.Itoa(g)
	}
	return fmt.Sprintf("%d:%d:%s", u.UID, u.GID, strings.Join(groups, ","))
}

// DisplayName returns the name of the user, or uid:gid if it has none.
func (u *RunAs) DisplayName() string {
	if u.Name != "" {
		return u.Name
	}
	return fmt.Sprintf("%d:%d", u.UID, u.GID)
}

// ParseRunAs parses the form that [RunAs.Format] returns. The supplementary groups are optional.
func ParseRunAs(text string) (*RunAs, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, fmt.Errorf("%q is not uid:gid", text)
	}
	numbers := parts[:2]
	if len(parts) == 3 && parts[2] != "" {
		numbers = slices.Concat(numbers, strings.Split(parts[2], ","))
	}
	read := make([]int, len(numbers))
	for i, n := range numbers {
		v, err := strconv.ParseUint(n, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not uid:gid", text)
		}
		read[i] = int(v)
	}
	return &RunAs{UID: read[0], GID: read[1], Groups: read[2:]}, nil
}

// Environ returns parent, the environment of this process, for the user: it replaces the variables
// that name this process's user and removes those that refer to that user's folders.
func (u *RunAs) Environ(parent []string) []string {
	if u == nil {
		return parent
	}
	own := slices.DeleteFunc(slices.Clone(parent), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "TMPDIR"}, name) || strings.HasPrefix(name, "XDG_")
	})
	own = append(own, "HOME="+u.Home)
	if u.Name != "" {
		own = append(own, "USER="+u.Name, "LOGNAME="+u.Name)
	}
	return own
}

// Do calls f on a thread with the user's file permissions and without those of this process. f opens,
// creates and changes files as the user, so a symbolic link of the user leads it only where the user
// could go too. f must not start goroutines that need these permissions. Do returns the error of f, or
// [ErrRunAs].
func (u *RunAs) Do(f func() error) error {
	if u == nil {
		return f()
	}
	return onThread(u.takeFileRights, f)
}

// InGroup calls f on a thread that creates files in the user's group, but otherwise has the permissions
// of this process. It returns the error of f, or [ErrRunAs].
func (u *RunAs) InGroup(f func() error) error {
	if u == nil {
		return f()
	}
	return onThread(u.takeFileGroup, f)
}
