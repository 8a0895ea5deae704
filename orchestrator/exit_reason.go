package orchestrator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// exitSentence tells a person why a CLI exited that nobody ended.
func (p *process) exitSentence(conn launch.Conn, startError error) string {
	p.mu.Lock()
	noise := p.firstNoise
	p.mu.Unlock()
	said := lastLine(conn.Stderr())
	if said == "" {
		said = noise
	}
	if said != "" {
		said = " It said: " + said
	}
	switch {
	case errors.Is(startError, errRubbish):
		return "The program does not speak Claude's protocol." + said
	case errors.Is(startError, errNoAnswer):
		return fmt.Sprintf("Claude did not answer within %s after it was started.%s", words(p.o.rules().Limits.Start), said)
	case errors.Is(startError, errNobody):
		path, _ := p.o.o.CLI.Find() // it ran just now
		return launch.NotSignedIn(path)
	case startError != nil && !errors.Is(startError, errGone):
		return fmt.Sprintf("Claude did not start properly: %v.%s", startError, said)
	}
	when := "The Claude process ended by itself"
	if p.leftover != nil && errors.Is(startError, errGone) {
		when = "The Claude process ended while the server was away"
	} else if errors.Is(startError, errGone) {
		when = "Claude ended as soon as it was started"
	}
	if err := conn.ExitError(); err != nil {
		return fmt.Sprintf("%s (%v).%s", when, err, said)
	}
	return when + "." + said
}

// lastLine returns the last line of a text, truncated to fit a banner.
func lastLine(text string) string {
	const limit = 300
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := []rune(strings.TrimSpace(lines[len(lines)-1]))
	if len(line) > limit {
		line = append(line[:limit-1], '…')
	}
	return string(line)
}
