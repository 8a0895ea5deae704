package claude

import (
	"context"
	"encoding/json"
	"fmt"
)

// ElicitationRequest is a question of an MCP server, forwarded by the CLI.
type ElicitationRequest struct {
	RequestID       string
	ServerName      string
	Message         string
	Mode            string // form or url
	URL             string
	ElicitationID   string
	Title           string
	RequestedSchema json.RawMessage // JSON Schema of the content, or nil
	Raw             json.RawMessage // the whole request object
}

// ElicitationAnswer answers an [ElicitationRequest].
type ElicitationAnswer struct {
	Action  string          // accept, decline or cancel
	Content json.RawMessage // with accept: an object that matches the schema
	// Sent, if not nil, is called once with the result of sending the answer, like
	// [ToolDecision.Sent].
	Sent func(error)
}

// HookRequest is a call of a hook that was registered by callback id.
type HookRequest struct {
	RequestID  string
	CallbackID string
	ToolUseID  string
	Input      json.RawMessage
}

// MCPMessageRequest carries a JSON-RPC message to an MCP server in this process.
type MCPMessageRequest struct {
	RequestID  string
	ServerName string
	Message    json.RawMessage
}

// UserDialogRequest asks the host to show a dialog.
type UserDialogRequest struct {
	RequestID  string
	DialogKind string
	ToolUseID  string
	Payload    json.RawMessage
	Raw        json.RawMessage // the whole request object
}

// handlers maps the known subtypes of requests. A handler copies what it needs of body before
// it returns.
var handlers = map[string]func(o *callbacks, id string, body json.RawMessage, fields []field) answerer{
	"can_use_tool":        handleToolRequest,
	"elicitation":         handleElicitation,
	"hook_callback":       handleHook,
	"mcp_message":         handleMCPMessage,
	"request_user_dialog": handleUserDialog,
}

func refuse(problem, code string) answerer {
	return answerer{run: func(context.Context) (response, error) {
		return response{problem: problem, code: code}, nil
	}}
}

func failure(error) response {
	return response{problem: "the host failed for a technical reason"}
}

func handleElicitation(o *callbacks, id string, body json.RawMessage, fields []field) answerer {
	if o.Elicitation == nil {
		return answerer{run: func(context.Context) (response, error) {
			return response{payload: json.RawMessage(`{"action":"decline"}`)}, nil
		}}
	}
	r := readElicitation(id, body, fields)
	return answerer{
		run: func(ctx context.Context) (response, error) {
			a, err := o.Elicitation(ctx, r)
			if err != nil {
				return response{}, err
			}
			payload, err := a.payload()
			if err != nil && a.Sent != nil {
				a.Sent(err)
			}
			return response{payload: payload, sent: a.Sent}, err
		},
		failed: failure,
	}
}

func readElicitation(id string, body json.RawMessage, fields []field) ElicitationRequest {
	return ElicitationRequest{
		RequestID:       id,
		ServerName:      text(lookup(fields, "mcp_server_name")),
		Message:         text(lookup(fields, "message")),
		Mode:            text(lookup(fields, "mode")),
		URL:             text(lookup(fields, "url")),
		ElicitationID:   text(lookup(fields, "elicitation_id")),
		Title:           text(lookup(fields, "title")),
		RequestedSchema: clone(lookup(fields, "requested_schema")),
		Raw:             clone(body),
	}
}

func (a ElicitationAnswer) payload() (json.RawMessage, error) {
	switch a.Action {
	case "accept", "decline", "cancel":
	default:
		return nil, fmt.Errorf("claude: elicitation action %q", a.Action)
	}
	payload := append([]byte(`{"action":"`), a.Action...)
	payload = append(payload, '"')
	if a.Action == "accept" && a.Content != nil {
		content, err := compact(a.Content)
		if err != nil {
			return nil, fmt.Errorf("claude: elicitation content: %w", err)
		}
		payload = append(payload, `,"content":`...)
		payload = append(payload, content...)
	}
	return append(payload, '}'), nil
}

func handleHook(o *callbacks, id string, _ json.RawMessage, fields []field) answerer {
	r := HookRequest{
		RequestID:  id,
		CallbackID: text(lookup(fields, "callback_id")),
		ToolUseID:  text(lookup(fields, "tool_use_id")),
		Input:      clone(lookup(fields, "input")),
	}
	if h := o.hooks[r.CallbackID]; h != nil {
		return h.answerer(r)
	}
	if o.HookCallback == nil {
		return refuse("no hook callback is registered", "")
	}
	return answerer{
		run: func(ctx context.Context) (response, error) {
			return payloadOf(o.HookCallback(ctx, r))
		},
		failed: failure,
	}
}

func handleMCPMessage(o *callbacks, id string, _ json.RawMessage, fields []field) answerer {
	r := MCPMessageRequest{
		RequestID:  id,
		ServerName: text(lookup(fields, "server_name")),
		Message:    clone(lookup(fields, "message")),
	}
	handle := o.MCPMessage
	if local := o.local[r.ServerName]; local != nil {
		handle = local.handle
	}
	if handle == nil {
		return refuse("no MCP server of that name runs in this process", "")
	}
	return answerer{
		run: func(ctx context.Context) (response, error) {
			out, err := handle(ctx, r)
			if err == nil && out == nil {
				// A notification has no response, but the request that carried it needs one.
				out = json.RawMessage(`{"jsonrpc":"2.0","result":{},"id":0}`)
			}
			return wrap(`{"mcp_response":`, out, err)
		},
		failed: failure,
	}
}

func handleUserDialog(o *callbacks, id string, body json.RawMessage, fields []field) answerer {
	cancelled := response{payload: json.RawMessage(`{"behavior":"cancelled"}`)}
	r := UserDialogRequest{
		RequestID:  id,
		DialogKind: text(lookup(fields, "dialog_kind")),
		ToolUseID:  text(lookup(fields, "tool_use_id")),
		Payload:    clone(lookup(fields, "payload")),
		Raw:        clone(body),
	}
	return answerer{
		run: func(ctx context.Context) (response, error) {
			if o.UserDialog == nil {
				return cancelled, nil
			}
			out, err := o.UserDialog(ctx, r)
			return wrap(`{"behavior":"completed","result":`, out, err)
		},
		// The CLI ignores an error here and keeps the dialog parked.
		failed: func(error) response { return cancelled },
	}
}

func payloadOf(v json.RawMessage, err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	if v == nil {
		v = json.RawMessage(`{}`)
	}
	v, err = compact(v)
	return response{payload: v}, err
}

func wrap(prefix string, v json.RawMessage, err error) (response, error) {
	r, err := payloadOf(v, err)
	if err != nil {
		return response{}, err
	}
	r.payload = append(append([]byte(prefix), r.payload...), '}')
	return r, nil
}
