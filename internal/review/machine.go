package review

import (
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

var opensFile = lazyregexp.New(`(^|,)[ugoa]*[+=][rwxXt]*s|^[2467][0-7]{3}$|^0?[0-7]?77[67]$|o\+?=?[rx]*w|^a?[+]r?wx?$|^a\+rw`)

func (c *call) chmodMode() {
	for _, a := range c.args {
		if opensFile.MatchString(a.text) {
			c.markArg(a, Permissions, High, "Lets everyone change it, or run it with its owner’s permissions.")
		}
	}
}

func (c *call) chmod() {
	if c.has("R", "recursive") {
		c.markCommand(Permissions, High, "Changes the permissions of a folder and everything in it.")
	} else {
		c.mark(Permissions, Low, "Changes file permissions.")
	}
	c.chmodMode()
	c.owned()
}

func (c *call) chown() {
	level := Medium
	if c.has("R", "recursive") || c.has("b", "restore") {
		level = High
	}
	c.markCommand(Permissions, level, "Changes the owner or attributes of files.")
	c.owned()
}

// owned marks files outside the session's folder. The first argument is a mode or an owner.
func (c *call) owned() {
	for i, a := range c.operands() {
		switch {
		case i == 0:
		case !a.static:
			c.markArg(a, Computed, Medium, "The file name is computed at run time.")
		default:
			if full := c.w.resolve(a.text); full == "?" || !c.w.inFolder(full) {
				c.markArg(a, Permissions, High, "Outside the session folder.")
			}
		}
	}
}

func (c *call) dd() {
	for _, a := range c.args {
		if strings.HasPrefix(a.text, "of=") {
			c.markArg(a, Disk, High, "Overwrites a file or disk with raw data.")
			return
		}
		if !a.static {
			c.markArg(a, Disk, High, "Writes raw data to a target computed at run time.")
			return
		}
		if from, ok := strings.CutPrefix(a.text, "if=/dev/"); ok && !strings.HasPrefix(from, "zero") && !strings.HasPrefix(from, "urandom") && !strings.HasPrefix(from, "random") && !strings.HasPrefix(from, "null") {
			c.markArg(a, ReadSecret, High, "Reads raw data from a disk.")
		}
	}
	c.mark(Disk, Medium, "Copies raw data.")
}

func (c *call) kill() {
	if c.word("-0", "-l", "-L", "--list") {
		return
	}
	if c.name == "fuser" && !c.has("k", "kill") {
		return
	}
	level := Medium
	if c.word("-1", "1", "0") && c.name == "kill" && slices.ContainsFunc(c.args, func(a field) bool { return a.text == "-1" || a.text == "0" }) && len(c.args) > 1 || c.word("-u", "-U", "--euid") {
		level = High
	}
	c.markCommand(Kill, level, "Ends processes.")
}

func (c *call) service() {
	sub, _ := c.subcommand()
	switch sub {
	case "status", "list-units", "list-unit-files", "is-active", "is-enabled", "show", "cat":
	case "enable", "daemon-reload", "link", "edit", "set-property":
		persists(c)
	default:
		system(c)
	}
}

func (c *call) sysctl() {
	if c.has("wp", "write", "load", "system") || slices.ContainsFunc(c.args, func(a field) bool { return strings.Contains(a.text, "=") }) {
		system(c)
	}
}

func (c *call) defaults() {
	if sub, _ := c.subcommand(); sub != "read" && sub != "find" && sub != "domains" {
		system(c)
	}
}

func (c *call) system() {
	sub, _ := c.subcommand()
	switch sub {
	case "list", "search", "show", "info", "policy", "depends", "outdated", "config", "doctor", "-l", "deps", "why", "eval", "flake":
		if c.name != "nix" {
			return
		}
	case "remove", "purge", "autoremove", "uninstall", "erase", "cleanup":
		c.markCommand(System, High, "Uninstalls software.")
		return
	case "":
		if !c.has("SUiRrD") {
			return
		}
	}
	c.markCommand(Install, High, "Changes the software installed on this machine.")
}
