package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	validator "github.com/go-playground/validator/v10"
)

// shapes checks the validate tags; what an answer or an order means is checked
// by the packages below.
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

// CheckShape validates a decoded body against its tags. It returns a [FieldError]
// for the first field that does not fit.
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
	sentence := fmt.Sprintf("The field %q is not right.", field)
	switch f.Tag() {
	case "required", "required_without", "required_without_all", "required_with":
		sentence = fmt.Sprintf("The field %q is missing.", field)
	case "excluded_with", "excluded_without":
		sentence = fmt.Sprintf("The field %q does not go with the others.", field)
	case "max":
		sentence = fmt.Sprintf("The field %q is too long.", field)
		if k := f.Kind(); k == reflect.Float64 || k == reflect.Int64 {
			sentence = fmt.Sprintf("The field %q is too large.", field)
		}
	case "min":
		sentence = fmt.Sprintf("The field %q is too small.", field)
	case "oneof":
		sentence = fmt.Sprintf("The field %q must be one of: %s.", field, strings.ReplaceAll(f.Param(), " ", ", "))
	case "uuid":
		sentence = fmt.Sprintf("The field %q must be a UUID.", field)
	case "eq":
		sentence = fmt.Sprintf("The field %q must be %q.", field, f.Param())
	}
	return &FieldError{Field: field, Sentence: sentence}
}
