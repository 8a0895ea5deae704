package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	osuser "os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/descriptors"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/migrations"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
	"github.com/sayso-dev/sayso/store"
)

// existing returns path, or the closest folder above it that exists.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// variables checks that every environment variable that looks like a setting is one.
func (e *examination) variables() {
	const check = "settings"
	switch names := unknownVariables(os.Environ()); {
	case len(names) > 0:
		e.add(check, warning, "variable_unknown", "Unknown settings in the environment, which have no effect: "+strings.Join(names, ", ")+".",
			"unset "+strings.Join(names, " "), "sayso serve --help")
	case e.settings.file != "":
		e.ok(check, e.settings.file)
	default:
		e.ok(check, "no settings file")
	}
}

// stateFolder checks that the state folder can be used or created.
func (e *examination) stateFolder() {
	const check, write = "state folder", 2 // W_OK
	dir := e.settings.StateDir
	at := existing(dir)
	info, err := os.Stat(at)
	switch {
	case err != nil:
		e.add(check, failed, "state_folder_unreadable", problemOf(err), "sudo ls -ld "+shellWord(at))
	case !info.IsDir():
		e.add(check, failed, "state_folder_not_a_folder", at+" is not a folder. Name another with --state-dir.", "sayso serve --state-dir FOLDER")
	case syscall.Access(at, write) != nil:
		fix, message := accessFix(dir, at, ownerOf(info), uint32(os.Geteuid())), "This user cannot write to "+at+"."
		if strings.HasPrefix(fix, "sudo -u") {
			e.foreign, message = fix, at+" belongs to another user. Run sayso as that user, or name another folder with --state-dir."
		}
		e.add(check, failed, "state_folder_not_writable", message, fix)
	case at != dir:
		e.ok(check, dir+" (created by sayso serve)")
	default:
		e.ok(check, dir)
	}
}

// ownerOf returns the user id of a file's owner.
func ownerOf(info fs.FileInfo) uint32 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Uid
	}
	return 0
}

// accessFix returns the command to run if the user me cannot write to the state folder dir, or
// to at, the closest folder above it that exists. It never changes the owner of an existing
// folder: that would break the owner's server.
func accessFix(dir, at string, owner, me uint32) string {
	switch {
	case at != dir:
		return `sudo install -d -m 700 -o "$(id -un)" ` + shellWord(dir)
	case owner == me:
		return "chmod u+rwx " + shellWord(dir)
	}
	name := fmt.Sprintf("#%d", owner)
	if found, err := osuser.LookupId(fmt.Sprint(owner)); err == nil {
		name = found.Username
	}
	return "sudo -u " + shellWord(name) + " sayso doctor --state-dir " + shellWord(dir)
}

// readable returns the command to run if this user cannot read a file of the server.
func (e *examination) readable(path string) string {
	if e.foreign != "" {
		return e.foreign
	}
	return `sudo chown "$(id -un)" ` + shellWord(path)
}

// runningServer finds out whether a server uses the state folder, whose lock it then holds.
func (e *examination) runningServer() {
	lock, err := os.Open(filepath.Join(e.settings.StateDir, "lock"))
	if err == nil {
		defer lock.Close()
		// The shared lock is held only for a moment. A server that is starting waits longer.
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
			e.server, _ = holderOf(lock)
			if e.server == "" {
				e.server = "unknown"
			}
			e.ok("server", "running, process "+e.server)
			return
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		e.ok("server", "unknown; this user cannot read the state folder")
		return
	}
	e.ok("server", "not running on this state folder")
}

