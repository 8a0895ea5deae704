package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
)

// form is an open request as a tab shows it.
type form struct {
	RequestID   string          `json:"request_id"`
	RequestType string          `json:"request_type"`
	ToolUseID   string          `json:"tool_use_id"`
	InputHash   string          `json:"input_hash"`
	Status      string          `json:"status"` // open or orphaned
	ToolInput   json.RawMessage `json:"tool_input"`
	Form        *struct {
		Questions []struct {
			ID       string `json:"id"`
			Question string `json:"question"`
			Kind     string `json:"kind"`
			Options  []struct {
				Label string `json:"label"`
				Value string `json:"value"`
			} `json:"options"`
		} `json:"questions"`
	} `json:"form"`
}

// answer is the answer of a tab: the command as it is sent, and the canonical answer that
// the CLI must receive if this tab wins.
type answer struct {
	CommandID string
	Command   map[string]any
	Expected  string
}

// newAnswer chooses how a tab answers a form. The text of each answer names the tab and the
// request, so that it is unique. Only the first tab also sends plain approvals, which have
// no text.
func newAnswer(tab int, name, sessionID string, f form, random *rand.Rand) (answer, error) {
	a := answer{CommandID: uuid.NewString()}
	a.Command = map[string]any{
		"type": "pending_request_response", "command_id": a.CommandID, "session_id": sessionID,
		"request_id": f.RequestID, "request_type": f.RequestType, "input_hash": f.InputHash,
	}
	mark := fmt.Sprintf("%s on %s in %08x", name, f.ToolUseID, random.Uint32())
	var input map[string]json.RawMessage
	if err := json.Unmarshal(f.ToolInput, &input); err != nil {
		return answer{}, fmt.Errorf("input of request %s: %w", f.RequestID, err)
	}
	choice := random.IntN(3)
	switch {
	case choice == 0:
		a.Command["decision"], a.Command["message"] = "deny", mark
		a.Expected = canonicalAnswer("deny", nil, mark)
	case f.RequestType == "ask_user_question":
		if err := a.fillIn(f, input, mark, choice == 1); err != nil {
			return answer{}, err
		}
	case choice == 1 && tab == 0:
		a.Command["decision"] = "allow"
		a.Expected = canonicalAnswer("allow", f.ToolInput, "")
	default:
		input["command"] = encode(mark)
		a.Command["decision"], a.Command["updated_input"] = "allow", input
		a.Expected = canonicalAnswer("allow", encode(input), "")
	}
	return a, nil
}

// fillIn answers the questions of a form with their first options, and the last one with the
// mark as free text. If short is set, the answers are keyed by the text of the question.
func (a *answer) fillIn(f form, input map[string]json.RawMessage, mark string, short bool) error {
	if f.Form == nil || len(f.Form.Questions) == 0 {
		return fmt.Errorf("request %s is a question without a form", f.RequestID)
	}
	answers, responses := map[string]string{}, []map[string]any{}
	for i, q := range f.Form.Questions {
		last := i == len(f.Form.Questions)-1
		response := map[string]any{"id": q.ID, "values": []string{}}
		text := ""
		if len(q.Options) > 0 && (!last || q.Kind == "multi_select") {
			response["values"], text = []string{q.Options[0].Value}, q.Options[0].Label
		}
		if last {
			response["text"] = mark
			if text != "" {
				text += ", "
			}
			text += mark
		}
		answers[q.Question] = text
		responses = append(responses, response)
	}
	if short {
		a.Command["answers"] = answers
	} else {
		a.Command["responses"] = responses
	}
	input["answers"] = encode(answers)
	a.Expected = canonicalAnswer("allow", encode(input), "")
	return nil
}

// encode returns v as JSON. It panics if v cannot be encoded.
func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
