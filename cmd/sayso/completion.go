package main

import (
	"fmt"
	"io"
	"strings"
)

// completion prints the completion script of a shell.
func completion(args []string, w io.Writer) error {
	rest, err := parseFlags(newFlags("completion", nil), args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("name one shell: bash, zsh or fish")
	}
	switch rest[0] {
	case "bash":
		completeBash(w)
	case "zsh":
		completeZsh(w)
	case "fish":
		completeFish(w)
	default:
		return usageError("there is no completion for " + quote(rest[0]) + "; name bash, zsh or fish")
	}
	return nil
}

// firstWords returns the words that may follow sayso.
func firstWords() (list []verb) {
	for _, c := range commands() {
		if !c.internal && !strings.Contains(c.name, " ") {
			list = append(list, c)
		}
	}
	return list
}

// nextWords returns the words that may follow a command: those of its usage lines, and those of
// longer names in the table.
func nextWords(c verb) []string {
	words := c.subcommands()
	for _, other := range commands() {
		if rest, ok := strings.CutPrefix(other.name, c.name+" "); ok {
			words = append(words, rest)
		}
	}
	if c.name == "man" {
		for _, other := range firstWords() {
			words = append(words, other.name)
		}
	}
	if c.name == "answer" { // after the id
		words = append(words, "allow", "deny")
	}
	return words
}

func completeBash(w io.Writer) {
	var names []string
	for _, c := range firstWords() {
		names = append(names, c.name)
	}
	fmt.Fprintf(w, `# Completion of sayso for bash. Load it with: source <(sayso completion bash)
_sayso() {
	local current=${COMP_WORDS[COMP_CWORD]} words= flags=--help
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ] && [[ $current != -* ]]; then
		COMPREPLY=($(compgen -W %q -- "$current"))
		return
	fi
	case "${COMP_WORDS[1]} ${COMP_WORDS[2]-}" in
`, strings.Join(names, " "))
	all := commands()
	for i := len(all) - 1; i >= 0; i-- { // names of two words first, because the first match counts
		c := all[i]
		if c.internal {
			continue
		}
		pattern := shellWord(c.name)
		if !strings.Contains(c.name, " ") {
			pattern = c.name + `" "*`
		}
		var flags []string
		for _, o := range c.options() {
			flags = append(flags, "--"+o.name)
		}
		fmt.Fprintf(w, "\t%s) words=%q flags=%q ;;\n", pattern, strings.Join(nextWords(c), " "), strings.Join(append(flags, "--help"), " "))
	}
	fmt.Fprint(w, `	esac
	if [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "$flags" -- "$current"))
	else
		COMPREPLY=($(compgen -W "$words" -- "$current"))
	fi
}
complete -o default -F _sayso sayso
`)
}

func completeZsh(w io.Writer) {
	word := func(text string) string {
		return shellWord(strings.NewReplacer("\\", `\\`, ":", `\:`, "[", `\[`, "]", `\]`).Replace(text))
	}
	fmt.Fprint(w, "#compdef sayso\n# Completion of sayso for zsh. Save it as _sayso in a folder of $fpath.\n_sayso() {\n\tlocal -a names flags\n\tif (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then\n\t\tnames=(\n")
	for _, c := range firstWords() {
		fmt.Fprintf(w, "\t\t\t%s:%s\n", c.name, word(c.summary))
	}
	fmt.Fprint(w, "\t\t)\n\t\t_describe command names\n\t\treturn\n\tfi\n\tcase \"$words[2] $words[3]\" in\n")
	all := commands()
	for i := len(all) - 1; i >= 0; i-- {
		c := all[i]
		if c.internal {
			continue
		}
		pattern := shellWord(c.name)
		if !strings.Contains(c.name, " ") {
			pattern = c.name + `" "*`
		}
		fmt.Fprintf(w, "\t%s)\n\t\tnames=(%s)\n\t\tflags=(\n", pattern, strings.Join(nextWords(c), " "))
		for _, o := range c.options() {
			fmt.Fprintf(w, "\t\t\t--%s:%s\n", o.name, word(o.help))
		}
		fmt.Fprint(w, "\t\t\t--help:'print help'\n\t\t) ;;\n")
	}
	fmt.Fprint(w, "\tesac\n\tif [[ $PREFIX == -* ]]; then\n\t\t_describe -o flag flags\n\telif (( CURRENT == 3 && $#names )); then\n\t\t_describe word names\n\telse\n\t\tcompadd -a names\n\t\t_files\n\tfi\n}\n_sayso \"$@\"\n")
}

func completeFish(w io.Writer) {
	word := func(text string) string {
		return "'" + strings.NewReplacer("\\", `\\`, "'", `\'`).Replace(text) + "'"
	}
	fmt.Fprint(w, "# Completion of sayso for fish. Save it as ~/.config/fish/completions/sayso.fish\n")
	for _, c := range firstWords() {
		fmt.Fprintf(w, "complete -c sayso -f -n __fish_use_subcommand -a %s -d %s\n", c.name, word(c.summary))
	}
	for _, c := range commands() {
		if c.internal {
			continue
		}
		when := "__fish_seen_subcommand_from " + strings.ReplaceAll(c.name, " ", "; and __fish_seen_subcommand_from ")
		if words := nextWords(c); len(words) > 0 {
			fmt.Fprintf(w, "complete -c sayso -f -n %s -a %s\n", word(when), word(strings.Join(words, " ")))
		}
		for _, o := range c.options() {
			takes := ""
			if o.value != "" {
				takes = " -r"
			}
			fmt.Fprintf(w, "complete -c sayso -n %s -l %s%s -d %s\n", word(when), o.name, takes, word(o.help))
		}
	}
}
