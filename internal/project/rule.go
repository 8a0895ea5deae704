package project

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude/rule"
)

// Call is a tool call that somebody is to approve.
type Call struct {
	Tool  string
	Input json.RawMessage // a JSON object
	CWD   string          // of the session, absolute
	Home  string          // of the person whose CLI it is, "" when that is not known
	// Dir is the folder in which the shell is at the moment, "" when it is CWD.
	Dir string
	// Resolve is [Disk.Resolve].
	Resolve func(file string) string
}

// Disk looks at the files of sessions, as the CLI would.
type Disk struct {
	Home string // of the person whose CLI it is, "" when that is not known
	// Resolve returns where the path of a file leads, with all symbolic links resolved
	// as far as it exists: file is absolute and as a call names it. What is below /proc
	// it leaves as it is named. It returns "" when it cannot tell. Nil when nobody can
	// look: then only the names count.
	Resolve func(file string) string
	// Root returns the folder whose settings hold in another one: the root of its
	// repository. Nil when nobody can look.
	Root func(folder string) string
}

// Ruling is what the rules of a project say about a call.
type Ruling struct {
	Effect Effect
	People []string // user ids: nobody else may approve; empty: whoever may answer
	// Unread: the call could not be read to its end, so the strictest rule for its tool
	// decides.
	Unread bool
}

// Unrestricted reports whether whoever may answer may approve, alone.
func (r Ruling) Unrestricted() bool { return r.Effect == Allow && len(r.People) == 0 }

// ruling is what the rules say of a call. Each part of it is decided by the first
// rule that fits; of what the parts need, the strictest counts. So what makes a call
// harder need fit a part of it, and what makes it easier must fit all.
func (p Project) ruling(c Call) Ruling {
	rules := p.about(c.Tool)
	input := inputOf(c.Input)
	if command, ok := input["command"].(string); ok && runsCommands(c.Tool) {
		all := p.rulingOfCommand(rules, command, c.CWD, c)
		if c.Dir != "" && c.Dir != c.CWD {
			all = stricter(all, p.rulingOfCommand(rules, command, c.Dir, c))
		}
		return all
	}
	if len(rules) == 0 {
		return Ruling{Effect: Allow}
	}
	if input == nil {
		return rulingOfUnread(rules) // it may be anything
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
		parts = p.fileParts(c, c.CWD, c.CWD) // Grep and Glob look there
	case !known:
		parts = append(parts, textsPart(jsonTexts(input)))
	}
	if len(parts) == 0 {
		parts = []part{nothing}
	}
	return decide(rules, parts)
}

// part is something in a call that rules are compared with. fits reports whether a
// rule with a pattern is about it.
type part struct {
	fits   func(Rule) bool
	unread bool // nobody can tell what it is
}

// nothing is a part about which no rule with a pattern is.
var nothing = part{fits: func(Rule) bool { return false }}

// decide joins what the rules say of each part.
func decide(rules []Rule, parts []part) Ruling {
	all := Ruling{Effect: Allow}
	for _, one := range parts {
		if one.unread {
			all = stricter(all, rulingOfUnread(rules))
			continue
		}
		if i := decidingRule(rules, one); i >= 0 {
			all = stricter(all, rules[i].ruling())
		}
	}
	return all
}

// decidingRule is the index of the rule that decides about a part, -1 for none.
func decidingRule(rules []Rule, one part) int {
	return slices.IndexFunc(rules, func(r Rule) bool { return r.Pattern == "" || one.fits(r) })
}

// rulingOfUnread joins all rules that may be reached, for a part of which nobody can tell
// which of them fits.
func rulingOfUnread(rules []Rule) Ruling {
	all := Ruling{Effect: Allow}
	for i, r := range rules {
		if i == 0 && r.Pattern == "" {
			return r.ruling()
		}
		all = stricter(all, r.ruling())
	}
	all.Unread = !all.Unrestricted()
	return all
}

// textsPart is all texts of an input of which nobody knows what they mean: what
// makes things easier fits none of them.
func textsPart(texts []string) part {
	return part{fits: func(r Rule) bool { return r.restricts() && slices.ContainsFunc(texts, r.fitsText) }}
}

// inputOf reads the input of a tool, nil when it is no object.
func inputOf(raw json.RawMessage) (input map[string]any) {
	_ = json.Unmarshal(raw, &input) // nil may be anything
	return input
}

// about returns the rules for any of some tools, in order, up to the one behind which
// none is reached.
func (p Project) about(tools ...string) (rules []Rule) {
	for _, r := range p.Rules {
		if !slices.ContainsFunc(tools, r.about) {
			continue
		}
		rules = append(rules, r)
		if r.Pattern == "" {
			break
		}
	}
	return rules
}

// about reports whether the rule is for a tool. What makes things harder for one tool
// that edits files does so for all of them, as the CLI's own rules for Edit do.
func (r Rule) about(tool string) bool {
	if matches(r.Tool, tool) {
		return true
	}
	return r.restricts() && (rule.Edits(r.Tool) && rule.Edits(tool) || rule.Reads(r.Tool) && rule.Reads(tool) || r.Tool == "Bash" && runsCommands(tool) ||
		slices.Contains(agentTools, r.Tool) && slices.Contains(agentTools, tool))
}

// agentTools are the names that versions of the CLI have for one tool.
var agentTools = []string{"Agent", "Task"}

// runsCommands reports whether a tool runs its input "command" in a shell.
func runsCommands(tool string) bool { return tool == "Bash" || tool == "Monitor" }

// restricts reports whether the rule says more than that anybody may approve.
func (r Rule) restricts() bool { return r.Effect != Allow || len(r.People) > 0 }

func (r Rule) ruling() Ruling { return Ruling{Effect: r.Effect, People: r.People} }

// restricts returns the first rule that says more about a tool, with whatever input,
// than that anybody may approve it. granted is a permission rule of the CLI.
func (p Project) restricts(granted string) (Rule, bool) {
	g := rule.Parse(strings.TrimSpace(granted))
	g.Tool = strings.TrimSpace(g.Tool)
	i := slices.IndexFunc(p.Rules, func(r Rule) bool {
		if !r.restricts() {
			return false
		}
		if r.about(g.Tool) || strings.Contains(g.Tool, "*") {
			return true
		}
		// A grant of "mcp__server" is one of all its tools, and one for Edit lets
		// Claude read, too.
		for _, tool := range []string{"Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Grep", "Glob", "LS", "Agent", "Task", strings.TrimRight(r.Tool, "*")} {
			if r.about(tool) && (g.About(tool) || rule.Edits(g.Tool) && rule.Reads(tool)) {
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

// fitsText compares the pattern with a text, without regard to case.
func (r Rule) fitsText(text string) bool {
	return matches(strings.ToLower(r.Pattern), strings.ToLower(text))
}

// jsonTexts are the texts in a JSON value.
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

// matches reports whether a text is as a pattern says, in which * stands for any
// text, also for none, and every other character for itself.
func matches(pattern, text string) bool {
	return rule.Glob(strings.ReplaceAll(pattern, `\`, `\\`), text)
}
