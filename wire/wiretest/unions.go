package wiretest

import (
	"reflect"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Unions maps each named string type of the wire to its values.
var Unions = map[reflect.Type][]string{
	reflect.TypeFor[account.Role]():         {"viewer", "member", "admin"},
	reflect.TypeFor[session.State]():        {"starting", "assistant_turn", "user_turn", "dead"},
	reflect.TypeFor[session.Kind]():         {"agent", "terminal"},
	reflect.TypeFor[alert.Way]():            {"push", "webhook", "ntfy"},
	reflect.TypeFor[session.ItemKind]():     {"user", "text", "thinking", "tool_call", "todo", "plan", "subagent", "note", "resolved", "result"},
	reflect.TypeFor[session.ToolStatus]():   {"running", "done", "failed"},
	reflect.TypeFor[pending.RequestType]():  {"tool_approval", "ask_user_question"},
	reflect.TypeFor[pending.Source]():       {"claude", "mcp", "elicitation", "hook"},
	reflect.TypeFor[pending.Status]():       {"open", "orphaned", "answered", "denied", "withdrawn", "expired"},
	reflect.TypeFor[pending.QuestionKind](): {"text", "select", "multi_select", "confirm"},
	reflect.TypeFor[pending.Format]():       {"number", "integer", "email", "uri", "date", "date-time"},
	reflect.TypeFor[pending.Decision]():     {"allow", "deny"},
	reflect.TypeFor[pending.GrantKind]():    {"rule", "directory", "mode"},
	reflect.TypeFor[pending.Scope]():        {"session", "localSettings", "projectSettings", "userSettings"},
	reflect.TypeFor[wire.GrantState]():      {"in_force", "ended", "missing", "revoked"},
	reflect.TypeFor[wire.FolderItemKind]():  {"hook", "mcp_server", "variable", "helper", "rule", "setting", "agent", "command", "skill", "git", "unreadable"},
	reflect.TypeFor[wire.FolderDanger]():    {"runs", "redirects", "permits", "changes"},
	reflect.TypeFor[project.Action]():       {"see", "tend", "run", "start", "answer", "end", "manage", "bypass"},
	reflect.TypeFor[project.Effect]():       {"allow", "deny", "two_people"},
	reflect.TypeFor[wire.Through]():         {"direct", "proxy", "cloudflare"},
	reflect.TypeFor[wire.PhoneNetwork]():    {"public", "tailscale", "lan"},
	reflect.TypeFor[wire.PhoneMissing]():    {"nothing", "tls", "listen", "certificate", "renewal", "host", "serve", "name"},
	reflect.TypeFor[wire.SettingKind]():     {"text", "list", "switch", "choice", "days", "number", "duration"},
	reflect.TypeFor[wire.TroubleKind]():     {"stuck", "orphan", "unreachable", "recovered"},
	reflect.TypeFor[wire.NoticeCode]():      {"none", "read_only", "unavailable", "broken"},
	reflect.TypeFor[review.Level]():         {"low", "medium", "high"},
	reflect.TypeFor[review.Risk]():          {"delete", "delete_tree", "privilege", "download_run", "decode_run", "pipe_run", "computed", "evaluated", "substitution", "inline_code", "launcher", "script", "unknown", "background", "git_force", "git_discard", "git_push", "permissions", "disk", "kill", "system", "persist", "environment", "redefine", "write_outside", "write_sensitive", "read_secret", "read_outside", "unproven", "overwrite", "network", "upload", "install", "remote", "hidden", "unreadable", "wildcard", "whole_tool", "any_arguments"},
	reflect.TypeFor[review.ChangeState]():   {"new", "changes", "same", "no_file", "outside", "other", "large", "denied", "binary"},
	reflect.TypeFor[review.LineEnds]():      {"lf", "crlf", "mixed"},
	reflect.TypeFor[review.EditProblem]():   {"not_found", "many", "same", "empty", "no_cell"},
	reflect.TypeFor[review.RuleForm]():      {"exact", "prefix", "pattern", "domain", "tool", "server"},
	reflect.TypeFor[wire.AckResult]():       {"applied", "already_resolved", "stale", "rejected"},
}
