package pending

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/problem"
)

// MaxChoices bounds the choices of one property of an elicitation, enough for a list of
// countries.
const MaxChoices = 500

// maxSafeInteger is the largest integer that every JSON parser represents exactly.
const maxSafeInteger = 1<<53 - 1

// consentID is the id of the only question of an elicitation without values: yes accepts it,
// no declines it.
const consentID = "accept"

// FormOfElicitation converts an MCP server's elicitation, as the CLI forwards it, to a form:
// {message, mode, requested_schema, property_order, url}. In form mode each property of the
// schema becomes a question with the property's name as its id. A schema without properties,
// and url mode, become one yes-or-no question. The URL stays in the input and is not part of
// the form.
//
// It supports strings (minLength, maxLength, pattern, format), numbers and integers (minimum,
// maximum), booleans, enums (enum, enumNames, oneOf) and lists of them (minItems, maxItems),
// with title, description, default and required. The MCP server checks other keywords. Other
// types, and a URL that is not http or https, return [ErrNoForm].
func FormOfElicitation(input json.RawMessage) (*Form, error) {
	e, err := readElicitation(input)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoForm, err)
	}
	if len(e.properties) == 0 {
		return &Form{Questions: []Question{{ID: consentID, Question: e.message, Kind: Confirm, Required: true}}}, nil
	}
	form := &Form{Title: e.message}
	for _, p := range e.properties {
		form.Questions = append(form.Questions, p.question)
	}
	return form, nil
}

// ElicitationResult returns the result for the MCP server once a person has answered: the
// action accept or decline and, for an accept in form mode, the content, an object whose
// values have the types of the schema.
func ElicitationResult(r Request, a Answer) (action string, content json.RawMessage, err error) {
	if a.Decision == Deny {
		return "decline", nil, nil
	}
	e, err := readElicitation(r.ToolInput)
	if err != nil {
		return "", nil, fmt.Errorf("pending: result of elicitation %s: %w", r.RequestID, err)
	}
	if len(e.properties) == 0 {
		if response, ok := a.response(consentID); ok && slices.Equal(response.Values, []string{no}) {
			return "decline", nil, nil
		}
	}
	if e.byURL {
		return "accept", nil, nil
	}
	values := map[string]any{}
	for _, p := range e.properties {
		response, ok := a.response(p.question.ID)
		if !ok && !(p.required && p.kind == listProperty) {
			continue // an empty list is a valid answer
		}
		if values[p.question.ID], ok = p.parseValue(response); !ok {
			return "", nil, fmt.Errorf("pending: result of elicitation %s: %w", r.RequestID, ErrInvalid)
		}
	}
	content, err = json.Marshal(values)
	return "accept", content, err
}

// checkElicitation validates an answer to an elicitation against its schema.
func checkElicitation(r Request, a Answer) error {
	e, err := readElicitation(r.ToolInput)
	if err != nil {
		return problem.New("questions_unreadable")
	}
	for _, p := range e.properties {
		if response, ok := a.response(p.question.ID); ok {
			if _, fits := p.parseValue(response); !fits {
				return problem.For(p.question.ID, "question_value", "question", displayName(p.question), "expected", p.expectation())
			}
		}
	}
	return nil
}

// elicitation is a parsed elicitation that can be shown.
type elicitation struct {
	message    string
	byURL      bool
	properties []property
}

type propertyKind int

const (
	stringProperty propertyKind = iota
	numberProperty
	integerProperty
	booleanProperty
	enumProperty
	listProperty
)

// property is one value that the server asks for.
type property struct {
	question Question
	kind     propertyKind
	required bool // required by the schema
	format   Format
	pattern  *regexp.Regexp // nil for none
	min, max *float64       // of the length, the number or the count; nil for none
}

