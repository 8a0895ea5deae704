package project

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude/rule"
)

// Call is a tool call that needs an approval.
type Call struct {
	Tool  string
	Input json.RawMessage // a JSON object
	CWD   string          // of the session, absolute
	Home  string          // of the CLI's user, "" when unknown
	// Dir is the shell's current folder, "" when it is CWD.
	Dir string
	// Resolve is [Disk.ResolvePath]; it returns "" when the target is unknown. If it is nil, files
	// cannot be read, and only names are compared.
	Resolve func(file string) string
}

// Disk reads the files of sessions as the CLI would.
type Disk interface {
	// Home returns the home folder of the CLI's user, "" when there is none.
	Home(ctx context.Context) (string, error)
	// ResolvePath resolves all symbolic links of an absolute path, as far as it exists. It leaves
	// paths below /proc unchanged. An error means that the target is unknown.
	ResolvePath(ctx context.Context, path string) (string, error)
	// RepositoryRoot returns the folder whose settings apply in a folder: the root of its
	// repository, or the folder.
	RepositoryRoot(ctx context.Context, folder string) (string, error)
}

// Ruling is what the rules of a project require for a call.
type Ruling struct {
	Effect Effect
	People []string // user ids of those who may approve; empty: everybody who may answer
	// Unread: part of the call could not be analyzed, so the strictest rule for its tool
	// decides.
	Unread bool
}

// Unrestricted reports whether everybody who may answer may approve alone.
func (r Ruling) Unrestricted() bool { return r.Effect == Allow && len(r.People) == 0 }

// ruling returns the ruling on a call. The first matching rule decides about each part of the
// call, and the strictest of these rulings counts. So a rule that restricts applies if it
// matches one part; a rule that allows must match all parts.
func (p Project) ruling(c Call) Ruling {
	rules := p.rulesFor(c.Tool)
	input := parseInput(c.Input)
	if command, ok := input["command"].(string); ok && runsCommands(c.Tool) {
		all := p.commandRuling(rules, command, c.CWD, c)
		if c.Dir != "" && c.Dir != c.CWD {
			all = stricterRuling(all, p.commandRuling(rules, command, c.Dir, c))
		}
		return all
	}
	if len(rules) == 0 {
		return Ruling{Effect: Allow}
	}
	if input == nil {
		return unreadRuling(rules) // it may run anything
	}
	var parts []part
	for _, name := range []string{"file_path", "notebook_path", "path"} {
		if value, ok := input[name].(string); ok && value != "" {
			parts = append(parts, p.fileParts(c, value, c.CWD)...)
			if plain := strings.TrimSpace(value); plain != value {
				parts = append(parts, p.fileParts(c, plain, c.CWD)...) // as the CLI reads it
			}
		}
	}
	if address, ok := input["url"].(string); ok && address != "" {
		parts = append(parts, addressParts(address)...)
	}
	switch known := rule.Edits(c.Tool) || rule.Reads(c.Tool) || c.Tool == "WebFetch"; {
	case rule.Reads(c.Tool) && len(parts) == 0:
		parts = p.fileParts(c, c.CWD, c.CWD) // Grep and Glob search there
	case !known:
		parts = append(parts, textsPart(jsonTexts(input)))
	}
	if len(parts) == 0 {
		parts = []part{noMatch}
	}
	return decide(rules, parts)
}

// part is a piece of a call that rules are compared with. matches reports whether a rule with
// a pattern matches it.
type part struct {
	matches func(Rule) bool
	unread  bool // it could not be analyzed
}

// noMatch is a part that no rule with a pattern matches.
var noMatch = part{matches: func(Rule) bool { return false }}

// decide returns the strictest ruling on any of the parts.
func decide(rules []Rule, parts []part) Ruling {
	all := Ruling{Effect: Allow}
	for _, one := range parts {
		if one.unread {
			all = stricterRuling(all, unreadRuling(rules))
			continue
		}
		if i := decidingRule(rules, one); i >= 0 {
			all = stricterRuling(all, rules[i].ruling())
		}
	}
	return all
}

// decidingRule returns the index of the first rule that matches a part, or -1.
func decidingRule(rules []Rule, one part) int {
	return slices.IndexFunc(rules, func(r Rule) bool { return r.Pattern == "" || one.matches(r) })
}

