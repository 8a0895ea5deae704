package decision_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
)

// away is the disk of a runner that can be reached or not.
type away struct {
	review.LocalDisk
	gone  bool
	asked int
}

func (a *away) PrivateFiles(context.Context) ([]string, error) {
	a.asked++
	if a.gone {
		return nil, errors.New("the runner cannot be reached")
	}
	return []string{"/work/token"}, nil
}

func (a *away) RealPath(ctx context.Context, path string) (review.RealPath, error) {
	a.asked++
	if a.gone {
		return review.RealPath{}, errors.New("the runner cannot be reached")
	}
	return a.LocalDisk.RealPath(ctx, path)
}

// While the runner cannot be asked about its files, what would be low is high. Then it is asked again.
func TestRiskOfARunnerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	disk := &away{gone: true}
	levels := &decision.RiskLevels{Disk: func(string) decision.Disk { return disk }}
	read := pending.Request{
		RequestID: "r", RequestType: pending.ToolApproval, Source: pending.SourceClaude, ToolName: "Read", ToolInput: []byte(`{"file_path":"/work/a.txt"}`),
	}
	for range 2 {
		if level := levels.Of(read, "far", "/work"); level != review.High {
			t.Errorf("while it is gone: %s", level)
		}
	}
	if disk.asked != 2 {
		t.Errorf("asked %d times, want once for each frame", disk.asked)
	}
	disk.gone = false
	for range 2 {
		if level := levels.Of(read, "far", "/work"); level != review.Low {
			t.Errorf("when it is back: %s", level)
		}
	}
	if disk.asked > 8 {
		t.Errorf("asked %d times: the level is not kept", disk.asked)
	}
	read.RequestID, read.ToolInput = "s", []byte(`{"file_path":"/work/token"}`)
	if level := levels.Of(read, "far", "/work"); level != review.Medium {
		t.Errorf("a file of the runner itself: %s", level)
	}
}
