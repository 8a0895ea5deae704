package pending_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// eliciting is the input of an elicitation in form mode.
func eliciting(schema string) json.RawMessage {
	return json.RawMessage(`{"subtype":"elicitation","mcp_server_name":"s","mode":"form","message":"Who are you?","requested_schema":` + schema + `}`)
}

func elicited(t *testing.T, input json.RawMessage) pending.Request {
	t.Helper()
	form, err := pending.FormOfElicitation(input)
	if err != nil {
		t.Fatal(err)
	}
	return pending.Request{
		RequestID: "r", SessionID: "s", RequestType: pending.AskUserQuestion, Source: pending.SourceElicitation,
		ToolInput: input, Form: form,
	}
}

// everyProperty is the schema with one property of each kind that MCP knows.
const everyProperty = `{"type":"object","properties":{
	"name":{"type":"string","title":"Full name","description":"As in your passport","minLength":2,"maxLength":10,"default":"Ada"},
	"mail":{"type":"string","format":"email"},
	"site":{"type":"string","format":"uri"},
	"born":{"type":"string","format":"date"},
	"at":{"type":"string","format":"date-time"},
	"code":{"type":"string","pattern":"^[A-Z]{2}$"},
	"ratio":{"type":"number","minimum":0,"maximum":1,"default":0.5},
	"count":{"type":"integer","minimum":1},
	"sure":{"type":"boolean","default":true},
	"colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"],"default":"g"},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]},"minItems":1,"maxItems":2,"default":["a"]},
	"days":{"type":"array","items":{"anyOf":[{"const":"mo","title":"Monday"}]}}
},"required":["name","count","tags","days"]}`

func TestFormOfEveryPropertyOfAnElicitation(t *testing.T) {
	t.Parallel()
	got, err := pending.FormOfElicitation(eliciting(everyProperty))
	if err != nil {
		t.Fatal(err)
	}
	number := func(f float64) *float64 { return &f }
	text := func(id, placeholder string, format pending.Format) pending.Question {
		return pending.Question{ID: id, Question: id, Kind: pending.Text, FreeText: true, Placeholder: placeholder, Format: format}
	}
	name := text("name", "a text, 2 to 10 characters", "")
	name.Question, name.Description, name.Required, name.Default = "Full name", "As in your passport", true, []string{"Ada"}
	name.MinLength, name.MaxLength = 2, 10
	ratio := text("ratio", "a number from 0 to 1", "number")
	ratio.Default, ratio.Minimum, ratio.Maximum = []string{"0.5"}, number(0), number(1)
	count := text("count", "a whole number, at least 1", "integer")
	count.Required, count.Minimum = true, number(1)
	options := func(pairs ...string) (all []pending.Option) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, pending.Option{Value: pairs[i], Label: pairs[i+1]})
		}
		return all
	}
	want := &pending.Form{Title: "Who are you?", Questions: []pending.Question{
		name, text("mail", "an e-mail address", "email"), text("site", "an address such as https://example.org", "uri"),
		text("born", "a date such as 2026-11-21", "date"), text("at", "a date and time such as 2026-11-21T14:30:00Z", "date-time"),
		text("code", "a text that matches ^[A-Z]{2}$", ""), ratio, count,
		{ID: "sure", Question: "sure", Kind: pending.Confirm, Default: []string{"yes"}},
		{ID: "colour", Question: "colour", Kind: pending.Select, Options: options("r", "Red", "g", "Green"), Default: []string{"g"}},
		{ID: "size", Question: "size", Kind: pending.Select, Options: options("s", "Small", "l", "Large")},
		{ID: "tags", Question: "tags", Kind: pending.MultiSelect, Required: true, Options: options("a", "a", "b", "b", "c", "c"), Default: []string{"a"}, MinItems: 1, MaxItems: 2},
		// Required, and an empty list will do.
		{ID: "days", Question: "days", Kind: pending.MultiSelect, Options: options("mo", "Monday")},
	}}
	if len(got.Questions) != len(want.Questions) || got.Title != want.Title {
		t.Fatalf("%q with %d questions, want %q with %d", got.Title, len(got.Questions), want.Title, len(want.Questions))
	}
	for i := range want.Questions {
		if !reflect.DeepEqual(got.Questions[i], want.Questions[i]) {
			t.Errorf("got  %+v\nwant %+v", got.Questions[i], want.Questions[i])
		}
	}
}

func TestOrderOfPropertiesIsTheServersWhereItIsSaid(t *testing.T) {
	t.Parallel()
	input := `{"message":"m","mode":"form","requested_schema":{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"boolean"}}}`
	ids := func(input string) string {
		form, err := pending.FormOfElicitation(json.RawMessage(input))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, q := range form.Questions {
			all = append(all, q.ID)
		}
		return strings.Join(all, "")
	}
	if got := ids(input + `}`); got != "ba" {
		t.Errorf("without an order: got %s", got)
	}
	if got := ids(input + `,"property_order":["a","c","b"]}`); got != "ab" {
		t.Errorf("with an order: got %s", got)
	}
}

