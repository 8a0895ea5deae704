package pending_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// sharesIDs reports whether two questions have the same id, which whoever makes a form prevents.
func sharesIDs(f pending.Form) bool {
	ids := map[string]bool{}
	for _, q := range f.Questions {
		ids[q.ID] = true
	}
	return len(ids) < len(f.Questions)
}

// FuzzNormalise builds a request and a submission out of any text. Whatever is
// accepted is accepted again, unchanged, in its stored form, and is one line.
func FuzzNormalise(f *testing.F) {
	form := `{"title":"T","questions":[
		{"id":"q1","question":"Which?","kind":"multi_select","options":[{"label":"A","value":"a"},{"label":"A, B","value":"b"}],"required":true,"free_text":true},
		{"id":"q2","question":"Sure?","kind":"confirm"},{"id":"q3","question":"Name?","kind":"text"}]}`
	suggestions := `[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"localSettings"}]`
	f.Add(false, form, ``, ``, `{"Answers":{"Which?":"A, B, mine","Sure?":"YES"}}`)
	f.Add(false, form, ``, ``, `{"Responses":[{"id":"q1","values":["A","b"],"text":"\u2028"},{"id":"q3","values":null,"text":"x\ny"}],"Answers":{"Which?":"A"}}`)
	f.Add(false, `{"questions":[{"question":"Which?","multiSelect":true,"options":[{"label":"A"},{"label":"A"}]}]}`, ``, ``, `{"Decision":"deny","Message":"no\r\n","Interrupt":true}`)
	f.Add(false, ``, ``, ``, `{"Decision":"allow"}`)
	f.Add(true, ``, `{"command":"ls","n":1.0}`, suggestions, `{"Decision":"allow","UpdatedInput":{"n":1,"command":"\u2028"},"UpdatedPermissions":[{"type":"setMode","mode":"plan","destination":"session"}]}`)
	f.Add(true, ``, `{"command":"ls"}`, suggestions, `{"Decision":"allow","UpdatedPermissions":[{"destination":"session","type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow"}]}`)
	f.Add(true, ``, `[`, `{}`, `{"Decision":"deny","UpdatedInput":null}`)
	f.Fuzz(func(t *testing.T, approval bool, form, input, suggestions, submission string) {
		r := pending.Request{RequestID: "r1", SessionID: "s1", RequestType: pending.AskUserQuestion,
			ToolInput: json.RawMessage(input), PermissionSuggestions: json.RawMessage(suggestions)}
		if approval {
			r.RequestType = pending.ToolApproval
		} else if parsed, err := pending.FormOfQuestions(json.RawMessage(form)); err == nil {
			r.Form = parsed
		} else if json.Unmarshal([]byte(form), &r.Form) != nil || r.Form != nil && sharesIDs(*r.Form) {
			r.Form = nil
		}
		var s pending.Submission
		if json.Unmarshal([]byte(submission), &s) != nil {
			return
		}
		s.RequestType = r.RequestType
		a, err := pending.Normalise(r, s)
		if err != nil {
			var invalid *problem.Error
			if !errors.As(err, &invalid) || invalid.Message == "" || !utf8.ValidString(invalid.Message) || strings.ContainsAny(invalid.Message, "\r\n\u2028\u2029") {
				t.Fatalf("not a sentence: %T %q", err, err)
			}
			return
		}
		exact := pending.Submission{RequestType: r.RequestType, Decision: a.Decision, Message: a.Message, Interrupt: a.Interrupt,
			UpdatedInput: a.UpdatedInput, UpdatedPermissions: a.UpdatedPermissions, Responses: a.Responses}
		again, err := pending.Normalise(r, exact)
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Fatalf("stored form is not accepted as it is: %+v\nbecame %+v, %v", a, again, err)
		}
		if a.Decision == pending.Allow && r.RequestType == pending.AskUserQuestion && len(a.Responses) == 0 {
			t.Fatal("an allow without answers")
		}
		if strings.Contains(string(a.UpdatedPermissions), `"bypassPermissions"`) && !strings.Contains(suggestions, "bypassPermissions") {
			t.Fatalf("granted %s", a.UpdatedPermissions)
		}
		line, err := json.Marshal(pending.AnswersByText(r, a))
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"answers": string(line), "input": string(a.UpdatedInput),
			"permissions": string(a.UpdatedPermissions), "summary": a.Summary(r)} {
			if strings.ContainsAny(text, "\r\n\u2028\u2029") {
				t.Fatalf("%s are not one line: %q", what, text)
			}
		}
		stored, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back pending.Answer
		if err := json.Unmarshal(stored, &back); err != nil || back.Decision != a.Decision || len(back.Responses) != len(a.Responses) {
			t.Fatalf("stored as %s, read as %+v, %v", stored, back, err)
		}
	})
}
