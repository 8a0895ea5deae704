// Package scriptedmodel serves the Anthropic Messages API on loopback to the real
// Claude CLI, with replies from a script. With it, tests drive the CLI and the demo
// runs without an account.
//
// # Usage
//
//	server, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Options{}))
//	go server.Run(ctx)
//
// Start the CLI with ANTHROPIC_BASE_URL=server.URL(), any ANTHROPIC_API_KEY, a
// separate HOME, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 and
// DISABLE_AUTOUPDATER=1, as in [Server.Environ]. docs/contributing/claude-cli.md
// describes what the CLI then does.
//
// # Scripts
//
// The script is part of the prompt, so that neither a test nor a subagent needs a
// control channel. The last fenced block of this kind that a person typed counts:
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
// "```script demo```" on one line refers to a script by name instead (one of
// Options.Scripts, or "demo"). A conversation without a script uses Options.Default,
// or gets a greeting. Requests that offer no tools are for titles and summaries, and
// get a short text.
//
// A script is a list of replies, or an object {"replies": […], "after": "…"}; after
// is the reply when the list is used up ("Done." by default). The model finds its
// place in the list by counting the assistant messages after the prompt with the
// script, and the replies that were interrupted before their first word.
//
// A reply is a list of blocks, or an object:
//
//	blocks        the list
//	delay_ms      wait before the first byte
//	chunk_ms      wait after each chunk of about two words
//	status        fail with this HTTP status, in the API's format; with retry_after
//	              (seconds) and message
//	stall         never finish; with blocks, stop after half of them
//	cut           drop the connection after half of the blocks
//	stream_error  end the stream with an error of this type after half of the blocks
//	times         fail only this often, then send the blocks ("Done." if there are none)
//	stop_reason   instead of end_turn or tool_use
//	usage         {"input_tokens": 1, "output_tokens": 1, …} instead of an estimate
//
// A block is {"text": …}, {"thinking": …} or {"tool": NAME, "input": {…}}. A "script"
// next to the tool is appended to input.prompt, as the script of a subagent. A block
// with "if" is sent only if the condition holds: the last tool result was "ok" or an
// "error", or a tool is offered ("tool:NAME") or not ("no_tool:NAME").
//
// Texts and the strings of inputs may contain {{last_tool_result}}, {{tool_results}}
// (all since the last reply), {{answers}} (to AskUserQuestion, as a list),
// {{last_user_text}}, {{cwd}}, {{plan_file}} (of plan mode), {{attached}} (type, media
// type, size, hash and title of all images and documents) and {{fill:N}}, N bytes.
//
// If the CLI reports that an MCP server is still connecting, the model waits for it
// with WaitForMcpServers and then repeats its reply. It also repeats a reply if a call
// of an MCP tool was refused as unknown but the tool is now offered.
//
// A script that cannot be parsed is answered with a text that contains the reason.
//
// # Record
//
// [Model.Requests], or GET /_requests as JSON, returns the latest requests, bounded
// in number and size. [Model.AwaitRequest] waits for a request.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. [Server.Run] blocks until its context ends
// and leaves no goroutine behind.
package scriptedmodel
