package launch_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/orchestrator/launch"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	c := &launch.CLI{Environ: []string{"ANTHROPIC_API_KEY=made-up-value", "PATH=/usr/bin", "MY_TOKEN=abc"}}
	got := c.Redact("key made-up-value, sk-ant-api03-xxxxxxxx, Bearer abc.def, https://ada:pass@host/, /usr/bin, abcdef, ghp_0123456789abcdef01")
	for _, secret := range []string{"made-up-value", "sk-ant", "abc.def", "ada:pass", "ghp_"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q is left in %q", secret, got)
		}
	}
	for _, text := range []string{"/usr/bin", "abcdef", "host/"} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is gone from %q", text, got)
		}
	}
}
