package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sayso-dev/sayso/claude"
)

// Schema returns the JSON Schema of a type, for [claude.Options.OutputSchema]. It panics if the type has
// none.
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

// ErrNoOutput means that Claude's answer has no structured output, or none of the requested type.
var ErrNoOutput = errors.New("the answer has no structured output")

// Ask is [claude.Ask] for an answer of the type T, a struct. It also returns the result, unless the query
// failed before there was one.
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
