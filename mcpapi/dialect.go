package mcpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/pending"
)

// The exact texts of the systems that these tools replace.
const (
	sentenceTimeout      = "User did not respond within the timeout period. Proceeding with your best judgment."
	sentenceThreeMinutes = "No response received within 3 minutes — proceed using your best judgment."
)

// Limits of the replaced systems, or sayso's own where these systems have none.
const (
	maxQuestions    = 10
	maxQuestion     = 1000 // characters, of one of several questions
	maxTitle        = 100
	maxLoneQuestion = pending.MaxQuestionBytes / 4 // characters, of a single question
	maxLabel        = pending.MaxLabelBytes / 4
	maxDescription  = 2000
	minTimeout      = 10_000 // milliseconds
	maxTimeout      = 1_800_000
	defaultTimeout  = 300_000
	threeMinutes    = 3 * time.Minute
)

// parseAskUser parses the input of ask_user. Its keys select the dialect.
func parseAskUser(input object, policy Policy, seed string) (*pending.Form, time.Duration, error) {
	one, several := input.has("question"), input.has("questions")
	switch {
	case one && several:
		return nil, 0, errors.New("give question or questions, not both")
	case several:
		return parseSeveral(input, seed)
	case one:
		form, err := parseOne(input)
		return form, policy.Timeout, err
	}
	return nil, 0, errors.New("question text is required")
}

// parseSeveral parses {questions, title, timeout}.
func parseSeveral(input object, seed string) (*pending.Form, time.Duration, error) {
	list, err := input.list("questions")
	switch {
	case err != nil:
		return nil, 0, err
	case len(list) == 0:
		return nil, 0, errors.New("questions array must have at least 1 item")
	case len(list) > maxQuestions:
		return nil, 0, fmt.Errorf("questions array exceeds maximum of %d", maxQuestions)
	}
	form := &pending.Form{}
	if form.Title, err = input.text("title", maxTitle); err != nil {
		return nil, 0, err
	}
	timeout := float64(defaultTimeout)
	if n, err := input.number("timeout"); err != nil {
		return nil, 0, err
	} else if n != nil {
		timeout = *n
	}
	if timeout != float64(int64(timeout)) || timeout < minTimeout || timeout > maxTimeout {
		return nil, 0, fmt.Errorf("timeout must be an integer between %d and %d", minTimeout, maxTimeout)
	}
	for i, raw := range list {
		q, err := parseMember(raw)
		if err != nil {
			return nil, 0, err
		}
		if q.ID != "" && slices.ContainsFunc(form.Questions, func(other pending.Question) bool { return other.ID == q.ID }) {
			return nil, 0, fmt.Errorf("question id %q is given twice", q.ID)
		}
		if q.ID == "" {
			q.ID = "q_" + digest(seed, fmt.Sprint(i))[:6]
		}
		form.Questions = append(form.Questions, q)
	}
	return form, time.Duration(timeout) * time.Millisecond, nil
}

// parseMember parses one of several questions.
func parseMember(raw json.RawMessage) (pending.Question, error) {
	input, err := parseObject(raw)
	if err != nil {
		return pending.Question{}, errors.New("every question must be an object")
	}
	var q pending.Question
	if q.ID, err = input.text("id", 200); err != nil {
		return pending.Question{}, err
	}
	if q.Question, err = questionText(input, maxQuestion); err != nil {
		return pending.Question{}, err
	}
	kind, err := input.text("type", 20)
	if err != nil {
		return pending.Question{}, err
	}
	kinds := map[string]pending.QuestionKind{"": pending.Text, "text": pending.Text, "select": pending.Select,
		"multi-select": pending.MultiSelect, "confirm": pending.Confirm}
	if q.Kind = kinds[kind]; q.Kind == "" {
		return pending.Question{}, errors.New("type must be one of text, select, multi-select, confirm")
	}
	if q.Required, err = input.flag("required", true); err != nil {
		return pending.Question{}, err
	}
	if q.Placeholder, err = input.text("placeholder", maxQuestion); err != nil {
		return pending.Question{}, err
	}
	options, err := input.list("options")
	if err != nil {
		return pending.Question{}, err
	}
	if q.Kind != pending.Select && q.Kind != pending.MultiSelect {
		q.FreeText = q.Kind == pending.Text
		return q, nil
	}
	q.FreeText = true
	switch {
	case len(options) == 0:
		return pending.Question{}, errorMessage("Options required for select/multi-select types")
	case len(options) > pending.MaxOptions:
		return pending.Question{}, fmt.Errorf("options array exceeds maximum of %d", pending.MaxOptions)
	}
	for _, raw := range options {
		var label string
		if err := json.Unmarshal(raw, &label); err != nil || isMissing(raw) {
			return pending.Question{}, errors.New("every option must be a string")
		}
		if err := addOption(&q, label, label, ""); err != nil {
			return pending.Question{}, err
		}
	}
	return q, nil
}

