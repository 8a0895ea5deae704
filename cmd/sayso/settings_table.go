package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

// setting is one row of the table that flags, environment variables, the settings
// file, --help, the reference in the documentation and the settings screen come from.
type setting struct {
	name     string              // of the flag; the names elsewhere follow from it
	field    func(*settings) any // *string, *[]string, *bool, *int, *float64 or *duration
	help     string              // in Markdown, without a full stop
	see      string              // page and heading of the documentation, "" without one
	standsIn string              // in words, what an empty value stands for
	maximum  float64             // of numbers, whose minimum is 0
	check    func(settings) error
	reload   bool         // whether SIGHUP takes it over
	screen   *screenEntry // nil: not on the settings screen
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
	maxSessions  = 1_000_000
	maxMemory    = 1 << 30 // megabytes
	maxCost      = 1_000_000
	maxAuditDays = 36500
	maxFailures  = 1000
)

// settingsTable has the rows in the order of the documentation and of the screen.
var settingsTable = []setting{
	{name: "listen", field: func(s *settings) any { return &s.Listen },
		help:   "Address to listen on. Anything but loopback needs `tls-cert` and `tls-key`, `acme-domain` or `trusted-proxy`",
		screen: &screenEntry{title: "Listens on", words: "The address under which this server takes connections.", kind: wire.SettingText}},
	{name: "public-url", field: func(s *settings) any { return &s.PublicURL },
		help:   "Address by which browsers reach the server through a proxy, such as `https://sayso.example.org`",
		screen: &screenEntry{title: "Public address", words: "How browsers reach it through a proxy.", kind: wire.SettingText}},
	{name: "allowed-host", field: func(s *settings) any { return &s.AllowedHosts }, reload: true, standsIn: "the address it listens on",
		help:   "Host names by which browsers reach the server",
		screen: &screenEntry{title: "Allowed hosts", words: "Names under which browsers may ask for it, besides those of this machine.", kind: wire.SettingListed}},
	{name: "trusted-proxy", field: func(s *settings) any { return &s.TrustedProxies },
		help:   "Addresses or networks of proxies whose `X-Forwarded-For` is believed",
		screen: &screenEntry{title: "Trusted proxies", words: "Who may say for whom it speaks.", kind: wire.SettingListed}},
	{name: "tls-cert", field: func(s *settings) any { return &s.TLSCert }, help: "Certificate file, for HTTPS"},
	{name: "tls-key", field: func(s *settings) any { return &s.TLSKey }, help: "Key file of the certificate"},
	{name: "acme-domain", field: func(s *settings) any { return &s.ACME.Domains }, see: "acme",
		help: "Names to get a certificate for by ACME, which accepts the terms of the issuer"},
	{name: "acme-email", field: func(s *settings) any { return &s.ACME.Email }, see: "acme", help: "Email address that the issuer of the certificate writes to"},
	{name: "acme-directory", field: func(s *settings) any { return &s.ACME.Directory }, see: "acme", standsIn: "Let's Encrypt", help: "Address of the ACME directory"},
	{name: "acme-http", field: func(s *settings) any { return &s.ACME.HTTP }, see: "acme",
		help: "Address, such as `:80`, for challenges over plain HTTP. Browsers that come there are sent to HTTPS"},
	{name: "oidc-issuer", field: func(s *settings) any { return &s.OIDC.Issuer }, see: "oidc", help: "Address of an OpenID Connect provider at which people sign in"},
	{name: "oidc-client-id", field: func(s *settings) any { return &s.OIDC.ClientID }, see: "oidc", help: "Client ID of sayso at the provider"},
	{name: "oidc-client-secret-file", field: func(s *settings) any { return &s.OIDC.SecretFile }, see: "oidc",
		help: "File with the client secret; or give the secret in `SAYSO_OIDC_CLIENT_SECRET`"},
	{name: "oidc-name", field: func(s *settings) any { return &s.OIDC.Name }, see: "oidc", standsIn: "its host", help: "Name of the provider on the sign-in page"},
	{name: "oidc-scope", field: func(s *settings) any { return &s.OIDC.Scopes }, see: "oidc", help: "Scopes to ask for besides `openid` and `profile`"},
	{name: "oidc-role-claim", field: func(s *settings) any { return &s.OIDC.RoleClaim }, see: "oidc",
		help: "Claim of the ID token with roles or groups, such as `groups` or `realm_access.roles`"},
	{name: "oidc-role", field: func(s *settings) any { return &s.OIDC.Roles }, see: "oidc", help: "Roles as `value=role`: the role of people with this value in the role claim"},
	{name: "oidc-default-role", field: func(s *settings) any { return &s.OIDC.DefaultRole }, see: "oidc", standsIn: "they cannot sign in",
		help: "Role of people without another: `viewer`, `member` or `admin`"},
	{name: "workspace-root", field: func(s *settings) any { return &s.WorkspaceRoots }, reload: true, standsIn: "the home folder",
		help:   "Folders in which sessions may work",
		screen: &screenEntry{title: "Workspace roots", words: "Sessions work in these folders and below, and nowhere else.", kind: wire.SettingListed}},
	{name: "state-dir", field: func(s *settings) any { return &s.StateDir }, standsIn: "`$XDG_STATE_HOME/sayso`, else `~/.local/state/sayso`",
		help: "Folder for the database and all other state"},
	{name: "database", field: func(s *settings) any { return &s.Database }, standsIn: "`sqlite:` in the state folder",
		help: "`sqlite:PATH` or `postgres://…`",
		screen: &screenEntry{title: "Database", words: "The kind of database that remembers everything.", kind: wire.SettingText, show: func(s settings) string {
			if strings.HasPrefix(s.Database, "postgres") {
				return "PostgreSQL"
			}
			return "SQLite"
		}}},
	{name: "claude", field: func(s *settings) any { return &s.Claude }, standsIn: "`claude` from PATH", help: "The Claude Code CLI"},
	{name: "claude-user", field: func(s *settings) any { return &s.ClaudeUser }, see: "claude-user", standsIn: "the user of the server",
		help: "User that Claude runs as, by name or as `uid:gid` (Linux; needs root or capabilities)"},
	{name: "claude-home", field: func(s *settings) any { return &s.ClaudeHome }, see: "claude-user", standsIn: "the one that the machine knows", help: "Home folder of that user"},
	{name: "sandbox", field: func(s *settings) any { return &s.Sandbox }, see: "sandbox", help: "`none` or `bubblewrap`, which hides the state of the server from Claude (Linux)"},
	{name: "node-id", field: func(s *settings) any { return &s.NodeID }, standsIn: "the host's name",
		help:   "Name of this server",
		screen: &screenEntry{title: "Name of this server", words: "How it names itself among several.", kind: wire.SettingText}},
	{name: "log-level", field: func(s *settings) any { return &s.LogLevel }, reload: true,
		help:   "`debug`, `info`, `warn` or `error`",
		screen: &screenEntry{title: "Log level", words: "How much it writes down of what it does.", kind: wire.SettingText}},
	{name: "log-format", field: func(s *settings) any { return &s.LogFormat }, help: "`text` or `json`"},
	{name: "resume-on-answer", field: func(s *settings) any { return &s.ResumeOnAnswer }, reload: true,
		help:   "Whether answering a request resumes its session when Claude has died",
		screen: &screenEntry{title: "Resume on an answer", words: "Whether a session whose Claude has died goes on by itself once somebody answers what it asked.", kind: wire.SettingSwitch, changeable: true}},
	{name: "ask", field: func(s *settings) any { return &s.Ask.Enabled }, reload: true,
		help: "Whether sessions get MCP tools to ask people, in addition to Claude's own"},
	{name: "ask-timeout", field: func(s *settings) any { return &s.Ask.Timeout }, reload: true,
		check:  func(s settings) error { return checkTimeout(s.Ask.Timeout) },
		help:   "Time such a question may wait, `30s` to `15m`; `0` for no limit",
		screen: &screenEntry{title: "Time for a question over MCP", words: "How long ask_user and the like wait for a person, 30s to 15m; 0s is for ever. What the settings file says of a folder holds there.", kind: wire.SettingDuration, changeable: true}},
	{name: "ask-question-answer", field: func(s *settings) any { return &s.Ask.QuestionAnswer }, reload: true,
		check: func(s settings) error {
			if s.Ask.QuestionAnswer != answerText && s.Ask.QuestionAnswer != answerJSON {
				return fmt.Errorf("it is %s or %s", answerText, answerJSON)
			}
			return nil
		},
		help:   "Result of the tool `ask_question`: `json` for `{\"answer\":…}`, `text` for the answer alone",
		screen: &screenEntry{title: "Answer of ask_question", words: "Whether the MCP tool ask_question returns the bare text of the answer, or JSON that holds it.", kind: wire.SettingChoice, choices: []string{answerJSON, answerText}, changeable: true}},
	{name: "idle-limit", field: func(s *settings) any { return &s.IdleLimit }, reload: true,
		help:   "Ends a process after this time without a message; `0` for never",
		screen: &screenEntry{title: "Idle limit", words: "A process to which nobody wrote for so long is ended; the next message resumes it. 0s is never.", kind: wire.SettingDuration, changeable: true}},
	{name: "silent-limit", field: func(s *settings) any { return &s.SilentLimit }, reload: true,
		help:   "Ends a process that works this long without activity; `0` for never",
		screen: &screenEntry{title: "Silent limit", words: "A process that works and gives no sign of life for so long is ended. 0s is never.", kind: wire.SettingDuration, changeable: true}},
	{name: "absolute-limit", field: func(s *settings) any { return &s.AbsoluteLimit }, reload: true,
		help:   "Maximum age of a process; `0` for no limit",
		screen: &screenEntry{title: "Absolute limit", words: "A process is ended after so long, unless it waits for a person. 0s is never.", kind: wire.SettingDuration, changeable: true}},
	{name: "start-limit", field: func(s *settings) any { return &s.StartLimit }, reload: true, help: "Time the CLI may take to start"},
	{name: "user-sessions", field: func(s *settings) any { return &s.UserSessions }, maximum: maxSessions, reload: true,
		help:   "Maximum sessions of one person running at once, in all projects; `0` for no limit",
		screen: &screenEntry{title: "Sessions of a person", words: "How many sessions of one person may run at once. 0 is any number. The People page sets other limits for some.", kind: wire.SettingNumber, changeable: true}},
	{name: "user-memory", field: func(s *settings) any { return &s.UserMemory }, maximum: maxMemory, reload: true,
		help:   "Memory of those sessions in MB above which none starts; `0` for no limit",
		screen: &screenEntry{title: "Memory of a person", words: "How many megabytes of memory the sessions of one person may take; none starts above it. 0 is any amount.", kind: wire.SettingNumber, changeable: true}},
	{name: "user-cost", field: func(s *settings) any { return &s.UserCost }, maximum: maxCost, reload: true,
		help:   "Cost per person and day (from 00:00 UTC) in US dollars above which no turn starts; `0` for no limit",
		screen: &screenEntry{title: "Cost of a person", words: "How many US dollars the sessions of one person may cost a day, which begins at 00:00 UTC. Above it no turn begins; one that runs is not cut off. 0 is any amount.", kind: wire.SettingNumber, changeable: true}},
	{name: "sign-in-failures", field: func(s *settings) any { return &s.SignInFailures }, maximum: maxFailures,
		help: "Failed sign-ins per minute to one account from one address; 6 times as many per hour, 5 times as many from all addresses together"},
	{name: "address-sign-in-failures", field: func(s *settings) any { return &s.AddressSignInFailures }, maximum: maxFailures,
		help: "The same for all accounts from one address, which an office may share. Valid tokens and sign-in addresses are never delayed"},
	{name: "audit-days", field: func(s *settings) any { return &s.AuditDays }, maximum: maxAuditDays, reload: true, see: "audit",
		help:   "Days to keep entries of the audit trail; `0` keeps all",
		screen: &screenEntry{title: "Keep the record of answers", words: "Entries of the audit trail that are older than so many days are removed, and that they were is sealed in the chain. 0 keeps all.", kind: wire.SettingDays, changeable: true}},
	{name: "alert-private", field: func(s *settings) any { return &s.AlertPrivate },
		help: "Allows notifications to addresses of this machine and private networks, also without encryption"},
}

