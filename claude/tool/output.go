package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sayso-dev/sayso/claude"
)

// Schema returns the JSON Schema of a type, for [claude.Options.OutputSchema]. It panics for a type
// that has none.
func Schema[T any]() json.RawMessage {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("tool: %v", err))
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tool: %v", err))
	}
	return text
}

// ErrNoOutput: Claude's answer has no structured output.
var ErrNoOutput = errors.New("the answer has no structured output")

// Ask is [claude.Ask] for an answer of the type T, a struct. It returns the result, too, unless the
// query failed before it.
func Ask[T any](ctx context.Context, prompt string, o claude.Options) (answer T, r *claude.Result, err error) {
	o.OutputSchema = Schema[T]()
	r, err = claude.Ask(ctx, prompt, o)
	if err != nil {
		return answer, r, err
	}
	if len(r.StructuredOutput) == 0 {
		return answer, r, ErrNoOutput
	}
	if err := json.Unmarshal(r.StructuredOutput, &answer); err != nil {
		return answer, r, fmt.Errorf("%w of this type: %w", ErrNoOutput, err)
	}
	return answer, r, nil
}
