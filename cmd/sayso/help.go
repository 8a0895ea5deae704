package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// printCommands prints the list of commands.
func printCommands(w io.Writer) {
	fmt.Fprint(w, "sayso: nothing runs without your say-so\n\n")
	for _, c := range commands() {
		if !c.internal {
			fmt.Fprintf(w, "  sayso %-14s  %s\n", c.name, c.summary)
		}
	}
	fmt.Fprint(w, "\nRun sayso COMMAND --help for its flags. 'sayso serve --help' lists the settings.\n")
}

// option is a flag as --help, completion and man pages show it.
type option struct {
	name, value string // value is the name of its value, "" for a switch
	help        string
}

// options returns the flags of a command, those of the settings last.
func (c verb) options() []option {
	var list []option
	if c.flags != nil {
		newFlags(c.name, c.flags).VisitAll(func(f *flag.Flag) {
			value, help := flag.UnquoteUsage(f)
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
				help += " (default: " + f.DefValue + ")"
			}
			list = append(list, option{f.Name, strings.ToUpper(value), help})
		})
	}
	if c.settings {
		list = append(list, option{"config", "FILE", "settings file (TOML); or SAYSO_CONFIG"})
		plain := strings.NewReplacer("`", "")
		for _, r := range settingsTable {
			help := plain.Replace(r.help)
			if text := r.defaultText(); text != "" {
				help += " (default: " + plain.Replace(text) + ")"
			}
			list = append(list, option{r.name, strings.ToUpper(r.typeName()), help})
		}
	}
	return list
}

// printHelp prints the help of a command.
func printHelp(w io.Writer, c verb) {
	fmt.Fprintf(w, "sayso %s: %s\n\nUsage:\n", c.name, c.summary)
	wide := 0
	for _, line := range c.usage {
		wide = max(wide, len(line.words))
	}
	for _, line := range c.usage {
		words := "  sayso " + c.name
		if line.words != "" {
			words += " " + line.words
		}
		if line.help != "" {
			words += strings.Repeat(" ", wide-len(line.words)) + "   " + line.help
		}
		fmt.Fprintln(w, words)
	}
	if c.about != "" {
		fmt.Fprintf(w, "\n%s\n", c.about)
	}
	if list := c.options(); len(list) > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		if c.settings {
			fmt.Fprint(w, "\nEach setting is a flag, an environment variable (--state-dir is SAYSO_STATE_DIR)\nor an entry of the settings file (state_dir), in this order of precedence.\n\n")
		}
		for _, o := range list {
			fmt.Fprintln(w, strings.TrimRight("  --"+o.name+" "+o.value, " "))
			fmt.Fprintf(w, "        %s\n", o.help)
		}
	}
	if len(c.exits) > 0 {
		fmt.Fprint(w, "\nExit codes:\n")
		for _, e := range c.exits {
			fmt.Fprintf(w, "  %d  %s\n", e.code, e.meaning)
		}
	}
}
