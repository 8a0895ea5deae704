// Package scriptedmodel is the Anthropic Messages API on loopback, for the real
// Claude CLI, with replies that follow a script. Tests drive the CLI with it and
// the demo needs no account.
//
// # Usage
//
//	server, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Options{}))
//	go server.Run(ctx)
//
// The CLI is started with ANTHROPIC_BASE_URL=server.URL(), any ANTHROPIC_API_KEY,
// a HOME of its own, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 and
// DISABLE_AUTOUPDATER=1. docs/contributing/claude-cli.md tells what it then does.
//
// # Scripts
//
// The script rides in the prompt, so that neither a test nor a subagent needs a
// control channel. It is the last fenced block of its kind that a person typed:
//
//	Please touch a file.
//
//	```script
//	[
//	  [{"text": "I touch it."}, {"tool": "Bash", "input": {"command": "touch x"}}],
//	  [{"text": "The tool said: {{last_tool_result}}"}]
//	]
//	```
//
// "```script demo```" on one line names a script instead (Options.Scripts, and
// "demo"). A conversation without a script gets Options.Default, else a greeting.
// Requests that offer no tools are titles and summaries and get a short text.
//
// A script is a list of replies, or an object {"replies": […], "after": "…"}; after
// is said when the replies have run out ("Done." unless given). Which reply comes
// is told by counting the assistant messages after the prompt with the script,
// and the replies that were interrupted before their first word.
//
// A reply is a list of blocks, or an object:
//
//	blocks        the list
//	delay_ms      wait before the first byte
//	chunk_ms      wait after each piece of about two words
//	status        fail with this HTTP status, in the API's shape; with retry_after
//	              (seconds) and message
//	stall         never finish; with blocks: stop after half of them
//	cut           drop the connection after half of the blocks
//	stream_error  end the stream with an error of this type, after half
//	times         fail only so often, then give the blocks ("Done." if there are none)
//	stop_reason   instead of end_turn or tool_use
//	usage         {"input_tokens": 1, "output_tokens": 1, …} instead of an estimate
//
// A block is {"text": …}, {"thinking": …} or {"tool": NAME, "input": {…}}. With a
// "script" beside the tool, that script is appended to input.prompt: a subagent's.
// "if" leaves the block out unless the last tool result was "ok" or an "error", or
// "tool:NAME" (or not: "no_tool:NAME") is on offer.
//
// Texts and the strings of inputs may contain {{last_tool_result}}, {{tool_results}}
// (all since the last reply), {{answers}} (of AskUserQuestion, as a list),
// {{last_user_text}}, {{cwd}}, {{plan_file}} (of plan mode), {{attached}} (type, media
// type, size, hash and title of all images and documents) and {{fill:N}}, N bytes.
//
// Where the CLI says that an MCP server is still connecting, the model waits for it
// with WaitForMcpServers and gives the same reply again. It also does where a call of an
// MCP tool was refused as unknown and the tool is on offer now.
//
// A script that cannot be read is answered by a text that says why.
//
// # Record
//
// [Model.Requests], or GET /_requests as JSON, returns the newest requests, of
// bounded number and size. [Model.AwaitRequest] waits for one.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. [Server.Run] blocks until its context ends
// and leaves no goroutine behind.
package scriptedmodel
