package main_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// internal matches what the CLI says to the model, or to those who make it.
var internal = regexp.MustCompile(`ede_diagnostic|Request interrupted|doesn't want to proceed|stream closed|bunfs|undefined|withdrawn before|AbortError|tool_use_error|\n +at `)

// TestRealKillSaysWhoEndedIt ends and interrupts turns in which something is open, runs,
// or is being said: the transcript says in our words what happened, and nothing else.
func TestRealKillSaysWhoEndedIt(t *testing.T) {
	onBothCLIs(t, func(t *testing.T, version string) {
		call := func(command string) string {
			return `[[{"tool":"Bash","input":{"command":"` + command + `","description":"d"}},{"tool":"Bash","input":{"command":"touch y","description":"d"}}],[{"text":"done"}]]`
		}
		h, _ := realHouse(t, version)
		s := h.start()
		for _, c := range []struct {
			name, script string
			begin        func(id string)
		}{
			{"open", call("touch x"), func(id string) { s.asks(id) }},
			{"a tool that runs", call("touch ran; tail -f /dev/null"), func(id string) {
				s.allow(s.asks(id))
				s.reaches(id, "assistant_turn")
			}},
			{"a text that grows", `{"replies":[{"chunk_ms":200,"blocks":[{"text":"` + strings.Repeat("word after word ", 200) + `"}]}]}`, func(id string) { s.reaches(id, "assistant_turn") }},
			{"nothing", `[[{"text":"done"}]]`, func(id string) {
				s.says(id, "done")
				s.reaches(id, "user_turn")
			}},
		} {
			for _, how := range []string{"kill", "kill by force", "interrupt"} {
				if c.name == "nothing" && how == "interrupt" {
					continue
				}
				id := s.session("```script\n" + c.script + "\n```")
				c.begin(id)
				want := "Ended by admin."
				if how == "interrupt" {
					s.do("POST", "/api/sessions/"+id+"/interrupt", map[string]any{}, nil)
					s.reaches(id, "user_turn")
					want = "admin interrupted Claude."
				} else {
					s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": how == "kill by force"}, nil)
					s.reaches(id, "dead")
				}
				var page struct{ Items []json.RawMessage }
				said, notes := "", 0
				eventually(t, "the transcript says "+want, func() bool {
					s.do("GET", "/api/sessions/"+id+"/transcript?limit=500", nil, &page)
					said, notes = "", 0
					for _, raw := range page.Items {
						var item struct{ Kind, Text, Result string }
						must(t, json.Unmarshal(raw, &item))
						if item.Kind == "user" {
							continue
						}
						if item.Kind == "note" && item.Text == want {
							notes++
						}
						said += fmt.Sprintf("%s\n", raw)
					}
					return notes > 0
				})
				if found := internal.FindString(said); found != "" || notes != 1 {
					t.Errorf("%s, %s: %d notes, and it says %q in\n%s", c.name, how, notes, found, said)
				}
			}
		}
	})
}
