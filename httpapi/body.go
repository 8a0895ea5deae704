package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// Sizes and times of what a request brings.
const (
	bodyLimit = 1 << 20 // of routes that say nothing else, in bytes
	// bodyTimeout is how long a body may take, whoever sends it: what is small comes
	// with the head of its request, or soon after.
	bodyTimeout = 15 * time.Second
	// turnTimeout is how long a large body waits until others were read.
	turnTimeout = time.Minute
)

// timely is a body that has its time. It ends with the body: a deadline that passes
// while the answer is worked on would look like the end of the connection.
type timely struct {
	io.ReadCloser
	control *http.ResponseController
}

// boundBody gives the body of a request its time, before it is known who sends it:
// also of what nobody reads net/http takes a part before it answers.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	t := &timely{r.Body, http.NewResponseController(w)}
	t.until(time.Now().Add(bodyTimeout))
	r.Body = t
}

// A transport without deadlines is none that strangers reach.
func (t *timely) until(due time.Time) { _ = t.control.SetReadDeadline(due) }

func (t *timely) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if err == io.EOF { //nolint:errorlint // as readers return it
		t.until(time.Time{})
	}
	return n, err
}

// limitBody bounds how much and how long a request may send. done is called once it
// is answered.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request, rt route, who account.Identity) (done func(), err error) {
	limit := rt.limit
	if limit == 0 {
		limit = bodyLimit
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	t, brings := r.Body.(*timely)
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if !brings || limit <= bodyLimit {
		return func() {}, nil
	}
	large := &largeBody{ReadCloser: r.Body, until: t.until, leave: func() {}, turn: func() (leave func(), ok bool) {
		ctx, cancel := context.WithTimeout(r.Context(), turnTimeout)
		defer cancel()
		return s.o.Commands.AcquireLarge(ctx, who.User.UserID)
	}}
	large.pace.Begin()
	r.Body = large
	return func() { large.leave() }, nil
}

// largeBody is a body that waits for its turn where it becomes large.
type largeBody struct {
	io.ReadCloser
	turn  func() (leave func(), ok bool)
	until func(time.Time)

	pace  command.Pace
	taken bool   // its turn
	leave func() // for others
}

func (l *largeBody) Read(b []byte) (int, error) {
	if l.pace.Got > command.SmallLimit && !l.taken {
		leave, ok := l.turn()
		if !ok {
			return 0, noTurn()
		}
		l.taken, l.leave = true, leave
		l.pace.Begin()
		l.until(l.pace.Due())
	}
	if !l.taken && len(b) > command.SmallLimit {
		b = b[:command.SmallLimit] // no more before its turn
	}
	n, err := l.ReadCloser.Read(b)
	l.pace.Got += int64(n)
	if err == nil {
		l.until(l.pace.Due())
	}
	return n, err
}

func noTurn() *refusal.Refusal {
	r := refusal.New("busy")
	r.Retry = 5 * time.Second
	return r
}

func tooLarge(limit int64) *refusal.Refusal {
	return refusal.New("body_too_large", "max", limit>>10)
}

// readBody decodes the JSON body of a request into dst and checks its shape. An
// absent body is an empty object.
func readBody(r *http.Request, dst any) error {
	if err := decodeBody(r, dst); err != nil {
		return err
	}
	return wire.CheckShape(dst)
}

// decodeBody decodes the JSON body of a request into dst. named are the fields that
// the address stands for: they may be absent.
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
		return refusal.Misshapen(err)
	}
	return nil
}

func utf8Charset(params map[string]string) bool {
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}
