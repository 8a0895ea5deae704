package link

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Errors of a connection. [ErrLost] and [ErrClosed] say nothing about a call that was under way: it
// may have been carried out.
var (
	ErrLost     = errors.New("link: the connection is lost")
	ErrClosed   = errors.New("link: closed")
	ErrVersion  = errors.New("link: the two sides have no version in common")
	ErrProtocol = errors.New("link: the other side broke the protocol")
)

// Errors of a call.
var (
	ErrUnknown  = errors.New("link: the other side does not know this call")
	ErrBusy     = errors.New("link: too many calls at once")
	ErrTooLarge = errors.New("link: arguments or result are too large")
)

// maxErrorText bounds the message of an error, in bytes, and so that a frame can hold it.
const maxErrorText = 4 << 10

// An ErrorCode makes a kind of error travel by its code, so that errors.Is and errors.As find it on
// the other side. It is that of a sentinel error, Err, or of a type: then Detail returns what is to
// be sent of an error of this type, and Restore makes the error again. Both sides list the same.
type ErrorCode struct {
	Code    string
	Err     error
	Detail  func(err error) (detail any, ok bool)
	Restore func(detail json.RawMessage) (error, error)
}

// ownCodes are those of every connection.
var ownCodes = []ErrorCode{
	{Code: "canceled", Err: context.Canceled},
	{Code: "deadline", Err: context.DeadlineExceeded},
	{Code: "unknown", Err: ErrUnknown},
	{Code: "busy", Err: ErrBusy},
	{Code: "too_large", Err: ErrTooLarge},
	{Code: "version", Err: ErrVersion},
	{Code: "protocol", Err: ErrProtocol},
}

// A RemoteError is an error of the other side.
type RemoteError struct {
	Code    string // "" for an error that no [ErrorCode] lists
	Message string
	err     error // what the code stands for, nil for an unknown code
}

// Error returns the message of the other side.
func (e *RemoteError) Error() string { return e.Message }

// Unwrap returns what the code stands for.
func (e *RemoteError) Unwrap() error { return e.err }

// encodeError returns the frame of an error, without number and channel.
func encodeError(codes []ErrorCode, err error) frame {
	f := frame{kind: kindError, head: head{Message: strings.ToValidUTF8(err.Error()[:min(len(err.Error()), maxErrorText)], "")}}
	for _, table := range [][]ErrorCode{codes, ownCodes} {
		for _, c := range table {
			if c.Err != nil && errors.Is(err, c.Err) {
				f.head.Code = c.Code
				return f
			}
			if c.Detail == nil {
				continue
			}
			if detail, ok := c.Detail(err); ok {
				// A detail that cannot be encoded, or is too long, leaves the message.
				if text, e := json.Marshal(detail); e == nil && len(text) <= maxInline {
					f.head.Code, f.body = c.Code, text
				}
				return f
			}
		}
	}
	return f
}

// decodeError returns the error that a frame holds.
func decodeError(codes []ErrorCode, f frame) error {
	e := &RemoteError{Code: f.head.Code, Message: f.head.Message}
	for _, table := range [][]ErrorCode{codes, ownCodes} {
		for _, c := range table {
			if c.Code != e.Code || e.err != nil {
				continue
			}
			e.err = c.Err
			if c.Restore != nil {
				if restored, err := c.Restore(json.RawMessage(f.body)); err == nil { // else the message is left
					e.err = restored
				}
			}
		}
	}
	return e
}
