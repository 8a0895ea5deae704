package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// writer generates the prompts of the CLIs. Everything in them is numbered, so that faults can
// name what is lost or doubled.
type writer struct {
	random *rand.Rand
	left   int // requests yet to be asked
	steps  int // generated so far
}

// message is a message to a session, with the turn that it causes.
type message struct {
	Title    string // its first line
	Text     string
	Requests int
}

// next returns the next message, with at most maxRequests requests.
func (w *writer) next(session, number, maxRequests int) message {
	m := message{Title: fmt.Sprintf("session %d message %d", session, number)}
	var steps []claudetest.Step
	for want := min(w.left, 1+w.random.IntN(maxRequests)); want > 0; {
		w.steps++
		count := min(want, 1+w.random.IntN(4))
		step := claudetest.Step{Ask: w.ask(), Count: count, Parallel: true, EveryMS: w.random.IntN(5)}
		if w.random.IntN(6) == 0 {
			step.CancelMS = 10 + w.random.IntN(300)
		}
		steps = append(steps, claudetest.Step{Text: fmt.Sprintf("%s line %d", m.Title, w.steps)}, step)
		if w.random.IntN(3) == 0 {
			steps = append(steps, claudetest.Step{SleepMS: 1 + w.random.IntN(20)})
		}
		want -= count
		w.left -= count
		m.Requests += count
	}
	steps = append(steps, claudetest.Step{Text: m.Title + " done"})
	m.Text = m.Title + "\n" + claudetest.Prompt(steps...)
	return m
}

// ask returns one request, a tool approval or a question.
func (w *writer) ask() map[string]any {
	if w.random.IntN(3) > 0 {
		return map[string]any{"tool_name": "Bash", "input": map[string]any{
			"command": fmt.Sprintf("touch file-%d", w.steps), "description": "Create a file, <b>number</b> " + fmt.Sprint(w.steps),
		}}
	}
	options := []any{
		map[string]any{"label": "Web", "description": "the web app"},
		map[string]any{"label": "API, server", "description": "a label with a comma"},
	}
	return map[string]any{"tool_name": "AskUserQuestion", "input": map[string]any{"questions": []any{
		map[string]any{"question": fmt.Sprintf("Which part is number %d?", w.steps), "header": "Part", "multiSelect": false, "options": options},
		map[string]any{"question": fmt.Sprintf("And what of %d?", w.steps), "header": "What", "multiSelect": w.random.IntN(2) == 0, "options": options},
	}}}
}