func questionText(input object, limit int) (string, error) {
	text, err := input.text("question", limit)
	switch {
	case err != nil && strings.Contains(err.Error(), "exceeds"):
		return "", fmt.Errorf("question text exceeds maximum of %d characters", limit)
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "", errors.New("question text is required")
	}
	return text, nil
}

// parseOne parses {question, options, multiSelect}.
func parseOne(input object) (*pending.Form, error) {
	q := pending.Question{ID: "q1", Kind: pending.Text, Required: true, FreeText: true}
	var err error
	if q.Question, err = questionText(input, maxLoneQuestion); err != nil {
		return nil, err
	}
	multi, err := input.flag("multiSelect", false)
	if err != nil {
		return nil, err
	}
	if err := parseOptions(input, &q, false); err != nil {
		return nil, err
	}
	if len(q.Options) > 0 {
		q.Kind = pending.Select
		if multi {
			q.Kind = pending.MultiSelect
		}
	}
	return &pending.Form{Questions: []pending.Question{q}}, nil
}

// parseOptions parses options {label, description}, with a separate value where the dialect
// has one.
func parseOptions(input object, q *pending.Question, withValues bool) error {
	options, err := input.list("options")
	switch {
	case err != nil:
		return err
	case len(options) > pending.MaxOptions:
		return fmt.Errorf("options array exceeds maximum of %d", pending.MaxOptions)
	}
	for _, raw := range options {
		o, err := parseObject(raw)
		if err != nil || isMissing(raw) {
			return errors.New("every option must be an object")
		}
		label, err := o.text("label", maxLabel)
		if err != nil {
			return err
		}
		description, err := o.text("description", maxDescription)
		if err != nil {
			return err
		}
		value := label
		if withValues {
			if value, err = o.text("value", maxLabel); err != nil {
				return err
			}
			if strings.TrimSpace(value) == "" {
				return errors.New("every option needs a value")
			}
		}
		if err := addOption(q, label, value, description); err != nil {
			return err
		}
	}
	return nil
}

// addOption adds an option. It refuses a duplicate value, because answers could not
// distinguish them.
func addOption(q *pending.Question, label, value, description string) error {
	switch {
	case strings.TrimSpace(label) == "":
		return errors.New("every option needs a label")
	case len([]rune(label)) > maxLabel:
		return fmt.Errorf("option exceeds maximum of %d characters", maxLabel)
	case slices.ContainsFunc(q.Options, func(o pending.Option) bool { return o.Value == value }):
		return fmt.Errorf("option %q is given twice", value)
	}
	q.Options = append(q.Options, pending.Option{Label: label, Value: value, Description: description})
	return nil
}

// parseAskQuestion parses {question, options, allow_free_text}.
func parseAskQuestion(input object) (*pending.Form, error) {
	q := pending.Question{ID: "q1", Kind: pending.Text, Required: true}
	var err error
	if q.Question, err = questionText(input, maxLoneQuestion); err != nil {
		return nil, err
	}
	if q.FreeText, err = input.flag("allow_free_text", true); err != nil {
		return nil, err
	}
	if err := parseOptions(input, &q, true); err != nil {
		return nil, err
	}
	switch {
	case len(q.Options) > 0:
		q.Kind = pending.Select
	case !q.FreeText:
		return nil, errors.New("options are required where allow_free_text is false")
	}
	return &pending.Form{Questions: []pending.Question{q}}, nil
}

// result returns the result of a tool whose request has ended, in its dialect.
func (s *Server) result(c *call, policy Policy, row pending.Request) *mcp.CallToolResult {
	if row.Status == pending.Answered || row.Status == pending.Denied {
		c.gate.flushed.Store(false) // progress was flushed; the answer may never be written
		c.answered = row.RequestID
	}
	switch {
	case row.RequestType == pending.ToolApproval:
		return approvalResult(row)
	case row.ToolName == toolAskUser && hasSeveralQuestions(row):
		return severalResult(row)
	}
	if row.Status == pending.Answered {
		switch text := oneAnswer(row); {
		case row.ToolName == toolAskUser:
			return textResult("User selected: " + text)
		case row.ToolName == toolAskQuestion && !policy.BareAnswer:
			return textResult(encodeJSON(struct {
				Answer string `json:"answer"`
			}{text}))
		default:
			return textResult(text)
		}
	}
	if row.Status == pending.Expired {
		switch row.ToolName {
		case toolAskUser:
			return errorResult(sentenceTimeout)
		case toolAskUserThreeMinutes:
			return textResult(sentenceThreeMinutes)
		}
		return errorResult("Nobody answered in time.")
	}
	return errorResult(noAnswer(row))
}

