package claude

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RunAs is the user as whom CLIs run when that is not the user of this process. A
// nil *RunAs is the user of this process.
type RunAs struct {
	Name     string // "" for one that the machine has no name for
	UID, GID int
	Groups   []int  // supplementary
	Home     string // absolute
}

// ErrRunAs: this process may not act as another user, or not on this system.
var ErrRunAs = errors.New("claude: cannot act as another user")

// Numbers are the user in the form that [ParseRunAs] reads: uid:gid, and behind
// another colon the supplementary groups, separated by commas.
func (u *RunAs) Numbers() string {
	groups := make([]string, len(u.Groups))
	for i, g := range u.Groups {
		groups[i] = strconv.Itoa(g)
	}
	return fmt.Sprintf("%d:%d:%s", u.UID, u.GID, strings.Join(groups, ","))
}

// Called is how a person knows the user.
func (u *RunAs) Called() string {
	if u.Name != "" {
		return u.Name
	}
	return fmt.Sprintf("%d:%d", u.UID, u.GID)
}

// ParseRunAs reads the numbers of a user; the groups may be left out.
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

// Environ returns parent, the environment of this process, with what says whose it
// is replaced by what says so of the user.
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

// Do calls f, on a thread that has the user's rights to files and none of ours: what
// it opens, makes and changes it does as the user, whose links lead it nowhere that
// the user could not go. f must not start goroutines that need them, too. The error
// is that of f, or an [ErrRunAs].
func (u *RunAs) Do(f func() error) error {
	if u == nil {
		return f()
	}
	return onThread(u.takeFiles, f)
}

// InGroup calls f, on a thread that makes files in the group of the user; all else
// is as ever.
func (u *RunAs) InGroup(f func() error) error {
	if u == nil {
		return f()
	}
	return onThread(u.takeGroup, f)
}
