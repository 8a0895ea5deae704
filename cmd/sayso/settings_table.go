package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// setting is one row of the table from which flags, environment variables, the settings file,
// --help, the reference documentation and the settings screen are derived.
type setting struct {
	name        string              // of the flag; the other names are derived from it
	field       func(*settings) any // *string, *[]string, *bool, *int, *float64 or *duration
	help        string              // in Markdown, without a full stop
	see         string              // page and heading of the documentation, "" without one
	defaultHelp string              // for people: the meaning of an empty value
	maximum     float64             // of numbers; the minimum is 0
	check       func(settings) error
	reload      bool         // SIGHUP applies it
	screen      *screenEntry // nil: not on the settings screen
}

// screenEntry is a row of the settings screen.
type screenEntry struct {
	title, words string
	kind         wire.SettingKind
	choices      []string
	changeable   bool                  // by admins, while the server runs
	show         func(settings) string // nil for the value itself
}

// Maximum values of settings.
const (
	maxSessions = 1_000_000
	maxMemory   = 1 << 30 // megabytes
	maxCost     = 1_000_000
	maxDays     = 36500 // of retention
	maxEntries  = 1e9   // of the audit log
	maxFailures = 1000
)

// settingsTable lists the settings in the order of the documentation and of the screen.
var settingsTable = []setting{
	{name: "listen", field: func(s *settings) any { return &s.Listen },
		help:   "Address to listen on. Anything but loopback needs `tls-cert` and `tls-key`, `acme-domain` or `trusted-proxy`",
		screen: &screenEntry{title: "Listen address", words: "The address where this server accepts connections.", kind: wire.SettingText}},
	{name: "public-url", field: func(s *settings) any { return &s.PublicURL },
		help:   "Address by which browsers reach the server through a proxy, such as `https://sayso.example.org`",
		screen: &screenEntry{title: "Public address", words: "The address where browsers reach this server through a proxy.", kind: wire.SettingText}},
	{name: "allowed-host", field: func(s *settings) any { return &s.AllowedHosts }, reload: true, defaultHelp: "the address it listens on",
		help:   "Host names by which browsers reach the server",
		screen: &screenEntry{title: "Allowed hosts", words: "Host names where browsers can reach this server, in addition to this machine’s own.", kind: wire.SettingListed}},
	{name: "trusted-proxy", field: func(s *settings) any { return &s.TrustedProxies },
		help:   "Addresses or networks of proxies whose `X-Forwarded-For` is trusted",
		screen: &screenEntry{title: "Trusted proxies", words: "Proxies that sayso trusts to report a browser’s address.", kind: wire.SettingListed}},
	{name: "tls-cert", field: func(s *settings) any { return &s.TLSCert }, help: "Certificate file, for HTTPS"},
	{name: "tls-key", field: func(s *settings) any { return &s.TLSKey }, help: "Key file of the certificate"},
	{name: "acme-domain", field: func(s *settings) any { return &s.ACME.Domains }, see: "acme",
		help: "Host names to get a certificate for by ACME. Using it accepts the terms of the issuer"},
	{name: "acme-email", field: func(s *settings) any { return &s.ACME.Email }, see: "acme", help: "Contact email address for the issuer of the certificate"},
	{name: "acme-directory", field: func(s *settings) any { return &s.ACME.Directory }, see: "acme", defaultHelp: "Let's Encrypt", help: "Address of the ACME directory"},
	{name: "acme-http", field: func(s *settings) any { return &s.ACME.HTTP }, see: "acme",
		help: "Address, such as `:80`, for challenges over plain HTTP. Browsers are redirected to HTTPS"},
	{name: "oidc-issuer", field: func(s *settings) any { return &s.OIDC.Issuer }, see: "oidc", help: "Address of the OpenID Connect provider where people sign in"},
	{name: "oidc-client-id", field: func(s *settings) any { return &s.OIDC.ClientID }, see: "oidc", help: "Client ID of sayso at the provider"},
	{name: "oidc-client-secret-file", field: func(s *settings) any { return &s.OIDC.SecretFile }, see: "oidc",
		help: "File with the client secret; or give the secret in `SAYSO_OIDC_CLIENT_SECRET`"},
	{name: "oidc-name", field: func(s *settings) any { return &s.OIDC.Name }, see: "oidc", defaultHelp: "its host", help: "Name of the provider on the sign-in page"},
	{name: "oidc-scope", field: func(s *settings) any { return &s.OIDC.Scopes }, see: "oidc", help: "Scopes to ask for besides `openid` and `profile`"},
	{name: "oidc-role-claim", field: func(s *settings) any { return &s.OIDC.RoleClaim }, see: "oidc",
		help: "Claim of the ID token with roles or groups, such as `groups` or `realm_access.roles`"},
	{name: "oidc-role", field: func(s *settings) any { return &s.OIDC.Roles }, see: "oidc", help: "Roles as `value=role`: people with this value in the role claim get this role"},
	{name: "oidc-default-role", field: func(s *settings) any { return &s.OIDC.DefaultRole }, see: "oidc", defaultHelp: "they cannot sign in",
		help: "Role of people with no matching role: `viewer`, `member` or `admin`"},
	{name: "workspace-root", field: func(s *settings) any { return &s.WorkspaceRoots }, reload: true, defaultHelp: "the home folder",
		help:   "Folders in which sessions may work",
		screen: &screenEntry{title: "Workspace roots", words: "Sessions can work only in these folders and their subfolders.", kind: wire.SettingListed}},
	{name: "trusted-folder", field: func(s *settings) any { return &s.TrustedFolders }, see: "trusted-folder", defaultHelp: "all folders",
		help: "Folders (with subfolders) whose settings Claude may load once a person trusts them; `none` for no folder"},
	{name: "state-dir", field: func(s *settings) any { return &s.StateDir }, defaultHelp: "`$XDG_STATE_HOME/sayso`, else `~/.local/state/sayso`",
		help: "Folder for the database and all other state"},
	{name: "database", field: func(s *settings) any { return &s.Database }, defaultHelp: "`sqlite:` in the state folder",
		help: "`sqlite:PATH` or `postgres://…`",
		screen: &screenEntry{title: "Database", words: "The type of database that stores all data.", kind: wire.SettingText, show: func(s settings) string {
			if strings.HasPrefix(s.Database, "postgres") {
				return "PostgreSQL"
			}
			return "SQLite"
		}}},
	{name: "claude", field: func(s *settings) any { return &s.Claude }, defaultHelp: "`claude` from PATH", help: "The Claude Code CLI"},
	{name: "claude-user", field: func(s *settings) any { return &s.ClaudeUser }, see: "claude-user", defaultHelp: "the user of the server",
		help: "User that Claude runs as, by name or as `uid:gid` (Linux; needs root or capabilities)"},
	{name: "claude-home", field: func(s *settings) any { return &s.ClaudeHome }, see: "claude-user", defaultHelp: "the user's home folder", help: "Home folder of that user"},
	{name: "sandbox", field: func(s *settings) any { return &s.Sandbox }, see: "sandbox", help: "`none` or `bubblewrap`, which hides the state of the server from Claude (Linux)"},
	{name: "node-id", field: func(s *settings) any { return &s.NodeID }, defaultHelp: "the host's name",
		help:   "Name of this server",
		screen: &screenEntry{title: "Server name", words: "Identifies this server among others.", kind: wire.SettingText}},
	{name: "local-runner", field: func(s *settings) any { return &s.LocalRunner }, see: "local-runner",
		help:   "Start sessions on the server itself, too; `false`: only on machines that are connected to it",
		screen: &screenEntry{title: "Sessions on this server", words: "Whether sessions can start on the server itself. If not, they start only on the machines that are connected to it.", kind: wire.SettingSwitch}},
	{name: "cluster-listen", field: func(s *settings) any { return &s.ClusterListen }, defaultHelp: "the host of `listen`, and a free port",
		help: "Address at which other servers of the same PostgreSQL database reach this one"},
	{name: "connect", field: func(s *settings) any { return &s.Runner.Servers }, see: "runner",
		help: "For `sayso runner`: addresses of the server, or of several that share a database, such as `https://sayso.example.org`"},
	{name: "token-file", field: func(s *settings) any { return &s.Runner.TokenFile }, see: "runner", help: "For `sayso runner`: file with the token from `sayso token --runner NAME`"},
	{name: "server-key", field: func(s *settings) any { return &s.Runner.Key }, see: "runner", defaultHelp: "its certificate is verified",
		help: "For `sayso runner`: the only public key that a server may have, as `sha256:` and 64 hexadecimal digits"},
	{name: "label", field: func(s *settings) any { return &s.Runner.Labels }, see: "runner", help: "For `sayso runner`: labels that people see with it, such as `gpu`"},
	{name: "max-processes", field: func(s *settings) any { return &s.Runner.Processes }, maximum: maxSessions, see: "runner",
		help: "For `sayso runner`: maximum concurrent sessions; `0` for no limit"},
	{name: "log-level", field: func(s *settings) any { return &s.LogLevel }, reload: true,
		help:   "`debug`, `info`, `warn` or `error`",
		screen: &screenEntry{title: "Log level", words: "How much detail the log contains.", kind: wire.SettingText}},
	{name: "log-format", field: func(s *settings) any { return &s.LogFormat }, help: "`text` or `json`"},
	{name: "access-log", field: func(s *settings) any { return &s.AccessLog }, see: "access-log", help: "Log each HTTP request, at the level `info`"},
	{name: "otlp-endpoint", field: func(s *settings) any { return &s.OTLPEndpoint }, see: "traces", defaultHelp: "`OTEL_EXPORTER_OTLP_ENDPOINT`, else no traces",
		help: "Address of an OpenTelemetry collector for traces of requests, such as `http://localhost:4318`"},
	{name: "resume-on-answer", field: func(s *settings) any { return &s.ResumeOnAnswer }, reload: true,
		help:   "Resume a session when someone answers its request after Claude has stopped",
		screen: &screenEntry{title: "Resume on answer", words: "Resume a stopped session automatically when someone answers its request.", kind: wire.SettingSwitch, changeable: true}},
	{name: "ask", field: func(s *settings) any { return &s.Ask.Enabled }, reload: true,
		help: "Give sessions MCP tools to ask people, in addition to Claude's own"},
	{name: "ask-timeout", field: func(s *settings) any { return &s.Ask.Timeout }, reload: true,
		check:  func(s settings) error { return checkTimeout(s.Ask.Timeout) },
		help:   "Time an MCP question waits for an answer, `30s` to `15m`; `0` for no limit",
		screen: &screenEntry{title: "MCP question deadline", words: "How long ask_user and similar tools wait for an answer, 30s to 15m. 0s means no limit. The settings file overrides this for the folders it names.", kind: wire.SettingDuration, changeable: true}},
	{name: "ask-question-answer", field: func(s *settings) any { return &s.Ask.QuestionAnswer }, reload: true,
		check: func(s settings) error {
			if s.Ask.QuestionAnswer != answerText && s.Ask.QuestionAnswer != answerJSON {
				return fmt.Errorf("use %s or %s", answerText, answerJSON)
			}
			return nil
		},
		help:   "Result of the tool `ask_question`: `json` for `{\"answer\":…}`, `text` for the answer alone",
		screen: &screenEntry{title: "ask_question answer format", words: "The MCP tool ask_question returns the answer as plain text or as JSON.", kind: wire.SettingChoice, choices: []string{answerJSON, answerText}, changeable: true}},
	{name: "idle-limit", field: func(s *settings) any { return &s.IdleLimit }, reload: true,
		help:   "Stop a process after this time without a message; `0` for never",
		screen: &screenEntry{title: "Idle limit", words: "Stops a process after this time without a message. The next message resumes it. 0s means never.", kind: wire.SettingDuration, changeable: true}},
	{name: "silent-limit", field: func(s *settings) any { return &s.SilentLimit }, reload: true,
		help:   "Stop a running process after this time without activity; `0` for never",
		screen: &screenEntry{title: "Silent limit", words: "Stops a running process after this time without activity. 0s means never.", kind: wire.SettingDuration, changeable: true}},
	{name: "absolute-limit", field: func(s *settings) any { return &s.AbsoluteLimit }, reload: true,
		help:   "Maximum age of a process; `0` for no limit",
		screen: &screenEntry{title: "Absolute limit", words: "Stops a process after this time unless it is waiting for a person. 0s means never.", kind: wire.SettingDuration, changeable: true}},
	{name: "start-limit", field: func(s *settings) any { return &s.StartLimit }, reload: true, help: "Time the CLI may take to start"},
	{name: "user-sessions", field: func(s *settings) any { return &s.UserSessions }, maximum: maxSessions, reload: true,
		help:   "Maximum concurrent sessions per person, in all projects; `0` for no limit",
		screen: &screenEntry{title: "Sessions per person", words: "Maximum number of concurrent sessions per person. 0 means no limit. You can override this on the People page.", kind: wire.SettingNumber, changeable: true}},
	{name: "user-memory", field: func(s *settings) any { return &s.UserMemory }, maximum: maxMemory, reload: true,
		help:   "Maximum memory of one person's sessions, in MB; no session starts above it; `0` for no limit",
		screen: &screenEntry{title: "Memory per person", words: "Maximum memory for one person’s sessions, in MB. No session starts above it. 0 means no limit.", kind: wire.SettingNumber, changeable: true}},
	{name: "user-cost", field: func(s *settings) any { return &s.UserCost }, maximum: maxCost, reload: true,
		help:   "Maximum cost per person and day (from 00:00 UTC), in US dollars; no turn starts above it; `0` for no limit",
		screen: &screenEntry{title: "Cost per person", words: "Maximum cost of one person’s sessions per day, in US dollars. Days start at 00:00 UTC. No turn starts above it; a running turn continues. 0 means no limit.", kind: wire.SettingNumber, changeable: true}},
	{name: "sign-in-failures", field: func(s *settings) any { return &s.SignInFailures }, maximum: maxFailures,
		help: "Failed sign-ins per minute to one account from one address; 6 times as many per hour, 5 times as many from all addresses together"},
	{name: "address-sign-in-failures", field: func(s *settings) any { return &s.AddressSignInFailures }, maximum: maxFailures,
		help: "Failed sign-ins per minute from one address, for all accounts; 6 times as many per hour. An office may share an address. Valid tokens and sign-in links are never delayed"},
	{name: "audit-days", field: func(s *settings) any { return &s.AuditDays }, maximum: maxDays, reload: true, see: "audit",
		help:   "Days to keep entries of the audit log; `0` keeps all",
		screen: &screenEntry{title: "Audit log retention", words: "Days to keep audit log entries. The log records each removal. 0 keeps all entries.", kind: wire.SettingDays, changeable: true}},
	{name: "audit-entries", field: func(s *settings) any { return &s.AuditEntries }, maximum: maxEntries, reload: true, see: "retention",
		help:   "Maximum number of entries of the audit log; above it, the oldest are removed, plus another 10 %; `0` keeps all",
		screen: &screenEntry{title: "Audit log size", words: "Maximum number of audit log entries. Above it, the oldest are removed, plus another 10 %. 0 keeps all entries.", kind: wire.SettingNumber, changeable: true}},
	{name: "session-days", field: func(s *settings) any { return &s.SessionDays }, maximum: maxDays, reload: true, see: "retention",
		help:   "Days without activity after which a session and its transcript are deleted; `0` keeps all",
		screen: &screenEntry{title: "Session retention", words: "Days without activity after which a session is deleted with its transcript. Sessions that run or have an open request stay. 0 keeps all sessions.", kind: wire.SettingDays, changeable: true}},
	{name: "session-size", field: func(s *settings) any { return &s.SessionSize }, maximum: maxMemory, reload: true, see: "retention",
		help:   "Maximum size of all transcripts and their attached files, in MB; above it, the sessions longest without activity are deleted; `0` keeps all",
		screen: &screenEntry{title: "Session storage", words: "Maximum size of all transcripts with their attached files, in MB. Above it, the sessions longest without activity are deleted. Sessions that run or have an open request stay. 0 keeps all sessions.", kind: wire.SettingNumber, changeable: true}},
	{name: "alert-private", field: func(s *settings) any { return &s.AlertPrivate },
		help: "Allow notifications to this machine and private networks, also without encryption"},
}

