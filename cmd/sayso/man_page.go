package main

import (
	"fmt"
	"io"
	"strings"
)

// roff escapes a text for a man page.
func roff(text string) string {
	text = strings.NewReplacer("\\", `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// manPage prints the man page of a command, sayso(1) without one.
func manPage(args []string, w io.Writer) error {
	rest, err := parseFlags(newFlags("man", nil), args)
	if err != nil {
		return err
	}
	head := func(name, summary string) {
		fmt.Fprintf(w, ".TH %s 1 \"\" \"%s\" \"sayso\"\n.SH NAME\n%s \\- %s\n", roff(strings.ToUpper(name)), roff("sayso "+versionText()), roff(name), roff(summary))
	}
	if len(rest) == 0 {
		head("sayso", "put every approval and every question of Claude Code in front of people")
		fmt.Fprint(w, ".SH SYNOPSIS\n.B sayso\n.I COMMAND\n.RI [ FLAGS ]\n.SH COMMANDS\n")
		for _, c := range commands() {
			if !c.internal {
				fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", roff(pageName(c)), roff(c.summary))
			}
		}
		return nil
	}
	c, more, ok := findCommand(rest)
	if !ok || len(more) > 0 || c.internal {
		return usageError("there is no command " + quote(strings.Join(rest, " ")))
	}
	head(pageName(c), c.summary)
	fmt.Fprint(w, ".SH SYNOPSIS\n.nf\n")
	for _, line := range c.usage {
		fmt.Fprintf(w, ".B %s\n", roff(strings.TrimSpace("sayso "+c.name+" "+line.words)))
	}
	fmt.Fprint(w, ".fi\n.SH DESCRIPTION\n")
	for _, line := range c.usage {
		if line.help != "" {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(line.words), roff(line.help))
		}
	}
	if c.about != "" {
		fmt.Fprintf(w, ".PP\n%s\n", strings.ReplaceAll(roff(c.about), "\n\n", "\n.PP\n"))
	}
	if list := c.options(); len(list) > 0 {
		fmt.Fprint(w, ".SH OPTIONS\n")
		for _, o := range list {
			fmt.Fprintf(w, ".TP\n.BI %s \" %s\"\n%s\n", roff("--"+o.name), roff(o.value), roff(o.help))
		}
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n")
	exits := c.exits
	if len(exits) == 0 {
		exits = []exitStatus{{0, "success"}, {1, "an error, which was printed"}, {2, "the command line is wrong"}}
	}
	for _, e := range exits {
		fmt.Fprintf(w, ".TP\n.B %d\n%s\n", e.code, roff(e.meaning))
	}
	fmt.Fprint(w, ".SH SEE ALSO\n.BR sayso (1)\n")
	return nil
}

// pageName returns the name of the man page of a command.
func pageName(c verb) string { return "sayso-" + strings.ReplaceAll(c.name, " ", "-") }
