package claude_test

import (
	"os"
	"testing"

	"github.com/sayso-dev/sayso/internal/leak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mcpServer {
		serveMCP(os.Stdin, os.Stdout)
		return
	}
	dir, err := os.MkdirTemp("", "examples")
	if err != nil {
		panic(err)
	}
	exampleDir = dir
	leak.Main(m, func() { os.RemoveAll(dir) })
}
