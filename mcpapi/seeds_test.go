package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// The examples and tables of the systems that these tools stand in for, each
// under its name there.

func TestCodeNomadExample1SimpleTextQuestion(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"questions":[{"question":"What would you like to name this function?","type":"text","placeholder":"e.g., processUserData"}]}`)
		r := a.one()
		q := r.Form.Questions[0]
		is(t, "question", q.Question, "What would you like to name this function?")
		is(t, "kind", q.Kind, pending.Text)
		is(t, "placeholder", q.Placeholder, "e.g., processUserData")
		is(t, "required", q.Required, true)
		is(t, "timeout", r.ExpiresAt.Sub(r.CreatedAt), 5*time.Minute)
		if !strings.HasPrefix(q.ID, "q_") || len(q.ID) != len("q_123abc") {
			t.Fatalf("generated id %q", q.ID)
		}
		a.answer(r, written(q.ID, "handleUserSubmission"))
		c.says(`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"` + q.ID + `","values":["handleUserSubmission"]}]}`)
	})
}

func TestCodeNomadExample2SingleSelection(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"questions":[{"question":"Which framework would you prefer?","type":"select","options":["React","Vue","Svelte","Solid"]}],"title":"Framework Selection"}`)
		r := a.one()
		q := r.Form.Questions[0]
		is(t, "title", r.Form.Title, "Framework Selection")
		is(t, "kind", q.Kind, pending.Select)
		same(t, "options", labels(q), []string{"React", "Vue", "Svelte", "Solid"})
		a.answer(r, chosen(q.ID, "Solid"))
		c.says(`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"` + q.ID + `","values":["Solid"]}]}`)
	})
}

func TestCodeNomadExample3Confirmation(t *testing.T) {
	for _, word := range []string{"yes", "no"} {
		t.Run(word, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Ours, "")
				c := a.call("ask_user", `{"questions":[{"question":"This will delete 15 files. Are you sure?","type":"confirm"}],"title":"Confirm Deletion"}`)
				r := a.one()
				is(t, "kind", r.Form.Questions[0].Kind, pending.Confirm)
				a.answer(r, chosen(r.Form.Questions[0].ID, word))
				c.says(`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"` + r.Form.Questions[0].ID + `","values":["` + word + `"]}]}`)
			})
		})
	}
}

func TestCodeNomadExample4MultipleQuestions(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"questions":[
			{"id":"name","question":"What should the component be called?","type":"text"},
			{"id":"style","question":"Which styling approach?","type":"select","options":["CSS Modules","Styled Components","Tailwind","Plain CSS"]},
			{"id":"features","question":"Which features should be included?","type":"multi-select","options":["Loading state","Error handling","Animation","Accessibility"]}],
			"title":"Component Configuration"}`)
		a.answer(a.one(), written("name", "UserProfileCard"), chosen("style", "Tailwind"), chosen("features", "Loading state", "Error handling", "Accessibility"))
		c.says(`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"name","values":["UserProfileCard"]},` +
			`{"questionId":"style","values":["Tailwind"]},{"questionId":"features","values":["Loading state","Error handling","Accessibility"]}]}`)
	})
}

func TestCodeNomadExample5UserCancels(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"questions":[{"question":"Any additional requirements?"}]}`)
		a.decide(a.one(), pending.Deny, "", nil)
		c.says(`{"answered":false,"cancelled":true,"timedOut":false,"answers":[]}`)
	})
}

func TestCodeNomadExample6Timeout(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		began := time.Now()
		c := a.call("ask_user", `{"questions":[{"question":"Please confirm within 30 seconds","type":"confirm"}],"timeout":30000}`)
		c.says(`{"answered":false,"cancelled":false,"timedOut":true,"answers":[]}`)
		is(t, "after", time.Since(began), 30*time.Second)
	})
}