// address checks that serve can listen. If the server is running, it reports the server's address.
func (e *examination) address() {
	const check = "address"
	for _, one := range []struct{ flag, listen string }{{"--listen", e.settings.Listen}, {"--acme-http", e.settings.ACME.HTTP}} {
		listen := one.listen
		if listen == "" {
			continue
		}
		if e.server != "" {
			e.ok(check, strings.TrimSpace(readAddresses(e.settings).local))
			return
		}
		host, port, _ := net.SplitHostPort(listen) // readSettings has checked it
		l, err := net.Listen("tcp", listen)
		switch {
		case err == nil:
			l.Close()
			e.ok(check, listen+" is free")
		case errors.Is(err, syscall.EADDRINUSE):
			e.add(check, failed, "port_taken", listen+" is in use by another program, maybe another sayso. Stop that, or choose another port with "+one.flag+".",
				"ss -ltnp 'sport = :"+port+"'", "sayso serve "+one.flag+" "+net.JoinHostPort(host, otherPort(port)))
		case errors.Is(err, syscall.EACCES):
			e.add(check, failed, "port_forbidden", listen+" is a port that only root may open. Choose one from 1024 on, or allow this one.",
				"sayso serve "+one.flag+" "+net.JoinHostPort(host, "8787"), "sudo setcap cap_net_bind_service=+ep "+shellWord(e.exe))
		default:
			e.add(check, failed, "address_unusable", "Cannot listen on "+listen+": "+problemOf(err)+". Correct "+one.flag+".", "sayso serve "+one.flag+" 127.0.0.1:8787")
		}
	}
}

// otherPort suggests a port to use instead of one that is taken.
func otherPort(port string) string {
	if n, err := strconv.Atoi(port); err == nil && n > 1023 && n < 65535 {
		return strconv.Itoa(n + 1)
	}
	return "8788"
}

// renewBefore is how long before a certificate expires doctor begins to warn.
const renewBefore = 14 * 24 * time.Hour

// certificate checks the files of --tls-cert and --tls-key.
func (e *examination) certificate() {
	const check = "certificate"
	s := e.settings
	switch {
	case s.ACME.used():
		e.ok(check, "by ACME for "+strings.Join(s.ACME.Domains, ", "))
		return
	case s.TLSCert == "":
		return
	}
	create := "mkcert -cert-file " + shellWord(s.TLSCert) + " -key-file " + shellWord(s.TLSKey) + " HOST"
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		code := "certificate_unreadable"
		if strings.Contains(err.Error(), "private key does not match") {
			code = "certificate_key_mismatch"
		}
		e.add(check, failed, code, "Certificate "+s.TLSCert+" and key "+s.TLSKey+": "+problemOf(err)+".", "openssl x509 -noout -pubkey -in "+shellWord(s.TLSCert), create)
		return
	}
	leaf, now := pair.Leaf, time.Now()
	fix := []string{create}
	if e.server != "" {
		fix = append(fix, "kill -HUP "+e.server)
	}
	switch {
	case now.After(leaf.NotAfter):
		e.add(check, failed, "certificate_expired", "The certificate expired on "+leaf.NotAfter.Format(time.DateOnly)+". Browsers refuse it.", fix...)
	case now.Before(leaf.NotBefore):
		e.add(check, failed, "certificate_not_yet_valid", "The certificate is valid from "+leaf.NotBefore.Format(time.DateTime)+" on. Check the clock of this machine.", "timedatectl")
	case now.Add(renewBefore).After(leaf.NotAfter):
		e.add(check, warning, "certificate_expires_soon", "The certificate expires on "+leaf.NotAfter.Format(time.DateOnly)+".", fix...)
	case wrongHost(leaf, s) != "":
		e.add(check, warning, "certificate_other_host", "The certificate is not for "+wrongHost(leaf, s)+".", fix...)
	default:
		e.ok(check, "valid until "+leaf.NotAfter.Format(time.DateOnly))
	}
}

// wrongHost returns a host name by which browsers reach the server but which the certificate does
// not cover, "" if there is none.
func wrongHost(leaf *x509.Certificate, s settings) string {
	hosts := slices.Clone(s.AllowedHosts)
	if u, err := url.Parse(s.PublicURL); err == nil && u.Hostname() != "" && len(s.TrustedProxies) == 0 {
		hosts = append(hosts, u.Hostname())
	}
	for _, host := range hosts {
		if leaf.VerifyHostname(host) != nil {
			return host
		}
	}
	return ""
}

