// Package problem holds the errors that people read. Each has a reason, parameters and an
// English sentence made from the table of reasons; the web app translates it by the reason.
package problem

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Error is an error that a person reads. Its cause is for the log alone.
type Error struct {
	Reason  string         // in the table
	Params  map[string]any // strings, lists of strings and numbers, by the names in the text
	Field   string         // of the command or body that is to blame, as the wire names it
	Message string         // one or more sentences in English
	Cause   error
}

// Error returns the message and, after it, the cause, for the log.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + " (" + e.Cause.Error() + ")"
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is the class of the error.
func (e *Error) Is(target error) bool {
	c, ok := target.(*Class)
	return ok && c == e.Class()
}

// Class returns the class of the error.
func (e *Error) Class() *Class { return byReason[e.Reason].Class }

// New returns the error of a reason. Params are names and values in turn, as the text in the
// table names them.
func New(reason string, params ...any) *Error { return For("", reason, params...) }

// For returns the error of a reason with the field that is to blame.
func For(field, reason string, params ...any) *Error {
	e := &Error{Reason: reason, Field: field}
	for i := 0; i+1 < len(params); i += 2 {
		if e.Params == nil {
			e.Params = map[string]any{}
		}
		e.Params[fmt.Sprint(params[i])] = params[i+1]
	}
	e.Message = byReason[reason].render(e.Params)
	return e
}

// WithCause returns a copy of the error with a cause.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Cause = err
	return &c
}

// In returns err with its field set where it is an [Error] that names none, and any other
// error as it is.
func In(field string, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Field != "" {
		return err
	}
	c := *e
	c.Field = field
	return &c
}

// Message returns the sentence of err for people, "" where err has none.
func Message(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}

// render replaces the names in the text by their values.
func (e Entry) render(params map[string]any) string {
	pairs := make([]string, 0, 2*len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, "{"+name+"}", format(params[name]), "{"+name+":usd}", dollars(params[name]))
	}
	return strings.NewReplacer(pairs...).Replace(e.Text)
}

func format(value any) string {
	switch v := value.(type) {
	case []string:
		if len(v) > 1 {
			return strings.Join(v[:len(v)-1], ", ") + " and " + v[len(v)-1]
		}
		return strings.Join(v, "")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// dollars formats an amount of US dollars, a small one with more digits.
func dollars(value any) string {
	amount, ok := value.(float64)
	switch {
	case !ok:
		return ""
	case amount != 0 && amount < 0.1:
		return "$" + strconv.FormatFloat(amount, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(amount, 'f', 2, 64)
}
