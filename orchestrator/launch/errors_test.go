package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"reflect"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// travel returns an error as a server gets it from a runner.
func travel(t *testing.T, err error) error {
	t.Helper()
	for _, c := range launch.ErrorCodes {
		switch {
		case c.Err != nil && errors.Is(err, c.Err):
			return fmt.Errorf("%s: %w", err.Error(), c.Err)
		case c.Detail == nil:
			continue
		}
		detail, ok := c.Detail(err)
		if !ok {
			continue
		}
		text, bad := json.Marshal(detail)
		if bad != nil {
			t.Fatal(bad)
		}
		restored, bad := c.Restore(text)
		if bad != nil {
			t.Fatal(bad)
		}
		return restored
	}
	return errors.New(err.Error())
}

func TestErrorsKeepTheirMeaningWhenTheyTravel(t *testing.T) {
	t.Parallel()
	known := []error{
		launch.ErrHung, launch.ErrFenced, launch.ErrRepeated, claude.ErrClosed, claude.ErrTooLarge, claude.ErrNotSaved, syscall.EMFILE, fs.ErrNotExist,
	}
	for _, want := range []error{launch.ErrHung, launch.ErrFenced, launch.ErrRepeated, claude.ErrClosed, claude.ErrTooLarge, claude.ErrNotSaved, syscall.EMFILE, fs.ErrNotExist, net.ErrClosed, context.Canceled} {
		err := fmt.Errorf("launch: attach: %w", want)
		got := travel(t, err)
		for _, other := range known {
			if errors.Is(got, other) != errors.Is(err, other) {
				t.Errorf("%v: whether it is %q has changed", err, other)
			}
		}
	}
	for _, cause := range []error{nil, errors.New("the variable HOME"), problem.New("no_demo")} {
		var p *problem.Error
		got := travel(t, errors.Join(launch.ErrRefused, cause))
		if !errors.Is(got, launch.ErrRefused) || errors.As(got, &p) != errors.As(cause, &p) || p != nil && p.Reason != "no_demo" {
			t.Errorf("a refusal for %v became %v", cause, got)
		}
	}
	var failed *launch.Error
	if got := travel(t, &launch.Error{Sentence: "There is no Claude CLI.", Err: claude.ErrCLIMissing}); !errors.As(got, &failed) || failed.Sentence != "There is no Claude CLI." || failed.Error() != claude.ErrCLIMissing.Error() {
		t.Errorf("a failed start became %v", got)
	}
	want := problem.For("cwd", "folder_outside", "folder", "/etc", "roots", "/work")
	var p *problem.Error
	if got := travel(t, want.WithCause(errors.New("why"))); !errors.As(got, &p) || p.Message != want.Message || p.Field != "cwd" || !reflect.DeepEqual(p.Params, want.Params) || !errors.Is(got, want.Class()) {
		t.Errorf("a problem became %+v", p)
	}
}
