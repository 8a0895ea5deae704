package mcpapi

import (
	"encoding/json"
	"testing"

	"github.com/sayso-dev/sayso/pending"
)

// FuzzForms reads any input in every dialect: whatever becomes a form can be
// answered, and whatever does not says why.
func FuzzForms(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"question":"Which?"}`, `{"question":"Which?","options":[{"label":"A","value":"a"}],"multiSelect":true,"allow_free_text":false}`,
		`{"questions":[{"id":"a","question":"?","type":"select","options":["x","y"],"required":false,"placeholder":"p"}],"title":"t","timeout":10000}`,
		`{"questions":[{"question":"?","type":"confirm"},{"question":"?"}],"timeout":1e4}`, `{"Question":"?"}`, `{"questions":[null]}`,
		`{"event_type":"plan-started","step":1e400,"phase_number":33}`, `{"question":"\u0000\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		input, err := parseObject(raw)
		if err != nil {
			return
		}
		check := func(name string, form *pending.Form, err error) {
			if err != nil {
				if err.Error() == "" {
					t.Fatalf("%s: refused without a reason", name)
				}
				return
			}
			if len(form.Questions) == 0 || len(form.Questions) > maxQuestions {
				t.Fatalf("%s: %d questions", name, len(form.Questions))
			}
			row := pending.Request{RequestType: pending.AskUserQuestion, Form: form}
			var given []pending.Response
			ids := map[string]bool{}
			for _, q := range form.Questions {
				if q.ID == "" || ids[q.ID] {
					t.Fatalf("%s: id %q", name, q.ID)
				}
				ids[q.ID] = true
				switch q.Kind {
				case pending.Text:
					given = append(given, pending.Response{ID: q.ID, Text: "words"})
				case pending.Confirm:
					given = append(given, pending.Response{ID: q.ID, Values: []string{"yes"}})
				default:
					given = append(given, pending.Response{ID: q.ID, Values: []string{q.Options[0].Value}})
				}
			}
			if _, err := pending.Normalise(row, pending.Submission{RequestType: pending.AskUserQuestion, Responses: given}); err != nil {
				t.Fatalf("%s: the form cannot be answered: %v", name, err)
			}
			if _, err := json.Marshal(form); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		form, timeout, err := parseAskUser(input, Policy{}, "seed")
		check("ask_user", form, err)
		if err == nil && (timeout < 0 || timeout > pending.MaxWait) {
			t.Fatalf("timeout %s", timeout)
		}
		form, err = parseAskQuestion(input)
		check("ask_question", form, err)
		if l, err := lifecycleOf(raw); err == nil {
			if _, err := json.Marshal(l); err != nil {
				t.Fatalf("lifecycle: %v", err)
			}
		}
	})
}
