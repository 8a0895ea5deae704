package link

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Errors of a connection. A call that was in flight at [ErrLost] or [ErrClosed] may or may not have
// been carried out.
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

// maxErrorText bounds the message of an error, in bytes, so that it fits into a frame.
const maxErrorText = 4 << 10

// An ErrorCode identifies a kind of error on the wire, so that errors.Is and errors.As recognize it
// on the other side. It stands for a sentinel error, Err, or for a type of error. For a type, Detail
// returns the data to send, and Restore recreates the error from it. Both sides must list the same
// codes.
type ErrorCode struct {
	Code    string
	Err     error
	Detail  func(err error) (detail any, ok bool)
	Restore func(detail json.RawMessage) (error, error)
}

// ownCodes are the codes that every connection knows.
var ownCodes = []ErrorCode{
	{Code: "canceled", Err: context.Canceled},
	{Code: "deadline", Err: context.DeadlineExceeded},
	{Code: "unknown", Err: ErrUnknown},
	{Code: "busy", Err: ErrBusy},
	{Code: "too_large", Err: ErrTooLarge},
	{Code: "version", Err: ErrVersion},
	{Code: "protocol", Err: ErrProtocol},
}

// A RemoteError is an error that the other side returned.
type RemoteError struct {
	Code    string // "" for an error that no [ErrorCode] lists
	Message string
	err     error // the error that Code stands for; nil for an unknown code
}

// Error returns the message of the other side.
func (e *RemoteError) Error() string { return e.Message }

// Unwrap returns the error that the code stands for, or nil.
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
				// Without a detail that can be sent, only the message is.
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
				if restored, err := c.Restore(json.RawMessage(f.body)); err == nil { // else only the message remains
					e.err = restored
				}
			}
		}
	}
	return e
}
