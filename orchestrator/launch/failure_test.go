package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	text, bad := json.Marshal(launch.NewFailure(err))
	if bad != nil {
		t.Fatal(bad)
	}
	var f launch.Failure
	if bad := json.Unmarshal(text, &f); bad != nil {
		t.Fatal(bad)
	}
	return f.Err()
}

func TestErrorsKeepTheirMeaningWhenTheyTravel(t *testing.T) {
	t.Parallel()
	known := []error{
		launch.ErrHung, launch.ErrFenced, launch.ErrRepeated, claude.ErrClosed, claude.ErrTooLarge, claude.ErrCLIMissing,
		claude.ErrCLINotExecutable, claude.ErrFolderMissing, claude.ErrNotSaved, syscall.EMFILE, fs.ErrNotExist, context.Canceled, context.DeadlineExceeded,
	}
	for _, want := range known {
		err := fmt.Errorf("launch: start: %w", want)
		got := travel(t, err)
		if got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
		for _, other := range known {
			if errors.Is(got, other) != errors.Is(err, other) {
				t.Errorf("%v: whether it is %q has changed", err, other)
			}
		}
	}
	got := travel(t, &launch.Error{Sentence: "There is no Claude CLI.", Err: claude.ErrCLIMissing})
	var failed *launch.Error
	if !errors.As(got, &failed) || failed.Sentence != "There is no Claude CLI." || !errors.Is(got, claude.ErrCLIMissing) {
		t.Errorf("a failed start became %v", got)
	}
	want := problem.For("cwd", "folder_outside", "folder", "/etc", "roots", "/work")
	var p *problem.Error
	if got := travel(t, want.WithCause(errors.New("why"))); !errors.As(got, &p) || p.Message != want.Message || p.Field != "cwd" || !reflect.DeepEqual(p.Params, want.Params) || !errors.Is(got, want.Class()) {
		t.Errorf("a problem became %+v", p)
	}
}
