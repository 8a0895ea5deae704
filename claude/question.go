package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Question is a question of the model, see [ToolRequest.Questions].
type Question struct {
	Question    string           `json:"question"` // the key of its answer
	Header      string           `json:"header"`
	Options     []QuestionOption `json:"options"`
	MultiSelect bool             `json:"multiSelect"`
}

// QuestionOption is a proposed answer. The person may always write another one.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Preview     string `json:"preview"` // see [Options.QuestionPreview]; untrusted
}

// Questions returns the questions of a request for AskUserQuestion; false for other requests.
// Answer the request with [ToolRequest.Answer], or deny it.
func (r *ToolRequest) Questions() ([]Question, bool) {
	if r.ToolName != "AskUserQuestion" {
		return nil, false
	}
	var in struct {
		Questions []Question `json:"questions"`
	}
	if json.Unmarshal(r.Input, &in) != nil || len(in.Questions) == 0 {
		return nil, false
	}
	return in.Questions, true
}

// Answer returns the decision that answers the questions of r. answers maps the text of each
// question to the label of an option or to another text. For a question with MultiSelect, it joins
// several labels with ", ". A missing or unknown question is an error.
func (r *ToolRequest) Answer(answers map[string]string) (ToolDecision, error) {
	questions, ok := r.Questions()
	if !ok {
		return ToolDecision{}, errors.New("claude: the request asks no questions")
	}
	for _, q := range questions {
		if strings.TrimSpace(answers[q.Question]) == "" {
			return ToolDecision{}, fmt.Errorf("claude: the question %q has no answer", q.Question)
		}
	}
	if len(answers) > len(questions) {
		return ToolDecision{}, errors.New("claude: there are more answers than questions")
	}
	var input map[string]json.RawMessage
	if err := json.Unmarshal(r.Input, &input); err != nil {
		return ToolDecision{}, fmt.Errorf("claude: %w", err)
	}
	given, err := marshal(answers)
	if err != nil {
		return ToolDecision{}, fmt.Errorf("claude: %w", err)
	}
	input["answers"] = given
	updated, err := marshal(input)
	return ToolDecision{Allow: true, UpdatedInput: updated}, err
}
