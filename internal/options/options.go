// Package options checks that a constructor was given all required options.
package options

import (
	"fmt"
	"reflect"
)

// Check returns an error that names the first required field of a struct that is nil. Fields
// of pointer, function and interface types are required unless they have the tag
// optional:"true". of is the name of the package, for the error. An interface that holds a nil
// pointer also counts as nil.
func Check(of string, options any) error {
	v := reflect.ValueOf(options)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Tag.Get("optional") != "true" && isNil(v.Field(i)) {
			return fmt.Errorf("%s: Options.%s is missing", of, field.Name)
		}
	}
	return nil
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return v.IsNil() || isNil(v.Elem())
	case reflect.Pointer, reflect.Func:
		return v.IsNil()
	}
	return false
}
