// Package problem holds the errors that people read. Each has a reason, parameters and an
// English message, which comes from the table of reasons. The web app translates it by its
// reason.
package problem

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Error is an error that people read. Its cause goes only to the log.
type Error struct {
	Reason  string         // in the table
	Params  map[string]any // strings, lists of strings and numbers, by their names in the text
	Field   string         // wire name of the invalid field of the command or body, or ""
	Message string         // one or more sentences in English
	Cause   error
}

// Error returns the message followed by the cause, for the log.
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

// New returns the error for a reason. params alternates names and values; the names are those
// in the table's text.
func New(reason string, params ...any) *Error { return For("", reason, params...) }

// For returns the error for a reason about a field.
func For(field, reason string, params ...any) *Error {
	e := &Error{Reason: reason, Field: field}
	for i := 0; i+1 < len(params); i += 2 {
		if e.Params == nil {
			e.Params = map[string]any{}
		}
		e.Params[fmt.Sprint(params[i])] = params[i+1]
	}
	e.Message = Render(byReason[reason].Text, e.Params)
	return e
}

// WithCause returns a copy of the error with a cause.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Cause = err
	return &c
}

// InField sets the field of an [Error] that has none. It returns any other error unchanged.
func InField(field string, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Field != "" {
		return err
	}
	c := *e
	c.Field = field
	return &c
}

// Message returns the message of the [Error] in err's chain, or "" if there is none.
func Message(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}

// Render replaces the parameters in a text with their values. {x} is a text, list or number,
// {x:usd} an amount of US dollars, {x:span} a number of seconds.
func Render(text string, params map[string]any) string {
	pairs := make([]string, 0, 6*len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		pairs = append(pairs, "{"+name+"}", format(value), "{"+name+":usd}", dollars(value), "{"+name+":span}", span(value))
	}
	return strings.NewReplacer(pairs...).Replace(text)
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

// dollars formats an amount of US dollars. Small amounts get more digits.
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

// units are the units of a span, in seconds.
var units = []struct {
	name    string
	seconds float64
}{{"hour", 3600}, {"minute", 60}, {"second", 1}}

// span formats a number of seconds as a multiple of the largest unit that divides it.
func span(value any) string {
	seconds, _ := value.(float64)
	seconds = math.Round(seconds)
	for _, u := range units {
		if n := seconds / u.seconds; n >= 1 && n == math.Trunc(n) || u.seconds == 1 {
			if n == 1 {
				return "1 " + u.name
			}
			return strconv.FormatFloat(n, 'f', 0, 64) + " " + u.name + "s"
		}
	}
	return ""
}

// ParseSpan parses the format of {x:span} and returns seconds.
func ParseSpan(text string) (seconds float64, ok bool) {
	n, unit, _ := strings.Cut(text, " ")
	count, err := strconv.ParseFloat(n, 64)
	for _, u := range units {
		if err == nil && strings.TrimSuffix(unit, "s") == u.name {
			return count * u.seconds, true
		}
	}
	return 0, false
}
