package folder

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// harmlessSettings are settings that run nothing, permit nothing and redirect nothing. A setting
// that is unknown here counts as dangerous, because a new CLI may do anything with it.
var harmlessSettings = map[string]bool{
	"$schema": true, "model": true, "includeCoAuthoredBy": true, "includeGitInstructions": true, "attribution": true,
	"cleanupPeriodDays": true, "spinnerTipsEnabled": true, "spinnerTipsOverride": true, "spinnerVerbs": true, "language": true,
	"theme": true, "outputStyle": true, "alwaysThinkingEnabled": true, "showThinkingSummaries": true, "verbose": true, "effortLevel": true,
	"prefersReducedMotion": true, "terminalProgressBarEnabled": true, "companyAnnouncements": true, "respectGitignore": true,
	"claudeMdExcludes": true, "disableAllHooks": true, "disabledMcpjsonServers": true, "deniedMcpServers": true, "plansDirectory": true,
	"fastMode": true, "feedbackSurveyRate": true, "editorMode": true, "viewMode": true, "tui": true, "autoScrollEnabled": true,
	// These take effect only where the CLI itself asks whether to trust a folder. Driven by
	// another program, it connects to every server of .mcp.json, each of which is an item.
	"enableAllProjectMcpServers": true, "enabledMcpjsonServers": true,
}

// commandSettings are settings whose value is a command.
var commandSettings = map[string]bool{
	"apiKeyHelper": true, "statusLine": true, "subagentStatusLine": true, "otelHeadersHelper": true, "proxyAuthHelper": true,
	"awsAuthRefresh": true, "awsCredentialExport": true, "gcpAuthRefresh": true, "fileSuggestion": true, "policyHelper": true,
}

// restrictingPermissions are settings that only make the CLI ask or refuse more often.
var restrictingPermissions = map[string]bool{
	"deny": true, "ask": true, "disableBypassPermissionsMode": true, "disableAutoMode": true, "denyInsteadOfPrompting": true,
}

// askingModes are the permission modes in which the CLI asks.
var askingModes = map[string]bool{"default": true, "plan": true, "manual": true, "dontAsk": true}

func (r *reader) readSettings(file string) {
	object := r.readObject(file)
	for _, key := range keys(object) {
		value := object[key]
		switch {
		case harmlessSettings[key]:
		case key == "hooks":
			r.readHooks(file, value)
		case key == "env":
			r.readVariables(file, value)
		case key == "permissions":
			r.readPermissions(file, value)
		case commandSettings[key]:
			r.add(Item{Kind: Helper, Danger: Runs, File: file, Name: key, Text: commandOf(value)})
		case key == "enabledPlugins", key == "extraKnownMarketplaces":
			r.add(Item{Kind: Setting, Danger: Runs, File: file, Name: key, Text: compact(value)})
		default:
			r.add(Item{Kind: Setting, Danger: Changes, File: file, Name: key, Text: compact(value)})
		}
	}
}

func (r *reader) readHooks(file string, value json.RawMessage) {
	var events map[string][]hookGroup
	if json.Unmarshal(value, &events) != nil {
		r.add(Item{Kind: Hook, Danger: Runs, File: file, Name: "?", Text: compact(value)})
		return
	}
	shown := 0
	for _, event := range keys(events) {
		for _, group := range events[event] {
			name := event
			if group.matcher != "" && group.matcher != "*" {
				name += " " + group.matcher
			}
			for _, text := range group.texts {
				shown++
				r.add(Item{Kind: Hook, Danger: Runs, File: file, Name: name, Text: text})
			}
		}
	}
	if shown == 0 && compact(value) != "{}" {
		r.add(Item{Kind: Hook, Danger: Runs, File: file, Name: "?", Text: compact(value)})
	}
}

// hookGroup is the hooks of an event that have the same matcher.
type hookGroup struct {
	matcher string
	texts   []string // of the hooks; the whole group if it has fields that are unknown here
}

// UnmarshalJSON implements [json.Unmarshaler].
func (g *hookGroup) UnmarshalJSON(data []byte) error {
	var hooks []json.RawMessage
	known, err := decodeFields(data, map[string]any{"matcher": &g.matcher, "hooks": &hooks})
	if err != nil {
		return err
	}
	if !known {
		g.texts = []string{compact(data)}
		return nil
	}
	for _, hook := range hooks {
		g.texts = append(g.texts, commandOf(hook))
	}
	return nil
}

// decodeFields decodes the fields of an object, each into a pointer. known is false if the object
// has others. Unlike a struct, it does not take Command for command: for the CLI they differ.
func decodeFields(data []byte, fields map[string]any) (known bool, err error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return false, err
	}
	known = true
	for _, name := range keys(object) {
		into, ok := fields[name]
		if !ok {
			known = false
			continue
		}
		if err := json.Unmarshal(object[name], into); err != nil {
			return false, err
		}
	}
	return known, nil
}

func (r *reader) readVariables(file string, value json.RawMessage) {
	var vars map[string]json.RawMessage
	if json.Unmarshal(value, &vars) != nil {
		r.add(Item{Kind: Setting, Danger: Changes, File: file, Name: "env", Text: compact(value)})
		return
	}
	for _, name := range keys(vars) {
		r.add(Item{Kind: Variable, Danger: dangerOf(name), File: file, Name: name, Text: plainText(vars[name])})
	}
}

