package protocol

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Facts lists what lines contain, and which parts the schema does not describe. The zero value is
// ready to use.
type Facts struct {
	seen    map[string]bool
	unknown map[string]bool
}

// Seen returns what the lines contain, sorted: the path of each field with its JSON type, such as
// "cli result .usage object", and the values of closed sets, such as
// `cli result .subtype = "success"`.
func (f *Facts) Seen() []string { return slices.Sorted(maps.Keys(f.seen)) }

// Unknown returns what the schema does not describe, sorted.
func (f *Facts) Unknown() []string { return slices.Sorted(maps.Keys(f.unknown)) }

// UnknownFrom returns the part of Unknown that one side sent.
func (f *Facts) UnknownFrom(from Direction) []string {
	return slices.DeleteFunc(f.Unknown(), func(u string) bool { return !strings.HasPrefix(u, string(from)+" ") })
}

func (f *Facts) add(set *map[string]bool, format string, args ...any) {
	if *set == nil {
		*set = make(map[string]bool)
	}
	(*set)[fmt.Sprintf(format, args...)] = true
}

// Inspect returns the facts about the lines of conversations, in order.
func (s *Schema) Inspect(lines []Line) *Facts {
	f := &Facts{}
	requests := map[Direction]map[string]string{FromCLI: {}, FromHost: {}} // subtypes by id
	for _, l := range lines {
		i := inspection{schema: s, facts: f}
		var v map[string]any
		if err := json.Unmarshal(l.JSON, &v); err != nil {
			f.add(&f.unknown, "%s: a line that is not an object: %v", l.From, err)
			continue
		}
		m := message(v)
		i.kind = string(l.From) + " " + m.text("type")
		if sub := m.text("subtype"); sub != "" {
			i.kind += "/" + sub
		}
		if sub := m.text("request", "subtype"); sub != "" {
			i.kind += "/" + sub
			requests[l.From][m.text("request_id")] = sub
		}
		var answered string
		if m["type"] == "control_response" {
			other := FromCLI
			if l.From == FromCLI {
				other = FromHost
			}
			answered = requests[other][m.text("response", "request_id")]
			i.kind += "/" + answered
		}
		i.value("", v, s.leaves(s.defs[linesOf[l.From]]))
		if answer := m.at("response", "response"); answer != nil && answered != "" {
			if known := s.leaves(s.defs[answersOf[l.From]].Properties[answered]); known == nil {
				f.add(&f.unknown, "%s: the answer to %s is not described", i.kind, answered)
			} else {
				i.value(".response.response", answer, known)
			}
		}
	}
	return f
}

// inspection is the inspection of one line.
type inspection struct {
	schema *Schema
	facts  *Facts
	kind   string
}

func (i *inspection) unknown(path, format string, args ...any) {
	i.facts.add(&i.facts.unknown, "%s: %s %s", i.kind, orRoot(path), fmt.Sprintf(format, args...))
}

func orRoot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// value inspects a value against the alternatives of its schema.
func (i *inspection) value(path string, v any, alternatives []*node) {
	fit := fitting(v, alternatives)
	if len(fit) == 0 {
		i.misfit(path, v, alternatives)
		return
	}
	if s, ok := v.(string); ok && slices.ContainsFunc(fit, func(n *node) bool { return n.closed() != nil }) {
		i.facts.add(&i.facts.seen, "%s %s = %q", i.kind, orRoot(path), s)
	} else {
		i.facts.add(&i.facts.seen, "%s %s %s", i.kind, orRoot(path), typeOf(v))
	}
	switch v := v.(type) {
	case map[string]any:
		i.object(path, v, fit)
	case []any:
		var items []*node
		for _, n := range fit {
			if n.Items == nil {
				return // an array of anything
			}
			items = append(items, n.Items)
		}
		for _, e := range v {
			i.value(path+"[]", e, i.schema.leaves(items...))
		}
	}
}

// fitting returns the alternatives that match a value, by its type and by the fields that
// distinguish alternatives.
func fitting(v any, alternatives []*node) []*node {
	var fit []*node
	for _, n := range alternatives {
		if n.admits(v) && mismatch(v, n) == "" {
			fit = append(fit, n)
		}
	}
	return fit
}

// mismatch returns a field of an object that lacks the constant value which the schema requires,
// or "".
func mismatch(v any, n *node) string {
	o, _ := v.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(n.Properties)) {
		p := n.Properties[key]
		if value, has := o[key]; has && p.Const != nil && value != p.Const {
			return key
		} else if !has && o != nil && p.Const != nil && slices.Contains(n.Required, key) {
			return key
		}
	}
	return ""
}

// misfit records a value that matches no alternative.
func (i *inspection) misfit(path string, v any, alternatives []*node) {
	if o, ok := v.(map[string]any); ok {
		keys := map[string]bool{}
		for _, n := range alternatives {
			if key := mismatch(v, n); key != "" && o[key] != nil {
				keys[key] = true
			}
		}
		// A field that distinguishes alternatives, and whose value is in none of them.
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !slices.ContainsFunc(alternatives, func(n *node) bool { p := n.Properties[key]; return p != nil && p.Const == o[key] }) {
				i.unknown(path+"."+key, "has the unknown value %s", compactJSON(o[key]))
				return
			}
		}
	}
	_, isText := v.(string)
	if isText && slices.ContainsFunc(alternatives, func(n *node) bool { return n.closed() != nil }) {
		i.unknown(path, "has the unknown value %s", compactJSON(v))
		return
	}
	i.unknown(path, "is of another type: %s", typeOf(v))
}

func compactJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error() // v was decoded from JSON
	}
	return string(b)
}

func (i *inspection) object(path string, o map[string]any, fit []*node) {
	if slices.ContainsFunc(fit, func(n *node) bool { return n.Properties == nil && n.Additional == nil }) {
		return // an object of anything
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		var of []*node
		anything, name := false, "."+key
		for _, n := range fit {
			switch p := n.Properties[key]; {
			case p != nil:
				of = append(of, p)
			case n.Additional != nil:
				of, anything = append(of, n.Additional), true
			}
		}
		leaves := i.schema.leaves(of...)
		if anything && !slices.ContainsFunc(fit, func(n *node) bool { return n.Properties[key] != nil }) {
			if slices.ContainsFunc(leaves, func(n *node) bool { return n.isAnything() }) {
				continue // may be anything, so there is nothing to record
			}
			name = ".*"
		}
		if len(leaves) == 0 {
			i.unknown(path+name, "is an unknown field: %s", typeOf(o[key]))
			continue
		}
		i.value(path+name, o[key], leaves)
	}
	for _, key := range fit[0].Required {
		if _, has := o[key]; !has && !slices.ContainsFunc(fit, func(n *node) bool { return !slices.Contains(n.Required, key) }) {
			i.unknown(path+"."+key, "is missing")
		}
	}
}

func (n *node) isAnything() bool {
	return n.Type == nil && n.Properties == nil && n.closed() == nil && n.Additional == nil
}
