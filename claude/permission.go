package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ToolRequest asks whether a tool may run. Its raw parts are copies and may be
// kept.
type ToolRequest struct {
	RequestID             string
	ToolName              string
	ToolUseID             string
	AgentID               string // the subagent that asks, "" for the main thread
	Title                 string
	DisplayName           string
	Description           string
	DecisionReason        string // may hold terminal escapes
	DecisionReasonType    string // rule, mode, hook, safetyCheck, …
	BlockedPath           string
	Input                 json.RawMessage // byte for byte as asked
	PermissionSuggestions json.RawMessage // array of rules to grant, or nil

	// DefaultToNo: a single stray keystroke must not approve it.
	DefaultToNo bool
	// SuppressAlwaysAllowRule: no rule may be granted with an allow, nor offered.
	SuppressAlwaysAllowRule bool
	// RequiresUserInteraction: nobody may approve it who has not opened it.
	RequiresUserInteraction bool
	// MatchedAskRule is the rule of a person's settings that has the CLI ask, although
	// it gives another reason; nil when there is none.
	MatchedAskRule *AskRule
	// ClassifierApprovable is about the safety checks that have the CLI ask: false when
	// one of them must be approved by a person, nil when there is none.
	ClassifierApprovable *bool
	// MCPServer serves the tool; nil for a tool of the CLI, and from CLIs that do not
	// tell.
	MCPServer *MCPProvenance

	Raw json.RawMessage // the whole request object
}

// AskRule is a rule of permissions.ask. All of it is text from outside.
type AskRule struct {
	Source      string `json:"source"` // where it stands, such as userSettings
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content,omitempty"`
}

// MCPProvenance names an MCP server as its configuration does. All of it is text from
// outside; what Source says can be trusted, what Name says cannot.
type MCPProvenance struct {
	Name   string `json:"name"`
	Source string `json:"source"` // sdk, plugin, user, project, local, dynamic, managed, …
}

// demanded reads a restriction. What is neither false nor absent restricts: a CLI that
// says it in another way meant something.
func demanded(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "false" && string(value) != "null"
}

// ToolDecision answers a [ToolRequest].
type ToolDecision struct {
	Allow bool
	// UpdatedInput is the input to run instead, a JSON object; nil for the
	// original. An empty object is refused unless the original is empty: the CLI
	// would take it for "the original".
	UpdatedInput json.RawMessage
	// UpdatedPermissions are rules to grant with an allow, a JSON array, or nil.
	UpdatedPermissions json.RawMessage
	Message            string // why not, for the model; a deny without one gets a plain sentence
	Interrupt          bool   // with a deny: also end the turn
	// Sent, if not nil, is called once with the fate of the answer: nil when the
	// transport took the whole line, [ErrWithdrawn] or [ErrClosed] when nobody
	// wanted it any more, or what Send returned.
	Sent func(error)
}

const (
	denyPlain   = "The user refused this tool call."
	denyNobody  = "Nobody can be asked for permission here, so the tool was not run."
	denyFailure = "The tool was not run: asking for permission failed for a technical reason. Nobody refused it."
)

