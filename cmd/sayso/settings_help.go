package main

import (
	"fmt"
	"io"
	"strings"
)

// printSettings prints the settings of a verb for --help.
func printSettings(w io.Writer, verb string) {
	fmt.Fprintf(w, "Usage of sayso %s:\n\n", verb)
	fmt.Fprint(w, "Each setting is a flag, an environment variable (--state-dir is SAYSO_STATE_DIR)\nor an entry of the settings file (state_dir), in this order of precedence.\n\n")
	fmt.Fprintf(w, "  --config FILE\n        settings file (TOML); or SAYSO_CONFIG\n")
	plain := strings.NewReplacer("`", "")
	for _, r := range settingsTable {
		fmt.Fprintf(w, "  --%s (%s)\n        %s", r.name, r.typeName(), plain.Replace(r.help))
		if text := r.defaultText(); text != "" {
			fmt.Fprintf(w, " (default: %s)", plain.Replace(text))
		}
		fmt.Fprintln(w)
	}
}