func TestAnswerToAnElicitationHasTheTypesOfItsSchema(t *testing.T) {
	t.Parallel()
	r := elicited(t, eliciting(everyProperty))
	answer, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Responses: []pending.Response{
		{ID: "name", Text: "Ada L."}, {ID: "mail", Text: " ada@example.org "}, {ID: "ratio", Text: "1e-1"}, {ID: "count", Text: " 007"},
		{ID: "sure", Values: []string{"No"}}, {ID: "colour", Values: []string{"Red"}}, {ID: "tags", Values: []string{"c", "a"}},
		{ID: "born", Text: "2026-02-28"}, {ID: "at", Text: "2026-11-21T14:30:00+01:00"}, {ID: "site", Text: "https://example.org/a?b"},
		{ID: "code", Text: "DE"}, {ID: "size", Text: ""},
	}})
	if err != nil {
		t.Fatal(err)
	}
	action, content, err := pending.ElicitationResult(r, answer)
	if err != nil || action != "accept" {
		t.Fatalf("%s: %v", action, err)
	}
	const want = `{"at":"2026-11-21T14:30:00+01:00","born":"2026-02-28","code":"DE","colour":"r","count":7,"days":[],"mail":"ada@example.org","name":"Ada L.","ratio":0.1,"site":"https://example.org/a?b","sure":false,"tags":["c","a"]}`
	if string(content) != want {
		t.Errorf("got  %s\nwant %s", content, want)
	}
	if got := answer.Summary(r); !strings.HasPrefix(got, "Full name: Ada L.; mail: ada@example.org") {
		t.Errorf("summary: %s", got)
	}
}

func TestAnswersThatDoNotFitTheSchemaAreRefused(t *testing.T) {
	t.Parallel()
	r := elicited(t, eliciting(everyProperty))
	text := func(id, text string) pending.Response { return pending.Response{ID: id, Text: text} }
	values := func(id string, v ...string) pending.Response { return pending.Response{ID: id, Values: v} }
	for name, wrong := range map[string]pending.Response{
		"missing":           text("name", "  "),
		"too short":         text("name", "A"),
		"too long":          text("name", "Ada Lovelace"),
		"no mail":           text("mail", "ada"),
		"mail with a name":  text("mail", "Ada <ada@example.org>"),
		"no address":        text("site", "example"),
		"no date":           text("born", "2026-02-30"),
		"time without zone": text("at", "2026-11-21T14:30:00"),
		"other pattern":     text("code", "de"),
		"above":             text("ratio", "1.01"),
		"not a number":      text("ratio", "NaN"),
		"infinite":          text("ratio", "Inf"),
		"hexadecimal":       text("ratio", "0x1p-2"),
		"below":             text("count", "0"),
		"fraction":          text("count", "1.5"),
		"beyond JavaScript": text("count", "9007199254740993"),
		"neither":           values("sure", "maybe"),
		"other colour":      values("colour", "blue"),
		"two colours":       values("colour", "r", "g"),
		"none of a minimum": values("tags"),
		"too many":          values("tags", "a", "b", "c"),
		"text for a choice": text("size", "s, please"),
		"value for a text":  values("mail", "ada@example.org"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := map[string]pending.Response{"name": text("name", "Ada"), "count": text("count", "1"), "tags": values("tags", "a")}
			given[wrong.ID] = wrong
			s := pending.Submission{RequestType: r.RequestType}
			for _, response := range given {
				s.Responses = append(s.Responses, response)
			}
			_, err := pending.Normalise(r, s)
			var invalid *problem.Error
			if !errors.As(err, &invalid) || invalid.Field != wrong.ID || !strings.HasSuffix(invalid.Message, ".") {
				t.Errorf("got %#v, want a sentence about %s", err, wrong.ID)
			}
		})
	}
}

func TestElicitationThatAsksForNothingButConsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, accepted string }{
		"no properties": {`{"message":"Deploy?","mode":"form","requested_schema":{"type":"object","properties":{}}}`, "{}"},
		"no schema":     {`{"message":"Deploy?"}`, "{}"},
		"url":           {`{"message":"Deploy?","mode":"url","url":"https://example.org/x","elicitation_id":"e"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := elicited(t, json.RawMessage(c.input))
			if len(r.Form.Questions) != 1 || r.Form.Questions[0].Kind != pending.Confirm || r.Form.Questions[0].Question != "Deploy?" {
				t.Fatalf("form %+v", r.Form)
			}
			for said, want := range map[string]string{"yes": "accept", "no": "decline"} {
				answer, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Answers: map[string]string{"Deploy?": said}})
				if err != nil {
					t.Fatal(err)
				}
				action, content, err := pending.ElicitationResult(r, answer)
				if err != nil || action != want {
					t.Errorf("%s: got %s, %v, want %s", said, action, err, want)
				}
				if said == "yes" && string(content) != c.accepted {
					t.Errorf("content: got %q, want %q", content, c.accepted)
				}
			}
		})
	}
}

func TestElicitationOfOptionalValuesMayBeAcceptedEmpty(t *testing.T) {
	t.Parallel()
	r := elicited(t, eliciting(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}}}`))
	answer, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Decision: pending.Allow})
	if err != nil {
		t.Fatal(err)
	}
	if action, content, err := pending.ElicitationResult(r, answer); action != "accept" || string(content) != "{}" || err != nil {
		t.Errorf("got %s, %s, %v", action, content, err)
	}
	if _, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Responses: []pending.Response{}}); err != nil {
		t.Errorf("an empty list of answers: %v", err)
	}
	if _, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType}); !errors.Is(err, pending.ErrInvalid) {
		t.Errorf("what says nothing at all was taken: %v", err)
	}
}

