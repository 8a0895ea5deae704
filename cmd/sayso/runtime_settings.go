package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wsapi"
)

// retentionEvery is how often old entries of the audit trail are looked for.
const retentionEvery = time.Hour

// runtimeSettings are what the server runs with, and what of it is changed while it does.
// A value that was changed here is stronger than flags, environment and file, and
// holds over restarts.
type runtimeSettings struct {
	store interface {
		account.Trail
		account.SettingStore
	}
	claude func(ctx context.Context) string // version of the CLI
	apply  func(settings) error             // takes over what may change
	log    *slog.Logger
	prune  chan struct{} // the retention was changed; capacity 1, never closed

	mu      sync.Mutex // protects following
	base    settings   // as read from flags, environment and file
	changed map[string]account.Setting
}

func newRuntimeSettings(ctx context.Context, s settings, store interface {
	account.Trail
	account.SettingStore
}, log *slog.Logger) (*runtimeSettings, error) {
	r := &runtimeSettings{store: store, log: log, base: s, changed: map[string]account.Setting{}, prune: make(chan struct{}, 1)}
	list, err := store.Settings(ctx)
	for _, one := range list {
		r.changed[one.Name] = one
	}
	return r, err
}

// over returns what holds when s was read: s with the values that were changed here.
func (r *runtimeSettings) over(s settings) settings {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changedOver(s)
}

// replaceBase makes s what was read.
func (r *runtimeSettings) replaceBase(s settings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base = s
}

// now returns what holds. It is called with the lock held.
func (r *runtimeSettings) now() settings { return r.changedOver(r.base) }

// changedOver is called with the lock held.
func (r *runtimeSettings) changedOver(s settings) settings {
	for _, k := range knobs {
		if one, ok := r.changed[k.name]; ok && k.set != nil {
			next := s
			if err := k.set(&next, one.Value); err != nil {
				r.log.Warn("a setting that was changed does not fit any more, the one from the start holds", "setting", k.name, "error", err)
				continue
			}
			s = next
		}
	}
	return s
}

// knob is one thing that the server runs with. What has no set is not changed
// while it runs.
type knob struct {
	name         string
	kind         wsapi.SettingKind
	title, words string
	choices      []string
	get          func(settings) string
	set          func(*settings, string) error
}

func limitKnob(name, title, words string, of func(*settings) *duration) knob {
	return knob{name, wsapi.SettingDuration, title, words, nil,
		func(s settings) string { return time.Duration(*of(&s)).String() },
		func(s *settings, v string) error { return of(s).UnmarshalText([]byte(strings.TrimSpace(v))) }}
}

func switchKnob(name, title, words string, of func(*settings) *bool) knob {
	return knob{name, wsapi.SettingSwitch, title, words, nil,
		func(s settings) string { return strconv.FormatBool(*of(&s)) },
		func(s *settings, v string) (err error) { *of(s), err = strconv.ParseBool(v); return err }}
}

func numberKnob(name, title, words string, most int, of func(*settings) *int) knob {
	return knob{name, wsapi.SettingNumber, title, words, nil,
		func(s settings) string { return strconv.Itoa(*of(&s)) },
		func(s *settings, v string) error { return readNumber(of(s), most)(v) }}
}

const auditDays = "audit_days"