func readToolRequest(id string, body json.RawMessage, fields []field) ToolRequest {
	r := ToolRequest{RequestID: id, Raw: clone(body)}
	for _, f := range fields {
		switch string(f.key) {
		case "tool_name":
			r.ToolName = text(f.value)
		case "tool_use_id":
			r.ToolUseID = text(f.value)
		case "agent_id":
			r.AgentID = text(f.value)
		case "title":
			r.Title = text(f.value)
		case "display_name":
			r.DisplayName = text(f.value)
		case "description":
			r.Description = text(f.value)
		case "decision_reason":
			r.DecisionReason = text(f.value)
		case "decision_reason_type":
			r.DecisionReasonType = text(f.value)
		case "blocked_path":
			r.BlockedPath = text(f.value)
		case "input":
			r.Input = clone(f.value)
		case "permission_suggestions":
			if f.value[0] == '[' {
				r.PermissionSuggestions = clone(f.value)
			}
		case "default_to_no":
			r.DefaultToNo = demanded(f.value)
		case "suppress_always_allow_rule":
			r.SuppressAlwaysAllowRule = demanded(f.value)
		case "requires_user_interaction":
			r.RequiresUserInteraction = demanded(f.value)
		case "matched_ask_rule":
			if demanded(f.value) {
				r.MatchedAskRule = new(AskRule)
				_ = json.Unmarshal(f.value, r.MatchedAskRule) // of another shape it is a rule all the same
			}
		case "classifier_approvable":
			if string(f.value) != "null" {
				r.ClassifierApprovable = new(string(f.value) == "true")
			}
		case "mcp_server":
			var server MCPProvenance
			if json.Unmarshal(f.value, &server) == nil && server != (MCPProvenance{}) {
				r.MCPServer = &server
			}
		}
	}
	return r
}

func handleToolRequest(o *Options, id string, body json.RawMessage, fields []field) answerer {
	r := readToolRequest(id, body, fields)
	return answerer{
		run: func(ctx context.Context) (response, error) {
			if o.CanUseTool == nil {
				return response{payload: deny(r, ToolDecision{Message: denyNobody})}, nil
			}
			d, err := o.CanUseTool(ctx, r)
			if err != nil {
				return response{}, err
			}
			payload, err := decide(r, d)
			if err != nil && d.Sent != nil {
				d.Sent(err)
			}
			return response{payload: payload, sent: d.Sent}, err
		},
		failed: func(error) response {
			return response{payload: deny(r, ToolDecision{Message: denyFailure})}
		},
	}
}

// decide makes the payload of an answer. updatedInput and toolUseID are always
// there: CLIs before 2.1.207 fail an allow without the first, and the second is
// the key by which the CLI knows a repeated answer.
func decide(r ToolRequest, d ToolDecision) (json.RawMessage, error) {
	if !d.Allow {
		return deny(r, d), nil
	}
	b := []byte(`{"behavior":"allow","updatedInput":`)
	switch {
	case d.UpdatedInput != nil:
		input, err := compact(d.UpdatedInput)
		if err != nil {
			return nil, fmt.Errorf("claude: updated input: %w", err)
		}
		if !isObject(input) {
			return nil, errors.New("claude: updated input is no JSON object")
		}
		if original, _ := compact(r.Input); string(input) == "{}" && string(original) != "{}" {
			return nil, errors.New("claude: an empty updated input would run the original")
		}
		b = append(b, input...)
	case isObject(r.Input):
		// Routing checked only its brackets, and the CLI exits on a line that is
		// no JSON.
		if !json.Valid(r.Input) {
			return nil, errors.New("claude: the original input is no valid JSON")
		}
		b = append(b, r.Input...)
	default:
		b = append(b, `{}`...)
	}
	if d.UpdatedPermissions != nil {
		rules, err := compact(d.UpdatedPermissions)
		if err != nil {
			return nil, fmt.Errorf("claude: updated permissions: %w", err)
		}
		if rules[0] != '[' {
			return nil, errors.New("claude: updated permissions are no JSON array")
		}
		b = append(b, `,"updatedPermissions":`...)
		b = append(b, rules...)
	}
	b = append(b, `,"toolUseID":`...)
	b = appendString(b, r.ToolUseID)
	return append(b, '}'), nil
}

func deny(r ToolRequest, d ToolDecision) json.RawMessage {
	if d.Message == "" {
		d.Message = denyPlain
	}
	b := []byte(`{"behavior":"deny","message":`)
	b = appendString(b, d.Message)
	if d.Interrupt {
		b = append(b, `,"interrupt":true`...)
	}
	b = append(b, `,"toolUseID":`...)
	b = appendString(b, r.ToolUseID)
	return append(b, '}')
}
