package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
)

// newFlags returns the flags of a command. It prints nothing; [run] prints errors and help.
func newFlags(name string, define func(*flag.FlagSet)) *flag.FlagSet {
	flags := flag.NewFlagSet("sayso "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	if define != nil {
		define(flags)
	}
	return flags
}

// plainFlagError rewords the errors of package flag.
var plainFlagError = strings.NewReplacer(
	"flag provided but not defined: -", "there is no flag --",
	"flag needs an argument: -", "a value is missing for --",
	" for flag -", " for --",
)

// parseFlags parses args and returns the arguments that are not flags. Flags may come before,
// between and after them. Everything after "--" is an argument. The error is flag.ErrHelp or a
// [usageError].
func parseFlags(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, usageError(plainFlagError.Replace(err.Error()))
		}
		parsed := len(args) - flags.NArg()
		if flags.NArg() == 0 || parsed > 0 && args[parsed-1] == "--" {
			return append(rest, flags.Args()...), nil
		}
		rest, args = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
}

// noArguments refuses arguments of a command that takes none.
func noArguments(rest []string) error {
	if len(rest) > 0 {
		return usageError("it takes no argument " + quote(rest[0]))
	}
	return nil
}

func quote(text string) string { return "“" + text + "”" }

// serverFlags name a server by its state folder or its database.
type serverFlags struct{ stateDir, database string }

// settings returns the settings of the server that the flags name.
func (f serverFlags) settings(verb string) (settings, error) {
	var args []string
	if f.stateDir != "" {
		args = append(args, "--state-dir="+f.stateDir)
	}
	if f.database != "" {
		args = append(args, "--database="+f.database)
	}
	s, _, err := readSettings(verb, args, os.Getenv)
	return s, err
}

func (f *serverFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.stateDir, "state-dir", "", "state `folder` of the server")
	flags.StringVar(&f.database, "database", "", "`address` of the server's database")
}