func TestCodeNomadOptionalAndOwnWords(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"questions":[{"id":"a","question":"Which?","type":"select","options":["Red","Blue"]},
			{"id":"b","question":"Why?","required":false},{"id":"c","question":"More?","type":"multi-select","options":["x","y"]}]}`)
		a.answer(a.one(), written("a", "Green <&>"), pending.Response{ID: "c", Values: []string{"y"}, Text: "z"})
		c.says(`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"a","values":[],"customText":"Green <&>"},` +
			`{"questionId":"b","values":[]},{"questionId":"c","values":["y"],"customText":"z"}]}`)
	})
}

func TestCodeNomadValidationErrors(t *testing.T) {
	many := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"question":"Which?"},`, n), ",") + "]"
	}
	for input, want := range map[string]string{
		`{"questions":[]}`:                                                    "questions array must have at least 1 item",
		`{"questions":` + many(11) + `}`:                                      "questions array exceeds maximum of 10",
		`{"questions":[{"question":"?","type":"select"}]}`:                    "Options required for select/multi-select types",
		`{"questions":[{"question":"?","type":"multi-select","options":[]}]}`: "Options required for select/multi-select types",
		`{"questions":[{"question":""}]}`:                                     "question text is required",
		`{"questions":[{}]}`:                                                  "question text is required",
		`{}`:                                                                  "question text is required",
		`{"questions":[{"question":"` + strings.Repeat("x", 1001) + `"}]}`:            "question text exceeds maximum of 1000 characters",
		`{"questions":[{"question":"?","type":"radio"}]}`:                             "type must be one of text, select, multi-select, confirm",
		`{"questions":[{"question":"?"}],"title":"` + strings.Repeat("x", 101) + `"}`: "title exceeds maximum of 100 characters",
		`{"questions":[{"question":"?"}],"timeout":9999}`:                             "timeout must be an integer between 10000 and 1800000",
		`{"questions":[{"question":"?"}],"timeout":1800001}`:                          "timeout must be an integer between 10000 and 1800000",
		`{"questions":[{"question":"?"}],"timeout":10000.5}`:                          "timeout must be an integer between 10000 and 1800000",
		`{"questions":[{"question":"?"}],"timeout":"soon"}`:                           "timeout must be a number",
		`{"questions":[{"id":"a","question":"?"},{"id":"a","question":"!"}]}`:         `question id "a" is given twice`,
		`{"questions":[{"question":7}]}`:                                              "question must be a string",
		`{"questions":{"question":"?"}}`:                                              "questions must be an array",
		`{"questions":["?"]}`:                                                         "every question must be an object",
		`{"questions":[{"question":"?","required":"no"}]}`:                            "required must be true or false",
		`{"questions":[{"question":"?","type":"select","options":[1]}]}`:              "every option must be a string",
		`{"questions":[{"question":"?","type":"select","options":["a","a"]}]}`:        `option "a" is given twice`,
		`{"questions":[{"question":"?"}],"question":"?"}`:                             "give question or questions, not both",
		`[]`: "arguments must be an object",
	} {
		t.Run(want, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Ours, "")
				c := a.call("ask_user", input)
				if input == `[]` && c.over() && c.result == nil {
					return // refused before it reached the tool
				}
				c.fails("Validation error: " + want)
				is(t, "open", len(a.open()), 0)
			})
		})
	}
}

func TestCodeNomadLimitsAreTaken(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for _, input := range []string{
			`{"questions":[{"question":"` + strings.Repeat("ü", 1000) + `"}],"title":"` + strings.Repeat("x", 100) + `","timeout":10000}`,
			`{"questions":[` + strings.TrimSuffix(strings.Repeat(`{"question":"Which?"},`, 10), ",") + `],"timeout":1800000}`,
		} {
			c := a.call("ask_user", input, patient)
			r := a.one()
			var given []pending.Response
			for _, q := range r.Form.Questions {
				given = append(given, written(q.ID, "x"))
			}
			a.answer(r, given...)
			if !strings.HasPrefix(c.text(), `{"answered":true`) {
				t.Fatalf("got %s", c.text())
			}
		}
	})
}

