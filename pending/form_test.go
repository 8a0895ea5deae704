package pending_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/pending"
)

func TestFormOfClaudesQuestions(t *testing.T) {
	t.Parallel()
	got, err := pending.FormOfQuestions(json.RawMessage(`{
		"questions": [
			{"question":"How should I format the output?","header":"Format","multiSelect":false,"options":[
				{"label":"Summary","description":"Brief overview"},
				{"label":"Detailed","description":"Full explanation","preview":"# Title\n<b>x</b>"}]},
			{"question":"Which sections?","header":"Sections","multiSelect":true,"options":[
				{"label":"Introduction","description":""},{"label":"Conclusion","preview":null}],"unknown":[1]},
			{"question":"Anything else?"}
		],
		"metadata":{"source":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &pending.Form{Questions: []pending.Question{
		{ID: "q1", Question: "How should I format the output?", Header: "Format", Kind: pending.Select, Required: true, FreeText: true,
			Options: []pending.Option{
				{Label: "Summary", Value: "Summary", Description: "Brief overview"},
				{Label: "Detailed", Value: "Detailed", Description: "Full explanation", Preview: "# Title\n<b>x</b>"},
			}},
		{ID: "q2", Question: "Which sections?", Header: "Sections", Kind: pending.MultiSelect, Required: true, FreeText: true,
			Options: []pending.Option{{Label: "Introduction", Value: "Introduction"}, {Label: "Conclusion", Value: "Conclusion"}}},
		{ID: "q3", Question: "Anything else?", Kind: pending.Text, Required: true, FreeText: true},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestMoreQuestionsThanTheToolAllowsAreStillAForm(t *testing.T) {
	t.Parallel()
	one := `{"question":"Again?","options":[{"label":"A"},{"label":"A"}]}`
	form, err := pending.FormOfQuestions(json.RawMessage(`{"questions":[` + strings.Repeat(one+",", pending.MaxQuestions-1) + one + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, q := range form.Questions {
		seen[q.ID] = true
	}
	if len(seen) != pending.MaxQuestions {
		t.Errorf("distinct ids: got %d, want %d", len(seen), pending.MaxQuestions)
	}
}

func TestInputsThatAreNoForm(t *testing.T) {
	t.Parallel()
	question := func(rest string) string { return `{"questions":[{"question":"Which?"` + rest + `}]}` }
	long := func(n int) string { return strings.Repeat("x", n+1) }
	for name, input := range map[string]string{
		"nothing":                 ``,
		"not JSON":                `{"questions":`,
		"two texts":               `{"questions":[{"question":"a"}]} {}`,
		"null":                    `null`,
		"list":                    `[]`,
		"no questions":            `{}`,
		"empty questions":         `{"questions":[]}`,
		"questions of wrong type": `{"questions":{"question":"a"}}`,
		"question not an object":  `{"questions":["a"]}`,
		"question without text":   `{"questions":[{"header":"a"}]}`,
		"blank text":              `{"questions":[{"question":" \n"}]}`,
		"text of wrong type":      `{"questions":[{"question":1}]}`,
		"key in another case":     `{"questions":[{"Question":"a"}]}`,
		"key twice":               `{"questions":[{"question":"a","question":"b"}]}`,
		"questions twice":         `{"questions":[{"question":"a"}],"questions":[{"question":"b"}]}`,
		"header of wrong type":    question(`,"header":[]`),
		"multiSelect a text":      question(`,"multiSelect":"true"`),
		"options not a list":      question(`,"options":{}`),
		"option not an object":    question(`,"options":["a"]`),
		"option without label":    question(`,"options":[{"description":"a"}]`),
		"blank label":             question(`,"options":[{"label":" "}]`),
		"description a number":    question(`,"options":[{"label":"a","description":1}]`),
		"preview an object":       question(`,"options":[{"label":"a","preview":{}}]`),
		"long question":           `{"questions":[{"question":"` + long(pending.MaxQuestionBytes) + `"}]}`,
		"long header":             question(`,"header":"` + long(pending.MaxQuestionBytes) + `"`),
		"long label":              question(`,"options":[{"label":"` + long(pending.MaxLabelBytes) + `"}]`),
		"long preview":            question(`,"options":[{"label":"a","preview":"` + long(pending.MaxPreviewBytes) + `"}]`),
		"many questions":          `{"questions":[` + strings.Repeat(`{"question":"a"},`, pending.MaxQuestions) + `{"question":"a"}]}`,
		"many options":            question(`,"options":[` + strings.Repeat(`{"label":"a"},`, pending.MaxOptions) + `{"label":"a"}]`),
		"deep":                    strings.Repeat(`{"questions":[`, 20_000),
		"not UTF-8":               "{\"questions\":[{\"question\":\"\xff\"}]}",
	} {
		if form, err := pending.FormOfQuestions(json.RawMessage(input)); !errors.Is(err, pending.ErrNoForm) || form != nil {
			t.Errorf("%s: got %+v, %v", name, form, err)
		}
	}
}

func TestAQuestionWithoutAFormCanOnlyBeDeclined(t *testing.T) {
	t.Parallel()
	r := questions("r1", "s1")
	r.Form = nil
	s := pending.Submission{RequestType: r.RequestType, Answers: map[string]string{"a": "b"}}
	if _, err := pending.Normalise(r, s); !errors.Is(err, pending.ErrInvalid) {
		t.Errorf("answered: got %v", err)
	}
	got, err := pending.Normalise(r, pending.Submission{RequestType: r.RequestType, Decision: pending.Deny, Message: "Ask again."})
	if err != nil || got.Summary(r) != "Declined: Ask again." {
		t.Errorf("declined: got %q, %v", got.Summary(r), err)
	}
	if got := pending.AnswersByText(r, got); len(got) != 0 {
		t.Errorf("for Claude: got %v", got)
	}
}

func ExampleFormOfQuestions() {
	form, err := pending.FormOfQuestions([]byte(`{"questions":[{"question":"Which database?","options":[{"label":"SQLite"},{"label":"PostgreSQL"}]}]}`))
	fmt.Println(form.Questions[0].ID, form.Questions[0].Kind, form.Questions[0].Options[1].Value, err)
	// Output: q1 select PostgreSQL <nil>
}