// database checks that the server can use its database, and counts the running sessions that it does
// not know. There are some if the database was restored or lost; serve recovers them.
func (e *examination) database(ctx context.Context) {
	const check, restore = "database", "sayso restore --replace FILE"
	address := e.settings.Database
	isFile := !strings.HasPrefix(address, "postgres")
	opened, err := store.OpenReadOnly(ctx, address)
	if err == nil {
		defer opened.Close()
		err = opened.Verify(ctx)
	}
	switch {
	case err == nil:
		e.ok(check, "up to date")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, migrations.ErrEmpty):
		e.ok(check, "not created yet; sayso serve creates it")
	case errors.Is(err, migrations.ErrOlder):
		e.add(check, passed, "database_older", "older version; sayso serve migrates it")
	case errors.Is(err, migrations.ErrNewer):
		e.add(check, failed, "database_newer", problemOf(err), restore)
	case errors.Is(err, migrations.ErrIncomplete):
		e.add(check, failed, "database_incomplete", problemOf(err), restore)
		return
	case errors.Is(err, store.ErrCorrupt):
		e.add(check, failed, "database_damaged", problemOf(err), restore)
		return
	case errors.Is(err, store.ErrDSN):
		e.add(check, failed, "database_address_invalid", problemOf(err), "sayso serve --database sqlite:"+shellWord(filepath.Join(e.settings.StateDir, "sayso.db")))
		return
	case isFile:
		e.add(check, failed, "database_unreadable", problemOf(err), e.readable(strings.TrimPrefix(address, "sqlite:")))
		return
	default:
		e.add(check, failed, "database_unreachable", problemOf(err), pgIsReady(address))
		return
	}
	if errors.Is(err, migrations.ErrNewer) {
		return
	}
	if !e.settings.LocalRunner {
		e.machines(ctx, opened, errors.Is(err, migrations.ErrOlder))
	}
	text, err := runningSessions(ctx, opened, errors.Is(err, migrations.ErrOlder), shimsIn(e.settings.StateDir))
	if err != nil {
		e.add("running sessions", failed, "sessions_unreadable", problemOf(err))
		return
	}
	e.ok("running sessions", text)
}

// machines checks that a server without a local runner has a machine on which sessions can start.
// known is nil if there is no database yet.
func (e *examination) machines(ctx context.Context, known store.Store, older bool) {
	const check = "machines"
	if older {
		e.ok(check, "unknown until sayso serve migrates the database")
		return
	}
	var all []session.Runner
	if known != nil {
		var err error
		if all, err = known.Runners(ctx); err != nil {
			e.add(check, failed, "machines_unreadable", problemOf(err))
			return
		}
	}
	all = slices.DeleteFunc(all, func(r session.Runner) bool { return !isRemote(r) })
	if len(all) == 0 {
		e.add(check, warning, "machine_missing", "No machine was added, so no session can start.", "sayso token --runner NAME")
		return
	}
	e.ok(check, count(len(all), "machine", "machines")+"; sessions start only there")
}

// pgIsReady returns the command that asks the PostgreSQL server at an address whether it accepts
// connections.
func pgIsReady(address string) string {
	command := "pg_isready"
	if u, err := url.Parse(address); err == nil {
		if host := u.Hostname(); host != "" {
			command += " -h " + shellWord(host)
		}
		if port := u.Port(); port != "" {
			command += " -p " + shellWord(port)
		}
	}
	return command
}

// runningSessions counts the running CLIs, and those that the database does not know. known is nil
// if there is no database yet or it has an older version.
func runningSessions(ctx context.Context, known store.Store, older bool, shims string) (text string, err error) {
	bundles, err := shim.List(shims)
	if err != nil {
		return "", err
	}
	bundles = slices.DeleteFunc(bundles, func(b shim.Bundle) bool { return b.State != shim.Alive })
	unknown := len(bundles)
	if older {
		unknown = 0 // unreadable before it is migrated
	} else if known != nil {
		for _, b := range bundles {
			state, err := known.ProcessState(ctx, b.Meta.SessionID)
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				return "", err
			}
			if state.ProcessID == b.Meta.ProcessID && state.Running() {
				unknown--
			}
		}
	}
	text = fmt.Sprint(len(bundles))
	if unknown > 0 {
		text += fmt.Sprintf(", of which the database does not know %d; sayso serve recovers them", unknown)
	}
	return text, nil
}

// Free space, in bytes. Below minDisk the server refuses answers. Below lowDisk doctor warns:
// that lasts for some weeks.
const (
	minDisk = 256 << 10
	lowDisk = 1 << 30
)

// freeDisk returns how many bytes are free for users on the disk of a folder.
func freeDisk(folder string) (free uint64, disk syscall.Statfs_t, err error) {
	if err = syscall.Statfs(folder, &disk); err == nil && disk.Blocks == 0 {
		err = errors.New("the file system does not report its free space")
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), disk, err
}

