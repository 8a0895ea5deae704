package folder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// readSchedule adds the scheduled tasks of a folder. Each is a message to Claude that no person
// sends: both tested versions start a turn with it at its time, or later if its time has passed.
// Fields that the CLI itself adds are ignored.
func (r *reader) readSchedule(file string) {
	object := r.readObject(file)
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

// mustEncode encodes a decoded task.
func mustEncode(task map[string]json.RawMessage) json.RawMessage {
	text, _ := json.Marshal(task)
	return text
}

// readWorkflows adds the programs in a folder that the CLI offers as commands.
func (r *reader) readWorkflows(dir string) {
	if r.isUserFile(dir) {
		return
	}
	for _, file := range r.listFolder(dir) {
		if data, err := r.read(file); err == nil {
			r.add(Item{Kind: Command, Danger: Runs, File: file, Name: "workflow " + filepath.Base(file), Text: string(data), Hash: hashOf(data)})
		}
	}
}

// readPlugins adds the contents of plugins in a folder of skills. The CLI loads them if a person
// has trusted the folder in a terminal.
func (r *reader) readPlugins(skills string) {
	if r.isUserFile(skills) {
		return
	}
	for _, plugin := range r.listFolder(skills) {
		if r.exists(filepath.Join(plugin, ".claude-plugin")) {
			r.readPlugin(plugin)
		}
	}
}

// listFolder lists up to maxFiles entries of a folder. If there are more, it adds an item.
func (r *reader) listFolder(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.recordTransient(err)
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

// readPlugin adds one plugin: its manifest, which can contain all settings or name other files,
// and the files that the CLI loads by their names.
func (r *reader) readPlugin(dir string) {
	name := filepath.Base(dir)
	files := r.listFolder(filepath.Join(dir, ".claude-plugin"))
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
		r.readDefinitions(k.kind, filepath.Join(dir, k.name))
	}
	r.readWorkflows(filepath.Join(dir, "workflows"))
}
