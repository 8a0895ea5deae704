package decision_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	synctest.Test(t, func(t *testing.T) {
		disk := &away{gone: true}
		levels := &decision.RiskLevels{Disk: func(string) decision.Disk { return disk }}
		read := call("r", "Read", "file_path", "/work/a.txt")
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
		if level := levels.Of(call("s", "Read", "file_path", "/work/token"), "far", "/work"); level != review.Medium {
			t.Errorf("a file of the runner itself: %s", level)
		}
	})
}

// call is a tool call of Claude with one field.
func call(id, tool, field, value string) pending.Request {
	input, _ := json.Marshal(map[string]string{field: value}) // of strings alone
	return pending.Request{RequestID: id, RequestType: pending.ToolApproval, Source: pending.SourceClaude, ToolName: tool, ToolInput: input}
}

// busy is a disk on which every pattern matches other files. It breaks before a test takes for ever.
type busy struct {
	review.LocalDisk
	matches, asked int
}

func (b *busy) ask() error {
	if b.asked++; b.asked > 5*decision.MaxQueries {
		return errors.New("it broke")
	}
	return nil
}

func (b *busy) RealPath(_ context.Context, path string) (review.RealPath, error) {
	return review.RealPath{Path: path, Known: true}, b.ask()
}

func (b *busy) MatchPaths(_ context.Context, pattern string) (review.Matches, error) {
	found := review.Matches{Known: true}
	for i := range b.matches {
		found.Paths = append(found.Paths, strings.ReplaceAll(pattern, "*", strconv.Itoa(i)))
	}
	return found, b.ask()
}

// TestRiskOfACommandWithManyPatterns: a command that names many files again and again asks for each
// once, and for so many at most. Then it is not low, and not rated anew.
func TestRiskOfACommandWithManyPatterns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var command strings.Builder
		command.WriteString("for x in")
		for i := range 100 {
			fmt.Fprintf(&command, " ./*/*/*/%d.c", i)
		}
		command.WriteString("; do" + strings.Repeat(` cat "$x";`, 30) + " done")
		for _, row := range []struct {
			matches, most int
			level         review.Level
		}{{0, 110, review.Low}, {20, decision.MaxQueries, review.Medium}} {
			disk := &busy{matches: row.matches}
			levels := &decision.RiskLevels{Disk: func(string) decision.Disk { return disk }}
			for range 2 {
				if level := levels.Of(call("r", "Bash", "command", command.String()), "", "/work"); level != row.level {
					t.Errorf("with %d matches of a pattern: %s, want %s", row.matches, level, row.level)
				}
			}
			if disk.asked > row.most {
				t.Errorf("with %d matches of a pattern: asked %d times, want %d at most", row.matches, disk.asked, row.most)
			}
		}
	})
}

// hanging is a disk that does not answer about files in /work/far until released is closed.
type hanging struct {
	review.LocalDisk
	released chan struct{}
}

func (h hanging) RealPath(_ context.Context, path string) (review.RealPath, error) {
	if strings.HasPrefix(path, "/work/far") {
		<-h.released
	}
	return review.RealPath{Path: path, Known: true}, nil
}

// TestRiskOnADiskThatHangs: nobody waits long, nor twice, for a disk that does not answer, and what it
// answers later counts.
func TestRiskOnADiskThatHangs(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		after    time.Duration // the disk answers
		at, then review.Level
	}{
		"a while":     {decision.AssessmentTimeout / 2, review.Low, review.Low},
		"a long time": {decision.AssessmentTimeout * 2, review.High, review.Low},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				disk := hanging{released: make(chan struct{})}
				levels := &decision.RiskLevels{Disk: func(string) decision.Disk { return disk }}
				began := time.Now()
				of := func(id, file string) review.Level {
					return levels.Of(call(id, "Read", "file_path", file), "", "/work")
				}
				waited := func(what string, most time.Duration) {
					t.Helper()
					if took := time.Since(began); took > most {
						t.Errorf("%s took %v, want %v at most", what, took, most)
					}
				}
				if level := of("0", "/work/far/a"); level != review.High {
					t.Errorf("while it hangs: %s", level)
				}
				waited("the first", decision.LevelWait)
				if level := of("0", "/work/far/a"); level != review.High {
					t.Errorf("again: %s", level)
				}
				if level := of("near", "/work/a"); level != review.Low {
					t.Errorf("a file that does not hang: %s", level)
				}
				waited("the rest", decision.LevelWait)
				for i := range 100 {
					of(strconv.Itoa(i), "/work/far/a")
				}
				waited("many", 4*decision.LevelWait)
				if level := levels.Of(call("other", "Read", "file_path", "/work/one/a"), "", "/work/one"); level != review.Low {
					t.Errorf("in another folder: %s", level)
				}
				time.Sleep(row.after)
				close(disk.released)
				synctest.Wait()
				if level := of("0", "/work/far/a"); level != row.at {
					t.Errorf("when it has answered: %s, want %s", level, row.at)
				}
				time.Sleep(decision.RetryLate + time.Second)
				if level := of("0", "/work/far/a"); level != row.then {
					t.Errorf("later: %s, want %s", level, row.then)
				}
			})
		})
	}
}
