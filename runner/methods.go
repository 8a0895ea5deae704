package runner

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/sayso-dev/sayso/runner/link"
)

// Methods holds the methods of an interface, by name, to be called over a connection. Arguments and
// results are JSON arrays, without the context and the error.
type Methods map[string]method

// method calls one method.
type method func(ctx context.Context, args json.RawMessage) (results []any, err error)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// MethodsOf returns the methods of the interface I, implemented by target. It fails unless each
// method takes a context first and returns an error last, and encoding/json can restore all other
// arguments and results. A test that calls MethodsOf therefore finds a method that cannot be called
// over a connection.
func MethodsOf[I any](target I) (Methods, error) {
	all, in := Methods{}, reflect.TypeFor[I]()
	if in.Kind() != reflect.Interface {
		return nil, fmt.Errorf("runner: %s is no interface", in)
	}
	for i := range in.NumMethod() {
		m := in.Method(i)
		if err := checkMethod(m.Type); err != nil {
			return nil, fmt.Errorf("runner: %s.%s: %w", in, m.Name, err)
		}
		all[m.Name] = methodOf(reflect.ValueOf(&target).Elem().Method(i))
	}
	return all, nil
}

// Serve answers a call by running the method of that name, or returns [link.ErrUnknown].
func (m Methods) Serve(ctx context.Context, call *link.Call) (any, error) {
	do, known := m[call.Name]
	if !known {
		return nil, fmt.Errorf("%w: %s", link.ErrUnknown, call.Name)
	}
	return do(ctx, call.Args)
}

// Invoke calls a method of the other side and stores what it returns in results, which are pointers.
// It blocks like [link.Conn.Call].
func Invoke(ctx context.Context, c *link.Conn, name string, args []any, results ...any) error {
	if args == nil {
		args = []any{}
	}
	var answered []json.RawMessage
	if err := c.Call(ctx, name, args, &answered); err != nil {
		return err
	}
	if len(answered) < len(results) {
		return fmt.Errorf("%w: %d results of %s instead of %d", link.ErrProtocol, len(answered), name, len(results))
	}
	for i, result := range results {
		if err := json.Unmarshal(answered[i], result); err != nil {
			return fmt.Errorf("%w: results of %s: %w", link.ErrProtocol, name, err)
		}
	}
	return nil
}

// methodOf returns f as a method. It ignores arguments that a later release has added, and passes
// zero values for those that an earlier release does not send.
func methodOf(f reflect.Value) method {
	return func(ctx context.Context, text json.RawMessage) ([]any, error) {
		var given []json.RawMessage
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, fmt.Errorf("%w: arguments: %w", link.ErrProtocol, err)
		}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		for i := 1; i < f.Type().NumIn(); i++ {
			arg := reflect.New(f.Type().In(i))
			if i <= len(given) {
				if err := json.Unmarshal(given[i-1], arg.Interface()); err != nil {
					return nil, fmt.Errorf("%w: argument %d: %w", link.ErrProtocol, i, err)
				}
			}
			args = append(args, arg.Elem())
		}
		out := f.Call(args)
		last := len(out) - 1
		if err, failed := out[last].Interface().(error); failed {
			return nil, err
		}
		results := make([]any, last)
		for i := range results {
			results[i] = out[i].Interface()
		}
		return results, nil
	}
}

// checkMethod returns why a method cannot be called over a connection, or nil.
func checkMethod(f reflect.Type) error {
	ins, outs := f.NumIn(), f.NumOut()
	if ins == 0 || f.In(0) != contextType || outs == 0 || f.Out(outs-1) != errorType || f.IsVariadic() {
		return fmt.Errorf("%s has no context first and no error last", f)
	}
	seen := map[reflect.Type]bool{}
	for i := 1; i < ins; i++ {
		if err := checkType(f.In(i), seen); err != nil {
			return err
		}
	}
	for i := range outs - 1 {
		if err := checkType(f.Out(i), seen); err != nil {
			return err
		}
	}
	return nil
}

// checkType returns why encoding/json cannot restore a value of a type, or nil.
func checkType(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if both[json.Marshaler, json.Unmarshaler](t) || both[encoding.TextMarshaler, encoding.TextUnmarshaler](t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return nil // any JSON value
		}
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkType(t.Elem(), seen)
	case reflect.Map:
		if err := checkType(t.Key(), seen); err != nil {
			return err
		}
		return checkType(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			if !field.IsExported() && !field.Anonymous || field.Tag.Get("json") == "-" {
				return fmt.Errorf("%s.%s does not travel", t, field.Name)
			}
			if err := checkType(field.Type, seen); err != nil {
				return err
			}
		}
		return nil
	default:
		return nil
	}
	return fmt.Errorf("%s does not travel", t)
}

// both reports whether values of a type, or pointers to them, implement both interfaces.
func both[A, B any](t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[A]()) && p.Implements(reflect.TypeFor[B]())
}
