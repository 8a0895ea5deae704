package protocol_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sayso-dev/sayso/claude/protocol"
	spec "github.com/sayso-dev/sayso/docs/protocol"
)

// TestTracesAreValid validates every recorded trace with a validator that is not ours, and
// holds that ours agrees.
func TestTracesAreValid(t *testing.T) {
	t.Parallel()
	ours := parse(t)
	lines := map[protocol.Direction]*jsonschema.Resolved{protocol.FromCLI: validator(t, "CLILine"), protocol.FromHost: validator(t, "HostLine")}
	files, err := filepath.Glob(filepath.Join(docs, "traces", "*.jsonl"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []protocol.Line
		for line := range strings.Lines(string(text)) {
			var l protocol.Line
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, l)
			var v any
			if err := json.Unmarshal(l.JSON, &v); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(l.JSON), "no_such_") && l.From == protocol.FromHost {
				continue // sent on purpose
			}
			if err := lines[l.From].Validate(v); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(file), err, l.JSON)
			}
		}
		for _, u := range ours.Inspect(all).UnknownFrom(protocol.FromCLI) {
			t.Errorf("%s: %s", filepath.Base(file), u)
		}
	}
}

// TestExamplesAreValid validates the lines and decisions that the pages show.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	line, decision := validator(t, "HostLine"), validator(t, "PermissionResult")
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			for example := range strings.Lines(block[1]) {
				examples++
				var v map[string]any
				if err := json.Unmarshal([]byte(example), &v); err != nil {
					t.Fatalf("%s: %v", example, err)
				}
				schema := line
				if v["behavior"] != nil {
					schema = decision
				}
				if err := schema.Validate(v); err != nil {
					t.Errorf("%s: %v", example, err)
				}
			}
		}
	}
	if examples < 7 {
		t.Errorf("only %d examples were found", examples)
	}
}

// validator is one that starts at a definition.
func validator(t *testing.T, definition string) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		t.Fatal(err)
	}
	s.Ref = "#/$defs/" + definition
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSchemaPermitsWhatHostsMustIgnore: a field and a kind of tomorrow are found by Inspect;
// a validator accepts the field, so that hosts may use it.
func TestSchemaPermitsWhatHostsMustIgnore(t *testing.T) {
	t.Parallel()
	line := map[string]any{"type": "control_cancel_request", "request_id": "1", "of_tomorrow": true}
	if err := validator(t, "CLILine").Validate(line); err != nil {
		t.Error(err)
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	const ask = `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"any":1},"tool_use_id":"t"`
	for name, test := range map[string]struct {
		lines []string // with the sender in front
		want  []string
	}{
		"known":         {[]string{"cli " + ask + `}}`}, nil},
		"a field":       {[]string{"cli " + ask + `,"new":1}}`}, []string{"cli control_request/can_use_tool: .request.new is an unknown field: number"}},
		"a type":        {[]string{`cli {"type":"new"}`}, []string{`cli new: .type has the unknown value "new"`}},
		"a subtype":     {[]string{`cli {"type":"system","subtype":"new"}`}, []string{`cli system/new: .subtype has the unknown value "new"`}},
		"a request":     {[]string{`cli {"type":"control_request","request_id":"r","request":{"subtype":"new"}}`}, []string{`cli control_request/new: .request.subtype has the unknown value "new"`}},
		"a value":       {[]string{`cli {"type":"system","subtype":"session_state_changed","state":"new","uuid":"u","session_id":"s"}`}, []string{`cli system/session_state_changed: .state has the unknown value "new"`}},
		"another type":  {[]string{`cli {"type":"control_cancel_request","request_id":1}`}, []string{`cli control_cancel_request: .request_id is of another type: number`}},
		"a missing one": {[]string{`cli {"type":"control_cancel_request"}`}, []string{`cli control_cancel_request: .request_id is missing`}},
		"no object":     {[]string{`cli 1`}, []string{`cli: a line that is not an object: json: cannot unmarshal number into Go value of type map[string]interface {}`}},
		"an answer": {
			[]string{"cli " + ask + `}}`, `host {"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"maybe"}}}`},
			[]string{`host control_response/can_use_tool: .response.response.behavior has the unknown value "maybe"`},
		},
		"an answer to a request of the host": {
			[]string{`host {"type":"control_request","request_id":"h","request":{"subtype":"interrupt"}}`, `cli {"type":"control_response","response":{"subtype":"success","request_id":"h","response":{"still_queued":[],"new":[]}}}`},
			[]string{`cli control_response/interrupt: .response.response.new is an unknown field: array`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []protocol.Line
			for _, l := range test.lines {
				from, text, _ := strings.Cut(l, " ")
				lines = append(lines, protocol.Line{From: protocol.Direction(from), JSON: json.RawMessage(text)})
			}
			if got := parse(t).Inspect(lines).Unknown(); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
