package claude

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// RunAs is the user that CLIs run as, if that is not the user of this process. Nil stands for
// the user of this process.
type RunAs struct {
	Name     string // "" for a user without a name on this machine
	UID, GID int
	Groups   []int  // supplementary
	Home     string // absolute
}

// ErrRunAs: this process lacks the right to act as another user, or the system does not
// support it.
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

// DisplayName returns the name, or else the number, of the user.
func (u *RunAs) DisplayName() string {
	if u.Name != "" {
		return u.Name
	}
	return fmt.Sprintf("%d:%d", u.UID, u.GID)
}

// ParseRunAs parses the ids of a user; the groups are optional.
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

// Environ returns parent, the environment of this process, with the variables that name its
// user replaced.
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

// Do calls f on a thread that has the user's file rights and none of ours. So what f opens,
// creates or changes, it does as the user, and the user's links lead it nowhere that the user
// could not go. f must not start goroutines that need these rights, too. Do returns the error
// of f, or an [ErrRunAs].
func (u *RunAs) Do(f func() error) error {
	if u == nil {
		return f()
	}
	return onThread(u.takeFileRights, f)
}

// InGroup calls f on a thread that creates files in the group of the user, with our rights
// otherwise.
func (u *RunAs) InGroup(f func() error) error {
	if u == nil {
		return f()
	}
	return onThread(u.takeFileGroup, f)
}