// disk checks the free space of the state folder.
func (e *examination) disk() {
	const check = "disk"
	at := existing(e.settings.StateDir)
	free, disk, err := freeDisk(at)
	if err != nil {
		e.ok(check, "free space is unknown")
		return
	}
	const readOnly = 1 // ST_RDONLY
	clear := []string{"du -xh " + shellWord(at) + " | sort -h | tail"}
	switch {
	case runtime.GOOS == "linux" && disk.Flags&readOnly != 0:
		e.add(check, failed, "disk_read_only", "The disk of "+at+" is mounted read-only, so no answer can be stored.", "sudo mount -o remount,rw \"$(df --output=target "+shellWord(at)+" | tail -1)\"")
	case free < minDisk:
		e.add(check, failed, "disk_full", "The disk of "+at+" is full, so no answer can be stored. Free some space.", clear...)
	case free < lowDisk:
		e.add(check, warning, "disk_low", "Only "+megabytes(free)+" free on the disk of "+at+".", clear...)
	default:
		e.ok(check, megabytes(free)+" free")
	}
}

// minDescriptors suffice for the server itself, a few sessions and their tabs.
const minDescriptors = 256

// fileDescriptors checks the limit of a server started from here.
func (e *examination) fileDescriptors() {
	const check = "file descriptors"
	use, ok := descriptors.Current()
	switch {
	case !ok:
		e.ok(check, "no limit known")
	case use.Limit < minDescriptors:
		e.add(check, failed, "descriptors_few", fmt.Sprintf("The limit of %d is too low for a few sessions and tabs. Raise it here, or with LimitNOFILE in systemd.", use.Limit), "ulimit -n 4096")
	default:
		e.ok(check, fmt.Sprintf("up to %d", use.Limit))
	}
}

// clock checks that the clock is not before the last start of a server: sign-ins would then be in
// the future, and certificates not yet valid.
func (e *examination) clock() {
	const check, tolerance = "clock", time.Minute
	last, err := readEpoch(filepath.Join(e.settings.StateDir, "epoch"))
	now := time.Now()
	switch started := time.UnixMicro(int64(last)); {
	case err == nil && last > 0 && started.After(now.Add(tolerance)):
		e.add(check, failed, "clock_behind", "It is "+now.UTC().Format(time.RFC3339)+" on this machine, which is before the last start of the server, "+startedAt(last)+". Set the clock.", "sudo timedatectl set-ntp true")
	case now.Year() < 2025:
		e.add(check, failed, "clock_behind", "It is "+now.UTC().Format(time.RFC3339)+" on this machine. Set the clock.", "sudo timedatectl set-ntp true")
	default:
		e.ok(check, now.UTC().Format(time.RFC3339))
	}
}

func (e *examination) workspaceRoots() {
	const check = "workspace roots"
	roots, err := workspace.NewRoots(e.settings.WorkspaceRoots)
	if err != nil {
		e.add(check, failed, "workspace_root_unusable", problemOf(err), "sayso serve --workspace-root FOLDER")
		return
	}
	e.ok(check, strings.Join([]string(roots), ", "))
}

// claudeUser checks the user of Claude and returns it, nil for the user of the server.
func (e *examination) claudeUser() *claude.RunAs {
	const check = "Claude's user"
	if e.settings.ClaudeUser == "" && e.settings.ClaudeHome == "" {
		return nil
	}
	if _, err := os.Stat(e.settings.StateDir); err != nil {
		e.add(check, warning, "claude_user_unknown", "It can be checked after the first start of the server.")
		return nil
	}
	runAs, err := claudeUser(e.settings, e.exe, false)
	if err != nil {
		e.add(check, failed, "claude_user_unusable", problemOf(err))
		return nil
	}
	e.ok(check, "Claude cannot read the server's files")
	return runAs
}