func readElicitation(input json.RawMessage) (elicitation, error) {
	decoded, err := decode(input)
	if err != nil {
		return elicitation{}, err
	}
	object, _ := decoded.(map[string]any)
	var e elicitation
	if e.message, err = stringOf(object, "message", MaxQuestionBytes); err != nil {
		return elicitation{}, err
	}
	if strings.TrimSpace(e.message) == "" {
		return elicitation{}, errors.New("no message")
	}
	mode, err := stringOf(object, "mode", MaxLabelBytes)
	if err != nil {
		return elicitation{}, err
	}
	switch mode {
	case "url":
		e.byURL = true
		address, err := stringOf(object, "url", MaxQuestionBytes)
		if err != nil {
			return elicitation{}, err
		}
		if to, err := url.Parse(address); err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
			return elicitation{}, errors.New("the address is not one of the web")
		}
		return e, nil
	case "form", "":
	default:
		return elicitation{}, fmt.Errorf("mode %q", mode)
	}
	schema, ok := object["requested_schema"].(map[string]any)
	if !ok {
		if object["requested_schema"] == nil {
			return e, nil
		}
		return elicitation{}, errors.New("the schema is not an object")
	}
	if t := schema["type"]; t != nil && t != "object" {
		return elicitation{}, errors.New("the schema is not that of an object")
	}
	e.properties, err = propertiesOf(schema, orderOf(input, object))
	return e, err
}

func propertiesOf(schema map[string]any, order []string) ([]property, error) {
	if schema["properties"] == nil {
		return nil, nil
	}
	described, ok := schema["properties"].(map[string]any)
	switch {
	case !ok:
		return nil, errors.New("the properties are not an object")
	case len(described) > MaxQuestions:
		return nil, fmt.Errorf("%d properties, at most %d", len(described), MaxQuestions)
	}
	required := map[string]bool{}
	list, _ := schema["required"].([]any)
	for _, item := range list {
		key, _ := item.(string)
		if described[key] == nil {
			return nil, fmt.Errorf("%q is required and not described", key)
		}
		required[key] = true
	}
	keys := slices.DeleteFunc(order, func(key string) bool { return described[key] == nil })
	for _, key := range sortedKeys(described) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	properties := make([]property, 0, len(keys))
	for _, key := range keys {
		object, _ := described[key].(map[string]any)
		p, err := propertyOf(key, object, required[key])
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", singleLine(key, maxNameRunes), err)
		}
		properties = append(properties, p)
	}
	return properties, nil
}

// orderOf returns the names of the properties in the order of the MCP server, as far as it is
// known: new CLIs send it as property_order, old ones preserve it in the schema.
func orderOf(input json.RawMessage, object map[string]any) []string {
	var order []string
	add := func(key string) {
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
	}
	if list, ok := object["property_order"].([]any); ok && len(list) <= MaxQuestions {
		for _, item := range list {
			if key, ok := item.(string); ok {
				add(key)
			}
		}
		return order
	}
	var raw struct {
		Schema struct {
			Properties json.RawMessage `json:"properties"`
		} `json:"requested_schema"`
	}
	if json.Unmarshal(input, &raw) != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw.Schema.Properties))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for d.More() && len(order) < MaxQuestions {
		key, err := d.Token()
		var skipped json.RawMessage
		if err != nil || d.Decode(&skipped) != nil {
			return nil
		}
		add(key.(string))
	}
	return order
}

func propertyOf(key string, object map[string]any, required bool) (property, error) {
	p := property{required: required, question: Question{ID: key, Required: required}}
	q := &p.question
	if len(key) > MaxLabelBytes {
		return p, fmt.Errorf("name of %d bytes, at most %d", len(key), MaxLabelBytes)
	}
	title, err := stringOf(object, "title", MaxLabelBytes)
	if err != nil {
		return p, err
	}
	if strings.TrimSpace(title) == "" {
		title = key
	}
	description, err := stringOf(object, "description", MaxQuestionBytes)
	if err != nil {
		return p, err
	}
	q.Question, q.Description = title, strings.TrimSpace(description)
	minimum, maximum := "", ""
	switch t := object["type"]; t {
	case "string":
		q.Kind, q.FreeText = Text, true
		if q.Options, err = choicesOf(object); err != nil {
			return p, err
		}
		if q.Options != nil {
			p.kind, q.Kind, q.FreeText = enumProperty, Select, false
			break
		}
		minimum, maximum = "minLength", "maxLength"
		format, err := stringOf(object, "format", MaxLabelBytes)
		if err != nil {
			return p, err
		}
		p.format = Format(format)
		pattern, err := stringOf(object, "pattern", MaxLabelBytes)
		if err != nil {
			return p, err
		}
		if pattern != "" {
			// The server checks patterns that this engine does not support.
			p.pattern, _ = regexp.Compile(pattern)
		}
	case "number", "integer":
		p.kind, q.Kind, q.FreeText = numberProperty, Text, true
		if t == "integer" {
			p.kind = integerProperty
		}
		minimum, maximum = "minimum", "maximum"
	case "boolean":
		p.kind, q.Kind = booleanProperty, Confirm
	case "array":
		p.kind, q.Kind = listProperty, MultiSelect
		items, _ := object["items"].(map[string]any)
		if t := items["type"]; t != nil && t != "string" {
			return p, fmt.Errorf("a list of %v", t)
		}
		if q.Options, err = choicesOf(items); err != nil {
			return p, err
		}
		if q.Options == nil {
			return p, errors.New("a list without choices")
		}
		minimum, maximum = "minItems", "maxItems"
	default:
		return p, fmt.Errorf("type %v", t)
	}
	if p.min, err = numberOf(object, minimum); err != nil {
		return p, err
	}
	if p.max, err = numberOf(object, maximum); err != nil {
		return p, err
	}
	if p.kind == listProperty {
		q.Required = required && p.min != nil && *p.min > 0
	}
	p.setBounds(q)
	q.Placeholder = p.hint()
	q.Default = p.defaultOf(object["default"])
	return p, nil
}

