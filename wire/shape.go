package wire

import (
	"errors"
	"reflect"
	"strings"
	"sync"

	validator "github.com/go-playground/validator/v10"

	"github.com/sayso-dev/sayso/internal/problem"
)

// shapes checks the validate tags. Lower packages check the meaning of values.
var shapes = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	return v
})

// withoutHeads removes the names of the embedded heads of commands from a path.
var withoutHeads = strings.NewReplacer("SessionHead.", "", "RequestHead.", "", "Head.", "", "FolderConsent.", "")

// CheckShape validates a decoded body against its tags. It returns a [problem.Error] for
// the first invalid field.
func CheckShape(v any) error {
	err := shapes().Struct(v)
	var faults validator.ValidationErrors
	if !errors.As(err, &faults) {
		return err
	}
	f := faults[0]
	field := f.Namespace()
	if _, below, ok := strings.Cut(field, "."); ok {
		field = below
	}
	field = withoutHeads.Replace(field)
	refuse := func(reason string, params ...any) error {
		return problem.For(field, reason, append(params, "name", field)...)
	}
	switch f.Tag() {
	case "required", "required_without", "required_without_all", "required_with":
		return refuse("field_missing")
	case "excluded_with", "excluded_without":
		return refuse("field_conflict")
	case "max":
		if k := f.Kind(); k == reflect.Float64 || k == reflect.Int64 {
			return refuse("field_too_large")
		}
		return refuse("field_too_long")
	case "min":
		return refuse("field_too_small")
	case "oneof":
		return refuse("field_one_of", "values", strings.ReplaceAll(f.Param(), " ", ", "))
	case "uuid":
		return refuse("field_uuid")
	case "eq":
		return refuse("field_equal", "value", f.Param())
	}
	return refuse("field_invalid")
}
