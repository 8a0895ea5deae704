package launch_test

import (
	"testing"

	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/launch/launchtest"
)

func TestRunnerOfThisMachine(t *testing.T) {
	t.Parallel()
	launchtest.TestRunner(t, func(_ *testing.T, cli *launch.CLI) launch.Runner { return cli })
}
