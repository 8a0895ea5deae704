package claudetest_test

import (
	"context"
	"fmt"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// A CLI in memory: no process and, under testing/synctest, no real time.
func ExampleCLI() {
	host, side := claudetest.Pipe()
	cli := &claudetest.CLI{Transport: side, Script: claudetest.Script{Turn: []claudetest.Step{
		{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "rm -rf build"}}},
		{Text: "{{last_tool_result}}"},
	}}}
	ended := make(chan int)
	go func() { ended <- cli.Run(context.Background()) }()

	client := claude.NewClient(host, claude.Options{
		CanUseTool: func(_ context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
			return claude.Deny("Keep " + r.ToolName + " out of this."), nil
		},
		OnMessage: func(m claude.Message) {
			switch m := m.(type) {
			case *claude.Assistant:
				if m.Text() != "" {
					fmt.Println(m.Text())
				}
			case *claude.Result:
				host.Close()
			}
		},
	})
	run := make(chan error)
	go func() { run <- client.Run(context.Background()) }()
	_, _ = client.Initialize(context.Background(), claude.InitializeRequest{})
	_ = client.Send(context.Background(), "Clean up.")
	<-run
	<-ended
	// Output: Keep Bash out of this.
}
