package runner_test

import (
	"testing"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner"
)

// What is near Claude is called from other hosts, too: each method has a context and an error, and
// between them what JSON carries.
func TestWhatIsNearClaudeCanBeCalledFromAfar(t *testing.T) {
	t.Parallel()
	methods, err := runner.MethodsOf[launch.Runner](&launch.CLI{})
	if err != nil || methods["ResolveFolder"] == nil {
		t.Error(err)
	}
}