// unreadRuling returns the strictest ruling of all rules, for a part that could not be
// analyzed.
func unreadRuling(rules []Rule) Ruling {
	all := Ruling{Effect: Allow}
	for i, r := range rules {
		if i == 0 && r.Pattern == "" {
			return r.ruling()
		}
		all = stricterRuling(all, r.ruling())
	}
	all.Unread = !all.Unrestricted()
	return all
}

// textsPart returns a part for all texts of an input with an unknown meaning. Only rules that
// restrict match it.
func textsPart(texts []string) part {
	return part{matches: func(r Rule) bool { return r.restricts() && slices.ContainsFunc(texts, r.matchesText) }}
}

// parseInput parses the input of a tool. It returns nil unless it is an object.
func parseInput(raw json.RawMessage) (input map[string]any) {
	_ = json.Unmarshal(raw, &input) // nil matches nothing
	return input
}

// rulesFor returns the rules for any of the tools, in order, up to the first one without a
// pattern, which decides all remaining calls.
func (p Project) rulesFor(tools ...string) (rules []Rule) {
	for _, r := range p.Rules {
		if !slices.ContainsFunc(tools, r.appliesTo) {
			continue
		}
		rules = append(rules, r)
		if r.Pattern == "" {
			break
		}
	}
	return rules
}

// appliesTo reports whether the rule is for a tool. A rule that restricts one tool for
// editing files restricts all of them, as the CLI's own rules for Edit do.
func (r Rule) appliesTo(tool string) bool {
	if matches(r.Tool, tool) {
		return true
	}
	return r.restricts() && (rule.Edits(r.Tool) && rule.Edits(tool) || rule.Reads(r.Tool) && rule.Reads(tool) || r.Tool == "Bash" && runsCommands(tool) ||
		slices.Contains(agentTools, r.Tool) && slices.Contains(agentTools, tool))
}

// agentTools are the names of one tool in different versions of the CLI.
var agentTools = []string{"Agent", "Task"}

// runsCommands reports whether a tool runs its input "command" in a shell.
func runsCommands(tool string) bool { return tool == "Bash" || tool == "Monitor" }

// restricts reports whether the rule limits who may approve.
func (r Rule) restricts() bool { return r.Effect != Allow || len(r.People) > 0 }

func (r Rule) ruling() Ruling { return Ruling{Effect: r.Effect, People: r.People} }

// ruleRestricting returns the first rule that restricts calls which a permission rule of the
// CLI, granted, would allow.
func (p Project) ruleRestricting(granted string) (Rule, bool) {
	g := rule.Parse(strings.TrimSpace(granted))
	g.Tool = strings.TrimSpace(g.Tool)
	i := slices.IndexFunc(p.Rules, func(r Rule) bool {
		if !r.restricts() {
			return false
		}
		if r.appliesTo(g.Tool) || strings.Contains(g.Tool, "*") {
			return true
		}
		// A grant for "mcp__server" covers all tools of that server, and one for Edit also
		// allows reading.
		for _, tool := range []string{"Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Grep", "Glob", "LS", "Agent", "Task", strings.TrimRight(r.Tool, "*")} {
			if r.appliesTo(tool) && (g.AppliesTo(tool) || rule.Edits(g.Tool) && rule.Reads(tool)) {
				return true
			}
		}
		return strings.HasPrefix(r.Tool, g.Tool+"__")
	})
	if i < 0 {
		return Rule{}, false
	}
	return p.Rules[i], true
}

// matchesText compares the pattern with a text, ignoring case.
func (r Rule) matchesText(text string) bool {
	return matches(strings.ToLower(r.Pattern), strings.ToLower(text))
}

// jsonTexts returns all texts in a JSON value.
func jsonTexts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			list = append(list, jsonTexts(x)...)
		}
	case map[string]any:
		for _, x := range v {
			list = append(list, jsonTexts(x)...)
		}
	}
	return list
}

// matches reports whether a text matches a pattern, in which * matches any text, including an
// empty one, and every other character matches itself.
func matches(pattern, text string) bool {
	return rule.Glob(strings.ReplaceAll(pattern, `\`, `\\`), text)
}