// secretVariables are read only from the environment: every user of the machine can read
// flags, and files are copied.
var secretVariables = []string{"SAYSO_BOOTSTRAP_TOKEN", "SAYSO_OIDC_CLIENT_SECRET"}

// variable returns the name of the setting in the environment.
func (r setting) variable() string {
	return "SAYSO_" + strings.ToUpper(strings.ReplaceAll(r.name, "-", "_"))
}

// screenName returns the name of the setting on the wire.
func (r setting) screenName() string { return strings.ReplaceAll(r.name, "-", "_") }

// fileKey returns the key of the setting in the settings file, with its table.
func (r setting) fileKey() string {
	if r.name == "ask" {
		return "ask.enabled"
	}
	key := r.screenName()
	for _, table := range []string{"ask", "oidc", "acme"} {
		if rest, found := strings.CutPrefix(key, table+"_"); found {
			return table + "." + rest
		}
	}
	return key
}

// typeName returns the type of the setting for --help and the documentation.
func (r setting) typeName() string {
	switch r.field(&settings{}).(type) {
	case *[]string:
		return "list"
	case *bool:
		return "true or false"
	case *int, *float64:
		return "number"
	case *duration:
		return "duration"
	}
	return "text"
}

// changeable reports whether admins may change the setting while the server runs.
func (r setting) changeable() bool { return r.screen != nil && r.screen.changeable }