func TestDeclinedElicitation(t *testing.T) {
	t.Parallel()
	r := elicited(t, eliciting(everyProperty))
	answer, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Decision: pending.Deny})
	if err != nil {
		t.Fatal(err)
	}
	if action, content, err := pending.ElicitationResult(r, answer); action != "decline" || content != nil || err != nil {
		t.Errorf("got %s, %s, %v", action, content, err)
	}
}

func TestElicitationsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	property := func(p string) string { return string(eliciting(`{"type":"object","properties":{"p":` + p + `}}`)) }
	for name, input := range map[string]string{
		"no JSON":                 `{`,
		"no message":              `{"message":" ","mode":"form"}`,
		"other mode":              `{"message":"m","mode":"voice"}`,
		"no web address":          `{"message":"m","mode":"url","url":"javascript:alert(1)"}`,
		"no address":              `{"message":"m","mode":"url"}`,
		"address without a host":  `{"message":"m","mode":"url","url":"https:foo"}`,
		"schema of a list":        string(eliciting(`{"type":"array"}`)),
		"schema that is a text":   string(eliciting(`"object"`)),
		"properties in a list":    string(eliciting(`{"properties":[]}`)),
		"required and unknown":    string(eliciting(`{"properties":{"a":{"type":"string"}},"required":["b"]}`)),
		"object":                  property(`{"type":"object"}`),
		"no type":                 property(`{}`),
		"several types":           property(`{"type":["string","null"]}`),
		"list of numbers":         property(`{"type":"array","items":{"type":"number"}}`),
		"list of anything":        property(`{"type":"array","items":{"type":"string"}}`),
		"choice of a number":      property(`{"type":"string","enum":[1]}`),
		"choices twice":           property(`{"type":"string","enum":["a","a"]}`),
		"no choice":               property(`{"type":"string","enum":[]}`),
		"choice without a value":  property(`{"type":"string","oneOf":[{"title":"A"}]}`),
		"length that is a text":   property(`{"type":"string","minLength":"2"}`),
		"key twice":               property(`{"type":"string","type":"string"}`),
		"title that is a number":  property(`{"type":"string","title":1}`),
		"property that is a text": property(`"string"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if form, err := pending.FormOfElicitation(json.RawMessage(input)); !errors.Is(err, pending.ErrNoForm) {
				t.Errorf("got %+v, %v, want ErrNoForm", form, err)
			}
			// It can still be declined, and only that.
			r := pending.Request{RequestType: pending.AskUserQuestion, Source: pending.SourceElicitation, ToolInput: json.RawMessage(input)}
			if _, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Decision: pending.Deny}); err != nil {
				t.Errorf("declining: %v", err)
			}
			if _, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Decision: pending.Allow}); !errors.Is(err, pending.ErrInvalid) {
				t.Errorf("accepting: %v", err)
			}
		})
	}
}

// Whatever a server asks for and a person types: what is accepted has a value for
// each required property, and can be sent.
func FuzzElicitation(f *testing.F) {
	f.Add(everyProperty, "Ada", "a")
	f.Add(`{"properties":{"p":{"type":"integer","minimum":3}},"required":["p"]}`, "4", "4")
	f.Fuzz(func(t *testing.T, schema, text, value string) {
		input := eliciting(schema)
		form, err := pending.FormOfElicitation(input)
		if err != nil {
			return
		}
		r := pending.Request{RequestType: pending.AskUserQuestion, Source: pending.SourceElicitation, ToolInput: input, Form: form}
		s := pending.Submission{RequestType: r.RequestType}
		for _, q := range form.Questions {
			response := pending.Response{ID: q.ID, Text: text}
			if q.Kind != pending.Text {
				response = pending.Response{ID: q.ID, Values: []string{value}}
			}
			s.Responses = append(s.Responses, response)
		}
		answer, err := pending.Normalise(r, s)
		if err != nil {
			return
		}
		action, content, err := pending.ElicitationResult(r, answer)
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if action == "accept" && json.Unmarshal(content, &values) != nil {
			t.Fatalf("content %q", content)
		}
		for _, q := range form.Questions {
			if _, ok := values[q.ID]; action == "accept" && q.Required && q.ID != "accept" && !ok {
				t.Errorf("accepted without %q: %s", q.ID, content)
			}
		}
	})
}
