// Command sayso puts every tool approval and every question of Claude Code
// sessions in front of a person.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// version is set at build time; a build without it reports its commit.
var version = ""

const usage = `sayso: nothing runs without your say-so

  sayso serve     run the server (this is what 'sayso' alone does)
  sayso demo      run the server and start a demo session, no Claude account needed
  sayso token     create an API token, a sign-in link with --sign-in, or an
                  agent token with --agent NAME
  sayso user      create users, set passwords and roles, list users
  sayso mcp       run an MCP server on stdin and stdout, so that an agent can ask
                  people; 'sayso mcp register' adds it to a project's Claude
  sayso hook      with --install: also answer requests from Claude in terminals
  sayso audit     verify or print the audit log
  sayso kill-all  stop the processes of all sessions, with or without a server
  sayso doctor    check the installation
  sayso version   print the version

'sayso serve --help' lists the settings. SIGTERM stops the server and leaves
sessions running. SIGHUP reloads settings and certificates.
`

func main() {
	signaled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	// A second signal ends the process at once, which is safe at any time, and does so as soon as
	// anybody can see that the first one arrived.
	context.AfterFunc(signaled, func() { stop(); cancel() })
	// The handler stays until the end, so that a signal after the work is done does not
	// change the exit code.
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs one verb and returns the exit code: 2 for a wrong command line, 1 for any other
// error.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	verb := "serve"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		verb, args = args[0], args[1:]
	} else if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		verb = "help"
	}
	var err error
	switch verb {
	case "serve":
		err = serve(ctx, args, stdout, stderr, false)
	case "demo":
		err = serve(ctx, args, stdout, stderr, true)
	case "token":
		err = token(ctx, args, stdout, stderr)
	case "user":
		err = user(ctx, args, os.Stdin, stdout, stderr)
	case "mcp":
		err = mcpVerb(ctx, args, os.Stdin, stdout, stderr)
	case "hook":
		err = hookVerb(ctx, args, os.Stdin, stdout, stderr)
	case "audit":
		err = audit(ctx, args, stdout, stderr)
	case "kill-all":
		err = killAll(ctx, args, stdout, stderr)
	case "shim":
		err = shimVerb(args)
	case "enter": // for sandboxes, as shim is for sessions
		err = enter(args)
	case "doctor":
		err = doctor(ctx, args, stdout, stderr)
	case "version":
		if len(args) > 0 {
			fmt.Fprintf(stderr, "sayso: version takes no argument %q\n", args[0])
			return 2
		}
		fmt.Fprintln(stdout, "sayso", versionText())
	case "help":
		fmt.Fprint(stdout, usage)
	default:
		fmt.Fprintf(stderr, "sayso: there is no command %q\n\n%s", verb, usage)
		return 2
	}
	return exitCode(err, stderr)
}

// exitCode prints the error of a verb and returns the exit code.
func exitCode(err error, stderr io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	}
	fmt.Fprintln(stderr, "sayso:", err)
	return 1
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "0.0.0-" + s.Value[:12]
			}
		}
	}
	return "0.0.0"
}
