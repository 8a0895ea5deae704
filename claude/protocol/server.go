package protocol

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// The recorder has two MCP servers with the same tool: one in its process, reached by mcp_message,
// and one on stdio, because only a stdio server can elicit.
const (
	inHost   = "desk"
	onStdio  = "booth"
	toolName = "ask"
)

// ServeMCP serves the MCP server on stdio until in ends. Its tool sends an elicitation with the
// arguments of the call, and returns the answer.
func ServeMCP(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	calls := map[any]any{} // ids of calls, by the id of their elicitation
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		var reply map[string]any
		switch call, isAnswer := calls[m["id"]]; {
		case m.text("method") == "tools/call":
			id := float64(len(calls) + 1) // as JSON decodes it
			calls[id] = m["id"]
			reply = map[string]any{"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": m.at("params", "arguments")}
		case m["method"] == nil && isAnswer:
			answer, err := json.Marshal(m["result"])
			if err != nil {
				return err
			}
			reply = map[string]any{"jsonrpc": "2.0", "id": call, "result": toolResult(string(answer))}
		default:
			reply = serverReply(m)
		}
		if reply == nil {
			continue
		}
		b, err := json.Marshal(reply)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", b); err != nil {
			return err
		}
	}
}

// serverReply returns the reply of either server to a JSON-RPC message, or nil for a notification.
func serverReply(m message) map[string]any {
	if m["id"] == nil {
		return nil
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": m["id"]}
	switch m.text("method") {
	case "initialize":
		reply["result"] = map[string]any{
			"protocolVersion": m.text("params", "protocolVersion"),
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "desk", "version": "1"},
		}
	case "tools/list":
		reply["result"] = map[string]any{"tools": []any{map[string]any{
			"name": toolName, "description": "Asks the desk", "inputSchema": map[string]any{"type": "object"},
			"_meta": map[string]any{"anthropic/alwaysLoad": true},
		}}}
	case "tools/call":
		reply["result"] = toolResult("the desk says 42")
	default:
		reply["error"] = map[string]any{"code": -32601, "message": "Method not found"}
	}
	return reply
}

func toolResult(text string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
}

// serveMCP answers an mcp_message of the CLI.
func (h *host) serveMCP(m message) {
	rpc, _ := m.at("request", "message").(map[string]any)
	reply := serverReply(rpc)
	if reply == nil {
		reply = map[string]any{"jsonrpc": "2.0", "result": map[string]any{}, "id": 0}
	}
	h.answer(m, map[string]any{"mcp_response": reply})
}
