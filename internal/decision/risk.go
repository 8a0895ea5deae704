// Package decision decides who may answer a request, which requests may be approved together,
// and whether a held answer still counts. The edges call it; the stores and package pending
// do not import it.
package decision

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
)

// Disk answers questions about the files of a runner.
type Disk = review.FileSystem

// maxLevels bounds each of the two generations of the cache, in entries of about 150 bytes. It
// exceeds the number of open requests, so a frame computes only the levels of new ones.
const maxLevels = 16384

// Limits of assessments. A disk can be slow or never answer, and the frames of all tabs wait for
// levels.
const (
	// levelWait bounds how long a caller waits for an assessment, which then goes on without it: longer
	// than a busy machine takes for a disk that works, because the level stays high until the session
	// changes. The more of them are overdue, the less it waits for others: together at most 5 s.
	levelWait = time.Second
	// assessmentTimeout is how long an assessment may query the disk. A query that has started may
	// take longer.
	assessmentTimeout = 5 * time.Second
	// maxQueries bounds the different queries of one assessment: enough for a pattern that matches
	// as many files as a disk lists.
	maxQueries = 600
	// maxOverdue bounds the assessments that go on without a caller, and maxOverdueInFolder those
	// of the sessions in one folder, so that they do not use up the limit of others.
	maxOverdue         = 64
	maxOverdueInFolder = 4
	// retryLate is how long the level of a request stays high after its assessment took too long,
	// so that a slow disk is not queried again for each frame.
	retryLate = time.Minute
)

// RiskLevels computes and caches the risk levels of requests. Every frame of a session for
// every tab contains them. Its methods wait no longer than levelWait.
type RiskLevels struct {
	// Disk returns the disk of a runner, where its sessions run; nil for this machine. It must not
	// block; the methods of the disk may.
	Disk func(runnerID string) Disk

	mu               sync.Mutex // protects following; not held while a level is computed
	recent, previous map[levelKey]*riskLevel
	overdue          map[folder]int // assessments without a caller; none are 0
	overdueTotal     int
}

// folder is where the tool calls of a session run: in cwd on a runner.
type folder struct{ runnerID, cwd string }

// assessment is an analysis that queries a disk. It has a goroutine, because a query of a network
// file system that hangs never returns; nobody can wait for that goroutine then.
type assessment struct {
	at       folder
	deadline time.Time     // callers wait until then
	done     chan struct{} // closed when it has ended
	panicked any           // set before done is closed

	ended, overdue bool // protected by RiskLevels.mu
}

// begin starts an assessment, unless too many are overdue; then it returns nil. The caller holds mu.
func (l *RiskLevels) begin(runnerID, cwd string, assess func(at review.Place, f *files)) *assessment {
	a := &assessment{at: folder{runnerID, cwd}, done: make(chan struct{})}
	if l.overdueTotal >= maxOverdue || l.overdue[a.at] >= maxOverdueInFolder {
		return nil
	}
	a.deadline = time.Now().Add(levelWait / time.Duration(1+l.overdueTotal))
	go func() {
		defer func() {
			if p := recover(); p != nil {
				a.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack()) // for a caller, as without a goroutine
			}
			l.end(a)
		}()
		f := l.files(runnerID)
		assess(review.Place{Dir: cwd, Private: f.private, Files: f}, f)
	}()
	return a
}

func (l *RiskLevels) end(a *assessment) {
	l.mu.Lock()
	a.ended = true
	if a.overdue {
		l.overdueTotal--
		if l.overdue[a.at]--; l.overdue[a.at] == 0 {
			delete(l.overdue, a.at)
		}
	}
	l.mu.Unlock()
	close(a.done)
}

// wait waits for an assessment until its deadline, and reports whether it has ended.
func (l *RiskLevels) wait(a *assessment) bool {
	select {
	case <-a.done:
	default:
		timer := time.NewTimer(time.Until(a.deadline))
		defer timer.Stop()
		select {
		case <-a.done:
		case <-timer.C:
			if !l.endedInTime(a) {
				return false
			}
		}
	}
	if a.panicked != nil {
		panic(a.panicked)
	}
	return true
}

// endedInTime reports whether an assessment has ended, and counts it as overdue otherwise.
func (l *RiskLevels) endedInTime(a *assessment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.ended || a.overdue {
		return a.ended
	}
	a.overdue = true
	if l.overdue == nil {
		l.overdue = map[folder]int{}
	}
	l.overdue[a.at]++
	l.overdueTotal++
	return false
}

// Assess returns the result of f for where the tool calls of a session run: in cwd on a runner.
// complete is false if the disk did not answer all queries in time. f must be safe for concurrent
// use: it is called again without a disk while the first call waits for one that is slow.
func Assess[T any](l *RiskLevels, runnerID, cwd string, f func(at review.Place) T) (result T, complete bool) {
	var found T
	answered := false
	l.mu.Lock()
	a := l.begin(runnerID, cwd, func(at review.Place, asked *files) {
		found = f(at)
		answered = !asked.failed && !asked.exhausted
	})
	l.mu.Unlock()
	if a == nil || !l.wait(a) {
		return f(review.Place{Dir: cwd}), false
	}
	return found, answered
}

// files queries a disk for one assessment. A query that is not answered counts as unknown. After
// the first one that fails, it makes no further ones.
type files struct {
	disk      review.FileSystem
	deadline  time.Time // no query starts later
	answers   map[query]any
	failed    bool // a query failed
	late      bool // because it was too late
	exhausted bool // there were more than maxQueries
}

// query is a call of a method of a disk.
type query struct{ method, path string }

