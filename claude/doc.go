// Package claude drives the Claude Code CLI from a Go program: it starts the CLI, speaks its
// stream-json control protocol, and puts every permission that Claude needs in front of a callback.
// Nothing runs that neither a callback nor a rule allows.
//
//   - [Query] returns the messages of one prompt as an iterator, and [Ask] its result alone.
//   - [Start] begins a session of several turns, see [Client.Turn] and [Client.Run].
//   - [Options] configures both: permissions, hooks, MCP servers, agents, models and limits.
//   - [SavedFolder] lists, reads and changes saved sessions.
//   - [NewClient] speaks the protocol over any [Transport], for hosts that supervise CLIs themselves.
//
// Messages are a [Message]: a pointer to one of the types here, with the line of the CLI in
// [Header.Raw]. Errors are for errors.Is and errors.As: [ErrCLIMissing], [ErrTooOld],
// [ErrNotSignedIn], [ErrLimit], [ErrProtocol], *[ResultError], *[ExitError] and others.
//
// Package claude/tool makes MCP servers of Go functions. Package claude/claudetest is a scripted CLI,
// and claude/scriptedmodel a scripted model for the real one, for tests without an account.
//
// No other package of this module knows the CLI's JSON.
package claude