// runPrefixes are name prefixes of variables that make a program load or run code.
// redirectPrefixes are those of variables that change what it connects to, or as which user.
var (
	runPrefixes = []string{
		"LD_", "DYLD_", "NODE_OPTIONS", "NODE_PATH", "BUN_", "BASH_ENV", "ENV", "PATH", "SHELL", "PYTHON", "PERL", "RUBY", "JAVA_TOOL", "GIT_", "EDITOR",
		"VISUAL", "PAGER", "PROMPT_COMMAND", "PS4", "IFS", "ZDOTDIR", "BROWSER", "CLAUDE_CODE_SHELL",
	}
	redirectPrefixes = []string{
		"ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "VERTEX_", "CLOUD_ML", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_", "NODE_EXTRA_CA",
		"NODE_TLS", "OTEL_", "HOME", "XDG_", "TMPDIR", "MCP_", "NPM_CONFIG", "DISABLE_",
	}
)

func dangerOf(variable string) Danger {
	name := strings.ToUpper(variable)
	for _, start := range runPrefixes {
		if strings.HasPrefix(name, start) {
			return Runs
		}
	}
	for _, start := range redirectPrefixes {
		if strings.HasPrefix(name, start) {
			return Redirects
		}
	}
	return Changes
}

func (r *reader) readPermissions(file string, value json.RawMessage) {
	var permissions map[string]json.RawMessage
	if json.Unmarshal(value, &permissions) != nil {
		r.add(Item{Kind: Setting, Danger: Permits, File: file, Name: "permissions", Text: compact(value)})
		return
	}
	for _, key := range keys(permissions) {
		name := "permissions." + key
		switch {
		case restrictingPermissions[key]:
		case key == "defaultMode" && askingModes[plainText(permissions[key])]:
		case key == "allow":
			var rules []json.RawMessage
			if json.Unmarshal(permissions[key], &rules) != nil {
				r.add(Item{Kind: Rule, Danger: Permits, File: file, Name: name, Text: compact(permissions[key])})
			}
			for _, rule := range rules {
				if slices.Contains(r.known.Allowed[file], plainText(rule)) {
					continue
				}
				r.add(Item{Kind: Rule, Danger: Permits, File: file, Text: plainText(rule)})
			}
		default:
			r.add(Item{Kind: Setting, Danger: Permits, File: file, Name: name, Text: compact(permissions[key])})
		}
	}
}

func (r *reader) readServers(file string) {
	object := r.readObject(file)
	if object == nil {
		return
	}
	var servers map[string]json.RawMessage
	if value, ok := object["mcpServers"]; !ok || json.Unmarshal(value, &servers) != nil {
		whole, _ := json.Marshal(object) // never fails for decoded values
		r.add(Item{Kind: Unreadable, Danger: Changes, File: file, Text: "It names no MCP servers in the way that is known.", Hash: hashOf(whole)})
		return
	}
	for _, name := range keys(servers) {
		r.add(Item{Kind: MCPServer, Danger: Runs, File: file, Name: name, Text: serverText(servers[name])})
	}
}

// commandOf returns the command of a hook or helper if the value contains nothing else, else the
// whole value.
func commandOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil {
		var kind, command string
		_ = json.Unmarshal(object["type"], &kind) // "" is treated like any other type
		if json.Unmarshal(object["command"], &command) == nil && kind == "command" && len(object) == 2 {
			return command
		}
	}
	return compact(value)
}

// serverText returns the command line of a server if the value contains nothing else, else the
// whole value.
func serverText(value json.RawMessage) string {
	var kind, command string
	var args []string
	known, err := decodeFields(value, map[string]any{"type": &kind, "command": &command, "args": &args})
	if err != nil || !known || command == "" || kind != "" && kind != "stdio" {
		return compact(value)
	}
	words := append([]string{command}, args...)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n\"'\\$`") {
			words[i] = compact(mustMarshal(word))
		}
	}
	return strings.Join(words, " ")
}

// mergesKeys reports whether two keys of an object in data, a JSON value, differ for the CLI, but not
// for encoding/json, which drops the first: it decodes every half of a surrogate pair, and every byte
// that is not UTF-8, as U+FFFD.
func mergesKeys(data []byte) bool {
	type level struct {
		keys  map[string]bool // nil for an array
		inKey bool            // the next string is a key
	}
	levels := []level{{}}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // else some numbers are errors
	for {
		token, err := decoder.Token()
		if err != nil {
			return false // the end
		}
		top := &levels[len(levels)-1]
		if key, ok := token.(string); ok && top.inKey {
			if top.keys[key] && strings.ContainsRune(key, utf8.RuneError) {
				return true
			}
			top.keys[key], top.inKey = true, false
			continue
		}
		top.inKey = top.keys != nil
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{keys: map[string]bool{}, inKey: true})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
	}
}

func mustMarshal(s string) json.RawMessage {
	text, _ := json.Marshal(s) // never fails for a string
	return text
}

// plainText returns a string itself and any other value as JSON.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return compact(value)
}

func compact(value json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return string(value)
	}
	return out.String()
}

func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}
