// Package claude drives the Claude Code CLI from a Go program. It starts the CLI, speaks its
// stream-json control protocol, and passes every permission request of Claude to a callback. A tool
// that needs permission runs only if a callback or a rule allows it.
//
//   - [Query] runs one prompt and iterates over its messages; [Ask] returns only the result.
//   - [Start] begins a session of several turns, see [Client.Turn] and [Client.Run].
//   - [Options] configures both: permissions, hooks, MCP servers, agents, models and limits.
//   - [SavedFolder] lists, reads and changes saved sessions.
//   - [NewClient] speaks the protocol over any [Transport], for hosts that supervise CLIs themselves.
//
// A [Message] is a pointer to one of the message types of this package; [Header.Raw] holds the CLI's
// line. Test errors with errors.Is and errors.As: [ErrCLIMissing], [ErrTooOld], [ErrNotSignedIn],
// [ErrLimit], [ErrProtocol], *[ResultError], *[ExitError] and others.
//
// Package claude/tool turns Go functions into MCP servers. For tests without an account, package
// claude/claudetest is a scripted CLI, and claude/scriptedmodel a scripted model for the real CLI.
//
// No other package of this module knows the CLI's JSON.
package claude
