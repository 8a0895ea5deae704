package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

// DemoPrompt is the first message of a demo session, in permission mode default, when its
// model runs with Options{Default: Demo()}. With any model, the reference "```script demo```"
// in a prompt does the same.
const DemoPrompt = "Show me round: work on a small task in this folder and ask me before you do anything."

// DemoEnv is what the CLI needs in its environment, besides ANTHROPIC_BASE_URL and a fake
// ANTHROPIC_API_KEY, to show the whole demo: without the first, new versions offer no todo
// list with their default model; with the second, both have TodoWrite, which sends the list
// as a whole.
var DemoEnv = []string{
	"CLAUDE_CODE_ENABLE_TODO_TOOLS=1",
	"CLAUDE_CODE_ENABLE_TASKS=0",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"DISABLE_AUTOUPDATER=1",
}

// demoPace is the pause after each chunk, in milliseconds, about the speed of the real model.
const demoPace = 20

// Demo returns the script of the demo session: visible thinking, a todo list, approvals of a
// command, a new file and an edit, a plan, three questions, two subagents that ask at the
// same time, and a summary. Replies are chosen by position, so after a denial or an interrupt
// the next one follows.
func Demo() *Script {
	script := &Script{After: demoAfter}
	add := func(blocks ...Block) {
		script.Replies = append(script.Replies, Reply{Blocks: blocks, ChunkMS: demoPace})
	}
	step := func(n int, blocks ...Block) []Block { return append(todos(n), blocks...) }

	first := []Block{
		{Thinking: "The person wants to see how sayso works. A small greeter with a file, an edit and a few languages will show everything, and it does no harm. First a list of what I am going to do."},
		{Text: "Hello! I am the **demo model**: the Claude Code CLI around me is the real one, only my words come from a script. I will write a tiny greeter in this folder, and you decide about every step.\n\nFirst a command. It makes a folder and a file in it."},
	}
	first = append(first, newTodos()...)
	// Deletes the greeter of an earlier demo: the CLI refuses to overwrite a file that was
	// not read.
	add(append(first, call("Bash", map[string]any{
		"command":     "mkdir -p greetings && rm -f greetings/greet.sh && printf 'Hello from sayso\\n' > greetings/hello.txt",
		"description": "Start afresh, with a first greeting",
	}))...)

	add(step(1,
		Block{If: "ok", Text: "Done, `greetings/hello.txt` is there. Next comes a new file; you see all of it before it is written."},
		Block{If: "error", Text: "You said no, so I leave that out. The next step is a new file; you see all of it before it is written."},
		call("Write", map[string]any{"file_path": "{{cwd}}/greetings/greet.sh", "content": demoFile}),
	)...)

	add(step(2,
		Block{If: "ok", Thinking: "The greeter is written. It greets only in English, and the name should come from the first argument."},
		Block{If: "ok", Text: "The greeter is written. Now a change to it, shown as a difference."},
		Block{If: "error", Text: "Not written. I try the change anyway: without the file the tool itself refuses it, and you are not asked."},
		call("Edit", map[string]any{
			"file_path":  "{{cwd}}/greetings/greet.sh",
			"old_string": "name=\"world\"\n",
			"new_string": "# The first argument is who to greet.\nname=\"${1:-world}\"\n",
		}),
	)...)

	add(step(3,
		Block{Text: "For the other languages I make a plan before I touch anything."},
		call("EnterPlanMode", map[string]any{}),
	)...)

	add(
		Block{Thinking: "In plan mode I may only write the plan itself."},
		call("Write", map[string]any{"file_path": "{{plan_file}}", "content": demoPlan}),
	)

	add(call("ExitPlanMode", map[string]any{}))

	add(step(4,
		Block{If: "ok", Text: "The plan stands. Three things I would rather ask than guess."},
		Block{If: "error", Text: "You did not take the plan; I keep what you said in mind. Three things I would rather ask than guess."},
		call("AskUserQuestion", map[string]any{"questions": demoQuestions}),
	)...)

	add(step(5,
		Block{If: "ok", Text: "Thank you, I have noted:\n\n{{answers}}\n\nTwo subagents now write one language each. Both ask at the same time; answer them in any order."},
		Block{If: "error", Text: "No answers, so I choose myself. Two subagents now write one language each. Both ask at the same time; answer them in any order."},
		subagent("French greeting", "Write the French greeting.", "fr", "Bonjour de sayso"),
		subagent("German greeting", "Write the German greeting.", "de", "Hallo von sayso"),
	)...)

	add(step(6, call("Bash", map[string]any{
		"command":     "ls greetings",
		"description": "Look at what is there",
	}))...)

	// One block each, because the CLI's result contains only the last one.
	add(
		Block{If: "ok", Text: demoListing + demoSummary + demoTry},
		Block{If: "error", Text: demoNothing + demoSummary},
	)
	return script
}

func call(tool string, input any) Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err) // the inputs are literals
	}
	return Block{Tool: tool, Input: raw}
}

