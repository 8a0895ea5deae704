package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wsapi"
)

// settings come from flags, the environment and a TOML file, in that order of
// strength. Their names are the same in all three: --state-dir,
// SAYSO_STATE_DIR, state_dir.
type settings struct {
	Listen         string   `toml:"listen"`
	StateDir       string   `toml:"state_dir"`
	Database       string   `toml:"database"`
	Claude         string   `toml:"claude"`
	ClaudeUser     string   `toml:"claude_user"`
	ClaudeHome     string   `toml:"claude_home"`
	Sandbox        string   `toml:"sandbox"`
	AllowedHosts   []string `toml:"allowed_host"`
	PublicURL      string   `toml:"public_url"`
	TrustedProxies []string `toml:"trusted_proxy"`
	WorkspaceRoots []string `toml:"workspace_root"`
	TLSCert        string   `toml:"tls_cert"`
	TLSKey         string   `toml:"tls_key"`
	LogLevel       string   `toml:"log_level"`
	LogFormat      string   `toml:"log_format"`
	NodeID         string   `toml:"node_id"`
	ResumeOnAnswer bool     `toml:"resume_on_answer"`
	AlertPrivate   bool     `toml:"alert_private"`
	IdleLimit      duration `toml:"idle_limit"`
	SilentLimit    duration `toml:"silent_limit"`
	AbsoluteLimit  duration `toml:"absolute_limit"`
	StartLimit     duration `toml:"start_limit"`
	UserSessions   int      `toml:"user_sessions"` // of one person, 0 for any number
	UserMemory     int      `toml:"user_memory"`   // megabytes, of one person's sessions; 0 for any amount
	UserCost       float64  `toml:"user_cost"`     // US dollars a day, of one person's sessions; 0 for any amount
	AuditDays      int      `toml:"audit_days"`    // 0 keeps all
	// Failed sign-ins in a minute: for an account at one address, and at one address.
	SignInFailures        int    `toml:"sign_in_failures"`
	AddressSignInFailures int    `toml:"address_sign_in_failures"`
	Ask                   asking `toml:"ask"`

	OIDC oidcSettings `toml:"oidc"`
	ACME acmeSettings `toml:"acme"`

	// BootstrapToken is an admin API token that exists from the first start. It
	// comes from the environment alone: flags are seen by every user of the
	// machine and files are copied.
	BootstrapToken string `toml:"-"`

	proxies []netip.Prefix // TrustedProxies, read
	file    string         // that was read
	open    bool           // Listen reaches beyond this machine
	named   bool           // this server, and nobody else, is at localhost
}

// duration reads "90s", "2h" and the like; "0" means no limit.
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err == nil && parsed < 0 {
		err = errors.New("must not be negative")
	}
	if err != nil {
		return fmt.Errorf("duration %q: %w", text, err)
	}
	*d = duration(parsed)
	return nil
}

func (d *duration) MarshalText() ([]byte, error) { return []byte(time.Duration(*d).String()), nil }

// Largest values of settings.
const (
	mostSessions  = 1_000_000
	mostMemory    = 1 << 30 // megabytes
	mostCost      = 1_000_000
	mostAuditDays = 36500
	mostFailures  = 1000
)

func readDuration(to *duration) func(string) error {
	return func(v string) error { return to.UnmarshalText([]byte(strings.TrimSpace(v))) }
}

func readSwitch(to *bool) func(string) error {
	return func(v string) error {
		on, err := strconv.ParseBool(strings.TrimSpace(v))
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", v)
		}
		*to = on
		return nil
	}
}

func readNumber(to *int, most int) func(string) error {
	return func(v string) error {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return fmt.Errorf("%q is no whole number", v)
		}
		if err := checkNumber(float64(n), float64(most)); err != nil {
			return err
		}
		*to = n
		return nil
	}
}

func readAmount(to *float64) func(string) error {
	return func(v string) error {
		amount, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return fmt.Errorf("%q is no number", v)
		}
		if err := checkNumber(amount, mostCost); err != nil {
			return err
		}
		*to = amount
		return nil
	}
}

