package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// internal matches what the CLI says to the model, or to those who make it.
var internal = regexp.MustCompile(`ede_diagnostic|Request interrupted|doesn't want to proceed|stream closed|bunfs|undefined|withdrawn before|AbortError|tool_use_error|\n +at `)

// TestRealKillSaysWhoEndedIt ends and interrupts turns in which something is open, runs,
// or is being said, or that have not begun: the transcript says in our words what
// happened, once, and nothing else. A session takes what leaves it alive first, so that
// few are started.
func TestRealKillSaysWhoEndedIt(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		call := func(command string) string {
			return `[[{"tool":"Bash","input":{"command":"` + command + `","description":"d"}},{"tool":"Bash","input":{"command":"touch y","description":"d"}}],[{"text":"done"}]]`
		}
		growing := `{"replies":[{"chunk_ms":200,"blocks":[{"text":"` + strings.Repeat("word after word ", 200) + `"}]}]}`
		h, model := realHarness(t, version)
		s := h.start()
		requests := func() (n int) { // that a script answers
			for _, r := range model.Requests() {
				if r.Outcome == "reply" {
					n++
				}
			}
			return n
		}
		for _, c := range []struct {
			name, script string
			begin        func(id string, requests int)
			ends         []string // of each session, in order
		}{
			{"open", call("touch x"), func(id string, _ int) { s.asks(id) }, []string{"interrupt, kill", "kill by force"}},
			{"a tool that runs", call("touch ran; tail -f /dev/null"), func(id string, _ int) {
				s.allow(s.asks(id))
				ran := filepath.Join(h.work, "ran")
				eventually(t, "the tool runs", func() bool { return os.Remove(ran) == nil })
			}, []string{"interrupt, kill", "kill by force"}},
			{"a text that grows", growing, func(_ string, before int) {
				eventually(t, "the model speaks", func() bool { return requests() > before })
			}, []string{"interrupt, kill", "kill by force"}},
			// The CLI may take what comes now for nothing.
			{"a turn that begins", growing, func(id string, _ int) { s.reaches(id, "assistant_turn") }, []string{"interrupt, interrupt, kill"}},
			{"nothing", `[[{"text":"done"}]]`, func(id string, _ int) {
				s.says(id, "done")
				s.reaches(id, "user_turn")
			}, []string{"kill", "kill by force"}},
		} {
			for _, ends := range c.ends {
				id, wants := "", map[string]int{}
				for _, how := range strings.Split(ends, ", ") {
					before := requests()
					if id == "" {
						id = s.session("```script\n" + c.script + "\n```")
					} else {
						s.say(id, c.script)
					}
					c.begin(id, before)
					if how == "interrupt" {
						s.do("POST", "/api/sessions/"+id+"/interrupt", map[string]any{}, nil)
						s.reaches(id, "user_turn")
						wants["admin interrupted Claude."]++
					} else {
						s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": how == "kill by force"}, nil)
						s.reaches(id, "dead")
						wants["Ended by admin."]++
					}
					s.notes(id, c.name+", "+how, wants)
				}
			}
		}
	})
}

// notes waits until the transcript has each of the notes that it must have, and fails
// when it has others or says anything that is not for people.
func (s *server) notes(sessionID, when string, wants map[string]int) {
	s.h.t.Helper()
	var said string
	var notes map[string]int
	eventually(s.h.t, fmt.Sprintf("%s: the transcript says %v", when, wants), func() bool {
		var page struct{ Items []json.RawMessage }
		s.do("GET", "/api/sessions/"+sessionID+"/transcript?limit=500", nil, &page)
		said, notes = "", map[string]int{}
		for _, raw := range page.Items {
			var item struct{ Kind, Text string }
			must(s.h.t, json.Unmarshal(raw, &item))
			if item.Kind == "user" {
				continue
			}
			if item.Kind == "note" {
				notes[item.Text]++
			}
			said += fmt.Sprintf("%s\n", raw)
		}
		for text, n := range wants {
			if notes[text] < n {
				return false
			}
		}
		return true
	})
	if found := internal.FindString(said); found != "" || !maps.Equal(notes, wants) {
		s.h.t.Errorf("%s: the notes are %v, want %v, and it says %q in\n%s", when, notes, wants, found, said)
	}
}