func TestPromptManagerToolResponse(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"question":"Which approach should I use?","options":[{"label":"Option A","description":"Simple but limited"},{"label":"Option B"}]}`)
		r := a.one()
		q := r.Form.Questions[0]
		is(t, "kind", q.Kind, pending.Select)
		is(t, "own words", q.FreeText, true)
		is(t, "description", q.Options[0].Description, "Simple but limited")
		is(t, "deadline", r.ExpiresAt.IsZero(), true)
		a.answer(r, chosen("q1", "Option A"))
		c.says("User selected: Option A")
	})
}

func TestPromptManagerPositive3FreeText(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", lone("What shall I call it?"))
		is(t, "kind", a.one().Form.Questions[0].Kind, pending.Text)
		a.answer(a.one(), written("q1", "call it\nBob"))
		c.says("User selected: call it\nBob")
	})
}

func TestPromptManagerPositive4MultiSelect(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", `{"question":"Which?","options":[{"label":"A"},{"label":"B"},{"label":"C"}],"multiSelect":true}`)
		is(t, "kind", a.one().Form.Questions[0].Kind, pending.MultiSelect)
		a.answer(a.one(), pending.Response{ID: "q1", Values: []string{"A", "C"}, Text: "and D"})
		c.says("User selected: A, C, and D")
	})
}

func TestPromptManagerPositive5SequentialQuestions(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for i := range 3 {
			c := a.call("ask_user", lone("The same again?"))
			a.answer(a.one(), written("q1", number(i)))
			c.says("User selected: " + number(i))
		}
	})
}

func TestPromptManagerNegative7Timeout(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		h.policy = mcpapi.Policy{Timeout: 300 * time.Second}
		a := h.agent(session.Ours, "")
		began := time.Now()
		c := a.call("ask_user", lone("Anybody there?"), patient)
		c.fails("User did not respond within the timeout period. Proceeding with your best judgment.")
		is(t, "after", time.Since(began), 300*time.Second)
		is(t, "open", len(a.open()), 0)
	})
}

func TestPromptManagerNegative11ToggleDisabled(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		h.policy = mcpapi.Policy{Disabled: true}
		a := h.agent(session.Ours, "")
		c := a.call("ask_user", lone("Anybody there?"))
		c.fails("Asking is switched off for this project. Go on without an answer, using your best judgment.")
		is(t, "open", len(a.open()), 0)
		a.call("approval_prompt", `{"tool_name":"Bash","input":{}}`).waits() // no question, and nobody else decides
	})
}

func TestPromptManagerConcurrentQuestionsAreAllShown(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		first, second := a.call("ask_user", lone("First?")), a.call("ask_user", lone("Second?"))
		rows := a.open()
		is(t, "open", len(rows), 2)
		a.answer(rows[1], written("q1", "two"))
		a.answer(rows[0], written("q1", "one"))
		first.says("User selected: one")
		second.says("User selected: two")
	})
}

func TestMaxsimAskQuestion(t *testing.T) {
	input := `{"question":"**Which** areas?","options":[{"value":"cards","label":"Cards","description":"Grid layout"},{"value":"list","label":"List"}]}`
	for name, c := range map[string]struct {
		input  string
		bare   bool
		answer pending.Response
		want   string
	}{
		"option":            {input, false, chosen("q1", "cards"), `{"answer":"cards"}`},
		"option, bare":      {input, true, chosen("q1", "cards"), `cards`},
		"own words":         {input, false, written("q1", "neither"), `{"answer":"neither"}`},
		"own words, bare":   {input, true, written("q1", "neither"), `neither`},
		"without options":   {lone("Why?"), false, written("q1", `"because" <it>`), `{"answer":"\"because\" <it>"}`},
		"options by label":  {input, true, chosen("q1", "List"), `list`},
		"conversation kept": {strings.TrimSuffix(input, "}") + `,"conversation_id":"c1"}`, true, chosen("q1", "list"), `list`},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				h.policy = mcpapi.Policy{BareAnswer: c.bare, Timeout: time.Minute}
				a := h.agent(session.Ours, "")
				call := a.call("ask_question", c.input, patient)
				time.Sleep(26 * time.Hour) // there is no timeout
				call.waits()
				is(t, "own words allowed", a.one().Form.Questions[0].FreeText, true)
				a.answer(a.one(), c.answer)
				call.says(c.want)
			})
		})
	}
}

func TestMaxsimAskQuestionWithoutFreeText(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("ask_question", `{"question":"Which?","options":[{"value":"a","label":"A"}],"allow_free_text":false}`)
		is(t, "own words allowed", a.one().Form.Questions[0].FreeText, false)
		a.decide(a.one(), pending.Deny, "Ask my boss.", nil)
		c.fails("The user declined to answer: Ask my boss.")

		a.call("ask_question", `{"question":"Which?","allow_free_text":false}`).fails("Validation error: options are required where allow_free_text is false")
		a.call("ask_question", `{"question":"Which?","options":[{"label":"A"}]}`).fails("Validation error: every option needs a value")
		a.call("ask_question", `{}`).fails("Validation error: question text is required")
	})
}

func TestMaxsimLifecycleAndStatus(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a, other := h.agent(session.Ours, ""), h.agent(session.Ours, "")
		a.call("get_phase_status", `{}`).says(`{"pendingQuestions":0,"lastLifecycleEvent":null}`)
		for _, kind := range []string{"phase-started", "phase-completed", "plan-started", "plan-completed", "task-started", "task-completed",
			"verification-started", "verification-completed", "phase-complete", "plan-complete"} {
			a.call("submit_lifecycle_event", `{"event_type":"`+kind+`"}`).says(`{"status":"ok"}`)
			is(t, "stored", h.memory.sessions[a.sessionID].Lifecycle.EventType, kind)
		}
		a.call("submit_lifecycle_event", `{"event_type":"plan-started","phase_name":"Hook Bridge","phase_number":"33"}`).says(`{"status":"ok"}`)
		if h.notifier.notified[a.sessionID] == 0 {
			t.Fatal("nobody was told")
		}
		first, second := a.call("ask_question", lone("One?")), a.call("ask_user", lone("Two?"))
		a.call("get_phase_status", `{}`).says(`{"pendingQuestions":2,"lastLifecycleEvent":{"event_type":"plan-started","phase_name":"Hook Bridge","phase_number":"33"}}`)
		other.call("get_phase_status", `{}`).says(`{"pendingQuestions":0,"lastLifecycleEvent":null}`)
		first.cut()
		second.cut()

		a.call("submit_lifecycle_event", `{"event_type":"task-started","phase_number":33,"step":2,"total_steps":5}`).says(`{"status":"ok"}`)
		a.call("get_phase_status", `{}`, withID(99)).says(`{"pendingQuestions":2,"lastLifecycleEvent":{"event_type":"task-started","phase_number":"33","step":2,"total_steps":5}}`)
		a.call("submit_lifecycle_event", `{"event_type":"done"}`).fails("Validation error: event_type must be one of phase-started, phase-completed, " +
			"plan-started, plan-completed, task-started, task-completed, verification-started, verification-completed, phase-complete, plan-complete")
	})
}

func TestClaudeDoAnswer(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		c := a.call("AskUser", lone("Drop the table?"), patient)
		time.Sleep(2 * time.Minute)
		c.waits()
		a.answer(a.one(), written("q1", "No."))
		c.says("No.")
	})
}

func TestClaudeDoTimeoutAfterThreeMinutes(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		began := time.Now()
		c := a.call("AskUser", lone("Drop the table?"), patient)
		c.says("No response received within 3 minutes — proceed using your best judgment.")
		is(t, "after", time.Since(began), 3*time.Minute)
		is(t, "open", len(a.open()), 0)
	})
}

func TestClaudeDoUnknownQuestion(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		_, err := h.registry.Answer(t.Context(), pending.Submission{RequestID: "unknown", SessionID: a.sessionID,
			RequestType: pending.AskUserQuestion, Actor: ada, Responses: []pending.Response{written("q1", "x")}})
		if err == nil {
			t.Fatal("an unknown question was answered")
		}
		a.call("AskUser", `{}`).fails("Validation error: question text is required")
	})
}

// Where ClaudeDo kept one question for each task and a second took its place,
// both stand.
func TestClaudeDoOverwrite(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		first, second := a.call("AskUser", lone("First?")), a.call("AskUser", lone("Second?"))
		rows := a.open()
		a.answer(rows[0], written("q1", "one"))
		first.says("one")
		second.waits()
		a.answer(rows[1], written("q1", "two"))
		second.says("two")
	})
}

func TestApprovalPrompt(t *testing.T) {
	input := `{"command": "ls", "n": 1.0}`
	asked := fmt.Sprintf(`{"tool_name":"Bash","input":%s,"tool_use_id":"toolu_1"}`, input)
	for name, c := range map[string]struct {
		decide func(a *agent, r pending.Request)
		want   string
	}{
		"allowed": {func(a *agent, r pending.Request) { a.decide(r, pending.Allow, "", nil) },
			`{"behavior":"allow","updatedInput":{"command":"ls","n":1.0}}`},
		"edited": {func(a *agent, r pending.Request) {
			a.decide(r, pending.Allow, "", json.RawMessage(`{"command":"ls -l","n":1.0}`))
		}, `{"behavior":"allow","updatedInput":{"command":"ls -l","n":1.0}}`},
		"denied":        {func(a *agent, r pending.Request) { a.decide(r, pending.Deny, "", nil) }, `{"behavior":"deny","message":"User denied this action"}`},
		"with a reason": {func(a *agent, r pending.Request) { a.decide(r, pending.Deny, "Not on a Friday.", nil) }, `{"behavior":"deny","message":"Not on a Friday."}`},
		"withdrawn": {func(a *agent, r pending.Request) { _ = a.h.registry.Withdraw(a.h.t.Context(), r.RequestID, "Killed.") },
			`{"behavior":"deny","message":"The request was withdrawn before a person decided."}`},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Agent, "builder")
				call := a.call("approval_prompt", asked)
				time.Sleep(10 * time.Hour) // its caller takes no ticket
				call.waits()
				r := a.one()
				is(t, "type", r.RequestType, pending.ToolApproval)
				is(t, "tool", r.ToolName, "Bash")
				is(t, "use", r.AskerToolUseID, "toolu_1")
				is(t, "asker", r.Asker, "agent builder over MCP")
				if !strings.Contains(string(r.ToolInput), `"command"`) {
					t.Fatalf("input %s", r.ToolInput)
				}
				c.decide(a, r)
				call.says(c.want)
				if name != "edited" {
					return
				}
				synctest.Wait()
				ses, err := h.memory.Session(t.Context(), r.SessionID)
				if err != nil {
					t.Fatal(err)
				}
				var record session.ResolvedBody
				if err := json.Unmarshal([]byte(ses.Model), &record); err != nil { // see memory.PutItems
					t.Fatal(err)
				}
				is(t, "what ran", string(record.ToolInput), `{"command":"ls -l","n":1.0}`)
				is(t, "what was proposed", string(record.ProposedInput), string(r.ToolInput))
			})
		})
	}
	inputs := map[string]string{`{"input":{}}`: "tool_name is required", `{"tool_name":"Bash"}`: "input must be an object", `{"tool_name":"Bash","input":"ls"}`: "input must be an object",
		`{"tool_name":"Ba\u0000sh","input":{}}`: "tool_name must not contain NUL characters"}
	for input, want := range inputs {
		t.Run(want, func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				a := h.agent(session.Ours, "")
				call := a.call("approval_prompt", input)
				is(t, "open", len(a.open()), 0)
				call.fails("Validation error: " + want)
			})
		})
	}
}
