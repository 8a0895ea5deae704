package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

// DemoPrompt is the first message of a demo session in permission mode default, whose model has
// Options{Default: Demo()}. With any other model, the reference "```script demo```" in a prompt
// starts the demo.
const DemoPrompt = "Give me a tour: do a small task in this folder, and ask me before you do anything."

// DemoEnv contains the variables that the CLI needs to show the whole demo, in addition to
// ANTHROPIC_BASE_URL and a fake ANTHROPIC_API_KEY. Without the first, new versions offer no todo list
// with their default model. With the second, both tested versions offer TodoWrite, which sends the
// whole list.
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
// same time, and a summary. Replies are chosen by position, so the script continues with the next
// reply after a denial or an interrupt.
func Demo() *Script {
	script := &Script{After: demoAfter}
	add := func(blocks ...Block) {
		script.Replies = append(script.Replies, Reply{Blocks: blocks, ChunkMS: demoPace})
	}
	step := func(n int, blocks ...Block) []Block { return append(todos(n), blocks...) }

	first := []Block{
		{Thinking: "They want to see how sayso works. A small greeting script with a new file, an edit and a few languages covers everything and is harmless. I will start with a to-do list."},
		{Text: "Hi! I am the **demo model**: the Claude Code CLI is real, but what I say comes from a script. I will write a small greeting script in this folder, and you approve each step.\n\nThe first step is a command that creates a folder and a file."},
	}
	first = append(first, newTodos()...)
	// The command deletes the script of an earlier demo, because the CLI refuses to overwrite a file
	// that it has not read.
	add(append(first, call("Bash", map[string]any{
		"command":     "mkdir -p greetings && rm -f greetings/greet.sh && printf 'Hello from sayso\\n' > greetings/hello.txt",
		"description": "Create the greetings folder and a first greeting",
	}))...)

	add(step(1,
		Block{If: "ok", Text: "I created `greetings/hello.txt`. Next is a new file. You see all of it before it is written."},
		Block{If: "error", Text: "You denied the command, so I will skip it. Next is a new file. You see all of it before it is written."},
		call("Write", map[string]any{"file_path": "{{cwd}}/greetings/greet.sh", "content": demoFile}),
	)...)

	add(step(2,
		Block{If: "ok", Thinking: "The script exists. It always greets the world, so the name should come from the first argument."},
		Block{If: "ok", Text: "I wrote the script. Next is an edit, which you see as a diff."},
		Block{If: "error", Text: "The file was not written. I will try the edit anyway: without the file, the tool fails before it asks you."},
		call("Edit", map[string]any{
			"file_path":  "{{cwd}}/greetings/greet.sh",
			"old_string": "name=\"world\"\n",
			"new_string": "# Greet the person named by the first argument.\nname=\"${1:-world}\"\n",
		}),
	)...)

	add(step(3,
		Block{Text: "Before I add other languages, I will make a plan."},
		call("EnterPlanMode", map[string]any{}),
	)...)

	add(
		Block{Thinking: "In plan mode, I can write only the plan."},
		call("Write", map[string]any{"file_path": "{{plan_file}}", "content": demoPlan}),
	)

	add(call("ExitPlanMode", map[string]any{}))

	add(step(4,
		Block{If: "ok", Text: "You approved the plan. I have three questions before I start."},
		Block{If: "error", Text: "You rejected the plan, and I will keep your feedback in mind. I have three questions before I continue."},
		call("AskUserQuestion", map[string]any{"questions": demoQuestions}),
	)...)

	add(step(5,
		Block{If: "ok", Text: "Thanks! Your answers:\n\n{{answers}}\n\nTwo subagents will now write one language each. Both ask at the same time, and you can answer in any order."},
		Block{If: "error", Text: "You didn't answer, so I will use the defaults. Two subagents will now write one language each. Both ask at the same time, and you can answer in any order."},
		subagent("French greeting", "Write the French greeting.", "fr", "Bonjour de sayso"),
		subagent("German greeting", "Write the German greeting.", "de", "Hallo von sayso"),
	)...)

	add(step(6, call("Bash", map[string]any{
		"command":     "ls greetings",
		"description": "List the greetings",
	}))...)

	// One block in either case, because the CLI's result contains only the last block.
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

// subagent returns a call that starts a subagent, which runs one command. It runs in the foreground, so
// that the turn waits for it; by default, new CLIs would run it in the background.
func subagent(description, prompt, language, greeting string) Block {
	b := call("Task", map[string]any{
		"description": description, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false,
	})
	b.Script = &Script{Replies: []Reply{
		{ChunkMS: demoPace, Blocks: []Block{
			{Text: "I will write one file."},
			call("Bash", map[string]any{
				"command":     fmt.Sprintf("mkdir -p greetings && printf '%s\\n' > greetings/%s.txt", greeting, language),
				"description": "Write greetings/" + language + ".txt",
			}),
		}},
		{ChunkMS: demoPace, Blocks: []Block{
			{If: "ok", Text: "I wrote greetings/" + language + ".txt."},
			{If: "error", Text: "I did not write greetings/" + language + ".txt: {{last_tool_result}}"},
		}},
	}}
	return b
}

var demoSteps = []struct{ content, active string }{
	{"Create a folder with a greeting", "Creating a folder"},
	{"Write the greeting script", "Writing the script"},
	{"Greet people by name", "Editing the script"},
	{"Plan more languages", "Planning"},
	{"Ask about open points", "Asking questions"},
	{"Add French and German with two subagents", "Adding languages"},
}

// newTodos creates the list with the todo tool that this CLI offers.
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
# A small greeting script, written by the sayso demo.
set -eu

name="world"
cd "$(dirname "$0")"

for file in *.txt; do
	printf '%s: %s, %s\n' "${file%.txt}" "$(cat "$file")" "$name"
done
`

const demoPlan = `# Greetings in more languages

1. Ask which tone and languages you want.
2. Have one subagent write each language:
   - ` + "`greetings/fr.txt`" + `
   - ` + "`greetings/de.txt`" + `
3. List the folder and summarize.

Nothing outside ` + "`greetings/`" + ` changes. To undo everything, delete that folder.
`

var demoQuestions = []map[string]any{
	{
		"question": "What tone should the greetings have?", "header": "Tone", "multiSelect": false,
		"options": []map[string]string{
			{"label": "Friendly", "description": "Like a message to a colleague"},
			{"label": "Formal", "description": "Like a business letter"},
			{"label": "Playful", "description": "With a bit of humor"},
		},
	},
	{
		"question": "Which languages should I add next?", "header": "Languages", "multiSelect": true,
		"options": []map[string]string{
			{"label": "Spanish", "description": "¡Hola!"},
			{"label": "Japanese", "description": "こんにちは"},
			{"label": "Portuguese", "description": "Olá!"},
			{"label": "Polish", "description": "Cześć!"},
		},
	},
	{
		"question": "How should the script print them?", "header": "Layout", "multiSelect": false,
		"options": []map[string]string{
			{"label": "One per line", "description": "Easy to read and pipe", "preview": "```\nde: Hallo von sayso\nen: Hello from sayso\nfr: Bonjour de sayso\n```"},
			{"label": "A table", "description": "Aligned columns", "preview": "```\n| code | greeting         |\n|------|------------------|\n| de   | Hallo von sayso  |\n| en   | Hello from sayso |\n```"},
		},
	},
}

const demoListing = "## What happened\n\n" +
	"Nothing ran without your say-so. The folder `greetings` now contains:\n\n" +
	"```text\n{{last_tool_result}}\n```\n\n"

const demoNothing = "## What happened\n\nNothing ran without your say-so. You approved nothing, so the folder has not changed.\n\n"

const demoSummary = "| Step | What you saw |\n|---|---|\n" +
	"| Command | The whole command, which you can edit before you approve it |\n" +
	"| New file, edit | The content or diff, before it is written |\n" +
	"| Plan | A plan to approve or send back |\n" +
	"| Questions | Single choice, multiple choice and your own text |\n" +
	"| Subagents | Two open requests at once, each labeled with its agent |\n\n" +
	"Every open tab shows the same requests, and the first answer counts."

const demoTry = "\n\nIf you approved the script, try it:\n\n```sh\nsh greetings/greet.sh Ada\n```"

const demoAfter = "The demo is over. You said:\n\n> {{last_user_text}}\n\nTo work on something real, start a session with your own Claude account. You can also start the demo again."
