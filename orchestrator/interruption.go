package orchestrator

import (
	"regexp"
	"strings"

	"github.com/sayso-dev/sayso/claude"
)

// What people read where the CLI itself would speak to the model, or to its makers.
const turnInterrupted = "The turn was interrupted."

// interruption is why the present turn ends before its time, in our words. The zero
// interruption is none that we know of.
type interruption struct {
	reason string
	ended  bool // the process is ended with it, which is said once, at its end
}

// marker reports whether a text is how the CLI tells the model of an interruption.
func marker(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "[Request interrupted by user") && strings.HasSuffix(text, "]")
}

// rejected matches what the CLI makes the result of a call that it cut off.
var rejected = regexp.MustCompile(`(?is)^\s*(<tool_use_error>)?(error: )*(the user doesn't want to (proceed with this tool use|take this action right now)|the request was withdrawn before a person decided|` +
	`request interrupted|\[request interrupted by user|interrupted by user|tool permission (request failed|stream closed)|.{0,80}stream closed before response received|request was aborted|the operation was aborted|aborterror)`)

// result returns what people read as the result of a call that failed with text.
func (i interruption) result(text string) string {
	if i.reason != "" && rejected.MatchString(text) {
		return i.reason
	}
	return text
}

// internal matches the lines that the CLI has for its makers: diagnostics, and the
// stack of an exception.
var internal = regexp.MustCompile(`^\s*(\[ede_diagnostic\]|at .+(:\d+:\d+|\(native\)|<anonymous>)\)?$|undefined$|null$|\[object Object\]$)|\$bunfs`)

// errors returns what people read of the errors of a turn that failed.
func (i interruption) errors(m *claude.Result) string {
	if i.reason != "" && m.Subtype == "error_during_execution" {
		if i.ended {
			return ""
		}
		return i.reason
	}
	var lines []string
	for _, text := range append([]string{m.Text}, m.Errors...) {
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\r\n"); !internal.MatchString(line) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
