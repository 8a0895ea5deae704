package scriptedmodel_test

import (
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// A script for a prompt: the model asks for a command, then reports its result.
func ExampleScript_Fence() {
	s := &scriptedmodel.Script{Replies: []scriptedmodel.Reply{
		{Blocks: []scriptedmodel.Block{{Tool: "Bash", Input: json.RawMessage(`{"command":"touch x"}`)}}},
		{Blocks: []scriptedmodel.Block{{Text: "The tool said: {{last_tool_result}}"}}},
	}}
	fmt.Println("Touch a file.\n\n" + s.Fence())
	// Output:
	// Touch a file.
	//
	// ```script
	// {"replies":[{"blocks":[{"tool":"Bash","input":{"command":"touch x"}}]},{"blocks":[{"text":"The tool said: {{last_tool_result}}"}]}]}
	// ```
}
