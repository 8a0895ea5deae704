package pending

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of a form for [FormOfQuestions]: far above those of the tool's own schema (4
// questions, 4 options, short labels), and low enough for every tab.
const (
	MaxQuestions     = 50
	MaxOptions       = 50
	MaxLabelBytes    = 1_000
	MaxQuestionBytes = 20_000 // of a question, a header or a description
	MaxPreviewBytes  = 200_000
)

// ErrNoForm: the input contains no questions that can be shown as a form. People see the raw
// input and can only decline.
var ErrNoForm = errors.New("input holds no questions that can be shown")

// FormOfQuestions converts the input of Claude's AskUserQuestion tool to a form. The
// questions have the ids q1, q2 and so on. All are required, and all accept free text,
// because the tool tells the model to offer no "Other" option. A question without options has
// the kind [Text]. Every error is an [ErrNoForm].
func FormOfQuestions(toolInput json.RawMessage) (*Form, error) {
	// Not into structs: encoding/json would accept "Question" for "question" and the last of
	// duplicate keys, so people would see a different form from the CLI's.
	input, err := decode(toolInput)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoForm, err)
	}
	object, _ := input.(map[string]any)
	list, ok := object["questions"].([]any)
	switch {
	case !ok || len(list) == 0:
		return nil, fmt.Errorf("%w: no list of questions", ErrNoForm)
	case len(list) > MaxQuestions:
		return nil, fmt.Errorf("%w: %d questions, at most %d", ErrNoForm, len(list), MaxQuestions)
	}
	form := &Form{Questions: make([]Question, 0, len(list))}
	for i, item := range list {
		q, err := questionOf(item)
		if err != nil {
			return nil, fmt.Errorf("%w: question %d: %w", ErrNoForm, i+1, err)
		}
		q.ID = fmt.Sprintf("q%d", i+1)
		form.Questions = append(form.Questions, q)
	}
	return form, nil
}

func questionOf(item any) (Question, error) {
	object, ok := item.(map[string]any)
	if !ok {
		return Question{}, errors.New("not an object")
	}
	q := Question{Kind: Select, Required: true, FreeText: true}
	var err error
	if q.Question, err = stringOf(object, "question", MaxQuestionBytes); err != nil {
		return Question{}, err
	}
	if strings.TrimSpace(q.Question) == "" {
		return Question{}, errors.New("no text")
	}
	if q.Header, err = stringOf(object, "header", MaxQuestionBytes); err != nil {
		return Question{}, err
	}
	switch multi := object["multiSelect"].(type) {
	case nil:
	case bool:
		if multi {
			q.Kind = MultiSelect
		}
	default:
		return Question{}, errors.New("multiSelect is neither true nor false")
	}
	var options []any
	if raw := object["options"]; raw != nil {
		if options, ok = raw.([]any); !ok {
			return Question{}, errors.New("options are not a list")
		}
	}
	if len(options) > MaxOptions {
		return Question{}, fmt.Errorf("%d options, at most %d", len(options), MaxOptions)
	}
	if len(options) == 0 {
		q.Kind = Text
	}
	for i, item := range options {
		o, err := optionOf(item)
		if err != nil {
			return Question{}, fmt.Errorf("option %d: %w", i+1, err)
		}
		q.Options = append(q.Options, o)
	}
	return q, nil
}

func optionOf(item any) (Option, error) {
	object, ok := item.(map[string]any)
	if !ok {
		return Option{}, errors.New("not an object")
	}
	var o Option
	var err error
	if o.Label, err = stringOf(object, "label", MaxLabelBytes); err != nil {
		return Option{}, err
	}
	if strings.TrimSpace(o.Label) == "" {
		return Option{}, errors.New("no label")
	}
	o.Value = o.Label
	if o.Description, err = stringOf(object, "description", MaxQuestionBytes); err != nil {
		return Option{}, err
	}
	if o.Preview, err = stringOf(object, "preview", MaxPreviewBytes); err != nil {
		return Option{}, err
	}
	return o, nil
}

// stringOf returns a string member of an object, "" when it is missing or null.
func stringOf(object map[string]any, key string, limit int) (string, error) {
	switch v := object[key].(type) {
	case nil:
		return "", nil
	case string:
		if len(v) > limit {
			return "", fmt.Errorf("%s of %d bytes, at most %d", key, len(v), limit)
		}
		return v, nil
	default:
		return "", fmt.Errorf("%s is not a text", key)
	}
}
