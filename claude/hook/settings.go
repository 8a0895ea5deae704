package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sayso-dev/sayso/claude/config"
)

// Timeouts of the hooks, in seconds. A person may take a day to answer; a notification is quick.
const (
	askTimeout    = 24 * 60 * 60
	noticeTimeout = 10
)

// names lists the installed hooks in the order in which they are written.
var (
	names    = []string{PermissionRequest, Notification}
	timeouts = map[string]int{PermissionRequest: askTimeout, Notification: noticeTimeout}
)

type matcher struct {
	Matcher *string           `json:"matcher,omitempty"`
	Hooks   []json.RawMessage `json:"hooks"`
}

type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// Install returns the text of a settings.json with hooks that run program with args for every
// dialog and every notification. It replaces hooks that it has installed earlier with the same
// args, and changes nothing else.
func Install(settings []byte, program string, args ...string) ([]byte, error) {
	settings, err := Uninstall(settings, args...)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		list, err := hooksOf(settings, name)
		if err != nil {
			return nil, err
		}
		ours, err := json.Marshal(command{"command", quote(program) + commandSuffix(args), timeouts[name]})
		if err != nil {
			return nil, err
		}
		entry, err := json.Marshal(matcher{Hooks: []json.RawMessage{ours}})
		if err != nil {
			return nil, err
		}
		if settings, err = setHooks(settings, name, append(list, entry)); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// Uninstall removes the hooks that Install added with the same args, for any program.
func Uninstall(settings []byte, args ...string) ([]byte, error) {
	for _, name := range names {
		list, err := hooksOf(settings, name)
		if err != nil {
			return nil, err
		}
		kept, changed := list[:0:0], false
		for _, raw := range list {
			left, found := withoutCommands(raw, commandSuffix(args))
			changed = changed || found
			if left != nil {
				kept = append(kept, left)
			}
		}
		if !changed {
			continue
		}
		if settings, err = setHooks(settings, name, kept); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// withoutCommands removes the commands that end with tail from one entry. It returns nil if
// nothing is left, and the entry unchanged if it cannot parse it.
func withoutCommands(raw json.RawMessage, tail string) (left json.RawMessage, found bool) {
	var entry struct {
		Hooks []json.RawMessage `json:"hooks"`
	}
	if json.Unmarshal(raw, &entry) != nil {
		return raw, false
	}
	kept := entry.Hooks[:0:0]
	for _, h := range entry.Hooks {
		var c command
		if json.Unmarshal(h, &c) == nil && c.Type == "command" && strings.HasSuffix(c.Command, tail) {
			found = true
			continue
		}
		kept = append(kept, h)
	}
	switch {
	case !found:
		return raw, false
	case len(kept) == 0:
		return nil, true
	}
	list, err := json.Marshal(kept)
	if err != nil {
		return raw, false
	}
	if left, err = config.Set(raw, list, "hooks"); err != nil {
		return raw, false
	}
	return left, true
}

func hooksOf(settings []byte, name string) ([]json.RawMessage, error) {
	raw, err := config.Get(settings, "hooks", name)
	if err != nil || raw == nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("its hooks for %s are not a list", name)
	}
	return list, nil
}

// setHooks writes the hooks of one name and removes empty objects.
func setHooks(settings []byte, name string, list []json.RawMessage) ([]byte, error) {
	if len(list) > 0 {
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		return config.Set(settings, raw, "hooks", name)
	}
	settings, err := config.Set(settings, nil, "hooks", name)
	if err != nil {
		return nil, err
	}
	rest, err := config.Get(settings, "hooks")
	if err != nil || strings.Join(strings.Fields(string(rest)), "") != "{}" {
		return settings, err
	}
	return config.Set(settings, nil, "hooks")
}

// commandSuffix returns the end of our command, by which Uninstall recognizes it.
func commandSuffix(args []string) string {
	var b strings.Builder
	for _, arg := range args {
		b.WriteString(" " + quote(arg))
	}
	return b.String()
}

// quote quotes a text as one word for sh, which runs the command.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