var knobs = []knob{
	switchKnob("resume_on_answer", "Resume on an answer", "Whether a session whose Claude has died goes on by itself once somebody answers what it asked.", func(s *settings) *bool { return &s.ResumeOnAnswer }),
	{"ask_timeout", wsapi.SettingDuration, "Time for a question over MCP", "How long ask_user and the like wait for a person, 30s to 15m; 0s is for ever. What the settings file says of a folder holds there.", nil,
		func(s settings) string { return time.Duration(s.Ask.Timeout).String() },
		func(s *settings, v string) error {
			if err := s.Ask.Timeout.UnmarshalText([]byte(strings.TrimSpace(v))); err != nil {
				return err
			}
			return checkTimeout("It", s.Ask.Timeout)
		}},
	{"ask_question_answer", wsapi.SettingChoice, "Answer of ask_question", "Whether the MCP tool ask_question returns the bare text of the answer, or JSON that holds it.", []string{answerJSON, answerText},
		func(s settings) string { return s.Ask.QuestionAnswer },
		func(s *settings, v string) error {
			if v != answerJSON && v != answerText {
				return fmt.Errorf("it is %s or %s", answerJSON, answerText)
			}
			s.Ask.QuestionAnswer = v
			return nil
		}},
	limitKnob("idle_limit", "Idle limit", "A process to which nobody wrote for so long is ended; the next message resumes it. 0s is never.", func(s *settings) *duration { return &s.IdleLimit }),
	limitKnob("silent_limit", "Silent limit", "A process that works and gives no sign of life for so long is ended. 0s is never.", func(s *settings) *duration { return &s.SilentLimit }),
	limitKnob("absolute_limit", "Absolute limit", "A process is ended after so long, unless it waits for a person. 0s is never.", func(s *settings) *duration { return &s.AbsoluteLimit }),
	numberKnob("user_sessions", "Sessions of a person", "How many sessions of one person may run at once. 0 is any number. The People page sets other limits for some.", mostSessions, func(s *settings) *int { return &s.UserSessions }),
	numberKnob("user_memory", "Memory of a person", "How many megabytes of memory the sessions of one person may take; none starts above it. 0 is any amount.", mostMemory, func(s *settings) *int { return &s.UserMemory }),
	{"user_cost", wsapi.SettingNumber, "Cost of a person", "How many US dollars the sessions of one person may cost a day, which begins at 00:00 UTC. Above it no turn begins; one that runs is not cut off. 0 is any amount.", nil,
		func(s settings) string { return strconv.FormatFloat(s.UserCost, 'f', -1, 64) },
		func(s *settings, v string) error { return readAmount(&s.UserCost)(v) }},
	{auditDays, wsapi.SettingDays, "Keep the record of answers", "Entries of the audit trail that are older than so many days are removed, and that they were is sealed in the chain. 0 keeps all.", nil,
		func(s settings) string { return strconv.Itoa(s.AuditDays) },
		func(s *settings, v string) error { return readNumber(&s.AuditDays, mostAuditDays)(v) }},
	{name: "listen", kind: wsapi.SettingText, title: "Listens on", words: "The address under which this server takes connections.", get: func(s settings) string { return s.Listen }},
	{name: "public_url", kind: wsapi.SettingText, title: "Public address", words: "How browsers reach it through a proxy.", get: func(s settings) string { return s.PublicURL }},
	{name: "allowed_host", kind: wsapi.SettingListed, title: "Allowed hosts", words: "Names under which browsers may ask for it, besides those of this machine.", get: func(s settings) string { return strings.Join(s.AllowedHosts, "\n") }},
	{name: "trusted_proxy", kind: wsapi.SettingListed, title: "Trusted proxies", words: "Who may say for whom it speaks.", get: func(s settings) string { return strings.Join(s.TrustedProxies, "\n") }},
	{name: "workspace_root", kind: wsapi.SettingListed, title: "Workspace roots", words: "Sessions work in these folders and below, and nowhere else.", get: func(s settings) string { return strings.Join(s.WorkspaceRoots, "\n") }},
	{name: "database", kind: wsapi.SettingText, title: "Database", words: "The kind of database that remembers everything.", get: func(s settings) string {
		if strings.HasPrefix(s.Database, "postgres") {
			return "PostgreSQL"
		}
		return "SQLite"
	}},
	{name: "node_id", kind: wsapi.SettingText, title: "Name of this server", words: "How it names itself among several.", get: func(s settings) string { return s.NodeID }},
	{name: "log_level", kind: wsapi.SettingText, title: "Log level", words: "How much it writes down of what it does.", get: func(s settings) string { return s.LogLevel }},
}

// List implements [wsapi.Settings].
func (r *runtimeSettings) List(ctx context.Context) ([]wsapi.SettingInfo, error) {
	r.mu.Lock()
	now := r.now()
	list := make([]wsapi.SettingInfo, 0, len(knobs)+2)
	for _, k := range knobs {
		info := wsapi.SettingInfo{Name: k.name, Kind: k.kind, Title: k.title, Words: k.words, Choices: k.choices, Changeable: k.set != nil}
		one, changed := r.changed[k.name]
		info.Value = k.get(now)
		if changed && k.set != nil {
			at := float64(one.ChangedAt.UnixMicro()) / 1e6
			info.ChangedBy, info.ChangedAt = &one.ChangedBy, &at
		}
		list = append(list, info)
	}
	r.mu.Unlock()
	return append(list,
		wsapi.SettingInfo{Name: "version", Kind: wsapi.SettingText, Title: "sayso", Words: "The version that runs.", Value: versionText()},
		wsapi.SettingInfo{Name: "claude_version", Kind: wsapi.SettingText, Title: "Claude Code", Words: "The CLI that sessions run on.", Value: r.claude(ctx)}), nil
}

// Change implements [wsapi.Settings].
func (r *runtimeSettings) Change(ctx context.Context, name, value string, by account.Identity) error {
	for _, k := range knobs {
		if k.name != name || k.set == nil {
			continue
		}
		r.mu.Lock()
		trial := r.base
		r.mu.Unlock()
		if err := k.set(&trial, value); err != nil {
			return &orchestrator.InvalidError{Field: name, Sentence: fmt.Sprintf("%s: %v.", k.title, err)}
		}
		one := account.Setting{Name: name, Value: value, ChangedBy: by.User.Name, ChangedAt: time.Now()}
		body, err := json.Marshal(map[string]any{
			"what": "settings", "at": one.ChangedAt.UTC(), "setting": name, "value": value,
			"by": map[string]string{"user_id": by.User.UserID, "name": by.User.Name, "device": by.Device(), "address": by.From},
		})
		if err == nil {
			err = r.store.ChangeSetting(ctx, one, body)
		}
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.changed[name] = one
		now := r.now()
		r.mu.Unlock()
		select {
		case r.prune <- struct{}{}:
		default:
		}
		return r.apply(now)
	}
	return fmt.Errorf("change setting %s: %w", name, account.ErrNotFound)
}

// Run removes what is too old of the audit trail until ctx ends.
func (r *runtimeSettings) Run(ctx context.Context) error {
	ticker := time.NewTicker(retentionEvery)
	defer ticker.Stop()
	for {
		r.mu.Lock()
		days := r.now().AuditDays
		r.mu.Unlock()
		removed, err := account.PruneAudit(ctx, r.store, days, time.Now())
		if err != nil && ctx.Err() == nil {
			r.log.ErrorContext(ctx, "cannot remove old entries of the audit trail", "error", err)
		} else if removed > 0 {
			r.log.InfoContext(ctx, "old entries of the audit trail were removed", "entries", removed, "days", days)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-r.prune:
		}
	}
}
