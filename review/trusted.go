package review

import (
	"path"
	"slices"
	"strings"
)

// sensitive says why a file is worth a second look when it is written, "" when it
// is not.
func sensitive(full string) string {
	p := strings.ToLower(full)
	base := path.Base(p)
	within := func(dir string) bool { return strings.Contains(p+"/", "/"+dir+"/") }
	switch {
	case within(".git/hooks") || strings.HasSuffix(p, ".git/config") || strings.Contains(p, ".git/info") || within(".husky"):
		return "Git runs programs that this file names."
	case within(".ssh"), within(".gnupg"):
		return "Keys, and who may sign in with them."
	case within(".aws"), within(".kube"), within(".docker"), base == ".netrc", base == ".npmrc", base == ".pypirc":
		return "Keys to other services."
	case slices.Contains([]string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".inputrc", ".vimrc", ".gitconfig", ".tmux.conf", ".screenrc", "config.fish", ".envrc", ".pythonrc", ".curlrc", ".wgetrc"}, base):
		return "This file runs, or is read, whenever a program starts."
	case within(".claude") || base == ".mcp.json" || base == ".claude.json":
		return "Settings of Claude itself: what it may do without being asked."
	case strings.HasPrefix(p, "/etc/"), p == "/etc", strings.HasPrefix(p, "/usr/"), strings.HasPrefix(p, "/bin/"), strings.HasPrefix(p, "/sbin/"), strings.HasPrefix(p, "/lib"), strings.HasPrefix(p, "/boot"), strings.HasPrefix(p, "/system/"), strings.HasPrefix(p, "/library/"), strings.HasPrefix(p, "/proc/"), strings.HasPrefix(p, "/sys/"), strings.HasPrefix(p, "/var/spool/cron"), strings.HasPrefix(p, "/opt/"), p == "/":
		return "A file of the system."
	case within("launchagents"), within("launchdaemons"), within(".config/systemd"), within(".config/autostart"), within("cron.d"):
		return "What stands here runs by itself."
	}
	return ""
}

// secret reports whether a path looks like one that holds secrets.
func secret(full string) bool {
	p := strings.ToLower(full)
	base := path.Base(p)
	switch {
	case strings.Contains(p, "/.ssh/") && !strings.HasSuffix(p, ".pub") && base != "known_hosts" && base != "config",
		strings.Contains(p, "/.aws/"), strings.Contains(p, "/.gnupg/"), strings.Contains(p, "/.kube/config"), strings.Contains(p, "/.docker/config"),
		p == "/etc/shadow", p == "/etc/sudoers", strings.HasPrefix(p, "/proc/") && strings.HasSuffix(p, "/environ"),
		base == ".netrc", base == ".npmrc", base == ".pypirc", base == ".git-credentials", base == ".pgpass", base == "credentials.json", base == ".credentials.json", base == "id_rsa", base == "id_ed25519", base == "id_ecdsa", base == ".bash_history", base == ".zsh_history",
		strings.HasSuffix(base, ".pem"), strings.HasSuffix(base, ".key"), strings.HasSuffix(base, ".p12"), strings.HasSuffix(base, ".kdbx"), strings.HasSuffix(base, ".keystore"),
		base == ".env", strings.HasPrefix(base, ".env.") && !strings.HasSuffix(base, "example") && !strings.HasSuffix(base, "sample") && !strings.HasSuffix(base, "template"):
		return true
	}
	return false
}
