package launch

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
)

// Failure is an error of a runner as it travels to a server: errors that callers distinguish
// by their codes, the others as text.
type Failure struct {
	Codes    []string       `json:"codes,omitempty"`
	Text     string         `json:"text"`
	Sentence string         `json:"sentence,omitempty"` // of an [Error]
	Problem  *TravelProblem `json:"problem,omitempty"`
}

// TravelProblem is a [problem.Error] without its cause, which is part of the text.
type TravelProblem struct {
	Reason  string         `json:"reason"`
	Params  map[string]any `json:"params,omitempty"`
	Field   string         `json:"field,omitempty"`
	Message string         `json:"message"`
}

// codes of errors never change: runners and servers of several releases work together.
var codes = map[string]error{
	"hung":               ErrHung,
	"fenced":             ErrFenced,
	"repeated":           ErrRepeated,
	"closed":             claude.ErrClosed,
	"too_large":          claude.ErrTooLarge,
	"cli_missing":        claude.ErrCLIMissing,
	"cli_not_executable": claude.ErrCLINotExecutable,
	"folder_missing":     claude.ErrFolderMissing,
	"not_saved":          claude.ErrNotSaved,
	"too_many_files":     syscall.EMFILE,
	"not_exist":          fs.ErrNotExist,
	"canceled":           context.Canceled,
	"deadline":           context.DeadlineExceeded,
}

// NewFailure returns what travels of an error.
func NewFailure(err error) Failure {
	f := Failure{Text: err.Error()}
	for code, sentinel := range codes {
		if errors.Is(err, sentinel) {
			f.Codes = append(f.Codes, code)
		}
	}
	var failed *Error
	if errors.As(err, &failed) {
		f.Sentence = failed.Sentence
	}
	var p *problem.Error
	if errors.As(err, &p) {
		f.Problem = &TravelProblem{p.Reason, p.Params, p.Field, p.Message}
	}
	return f
}

// Err returns an error for which errors.Is and errors.As say what they said of the original.
func (f Failure) Err() error {
	e := &failure{text: f.Text}
	for _, code := range f.Codes {
		if sentinel, known := codes[code]; known { // the others are of a later release
			e.causes = append(e.causes, sentinel)
		}
	}
	if p := f.Problem; p != nil {
		e.causes = append(e.causes, &problem.Error{Reason: p.Reason, Params: p.Params, Field: p.Field, Message: p.Message})
	}
	if f.Sentence != "" {
		return &Error{Sentence: f.Sentence, Err: e}
	}
	return e
}

type failure struct {
	text   string
	causes []error
}

func (e *failure) Error() string   { return e.text }
func (e *failure) Unwrap() []error { return e.causes }
