package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/session"
)

// schema is what is used of the input schema of a tool.
type schema struct {
	Type       string
	Required   []string
	Enum       []string
	Properties map[string]schema
	Items      *schema
}

// inputFaults lists inputs with one fault each, as the schema has it: a required
// field left out or null, a value of another type, a word that is none.
func inputFaults(s schema, input map[string]any, path string) map[string]map[string]any {
	all := map[string]map[string]any{}
	with := func(name string, v any) map[string]any {
		m := maps.Clone(input)
		m[name] = v
		return m
	}
	others := map[string][]any{
		"string": {1, true, []any{}, map[string]any{}}, "boolean": {"true", 1}, "integer": {"1", 1.5, true}, "number": {"1", true, []any{}},
		"array": {"x", 1, map[string]any{}}, "object": {"x", 1, []any{}},
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, where := s.Properties[name], path+name
		value, there := input[name]
		if !there {
			continue // of another dialect of the tool
		}
		if slices.Contains(s.Required, name) {
			missing := maps.Clone(input)
			delete(missing, name)
			all[where+" missing"], all[where+" null"] = missing, with(name, nil)
			if p.Type == "string" {
				all[where+" blank"] = with(name, " ")
			}
		}
		for _, other := range others[p.Type] {
			if where == "phase_number" && other == 1 {
				continue // models write 33 for "33"
			}
			all[fmt.Sprintf("%s %v", where, other)] = with(name, other)
		}
		if len(p.Enum) > 0 {
			all[where+" no such word"], all[where+" in capitals"] = with(name, "nobody-knows-this"), with(name, strings.ToUpper(p.Enum[0]))
		}
		if list, ok := value.([]any); ok && p.Items != nil {
			all[where+" holds null"] = with(name, []any{nil})
			all[where+" twice the same"] = with(name, append(slices.Clone(list), list[0]))
			if item, ok := list[0].(map[string]any); ok {
				for name2, faulty := range inputFaults(*p.Items, item, where+".") {
					all[name2] = with(name, []any{faulty})
				}
			} else {
				all[where+" holds a number"] = with(name, []any{1})
			}
		}
	}
	return all
}

// TestEveryFaultOfAToolCallIsRefused: the faults follow from the schemas that the
// tools publish. Nothing is asked of anybody.
func TestEveryFaultOfAToolCallIsRefused(t *testing.T) {
	inputs := map[string][]string{
		"ask_user": {`{"question":"Which?","options":[{"label":"A","description":"a"}],"multiSelect":true}`,
			`{"questions":[{"id":"a","question":"Which?","type":"select","options":["A"],"required":true,"placeholder":"p"}],"title":"t","timeout":10000}`},
		"AskUser":                {`{"question":"Which?"}`},
		"ask_question":           {`{"question":"Which?","options":[{"value":"a","label":"A","description":"a"}],"allow_free_text":true}`},
		"ask_user_wait":          {`{"ticket":"none"}`},
		"submit_lifecycle_event": {`{"event_type":"plan-started","phase_name":"x","phase_number":"33","step":1,"total_steps":2}`},
		"get_phase_status":       {},
		"approval_prompt":        {`{"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}`},
	}
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		list := a.send(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
		<-list.done
		var reply struct {
			Result struct {
				Tools []struct {
					Name        string
					InputSchema schema
				}
			}
		}
		text := string(list.body)
		if i := strings.Index(text, "data: "); i >= 0 {
			text = text[i+len("data: "):]
		}
		if err := json.Unmarshal([]byte(text), &reply); err != nil || len(reply.Result.Tools) < 7 {
			t.Fatalf("%v: %s", err, list.body)
		}
		count := 0
		for _, tool := range reply.Result.Tools {
			examples, known := inputs[tool.Name]
			if !known {
				t.Errorf("%s has no example", tool.Name)
			}
			for _, example := range examples {
				var input map[string]any
				if err := json.Unmarshal([]byte(example), &input); err != nil {
					t.Fatal(err)
				}
				faults := map[string]string{"a field twice": strings.Replace(example, `{"`, `{"x":1,"x":2,"`, 1), "a list": "[" + example + "]"}
				for name, fault := range inputFaults(tool.InputSchema, input, "") {
					data, err := json.Marshal(fault)
					if err != nil {
						t.Fatal(err)
					}
					faults[name] = string(data)
				}
				for name, text := range faults {
					count++
					c := a.call(tool.Name, text)
					synctest.Wait()
					switch {
					case !c.over():
						t.Errorf("%s, %s: it is asked: %s", tool.Name, name, text)
						c.cut()
					case c.result != nil && (!c.result.IsError || !strings.Contains(c.text(), "Validation error")):
						t.Errorf("%s, %s: got %s", tool.Name, name, c.text())
					}
				}
			}
		}
		t.Logf("%d faults", count)
		is(t, "open", len(a.open()), 0)
	})
}