// parse sets the setting from a flag, a variable or the settings screen.
func (r setting) parse(s *settings, text string) (err error) {
	trimmed := strings.TrimSpace(text)
	switch to := r.field(s).(type) {
	case *string:
		*to = text
	case *[]string:
		*to = nil
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*to = append(*to, part)
			}
		}
	case *bool:
		if *to, err = strconv.ParseBool(trimmed); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		if *to, err = strconv.Atoi(trimmed); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
	case *float64:
		if *to, err = strconv.ParseFloat(trimmed, 64); err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
	case *duration:
		if err := to.UnmarshalText([]byte(trimmed)); err != nil {
			return err
		}
	}
	return r.validate(*s)
}

// validate checks the value of this setting, regardless of others.
func (r setting) validate(s settings) error {
	number := 0.0
	switch value := r.field(&s).(type) {
	case *int:
		number = float64(*value)
	case *float64:
		number = *value
	}
	if !(number >= 0 && number <= r.maximum) { // also refuses NaN
		return fmt.Errorf("use a number from 0 to %.0f", r.maximum)
	}
	if r.check != nil {
		return r.check(s)
	}
	return nil
}

// format formats the value for the settings screen, a list with one entry per line.
func (r setting) format(s settings) string {
	switch value := r.field(&s).(type) {
	case *[]string:
		return strings.Join(*value, "\n")
	case *bool:
		return strconv.FormatBool(*value)
	case *int:
		return strconv.Itoa(*value)
	case *float64:
		return strconv.FormatFloat(*value, 'f', -1, 64)
	case *duration:
		return time.Duration(*value).String()
	case *string:
		return *value
	}
	return ""
}

