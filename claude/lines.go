package claude

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	readSize  = 64 << 10  // what a pipe holds unless told otherwise
	keptSize  = 256 << 10 // a larger buffer is given back before waiting for more
	stderrMax = 64 << 10
)

// lineReader cuts a stream into lines of any length up to max bytes.
type lineReader struct {
	r   io.Reader
	max int

	buf        []byte
	start, end int // what is buffered and not yet returned
	huge       int // length of the last line that did not fit into keptSize
	dropped    int // bytes of the oversize line that is being dropped
	err        error
}

// next returns the next line without its newline, valid until the call after. A
// line over max is dropped and reported as [ErrTooLarge]; the reader goes on
// behind it. A last line without a newline counts.
func (l *lineReader) next() ([]byte, error) {
	scanned := l.start
	for {
		if i := bytes.IndexByte(l.buf[scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : scanned+i]
			l.start = scanned + i + 1
			if l.dropped > 0 || len(line) > l.max {
				size := l.dropped + len(line)
				l.dropped = 0
				return nil, tooLarge(size)
			}
			if len(line) > keptSize {
				l.huge = len(line)
			}
			return line, nil
		}
		if l.dropped > 0 || l.end-l.start > l.max {
			l.dropped += l.end - l.start
			l.start, l.end = 0, 0
		}
		if l.err != nil {
			line := l.buf[l.start:l.end]
			l.start = l.end
			switch {
			case l.dropped > 0:
				size := l.dropped
				l.dropped = 0
				return nil, tooLarge(size)
			case len(line) > 0 && l.err == io.EOF:
				return line, nil
			}
			return nil, l.err
		}
		l.makeRoom()
		scanned = l.end
		var n int
		n, l.err = l.r.Read(l.buf[l.end:])
		l.end += n
	}
}

// makeRoom makes room for a read.
func (l *lineReader) makeRoom() {
	held := l.end - l.start
	switch {
	case l.buf == nil, len(l.buf) > keptSize && held < readSize:
		// The memory of a huge line must not stay with a session that idles.
		fresh := make([]byte, 2*readSize)
		copy(fresh, l.buf[l.start:l.end])
		l.buf = fresh
	case len(l.buf)-l.end >= readSize/2:
		return
	case len(l.buf)-held >= len(l.buf)/2:
		copy(l.buf, l.buf[l.start:l.end])
	default:
		// Where one line was huge the next one often is: a file that is edited again.
		// Growing at once copies it once.
		size := 2 * len(l.buf)
		if size > keptSize {
			size = max(size, l.huge+readSize)
		}
		fresh := make([]byte, size)
		copy(fresh, l.buf[l.start:l.end])
		l.buf = fresh
	}
	l.start, l.end = 0, held
}

func tooLarge(size int) error {
	return fmt.Errorf("claude: dropped a line of %d bytes: %w", size, ErrTooLarge)
}

// tail keeps the last stderrMax bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	buf  []byte // at most twice stderrMax
	lost bool   // something was written that is no longer there
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if len(b) > stderrMax {
		b, t.lost = b[len(b)-stderrMax:], true
	}
	if len(t.buf)+len(b) > 2*stderrMax {
		t.buf, t.lost = append(t.buf[:0], t.buf[len(t.buf)-stderrMax:]...), true
	}
	t.buf = append(t.buf, b...)
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, lost := t.buf, t.lost
	if len(b) > stderrMax {
		b, lost = b[len(b)-stderrMax:], true
	}
	if lost {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