func checkNumber(n, most float64) error {
	if !(n >= 0 && n <= most) { // NaN is neither
		return fmt.Errorf("it is a number from 0 to %.0f", most)
	}
	return nil
}

// list collects a flag given several times, or separated by commas.
type list struct{ to *[]string }

func (l list) String() string { return "" }
func (l list) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l.to = append(*l.to, part)
		}
	}
	return nil
}

const minBootstrapToken = 32 // characters

// errUsage: the flags could not be read; the flag package has said why.
var errUsage = errors.New("usage")

// readSettings reads them for one verb. getenv is os.Getenv.
func readSettings(verb string, args []string, getenv func(string) string, stderr io.Writer) (settings, []string, error) {
	limits := orchestrator.DefaultLimits()
	s := settings{
		Listen: "127.0.0.1:8787", ResumeOnAnswer: true, StateDir: defaultStateDir(getenv), LogLevel: "info", LogFormat: "text",
		IdleLimit: duration(limits.Idle), SilentLimit: duration(limits.Silent),
		AbsoluteLimit: duration(limits.Absolute), StartLimit: duration(limits.Start),
		SignInFailures: account.DefaultLimits.PerAccount, AddressSignInFailures: account.DefaultLimits.PerAddress,
		Ask: asking{Enabled: true, QuestionAnswer: answerJSON},
	}
	file := getenv("SAYSO_CONFIG")
	flags := flag.NewFlagSet("sayso "+verb, flag.ContinueOnError)
	flags.SetOutput(stderr)
	given := settings{}
	texts := map[string]struct {
		to   *string
		from *string
		help string
	}{
		"listen":                  {&s.Listen, &given.Listen, "address to listen on"},
		"state-dir":               {&s.StateDir, &given.StateDir, "folder of the database and everything else that is kept"},
		"database":                {&s.Database, &given.Database, "sqlite:PATH or postgres://… (default: sqlite in the state folder)"},
		"claude":                  {&s.Claude, &given.Claude, "path of the Claude CLI (default: claude from PATH)"},
		"claude-user":             {&s.ClaudeUser, &given.ClaudeUser, "user as whom Claude runs, by name or as uid:gid, so that it is kept from what is the server's (Linux; needs root or capabilities)"},
		"claude-home":             {&s.ClaudeHome, &given.ClaudeHome, "home folder of that user (default: the one that the machine knows)"},
		"tls-cert":                {&s.TLSCert, &given.TLSCert, "certificate file, for HTTPS"},
		"tls-key":                 {&s.TLSKey, &given.TLSKey, "key file of the certificate"},
		"log-level":               {&s.LogLevel, &given.LogLevel, "debug, info, warn or error"},
		"log-format":              {&s.LogFormat, &given.LogFormat, "text or json"},
		"node-id":                 {&s.NodeID, &given.NodeID, "name of this server (default: the host's name)"},
		"ask-question-answer":     {&s.Ask.QuestionAnswer, &given.Ask.QuestionAnswer, "how the MCP tool ask_question answers: json, which is {\"answer\": …}, or text"},
		"acme-email":              {&s.ACME.Email, &given.ACME.Email, "where the issuer of the certificate writes to"},
		"acme-directory":          {&s.ACME.Directory, &given.ACME.Directory, "address of the ACME directory (default: Let's Encrypt)"},
		"acme-http":               {&s.ACME.HTTP, &given.ACME.HTTP, "address such as :80 at which the directory may look by plain HTTP, and from which browsers are sent to HTTPS"},
		"oidc-issuer":             {&s.OIDC.Issuer, &given.OIDC.Issuer, "address of an OpenID Connect provider at which people sign in"},
		"oidc-client-id":          {&s.OIDC.ClientID, &given.OIDC.ClientID, "name under which the provider knows sayso"},
		"oidc-client-secret-file": {&s.OIDC.SecretFile, &given.OIDC.SecretFile, "file with the client secret (or SAYSO_OIDC_CLIENT_SECRET)"},
		"oidc-name":               {&s.OIDC.Name, &given.OIDC.Name, "what people call the provider (default: its host)"},
		"oidc-role-claim":         {&s.OIDC.RoleClaim, &given.OIDC.RoleClaim, "claim of the ID token with roles or groups, such as groups or realm_access.roles"},
		"oidc-default-role":       {&s.OIDC.DefaultRole, &given.OIDC.DefaultRole, "viewer, member or admin: role of who has no other (default: they cannot sign in)"},
		"public-url":              {&s.PublicURL, &given.PublicURL, "address under which browsers reach the server through a proxy, such as https://sayso.example.org"},
		"sandbox":                 {&s.Sandbox, &given.Sandbox, "bubblewrap: keep Claude from the state of the server and from what is not its folder (Linux); none"},
	}
	lists := map[string]struct {
		to   *[]string
		from *[]string
		help string
	}{
		"allowed-host":   {&s.AllowedHosts, &given.AllowedHosts, "host name under which browsers reach the server; may be repeated"},
		"trusted-proxy":  {&s.TrustedProxies, &given.TrustedProxies, "address or network of a proxy that may say for whom it speaks; may be repeated"},
		"acme-domain":    {&s.ACME.Domains, &given.ACME.Domains, "name for which to get a certificate by ACME, which accepts the issuer's terms; may be repeated"},
		"oidc-role":      {&s.OIDC.Roles, &given.OIDC.Roles, "value=role: the role of who has this value in the role claim; may be repeated"},
		"oidc-scope":     {&s.OIDC.Scopes, &given.OIDC.Scopes, "scope to ask for beside openid and profile; may be repeated"},
		"workspace-root": {&s.WorkspaceRoots, &given.WorkspaceRoots, "folder in which sessions may work (default: the home folder); may be repeated"},
	}
	// What is not a text is read when all are known.
	read := map[string]struct {
		set  func(string) error
		help string
	}{
		"idle-limit":               {readDuration(&s.IdleLimit), "end a process nobody wrote to for so long; 0 for never"},
		"silent-limit":             {readDuration(&s.SilentLimit), "end a working process without a sign of life for so long; 0 for never"},
		"absolute-limit":           {readDuration(&s.AbsoluteLimit), "end a process after so long; 0 for never"},
		"start-limit":              {readDuration(&s.StartLimit), "how long the CLI may take to start"},
		"ask-timeout":              {readDuration(&s.Ask.Timeout), "how long a question over MCP may wait, 30s to 15m; 0 for ever (the default)"},
		"user-sessions":            {readNumber(&s.UserSessions, mostSessions), "how many sessions of one person may run at once; 0 for any number (the default)"},
		"user-memory":              {readNumber(&s.UserMemory, mostMemory), "megabytes of memory that the sessions of one person may take; 0 for any amount (the default)"},
		"user-cost":                {readAmount(&s.UserCost), "US dollars that the sessions of one person may cost a day, which begins at 00:00 UTC; 0 for any amount (the default)"},
		"audit-days":               {readNumber(&s.AuditDays, mostAuditDays), "remove entries of the audit trail that are older than so many days; 0 keeps all (the default)"},
		"sign-in-failures":         {readNumber(&s.SignInFailures, mostFailures), "how many sign-ins to one account from one address may fail in a minute, 6 times as many in an hour (default 2)"},
		"address-sign-in-failures": {readNumber(&s.AddressSignInFailures, mostFailures), "how many sign-ins from one address may fail in a minute, 6 times as many in an hour (default 30)"},
		"resume-on-answer":         {readSwitch(&s.ResumeOnAnswer), "true or false: resume a dead session when its question is answered (default true)"},
		"alert-private":            {readSwitch(&s.AlertPrivate), "true or false: alerts may go to addresses of this machine and of private networks, without encryption too (default false)"},
		"ask":                      {readSwitch(&s.Ask.Enabled), "true or false: give sessions tools to ask with over MCP (default true)"},
	}
	flags.StringVar(&file, "config", file, "settings file (TOML)")
	for name, t := range texts {
		flags.StringVar(t.from, name, "", t.help)
	}
	for name, l := range lists {
		flags.Var(list{l.from}, name, l.help)
	}
	readFrom := map[string]*string{}
	for name, r := range read {
		readFrom[name] = flags.String(name, "", r.help)
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return s, nil, err
	}
	if err != nil {
		return s, nil, errUsage
	}

	if s.file = file; file != "" {
		meta, err := toml.DecodeFile(file, &s)
		if err != nil {
			return s, nil, fmt.Errorf("settings file: %w", err)
		}
		if unknown := meta.Undecoded(); len(unknown) > 0 {
			return s, nil, fmt.Errorf("settings file %s: there is no setting %q", file, unknown[0].String())
		}
	}
	variable := func(name string) string {
		return getenv("SAYSO_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	}
	for name, t := range texts {
		if v := variable(name); v != "" {
			*t.to = v
		}
		if *t.from != "" {
			*t.to = *t.from
		}
	}
	for name, l := range lists {
		if v := variable(name); v != "" {
			*l.to = nil
			_ = list{l.to}.Set(v) // never fails
		}
		if len(*l.from) > 0 {
			*l.to = *l.from
		}
	}
	for name, r := range read {
		for _, v := range []string{variable(name), *readFrom[name]} {
			if v == "" {
				continue
			}
			if err := r.set(v); err != nil {
				return s, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	s.BootstrapToken = getenv("SAYSO_BOOTSTRAP_TOKEN")
	s.OIDC.clientSecret = getenv("SAYSO_OIDC_CLIENT_SECRET")
	return s, flags.Args(), s.complete()
}

// complete fills in what follows from other settings and checks the whole.
func (s *settings) complete() error {
	if s.StateDir == "" {
		return errors.New("there is no home folder to keep the state in; set --state-dir")
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
		return errors.New("--claude-user: the home folder of sayso is no place for another user to work in; name folders with --workspace-root")
	}
	if len(s.WorkspaceRoots) == 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return errors.New("there is no home folder to work in; set --workspace-root")
		}
		s.WorkspaceRoots = []string{home}
	}
	if s.NodeID == "" {
		if s.NodeID, err = os.Hostname(); err != nil {
			s.NodeID = "node"
		}
	}
	if err := s.Ask.complete(); err != nil {
		return err
	}
	for name, n := range map[string][2]float64{
		"user_sessions": {float64(s.UserSessions), mostSessions}, "user_memory": {float64(s.UserMemory), mostMemory},
		"user_cost": {s.UserCost, mostCost}, "audit_days": {float64(s.AuditDays), mostAuditDays},
		"sign_in_failures": {float64(s.SignInFailures), mostFailures}, "address_sign_in_failures": {float64(s.AddressSignInFailures), mostFailures},
	} {
		if err := checkNumber(n[0], n[1]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key belong together; give both")
	}
	if s.PublicURL != "" {
		if s.PublicURL, err = wsapi.ParsePublicURL(s.PublicURL); err != nil {
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
	s.proxies = nil
	for _, text := range s.TrustedProxies {
		p, err := netip.ParsePrefix(text)
		if a, single := netip.ParseAddr(text); single == nil {
			p, err = a.Unmap().Prefix(a.Unmap().BitLen())
		}
		switch {
		case err != nil:
			return fmt.Errorf("--trusted-proxy %s: give an address such as 10.0.0.5 or a network such as 10.0.0.0/24", text)
		case p.Bits() == 0:
			return fmt.Errorf("--trusted-proxy %s is everybody; give the address of the proxy", text)
		}
		s.proxies = append(s.proxies, p)
	}
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: give it as host:port", s.Listen)
	}
	ip := net.ParseIP(host)
	s.open = host != "localhost" && (ip == nil || !ip.IsLoopback())
	if s.open && !s.tls() && len(s.proxies) == 0 {
		return fmt.Errorf("--listen %s would let others reach sayso without encryption; give --tls-cert and --tls-key, or --acme-domain, or the address of the proxy that does HTTPS with --trusted-proxy, or listen on 127.0.0.1", s.Listen)
	}
	return nil
}

// tls says whether the server does HTTPS itself.
func (s settings) tls() bool { return s.TLSCert != "" || s.ACME.used() }

// defaultStateDir follows the XDG base directories.
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