// subagent starts a subagent that runs a command of its own. It runs in the foreground, so
// that the turn waits for it; new CLIs would put it in the background.
func subagent(description, prompt, language, greeting string) Block {
	b := call("Task", map[string]any{
		"description": description, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false,
	})
	b.Script = &Script{Replies: []Reply{
		{ChunkMS: demoPace, Blocks: []Block{
			{Text: "I write one file."},
			call("Bash", map[string]any{
				"command":     fmt.Sprintf("mkdir -p greetings && printf '%s\\n' > greetings/%s.txt", greeting, language),
				"description": "Write greetings/" + language + ".txt",
			}),
		}},
		{ChunkMS: demoPace, Blocks: []Block{
			{If: "ok", Text: "greetings/" + language + ".txt is written."},
			{If: "error", Text: "I was told not to write greetings/" + language + ".txt: {{last_tool_result}}"},
		}},
	}}
	return b
}

var demoSteps = []struct{ content, active string }{
	{"Create a folder with a first greeting", "Creating a folder"},
	{"Write the greeter", "Writing the greeter"},
	{"Let it greet by name", "Changing the greeter"},
	{"Plan the other languages", "Planning"},
	{"Ask what is unclear", "Asking"},
	{"Add French and German with two subagents", "Adding languages"},
}

// newTodos starts the list with the todo tool of this CLI.
func newTodos() []Block {
	out := []Block{todoWrite(0)}
	for _, s := range demoSteps {
		b := call("TaskCreate", map[string]any{"subject": s.content, "description": s.content, "activeForm": s.active})
		b.If = "tool:TaskCreate"
		out = append(out, b)
	}
	return append(out, taskUpdate(1, "in_progress"))
}

// todos marks the first n steps as done and the next one as in progress.
func todos(n int) []Block {
	out := []Block{todoWrite(n), taskUpdate(n, "completed")}
	if n < len(demoSteps) {
		out = append(out, taskUpdate(n+1, "in_progress"))
	}
	return out
}

func todoWrite(done int) Block {
	list := make([]map[string]string, len(demoSteps))
	for i, s := range demoSteps {
		status := "pending"
		if i < done {
			status = "completed"
		} else if i == done {
			status = "in_progress"
		}
		list[i] = map[string]string{"content": s.content, "status": status, "activeForm": s.active}
	}
	b := call("TodoWrite", map[string]any{"todos": list})
	b.If = "tool:TodoWrite"
	return b
}

func taskUpdate(id int, status string) Block {
	b := call("TaskUpdate", map[string]any{"taskId": fmt.Sprint(id), "status": status})
	b.If = "tool:TaskUpdate"
	return b
}

const demoFile = `#!/bin/sh
# A small greeter, written by the demo of sayso.
set -eu

name="world"
cd "$(dirname "$0")"

for file in *.txt; do
	printf '%s: %s, %s\n' "${file%.txt}" "$(cat "$file")" "$name"
done
`

const demoPlan = `# Greetings in more languages

1. Ask which tone and which languages are wanted.
2. Let one subagent write each language:
   - ` + "`greetings/fr.txt`" + `
   - ` + "`greetings/de.txt`" + `
3. Look at the folder and sum up.

Nothing outside ` + "`greetings/`" + ` is touched, and deleting that folder undoes everything.
`

var demoQuestions = []map[string]any{
	{
		"question": "Which tone should the greetings have?", "header": "Tone", "multiSelect": false,
		"options": []map[string]string{
			{"label": "Friendly", "description": "As among colleagues"},
			{"label": "Formal", "description": "As in a letter"},
			{"label": "Playful", "description": "With a wink"},
		},
	},
	{
		"question": "Which languages come next?", "header": "Languages", "multiSelect": true,
		"options": []map[string]string{
			{"label": "Spanish", "description": "¡Hola!"},
			{"label": "Japanese", "description": "こんにちは"},
			{"label": "Portuguese", "description": "Olá!"},
			{"label": "Polish", "description": "Cześć!"},
		},
	},
	{
		"question": "How should the greeter print them?", "header": "Layout", "multiSelect": false,
		"options": []map[string]string{
			{"label": "One per line", "description": "Easy to read and to pipe", "preview": "```\nde: Hallo von sayso\nen: Hello from sayso\nfr: Bonjour de sayso\n```"},
			{"label": "A table", "description": "Aligned columns", "preview": "```\n| code | greeting         |\n|------|------------------|\n| de   | Hallo von sayso  |\n| en   | Hello from sayso |\n```"},
		},
	},
}

const demoListing = "## What happened\n\n" +
	"Nothing ran without your say-so. The folder `greetings` now holds:\n\n" +
	"```text\n{{last_tool_result}}\n```\n\n"

const demoNothing = "## What happened\n\nNothing ran without your say-so. You let nothing through, so the folder is as it was.\n\n"

const demoSummary = "| Step | What you saw |\n|---|---|\n" +
	"| Command | an approval with the whole command, which you can edit |\n" +
	"| New file, edit | the text and the difference before it is written |\n" +
	"| Plan | a plan to approve or send back |\n" +
	"| Questions | one choice, several choices, and your own words |\n" +
	"| Subagents | two requests open at once, each with its agent |\n\n" +
	"Every open tab showed the same requests, and the first answer counted."

const demoTry = "\n\nTry the greeter, if you let it be written:\n\n```sh\nsh greetings/greet.sh Ada\n```"

const demoAfter = "The demo is over, and I have nothing more in my script. You said:\n\n> {{last_user_text}}\n\nStart a session with your own Claude account to work on something real, or start another demo."