// secretVariables are read from the environment alone: flags are seen by every user of
// the machine, and files are copied.
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

// typeName returns what --help and the documentation call the type of the setting.
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

// parse sets the setting to what a flag, a variable or the settings screen says.
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
			return fmt.Errorf("%q is no whole number", text)
		}
	case *float64:
		if *to, err = strconv.ParseFloat(trimmed, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
	case *duration:
		if err := to.UnmarshalText([]byte(trimmed)); err != nil {
			return err
		}
	}
	return r.validate(*s)
}

// validate checks the value of the setting by itself.
func (r setting) validate(s settings) error {
	number := 0.0
	switch value := r.field(&s).(type) {
	case *int:
		number = float64(*value)
	case *float64:
		number = *value
	}
	if !(number >= 0 && number <= r.maximum) { // NaN is neither
		return fmt.Errorf("it is a number from 0 to %.0f", r.maximum)
	}
	if r.check != nil {
		return r.check(s)
	}
	return nil
}

// format returns the value of the setting as the settings screen shows it, a list with
// a line for each entry.
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

// defaultText returns what holds when nobody sets the setting, for people.
func (r setting) defaultText() string {
	if r.standsIn != "" {
		return r.standsIn
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

// shortDuration leaves out units that are 0, as in 1h for 1h0m0s.
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

// unknownVariables returns the names of variables of environ that look like settings
// and are none.
func unknownVariables(environ []string) (names []string) {
	known := slices.Concat([]string{"SAYSO_CONFIG"}, secretVariables)
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

// settingsThatDiffer names the settings of next that only a restart takes over.
func settingsThatDiffer(now, next settings) (names []string) {
	for _, r := range settingsTable {
		if !r.reload && r.format(now) != r.format(next) {
			names = append(names, r.fileKey())
		}
	}
	slices.Sort(names)
	return names
}
