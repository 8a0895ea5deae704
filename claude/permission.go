package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ToolRequest asks whether a tool may run. Its raw parts are copies and may be kept.
type ToolRequest struct {
	RequestID             string
	ToolName              string
	ToolUseID             string
	AgentID               string // the subagent that asks, "" for the main thread
	Title                 string
	DisplayName           string
	Description           string
	DecisionReason        string // may contain terminal escapes
	DecisionReasonType    string // rule, mode, hook, safetyCheck, …
	BlockedPath           string
	Input                 json.RawMessage // the exact bytes of the request
	PermissionSuggestions json.RawMessage // array of rules to grant, or nil

	// DefaultToNo means that a single accidental keystroke must not approve the request.
	DefaultToNo bool
	// SuppressAlwaysAllowRule means that no rule may be offered or granted with an allow.
	SuppressAlwaysAllowRule bool
	// RequiresUserInteraction means that only a person who has opened the request may approve
	// it.
	RequiresUserInteraction bool
	// MatchedAskRule is the rule in a person's settings that makes the CLI ask, even if
	// DecisionReason gives another reason; nil if there is none.
	MatchedAskRule *AskRule
	// ClassifierApprovable is false when the CLI asks because of a safety check that a person
	// must approve, and nil when there is no such check.
	ClassifierApprovable *bool
	// MCPServer is the server that provides the tool; nil for a built-in tool, and from CLIs
	// that do not send it.
	MCPServer *MCPProvenance

	Raw json.RawMessage // the whole request object
}

// AskRule is a rule of permissions.ask. All fields are untrusted text.
type AskRule struct {
	Source      string `json:"source"` // where it is configured, such as userSettings
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content,omitempty"`
}

// MCPProvenance names an MCP server as configured. Name is untrusted text; Source can be relied on.
type MCPProvenance struct {
	Name   string `json:"name"`
	Source string `json:"source"` // sdk, plugin, user, project, local, dynamic, managed, …
}

// isDemanded reports whether value demands a restriction. Every value does except false, null and
// an absent one, because a CLI that encodes the restriction differently still means it.
func isDemanded(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "false" && string(value) != "null"
}

// ToolDecision answers a [ToolRequest].
type ToolDecision struct {
	Allow bool
	// UpdatedInput is the input to run instead, a JSON object; nil for the original. An empty
	// object is refused unless the original is empty, because the CLI would run the original.
	UpdatedInput json.RawMessage
	// Grant lists permissions to grant with an allow, such as those of
	// [ToolRequest.Suggestions].
	Grant []PermissionUpdate
	// UpdatedPermissions is the same list as a JSON array, or nil. It cannot be combined with
	// Grant.
	UpdatedPermissions json.RawMessage
	// Classification tells the CLI what a person chose, for its statistics: user_temporary,
	// user_permanent or user_reject; "" sends none.
	Classification string
	Message        string // the reason, for the model; a deny without one gets a default sentence
	Interrupt      bool   // with a deny: also end the turn
	// Sent, if not nil, is called once with the result of sending the answer: nil when the
	// transport accepted the whole line, [ErrWithdrawn] or [ErrClosed] when the answer came too
	// late, the error of Send, or the reason why the decision is invalid.
	Sent func(error)
}

// Allow returns the decision to run a tool as requested.
func Allow() ToolDecision { return ToolDecision{Allow: true} }

// Deny returns the decision not to run a tool. The model receives the message.
func Deny(message string) ToolDecision { return ToolDecision{Message: message} }

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
			r.DefaultToNo = isDemanded(f.value)
		case "suppress_always_allow_rule":
			r.SuppressAlwaysAllowRule = isDemanded(f.value)
		case "requires_user_interaction":
			r.RequiresUserInteraction = isDemanded(f.value)
		case "matched_ask_rule":
			if isDemanded(f.value) {
				r.MatchedAskRule = new(AskRule)
				_ = json.Unmarshal(f.value, r.MatchedAskRule) // a rule of another shape is still a rule
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

func handleToolRequest(o *callbacks, id string, body json.RawMessage, fields []field) answerer {
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

// decide encodes an answer. It always contains updatedInput and toolUseID: CLIs before
// 2.1.207 reject an allow without the former, and recognize a repeated answer by the latter.
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
		// Routing checked only its brackets, and the CLI exits on a line of invalid JSON.
		if !json.Valid(r.Input) {
			return nil, errors.New("claude: the original input is no valid JSON")
		}
		b = append(b, r.Input...)
	default:
		b = append(b, `{}`...)
	}
	if d.Grant != nil {
		if d.UpdatedPermissions != nil {
			return nil, errors.New("claude: permissions are granted twice")
		}
		granted, err := marshal(d.Grant)
		if err != nil {
			return nil, fmt.Errorf("claude: granted permissions: %w", err)
		}
		d.UpdatedPermissions = granted
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
	return d.appendEnd(b, r), nil
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
	return d.appendEnd(b, r)
}

// appendEnd appends the fields at the end of both answers.
func (d *ToolDecision) appendEnd(b []byte, r ToolRequest) json.RawMessage {
	b = append(b, `,"toolUseID":`...)
	b = appendString(b, r.ToolUseID)
	if d.Classification != "" {
		b = append(b, `,"decisionClassification":`...)
		b = appendString(b, d.Classification)
	}
	return append(b, '}')
}