// noAnswer returns the reason for a missing answer.
func noAnswer(row pending.Request) string {
	switch {
	case row.Status == pending.Denied && row.Resolution.Answer != nil && row.Resolution.Answer.Message != "":
		return "The user declined to answer: " + row.Resolution.Answer.Message
	case row.Status == pending.Denied:
		return "The user declined to answer."
	case row.Status == pending.Expired:
		return "Nobody answered in time."
	case row.Resolution != nil && row.Resolution.Reason != "":
		return "The question was withdrawn: " + row.Resolution.Reason
	}
	return "The question was withdrawn."
}

// hasSeveralQuestions reports whether ask_user was called with several questions.
func hasSeveralQuestions(row pending.Request) bool {
	input, err := parseObject(row.ToolInput)
	return err == nil && input.has("questions")
}

// outcome is the output of ask_user with several questions.
type outcome struct {
	Answered  bool            `json:"answered"`
	Cancelled bool            `json:"cancelled"`
	TimedOut  bool            `json:"timedOut"`
	Answers   []outcomeAnswer `json:"answers"`
}

type outcomeAnswer struct {
	QuestionID string   `json:"questionId"`
	Values     []string `json:"values"`
	CustomText string   `json:"customText,omitempty"`
}

func severalResult(row pending.Request) *mcp.CallToolResult {
	o := outcome{Answers: []outcomeAnswer{}}
	switch row.Status {
	case pending.Answered:
		o.Answered = true
	case pending.Denied:
		o.Cancelled = true
	case pending.Expired:
		o.TimedOut = true
	default:
		return errorResult(noAnswer(row))
	}
	if !o.Answered {
		return textResult(encodeJSON(o))
	}
	for _, q := range row.Form.Questions {
		a := outcomeAnswer{QuestionID: q.ID, Values: []string{}} // stays empty if the question was skipped
		if given, ok := responseTo(row, q.ID); ok {
			a.Values = append(a.Values, given.Values...)
			switch {
			case q.Kind == pending.Text && given.Text != "":
				a.Values = append(a.Values, given.Text)
			case q.Kind != pending.Text:
				a.CustomText = given.Text
			}
		}
		o.Answers = append(o.Answers, a)
	}
	return textResult(encodeJSON(o))
}

func responseTo(row pending.Request, questionID string) (pending.Response, bool) {
	for _, r := range row.Resolution.Answer.Responses {
		if r.ID == questionID {
			return r, true
		}
	}
	return pending.Response{}, false
}

// oneAnswer returns the answer to a single question: the values of the chosen options,
// followed by any free text.
func oneAnswer(row pending.Request) string {
	var words []string
	for _, r := range row.Resolution.Answer.Responses {
		words = append(words, r.Values...)
		if r.Text != "" {
			words = append(words, r.Text)
		}
	}
	return strings.Join(words, ", ")
}

// approvalResult returns the result for a Claude that was started with
// --permission-prompt-tool.
func approvalResult(row pending.Request) *mcp.CallToolResult {
	type allow struct {
		Behavior           string          `json:"behavior"`
		UpdatedInput       json.RawMessage `json:"updatedInput"`
		UpdatedPermissions json.RawMessage `json:"updatedPermissions,omitempty"`
	}
	type deny struct {
		Behavior  string `json:"behavior"`
		Message   string `json:"message"`
		Interrupt bool   `json:"interrupt,omitempty"`
	}
	switch a := row.Resolution.Answer; {
	case row.Status == pending.Answered && a != nil:
		input := row.ToolInput
		if a.UpdatedInput != nil {
			input = a.UpdatedInput
		}
		return textResult(encodeJSON(allow{"allow", input, a.UpdatedPermissions}))
	case row.Status == pending.Denied && a != nil:
		message := a.Message
		if message == "" {
			message = pending.DeniedAction
		}
		return textResult(encodeJSON(deny{"deny", message, a.Interrupt}))
	case row.Status == pending.Expired:
		return textResult(encodeJSON(deny{"deny", "Nobody answered in time.", false}))
	}
	return textResult(encodeJSON(deny{"deny", "The request was withdrawn before a person decided.", false}))
}
