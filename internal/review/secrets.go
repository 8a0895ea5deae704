package review

import (
	"path"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// whySensitive returns why writing a file needs a second look, or "".
func whySensitive(full string) string {
	p := strings.ToLower(full)
	base := path.Base(p)
	within := func(dir string) bool { return strings.Contains(p+"/", "/"+dir+"/") }
	switch {
	case within(".git/hooks") || strings.HasSuffix(p, ".git/config") || strings.Contains(p, ".git/info") || within(".husky"):
		return "Git runs programs named in this file."
	case within(".ssh"), within(".gnupg"):
		return "SSH keys, and who can sign in with them."
	case within(".aws"), within(".kube"), within(".docker"), base == ".netrc", base == ".npmrc", base == ".pypirc":
		return "Credentials for other services."
	case slices.Contains([]string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".cshrc", ".inputrc", ".vimrc", ".gitconfig", ".tmux.conf", ".screenrc", "config.fish", ".envrc", ".pythonrc", ".curlrc", ".wgetrc"}, base):
		return "Programs run or read this file when they start."
	case within(".claude") || base == ".mcp.json" || base == ".claude.json":
		return "Claude’s own settings, including what it may do without asking."
	case strings.HasPrefix(p, "/etc/"), p == "/etc", strings.HasPrefix(p, "/usr/"), strings.HasPrefix(p, "/bin/"), strings.HasPrefix(p, "/sbin/"), strings.HasPrefix(p, "/lib"), strings.HasPrefix(p, "/boot"), strings.HasPrefix(p, "/system/"), strings.HasPrefix(p, "/library/"), strings.HasPrefix(p, "/proc/"), strings.HasPrefix(p, "/sys/"), strings.HasPrefix(p, "/var/spool/cron"), strings.HasPrefix(p, "/opt/"), p == "/":
		return "A system file."
	case within("launchagents"), within("launchdaemons"), within(".config/systemd"), within(".config/autostart"), within("cron.d"):
		return "Files here run automatically."
	}
	return ""
}

// secretFolders hold keys, passwords and credentials, in files of any name.
var secretFolders = inSlashes(".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/rclone", ".config/op", ".config/sops", ".config/google-chrome", ".config/chromium", ".mozilla", ".password-store", ".local/share/keyrings", "library/keychains", ".terraform.d", ".cargo/credentials", ".gem/credentials", ".oci", ".bluemix", ".minikube", ".vault", ".secrets", "secrets", ".step", ".config/sayso")

func inSlashes(names ...string) []string {
	for i, n := range names {
		names[i] = "/" + n + "/"
	}
	return names
}

// secretFiles are names of files with secrets, in any folder.
var secretFiles = set(".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".htpasswd", ".dockercfg", ".dockerconfigjson", ".vault-token", ".claude.json", ".credentials.json", ".rclone.conf", "rclone.conf", "kubeconfig", "auth.json", "credentials", "credentials.toml", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.xml", "credentials.db", "client_secret.json", "htpasswd", "shadow", "gshadow", "sudoers", "wp-config.php", "terraform.rc", ".terraformrc", "login.keychain", "cookies", "cookies.sqlite", "logins.json", "key4.db", "wallet.dat", "master.key",
	".bash_history", ".zsh_history", ".sh_history", ".history", ".psql_history", ".mysql_history", ".sqlite_history", ".python_history", ".node_repl_history", ".rediscli_history", ".lesshst", ".viminfo", "local.settings.json", "appsettings.production.json", "database.yml", ".envrc", ".flaskenv", ".dev.vars")

// secretExtensions end the names of files with keys and passwords.
var secretExtensions = []string{".pem", ".key", ".p12", ".pfx", ".p8", ".jks", ".ppk", ".kdb", ".kdbx", ".keystore", ".keychain", ".keychain-db", ".gpg", ".pgp", ".age", ".ovpn", ".asc", ".crt.key", ".der", ".env", ".tfstate", ".tfstate.backup", ".tfvars", ".tfvars.json", ".secret", ".secrets", ".token", ".passwd", ".password", ".htpasswd", ".pkcs12", ".kwallet", ".agilekeychain", ".mobileprovision", ".rdp"}

var secretName = lazyregexp.New(`^\.env([._-].*)?$|^env\.(local|prod.*|dev.*|stag.*)$|^id_[a-z0-9_]+$|^(client_)?secrets?([._-].*)?\.[a-z]+$|^.*[._-]secrets?\.[a-z]+$|^service[-_]?account.*\.json$|^.*[-_]?(passwords?|credentials?)\.(txt|json|ya?ml|toml|ini|cfg|conf|csv|xml)$|^.*-key\.json$|^.*\.kubeconfig$`)

// isSecret reports whether a path looks like a file with secrets.
func isSecret(full string) bool {
	p := strings.ToLower(full)
	base := path.Base(p)
	switch {
	case strings.HasSuffix(base, "example"), strings.HasSuffix(base, "sample"), strings.HasSuffix(base, "template"), strings.HasSuffix(base, ".dist"):
		return !strings.HasPrefix(base, ".env") && !strings.HasPrefix(base, "env.") && isInSecretFolder(p)
	case strings.HasSuffix(base, ".pub"), base == "known_hosts":
		return false
	case secretFiles[base], secretName.MatchString(base), strings.HasSuffix(p, "/.git/config"), strings.HasSuffix(p, "/.m2/settings.xml"),
		strings.HasPrefix(p, "/proc/") && (base == "environ" || base == "mem" || base == "cmdline" || base == "maps"), strings.HasPrefix(p, "/etc/ssl/private"), strings.HasPrefix(p, "/etc/ssh/ssh_host"), strings.HasPrefix(p, "/run/secrets/"):
		return true
	}
	return slices.ContainsFunc(secretExtensions, func(end string) bool { return strings.HasSuffix(base, end) }) || isInSecretFolder(p)
}

// isInSecretFolder reports whether a path, in lower case, is in one of [secretFolders].
func isInSecretFolder(p string) bool {
	return slices.ContainsFunc(secretFolders, func(dir string) bool { return strings.Contains(p, dir) })
}
