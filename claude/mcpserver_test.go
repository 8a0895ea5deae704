package claude_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// mcpServer as the first argument makes the test program an MCP server on stdio
// with one tool, elicit: it elicits with its arguments and returns what came back.
const mcpServer = "mcp-server"

type rpc struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

func serveMCP(in io.Reader, out io.Writer) {
	lines := bufio.NewReader(in)
	send := func(m rpc) {
		m.JSONRPC = "2.0"
		line, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	calls := map[string]json.RawMessage{} // id of a tools/call by that of its elicitation
	var asked int
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m rpc
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "initialize":
			var p struct {
				ProtocolVersion string `json:"protocolVersion"`
			}
			_ = json.Unmarshal(m.Params, &p)
			send(rpc{ID: m.ID, Result: json.RawMessage(`{"protocolVersion":"` + p.ProtocolVersion + `","capabilities":{"tools":{}},"serverInfo":{"name":"elicitor","version":"1"}}`)})
		case m.Method == "tools/list":
			send(rpc{ID: m.ID, Result: json.RawMessage(`{"tools":[{"name":"elicit","description":"elicits","inputSchema":{"type":"object"}}]}`)})
		case m.Method == "tools/call":
			var p struct {
				Arguments json.RawMessage `json:"arguments"`
			}
			_ = json.Unmarshal(m.Params, &p)
			asked++
			id := fmt.Sprint(asked)
			calls[id] = m.ID
			send(rpc{ID: json.RawMessage(id), Method: "elicitation/create", Params: p.Arguments})
		case m.Method == "" && calls[string(m.ID)] != nil:
			text := string(m.Result)
			if m.Error != nil {
				text = "error " + string(m.Error)
			}
			content, err := json.Marshal([]map[string]string{{"type": "text", "text": text}})
			if err != nil {
				panic(err)
			}
			send(rpc{ID: calls[string(m.ID)], Result: json.RawMessage(`{"content":` + string(content) + `}`)})
			delete(calls, string(m.ID))
		case m.Method != "" && m.ID != nil: // such as the probe of a newer revision
			send(rpc{ID: m.ID, Error: json.RawMessage(`{"code":-32601,"message":"Method not found"}`)})
		}
	}
}
