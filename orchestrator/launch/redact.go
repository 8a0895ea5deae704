package launch

import (
	"regexp"
	"strings"
)

var (
	secretName = regexp.MustCompile(`(?i)key|token|secret|password|credential|auth`)
	secretText = regexp.MustCompile(`(?i)\b(?:sk-[a-z0-9_-]{8,}|gh[a-z]_[a-z0-9]{16,}|xox[a-z]-[a-z0-9-]{8,}|bearer\s+\S+|eyJ[a-z0-9_-]{10,}\.[a-z0-9._-]+)|://[^/\s:@]+:[^/\s@]+@`)
)

// Redact replaces in a text the values of environment variables whose names suggest a secret, and
// whatever looks like a secret, by [redacted].
func (c *CLI) Redact(text string) string {
	for _, kv := range c.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) >= 6 && secretName.MatchString(name) {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return secretText.ReplaceAllString(text, "[redacted]")
}
