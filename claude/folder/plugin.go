package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// schedule adds the tasks of a folder. Each is a message to Claude that nobody sends:
// both versions begin a turn with it when its time has come, or has passed. What the
// CLI itself writes beside them does not count.
func (r *reader) schedule(file string) {
	object := r.object(file)
	if object == nil {
		return
	}
	var tasks []map[string]json.RawMessage
	if json.Unmarshal(object["tasks"], &tasks) != nil {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: file, Text: "It is not the list of scheduled tasks that is known."})
		return
	}
	for _, task := range tasks {
		for _, volatile := range []string{"id", "createdAt", "lastFiredAt"} {
			delete(task, volatile)
		}
		name := "scheduled task " + plainText(task["cron"])
		text := plainText(task["prompt"])
		delete(task, "cron")
		delete(task, "prompt")
		delete(task, "recurring")
		if len(task) > 0 {
			text += " " + compact(mustEncode(task))
		}
		r.add(Item{Kind: Setting, Danger: Runs, File: file, Name: name, Text: strings.TrimSpace(text)})
	}
}

// mustEncode encodes what was decoded.
func mustEncode(task map[string]json.RawMessage) json.RawMessage {
	text, _ := json.Marshal(task)
	return text
}

// workflows adds the programs of a folder that the CLI offers as commands.
func (r *reader) workflows(dir string) {
	if r.isOwn(dir) {
		return
	}
	for _, file := range r.entries(dir) {
		if data, err := r.read(file); err == nil {
			r.add(Item{Kind: Command, Danger: Runs, File: file, Name: "workflow " + filepath.Base(file), Text: string(data), Hash: hashOf(data)})
		}
	}
}

// plugins adds what the plugins in a folder of skills bring along. The CLI takes them
// where somebody has trusted the folder in a terminal.
func (r *reader) plugins(skills string) {
	if r.isOwn(skills) {
		return
	}
	for _, plugin := range r.entries(skills) {
		if r.exists(filepath.Join(plugin, ".claude-plugin")) {
			r.plugin(plugin)
		}
	}
}

// entries lists what is in a folder; what goes beyond the bound is said.
func (r *reader) entries(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.check(err)
		return nil
	}
	if len(entries) > maxFiles {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: dir, Text: "It holds more files than can be looked at."})
		entries = entries[:maxFiles]
	}
	list := make([]string, 0, len(entries))
	for _, e := range entries {
		list = append(list, filepath.Join(dir, e.Name()))
	}
	return list
}

// plugin adds one plugin: its manifest, which may bring everything itself or name
// other files, and the files that are taken without being named.
func (r *reader) plugin(dir string) {
	name := filepath.Base(dir)
	files := r.entries(filepath.Join(dir, ".claude-plugin"))
	files = append(files,
		filepath.Join(dir, "hooks", "hooks.json"), filepath.Join(dir, ".mcp.json"), filepath.Join(dir, ".lsp.json"),
		filepath.Join(dir, "monitors", "monitors.json"), filepath.Join(dir, "settings.json"),
	)
	for _, file := range files {
		data, err := r.read(file)
		if err != nil {
			continue
		}
		text := string(data)
		if json.Valid(data) {
			text = compact(data)
		}
		r.add(Item{Kind: Setting, Danger: Runs, File: file, Name: "plugin " + name, Text: text, Hash: hashOf([]byte(text))})
	}
	for _, k := range []struct {
		kind Kind
		name string
	}{{Agent, "agents"}, {Command, "commands"}, {Skill, "skills"}, {Setting, "output-styles"}} {
		r.prose(k.kind, filepath.Join(dir, k.name))
	}
	r.workflows(filepath.Join(dir, "workflows"))
}
