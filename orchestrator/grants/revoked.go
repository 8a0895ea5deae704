package grants

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/pending"
)

// Revoked is a list of revoked grants that a running CLI may still apply.
//
// The CLI has no request that removes a rule. An ask rule, which outranks an allow rule, takes
// effect at once; the allow rule itself is removed with the next approval, see Approval. The zero
// Revoked is empty. It is not safe for concurrent use.
type Revoked struct{ list []pending.Grant }

// Add adds a grant unless the list has it.
func (r *Revoked) Add(g pending.Grant) {
	if !contains(r.list, g) {
		r.list = append(r.list, g)
	}
}

// Len returns the number of grants.
func (r *Revoked) Len() int { return len(r.list) }

// Settings returns the CLI settings that make it ask for what the revoked rules allowed.
func (r *Revoked) Settings() map[string]any {
	var ask []string
	for _, g := range r.list {
		if g.Kind == pending.GrantRule {
			ask = append(ask, g.Rule)
		}
	}
	if len(ask) == 0 {
		return map[string]any{"permissions": nil}
	}
	return map[string]any{"permissions": map[string]any{"ask": ask}}
}

// Approval adds to the permission updates of an approval that the CLI must forget the revoked
// grants of its session. It also returns the grants to pass to Settle once the CLI has the approval:
// those, and the revoked ones that the approval itself grants again, which are in granted. Rules in
// files need no update, because the CLI reads the files again.
func (r *Revoked) Approval(updates json.RawMessage, granted []pending.Grant) (json.RawMessage, []pending.Grant) {
	var settled []pending.Grant
	var list []json.RawMessage
	for _, g := range r.list {
		if g.Scope != pending.ScopeSession && !contains(granted, g) {
			continue
		}
		settled = append(settled, g)
		if g.Scope == pending.ScopeSession {
			list = append(list, removal(g))
		}
	}
	if len(list) == 0 {
		return updates, settled
	}
	var more []json.RawMessage
	_ = json.Unmarshal(updates, &more) // it is a list, or nothing
	return encode(append(list, more...)), settled
}

// Settle removes grants that the CLI has forgotten.
func (r *Revoked) Settle(settled []pending.Grant) {
	r.list = slices.DeleteFunc(r.list, func(g pending.Grant) bool { return contains(settled, g) })
}

// contains compares what the CLI knows of a grant: kind, rule and scope.
func contains(list []pending.Grant, g pending.Grant) bool {
	return slices.ContainsFunc(list, func(other pending.Grant) bool {
		return other.Kind == g.Kind && other.Rule == g.Rule && other.Scope == g.Scope
	})
}

// removal returns the permission update that makes the CLI forget a grant.
func removal(g pending.Grant) json.RawMessage {
	if g.Kind == pending.GrantDirectory {
		return encode(map[string]any{"type": "removeDirectories", "directories": []string{g.Rule}, "destination": g.Scope})
	}
	r := rule.Parse(g.Rule)
	value := map[string]any{"toolName": r.Tool}
	if r.Content != "" {
		value["ruleContent"] = r.Content
	}
	return encode(map[string]any{"type": "removeRules", "rules": []any{value}, "behavior": "allow", "destination": g.Scope})
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("grants: encode %T: %v", v, err))
	}
	return b
}
