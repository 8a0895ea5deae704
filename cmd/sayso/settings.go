package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/sayso-dev/sayso/httpapi"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/ssrf"
	"github.com/sayso-dev/sayso/orchestrator"
)

// settings are the server's settings. settingsTable defines how each of them is set.
type settings struct {
	Listen         string
	StateDir       string
	Database       string
	Claude         string
	ClaudeUser     string
	ClaudeHome     string
	Sandbox        string
	AllowedHosts   []string
	PublicURL      string
	TrustedProxies []string
	WorkspaceRoots []string
	TrustedFolders []string // "none" for no folder
	LocalRunner    bool     // sessions can start on this machine
	TLSCert        string
	TLSKey         string
	LogLevel       string
	LogFormat      string
	AccessLog      bool
	OTLPEndpoint   string
	NodeID         string
	ClusterListen  string // for other servers of the database; "" for the host of Listen, and any port
	ResumeOnAnswer bool
	AlertPrivate   bool
	IdleLimit      duration
	SilentLimit    duration
	AbsoluteLimit  duration
	StartLimit     duration
	UserSessions   int     // of one person, 0 for any number
	UserMemory     int     // megabytes, of one person's sessions; 0 for any amount
	UserCost       float64 // US dollars a day, of one person's sessions; 0 for any amount
	AuditDays      int     // 0 keeps all
	AuditEntries   int     // 0 keeps all
	SessionDays    int     // 0 keeps all
	SessionSize    int     // MB; 0 keeps all
	// Failed sign-ins per minute: for an account at one address, and at one address.
	SignInFailures        int
	AddressSignInFailures int
	Ask                   askSettings
	OIDC                  oidcSettings
	ACME                  acmeSettings
	Runner                runnerSettings

	// BootstrapToken is an admin API token that exists from the first start.
	BootstrapToken string

	proxies []netip.Prefix // parsed TrustedProxies
	file    string         // path of the file that was read
	open    bool           // Listen is reachable from other machines
	named   bool           // browsers reach this server, and no other, at localhost
}

const minBootstrapToken = 32 // characters

