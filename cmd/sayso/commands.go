package main

import (
	"context"
	"flag"
	"strings"
)

// verb is one row of the table from which --help, shell completion and the man pages are
// derived.
type verb struct {
	name     string // its words, such as "mcp register"
	summary  string // for lists: a phrase without a full stop
	usage    []usageLine
	about    string              // paragraphs of plain text
	flags    func(*flag.FlagSet) // nil for none
	settings bool                // it also has a flag for each setting of the server
	exits    []exitStatus        // beside 0, 1 for an error and 2 for a wrong command line
	internal bool                // run by sayso itself
	run      func(ctx context.Context, args []string, std streams) error
}

// usageLine is one way to call a command: what follows its name, and what it does then.
type usageLine struct{ words, help string }

// exitStatus is an exit code and its meaning.
type exitStatus struct {
	code    int
	meaning string
}

// commands lists all commands in the order of --help. It is a function, because the commands
// themselves print help.
func commands() []verb {
	return []verb{
		{name: "serve", summary: "run the server (what sayso alone does)", settings: true,
			usage: []usageLine{{"[SETTINGS]", ""}},
			about: "SIGTERM stops the server and leaves sessions running. SIGHUP reloads settings and certificates.",
			run: func(ctx context.Context, args []string, std streams) error {
				return serve(ctx, args, std.out, std.err, false)
			}},
		{name: "demo", summary: "run the server with a demo session; needs no Claude account", settings: true,
			usage: []usageLine{{"[SETTINGS]", ""}},
			about: "It runs the real Claude Code CLI with a scripted model.",
			run: func(ctx context.Context, args []string, std streams) error {
				return serve(ctx, args, std.out, std.err, true)
			}},
		{name: "runner", summary: "run sessions on this host for a server on another one", settings: true,
			usage: []usageLine{{"--connect https://SERVER --token-file FILE [SETTINGS]", ""}},
			about: "It dials the server and opens no port. Claude works in the folders of --workspace-root. SIGTERM stops it and leaves sessions running; the next start reconnects to them.",
			run: func(ctx context.Context, args []string, std streams) error {
				return runnerVerb(ctx, args, std.err)
			}},
		{name: "doctor", summary: "check the server's requirements and suggest fixes", settings: true,
			usage: []usageLine{{"[--json] [SETTINGS]", ""}},
			about: "It changes nothing and works while the server runs. Give it the settings of the server.",
			flags: new(doctorFlags).define,
			exits: []exitStatus{{0, "the server can run; there may be warnings"}, {1, "a check failed that keeps the server or its sessions from running"}, {2, "the command line or the settings are wrong"}},
			run:   doctor},
		{name: "status", summary: "show the running server in a few lines",
			usage: []usageLine{{"", ""}},
			about: remoteAbout, flags: new(statusFlags).define,
			exits: []exitStatus{{0, "the server works"}, {1, "the server cannot be reached, or cannot store answers"}},
			run:   status},
		{name: "sessions", summary: "list sessions",
			usage: []usageLine{{"[--all]", ""}},
			about: remoteAbout, flags: new(sessionsFlags).define, run: listSessions},
		{name: "pending", summary: "show the open requests in full",
			usage: []usageLine{{"[ID]", ""}},
			about: "Characters that a terminal would not show, or would obey, appear as their names in brackets, such as [ESC].\n\n" + remoteAbout,
			flags: new(pendingFlags).define, run: showPending},
		{name: "answer", summary: "answer a request",
			usage: []usageLine{
				{"ID allow --digest DIGEST", "approve a tool call as shown by 'sayso pending'"},
				{"ID deny [--reason TEXT]", "deny a tool call, or decline questions"},
				{"ID ANSWER... --digest DIGEST", "answer questions, one ANSWER each: the number of an option, several as 1,3, or a text"},
			},
			about: "The digest proves which request you saw; 'sayso pending' prints it. Without it, in a terminal, sayso shows the request and asks you to confirm.\n\nAn answer that looks like a number but is a text begins with =, as in =2. ID can be the beginning of an id.\n\n" + remoteAbout,
			flags: new(answerFlags).define,
			exits: []exitStatus{{0, "answer applied"}, {1, "answer not applied; see the output"}, {2, "the command line is wrong, or the digest is missing"}, {3, "another person answered first"}},
			run:   answer},
		{name: "logs", summary: "print the transcript of a session",
			usage: []usageLine{{"[--follow] ID", ""}},
			about: "ID can be the beginning of an id.\n\n" + remoteAbout, flags: new(logsFlags).define, run: logs},
		{name: "kill", summary: "stop the process of a session",
			usage: []usageLine{{"ID [--force]", ""}},
			about: "The transcript stays, open requests stay answerable, and the session can be resumed. ID can be the beginning of an id.\n\n" + remoteAbout,
			flags: new(killFlags).define, run: killSession},
		{name: "kill-all", summary: "stop the processes of all sessions, with or without a server", settings: true,
			usage: []usageLine{{"[--state-dir FOLDER]", ""}},
			about: "The sessions can be resumed.",
			run:   func(ctx context.Context, args []string, std streams) error { return killAll(ctx, args, std.out) }},
		{name: "token", summary: "create an API token or a sign-in link",
			usage: []usageLine{
				{"--sign-in", "print a one-time sign-in link for the first admin"},
				{"--name NAME [--role ROLE] [--expires TIME]", "create an API token"},
				{"--name NAME --scope metrics", "create a token that reads /metrics and nothing else"},
				{"--agent NAME [--expires TIME]", "create a token with which an agent can only ask people"},
				{"--runner NAME", "create a token for a runner on another host, or replace it"},
			},
			flags: new(tokenFlags).define,
			run:   func(ctx context.Context, args []string, std streams) error { return token(ctx, args, std.out, std.err) }},
		{name: "user", summary: "create users, set passwords and roles, list users",
			usage: []usageLine{
				{"add NAME --role viewer|member|admin", "create a user and print a one-time sign-in link"},
				{"passwd NAME", "set the password, read from one line of stdin"},
				{"role NAME --role viewer|member|admin", "change the role of a user"},
				{"disable NAME", "disable a user, sign them out and revoke their tokens"},
				{"enable NAME", "enable a user again"},
				{"list", "list all users"},
			},
			flags: new(userFlags).define,
			run: func(ctx context.Context, args []string, std streams) error {
				return user(ctx, args, std.in, std.out, std.err)
			}},
		{name: "audit", summary: "verify or print the audit log",
			usage: []usageLine{
				{"verify [--head SEQ:HASH]", "verify that the log was not changed"},
				{"export", "print the log as JSON lines and verify it"},
			},
			flags: new(auditFlags).define,
			run:   func(ctx context.Context, args []string, std streams) error { return audit(ctx, args, std.out, std.err) }},
		{name: "backup", summary: "write the server's data to one file, while the server runs or not",
			usage: []usageLine{{"FILE", ""}, {"- > FILE", "write to stdout"}},
			about: "The file contains the database with all attached files, and the keys of the server. It does not contain settings or the state of running sessions. Run it as the user of the server.",
			flags: new(serverFlags).define, run: backUp},
		{name: "restore", summary: "restore the data of a stopped server from a backup",
			usage: []usageLine{{"FILE", ""}, {"--check FILE", "read the whole backup, and restore nothing"}},
			about: "It changes nothing if the backup is damaged, or if a database or keys already exist. An interrupted restore is repeated from the start. Run it as the user of the server.",
			flags: new(restoreFlags).define, run: restore},
		{name: "retention", summary: "show stored data and what retention would delete",
			usage: []usageLine{{"[--session-days DAYS] [--session-size MB] [--audit-days DAYS] [--audit-entries NUMBER]", ""}},
			about: "It deletes nothing, and works while the server runs. The server deletes by its settings of the same names.",
			flags: new(retentionFlags).define, run: showRetention},
		{name: "migrate", summary: "bring the database of a stopped server up to date, as serve does",
			usage: []usageLine{{"", ""}, {"--from sqlite:FILE|postgres://… [--start-over]", "copy a database into the empty one of the settings, from SQLite to PostgreSQL or back"}},
			about: "Back up first: an older version cannot use the database any more. If it is interrupted, nothing was changed.\n\nWith --from, it copies every row, reads both sides again and compares them. Run the same command again after an interruption: it continues. The source is not changed.",
			flags: new(migrateFlags).define, run: migrate},
		{name: "install-claude", summary: "download the newest tested Claude Code, verify it and print its path",
			usage: []usageLine{{"[--into FOLDER]", ""}},
			about: "Its SHA-256 sum is part of this program. If it is already installed, nothing is downloaded. Start the server with it: sayso serve --claude \"$(sayso install-claude)\"",
			flags: new(installClaudeFlags).define, run: installClaude},
		{name: "mcp", summary: "run an MCP server on stdin and stdout, so that an agent can ask people",
			usage: []usageLine{{"--connect FILE", ""}, {"--config FILE", ""}},
			flags: new(mcpFlags).define,
			run: func(ctx context.Context, args []string, std streams) error {
				return mcpVerb(ctx, args, std.in, std.out)
			}},
		{name: "mcp register", summary: "add sayso to the MCP servers of a project's Claude",
			usage: []usageLine{{"[--project FOLDER]", ""}}, flags: new(registerFlags).define,
			run: func(ctx context.Context, args []string, std streams) error {
				return registerVerb(ctx, "register", args, std.out)
			}},
		{name: "mcp unregister", summary: "undo sayso mcp register",
			usage: []usageLine{{"[--project FOLDER]", ""}}, flags: new(registerFlags).define,
			run: func(ctx context.Context, args []string, std streams) error {
				return registerVerb(ctx, "unregister", args, std.out)
			}},
		{name: "mcp stream", summary: "write a configuration file for PromptManager's MCP server",
			usage: []usageLine{{"FILE", ""}}, flags: new(streamFlags).define,
			run: func(ctx context.Context, args []string, std streams) error {
				return streamVerb(ctx, args, std.out)
			}},
		{name: "hook", summary: "answer requests from terminal sessions in sayso",
			usage: []usageLine{
				{"--install", "add the hook to Claude's settings"},
				{"--uninstall", "remove the hook and revoke its token"},
				{"--connect FILE", "run the hook (used by Claude)"},
			},
			flags: new(hookFlags).define,
			run: func(ctx context.Context, args []string, std streams) error {
				return hookVerb(ctx, args, std.in, std.out, std.err)
			}},
		{name: "completion", summary: "print the completion script of a shell",
			usage: []usageLine{{"bash|zsh|fish", ""}},
			about: "Bash:  source <(sayso completion bash)\nZsh:   sayso completion zsh > \"${fpath[1]}/_sayso\"\nFish:  sayso completion fish > ~/.config/fish/completions/sayso.fish",
			run:   func(_ context.Context, args []string, std streams) error { return completion(args, std.out) }},
		{name: "man", summary: "print a man page",
			usage: []usageLine{{"[COMMAND]", ""}},
			about: "To read one: sayso man pending | man -l -",
			run:   func(_ context.Context, args []string, std streams) error { return manPage(args, std.out) }},
		{name: "version", summary: "print the version",
			usage: []usageLine{{"", ""}},
			run: func(_ context.Context, args []string, std streams) error {
				rest, err := parseFlags(newFlags("version", nil), args)
				if err == nil {
					err = noArguments(rest)
				}
				if err == nil {
					printVersion(std.out)
				}
				return err
			}},
		{name: "shim", internal: true, run: func(_ context.Context, args []string, _ streams) error { return shimVerb(args) }},
		{name: "enter", internal: true, run: func(_ context.Context, args []string, _ streams) error { return enter(args) }}, // for sandboxes, as shim is for sessions
	}
}

// findCommand returns the command that args begin with, preferring the longest name, and the
// arguments after it. Without a command it is serve.
func findCommand(args []string) (found verb, rest []string, ok bool) {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
		args = append([]string{"serve"}, args...)
	}
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(words) > len(args) || strings.Join(args[:len(words)], " ") != c.name {
			continue
		}
		if !ok || len(c.name) > len(found.name) {
			found, rest, ok = c, args[len(words):], true
		}
	}
	return found, rest, ok
}

// subcommands returns the first words of the usage lines, if they are literal words.
func (c verb) subcommands() (words []string) {
	for _, line := range c.usage {
		first, _, _ := strings.Cut(line.words, " ")
		if first != "" && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz|") == "" {
			words = append(words, strings.Split(first, "|")...)
		}
	}
	return words
}