// What another version of an agent sends besides is left alone, as MCP and the CLI
// have it.
func TestUnknownFieldsOfAgentsPass(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		a := h.agent(session.Ours, "")
		for tool, input := range map[string]string{
			"ask_user":        `{"question":"Which?","Question":"Another?","metadata":{"source":"x"},"options":[{"label":"A","Label":"B","preview":"x"}]}`,
			"ask_question":    `{"question":"Which?","conversation_id":"c1"}`,
			"approval_prompt": `{"tool_name":"Bash","input":{"command":"ls","new":1},"permission_suggestions":[]}`,
		} {
			c := a.call(tool, input)
			c.waits()
			if r := a.one(); r.Form != nil {
				is(t, "question", r.Form.Questions[0].Question, "Which?")
			}
			<-a.send(cancelled(c.id)).done
			synctest.Wait()
		}
	})
}

// Every field of what a hook and the PromptManager send with a value of another type,
// null where it is needed, or twice: 400, and nothing is asked.
func TestEveryFaultOfAnAdapterBodyIsRefused(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		term, s := h.terminal(), h.stream()
		count := 0
		for path, body := range map[string]any{
			"/hook/ask":                  bash("k1"),
			"/hook/gone":                 mcpapi.HookGone{Key: "k1", SessionID: "c1", Reason: "terminal"},
			"/hook/notice":               mcpapi.HookNotice{Host: "laptop", SessionID: "c1", CWD: "/x", Message: "hello"},
			"/claude/relay-question?p=5": mcpapi.RelayQuestion{StreamToken: s.token, Question: "Which?", Options: []mcpapi.RelayOption{{Label: "A"}}, QuestionID: "x", Timeout: 30},
		} {
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			if err := json.Unmarshal(data, &fields); err != nil {
				t.Fatal(err)
			}
			faulty := []string{"", "null", "[]", "x", string(data) + "{}", strings.Replace(string(data), "{", `{"x":1,"x":1,`, 1)}
			typ := reflect.TypeOf(body)
			for i := range typ.NumField() {
				name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
				add := func(v any) {
					m := maps.Clone(fields)
					m[name] = v
					text, err := json.Marshal(m)
					if err != nil {
						t.Fatal(err)
					}
					faulty = append(faulty, string(text))
				}
				switch kind := typ.Field(i).Type.Kind(); kind {
				case reflect.String:
					add(1)
					add([]any{})
					if options == "" {
						add(nil)
						add("")
						m := maps.Clone(fields)
						delete(m, name)
						text, _ := json.Marshal(m)
						faulty = append(faulty, string(text))
					}
				case reflect.Float64, reflect.Bool:
					add("1")
				case reflect.Slice:
					add("x")
					if name != "tool_input" {
						add(map[string]any{})
					}
				}
			}
			for _, text := range faulty {
				count++
				e := h.sends("POST", path, term.secret, text)
				<-e.done
				// A stream that is unknown is refused as such.
				if e.status != 400 && !(strings.HasPrefix(path, "/claude") && e.status == 403) {
					t.Errorf("%s with %s: %d %v", path, text, e.status, e.body)
				}
			}
		}
		t.Logf("%d faults", count)
		is(t, "open", len(h.openRequests()), 0)
	})
}