func (l *RiskLevels) files(runnerID string) *files {
	f := &files{disk: review.LocalDisk{}, deadline: time.Now().Add(assessmentTimeout), answers: map[query]any{}}
	if l.Disk != nil {
		f.disk = l.Disk(runnerID)
	}
	return f
}

// ask makes a query, or returns the answer to the same one before. One command can name the same
// files ten thousands of times.
func ask[T any](f *files, q query, call func(ctx context.Context) (T, error)) (answer T) {
	if !f.failed && time.Now().After(f.deadline) { // the answers below may take long, too
		f.failed, f.late = true, true
	}
	if f.failed {
		return answer
	}
	if known, ok := f.answers[q]; ok {
		return known.(T)
	}
	if len(f.answers) >= maxQueries {
		f.exhausted = true
		return answer
	}
	ctx, cancel := context.WithDeadline(context.Background(), f.deadline)
	defer cancel()
	answer, err := call(ctx)
	if err != nil {
		f.failed, f.late = true, ctx.Err() != nil
		return *new(T)
	}
	f.answers[q] = answer
	return answer
}

// private returns the paths of sayso's own files on the disk. Reading them is never low risk.
func (f *files) private() []string { return ask(f, query{method: "private"}, f.disk.PrivateFiles) }

func (f *files) Real(path string) (string, bool) {
	found := ask(f, query{"real", path}, func(ctx context.Context) (review.RealPath, error) { return f.disk.RealPath(ctx, path) })
	return found.Path, found.Known
}

func (f *files) IsDir(path string) bool {
	return ask(f, query{"folder", path}, func(ctx context.Context) (bool, error) { return f.disk.IsFolder(ctx, path) })
}

func (f *files) Match(pattern string) ([]string, bool) {
	found := ask(f, query{"match", pattern}, func(ctx context.Context) (review.Matches, error) { return f.disk.MatchPaths(ctx, pattern) })
	return found.Paths, found.Known
}

// levelKey is the hash of everything a level depends on, except the links on disk, which are
// followed when it is first computed. Keys of the strings themselves would use too much memory.
type levelKey [sha256.Size]byte

// riskLevel is a level that is computed once.
type riskLevel struct {
	level      review.Level // set before the assessment ends
	assessment *assessment  // nil once the level is known; protected by RiskLevels.mu
	until      time.Time    // when it is computed again, zero for never; protected by RiskLevels.mu
}

// Of returns the risk level of a request, or "" if it is not a tool call. runnerID and cwd are
// those of its session. The level is high while the disk cannot be reached, and until a disk that
// is slow has answered; it is never low if the assessment needs more than maxQueries queries.
func (l *RiskLevels) Of(r pending.Request, runnerID, cwd string) review.Level {
	if r.RequestType != pending.ToolApproval {
		return ""
	}
	key := levelKey(sha256.Sum256([]byte(r.RequestID + "\x00" + r.InputHash + "\x00" + r.BlockedPath + "\x00" + runnerID + "\x00" + cwd)))
	l.mu.Lock()
	level := l.remembered(key)
	if level == nil {
		level = &riskLevel{}
		level.assessment = l.begin(runnerID, cwd, func(at review.Place, f *files) { l.rate(level, key, r, at, f) })
		if level.assessment == nil {
			l.mu.Unlock()
			return review.High // the next frame tries again
		}
	}
	l.remember(key, level)
	a := level.assessment
	l.mu.Unlock()
	if a != nil && !l.wait(a) {
		return review.High
	}
	return level.level
}

// rate computes a level.
func (l *RiskLevels) rate(level *riskLevel, key levelKey, r pending.Request, at review.Place, f *files) {
	found := LevelOf(r, at)
	l.mu.Lock()
	defer l.mu.Unlock()
	level.level, level.assessment = found, nil
	switch {
	case f.late:
		level.level, level.until = review.High, time.Now().Add(retryLate)
	case f.failed:
		level.level = review.High
		for _, known := range []map[levelKey]*riskLevel{l.recent, l.previous} { // the next frame tries again
			if known[key] == level {
				delete(known, key)
			}
		}
	case f.exhausted:
		level.level = Higher(found, review.Medium)
	}
}

// remembered returns the level with a key, nil if it must be computed. The caller holds mu.
func (l *RiskLevels) remembered(key levelKey) *riskLevel {
	level := l.recent[key]
	if level == nil {
		level = l.previous[key]
	}
	if level != nil && !level.until.IsZero() && time.Now().After(level.until) {
		return nil
	}
	return level
}

// remember stores a level. The caller holds mu.
func (l *RiskLevels) remember(key levelKey, level *riskLevel) {
	if l.recent[key] == level {
		return
	}
	if len(l.recent) >= maxLevels || l.recent == nil {
		l.recent, l.previous = map[levelKey]*riskLevel{}, l.recent
	}
	l.recent[key] = level
}

// LevelOf computes the risk level. Only Claude's own tools are assessed: another asker may
// use their names for anything.
func LevelOf(r pending.Request, at review.Place) review.Level {
	level := at.ToolLevel(r.ToolName, r.ToolInput)
	if r.Source != pending.SourceClaude {
		level = Higher(level, review.Medium)
	}
	if r.Policy.Restricts() {
		level = Higher(level, review.Medium)
	}
	if r.BlockedPath != "" {
		// The CLI has followed links that the input does not show.
		level = Higher(level, at.ReadLevel(r.BlockedPath))
	}
	return level
}

var levels = []review.Level{review.Low, review.Medium, review.High}

// Higher returns the higher of two levels.
func Higher(a, b review.Level) review.Level {
	return levels[max(slices.Index(levels, a), slices.Index(levels, b))]
}
