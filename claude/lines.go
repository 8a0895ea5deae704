package claude

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	readSize    = 64 << 10  // the default capacity of a pipe
	maxRetained = 256 << 10 // a larger buffer is released before waiting for more
	maxStderr   = 64 << 10
)

// hugeBuffers holds unused buffers above maxRetained, as *[]byte. Huge lines often follow one
// another, and fresh memory for each costs as much as decoding it. The garbage collector frees
// buffers that are not used again.
var hugeBuffers sync.Pool

// lineReader splits a stream into lines of up to max bytes.
type lineReader struct {
	r   io.Reader
	max int

	buf          []byte
	start, end   int // bounds of the buffered bytes that have not been returned yet
	hugeSize     int // length of the last line longer than maxRetained
	droppedBytes int // bytes of the oversized line that is being skipped
	err          error
}

// next returns the next line without its newline, valid until the next call. For a line over max it
// returns [ErrTooLarge]; the next call continues after that line. The last line may lack a newline.
func (l *lineReader) next() ([]byte, error) {
	scanned := l.start
	for {
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : scanned+i]
			l.start = scanned + i + 1
			if l.droppedBytes > 0 || len(line) > l.max {
				size := l.droppedBytes + len(line)
				l.droppedBytes = 0
				return nil, tooLarge(size)
			}
			if len(line) > maxRetained {
				l.hugeSize = len(line)
			}
			return line, nil
		}
		if l.droppedBytes > 0 || l.end-l.start > l.max {
			l.droppedBytes += l.end - l.start
			l.start, l.end = 0, 0
		}
		if l.err != nil {
			line := l.buf[l.start:l.end]
			l.start = l.end
			switch {
			case l.droppedBytes > 0:
				size := l.droppedBytes
				l.droppedBytes = 0
				return nil, tooLarge(size)
			case len(line) > 0 && l.err == io.EOF:
				return line, nil
			}
			return nil, l.err
		}
		l.reserve()
		scanned = l.end
		var n int
		n, l.err = l.r.Read(l.buf[l.end:])
		l.end += n
	}
}

// reserve makes space for a read.
func (l *lineReader) reserve() {
	held := l.end - l.start
	switch {
	case l.buf == nil, len(l.buf) > maxRetained && held < readSize:
		// An idle session must not retain the memory of a huge line.
		old := l.buf
		l.buf = make([]byte, 2*readSize)
		copy(l.buf, old[l.start:l.end])
		if len(old) > maxRetained {
			hugeBuffers.Put(&old)
		}
	case len(l.buf)-l.end >= readSize/2:
		return
	case len(l.buf)-held >= len(l.buf)/2:
		copy(l.buf, l.buf[l.start:l.end])
	default:
		old := l.buf
		l.buf = l.grown()
		copy(l.buf, old[l.start:l.end])
	}
	l.start, l.end = 0, held
}

// grown returns a buffer of at least twice the size. After a huge line, the next one is often huge
// too, as when a file is edited again. Growing to that size at once copies the line only once.
func (l *lineReader) grown() []byte {
	size := 2 * len(l.buf)
	if size <= maxRetained {
		return make([]byte, size)
	}
	size = max(size, l.hugeSize+readSize)
	if b, ok := hugeBuffers.Get().(*[]byte); ok && len(*b) >= size {
		return *b
	}
	return make([]byte, size)
}

func tooLarge(size int) error {
	return fmt.Errorf("claude: dropped a line of %d bytes: %w", size, ErrTooLarge)
}

// tail keeps the last maxStderr bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	buf  []byte // at most twice maxStderr
	lost bool   // older bytes were dropped
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if len(b) > maxStderr {
		b, t.lost = b[len(b)-maxStderr:], true
	}
	if len(t.buf)+len(b) > 2*maxStderr {
		t.buf, t.lost = append(t.buf[:0], t.buf[len(t.buf)-maxStderr:]...), true
	}
	t.buf = append(t.buf, b...)
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, lost := t.buf, t.lost
	if len(b) > maxStderr {
		b, lost = b[len(b)-maxStderr:], true
	}
	if lost {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
