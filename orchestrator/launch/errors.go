package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/runner/link"
)

// ErrorCodes lists the errors of a runner that a server can distinguish, with their codes on the wire.
// A code never changes its meaning, because runners and servers of different releases work together.
var ErrorCodes = []link.ErrorCode{
	{Code: "refused", Detail: refusedDetail, Restore: restoreRefused},
	{Code: "start", Detail: startDetail, Restore: restoreStart},
	{Code: "problem", Detail: problemDetail, Restore: restoreProblem},
	{Code: "hung", Err: ErrHung},
	{Code: "fenced", Err: ErrFenced},
	{Code: "repeated", Err: ErrRepeated},
	{Code: "closed", Err: claude.ErrClosed},
	{Code: "line_too_large", Err: claude.ErrTooLarge},
	{Code: "cli_missing", Err: claude.ErrCLIMissing},
	{Code: "cli_not_executable", Err: claude.ErrCLINotExecutable},
	{Code: "folder_missing", Err: claude.ErrFolderMissing},
	{Code: "not_saved", Err: claude.ErrNotSaved},
	{Code: "too_many_files", Err: syscall.EMFILE},
	{Code: "no_snapshot", Err: workingtree.ErrNoSnapshot},
	{Code: "not_exist", Err: fs.ErrNotExist},
}

// refusedDetail returns the detail of an [ErrRefused]: its cause, if that is a [problem.Error].
func refusedDetail(err error) (any, bool) {
	p, _ := problemDetail(err)
	return p, errors.Is(err, ErrRefused)
}

func restoreRefused(detail json.RawMessage) (error, error) {
	p, err := restoreProblem(detail)
	if p == nil || p.Error() == "" {
		return ErrRefused, err
	}
	return fmt.Errorf("%w: %w", ErrRefused, p), err
}

func startDetail(err error) (any, bool) {
	var failed *Error
	if !errors.As(err, &failed) {
		return nil, false
	}
	return []string{failed.Sentence, failed.Error()}, true
}

func restoreStart(detail json.RawMessage) (error, error) {
	var texts [2]string
	err := json.Unmarshal(detail, &texts)
	return &Error{Sentence: texts[0], Err: errors.New(texts[1])}, err
}

// travelProblem is a [problem.Error] on the wire. It lacks the cause, which the message contains.
type travelProblem struct {
	Reason  string         `json:"reason"`
	Params  map[string]any `json:"params,omitempty"`
	Field   string         `json:"field,omitempty"`
	Message string         `json:"message"`
}

func problemDetail(err error) (any, bool) {
	var p *problem.Error
	if !errors.As(err, &p) {
		return nil, false
	}
	return travelProblem{p.Reason, p.Params, p.Field, p.Message}, true
}

func restoreProblem(detail json.RawMessage) (error, error) {
	var p travelProblem
	err := json.Unmarshal(detail, &p)
	return &problem.Error{Reason: p.Reason, Params: p.Params, Field: p.Field, Message: p.Message}, err
}