// validNodeID matches the names that people may give to servers. Names are shown in lists, logs and
// traces, where a space would look like the end.
var validNodeID = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,99}$`)

// defaultSettings returns the default values.
func defaultSettings(getenv func(string) string) settings {
	limits := orchestrator.DefaultLimits()
	return settings{
		Listen: "127.0.0.1:8787", LocalRunner: true, ResumeOnAnswer: true, StateDir: defaultStateDir(getenv), LogLevel: "info", LogFormat: "text", Sandbox: "none",
		IdleLimit: duration(limits.Idle), SilentLimit: duration(limits.Silent),
		AbsoluteLimit: duration(limits.Absolute), StartLimit: duration(limits.Start),
		SignInFailures: account.DefaultLimits.PerAccount, AddressSignInFailures: account.DefaultLimits.PerAddress,
		Ask: askSettings{Enabled: true, QuestionAnswer: answerJSON},
	}
}

// readSettings reads the settings for one verb and returns the arguments other than flags.
// Flags take precedence over the environment, and the environment over the settings file; an
// empty flag or variable counts as absent. getenv is os.Getenv.
func readSettings(verb string, args []string, getenv func(string) string) (settings, []string, error) {
	return readSettingsAnd(nil, verb, args, getenv)
}

// readSettingsAnd is readSettings for a command with additional flags, which define adds.
func readSettingsAnd(define func(*flag.FlagSet), verb string, args []string, getenv func(string) string) (settings, []string, error) {
	s := defaultSettings(getenv)
	if verb == "demo" && s.StateDir != "" {
		s.StateDir += "-demo" // it runs beside a server, and leaves nothing in its database
	}
	file := getenv("SAYSO_CONFIG")
	flags := newFlags(verb, define)
	flags.StringVar(&file, "config", file, "settings file (TOML)")
	given := map[string][]string{}
	for _, r := range settingsTable {
		flags.Func(r.name, "", func(text string) error {
			given[r.name] = append(given[r.name], text)
			return nil
		})
	}
	rest, err := parseFlags(flags, args)
	if err != nil {
		return s, nil, err
	}
	if s.file = file; file != "" {
		if err := s.readFile(file); err != nil {
			return s, nil, err
		}
	}
	for _, r := range settingsTable {
		fromFlags := ""
		if texts := given[r.name]; len(texts) > 0 {
			fromFlags = texts[len(texts)-1]
			if r.typeName() == "list" { // which may be repeated
				fromFlags = strings.Join(texts, ",")
			}
		}
		for _, one := range []struct{ from, text string }{{r.variable(), getenv(r.variable())}, {"--" + r.name, fromFlags}} {
			if one.text == "" {
				continue
			}
			if err := r.parse(&s, one.text); err != nil {
				return s, nil, fmt.Errorf("%s: %w", one.from, err)
			}
		}
	}
	s.BootstrapToken = getenv("SAYSO_BOOTSTRAP_TOKEN")
	s.OIDC.clientSecret = getenv("SAYSO_OIDC_CLIENT_SECRET")
	return s, rest, s.complete()
}

// readFile applies the settings of a TOML file, and refuses unknown keys.
func (s *settings) readFile(path string) error {
	var top map[string]toml.Primitive
	meta, err := toml.DecodeFile(path, &top)
	if err != nil {
		if parse := (toml.ParseError{}); errors.As(err, &parse) {
			return fmt.Errorf("settings file %s: line %d: %s", path, parse.Position.Line, parse.Message)
		}
		return fmt.Errorf("settings file: %w", err)
	}
	fields, tables := map[string]any{"ask.folder": &s.Ask.Folders}, map[string]bool{}
	for _, r := range settingsTable {
		fields[r.fileKey()] = r.field(s)
		if table, _, nested := strings.Cut(r.fileKey(), "."); nested {
			tables[table] = true
		}
	}
	var read func(prefix string, values map[string]toml.Primitive) error
	read = func(prefix string, values map[string]toml.Primitive) error {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			key := prefix + name
			var err error
			if to, known := fields[key]; known {
				err = meta.PrimitiveDecode(values[name], to)
			} else if tables[key] {
				if kind := meta.Type(key); kind != "Hash" && kind != "" { // "" for dotted keys; the decoder would ignore anything but a table
					return fmt.Errorf("settings file: %s is a table, not of type %s", key, kind)
				}
				var table map[string]toml.Primitive
				if err = meta.PrimitiveDecode(values[name], &table); err == nil {
					if err := read(key+".", table); err != nil {
						return err
					}
				}
			} else {
				return fmt.Errorf("settings file %s: there is no setting %q", path, key)
			}
			if err != nil {
				return fmt.Errorf("settings file %s: %w", path, valueError(key, fields[key], err))
			}
		}
		return nil
	}
	if err := read("", top); err != nil {
		return err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("settings file %s: there is no setting %q", path, unknown[0].String())
	}
	return nil
}

// valueError explains why the value of a key in the settings file cannot be decoded into a field.
func valueError(key string, field any, err error) error {
	if strings.Contains(err.Error(), "incompatible types") { // the decoder has no sentinel for it
		switch field.(type) {
		case *string:
			return fmt.Errorf("%s: wrong type; use text in quotes", key)
		case *[]string:
			return fmt.Errorf("%s: wrong type; use a list in brackets", key)
		case *bool:
			return fmt.Errorf("%s: wrong type; use true or false", key)
		case *int, *float64:
			return fmt.Errorf("%s: wrong type; use a number", key)
		}
	}
	if parse := (toml.ParseError{}); errors.As(err, &parse) {
		return fmt.Errorf("line %d: %s: %s", parse.Position.Line, key, parse.Message)
	}
	return fmt.Errorf("%s: %w", key, err)
}

// complete derives settings from others and validates all.
func (s *settings) complete() error {
	if s.StateDir == "" {
		return errors.New("there is no home folder for the state. Set --state-dir")
	}
	abs, err := filepath.Abs(s.StateDir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	s.StateDir = abs
	if s.Database == "" {
		s.Database = "sqlite:" + filepath.Join(s.StateDir, "sayso.db")
	}
	if s.BootstrapToken != "" && len(s.BootstrapToken) < minBootstrapToken {
		return fmt.Errorf("SAYSO_BOOTSTRAP_TOKEN has %d characters; it needs at least %d", len(s.BootstrapToken), minBootstrapToken)
	}
	if s.ClaudeUser != "" && len(s.WorkspaceRoots) == 0 {
		return errors.New("--claude-user: another user cannot work in the home folder of sayso; name folders with --workspace-root")
	}
	if len(s.WorkspaceRoots) == 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return errors.New("there is no home folder to work in. Set --workspace-root")
		}
		s.WorkspaceRoots = []string{home}
	}
	if s.NodeID == "" {
		if s.NodeID, err = os.Hostname(); err != nil {
			s.NodeID = "node"
		}
	} else if !validNodeID.MatchString(s.NodeID) { // the host's own name may be anything
		return fmt.Errorf("--node-id %s: use up to 100 letters, digits, dots, hyphens and underscores, and begin with a letter or digit", s.NodeID)
	}
	if err := s.Ask.complete(); err != nil {
		return err
	}
	for _, r := range settingsTable {
		if err := r.validate(*s); err != nil {
			return fmt.Errorf("%s: %w", r.fileKey(), err)
		}
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key belong together. Set both")
	}
	if s.PublicURL != "" {
		if s.PublicURL, err = httpapi.ParsePublicURL(s.PublicURL); err != nil {
			return fmt.Errorf("--public-url: %w", err)
		}
	}
	if err := s.ACME.complete(s.TLSCert); err != nil {
		return err
	}
	if s.ACME.used() {
		s.AllowedHosts = append(slices.Clone(s.AllowedHosts), s.ACME.Domains...)
		if s.PublicURL == "" {
			s.PublicURL = s.ACME.publicURL(s.Listen)
		}
	}
	if err := s.OIDC.complete(s.PublicURL); err != nil {
		return err
	}
	if s.proxies, err = parseProxies(s.TrustedProxies); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: use the format host:port", s.Listen)
	}
	s.open = !ssrf.IsLoopback(host)
	if s.open && !s.tls() && len(s.proxies) == 0 {
		return fmt.Errorf("--listen %s would make sayso reachable without encryption. Set --tls-cert and --tls-key, or --acme-domain, or --trusted-proxy to the address of a proxy that terminates HTTPS, or listen on 127.0.0.1", s.Listen)
	}
	return nil
}

// parseProxies parses the addresses and networks of --trusted-proxy.
func parseProxies(list []string) (proxies []netip.Prefix, err error) {
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if a, single := netip.ParseAddr(text); single == nil {
			p, err = a.Unmap().Prefix(a.Unmap().BitLen())
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("--trusted-proxy %s: give an address such as 10.0.0.5 or a network such as 10.0.0.0/24", text)
		case p.Bits() == 0:
			return nil, fmt.Errorf("--trusted-proxy %s matches every address. Use the address of the proxy", text)
		}
		proxies = append(proxies, p)
	}
	return proxies, nil
}

// tls reports whether the server serves HTTPS itself.
func (s settings) tls() bool { return s.TLSCert != "" || s.ACME.used() }

// defaultStateDir returns the state folder according to the XDG Base Directory Specification, "" without
// a home folder.
func defaultStateDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sayso")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "sayso")
}
