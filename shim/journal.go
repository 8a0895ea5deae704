package shim

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

// ErrJournalFull means that the CLI waits until the server commits. Servers of other releases
// compare its text, which therefore never changes.
var ErrJournalFull = errors.New("the journal is full until the server has stored it")

// retryDelay is the delay between attempts to do what failed, such as writing to a full disk.
const retryDelay = 100 * time.Millisecond

// Tests replace writeAt to simulate a full disk, and openFile to simulate a full file table.
var writeAt, openFile = (*os.File).WriteAt, os.Open

// A journal writes the journal in the current folder. One goroutine calls store; other methods may
// be called concurrently.
type journal struct {
	salt   uint32
	limits Limits
	notify func() // called when there is more to read

	mu        sync.Mutex
	file      *os.File // the current segment; only store changes it
	start     int64    // offset of the current segment
	starts    []int64  // offsets of all segments, the oldest first
	end       int64
	committed int64
	blocked   string        // why the journal cannot be written, else ""
	freed     chan struct{} // capacity 1: something was committed
}

// segmentName returns the name of the segment that starts at an offset. The name contains the salt,
// because a salt inside a file could be damaged by itself.
func segmentName(start int64, salt uint32) string {
	return fmt.Sprintf("out.%016x.%08x", start, salt)
}

// store writes b. While it cannot, it blocks, and so does the CLI, so that nothing is dropped. It
// gives up only when quit is closed.
func (j *journal) store(b []byte, quit <-chan struct{}) {
	for len(b) > 0 {
		n, err := j.write(b)
		b = b[n:]
		j.mu.Lock()
		j.end += int64(n)
		if j.blocked = ""; err != nil {
			j.blocked = err.Error()
		}
		j.mu.Unlock()
		j.notify()
		if err == nil {
			continue
		}
		select {
		case <-time.After(retryDelay):
		case <-j.freed:
		case <-quit:
			return
		}
	}
}

// write writes as much of b as the segment accepts.
func (j *journal) write(b []byte) (int, error) {
	end := j.end // only this goroutine changes it
	if j.file == nil || end-j.start >= j.limits.Segment {
		if committed, _ := j.state(); end-committed >= j.limits.Journal {
			return 0, ErrJournalFull
		}
		f, err := os.OpenFile(segmentName(end, j.salt), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
		switch {
		case errors.Is(err, os.ErrNotExist) && j.file != nil:
			// The folder was deleted. The open segment still accepts data.
		case err != nil:
			return 0, err
		default:
			j.mu.Lock()
			if j.file != nil {
				j.file.Close()
			}
			j.file, j.start = f, end
			j.starts = append(j.starts, end)
			j.mu.Unlock()
		}
	}
	if err := failpoint.Hit("shim.journal.before_append"); err != nil {
		return 0, err
	}
	remaining := j.start + j.limits.Segment - end
	if remaining <= 0 {
		remaining = j.limits.Segment
	}
	n, err := writeAt(j.file, b[:min(int64(len(b)), remaining)], end-j.start)
	if failed := failpoint.Hit("shim.journal.after_append"); failed != nil {
		return 0, failed
	}
	return n, err
}

// commit deletes the segments that end at or before offset.
func (j *journal) commit(offset int64) {
	var gone []int64
	j.mu.Lock()
	j.committed = max(j.committed, min(offset, j.end))
	for len(j.starts) > 1 && j.starts[1] <= j.committed {
		gone = append(gone, j.starts[0])
		j.starts = j.starts[1:]
	}
	j.mu.Unlock()
	for _, start := range gone {
		_ = os.Remove(segmentName(start, j.salt)) // if it fails, the segment is deleted with the folder
	}
	select {
	case j.freed <- struct{}{}:
	default:
	}
}

// bounds returns the offsets between which the journal can be read.
func (j *journal) bounds() (first, end int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.starts) > 0 {
		first = j.starts[0]
	}
	return first, j.end
}

// state returns the committed offset, and why the journal cannot be written, else "".
func (j *journal) state() (committed int64, blocked string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.committed, j.blocked
}

// A cursor reads the journal while it is written.
type cursor struct {
	j     *journal
	file  *os.File
	start int64 // of file
	end   int64 // where the segment of the last read ends
}

// read reads into b from an offset within the bounds. It reads from one segment, and returns 0 at
// the end of the journal, and also when it should be called again, after calling notify. With an
// error, the segment cannot be read, and c.end is where to continue.
func (c *cursor) read(b []byte, offset int64) (int, error) {
	c.j.mu.Lock()
	i, exact := slices.BinarySearch(c.j.starts, offset)
	if !exact {
		i--
	}
	start, end := int64(0), c.j.end
	if i >= 0 {
		start = c.j.starts[i]
	}
	if i+1 < len(c.j.starts) {
		end = c.j.starts[i+1]
	}
	c.j.mu.Unlock()
	if c.end = end; offset >= end {
		return 0, nil
	}
	b = b[:min(int64(len(b)), end-offset)]
	if c.file == nil || c.start != start {
		c.close()
		f, err := openFile(segmentName(start, c.j.salt))
		switch errno, _ := errors.AsType[syscall.Errno](err); {
		case errors.Is(err, os.ErrNotExist):
			return c.j.readOpen(b, start, offset)
		case errno.Temporary() || errno == syscall.ENOMEM:
			// The segment is intact, but the system has no descriptor or memory left, for example.
			time.Sleep(retryDelay)
			c.j.notify() // read again
			return 0, nil
		case err != nil:
			return 0, err
		}
		c.file, c.start = f, start
	}
	n, err := c.file.ReadAt(b, offset-start)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (c *cursor) close() {
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}

// readOpen reads the current segment through its open file, because its name may be deleted.
func (j *journal) readOpen(b []byte, start, offset int64) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil || j.start != start {
		return 0, os.ErrNotExist
	}
	n, err := j.file.ReadAt(b, offset-start)
	if n > 0 {
		err = nil
	}
	return n, err
}