// setBounds copies the bounds of the property to the question.
func (p property) setBounds(q *Question) {
	count := func(f *float64) int {
		if f == nil || *f < 0 {
			return 0
		}
		return int(min(*f, MaxTextBytes))
	}
	switch p.kind {
	case stringProperty:
		if formats[p.format] != "" {
			q.Format = p.format
		}
		q.MinLength, q.MaxLength = count(p.min), count(p.max)
	case numberProperty:
		q.Format, q.Minimum, q.Maximum = Number, p.min, p.max
	case integerProperty:
		q.Format, q.Minimum, q.Maximum = Integer, p.min, p.max
	case listProperty:
		q.MinItems, q.MaxItems = count(p.min), count(p.max)
	}
}

func numberOf(object map[string]any, key string) (*float64, error) {
	if key == "" || object[key] == nil {
		return nil, nil
	}
	n, ok := object[key].(json.Number)
	if !ok {
		return nil, fmt.Errorf("%s is not a number", key)
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return &f, nil
}

// choicesOf returns the choices of an enum in any notation; nil when the schema has none.
func choicesOf(object map[string]any) ([]Option, error) {
	titled := object["oneOf"]
	if titled == nil {
		titled = object["anyOf"]
	}
	values, labels := []string{}, []string{}
	switch {
	case titled != nil:
		list, ok := titled.([]any)
		if !ok {
			return nil, errors.New("the choices are not a list")
		}
		for _, item := range list {
			choice, _ := item.(map[string]any)
			value, ok := choice["const"].(string)
			if !ok {
				return nil, errors.New("a choice is not a text")
			}
			title, err := stringOf(choice, "title", MaxLabelBytes)
			if err != nil {
				return nil, err
			}
			values, labels = append(values, value), append(labels, title)
		}
	case object["enum"] != nil:
		list, ok := object["enum"].([]any)
		if !ok {
			return nil, errors.New("the choices are not a list")
		}
		names, _ := object["enumNames"].([]any)
		for i, item := range list {
			value, ok := item.(string)
			if !ok {
				return nil, errors.New("a choice is not a text")
			}
			label := ""
			if i < len(names) {
				label, _ = names[i].(string)
			}
			values, labels = append(values, value), append(labels, label)
		}
	default:
		return nil, nil
	}
	if len(values) == 0 || len(values) > MaxChoices {
		return nil, fmt.Errorf("%d choices, at least 1 and at most %d", len(values), MaxChoices)
	}
	options := make([]Option, 0, len(values))
	for i, value := range values {
		label := labels[i]
		if strings.TrimSpace(label) == "" {
			label = value
		}
		if strings.TrimSpace(label) == "" {
			label = "(empty)"
		}
		if len(value) > MaxLabelBytes || len(label) > MaxLabelBytes {
			return nil, fmt.Errorf("choice %d is longer than %d bytes", i+1, MaxLabelBytes)
		}
		if slices.ContainsFunc(options, func(o Option) bool { return o.Value == value }) {
			return nil, fmt.Errorf("the choice %q is listed twice", singleLine(value, maxNameRunes))
		}
		options = append(options, Option{Label: label, Value: value})
	}
	return options, nil
}

// defaultOf returns the default, or nil if the property itself does not allow it.
func (p property) defaultOf(v any) []string {
	var response Response
	switch v := v.(type) {
	case string:
		if response.Text = v; p.kind == enumProperty {
			response = Response{Values: []string{v}}
		}
	case json.Number:
		response.Text = v.String()
	case bool:
		response.Values = []string{no}
		if v {
			response.Values = []string{yes}
		}
	case []any:
		for _, item := range v {
			value, _ := item.(string)
			response.Values = append(response.Values, value)
		}
	}
	if response.Text == "" && len(response.Values) == 0 {
		return nil
	}
	if _, fits := p.parseValue(response); !fits {
		return nil
	}
	if len(response.Values) > 0 {
		return response.Values
	}
	return []string{response.Text}
}

// parseValue converts a response to the property's type.
func (p property) parseValue(response Response) (v any, ok bool) {
	text := strings.TrimSpace(response.Text)
	switch p.kind {
	case stringProperty:
		if formats[p.format] == "" {
			text = response.Text
		}
		ok = len(response.Values) == 0 && p.hasFormat(text) && !p.isOutOfBounds(float64(utf8.RuneCountInString(text))) &&
			(p.pattern == nil || p.pattern.MatchString(text))
		return text, ok
	case integerProperty:
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && n <= maxSafeInteger && n >= -maxSafeInteger && !p.isOutOfBounds(float64(n))
	case numberProperty:
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil && strings.Trim(text, "0123456789.eE+-") == "" && !p.isOutOfBounds(f)
	case booleanProperty:
		return slices.Equal(response.Values, []string{yes}), slices.Equal(response.Values, []string{yes}) || slices.Equal(response.Values, []string{no})
	}
	for _, v := range response.Values {
		if !slices.ContainsFunc(p.question.Options, func(o Option) bool { return o.Value == v }) {
			return nil, false
		}
	}
	if p.kind == enumProperty {
		if len(response.Values) != 1 {
			return nil, false
		}
		return response.Values[0], true
	}
	return append([]string{}, response.Values...), !p.isOutOfBounds(float64(len(response.Values)))
}

func (p property) isOutOfBounds(n float64) bool {
	return p.min != nil && n < *p.min || p.max != nil && n > *p.max
}

// formats are the formats of MCP with their names for people.
var formats = map[Format]string{
	Email:    "an e-mail address",
	URI:      "an address such as https://example.org",
	Date:     "a date such as 2026-11-21",
	DateTime: "a date and time such as 2026-11-21T14:30:00Z",
}

func (p property) hasFormat(text string) bool {
	switch p.format {
	case Email:
		a, err := mail.ParseAddress(text)
		return err == nil && a.Address == text
	case URI:
		u, err := url.Parse(text)
		return err == nil && u.IsAbs()
	case Date:
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case DateTime:
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	}
	return true
}

// hint returns the placeholder of the field, "" when any text is valid.
func (p property) hint() string {
	switch p.kind {
	case stringProperty, numberProperty, integerProperty:
		if what := p.expectation(); what != "a text" {
			return what
		}
	}
	return ""
}

// expectation describes the values that the property accepts.
func (p property) expectation() string {
	what, unit := "a text", ""
	switch p.kind {
	case stringProperty:
		if known := formats[p.format]; known != "" {
			what = known
		}
		unit = " characters"
	case numberProperty:
		what = "a number"
	case integerProperty:
		what = "a whole number"
	case booleanProperty:
		return "yes or no"
	case enumProperty:
		return "one of the options"
	case listProperty:
		what, unit = "a list of options", " of them"
	}
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	counted := p.kind == stringProperty || p.kind == listProperty
	switch {
	case p.min != nil && p.max != nil && counted:
		what += fmt.Sprintf(", %s to %s%s", number(p.min), number(p.max), unit)
	case p.min != nil && p.max != nil:
		what += fmt.Sprintf(" from %s to %s", number(p.min), number(p.max))
	case p.min != nil:
		what += fmt.Sprintf(", at least %s%s", number(p.min), unit)
	case p.max != nil:
		what += fmt.Sprintf(", at most %s%s", number(p.max), unit)
	}
	if p.pattern != nil {
		what += " that matches " + singleLine(p.pattern.String(), maxNameRunes)
	}
	return what
}