// sandbox checks that bubblewrap works, by running sayso in it.
func (e *examination) sandbox(runAs *claude.RunAs) {
	const check = "sandbox"
	s := e.settings
	if s.Sandbox == "" || s.Sandbox == "none" {
		return
	}
	if _, err := os.Stat(s.StateDir); err != nil {
		// serve creates it empty, so the check can hide any other folder in its place.
		s.StateDir, s.Database = "/run", ""
	}
	_, err := sandboxOf(s, e.exe, runAs)
	switch {
	case err == nil:
		e.ok(check, s.Sandbox+" works")
	case errors.Is(err, errNoBubblewrap):
		e.add(check, failed, "bubblewrap_missing", problemOf(err)+".", "sudo apt install bubblewrap")
	case errors.Is(err, errBubblewrapBroken):
		e.add(check, failed, "bubblewrap_broken", strings.TrimRight(problemOf(err), ".")+". The system may not allow user namespaces.",
			"sudo sysctl kernel.unprivileged_userns_clone=1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0")
	default:
		e.add(check, failed, "sandbox_unusable", problemOf(err)+".")
	}
}

// cgroup checks whether sessions can have cgroups, in which sayso finds processes that Claude leaves
// behind. Without one, a process that escapes while its shim is dead is not found.
func (e *examination) cgroup() {
	const check = "cgroups"
	if runtime.GOOS != "linux" {
		return
	}
	dir := shim.CgroupFolder()
	const write = 2 // W_OK
	if dir == "" || syscall.Access(dir, write) != nil {
		e.add(check, passed, "cgroup_not_delegated", "not delegated to this shell; a systemd unit needs Delegate=yes and KillMode=process, as those in contrib have")
		return
	}
	e.ok(check, "each session can have its own")
}

// claude checks the CLI and its sign-in.
func (e *examination) claude(ctx context.Context, runAs *claude.RunAs) {
	const check = "Claude CLI"
	cli := &launch.CLI{Path: e.settings.Claude, Environ: runAs.Environ(os.Environ()), RunAs: runAs, Exe: e.exe}
	path, err := cli.Find()
	if missing := (*launch.NoCLIError)(nil); errors.As(err, &missing) && missing.NotExecutable != "" {
		e.add(check, failed, "claude_not_executable", problemOf(err), "chmod +x "+shellWord(missing.NotExecutable))
		return
	}
	if err != nil {
		e.add(check, failed, "claude_missing", problemOf(err), "npm install -g @anthropic-ai/claude-code@"+claude.NewestTested)
		return
	}
	version, problem := cli.Version(ctx, path)
	switch {
	case problem != "":
		e.add(check, failed, "claude_broken", problem, "npm install -g @anthropic-ai/claude-code@"+claude.NewestTested)
		return
	case olderVersion(version, claude.OldestTested):
		e.add(check, warning, "claude_old", fmt.Sprintf("%s is version %s. The oldest that is tested is %s.", path, version, claude.OldestTested), "npm install -g @anthropic-ai/claude-code@"+claude.NewestTested)
	case olderVersion(claude.NewestTested, version):
		e.add(check, passed, "claude_untested", fmt.Sprintf("%s, version %s; %s is the newest that is tested", path, version, claude.NewestTested))
	default:
		e.ok(check, path+", version "+version)
	}
	if !cli.SignedIn(ctx, path) {
		e.add("Claude sign-in", failed, "claude_signed_out", launch.NotSignedIn(path), shellWord(path)+" auth login", "ANTHROPIC_API_KEY=… sayso serve")
		return
	}
	e.ok("Claude sign-in", "signed in")
}

// olderVersion reports whether a version such as 2.1.197 is older than another.
func olderVersion(a, b string) bool {
	parts := func(text string) (list []int) {
		text, _, _ = strings.Cut(text, "-")
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.Atoi(part) // 0 if it is not a number
			list = append(list, n)
		}
		return list
	}
	return slices.Compare(parts(a), parts(b)) < 0
}

// pushKey checks the key that signs push messages, which serve creates.
func (e *examination) pushKey() {
	const check = "push"
	path := filepath.Join(e.settings.StateDir, "push-key")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		e.ok(check, "the key is created by sayso serve")
		return
	}
	_, err := alert.OpenKey(path)
	if errors.Is(err, fs.ErrPermission) {
		e.add(check, failed, "push_key_unreadable", "This user cannot read "+path+".", e.readable(path))
		return
	}
	if err != nil {
		e.add(check, failed, "push_key_unusable", problemOf(err)+".", "mv "+shellWord(path)+" "+shellWord(path+".bad"))
		return
	}
	if u := e.settings.PublicURL; u == "" && !e.settings.tls() {
		e.add(check, passed, "push_local_only", "only for browsers on this machine; others need HTTPS, see --public-url")
		return
	}
	e.ok(check, "browsers can be notified")
}
