package claude_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mcpServer {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	goleak.VerifyTestMain(m)
}
