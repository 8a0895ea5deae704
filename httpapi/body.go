package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// Limits of request bodies.
const (
	bodyLimit = 1 << 20 // bytes, for routes that set no limit
	// bodyTimeout bounds the time to receive a body: a small one arrives with the header
	// of its request, or soon after.
	bodyTimeout = 15 * time.Second
	// turnTimeout bounds how long a large body waits for upload capacity.
	turnTimeout = time.Minute
)

// deadlineBody is a body with a read deadline. It removes the deadline at the end of the
// body, because a deadline that passes while the response is computed would look like a
// closed connection.
type deadlineBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// boundBody sets the deadline of a request's body before authentication, because
// net/http reads part of an unread body before it answers.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	t := &deadlineBody{r.Body, http.NewResponseController(w)}
	t.setDeadline(time.Now().Add(bodyTimeout))
	r.Body = t
}

// setDeadline ignores errors: only test transports lack deadlines.
func (t *deadlineBody) setDeadline(due time.Time) { _ = t.control.SetReadDeadline(due) }

func (t *deadlineBody) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if err == io.EOF { //nolint:errorlint // readers return io.EOF itself
		t.setDeadline(time.Time{})
	}
	return n, err
}

// largeBody is a body that waits for free upload capacity once it exceeds the limit of
// a small one.
type largeBody struct {
	io.ReadCloser
	acquire     func() (release func(), ok bool)
	setDeadline func(time.Time)

	pace     command.Pace
	acquired bool
	release  func()
}

func (l *largeBody) Read(b []byte) (int, error) {
	if l.pace.Received > command.SmallLimit && !l.acquired {
		release, ok := l.acquire()
		if !ok {
			return 0, uploadsBusy()
		}
		l.acquired, l.release = true, release
		l.pace.Begin()
		l.setDeadline(l.pace.Due())
	}
	if !l.acquired && len(b) > command.SmallLimit {
		b = b[:command.SmallLimit] // read no more until there is capacity
	}
	n, err := l.ReadCloser.Read(b)
	l.pace.Received += int64(n)
	if err == nil {
		l.setDeadline(l.pace.Due())
	}
	return n, err
}

func uploadsBusy() *refusal.Refusal {
	r := refusal.New("busy")
	r.Retry = 5 * time.Second
	return r
}

func tooLarge(limit int64) *refusal.Refusal {
	return refusal.New("body_too_large", "max", limit>>10)
}

// readBody decodes the JSON body of a request into dst and checks its shape. An empty
// body counts as an empty object.
func readBody(r *http.Request, dst any) error {
	if err := decodeBody(r, dst); err != nil {
		return err
	}
	return wire.CheckShape(dst)
}

// decodeBody decodes the JSON body of a request into dst. The named fields may be
// absent, because the path contains them.
func decodeBody(r *http.Request, dst any, named ...string) error {
	data, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	var ref *refusal.Refusal
	switch {
	case errors.As(err, &ref):
		return ref
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case err != nil:
		ref := refusal.New("body_incomplete")
		ref.Cause = err
		return ref
	}
	if len(data) == 0 {
		data = []byte("{}")
	} else if media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" || !utf8Charset(params) {
		return refusal.New("unsupported_media_type")
	}
	if err := wire.Decode(data, dst, named...); err != nil {
		return refusal.FromDecodeError(err)
	}
	return nil
}

func utf8Charset(params map[string]string) bool {
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}
