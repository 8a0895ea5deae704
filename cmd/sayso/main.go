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
	"syscall"
)

func main() {
	signaled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	// A second signal ends the process at once, which is safe at any time. stop comes first, so that
	// this holds before the first signal has any visible effect.
	context.AfterFunc(signaled, func() { stop(); cancel() })
	// The handler stays until the end, so that a signal after the work is done does not
	// change the exit code.
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams of the process.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run runs one command and returns the exit code: 2 for a wrong command line, 1 for any other
// error, unless the command defines other codes.
func run(ctx context.Context, args []string, std streams) int {
	if len(args) > 0 {
		switch args[0] {
		case "-h", "--help", "help":
			return printHelpFor(args[1:], std)
		case "-v", "--version":
			args[0] = "version"
		}
	}
	c, rest, ok := findCommand(args)
	if !ok {
		fmt.Fprintf(std.err, "sayso: there is no command %q\n\n", args[0])
		printCommands(std.err)
		return 2
	}
	err := c.run(ctx, rest, std)
	if errors.Is(err, flag.ErrHelp) {
		printHelp(std.out, c)
		return 0
	}
	if wrong := usageError(""); errors.As(err, &wrong) {
		fmt.Fprintf(std.err, "sayso %s: %s\nRun sayso %s --help for help.\n", c.name, wrong, c.name)
		return 2
	}
	return exitCode(err, std.err)
}

// printHelpFor prints the help of the command that words name, or of all commands.
func printHelpFor(words []string, std streams) int {
	if len(words) == 0 {
		printCommands(std.out)
		return 0
	}
	c, rest, ok := findCommand(words)
	if !ok || len(rest) > 0 || words[0][0] == '-' {
		fmt.Fprintf(std.err, "sayso: there is no command %q\n", words[0])
		return 2
	}
	printHelp(std.out, c)
	return 0
}

// errUsage reports a wrong command line of an internal command. Nothing is printed.
var errUsage = errors.New("usage")

// usageError is a wrong command line; its text says what is wrong.
type usageError string

func (e usageError) Error() string { return string(e) }

// exitError is an error with a specific exit code. Without a text, nothing is printed.
type exitError struct {
	code int
	text string
}

func (e exitError) Error() string { return e.text }

// exitCode prints the error of a command and returns the exit code.
func exitCode(err error, stderr io.Writer) int {
	var own exitError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	case errors.As(err, &own):
		if own.text != "" {
			fmt.Fprintln(stderr, "sayso:", own.text)
		}
		return own.code
	}
	fmt.Fprintln(stderr, "sayso:", err)
	if wrong := usageError(""); errors.As(err, &wrong) {
		return 2
	}
	return 1
}