// copy copies the value of this setting from one set of settings to another.
func (r setting) copy(to *settings, from settings) {
	switch value := r.field(&from).(type) {
	case *[]string:
		*r.field(to).(*[]string) = *value
	case *bool:
		*r.field(to).(*bool) = *value
	case *int:
		*r.field(to).(*int) = *value
	case *float64:
		*r.field(to).(*float64) = *value
	case *duration:
		*r.field(to).(*duration) = *value
	case *string:
		*r.field(to).(*string) = *value
	}
}

// defaultText returns the default value for people.
func (r setting) defaultText() string {
	if r.defaultHelp != "" {
		return r.defaultHelp
	}
	s := defaultSettings(func(string) string { return "" })
	text := r.format(s)
	if d, ok := r.field(&s).(*duration); ok {
		text = shortDuration(time.Duration(*d))
	}
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// shortDuration omits units that are 0, as in 1h for 1h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if text == "0s" {
		return "0"
	}
	if rest, found := strings.CutSuffix(text, "m0s"); found {
		text = rest + "m"
	}
	if rest, found := strings.CutSuffix(text, "h0m"); found {
		text = rest + "h"
	}
	return text
}

// duration parses "90s", "2h" and the like; "0" means no limit.
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s, 30m or 2h", text)
	}
	if parsed < 0 {
		return fmt.Errorf("%q must not be negative", text)
	}
	*d = duration(parsed)
	return nil
}

// unknownVariables lists the variables of environ that look like settings but are unknown.
func unknownVariables(environ []string) (names []string) {
	known := slices.Concat([]string{"SAYSO_CONFIG", serverVariable, tokenVariable}, secretVariables)
	for _, r := range settingsTable {
		known = append(known, r.variable())
	}
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "SAYSO_") || slices.Contains(known, name) || strings.HasPrefix(name, "SAYSO_TEST_") || strings.HasPrefix(name, "SAYSO_FAILPOINTS") || name == "SAYSO_SHIM" {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settingsThatDiffer lists the settings that differ between now and next and need a restart.
func settingsThatDiffer(now, next settings) (names []string) {
	for _, r := range settingsTable {
		if !r.reload && r.format(now) != r.format(next) {
			names = append(names, r.fileKey())
		}
	}
	slices.Sort(names)
	return names
}
