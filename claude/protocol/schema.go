package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Schema is the JSON Schema of the protocol. It uses a subset of JSON Schema 2020-12: type,
// properties, required, additionalProperties, items, enum, const, anyOf and $ref to $defs.
//
// As a JSON Schema it permits fields that it does not name, because every host must ignore
// them. [Schema.Inspect] reports them, except below objects without properties and where
// additionalProperties is set.
type Schema struct {
	Version string
	defs    map[string]*node
}

// node is a schema.
type node struct {
	Ref        string           `json:"$ref"`
	Type       types            `json:"type"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Additional *node            `json:"additionalProperties"`
	Items      *node            `json:"items"`
	Enum       []any            `json:"enum"`
	Const      any              `json:"const"`
	AnyOf      []*node          `json:"anyOf"`
}

// types is the value of type: one name or a list of them.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*t = make(types, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// UnmarshalJSON also accepts true, which is the schema of anything.
func (n *node) UnmarshalJSON(b []byte) error {
	if string(b) == "true" {
		return nil
	}
	type plain node
	return json.Unmarshal(b, (*plain)(n))
}

// ParseSchema parses a schema.
func ParseSchema(text []byte) (*Schema, error) {
	var root struct {
		Version string           `json:"version"`
		Defs    map[string]*node `json:"$defs"`
	}
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("protocol: schema: %w", err)
	}
	s := &Schema{root.Version, root.Defs}
	for name, n := range s.defs {
		if err := s.check(n); err != nil {
			return nil, fmt.Errorf("protocol: schema: %s: %w", name, err)
		}
	}
	for _, name := range []string{linesOf[FromCLI], linesOf[FromHost], answersOf[FromCLI], answersOf[FromHost]} {
		if s.defs[name] == nil {
			return nil, fmt.Errorf("protocol: schema: $defs lacks %s", name)
		}
	}
	return s, nil
}

// check returns an error for a reference to a definition that does not exist.
func (s *Schema) check(n *node) error {
	if n == nil {
		return nil
	}
	if n.Ref != "" && s.defs[strings.TrimPrefix(n.Ref, "#/$defs/")] == nil {
		return fmt.Errorf("%s does not exist", n.Ref)
	}
	parts := append([]*node{n.Additional, n.Items}, n.AnyOf...)
	for _, p := range n.Properties {
		parts = append(parts, p)
	}
	for _, p := range parts {
		if err := s.check(p); err != nil {
			return err
		}
	}
	return nil
}

// The definitions of the lines of each side, and those that contain its answers to the control
// requests of the other side, by subtype.
var (
	linesOf   = map[Direction]string{FromCLI: "CLILine", FromHost: "HostLine"}
	answersOf = map[Direction]string{FromCLI: "CLIAnswers", FromHost: "HostAnswers"}
)

// leaves returns the alternatives of schemas, with references and anyOf resolved.
func (s *Schema) leaves(all ...*node) []*node {
	var out []*node
	for _, n := range all {
		switch {
		case n == nil:
		case n.Ref != "":
			out = append(out, s.leaves(s.defs[strings.TrimPrefix(n.Ref, "#/$defs/")])...)
		case n.AnyOf != nil:
			out = append(out, s.leaves(n.AnyOf...)...)
		default:
			out = append(out, n)
		}
	}
	return out
}

// closed returns the values that a schema permits, or nil when it does not list them.
func (n *node) closed() []any {
	if n.Const != nil {
		return []any{n.Const}
	}
	return n.Enum
}

func (n *node) admits(v any) bool {
	if list := n.closed(); list != nil {
		return slices.Contains(list, v) // lists contain only strings, numbers, booleans and nulls
	}
	return len(n.Type) == 0 || slices.Contains(n.Type, typeOf(v)) || typeOf(v) == "number" && slices.Contains(n.Type, "integer")
}

// typeOf returns the JSON type of a decoded value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}
